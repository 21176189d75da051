#!/usr/bin/env bash
# Tests the feature `fips`: docs/fips.md. AWS-LC's FIPS module needs Go, CMake and Perl; without them this script prints a
# line that begins with `absent:` and succeeds.
# usage: tools/test-fips.sh          unit tests and tests of tercel-crypto, unit tests and `exchange` of tercel
#        tools/test-fips.sh --all    all tests of these crates, of the C interface and the program, then a check of every
#                                    crate that has the feature
set -euo pipefail
cd "$(dirname "$0")/.."

absent=()
for program in go cmake perl; do command -v "$program" >/dev/null || absent+=("$program"); done
if [ "${#absent[@]}" -gt 0 ]; then
    echo "absent: ${absent[*]}; the FIPS module was not built, and the feature fips NOT TESTED"
    exit 0
fi

# Otherwise a library that pkg-config finds takes the place of the module.
export AWS_LC_FIPS_SYS_USE_SYSTEM=0
! command -v ccache >/dev/null || export CMAKE_C_COMPILER_LAUNCHER=ccache
# One command, because another set of packages would build the module again: the features of its build script's
# dependencies would differ.
tests=(cargo test -p tercel-crypto -p tercel --no-default-features --features fips,brotli,ech,quic,zlib)
if [ "${1:-}" = --all ]; then
    "${tests[@]}"
    cargo check --no-default-features --features fips -p tercel-tokio -p tercel-hyper -p tercel-postgres \
        -p tercel-quinn -p tercel-native-tls -p tercel-fleet -p tercel-proxy -p tercel-capi
    cargo test -p tercel-cli --no-default-features --features fips,http3,redis,test-authority
    cargo test -p tercel-capi --no-default-features --features fips,brotli,native-roots,zlib
    tools/test-c-fips.sh
    exit 0
fi
targets=(--lib --test exchange)
for file in crates/crypto/tests/*.rs; do
    name=${file##*/}
    targets+=(--test "${name%.rs}")
done
"${tests[@]}" "${targets[@]}"
