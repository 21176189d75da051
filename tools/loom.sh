#!/usr/bin/env bash
# Checks lock-free shared state and wake-ups in every interleaving that the model checker loom finds: runs the tests in
# files named models.rs, which only builds with `--cfg loom` contain.
# usage: tools/loom.sh [PART OF A TEST'S NAME]
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTC_WORKSPACE_WRAPPER=$PWD/tools/loom-rustc.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --lib -p tercel -p tercel-tokio -p tercel-proxy "models::${1:-}" | tee "$log"
# A build without models has no test that could fail.
awk '/^running/ { all += $2 } END { exit all == 0 }' "$log" || { echo "no model was run" >&2; exit 1; }
