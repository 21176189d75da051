#!/usr/bin/env bash
# Compares the lab's published accounting with the programs that it follows: runs them and the lab alternately, and
# prints for each row the median of both and the difference. Fails if a difference exceeds 10 %.
# usage: tools/cross-check.sh RUSTLS_BENCH OPENSSL_BENCH BORINGSSL_BENCH [ROUNDS]
# The programs are not part of this project; `-` omits one. RUSTLS_BENCH is rustls-bench of the rustls version in
# lab/Cargo.lock, built with `--profile=bench --features aws-lc-rs`. The others are openssl-bench, linked with the
# libraries that the lab's workers were built with (in the target folder, below build/openssl-sys-* and
# build/boring-sys-*); they run in their folder, where ../rustls/test-ca has to be that of rustls.
# Environment: LAB is a built lab program with `run`; MULTIPLIER=4 is the factor by which the programs
# run longer than by default, MILLISECONDS=500 the lab's time for a row, ROWS a regular expression of rows (default: all).
set -euo pipefail

rustls=${1:?the program rustls-bench, or -}
openssl=${2:?openssl-bench linked with OpenSSL, or -}
boringssl=${3:?openssl-bench linked with BoringSSL, or -}
rounds=${4:-5}
multiplier=${MULTIPLIER:-4}
milliseconds=${MILLISECONDS:-500}
wanted=${ROWS:-.}
lab=${LAB:-cargo run --quiet --release --locked --manifest-path lab/Cargo.toml -- run}
limit=10
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
figures=$out/figures

# Each line has a row of the lab, its name in the table, and the arguments of the two programs.
table='bulk-12-aes128|transfer, 1.2, aes-128-gcm|--key-type rsa2048 bulk TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256|bulk ECDHE-RSA-AES128-GCM-SHA256 1048576
bulk-13-aes256|transfer, 1.3, aes-256-gcm|--key-type rsa2048 bulk TLS13_AES_256_GCM_SHA384|bulk TLS_AES_256_GCM_SHA384 1048576
full-12-rsa2048-x25519|full handshakes, 1.2, rsa|--key-type rsa2048 handshake TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384|handshake ECDHE-RSA-AES256-GCM-SHA384
full-12-ecdsa-p256-x25519|full handshakes, 1.2, ecdsa|--key-type ecdsa-p256 handshake TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384|--ecdsa handshake ECDHE-ECDSA-AES256-GCM-SHA384
full-13-rsa2048-hybrid|full handshakes, 1.3, rsa|--key-type rsa2048 handshake TLS13_AES_256_GCM_SHA384|handshake TLS_AES_256_GCM_SHA384
full-13-ecdsa-p256-hybrid|full handshakes, 1.3, ecdsa|--key-type ecdsa-p256 handshake TLS13_AES_256_GCM_SHA384|--ecdsa handshake TLS_AES_256_GCM_SHA384
resumed-12-stateful|resumed handshakes, 1.2, by id|--key-type rsa2048 handshake-resume TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384|handshake-resume ECDHE-RSA-AES256-GCM-SHA384
resumed-12-stateless|resumed handshakes, 1.2, by ticket|--key-type rsa2048 handshake-ticket TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384|handshake-ticket ECDHE-RSA-AES256-GCM-SHA384
resumed-13-stateless-hybrid|resumed handshakes, 1.3|--key-type rsa2048 handshake-ticket TLS13_AES_256_GCM_SHA384|handshake-ticket TLS_AES_256_GCM_SHA384'
table=$(grep -E "^[^|]*($wanted)" <<<"$table") || { echo "no row matches $wanted" >&2; exit 1; }
ids=$(cut -d'|' -f1 <<<"$table" | paste -sd,)

# usage: program PEER PATH COLUMN ARGUMENTS...; measures each row with the program. Prints lines of PEER, case, side,
# `program`, and the value.
program() {
  local peer=$1 path=$2 column=$3 name words
  shift 3
  while IFS='|' read -r -a fields; do
    name=${fields[1]}
    read -r -a words <<<"${fields[$column]}"
    (cd "$(dirname "$path")" && BENCH_MULTIPLIER=$multiplier "./$(basename "$path")" "$@" "${words[@]}") >"$out/said"
    awk -F'\t' -v peer="$peer" -v name="$name" -v OFS='\t' '
      $NF == "MB/s" || $NF == "handshakes/s" {
        for (i = 1; i < NF; i++)
          if ($i ~ /^(send|recv|client|server)$/) side = $i
        sub(/^send$/, "sending", side); sub(/^recv$/, "receiving", side)
        print peer, name ", " side, "program", $(NF - 1)
      }' "$out/said" >>"$figures"
  done <<<"$table"
}

# usage: lab PEER; measures each row once with the lab. Prints lines like those of `program`, with `lab` in its place.
lab() {
  local peer=$1
  # shellcheck disable=SC2086
  $lab --accounting published --peers "$peer" --rows "$ids" --rounds 1 --row-seconds 0 --measure-ms "$milliseconds" \
    --out "$out/report" >"$out/said" 2>"$out/errors" || { cat "$out/errors" >&2; exit 1; }
  awk -F' *[|] *' -v peer="$peer" -v OFS='\t' \
    '/^\| (transfer|full|resumed)/ { print peer, $2, "lab", $3 }' "$out/said" >>"$figures"
}

for round in $(seq "$rounds"); do
  echo "round $round of $rounds" >&2
  for peer in rustls openssl boringssl; do
    path=${!peer}
    [ "$path" = - ] && continue
    if [ "$peer" = rustls ]; then
      program "$peer" "$path" 2 --api buffered --threads 1
    else
      program "$peer" "$path" 3
    fi
    lab "$peer"
  done
done

sort "$figures" | awk -F'\t' -v limit=$limit -v rounds="$rounds" '
  function median(key,   count, at, low, other, each) {
    count = n[key]
    for (at = 2; at <= count; at++)
      for (low = at; low > 1 && value[key, low - 1] > value[key, low]; low--) {
        other = value[key, low]; value[key, low] = value[key, low - 1]; value[key, low - 1] = other
      }
    at = int((count + 1) / 2)
    return count % 2 ? value[key, at] : (value[key, at] + value[key, at + 1]) / 2
  }
  {
    row = $1 FS $2
    if (!(row in seen)) { seen[row] = 1; order[++rows] = row }
    key = row FS $3
    value[key, ++n[key]] = $4 + 0
  }
  END {
    printf "%-10s %-46s %12s %12s %8s\n", "library", "row", "program", "lab", "differs"
    for (at = 1; at <= rows; at++) {
      split(order[at], name, FS)
      if (n[order[at] FS "program"] != rounds || n[order[at] FS "lab"] != rounds) {
        printf "%-10s %-46s is not in both\n", name[1], name[2]; failed++; continue
      }
      program = median(order[at] FS "program"); lab = median(order[at] FS "lab")
      percent = (lab / program - 1) * 100
      bad = percent > limit || percent < -limit
      failed += bad
      printf "%-10s %-46s %12.1f %12.1f %+7.1f%%%s\n", name[1], name[2], program, lab, percent, bad ? "  !" : ""
    }
    printf "%d figures, %d more than %d %% apart or missing\n", rows, failed, limit
    exit failed || !rows
  }'
