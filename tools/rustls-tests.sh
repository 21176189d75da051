#!/usr/bin/env bash
# Runs rustls' own tests of its interface, and of HPKE, on tercel-rustls in the place of its provider on aws-lc-rs.
# usage: tools/rustls-tests.sh DIR [--stock] [ARGUMENTS of the tests...]
#
# DIR is a checkout of rustls 0.23, such as of the tag v/0.23.43. Nothing of it is copied into this repository: the tests
# run in a copy in the build folder, in which the provider's name is replaced. With --stock, nothing is replaced, so that
# both runs can be compared. Tests that choose the provider by rustls' features, and those over networks, do not run.
set -euo pipefail
cd "$(dirname "$0")/.."

checkout=${1:?a checkout of rustls 0.23}
shift
stock=
[ "${1:-}" != --stock ] || { stock=yes; shift; }
[ -f "$checkout/rustls/tests/api.rs" ] || { echo "$checkout has no rustls/tests/api.rs: name a checkout of rustls 0.23" >&2; exit 1; }

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/rustls-tests
copy=$target/source
crate=$PWD/crates/rustls
rm -rf "$copy"
mkdir -p "$copy"
tar -C "$checkout" --exclude=./.git --exclude=./target -c . | tar -C "$copy" -x

# Replaces a line of a file, or the lines up to another one, by standard input. Fails if the file does not have it.
replace() { # FILE FROM [TO]
    local text=$target/text
    cat >"$text"
    grep -q "$2" "$1" || { echo "$1 has no line $2: another version of rustls?" >&2; exit 1; }
    sed -i -e "/$2/${3:+,/$3/}{/${3:-$2}/r $text" -e 'd}' "$1"
}

if [ -z "$stock" ]; then
    cd "$copy"
    # The crate has to be built on the copy of rustls, so that both have the same types.
    grep -q '^rustls = { path = "rustls" }' Cargo.toml ||
        printf '\n[patch.crates-io]\nrustls = { path = "rustls" }\n' >>Cargo.toml
    for line in 'rustls/Cargo.toml rustls-test' 'rustls-provider-test/Cargo.toml serde_json'; do
        read -r manifest after <<<"$line"
        sed -i "/^$after = /a tercel-rustls = { path = \"$crate\", features = [\"hpke\"] }" "$manifest"
        grep -q '^tercel-rustls' "$manifest" || { echo "$manifest has no $after: another version of rustls?" >&2; exit 1; }
    done
    for file in rustls/tests/runners/macros.rs rustls-provider-test/tests/hpke.rs; do
        sed -i 's/^\( *\)use rustls::crypto::aws_lc_rs as provider;/\1use tercel_rustls as provider;/
            s/^use rustls::crypto::aws_lc_rs;/use tercel_rustls as aws_lc_rs;/' "$file"
        grep -q tercel_rustls "$file" || { echo "$file does not name the provider: another version of rustls?" >&2; exit 1; }
    done
    sed -i '/^    crypto::aws_lc_rs::hpke::ALL_SUPPORTED_SUITES,$/d' rustls/tests/api.rs
    # Configurations have the provider that the test names, and not the one of rustls' features.
    replace rustls/tests/common/mod.rs '^fn exactly_one_provider' '^}' <<'EOF'
fn exactly_one_provider() -> bool {
    false
}
EOF
    # The suites of HPKE, and a type that rustls has for these tests only.
    replace rustls/tests/api.rs '^use provider::sign::RsaSigningKey;' <<'EOF'
use tercel_rustls::hpke::ALL_SUPPORTED_SUITES;

#[derive(Debug)]
struct RsaSigningKey(Arc<dyn rustls::sign::SigningKey>);

impl RsaSigningKey {
    fn new(der: &rustls::pki_types::PrivateKeyDer<'_>) -> Result<Self, rustls::Error> {
        provider::sign::any_supported_type(der).map(Self)
    }
}

impl rustls::sign::SigningKey for RsaSigningKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn rustls::sign::Signer>> {
        self.0.choose_scheme(offered)
    }

    fn algorithm(&self) -> rustls::SignatureAlgorithm {
        self.0.algorithm()
    }
}
EOF
fi

cd "$copy"
export CARGO_TARGET_DIR=$target
skip=()
if [ -z "$stock" ] && ! grep -q ML_DSA rustls/src/crypto/aws_lc_rs/mod.rs; then
    # Releases before rustls' own provider had ML-DSA compare the list of schemes in a CertificateRequest.
    for name in client_cert_resolve_default client_cert_resolve_server_added_hint client_cert_resolve_server_no_hints; do
        skip+=(--skip "$name")
    done
    echo "absent: three tests with a list of schemes that has no ML-DSA"
fi
cargo test -p rustls --no-fail-fast --test api --test api_ffdhe --test client_cert_verifier --test server_cert_verifier \
    --test unbuffered -- "${skip[@]}" "$@" | tee "$target/said"
# Without arguments, rustls 0.23.43 has 260 tests here.
passed=$(awk '/^test result: ok/ { sum += $4 } END { print sum + 0 }' "$target/said")
echo "$passed tests passed"
[ $# -gt 0 ] || [ "$passed" -gt 200 ] || { echo "too few tests: another version of rustls?" >&2; exit 1; }
if [ -s rustls-provider-test/tests/rfc-9180-test-vectors.json ]; then
    cargo test -p rustls-provider-test -- "$@"
else
    echo "absent: the vectors of rustls-provider-test"
fi
