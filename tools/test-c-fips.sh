#!/usr/bin/env bash
# Builds the C library with AWS-LC's FIPS module, and runs a program in C that prints the status, with the static and
# with the shared library. Needs CMake, Go and Perl: docs/fips.md.
# usage: tools/test-c-fips.sh
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/test-c-fips
mkdir -p "$target"
tools/c-library.sh --fips "$target"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$target/root.key" -out "$target/root.pem" \
    -days 3650 -subj /CN=root -addext basicConstraints=critical,CA:true 2>/dev/null

compile() { # PROGRAM LIBRARIES...
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -I"$target/include" -o "$target/$1" crates/capi/tests/c/fips.c "${@:2}"
}
compile static "$target/lib/libtercel.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
compile shared -L"$target/lib" -ltercel
# The module compares a digest of its code when it is loaded, so that a linker that changed the code ends the program.
for kind in static shared; do
    printed=$(LD_LIBRARY_PATH=$target/lib "$target/$kind" "$target/root.pem")
    grep -Eq '^module .+, status [12]$' <<<"$printed" || { echo "$kind: $printed" >&2; exit 1; }
    echo "$kind library: $printed"
done
# No other symbol than those of the interface is visible, so that the module does not meet another AWS-LC of a program.
visible=$(nm -D --defined-only "$target/lib/libtercel.so" | grep aws_lc || true)
[ -z "$visible" ] || { echo "visible symbols:" >&2; head <<<"$visible" >&2; exit 1; }
