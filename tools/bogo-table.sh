#!/usr/bin/env bash
# usage: tools/bogo-table.sh LIST RESULTS
# Prints how many tests of LIST passed, by group. RESULTS is the `-json-output` of BoringSSL's test
# runner; a test of LIST that is missing there was not run.
set -euo pipefail

list=${1:?a file of names, one a line}
results=${2:?what the runner wrote with -json-output}
[ -f "$list" ] && [ -f "$results" ] || { echo "there is no $list or no $results" >&2; exit 1; }

# A test belongs to the first group whose pattern its name matches.
awk '
    BEGIN {
        add("policies", "^Compliance")
        add("application settings", "ALPS|^ExtraClientEncryptedExtension|^AllExtensions-.*QUIC")
        add("hints of another process", "HintMismatch")
        add("transport parameters", "^QUICTransportParams")
        add("Channel ID", "ChannelID")
        add("early data", "EarlyData|EarlyKeying")
        add("raw public keys", "CertificateType-|RawPublicKey|RPK")
        add("choice among certificates", "CertificateSelection")
        add("resumption and tickets", "^Resum|-Resum[a-z]*Across|Ticket|SessionID|PSK|RetainOnly|Resumption")
        add("OCSP responses and timestamps", "OCSP|SCT|CertificateStatus|SignedCertificateTimestamp")
        add("verdict on certificates", "^CertificateVerification")
        add("certificate compression", "CertCompression")
        add("key exchange", "Curve|KeyShare|MLKEM|PQGroups|PostQuantum|Hello[Rr]etry|HRR|ECDHE?$|PointFormat|EqualPreference")
        add("signatures", "Sign|Verify|Digest|ECDSA|PSS|Ed25519|^Ed|RSA-|Algorithms|^RSA")
        add("cipher suites", "Cipher[NSM]|SharedCipher|BogusCipher|UnknownCipher|CipherFilter|DisabledCipher|CipherMismatch")
        add("versions", "Version|Downgrade|Fallback|SCSV|Tolerance|LegacyServer")
        add("extensions", "ALPN|ServerName|SNI|Extension|SRTP|MasterSecret|^EMS|Padding")
        add("certificates of clients and servers", "Certificate|ClientAuth|ServerAuth|CA")
        add("records, alerts and key updates", "Record|Alert|Fragment|text|ChangeCipherSpec|Shutdown|Unclean|AppData|Http|KeyUpdate|Packets|Garbage|Export")
        groups = count
        name[groups + 1] = "messages and their order"
    }
    function add(group, words) { name[++count] = group; pattern[count] = words }
    FNR == NR && /": \{$/ { split($0, part, "\""); test = part[2] }
    FNR == NR && /"actual":/ { split($0, part, "\""); actual[test] = part[4] }
    FNR == NR || /^(#|$)/ { next }
    {
        for (group = 1; group <= groups; group++) if ($0 ~ pattern[group]) break
        all[group]++
        how = ($0 in actual) ? actual[$0] : "ABSENT"
        by[group, how]++
        total[how]++
        sum++
    }
    END {
        print "| group | tests | pass | fail | not implemented | not run |"
        print "|---|---:|---:|---:|---:|---:|"
        for (group = 1; group <= groups + 1; group++) if (all[group])
            row(name[group], all[group], by[group, "PASS"], by[group, "FAIL"], by[group, "SKIP"], by[group, "ABSENT"])
        row("all", sum, total["PASS"], total["FAIL"], total["SKIP"], total["ABSENT"])
    }
    function row(what, tests, pass, fail, skip, absent) {
        printf "| %s | %d | %d | %d | %d | %d |\n", what, tests, pass, fail, skip, absent
    }
' "$results" "$list"
