#!/usr/bin/env bash
# Builds the C library: libtercel.a and libtercel.so, with the header, in a folder. Needs nothing but cargo and cc.
# usage: tools/c-library.sh FOLDER [PROFILE]      PROFILE is dev (the default) or release
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "$1"
folder=$(realpath "$1")
profile=${2:-dev}
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$([ "$profile" = dev ] && echo debug || echo "$profile")
soname=libtercel.so.$(sed -n 's/^version = "\([0-9]*\).*/\1/p' Cargo.toml | head -n 1)

cargo rustc --quiet --profile "$profile" -p tercel-capi --lib --crate-type staticlib
mkdir -p "$folder/lib" "$folder/include"
cp "$built/libtercel_capi.a" "$folder/lib/libtercel.a"
cp crates/capi/include/tercel.h "$folder/include/"
tools/c-link.sh "$folder/lib/libtercel.a" "$folder/lib/$soname" "$soname"
ln -sf "$soname" "$folder/lib/libtercel.so"
