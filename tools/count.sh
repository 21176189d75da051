#!/usr/bin/env bash
# Instructions per handshake and side, and per resume of a coroutine, under callgrind. Each figure is the
# slope between N and 2N, so that work done once does not count.
# usage: tools/count.sh PATH-TO-THE-COUNT-EXAMPLE [N]
set -euo pipefail

tests=$(cargo test --release -p tercel --lib --no-run --message-format=json | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo "no test program" >&2; exit 1; }
count=$1
n=${2:-10}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# usage: instructions FUNCTION PROGRAM ARGUMENTS...; prints the instructions executed inside FUNCTION.
instructions() {
  local function=$1
  shift
  valgrind --quiet --tool=callgrind --callgrind-out-file="$out/callgrind" --collect-atstart=no \
    "--toggle-collect=*$function*" "$@" >"$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
  sed -n 's/^totals: //p' "$out/callgrind"
}

slope() {
  local function=$1 head=$2
  local one two
  # shellcheck disable=SC2086
  one=$(instructions "$function" "$count" $head "$n")
  # shellcheck disable=SC2086
  two=$(instructions "$function" "$count" $head $((2 * n)))
  echo $(((two - one) / n))
}

rows=("TLS 1.3 full, ECDSA P-256" "TLS 1.3 full, RSA-2048" "TLS 1.2 full, ECDSA P-256" "TLS 1.2 full, RSA-2048"
  "TLS 1.3 resumed by ticket" "TLS 1.3 resumed from store" "TLS 1.2 resumed by ticket" "TLS 1.2 resumed by id"
  "TLS 1.2 first visit, ECDSA" "TLS 1.2 first visit, RSA-2048")
echo "instructions per handshake and side (callgrind, slope between $n and $((2 * n)) handshakes)"
for row in "${!rows[@]}"; do
  printf '  %-30s client %10d   server %10d\n' "${rows[$row]}" \
    "$(slope client_step "run $row")" "$(slope server_step "run $row")"
done
resumes=testing::measure::resumes_of_an_empty_coroutine
one=$(TERCEL_RESUMES=1000 instructions resume_empty "$tests" --ignored --exact "$resumes")
two=$(TERCEL_RESUMES=2000 instructions resume_empty "$tests" --ignored --exact "$resumes")
echo "instructions per resume of an empty coroutine, mailbox and one small allocation included: $(((two - one) / 1000))"
