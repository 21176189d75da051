#!/usr/bin/env bash
# Builds libssl.so.3 in a folder: Tercel with OpenSSL's interface, on the system's libcrypto.so.3.
# usage: tools/libssl.sh FOLDER [PROFILE]      PROFILE is release (the default) or dev
#
# The symbols have the version OPENSSL_3.0.0, and no others are visible. rustc writes a version script of its own for
# a shared library, and a linker accepts only one, so the library is linked here from a static one.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "$1"
folder=$(realpath "$1")
profile=${2:-release}
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/$([ "$profile" = dev ] && echo debug || echo "$profile")

cargo rustc --quiet --profile "$profile" -p tercel-openssl --lib --crate-type staticlib
tools/no-jitter.sh "$built/libtercel_openssl.a"
# nodelete: the library is not unloaded, because functions of its own run when threads end.
# --no-undefined-version: each symbol of the list is defined. The last are libcrypto, and the libraries of the system
# that rustc names for a static library.
cc -shared -o "$folder/libssl.so.3" -Wl,-soname,libssl.so.3 -Wl,--version-script=crates/openssl/libssl.map \
    -Wl,--no-undefined-version -Wl,--no-undefined -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,nodelete \
    -Wl,--whole-archive "$built/libtercel_openssl.a" -Wl,--no-whole-archive \
    -l:libcrypto.so.3 -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
echo "$folder/libssl.so.3"
