#!/usr/bin/env bash
# Packages the crates that users get, as `cargo publish` would, inspects the archives, and builds from them.
# usage: tools/package.sh              fails and says why if an archive is not as expected
#        tools/package.sh --lists      the same, without building from the archives
#        tools/package.sh --renew      writes tools/package.txt, after an intended change
#
# Without a flag, a dry run of publishing follows.
#
# Every crate in crates/ is published; all other packages state `publish = false`. An archive
# - has the files that tools/package.txt lists, and Rust files in src and examples;
# - has a README that links to the repository, and both licences, equal to those of the repository;
# - has no file over 300 KB, no more than 400 KB of unit tests, no private key;
# - has a manifest with the fields that crates.io and docs.rs show;
# - compiles with nothing but the other archives and published crates: the library or program with its own features,
#   then the examples.
set -euo pipefail
cd "$(dirname "$0")/.."

expected=tools/package.txt
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
unpacked=$target/package-check
repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml)
max_file_kb=300
max_tests_kb=400
faults=0

fault() { echo "FAIL: $*" >&2; faults=$((faults + 1)); }

name_of() { sed -n 's/^name = "\(.*\)"$/\1/p' "$1" | head -n 1; }

# Prints the files of an archive that are listed by name: all but Rust files and those that cargo adds.
listed_files() { # FOLDER
    (cd "$1" && find . -type f -printf '%P\n') | LC_ALL=C sort |
        grep -vE '^(src|examples)/.*\.rs$|^(Cargo\.lock|Cargo\.toml|Cargo\.toml\.orig|\.cargo_vcs_info\.json)$' || true
}

# Prints private keys in PEM with their content, which string literals may divide into lines.
private_keys() { # FOLDER
    find "$1" -type f -print0 | xargs -0 perl -0777 -ne \
        'print "$ARGV\n" if /-----BEGIN [A-Z ]*PRIVATE KEY-----(\s|\\n|\\)*[A-Za-z0-9+\/=]{20}/'
}

inspect() { # CRATE FOLDER
    local file kilobytes field count
    for file in LICENSE-MIT LICENSE-APACHE; do
        cmp -s "$file" "$2/$file" || fault "$1: $file is absent or differs from the repository's"
    done
    grep -qF "($repository" "$2/README.md" 2>/dev/null || fault "$1: no README.md with a link to $repository"
    while read -r file; do
        fault "$1: $file has more than $max_file_kb KB"
    done < <(find "$2" -type f -size "+${max_file_kb}k" -printf '%P\n')
    kilobytes=$(find "$2" -type f \( -path '*/tests/*' -o -path '*/testing/*' -o -name tests.rs -o -name models.rs \) \
        -printf '%s\n' | awk '{ sum += $1 } END { print int(sum / 1000) }')
    [ "$kilobytes" -le "$max_tests_kb" ] || fault "$1: $kilobytes KB of tests, more than $max_tests_kb"
    while read -r file; do
        fault "$1: ${file#"$2/"} contains a private key"
    done < <(private_keys "$2")
    # Cargo writes the manifest of an archive in one form: a key at the start of a line, a list item on each line.
    for field in description documentation license readme repository rust-version keywords categories; do
        grep -q "^$field = " "$2/Cargo.toml" || fault "$1: the manifest has no $field"
    done
    for field in keywords categories; do
        count=$(sed -n "/^$field = \[/,/\]/p" "$2/Cargo.toml" | grep -o '"[^"]*"' | wc -l)
        [ "$count" -le 5 ] || fault "$1: $count $field, but crates.io accepts 5"
    done
    printf '%-18s %4d KB, unpacked %4d KB, of which unit tests %3d KB\n' "$1" \
        "$(($(stat -c %s "$target/package/$(basename "$2").crate") / 1000))" \
        "$(find "$2" -type f -printf '%s\n' | awk '{ sum += $1 } END { print int(sum / 1000) }')" "$kilobytes"
}

