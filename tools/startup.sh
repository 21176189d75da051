#!/usr/bin/env bash
# Measures how long a program takes to print its help: 50 runs, of which it prints the median. Fails at the limit.
# usage: tools/startup.sh PROGRAM [LIMIT_IN_MILLISECONDS]
set -euo pipefail

program=$1 limit=${2:-10} runs=50
[ -x "$program" ] || { echo "tools/startup.sh: $program is not a program" >&2; exit 1; }

times=()
# The first runs only bring the program into the page cache.
for run in $(seq -3 "$runs"); do
    start=${EPOCHREALTIME/[.,]/}
    "$program" --help >/dev/null
    end=${EPOCHREALTIME/[.,]/}
    [ "$run" -le 0 ] || times+=($((end - start)))
done
mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
median=${times[runs / 2]}
printf '%s --help: median %d.%02d ms of %d runs (fastest %d.%02d ms), limit %d ms\n' "${program##*/}" \
    $((median / 1000)) $((median % 1000 / 10)) "$runs" $((times[0] / 1000)) $((times[0] % 1000 / 10)) "$limit"
if [ "$median" -ge $((limit * 1000)) ]; then
    echo "the median is not below the limit" >&2
    exit 1
fi
