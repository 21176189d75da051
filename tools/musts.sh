#!/usr/bin/env bash
# usage: tools/musts.sh [CRATE...]
# Lists the RFC sections that the source cites and no test does: a rule that may lack its test.
# It reads citations, not code, so it shows where to look and proves nothing. All crates by default.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints `kind<TAB>RFC section` for each citation; "RFC 9846 4.2.3, 4.3.1" are two.
# Kind is `test` below tests/, in a module `testing`, and from `#[cfg(test)]` to a file's end.
citations() {
    find "$@" -name '*.rs' -print0 | xargs -0 awk '
        FNR == 1 { kind = FILENAME ~ /\/tests\/|\/testing\// ? "test" : "source" }
        /^#\[cfg\((all\()?test[,)]/ { in_test = FNR + 1 }
        # A declaration `mod testing;` ends where it stands, a module of tests with the file.
        in_test && FNR >= in_test { if ($0 !~ /^mod [a-z_]+;/) kind = "test"; in_test = 0 }
        {
            line = $0
            while (match(line, /RFC [0-9]+ [0-9A-Z][0-9.]*(, [0-9A-Z][0-9.]*)*/)) {
                found = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                # What looked like a section is the beginning of the next citation.
                if (line ~ /^FC / && sub(/, R$/, "", found)) line = "R" line
                split(found, words, " ")
                count = split(substr(found, length("RFC " words[2] " ") + 1), sections, ", ")
                for (i = 1; i <= count; i++) {
                    sub(/\.+$/, "", sections[i])
                    print kind "\tRFC " words[2] " " sections[i]
                }
            }
        }'
}

paths=()
for crate in "${@:-}"; do
    paths+=("crates${crate:+/$crate}")
done
all=$(citations "${paths[@]}" | sort -u)
missing=$(comm -23 <(grep -P '^source\t' <<<"$all" | cut -f 2 | sort -u) \
    <(grep -P '^test\t' <<<"$all" | cut -f 2 | sort -u))
sort -V <<<"$missing"
echo "$(wc -l <<<"$missing") of $(grep -cP '^source\t' <<<"$all") cited sections have no test that cites them" >&2
