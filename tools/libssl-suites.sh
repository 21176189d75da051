# Suites of libssl-tests.sh other than nginx's: each runs in a copy of its sources, on OpenSSL's library and on this one,
# and prints a row for each of its files. The script that sources this file sets `library`, `results` and `stock`.
# shellcheck shell=bash disable=SC2154

# Makes programs of the same names in a folder that run those of the system on a side's library.
wrap() { # SIDE FOLDER PROGRAM...
    local side=$1 folder=$2 program
    shift 2
    mkdir -p "$folder"
    for program in "$@"; do
        if [ "$side" = stock ]; then
            printf '#!/bin/sh\nexec %s "$@"\n' "$program"
        else
            printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$library" "$program"
        fi >"$folder/$(basename "$program")"
        chmod +x "$folder/$(basename "$program")"
    done
}

# An empty folder for a suite on one side.
fresh() { # SUITE SIDE
    local folder=$results/$1-$2
    rm -rf "$folder"
    mkdir -p "$folder"
    echo "$folder"
}

# Sets LD_LIBRARY_PATH for a command that runs on a side's library itself.
on_side() { # SIDE COMMAND...
    local side=$1
    shift
    if [ "$side" = stock ]; then "$@"; else LD_LIBRARY_PATH=$library "$@"; fi
}

# Prints the results of both sides by the names in them: lines NAME<TAB>RESULT. A name that only one side has is shown.
compare() { # TITLE SUITE
    local title=$1 suite=$2 side
    for side in stock tercel; do
        [ -e "$results/$suite-$side/rows" ] || { mkdir -p "$results/$suite-$side"; : >"$results/$suite-$side/rows"; }
    done
    printf '\n%-44s %-24s %s\n' "$title" stock tercel
    awk -F '\t' '
        side == "stock" { left[$1] = $2; if (!($1 in seen)) { seen[$1]; order[++count] = $1 }; next }
        { right[$1] = $2; if (!($1 in seen)) { seen[$1]; order[++count] = $1 } }
        END {
            for (at = 1; at <= count; at++) {
                name = order[at]
                one = name in left ? left[name] : "-"
                other = name in right ? right[name] : "-"
                if (one == other) same++
                if (one ~ /^ok/) good++
                if (other ~ /^ok/) ours++
                if (one != other) printf "%-44s %-24s %s  <\n", name, one, other
            }
            printf "ok: stock %d, tercel %d, of %d; %d as with stock\n", good, ours, count, same
        }' side=stock "$results/$suite-stock/rows" side=tercel "$results/$suite-tercel/rows"
}

