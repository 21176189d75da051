#!/usr/bin/env bash
# Compares the public interface of each published crate with its listing in docs/api, so that a
# change of the interface shows in review.
# usage: tools/api.sh              fails and prints the difference if a listing is out of date
#        tools/api.sh --renew      writes the listings
# Needs a nightly toolchain and cargo-public-api (tools/setup.sh installs the latter); without them
# it prints a line that begins with `absent:` and succeeds.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

crates=(tercel tercel-pki tercel-tokio tercel-hyper tercel-postgres tercel-quinn tercel-fleet tercel-native-tls tercel-proxy tercel-rustls)
# All features that are documented, none for tests. A crate has those of them that it defines.
features=alpn,alpn-accept,axum,brotli,ech,endpoints,hash-lanes,hpke,message-tap,native-roots,quic,redis,tls12,tonic,tracing,vendored
features+=,webpki-roots,zlib,zstd
folder=docs/api

rustc +nightly --version >/dev/null 2>&1 || { echo "absent: a nightly toolchain"; exit 0; }
cargo public-api --version >/dev/null 2>&1 || { echo "absent: cargo-public-api"; exit 0; }

# The folder of its own keeps other builds from waiting for these, and these from waiting for them.
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/api
build=$target/listings

# Writes the documentation of crates in rustdoc's format for programs.
document() { # OPTIONS...
    RUSTDOCFLAGS="-Z unstable-options --output-format json --cap-lints allow" \
        cargo +nightly doc --quiet --no-deps --lib --target-dir "$target" "$@"
}

listing() { # CRATE
    cargo public-api --rustdoc-json "$target/doc/${1//-/_}.json" --color never -sss
}

# Each version of cargo-public-api reads only the format of certain nightlies.
document -p tercel-wire
listing tercel-wire >/dev/null 2>&1 ||
    { echo "absent: a nightly toolchain that this cargo-public-api can read"; exit 0; }

# Shortens paths to the names that a reader uses. For an item of another crate of the workspace, cargo-public-api prints
# the path of its definition, whose modules are private; they are removed. `fmt` is omitted because the line `impl
# Debug` or `impl Display` implies it.
shorten() { # CRATE
    local own=${1//-/_} other others=(tercel tercel_crypto tercel_fleet tercel_pki tercel_tokio tercel_wire)
    local rules=(
        -e '/::fmt\(&self, &mut core::fmt::Formatter/d'
        -e 's/\bcore::fmt::Result\b/fmt::Result/g'
        -e 's/\bstd::io::error::(Error|Result)\b/io::\1/g'
        -e 's/\b(alloc|core|std)::([a-z0-9_]+::)+//g'
        -e 's/\brustls_pki_types::([a-z0-9_]+::)*/pki_types::/g'
    )
    for other in "${others[@]}"; do
        [ "$other" = "$own" ] || rules+=(-e "s/\b$other::([a-z0-9_]+::)+([A-Z])/$other::\2/g")
    done
    # An item that has two paths, or an implementation that is also listed with its trait, is printed once.
    sed -E "${rules[@]}" | awk '!seen[$0]++'
}

# Items of an internal crate whose names are re-exported by a module of `tercel`.
shown() { # CRATE MODULE LISTING
    local names name=${1//-/_}
    names=$(sed -n "s/^pub use tercel::$2:://p" "$3" | paste -sd'|')
    listing "$1" | shorten none |
        grep -E "^((#\[non_exhaustive\]|pub|const|enum|fn|struct|trait|type) )+&?$name::($names)\b|^impl(<[^>]*>)? (.* for )?&?$name::($names)(<[^>]*>)?$"
}

rm -rf "$build"
mkdir -p "$build" "$folder"
document -p tercel-wire -p tercel-crypto "${crates[@]/#/-p}" --features "$features"
for crate in "${crates[@]}"; do
    echo "$crate"
    # The listing is written to a file first, because a pipeline would print a partial listing on a failure.
    listing "$crate" >"$build/full"
    shorten "$crate" <"$build/full" >"$build/$crate.txt"
    if [ "$crate" = tercel ]; then
        shown tercel-wire wire "$build/$crate.txt" >"$build/wire"
        shown tercel-crypto crypto "$build/$crate.txt" >"$build/crypto"
        cat "$build/wire" "$build/crypto" >>"$build/$crate.txt"
        rm "$build/wire" "$build/crypto"
    fi
done
rm "$build/full"

if [ "${1:-}" = --renew ]; then
    rm -f "$folder"/*.txt
    cp "$build"/*.txt "$folder"
else
    # The order is not compared: cargo-public-api lists methods by the source file that they are in.
    changed=
    for name in $(find "$folder" "$build" -name '*.txt' -printf '%f\n' | sort -u); do
        touch "$build/$name"
        diff --unified=0 --label "$folder/$name" --label "now/$name" \
            <(sort "$folder/$name" 2>/dev/null || true) <(sort "$build/$name") || changed=yes
    done
    [ -z "$changed" ] || { echo "The public interface has changed. If it is meant to: just api --renew" >&2; exit 1; }
fi
wc -l "$folder"/*.txt
