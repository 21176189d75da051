#!/usr/bin/env bash
# Installs the C library with cargo-c: libtercel.a, libtercel.so, tercel.h and tercel.pc. Then links the shared library
# again, so that its symbols have the version TERCEL_0 (tools/c-link.sh).
# usage: tools/c-install.sh PREFIX [DESTDIR] [CARGO-C FLAGS...]
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=$1
destination=${2:-/}
shift
[ $# -eq 0 ] || shift
cargo cinstall --locked --release -p tercel-capi --prefix "$prefix" --libdir "$prefix/lib" --destdir "$destination" "$@"
lib=$(realpath "$destination/$prefix/lib")
shared=$(realpath "$lib/libtercel.so")
tools/c-link.sh "$lib/libtercel.a" "$shared" "$(basename "$(find "$lib" -name 'libtercel.so.?')")"
