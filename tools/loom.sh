#!/usr/bin/env bash
# Checks lock-free shared state and wake-ups in every interleaving that the model checker loom finds: runs the tests in
# files named models.rs, which only builds with `--cfg loom` contain.
# usage: tools/loom.sh [PART OF A TEST'S NAME]
#        tools/loom.sh --check    only compiles them
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTC_WORKSPACE_WRAPPER=$PWD/tools/loom-rustc.sh
crates=(-p tercel -p tercel-tokio -p tercel-proxy)
if [ "${1:-}" = --check ]; then exec cargo check --lib --tests "${crates[@]}"; fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --lib "${crates[@]}" "models::${1:-}" | tee "$log"
# A build without models has no test that could fail.
awk '/^running/ { all += $2 } END { exit all == 0 }' "$log" || { echo "no model was run" >&2; exit 1; }
