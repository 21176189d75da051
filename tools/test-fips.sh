#!/usr/bin/env bash
# Tests the feature `fips`: docs/fips.md. AWS-LC's FIPS module needs Go, CMake and Perl; without them this script prints a
# line that begins with `absent:` and succeeds.
# usage: tools/test-fips.sh          tests of tercel-crypto, and those of tercel that exist only with the feature
#        tools/test-fips.sh --all    all tests of these crates, and a check of every crate that has the feature
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
features=(--no-default-features --features)

cargo test -p tercel-crypto "${features[@]}" fips
of_tercel=fips,brotli,ech,quic,zlib
if [ "${1:-}" != --all ]; then
    cargo test -p tercel "${features[@]}" "$of_tercel" --lib fips
    cargo test -p tercel "${features[@]}" "$of_tercel" --test exchange fips
    exit 0
fi
cargo test -p tercel-pki -p tercel "${features[@]}" "$of_tercel"
cargo check "${features[@]}" fips -p tercel-tokio -p tercel-hyper -p tercel-postgres -p tercel-quinn \
    -p tercel-native-tls -p tercel-fleet -p tercel-proxy -p tercel-capi
cargo test -p tercel-cli "${features[@]}" fips,http3,redis,test-authority
