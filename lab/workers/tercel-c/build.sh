#!/usr/bin/env bash
# Builds the C library as it is distributed, and the worker, which is linked with its shared library.
# usage: lab/workers/tercel-c/build.sh TARGET
set -euo pipefail
target=$(realpath -m "$1")
cd "$(dirname "$0")"

CARGO_TARGET_DIR=$target ../../../tools/c-library.sh "$target/c-library" release
LIBTERCEL=$target/c-library/lib cargo build --locked --release --target-dir "$target"
