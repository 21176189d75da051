#!/usr/bin/env bash
# Runs the core's tests for aarch64 under qemu-user and checks the builds for musl and Windows.
# usage: tools/cross.sh [--quick]
# --quick leaves out musl, whose build differs least from the usual one, and the integration tests of tercel-wire and
# tercel, which take minutes under qemu: the code for an architecture is in tercel-crypto.
# Parts that this machine cannot run are named in a line that starts with `absent:`; all others
# have to succeed.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
for flag in "$@"; do
    case $flag in
        --quick) quick=yes ;;
        *) echo "unknown option $flag" >&2; exit 2 ;;
    esac
done

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/cross
ran=() failed=() absent=()

standard_library() { # TARGET
    [ -d "$(rustc --print target-libdir --target "$1")" ] || rustup target add "$1"
}

# usage: attempt TARGET "PROGRAM..." COMMAND...
attempt() {
    local target=$1 programs=$2 program
    shift 2
    for program in $programs; do
        command -v "$program" >/dev/null || {
            absent+=("$target: no $program")
            return 0
        }
    done
    standard_library "$target" || {
        absent+=("$target: no standard library for it, and none could be added")
        return 0
    }
    echo "== $target: $*"
    if "$@" --target "$target"; then ran+=("$target"); else failed+=("$target: $*"); fi
}

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
# AWS-LC's assembly for Windows needs NASM; without it the crate's prebuilt objects are used.
command -v nasm >/dev/null || export AWS_LC_SYS_PREBUILT_NASM=1

on_aarch64() { attempt aarch64-unknown-linux-gnu "aarch64-linux-gnu-gcc qemu-aarch64" cargo test "$@"; }
if [ "$quick" = yes ]; then
    on_aarch64 -p tercel-crypto -p tercel-pki
    on_aarch64 -p tercel-wire -p tercel --lib
else
    on_aarch64 -p tercel-crypto -p tercel-wire -p tercel-pki -p tercel
fi
[ "$quick" = yes ] || attempt x86_64-unknown-linux-musl "musl-gcc" cargo check --workspace
# The terminator is for Unix, and so are the runs that start it.
attempt x86_64-pc-windows-gnu "x86_64-w64-mingw32-gcc" cargo check --workspace \
    --exclude tercel-dist --exclude tercel-interop --exclude tercel-conformance-fleet --exclude tercel-conformance-faults

echo "ran: ${ran[*]:-nothing}"
for line in "${absent[@]}"; do echo "absent: $line"; done
if [ "${#failed[@]}" -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
