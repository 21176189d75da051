#!/usr/bin/env bash
# Compares figures that do not depend on the machine's load with tools/perf-baseline.txt: instructions per handshake and
# side, and per record sealed and opened, in Rust functions (without AWS-LC and the C library), heap allocations, peak
# bytes of a handshake, sizes of futures, bytes of a connection. More than 2 % above the baseline
# fails; more than 2 % below requests a new one.
# usage: tools/perf-check.sh DIRECTORY-OF-THE-EXAMPLES [--renew]
set -euo pipefail
cd "$(dirname "$0")/.."

examples=$1
baseline=tools/perf-baseline.txt
n=20
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

command -v valgrind >/dev/null || { echo "absent: valgrind"; exit 0; }

# Handshake futures are not public, so a test prints their sizes. They do not depend on link-time optimization, which
# takes minutes.
tests=$(CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo test --release --locked -p tercel --lib --no-run --message-format=json |
  sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo "no test program" >&2; exit 1; }

# usage: ours FILE; prints the self cost of functions with mangled Rust names in a callgrind output.
ours() {
  awk '
    function name(text) {
      id = text; sub(/\).*/, ")", id)
      if (text ~ /\) /) { rest = text; sub(/^[^)]*\) /, "", rest); names[id] = rest }
      return names[id]
    }
    /^c?fn=/ {
      text = $0; sub(/^c?fn=/, "", text); called = name(text)
      if ($0 ~ /^fn=/) current = called
      next
    }
    /^calls=/ { inclusive = 1; next }
    /^[-+*0-9]/ { if (inclusive) inclusive = 0; else if (current ~ /^_(ZN|R)/) sum += $NF }
    END { print sum + 0 }' "$1"
}

# usage: instructions FUNCTION EXAMPLE ARGUMENTS...; prints the instructions of Rust functions executed inside
# FUNCTION.
instructions() {
  local function=$1 example=$2
  shift 2
  valgrind --quiet --tool=callgrind --demangle=no --callgrind-out-file="$out/callgrind" --collect-atstart=no \
    "--toggle-collect=*$function*" "$examples/$example" "$@" >"$out/log" 2>&1 || { cat "$out/log" >&2; exit 1; }
  ours "$out/callgrind"
}

# Makes a name one word, as names are in the baseline.
word() { tr -d ',' | tr -s ' ' '_'; }

measure() {
  echo "compiler $(rustc --version | cut -d' ' -f2)"
  local row names side suite direction bytes one two
  mapfile -t names < <("$examples/count" rows)
  for row in "${!names[@]}"; do
    for side in client server; do
      one=$(instructions "${side}_step" count run "$row" "$n")
      two=$(instructions "${side}_step" count run "$row" $((2 * n)))
      echo "instructions/$(word <<<"${names[$row]}")/$side $(((two - one) / n))"
    done
  done
  for suite in $("$examples/records" suites); do
    for bytes in 16 1024 16384; do
      for direction in seal open; do
        one=$(instructions "${direction}_step" records "$direction" "$suite" "$bytes" "$n")
        two=$(instructions "${direction}_step" records "$direction" "$suite" "$bytes" $((2 * n)))
        echo "instructions/record/$suite/$bytes/$direction $(((two - one) / n))"
      done
    done
  done
  local side_figures='([0-9]+) +\( *[0-9]+ +([0-9]+)\)' client_peak server_peak
  "$examples/count" | sed -nE "s/^  (.*[^ ]) +client +$side_figures +server +$side_figures/\1|\2|\3|\4|\5/p" |
    while IFS='|' read -r name client client_peak server server_peak; do
      name=$(word <<<"$name")
      printf 'allocations/%s/client %s\nallocations/%s/server %s\n' "$name" "$client" "$name" "$server"
      printf 'peak/%s/client %s\npeak/%s/server %s\n' "$name" "$client_peak" "$name" "$server_peak"
    done
  { "$tests" --ignored --nocapture --exact testing::measure::print_future_sizes; "$examples/size"; } | awk '
    /^right after/ { part = "connected"; next }
    /^idle/ { part = "idle"; next }
    /, parked/ { part = "parked"; next }
    /^[a-z]/ { part = $1; next }
    part == "handshake" { print "future/" $1, $2; next }
    part == "values" { print "value/" $1, $2; next }
    match($0, /(client|server): +[0-9]+ bytes/) {
      said = substr($0, RSTART, RLENGTH); row = substr($0, 3, RSTART - 3)
      gsub(/,/, "", row); gsub(/ +$/, "", row); gsub(/ +/, "_", row)
      split(said, words, /[: ]+/)
      print "bytes-" part "/" row "/" words[1], words[2]
    }'
}

measure >"$out/now"
if [ "${2:-}" = --renew ]; then
  cp "$out/now" "$baseline"
  echo "$baseline renewed: $(wc -l <"$baseline") figures"
  exit 0
fi
awk '
  NR == FNR { was[$1] = $2; next }
  $1 == "compiler" { other = $2 != was["compiler"]; compiler = $2; next }
  !($1 in was) { print "not in the baseline: " $1; bad++; next }
  {
    seen[$1] = 1
    # Instructions are comparable for the same compiler only.
    if (other && $1 ~ /^instructions/) { skipped++; next }
    compared++
    if ($2 > was[$1] * 1.02) { printf "worse: %s was %d, is %d\n", $1, was[$1], $2; bad++ }
    if ($2 < was[$1] * 0.98) { printf "better: %s was %d, is %d: renew the baseline\n", $1, was[$1], $2; better++ }
  }
  END {
    for (name in was) if (name != "compiler" && !(name in seen)) { print "gone: " name; bad++ }
    if (skipped) printf "absent: compiler %s of the baseline; %d counts of instructions not compared\n", was["compiler"], skipped
    printf "%d figures compared with the baseline: %d worse or missing, %d better\n", compared, bad, better
    exit bad > 0
  }' "$baseline" "$out/now"
