#!/usr/bin/env bash
# Checks every crate, test and example with the minimum Rust version stated in Cargo.toml. The compiler is the
# first available of these: the one in use if it has that version, a rustup toolchain, rustup's download,
# Debian's packages of that version unpacked into a cache folder. TERCEL_MSRV_FROM=debian uses only the last.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

msrv=$(sed -n 's/^rust-version = "\([0-9.]*\)"$/\1/p' Cargo.toml)
[ -n "$msrv" ] || { echo "Cargo.toml states no rust-version" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tercel/rust-$msrv
from=${TERCEL_MSRV_FROM:-any}

is_msrv() { # COMMAND...: runs, and is a compiler of the stated version
    "$@" --version 2>/dev/null | grep "^rustc ${msrv//./\\.}\(\.\| \)" >/dev/null
}

from_debian() {
    command -v apt-get >/dev/null || return 1
    local found="" version compiler
    # Older releases of Debian have newer compilers under the name rustc-web.
    for compiler in rustc rustc-web; do
        version=$(apt-cache madison "$compiler" | awk -F'|' -v want="$msrv" '
            { gsub(/ /, "", $2) } index($2, want ".") == 1 { print $2; exit }')
        [ -n "$version" ] && { found=yes; break; }
    done
    [ -n "$found" ] || return 1

    local suffix=${compiler#rustc} list
    # The simulation lists these four packages, and those of their dependencies that are not installed.
    list=$(apt-get --simulate --no-install-recommends install "rustc$suffix=$version" \
        "cargo$suffix=$version" "libstd-rust$suffix-dev=$version" "libstd-rust$suffix-$msrv=$version" |
        sed -n 's/^Inst \([^ ]*\) \(\[[^]]*\] \)\?(\([^ ]*\) .*/\1=\3/p')
    [ -n "$list" ] || return 1

    rm -rf "$cache"
    mkdir -p "$cache/packages"
    # shellcheck disable=SC2086 # one word a package
    (cd "$cache/packages" && apt-get download $list) || return 1
    for package in "$cache"/packages/*.deb; do
        dpkg --extract "$package" "$cache/root" || return 1
    done
    rm -r "$cache/packages"
}

use_cache() {
    local libraries
    libraries=$(find "$cache/root" -name '*.so*' -printf '%h\n' 2>/dev/null | sort -u | tr '\n' ':')
    libraries=${libraries%:}
    is_msrv env LD_LIBRARY_PATH="$libraries" "$cache/root/usr/bin/rustc" || return 1
    runner=(env LD_LIBRARY_PATH="$libraries" PATH="$cache/root/usr/bin:$PATH")
}

if [ "$from" = any ] && is_msrv rustc; then
    runner=(env)
elif [ "$from" = any ] && is_msrv rustup run "$msrv" rustc; then
    runner=(rustup run "$msrv")
elif [ "$from" = any ] && command -v rustup >/dev/null &&
    rustup toolchain install "$msrv" --profile minimal && is_msrv rustup run "$msrv" rustc; then
    runner=(rustup run "$msrv")
elif use_cache || { from_debian && use_cache; }; then
    :
else
    echo "no Rust $msrv: neither rustup nor Debian's packages have it here" >&2
    exit 1
fi

"${runner[@]}" rustc --version
# The separate target folder keeps the two compilers from discarding each other's output. --locked is set
# because the committed versions must build.
"${runner[@]}" cargo check --workspace --all-targets --locked \
    --target-dir "${CARGO_TARGET_DIR:-target}/msrv"
