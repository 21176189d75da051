#!/usr/bin/env bash
# usage: tools/musts.sh                 fail if an RFC section that the source cites is cited by no test,
#                                        unless tools/musts-untested.txt has it with a reason
#        tools/musts.sh CRATE...         list these sections of some crates, and count only their tests
# It reads citations, not code, so it only shows where a test may be missing.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
list=tools/musts-untested.txt

# Prints `kind<TAB>RFC section` for each citation; "RFC 9846 4.2.3, 4.3.1" are two.
# Kind is `test` below tests/ and testing/, in a file tests.rs, and from `#[cfg(test)]` to a file's end.
citations() {
    find "$@" -name '*.rs' -print0 | xargs -0 awk '
        FNR == 1 { kind = FILENAME ~ /\/(tests|testing)\/|\/tests\.rs$/ ? "test" : "source" }
        /^#\[cfg\((all\()?test[,)]/ { in_test = FNR + 1 }
        # A declaration `mod testing;` is one line; a test module extends to the end of the file.
        in_test && FNR >= in_test { if ($0 !~ /^mod [a-z_]+;/) kind = "test"; in_test = 0 }
        {
            line = $0
            while (match(line, /RFC [0-9]+ [0-9A-Z][0-9.]*(, [0-9A-Z][0-9.]*)*/)) {
                found = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                # The apparent section is the beginning of the next citation.
                if (line ~ /^FC( |$)/ && sub(/, R$/, "", found)) line = "R" line
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
count=$(grep -cP '^source\t' <<<"$all")
if [ $# -gt 0 ]; then
    sort -V <<<"$missing"
    echo "$(grep -c . <<<"$missing") of $count cited sections have no test that cites them" >&2
    exit
fi

if grep -vP '^(#|RFC \d+ \S+: \S)' "$list"; then
    echo "not a section with a reason" >&2
    exit 1
fi
known=$(grep -v '^#' "$list" | cut -d : -f 1 | sort)
new=$(comm -23 <(echo "$missing") <(echo "$known") | sort -V)
stale=$(comm -13 <(echo "$missing") <(echo "$known") | sort -V)
[ -z "$new" ] || sed 's/$/: no test cites it/' <<<"$new"
[ -z "$stale" ] || sed "s|\$|: not without a test any more; remove it from $list|" <<<"$stale"
[ -z "$new$stale" ] || exit 1
echo "of $count cited sections, $(grep -c . <<<"$known") have no test, for the reasons in $list"
