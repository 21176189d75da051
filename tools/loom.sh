#!/usr/bin/env bash
# What threads share without a lock, and who wakes whom, in every interleaving that a model checker finds: runs the tests
# in the files named models.rs, which a build without `--cfg loom` does not have.
# usage: tools/loom.sh [A PART OF A TEST'S NAME]
set -euo pipefail
cd "$(dirname "$0")/.."

export RUSTC_WORKSPACE_WRAPPER=$PWD/tools/loom-rustc.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --lib -p tercel -p tercel-tokio -p tercel-proxy "models::${1:-}" | tee "$log"
# A build that does not have them has nothing that fails.
awk '/^running/ { all += $2 } END { exit all == 0 }' "$log" || { echo "no model was run" >&2; exit 1; }
