#!/usr/bin/env bash
# Checks the dependencies of every lock file of the repository: the workspace, the lab with its workers and OpenSSL
# releases, the fuzz targets, the interop peers, the interop runs over QUIC and the users of native-tls.
# usage: tools/deny.sh CHECK..., the checks of `cargo deny check`
# Packages of a tree that was not built yet are fetched. If that fails, a warning is printed; it is a failure for the
# workspace and the lab only. A lock file that does not match the manifests is always a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

absent=()
while read -r lock; do
    manifest=$(dirname "$lock")/Cargo.toml
    case $manifest in
        ./* | lab/Cargo.toml) ;;
        *)
            if ! said=$(cargo fetch --quiet --locked --manifest-path "$manifest" 2>&1); then
                echo "$said" >&2
                case $said in *"lock file"*) echo "$lock is out of date" >&2; exit 1 ;; esac
                absent+=("$manifest")
                continue
            fi
            ;;
    esac
    flags=()
    # Programs that measure another cryptographic library depend on it; Tercel's crates do not.
    [[ $manifest == lab/workers/openssl* || $manifest == conformance/rust-users/compare/* ]] && flags=(--allow banned)
    echo "$manifest"
    cargo deny --log-level error --locked --manifest-path "$manifest" --workspace check "${flags[@]}" "$@"
done < <(git ls-files -- Cargo.lock '*/Cargo.lock')

for manifest in "${absent[@]}"; do
    echo "absent: packages of $manifest. They could not be fetched, so IT WAS NOT CHECKED."
done
