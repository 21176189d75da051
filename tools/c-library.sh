#!/usr/bin/env bash
# Builds the C library, and installs it in a folder: libtercel.a, libtercel.so, the headers, and tercel.pc, with which
# pkg-config finds them. Needs nothing but cargo and cc; with --fips, which puts AWS-LC's FIPS module in the place of
# AWS-LC, also CMake, Go and Perl.
# usage: tools/c-library.sh [--fips] FOLDER [PROFILE]      PROFILE is dev (the default) or release
#
# With /usr/local as the folder, compilers and pkg-config find the library without options; run ldconfig afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

features=()
if [ "${1:-}" = --fips ]; then
    shift
    # The other default features exclude the module: docs/fips.md.
    features=(--no-default-features --features fips,brotli,native-roots,zlib)
    # Otherwise a library that pkg-config finds takes the place of the module.
    export AWS_LC_FIPS_SYS_USE_SYSTEM=0
fi
mkdir -p "$1"
folder=$(realpath "$1")
profile=${2:-dev}
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$([ "$profile" = dev ] && echo debug || echo "$profile")
soname=libtercel.so.$(sed -n 's/^version = "\([0-9]*\).*/\1/p' Cargo.toml | head -n 1)

cargo rustc --quiet --locked --profile "$profile" -p tercel-capi "${features[@]}" --lib --crate-type staticlib
[ -n "${features[*]}" ] || tools/no-jitter.sh "$built/libtercel_capi.a"
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
