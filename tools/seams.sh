#!/usr/bin/env bash
# Checks that no build of the workspace contains a test seam (CONTRIBUTING.md, "Test seams"): neither the libraries nor
# the programs linked from them.
# usage: tools/seams.sh
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

# The documentation of each seam begins with these words, and a library's metadata contains the documentation
# of its public items. The seams' names would not do, because metadata also contains the names of items that
# `cfg` removed.
seam='Test seam.'
# The public features. Every other feature must be requested by name, or by a test.
features=(aes-gcm-kernel brotli chacha20-poly1305-kernel default ech endpoints hash-lanes hpke http3 message-tap native-roots
    quic redis rsa-kernel test-authority tls12 webpki-roots zlib zstd)
faults=0

fault() { echo "$*" >&2; faults=$((faults + 1)); }

# Artifacts that `cargo ARGUMENTS` builds from the workspace's packages, without build scripts: one line of JSON each.
artifacts() {
    cargo "$@" --locked --message-format=json |
        grep -F '"reason":"compiler-artifact"' | grep -F "\"package_id\":\"path+file://$PWD/" |
        grep -v -F '"kind":["custom-build"]'
}

files_of() { sed -n 's/.*"filenames":\[\([^]]*\)\].*/\1/p' <<<"$1" | tr -d '"' | tr ',' '\n'; }

# usage: without_seams WHAT LINES
without_seams() {
    local files found
    mapfile -t files < <(files_of "$2")
    [ "${#files[@]}" -gt 5 ] || { echo "$1 made next to nothing" >&2; exit 1; }
    found=$(grep -a -l -F "$seam" "${files[@]}" || true)
    [ -z "$found" ] || fault "$1: a seam is in" $found
    echo "$1: ${#files[@]} files searched"
}

# Only tests enable a seam.
while read -r package _ folder said; do
    for feature in ${said//[,(*)]/ }; do
        [[ " ${features[*]} " == *" $feature "* ]] ||
            fault "cargo build --workspace: $package is built with the feature $feature"
    done
done < <(cargo tree --locked --workspace -e normal,build --prefix none -f '{p} {f}' | grep -F "($PWD/" | sed 's/ (\*)$//' | sort -u)
[ "$faults" -eq 0 ] || { echo "$faults faults; nothing was built" >&2; exit 1; }

# Each public function behind a seam's feature has the words; otherwise the searches below could not find it.
gate='feature = "(testing|deterministic|count-locks)"'
modules=$(git grep -h -A 1 -E "$gate" -- 'crates/*/src/*.rs' | sed -n 's/^pub mod \([a-z_]*\);/\1/p' | sort -u | paste -s -d '|')
unnamed=$(git ls-files -- 'crates/*/src/*.rs' | xargs awk -v gate="$gate" -v modules="/(${modules:-none})(/mod)?[.]rs$" -v seam="$seam" '
    FNR == 1 { described = named = gated = 0; in_module = FILENAME ~ modules }
    /^[ \t]*\/\/\// { if (!described) named = index($0, "/// " seam) > 0; described = 1; next }
    /^[ \t]*#\[/ { if ($0 ~ gate && $0 !~ /not\(/) gated = 1; next }
    {
        if ((gated || in_module) && !named && /^[ \t]*pub (const |async )?fn /) print FILENAME ":" FNR
        described = named = gated = 0
    }')
[ -z "$unnamed" ] || { fault "documentation that does not begin with \"$seam\": $unnamed"; exit 1; }

# A release contains no seam.
lines=$(artifacts build --release --workspace)
grep -q -F '/release/tercel"' <<<"$lines" || { echo "no program was built" >&2; exit 1; }
without_seams "cargo build --release --workspace" "$lines"

# Requesting the features does not add them to a release. Checked and built code have the same metadata. What makes a
# release of a crate is that it has no debug assertions; with the other settings of the dev profile, its dependencies are
# those that `just check` has checked.
all=$(tools/features.sh)
as_release=()
while read -r package; do
    as_release+=(--config "profile.dev.package.\"$package\".debug-assertions=false")
done < <(cargo tree --locked --workspace --depth 0 --prefix none -f '{p}' | sed -n 's/ .*//; /./p' | sort -u)
without_seams "cargo check --workspace --features $all, without debug assertions" \
    "$(artifacts check --workspace --features "$all" "${as_release[@]}")"

# Checks that the search is effective: with debug assertions, each seam is found when its feature is enabled.
lines=$(artifacts check --workspace --features "$all")
for crate in $(git grep -l -F "$seam" -- 'crates/*/src/*.rs' | cut -d/ -f1,2 | sort -u); do
    wanted=$(git grep -h -F "$seam" -- "$crate/src/*.rs" | wc -l)
    mapfile -t files < <(files_of "$(grep -F "\"manifest_path\":\"$PWD/$crate/Cargo.toml\"" <<<"$lines")")
    seen=$(grep -a -o -F "$seam" "${files[@]}" | wc -l)
    [ "$seen" -ge "$wanted" ] || fault "$crate: $seen of $wanted seams were found"
done

# Each seam requires debug assertions.
open=$(git grep -n -E "$gate" -- 'crates/*/src/*.rs' | grep -v debug_assertions || true)
[ -z "$open" ] || fault "without debug assertions: $open"

# A public item that is hidden from the documentation would be a seam without the name.
hidden=$(git grep -n -F 'doc(hidden)' -- 'crates/*/src/*.rs' | grep -v '^crates/crypto/src/lib.rs:' || true)
[ -z "$hidden" ] || fault "public and hidden: $hidden"

[ "$faults" -eq 0 ] || { echo "$faults faults" >&2; exit 1; }
