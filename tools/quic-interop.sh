#!/usr/bin/env bash
# usage: tools/quic-interop.sh [--openssl] [FLAGS...]
# Runs other QUIC programs against tercel-quinn: conformance/quic-interop/README.md. Installs aioquic and builds the
# driver of quic-go below the target folder, if Python and Go are there; with --openssl it also builds an `openssl` that
# has QUIC, which takes some minutes. A program that is missing or cannot be built is reported as absent. FLAGS are
# those of the harness, for example `--filter chromium`.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
programs=$target/quic-interop-programs
folder=conformance/quic-interop
mkdir -p "$programs"

# The version of aioquic is part of the result; so is that of quic-go, in peers/go/go.mod.
aioquic=1.7.2
if [ ! -x "$programs/aioquic/bin/python" ]; then
    if python3 -m venv "$programs/aioquic" && "$programs/aioquic/bin/pip" install --quiet "aioquic==$aioquic"; then
        echo "installed aioquic $aioquic"
    else
        rm -rf "$programs/aioquic"
    fi
fi

if command -v go >/dev/null; then
    (cd $folder/peers/go && go build -o "$programs/quic-go-peer" .) || rm -f "$programs/quic-go-peer"
fi

if [ "${1:-}" = --openssl ]; then
    shift
    tools/openssl-4.0.sh "$programs/openssl" || true
fi

cargo build --locked --manifest-path $folder/Cargo.toml --target-dir "$target/quic-interop"
exec "$target/quic-interop/debug/tercel-quic-interop" run --build "$programs" "$@"
