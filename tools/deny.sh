#!/usr/bin/env bash
# Checks what every lock file of the repository brings in: the workspace's, the lab's, and those of its workers and its
# releases of OpenSSL, of the fuzz targets and of the peers for interoperability.
# usage: tools/deny.sh CHECK..., as `cargo deny check` has them
# The packages of a tree that nobody has built yet are fetched. If they cannot be had, that is said aloud; it is a failure
# for the workspace and the lab only.
set -euo pipefail
cd "$(dirname "$0")/.."

absent=()
while read -r lock; do
    manifest=$(dirname "$lock")/Cargo.toml
    case $manifest in
        ./* | lab/Cargo.toml) ;;
        *) cargo fetch --quiet --locked --manifest-path "$manifest" || { absent+=("$manifest"); continue; } ;;
    esac
    flags=()
    # Workers that measure another cryptographic library bring it, and nothing of ours.
    [[ $manifest == lab/workers/openssl* ]] && flags=(--allow banned)
    echo "$manifest"
    cargo deny --log-level error --locked --manifest-path "$manifest" --workspace check "${flags[@]}" "$@"
done < <(git ls-files -- Cargo.lock '*/Cargo.lock')

for manifest in "${absent[@]}"; do
    echo "absent: packages of $manifest. They could not be fetched, so IT WAS NOT CHECKED."
done
