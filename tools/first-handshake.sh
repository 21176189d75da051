#!/usr/bin/env bash
# Prints the processor time of a process that makes one handshake, user and system together: the median of 20 runs of
# `PROGRAM connect`, and of curl and `openssl s_client` where they are installed, at the same server on loopback.
# usage: tools/first-handshake.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."

program=$1 runs=20
[ -x "$program" ] || { echo "tools/first-handshake.sh: $program is not a program" >&2; exit 1; }
tools/no-jitter.sh "$program"

state=$(mktemp -d)
"$program" serve --listen 127.0.0.1:0 --state-dir "$state" >"$state/out" 2>"$state/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$state"' EXIT
for _ in $(seq 300); do
    ! grep -q '^listening on ' "$state/out" || break
    kill -0 "$server" || { cat "$state/log" >&2; exit 1; }
    sleep 0.2
done
port=$(sed -n 's/^listening on 127.0.0.1://p' "$state/out")
[ -n "$port" ] || { echo "the server does not listen" >&2; exit 1; }

# usage: measure NAME COMMAND...
measure() {
    local name=$1 times=() user system
    shift
    # The first runs only bring the program into the page cache.
    for run in $(seq -1 "$runs"); do
        TIMEFORMAT='%3U %3S'
        if ! { time "$@" </dev/null >/dev/null 2>"$state/error"; } 2>"$state/time"; then
            cat "$state/error" >&2
            echo "$name failed" >&2
            exit 1
        fi
        read -r user system <"$state/time"
        # Milliseconds without their point, in base 10.
        [ "$run" -le 0 ] || times+=($((10#${user/[.,]/} + 10#${system/[.,]/})))
    done
    mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
    printf '%-18s median %2d ms of %d runs (%d to %d)\n' "$name" "${times[runs / 2]}" "$runs" "${times[0]}" \
        "${times[runs - 1]}"
}

measure "${program##*/} --help" "$program" --help
measure "${program##*/} connect" "$program" connect "localhost:$port" --ca "$state/ca.pem" --quiet
! command -v curl >/dev/null || measure curl curl -sf --cacert "$state/ca.pem" "https://localhost:$port/"
! command -v openssl >/dev/null ||
    measure "openssl s_client" openssl s_client -connect "localhost:$port" -servername localhost \
        -CAfile "$state/ca.pem" -verify_return_error
