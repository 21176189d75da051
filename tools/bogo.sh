#!/usr/bin/env bash
# usage: tools/bogo.sh [--fips] DIR [TESTS] [RUNNER FLAGS...]
# Runs BoringSSL's test runner against our shim. DIR is ssl/test/runner of a BoringSSL
# checkout. TESTS restricts the run: a file of names, one a line, or patterns joined by `;`. With --fips, the shim has the
# feature `fips`.
set -euo pipefail
cd "$(dirname "$0")/.."

build=(--features runner)
if [ "${1:-}" = --fips ]; then
    shift
    build=(--no-default-features --features runner,brotli,ech,fips,zlib)
    export AWS_LC_FIPS_SYS_USE_SYSTEM=0
fi
runner=$1
tests=${2:-}
shift
[ $# -eq 0 ] || shift
[ -f "$runner/runner.go" ] || { echo "$runner has no runner.go: name ssl/test/runner of a BoringSSL checkout" >&2; exit 1; }
config=$PWD/conformance/bogo/config.json
[ -f "$config" ] || { echo "$config is missing" >&2; exit 1; }

if [ -n "$tests" ] && [ -f "$tests" ]; then
    tests=$(grep -v '^#' "$tests" | paste -sd ';')
fi

# The shim has the test seams for this runner, which a release does not contain: CONTRIBUTING.md, "Test
# seams".
cargo build --profile runner -p bogo-shim "${build[@]}"
shim=$(realpath "${CARGO_TARGET_DIR:-target}/runner/bogo-shim")
cd "$runner"
# The runner reads its flags after `-args`. A time limit would apply to the whole suite.
exec go test -count=1 -timeout 0 -args -shim-path "$shim" -shim-config "$config" \
    -loose-errors=false -pipe ${tests:+-test "$tests"} "$@"
