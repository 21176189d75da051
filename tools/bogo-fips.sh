#!/usr/bin/env bash
# usage: tools/bogo-fips.sh DIR [TESTS] [RUNNER FLAGS...]
# Runs tests of BoringSSL's test runner on AWS-LC's FIPS module, twice: with the feature `fips`, where no test may fail,
# and with the option of that name in each configuration, where those of conformance/bogo/fips-tests.txt have to fail,
# each with the words of its class, and no other. DIR is ssl/test/runner of a BoringSSL checkout; TESTS is a file of
# names, one a line, by default the core tests.
set -euo pipefail
cd "$(dirname "$0")/.."

runner=${1:?ssl/test/runner of a BoringSSL checkout}
tests=${2:-conformance/bogo/core-tests.txt}
shift
[ $# -eq 0 ] || shift
list=conformance/bogo/fips-tests.txt
[ -f "$tests" ] && [ -f "$list" ] || { echo "there is no $tests or no $list" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

run() { # NAME FLAGS...
    local name=$1
    shift
    tools/bogo.sh --fips "$runner" "$tests" -allow-unimplemented -json-output "$folder/$name.json" "$@" >"$folder/$name.log"
}

echo "-- with the feature"
run feature "$@" || { cat "$folder/feature.log"; exit 1; }
tools/bogo-table.sh "$tests" "$folder/feature.json"

echo "-- with the option"
# The runner counts the refusals of the option as failures and exits with an error.
run option -shim-extra-flags=-fips "$@" || true
[ -s "$folder/option.json" ] || { cat "$folder/option.log"; exit 1; }
tools/bogo-table.sh "$tests" "$folder/option.json"
tools/bogo-fips-differences.sh "$list" "$tests" "$folder/feature.json" "$folder/option.json" "$folder/option.log"
