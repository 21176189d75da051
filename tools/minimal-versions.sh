#!/usr/bin/env bash
# Checks that the published crates compile with the oldest versions of the dependencies that their manifests allow.
# An application's lock file can contain these. The resolver's option is unstable, so the script uses a nightly cargo,
# and the compiler in use. Dev-dependencies are left out: they do not reach users.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/minimal-versions
copy=$target/source
rm -rf "$copy"
mkdir -p "$copy/crates"
cp -r .cargo "$copy"
cp -r crates/* "$copy/crates"
for manifest in "$copy"/crates/*/Cargo.toml; do
    awk '/^\[/ { keep = !/dev-dependencies\]$/ } keep' "$manifest" >"$copy/manifest"
    mv "$copy/manifest" "$manifest"
done
sed 's/^members = .*/members = ["crates\/*"]/; /^tercel-harness = /d' Cargo.toml >"$copy/Cargo.toml"
for path in docs README.md LICENSE-APACHE LICENSE-MIT; do
    ln -s "$PWD/$path" "$copy/$path"
done

cd "$copy"
cargo +nightly generate-lockfile -Z direct-minimal-versions
CARGO_TARGET_DIR=$target cargo check --workspace --lib --bins --locked "$@"
