#!/usr/bin/env bash
# usage: tools/bogo-deviations.sh DIR
# Runs the tests in which Tercel deviates from BoringSSL, and checks that it answers as
# conformance/bogo/deviations.txt states. DIR is ssl/test/runner of a BoringSSL checkout.
set -euo pipefail
cd "$(dirname "$0")/.."

runner=${1:?ssl/test/runner of a BoringSSL checkout}
list=conformance/bogo/deviations.txt
tests=$(grep -v '^#' "$list" | sed 's/: .*//' | paste -sd ';')
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# The runner counts deviations as failures and exits with an error.
tools/bogo.sh "$runner" "$tests" -include-disabled >"$output" || true

awk -F ': ' '
    FNR == NR && /^[A-Z]+ \(.*\)$/ { test = $0; sub(/^[A-Z]+ \(/, "", test); sub(/\)$/, "", test) }
    FNR == NR { said[test] = said[test] $0 "\n"; next }
    /^#/ { next }
    {
        wanted = substr($0, length($1) + 3)
        if (index(said[$1], wanted)) { right++; next }
        wrong++
        printf "%s: not \"%s\", but\n%s", $1, wanted, said[$1] ? said[$1] : "nothing at all\n"
    }
    END {
        printf "%d answers are as written down, %d are not\n", right, wrong
        exit wrong > 0
    }
' "$output" "$list"
