#!/usr/bin/env bash
# Checks that a release program with the feature `fips` contains AWS-LC's FIPS module, and no symbol of AWS-LC outside of
# it: the bindings of both are in the graph of crates.
# usage: tools/fips-symbols.sh
# Needs Go, CMake and Perl, which build the module; without them it prints a line that begins with `absent:` and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in go cmake perl nm; do
    command -v "$tool" >/dev/null || { echo "absent: $tool"; exit 0; }
done
# An installed module must not be linked in place of the one that is built here.
export AWS_LC_FIPS_SYS_USE_SYSTEM=0 CARGO_PROFILE_RELEASE_STRIP=none

program=$(cargo build --release --locked -p tercel --example client --no-default-features \
    --features fips,brotli,ech,zlib --message-format=json | sed -n 's/.*"executable":"\([^"]*\/client\)".*/\1/p')
[ -x "$program" ] || { echo "no program was built" >&2; exit 1; }

# Each version of either library has its own prefix, such as aws_lc_0_47_0_ and aws_lc_fips_0_14_4_.
symbols=$(nm "$program" | awk '{ print $NF }')
module=$(grep -c '^aws_lc_fips_[0-9]' <<<"$symbols" || true)
others=$(grep '^aws_lc_[0-9]' <<<"$symbols" || true)
[ "$module" -gt 100 ] || { echo "$program has $module symbols of the FIPS module" >&2; exit 1; }
[ -z "$others" ] || { echo "$program has symbols of AWS-LC outside of the FIPS module:" >&2; head <<<"$others" >&2; exit 1; }
echo "$module symbols of the FIPS module, none of AWS-LC outside of it"
