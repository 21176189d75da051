#!/usr/bin/env bash
# usage: tools/openssl-4.0.sh FOLDER
# Builds the program `openssl` 4.0 in FOLDER, unless it is there: FOLDER/apps/openssl. The source is that of the crate
# which the lab uses. It takes some minutes; if it fails, FOLDER.log has the output, and FOLDER is removed.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
[ ! -x "$folder/apps/openssl" ] || exit 0
source=$(cargo metadata --locked --format-version 1 --manifest-path lab/series/openssl-4.0/Cargo.toml |
    grep -o '"manifest_path":"[^"]*/openssl-src-[^"]*/Cargo.toml"' | head -1 | cut -d'"' -f4)
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
cp -r "$(dirname "$source")/openssl" "$folder"
# The source has neither tests nor documents. DTLS must stay: QUIC needs it.
(
    cd "$folder"
    ./Configure no-shared no-module no-tests no-docs no-legacy no-deprecated
    make -j"$(nproc)" build_generated
    make -j"$(nproc)" apps/openssl
) >"$folder.log" 2>&1 || { tail "$folder.log" >&2; rm -rf "$folder"; exit 1; }
