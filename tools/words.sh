#!/usr/bin/env bash
# Checks the words and lines of prose: comments, strings and documents in plain technical English.
# usage: tools/words.sh                  every tracked file
#        tools/words.sh PATH...          these files and folders
#        tools/words.sh --self-test      whether each rule finds a planted fault
#
# A finding is `file:line: text [rule: hint]`. The rules:
#   words     tools/words.txt, in comments and strings of Rust, Markdown, comments of shell, TOML and justfile
#   length    prose in Rust over 100 columns, lines of Markdown over 120 without link targets
#   link      relative links of Markdown whose target does not exist
#   size      ARCHITECTURE.md over 1,000 words, PERFORMANCE.md over 8 KB
# Needs perl, which Debian's base system has.
set -euo pipefail

tools=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$tools")
list=$tools/words.txt
export LC_ALL=C.UTF-8

# Tracked files that have prose. Left out are the lists themselves, recorded output and generated files.
files() { # PATH...
    git -C "$root" ls-files -- "$@" |
        grep -E '\.(rs|md|sh|toml)$|(^|/)(justfile|\.ci/run)$' |
        grep -vE '^tools/words\.|^lab/results/.*/|^fuzz/corpus/' || true
}

scan() { perl "$tools/words.pl" "$list" "$root"; }

# Counts of findings by rule, then all.
summary() { # FINDINGS FILES
    sed -nE 's/.* \[("[^]]*"|length|link|size): [^]]*\]$/\1/p' <<<"$1" | sed 's/^".*/words/' |
        sort | uniq -c | awk '{ printf "%s: %d\n", $2, $1 }'
    echo "$(grep -c . <<<"$1" || true) findings in $2 files"
}

# Prints the findings in the files of the list, and how many there are; fails if there are any.
check() { # LIST
    local findings
    findings=$(scan <<<"$1")
    [ -z "$findings" ] || echo "$findings"
    summary "$findings" "$(grep -c . <<<"$1")"
    [ -z "$findings" ]
}

