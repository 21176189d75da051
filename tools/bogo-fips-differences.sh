#!/usr/bin/env bash
# usage: tools/bogo-fips-differences.sh LIST TESTS FEATURE OPTION LOG
# Compares two runs of BoringSSL's test runner with the names in TESTS, without and with the option `fips`. FEATURE and
# OPTION are what it wrote with -json-output, and LOG is its output with the option. Fails unless the tests that pass
# without the option and not with it are those of LIST, and have the words of their class. A class is a line
# `[WORDS] CAUSE`; the names of its tests follow. Words are separated by ` | `: one of them is in the output of the test.
set -euo pipefail

list=${1:?the list of tests that differ}
awk '
    FILENAME == ARGV[1] {
        if (/^(#|$)/) next
        if (/^\[/) {
            end = index($0, "] ")
            words[++classes] = substr($0, 2, end - 2)
            cause[classes] = substr($0, end + 2)
        } else if ($0 in class) {
            complain($0 " is listed twice")
        } else class[$0] = classes
        next
    }
    FILENAME == ARGV[2] { if (!/^(#|$)/) wanted[$0]; next }
    FILENAME == ARGV[3] || FILENAME == ARGV[4] {
        if (/": \{$/) { split($0, part, "\""); test = part[2] }
        if (/"actual":/) {
            split($0, part, "\"")
            if (FILENAME == ARGV[3]) before[test] = part[4]; else after[test] = part[4]
        }
        next
    }
    /^[A-Z]+ \(.*\)$/ { test = $0; sub(/^[A-Z]+ \(/, "", test); sub(/\)$/, "", test) }
    { output[test] = output[test] $0 "\n" }

    function complain(text) { print text; wrong++ }
    function has_words(text, all,    part, count, i) {
        count = split(all, part, / \| /)
        for (i = 1; i <= count; i++) if (index(text, part[i])) return 1
        return 0
    }
    END {
        for (test in before) {
            if (!(test in after)) complain(test " ran only without the option")
            else if (before[test] != "PASS" && after[test] != before[test])
                complain(test ": " before[test] " without the option, " after[test] " with it")
            else if (before[test] == "PASS" && after[test] != "PASS" && !(test in class))
                complain(test " is not listed, and does not pass:\n" output[test])
            else if (before[test] == "PASS" && after[test] == "PASS" && test in class)
                complain(test " is listed, and passes")
        }
        for (test in after) if (!(test in before)) complain(test " ran only with the option")
        for (test in class) {
            if (!(test in wanted)) continue
            if (!(test in before)) { complain(test " is listed, and was not run"); continue }
            if (after[test] == "PASS") continue
            if (has_words(output[test], words[class[test]])) count[class[test]]++
            else complain(test " does not have the words of its class:\n" output[test])
        }
        print "| tests | cause |\n|---:|---|"
        for (i = 1; i <= classes; i++) {
            if (count[i]) printf "| %d | %s |\n", count[i], cause[i]
            sum += count[i]
        }
        printf "%d tests differ as listed, %d do not\n", sum, wrong
        exit wrong > 0
    }
' "$list" "${2:?}" "${3:?}" "${4:?}" "${5:?}"
