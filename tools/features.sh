#!/usr/bin/env bash
# Prints the features of the workspace's packages, as a value for cargo's option `--features`. The feature `fips` is left
# out, because it excludes some of the others.
# usage: tools/features.sh [FOLDER...], the folders of packages; default: all
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- crates conformance fuzz/targets
git ls-files -- "${@/%//*Cargo.toml}" | grep -vE '^conformance/(peers|quic-interop|rust-users)/' |
    xargs awk '/^\[/ { in_features = $0 == "[features]" } in_features && match($0, /^[a-z0-9_-]+ = /) {
        print substr($0, 1, RLENGTH - 3)
    }' | sort -u | grep -vx fips | paste -sd ','