# Checks the archives as one workspace, in which each finds the others instead of those of the registry.
compile() { # CRATE...
    local crate check=(cargo check --quiet --manifest-path "$unpacked/Cargo.toml" --target-dir "$target")
    {
        printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n'
        for crate in "$@"; do echo "$crate = { path = \"${folders[$crate]##*/}\" }"; done
        echo
        sed -n '/^\[profile\./,$p' Cargo.toml
    } >"$unpacked/Cargo.toml"
    cp Cargo.lock "$unpacked"
    same_builds
    # One by one, because features of one crate must not depend on another crate's.
    for crate in "$@"; do
        "${check[@]}" -p "$crate" -p same-builds || fault "$crate: does not compile from its archive"
    done
    # In the repository, a dev-dependency of a crate on itself enables the features that its examples need.
    "${check[@]}" --workspace --examples --features "$(tools/features.sh crates)" || fault "the examples do not compile from their archives"
}

# Adds a package with the features of dependencies that the workspace of the repository enables somewhere, so that
# AWS-LC, whose build depends on these, is compiled once for both. Versions and profiles are the same, too.
same_builds() {
    mkdir "$unpacked/same-builds"
    touch "$unpacked/same-builds/lib.rs"
    cat >"$unpacked/same-builds/Cargo.toml" <<-END
	[package]
	name = "same-builds"
	edition = "2024"
	[lib]
	path = "lib.rs"
	[dependencies]
	aws-lc-sys = { version = "*", features = ["unstable"] }
	libc = { version = "*", features = ["extra_traits"] }
	END
}

declare -A folders
crates=() flags=()
while read -r manifest; do
    if [[ $manifest =~ ^crates/[^/]+/Cargo.toml$ ]]; then
        ! grep -q '^publish' "$manifest" || fault "$manifest: crates in crates/ are published, but it has a key publish"
        crates+=("$(name_of "$manifest")")
        flags+=(-p "${crates[-1]}")
    elif grep -q '^\[package\]' "$manifest"; then
        grep -qE '^publish( = false|\.workspace = true)$' "$manifest" || fault "$manifest: no \`publish = false\`"
    fi
done < <(git ls-files -- '*Cargo.toml')
[ "${#crates[@]}" -gt 0 ] || { echo "no crates in crates/" >&2; exit 1; }

# First without network access, which the index of the registry needs otherwise. cargo warns of each test that is not in
# an archive, which is intended.
archive=(cargo package --locked --allow-dirty --no-verify "${flags[@]}")
"${archive[@]}" --offline >/dev/null 2>&1 ||
    "${archive[@]}" 2>&1 | grep -v '^warning: ignoring \(test\|benchmark\|example\) '

rm -rf "$unpacked"
mkdir -p "$unpacked"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
for crate in "${crates[@]}"; do
    # With the time of unpacking: cargo would use what it built from an older archive, whose files have the same times.
    tar -xzmf "$target/package/$crate-$version.crate" -C "$unpacked"
    folders[$crate]=$unpacked/$crate-$version
done

listing=$target/package/listing.txt
for crate in "${crates[@]}"; do
    listed_files "${folders[$crate]}" | sed "s/^/$crate /"
done >"$listing"
if [ "${1:-}" = --renew ]; then
    cp "$listing" "$expected"
elif ! diff --unified=0 --label "$expected" --label "archives" "$expected" "$listing"; then
    fault "the archives have other files than $expected lists. If that is intended: tools/package.sh --renew"
fi
for crate in "${crates[@]}"; do
    inspect "$crate" "${folders[$crate]}"
done
if [ "$faults" -eq 0 ] && [ "${1:-}" != --lists ]; then
    compile "${crates[@]}"
    # What cargo checks before an upload, in the order of the dependencies. It reads the registry's index.
    publish=(cargo publish --quiet --dry-run --locked --allow-dirty --no-verify "${flags[@]}")
    if said=$("${publish[@]}" 2>&1); then
        echo "a dry run of publishing found no faults"
    elif [[ $said == *"failed to download from"* || $said == *"--offline was specified"* ]]; then
        echo "absent: the registry, without which there is no dry run of publishing"
    else
        fault "the crates could not be published: $said"
    fi
fi

[ "$faults" -eq 0 ] || { echo "$faults faults" >&2; exit 1; }
echo "${#crates[@]} archives are as expected"
