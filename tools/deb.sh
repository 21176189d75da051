#!/usr/bin/env bash
# Builds the Debian package of the program and prints its path. Installs cargo-deb if it is absent.
# usage: tools/deb.sh TARGET_FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1
export CARGO_TARGET_DIR=$target
cargo deb --version >/dev/null 2>&1 || cargo install --locked cargo-deb@3.8.0
cargo build --release --locked -p tercel-cli
tools/no-jitter.sh "$target/release/tercel"
# cargo-deb replaces `target/release` in paths of the assets by the folder of the build.
tools/generate.sh "$target/release/tercel" "$target/release/package"
rm -rf "$target/debian"
cargo deb --no-build --locked -p tercel-cli