# HAProxy: reg-tests/ssl of the sources of the system's version, by VTest.
haproxy_suite() { # SOURCES VTEST
    local sources=$1 vtest=$2 side folder file
    for side in ${stock:+stock} tercel; do
        folder=$(fresh haproxy "$side")
        wrap "$side" "$folder" "$(command -v haproxy)"
        for file in "$sources"/reg-tests/ssl/*.vtc; do
            if (cd "$sources" && HAPROXY_PROGRAM=$folder/haproxy TMPDIR=$folder timeout 120 "$vtest" \
                -k -t 60 -b $((2 << 20)) "$file") >"$folder/$(basename "$file").log" 2>&1; then
                printf '%s\tok\n' "$(basename "$file")"
            else
                printf '%s\tFAILED\n' "$(basename "$file")"
            fi
        done >"$folder/rows"
    done
    compare "haproxy reg-tests/ssl" haproxy
}

# Python: test_ssl of the sources of the system's version. Both sides of its connections are on the library.
python_suite() { # SOURCES
    local sources=$1 side folder
    for side in ${stock:+stock} tercel; do
        folder=$(fresh python "$side")
        (cd "$folder" && PYTHONPATH=$sources/Lib on_side "$side" timeout 900 /usr/bin/python3 -m test -v test_ssl) \
            >"$folder/log" 2>&1 </dev/null || true
        # The result may be on a later line than the name, after output of the test.
        awk '
            match($0, /^test_[A-Za-z0-9_]+ \([^)]*\)/) { name = substr($0, RSTART, RLENGTH); sub(/ \(.*\./, " (", name) }
            name && /(^|\.\.\. )(ok|FAIL|ERROR)$|\.\.\. skipped|^skipped / {
                result = /ok$/ ? "ok" : /skipped/ ? "skip" : "FAILED"
                print name "\t" result; name = ""
            }' "$folder/log" >"$folder/rows"
    done
    compare "python test_ssl" python
}

# Results of programs that write the Test Anything Protocol: a row for each file.
tap_row() { # NAME LOG
    local result
    result=$(summary "$2")
    case $result in
        *FAILED* | *UNFINISHED*) printf '%s\t%s\n' "$1" "$result" ;;
        *) printf '%s\tok %s\n' "$1" "$result" ;;
    esac
}

# PostgreSQL: src/test/ssl of the sources of the system's version; server, psql and libpq on the library.
postgres_suite() { # SOURCES
    local sources=$1 side folder file bin=/usr/lib/postgresql/15 user=()
    for side in ${stock:+stock} tercel; do
        folder=$(fresh postgres "$side")
        cp -a "$sources/src/test/ssl" "$folder/ssl"
        wrap "$side" "$folder/bin" "$bin"/bin/*
        if [ "$(id -u)" -eq 0 ]; then
            chown -R postgres "$folder"
            user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
        fi
        for file in "$folder"/ssl/t/*.pl; do
            (cd "$folder/ssl" && "${user[@]}" env HOME="$folder" PATH="$folder/bin:$PATH" TESTDIR="$folder/ssl" \
                PG_REGRESS=$bin/lib/pgxs/src/test/regress/pg_regress with_ssl=openssl PG_TEST_EXTRA=ssl \
                timeout 600 perl -I"$sources/src/test/perl" -I"$folder/ssl/t" "$file") \
                >"$folder/$(basename "$file").log" 2>&1 </dev/null || true
            tap_row "$(basename "$file")" "$folder/$(basename "$file").log"
        done >"$folder/rows"
    done
    compare "postgres src/test/ssl" postgres
}

# Redis: tests of the sources with TLS; the test client is tcl-tls on OpenSSL's library.
redis_suite() { # SOURCES
    local sources=$1 side folder unit
    for side in ${stock:+stock} tercel; do
        folder=$(fresh redis "$side")
        cp -a "$sources/tests" "$sources/utils" "$folder/"
        wrap "$side" "$folder/src" /usr/bin/redis-server /usr/bin/redis-cli /usr/bin/redis-benchmark
        # Certificates are made once, because parameters for Diffie-Hellman take minutes.
        if [ ! -e "$results/redis-tls/done" ]; then
            (cd "$folder" && bash utils/gen-test-certs.sh) >"$folder/certificates.log" 2>&1
            cp -a "$folder/tests/tls" "$results/redis-tls"
            touch "$results/redis-tls/done"
        fi
        rm -rf "$folder/tests/tls"
        cp -a "$results/redis-tls" "$folder/tests/tls"
        for unit in unit/tls unit/auth unit/pubsub unit/limits unit/type/string unit/type/stream \
            integration/replication-2 integration/redis-benchmark; do
            (cd "$folder" && timeout 600 tclsh tests/test_helper.tcl --tls --clients 1 --single "$unit") \
                >"$folder/${unit//\//-}.log" 2>&1 </dev/null || true
            sed -E 's/\x1b\[[0-9;]*m//g' "$folder/${unit//\//-}.log" | awk -v unit="$unit" '
                /^\[ok\]: / { sub(/^\[ok\]: /, ""); sub(/ \([0-9]+ ms\)$/, ""); print unit ": " $0 "\tok" }
                /^\[err\]: / { sub(/^\[err\]: /, ""); sub(/ in tests\/.*$/, ""); print unit ": " $0 "\tFAILED" }
                /^\[exception\]/ { print unit "\tFAILED" }'
        done >"$folder/rows"
    done
    compare "redis --tls" redis
}

# memcached: the files for TLS. The test client is IO::Socket::SSL on OpenSSL's library.
memcached_suite() { # SOURCES
    local sources=$1 side folder file
    for side in ${stock:+stock} tercel; do
        folder=$(fresh memcached "$side")
        cp -a "$sources/t" "$folder/"
        wrap "$side" "$folder" /usr/bin/memcached
        # The tests pass an option that only memcached's own builds for tests have.
        printf '#!/bin/bash\nargs=" $* "\nexec %s/memcached ${args//-o relaxed_privileges/}\n' "$folder" \
            >"$folder/memcached-debug"
        chmod +x "$folder/memcached-debug"
        printf '#!/bin/sh\nlimit=$1\nshift\nexec timeout "$limit" "$@"\n' >"$folder/timedrun"
        chmod +x "$folder/timedrun"
        for file in "$folder"/t/ssl_*.t; do
            (cd "$folder" && SSL_TEST=1 timeout 120 perl -I"$folder/t/lib" "$file") \
                >"$folder/$(basename "$file").log" 2>&1 </dev/null || true
            tap_row "$(basename "$file")" "$folder/$(basename "$file").log"
        done >"$folder/rows"
    done
    compare "memcached t/ssl" memcached
}

# Net::SSLeay: t/local of the sources of the system's version. Both sides of its connections are on the library.
ssleay_suite() { # SOURCES
    local sources=$1 side folder file
    for side in ${stock:+stock} tercel; do
        folder=$(fresh ssleay "$side")
        cp -a "$sources/t" "$sources/inc" "$folder/"
        for file in "$folder"/t/local/*.t; do
            (cd "$folder" && on_side "$side" timeout 120 perl -I"$folder/inc" "$file") \
                >"$folder/$(basename "$file").log" 2>&1 </dev/null || true
            tap_row "$(basename "$file")" "$folder/$(basename "$file").log"
        done >"$folder/rows"
    done
    compare "Net::SSLeay t/local" ssleay
}

# Python: the parts for TLS of test_asyncio and test_httplib.
python_asyncio_suite() { # SOURCES
    local sources=$1 side folder
    for side in ${stock:+stock} tercel; do
        folder=$(fresh python-asyncio "$side")
        (cd "$folder" && PYTHONPATH=$sources/Lib on_side "$side" timeout 300 /usr/bin/python3 -m unittest -v \
            test.test_asyncio.test_ssl test.test_asyncio.test_sslproto test.test_httplib.HTTPSTest) \
            >"$folder/log" 2>&1 </dev/null || true
        # The result may be on a later line than the name, after output of the test.
        awk '
            match($0, /^test_[A-Za-z0-9_]+ \([^)]*\)/) { name = substr($0, RSTART, RLENGTH) }
            name && /\.\.\. (ok|FAIL|ERROR)$|^(ok|FAIL|ERROR)$|\.\.\. skipped/ {
                result = /ok$/ ? "ok" : /skipped/ ? "skip" : "FAILED"
                print name "\t" result; name = ""
            }' "$folder/log" >"$folder/rows"
    done
    compare "python test_asyncio, test_httplib" python-asyncio
}

# stunnel: tests of the sources of the system's version; both sides of its connections are on the library.
stunnel_suite() { # SOURCES
    local sources=$1 side folder before
    for side in ${stock:+stock} tercel; do
        folder=$(fresh stunnel "$side")
        cp -a "$sources/tests" "$folder/"
        (cd "$folder/tests/certs" && sh maketestcert.sh) >"$folder/certificates.log" 2>&1
        before=
        [ "$side" = stock ] || before="LD_LIBRARY_PATH=$library "
        # The tests refuse a program that was built with another version of OpenSSL than it runs with.
        cat >"$folder/stunnel" <<EOF
#!/bin/sh
if [ "\$1" = -version ]; then
    $before/usr/bin/stunnel4 -version 2>&1 | sed '/^Compiled with/d; s/^Running  *with/Compiled\/running with/' >&2
    exit
fi
${before}exec /usr/bin/stunnel4 "\$@"
EOF
        chmod +x "$folder/stunnel"
        mkdir "$folder/logs"
        (cd "$folder/tests" && timeout 600 python3 maketest.py --program "$folder/stunnel" --certs "$folder/tests/certs" \
            --logs "$folder/logs" --debug 20) >"$folder/log" 2>&1 </dev/null || true
        awk '
            /^[0-9][0-9][0-9]\. / { name = $0 }
            /^\.\.\.+ (succeeded|failed|skipped)$/ {
                print name "\t" ($2 == "succeeded" ? "ok" : $2 == "failed" ? "FAILED" : "skip")
            }' "$folder/log" >"$folder/rows"
    done
    compare "stunnel tests" stunnel
}

# curl: the TLS cases of a build of its sources with the system's OpenSSL, and the cases of tests/http if it has them.
# The servers, stunnel among them, are on OpenSSL's library.
curl_suite() { # BUILD
    local build=$1 side folder cases path
    for side in ${stock:+stock} tercel; do
        folder=$(fresh curl "$side")
        # Only curl and the programs of libtest are on the library: a server is started without the variable.
        mkdir "$folder/bin"
        for path in stunnel stunnel4 openssl; do
            [ ! -x "/usr/bin/$path" ] || printf '#!/bin/sh\nunset LD_LIBRARY_PATH\nexec /usr/bin/%s "$@"\n' "$path" \
                >"$folder/bin/$path"
        done
        chmod +x "$folder"/bin/*
        # A case of TLS has a server or needs a feature of that name.
        mapfile -t cases < <(cd "$build/tests/data" && awk '
            /<server>|<features>/ { inside = 1 }
            /<\/server>|<\/features>/ { inside = 0 }
            inside && /^(https|ftps|pop3s|imaps|smtps|gophers|httptls|SSL|TLS|OpenSSL|!?https-)/ && !seen[FILENAME]++ {
                print substr(FILENAME, 5)
            }' test[0-9]* | sort -n)
        (cd "$build/tests" && PATH="$folder/bin:$PATH" on_side "$side" timeout 1800 perl runtests.pl -a -n -am \
            "${cases[@]}") >"$folder/log" 2>&1 </dev/null || true
        awk '
            /^(PASS|FAIL|SKIP): / {
                name = $2
                result = $1 == "PASS:" ? "ok" : $1 == "FAIL:" ? "FAILED" : "skip"
                seen[name]
                print name "\t" result
            }
            # A case that fails early has no line of its own.
            /^TESTFAIL: These test cases failed:/ {
                for (at = 6; at <= NF; at++) if (!($at in seen)) print $at "\tFAILED"
            }' "$folder/log" >"$folder/rows"
    done
    compare "curl runtests, cases of TLS" curl
}