# Plants each fault in a scratch repository with a copy of these tools. The fault must be found at its place.
self_test() {
    local scratch faults=0 cases=0
    scratch=$(mktemp -d)
    trap "rm -rf '$scratch'" EXIT

    begin() {
        rm -rf "$scratch/repo"
        mkdir -p "$scratch/repo/tools" "$scratch/repo/src"
        cp "$tools"/words.{sh,pl,txt} "$scratch/repo/tools/"
        git -C "$scratch/repo" init --quiet
    }
    run() { git -C "$scratch/repo" add --all && "$scratch/repo/tools/words.sh" "$@" 2>&1; }
    expect() { # WHAT PATTERN
        local output status=0
        cases=$((cases + 1))
        output=$(run) || status=$?
        [ "$status" -ne 0 ] && grep -qE "$2" <<<"$output" && return
        echo "not found: $1 ($2)" >&2 && echo "$output" >&2
        faults=$((faults + 1))
    }
    expect_clean() { # WHAT
        local output
        cases=$((cases + 1))
        output=$(run) && return
        echo "falsely found: $1" >&2 && echo "$output" >&2
        faults=$((faults + 1))
    }
    long() { printf 'word %.0s' $(seq 21); }

    begin && echo '// The caller is told.' >"$scratch/repo/src/a.rs"
    expect "a word in a comment" '^src/a.rs:1: .*"told"'
    begin && printf 'fn f() {\n    g("waits beside it");\n}\n' >"$scratch/repo/src/a.rs"
    expect "a word in a string" '^src/a.rs:2: .*"beside"'
    begin && printf '//! A module of so\n//! many lines.\n' >"$scratch/repo/src/a.rs"
    expect "a phrase broken over two lines" '^src/a.rs:1: .*"so many"'
    begin && printf '/* Ends with\n   nobody. */\n' >"$scratch/repo/src/a.rs"
    expect "a word in a block comment" '^src/a.rs:2: .*"nobody"'
    begin && printf 'Text.\n\n- An item, whoever\n' >"$scratch/repo/a.md"
    expect "a word in Markdown" '^a.md:3: .*"whoever"'
    begin && printf '#!/bin/sh\ntrue # goes on\n' >"$scratch/repo/a.sh"
    expect "a word in a shell comment" '^a.sh:2: .*"goes on"'
    begin && printf 'default:\n    # The good clients\n    true\n' >"$scratch/repo/justfile"
    expect "a word in the justfile" '^justfile:2: .*"good clients"'
    begin && printf 'a = "b" # starts anew\n' >"$scratch/repo/a.toml"
    expect "a word in a TOML comment" '^a.toml:1: .*"anew"'
    begin && printf '//! Reads.\n//! Must not know: sockets.\n' >"$scratch/repo/src/a.rs"
    expect "a module header" '^src/a.rs:2: .*"Must not know"'
    begin && printf '//! Reads. Must not\n//! know: sockets.\n' >"$scratch/repo/src/a.rs"
    expect "a broken module header" '^src/a.rs:1: .*"Must not know"'
    begin && echo "// $(long)" >"$scratch/repo/src/a.rs"
    expect "a long comment" '^src/a.rs:1: .*length: over 100'
    begin && echo "let a = b; // $(long)" >"$scratch/repo/src/a.rs"
    expect "a long comment behind code" '^src/a.rs:1: .*length: over 100'
    begin && echo "$(long) $(long)" >"$scratch/repo/a.md"
    expect "a long line of Markdown" '^a.md:1: .*length: over 120'
    begin && echo "| $(long) $(long) |" >"$scratch/repo/a.md"
    expect "a wide table" '^a.md:1: .*length: over 120'
    begin && echo 'See [a](b.md).' >"$scratch/repo/a.md"
    expect "a dead link" '^a.md:1: .*link: b.md does not exist'
    begin && seq 1001 >"$scratch/repo/ARCHITECTURE.md"
    expect "a long ARCHITECTURE.md" '^ARCHITECTURE.md:1: 1001 words'
    begin && printf "%8193s" "" >"$scratch/repo/PERFORMANCE.md"
    expect "a large PERFORMANCE.md" '^PERFORMANCE.md:1: 8193 bytes'

    begin && echo "// See \`told\` and <https://example.com>." >"$scratch/repo/src/a.rs"
    expect_clean "code in a comment"
    begin && printf "fn told(beside: &'static str) -> char { '\"' } // %s\n" plain >"$scratch/repo/src/a.rs"
    expect_clean "identifiers, lifetimes and characters"
    begin && printf 'f("somebody", "user = \\"nobody\\"", "a {told:?}");\n' >"$scratch/repo/src/a.rs"
    expect_clean "names, quoted names and placeholders in strings"
    begin && printf 'See [a](#b), [b](a.md#b), [c].\n\n[c]: https://example.com\n' >"$scratch/repo/a.md"
    expect_clean "links to sections and addresses"
    begin && printf 'const A: &str = "%s%s";\n' "$(long)" "$(long)" >"$scratch/repo/src/a.rs"
    expect_clean "a long string"
    begin && printf '// https://example.com/%0100d\n' 0 >"$scratch/repo/src/a.rs"
    expect_clean "a long address"
    begin && printf '<!-- wide table: figures -->\n| a |\n|---|\n| %s%s |\n' "$(long)" "$(long)" >"$scratch/repo/a.md"
    expect_clean "a wide table with its reason"

    echo "$cases cases, $faults faults"
    [ "$faults" -eq 0 ]
}

case ${1:-} in
--self-test) self_test ;;
-*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
'') check "$(files .)" ;;
*)
    names=$(files "$@")
    [ -n "$names" ] || { echo "no tracked files: $*" >&2 && exit 2; }
    check "$names"
    ;;
esac
