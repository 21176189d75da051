#!/usr/bin/env bash
# usage: tools/bogo-c.sh DIR [TESTS] [RUNNER FLAGS...]
# Runs BoringSSL's test runner against the shim in C, which uses the library through its C interface. The arguments are
# those of tools/bogo.sh. Tests whose flags the interface cannot express are not implemented: the runner needs
# -allow-unimplemented for them.
set -euo pipefail
cd "$(dirname "$0")/.."

runner=$1
tests=${2:-}
shift
[ $# -eq 0 ] || shift
[ -f "$runner/runner.go" ] || { echo "$runner has no runner.go: name ssl/test/runner of a BoringSSL checkout" >&2; exit 1; }
config=$PWD/conformance/bogo/config.json

if [ -n "$tests" ] && [ -f "$tests" ]; then
    tests=$(grep -v '^#' "$tests" | paste -sd ';')
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/bogo-c
tools/c-library.sh "$target" "${PROFILE:-dev}"
cc -std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic -Werror ${SANITIZE:+-fsanitize=$SANITIZE} -I"$target/include" \
    -o "$target/shim" conformance/bogo-c/*.c "$target/lib/libtercel.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
cd "$runner"
# The runner reads its flags after `-args`. A time limit would apply to the whole suite.
exec go test -count=1 -timeout 0 -args -shim-path "$target/shim" -shim-config "$config" \
    -loose-errors=false -pipe ${tests:+-test "$tests"} "$@"
