#!/usr/bin/env bash
# usage: tools/fuzz.sh SECONDS [TARGET...]; all targets when none is named.
# Fuzzes with the nightly toolchain. New inputs are written to a scratch folder, not into the small
# corpus of the tree; a finding fails the run, and its input is stored in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

seconds=$1
shift
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(cargo +nightly fuzz list --fuzz-dir .)
[ "${#targets[@]}" -gt 0 ] || { echo "no fuzz targets" >&2; exit 1; }
build=${CARGO_TARGET_DIR:-target}
scratch=$build/scratch-corpus

for target in "${targets[@]}"; do
    echo "== $target, $seconds s"
    mkdir -p "$scratch/$target" "corpus/$target"
    cargo +nightly fuzz run --fuzz-dir . "$target" "$scratch/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048
done
