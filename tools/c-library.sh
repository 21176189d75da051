#!/usr/bin/env bash
# Builds the C library: libtercel.a and libtercel.so, with the header, in a folder.
# usage: tools/c-library.sh FOLDER [PROFILE]      PROFILE is dev (the default) or release
#
# The shared library is linked from the static one, with crates/capi/libtercel.map: the symbols of the
# interface have the version TERCEL_0, and no others are visible. rustc writes a version script of its own for a
# shared library, and a linker accepts only one.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "$1"
folder=$(realpath "$1")
profile=${2:-dev}
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$([ "$profile" = dev ] && echo debug || echo "$profile")
version=$(sed -n 's/^version = "\([0-9]*\).*/\1/p' Cargo.toml | head -n 1)
# The libraries of the system that rustc names for a static library.
system="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"

cargo rustc --quiet --profile "$profile" -p tercel-capi --lib --crate-type staticlib
mkdir -p "$folder/lib" "$folder/include"
cp "$built/libtercel_capi.a" "$folder/lib/libtercel.a"
cp crates/capi/include/tercel.h "$folder/include/"
# shellcheck disable=SC2086
cc -shared -o "$folder/lib/libtercel.so.$version" -Wl,-soname,"libtercel.so.$version" \
    -Wl,--version-script=crates/capi/libtercel.map -Wl,--gc-sections -Wl,-z,relro,-z,now \
    -Wl,--whole-archive "$folder/lib/libtercel.a" -Wl,--no-whole-archive $system
ln -sf "libtercel.so.$version" "$folder/lib/libtercel.so"
