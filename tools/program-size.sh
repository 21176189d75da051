#!/usr/bin/env bash
# Prints the stripped sizes of release builds with and without features, and the difference to the first row of the
# same program: of `tercel`, and of a program that contains the examples `client` and `server` of the library, because
# `tercel` cannot be built without Encrypted ClientHello. Each row is a build of its own, which takes minutes.
# usage: tools/program-size.sh [--rows TEXT], which prints the rows whose names contain the text
set -euo pipefail
cd "$(dirname "$0")/.."

rows=
case ${1-} in
'') ;;
--rows) rows=$2 ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A package outside of the workspace: the examples are built with the features of the dev-dependencies.
mkdir "$work/examples"
cat >"$work/examples/main.rs" <<'RUST'
#[path = "PATH/client.rs"]
mod client;
#[path = "PATH/server.rs"]
mod server;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().len() == 3 { client::main() } else { server::main() }
}
RUST
for example in client server; do
    sed 's/^fn main/pub fn main/' "crates/tls/examples/$example.rs" >"$work/examples/$example.rs"
done
sed -i "s|PATH|$work/examples|" "$work/examples/main.rs"
{
    printf '[package]\nname = "tercel-examples"\nedition = "2024"\n\n'
    printf '[[bin]]\nname = "tercel-examples"\npath = "examples/main.rs"\n'
    printf '\n[features]\n'
    for feature in $(sed -n '/^\[features\]/,/^\[dev/s/^\([a-z0-9-]*\) = .*/\1/p' crates/tls/Cargo.toml); do
        [ "$feature" = default ] || printf '%s = ["tercel/%s"]\n' "$feature" "$feature"
    done
    printf '\n[dependencies]\ntercel = { path = "%s", default-features = false }\n\n' "$PWD/crates/tls"
    # The profile of the workspace.
    sed -n '/^\[profile.release\]/,/^$/p' Cargo.toml
    printf '\n[workspace]\n'
} >"$work/Cargo.toml"
cp Cargo.lock "$work/"

# The default features of a crate without those that are named: CRATE FEATURE...
default_without() {
    local crate=$1 feature features
    shift
    features=$(awk '/^default = \[/ { inside = 1 } inside { print } /\]/ { inside = 0 }' "crates/$crate/Cargo.toml" |
        grep -o '"[^"]*"' | tr -d '"')
    for feature in "$@"; do features=$(grep -vx "$feature" <<<"$features"); done
    paste -sd, <<<"$features"
}

first=
# Prints a row: NAME BINARY FEATURES ARGUMENTS-OF-CARGO...
row() {
    local name=$1 binary=$2 features=$3 size
    shift 3
    [[ $name == *"$rows"* ]] || return 0
    cargo build --release --quiet --target-dir "$target" --no-default-features --features "$features" "$@"
    strip -o "$work/stripped" "$target/release/$binary"
    size=$(stat -c %s "$work/stripped")
    [[ $name != *default* ]] || first=$size
    awk -v name="$name" -v size="$size" -v first="${first:-$size}" \
        'BEGIN { printf "%-36s %8.0f KiB  %+7.0f KiB\n", name, size / 1024, (size - first) / 1024 }'
}

kernels=(aes-gcm-kernel chacha20-poly1305-kernel rsa-kernel)
tercel=(-p tercel-cli --bin tercel --locked)
row "tercel, default features" tercel default "${tercel[@]}"
row "tercel without kernels" tercel "$(default_without cli "${kernels[@]}")" "${tercel[@]}"
row "tercel with dns" tercel default,dns "${tercel[@]}"
# The last build is the one that other recipes expect.
cargo build --release --quiet --target-dir "$target" "${tercel[@]}"

library=(--manifest-path "$work/Cargo.toml" --offline)
first=
# The client of the example takes the roots of the system.
row "examples, default features" tercel-examples "$(default_without tls),native-roots" "${library[@]}"
row "examples without ech" tercel-examples "$(default_without tls ech),native-roots" "${library[@]}"
row "examples without kernels" tercel-examples "$(default_without tls "${kernels[@]}"),native-roots" "${library[@]}"
