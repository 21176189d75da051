#!/usr/bin/env bash
# Builds the C library, and installs it in a folder: libtercel.a, libtercel.so, the headers, and tercel.pc, with which
# pkg-config finds them. Needs nothing but cargo and cc.
# usage: tools/c-library.sh FOLDER [PROFILE]      PROFILE is dev (the default) or release
#
# With /usr/local as the folder, compilers and pkg-config find the library without options; run ldconfig afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "$1"
folder=$(realpath "$1")
profile=${2:-dev}
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$([ "$profile" = dev ] && echo debug || echo "$profile")
soname=libtercel.so.$(sed -n 's/^version = "\([0-9]*\).*/\1/p' Cargo.toml | head -n 1)

cargo rustc --quiet --profile "$profile" -p tercel-capi --lib --crate-type staticlib
mkdir -p "$folder/lib/pkgconfig" "$folder/include"
cp "$built/libtercel_capi.a" "$folder/lib/libtercel.a"
cp crates/capi/include/tercel.h crates/capi/include/tercel.hpp "$folder/include/"
tools/c-link.sh "$folder/lib/libtercel.a" "$folder/lib/$soname" "$soname"
ln -sf "$soname" "$folder/lib/libtercel.so"
cat >"$folder/lib/pkgconfig/tercel.pc" <<EOF
prefix=$folder
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: tercel
Description: TLS 1.3 and 1.2, memory-safe, without I/O
Version: $(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
Libs: -L\${libdir} -ltercel
Libs.private: -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
Cflags: -I\${includedir}
EOF
