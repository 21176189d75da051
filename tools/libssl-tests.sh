#!/usr/bin/env bash
# Runs test suites of other projects against libssl.so.3 and against OpenSSL's, and prints both results side by side.
# The suites are checkouts that the user names; a suite without one is absent. Nothing of them is copied.
# usage: tools/libssl-tests.sh FOLDER [--nginx-tests DIR] [--nginx BINARY] [--haproxy DIR --vtest BINARY]
#            [--python DIR] [--postgres DIR] [--redis DIR] [--memcached DIR] [--net-ssleay DIR]
#            [--stunnel DIR] [--curl DIR] [--only PATTERN] [--skip-stock]
#
# FOLDER has libssl.so.3. Each DIR has the sources of the suite: a checkout of nginx/nginx-tests, which needs perl with
# IO::Socket::SSL, and the source packages of the programs that the system has. BINARY is an nginx with the modules for
# TLS (http, mail, stream) built in; without it, the system's is used. curl's sources are built in the folder, with the
# system's OpenSSL; some cases need --enable-debug, too. Redis needs tcl-tls, PostgreSQL libipc-run-perl and
# postgresql-server-dev. For each file of nginx-tests: how many tests passed, failed and were skipped, and the marks
# of a file that did not finish. For the others: the differences between both libraries, and how many were ok.
set -euo pipefail
cd "$(dirname "$0")/.."

library=$(realpath "$1")
shift
nginx_tests=
nginx=$(command -v nginx || true)
haproxy='' vtest='' python='' postgres='' redis='' memcached='' ssleay='' stunnel='' curl=''
only=.
stock=yes
while [ $# -gt 0 ]; do
    case $1 in
        --nginx-tests) nginx_tests=$(realpath "$2"); shift 2 ;;
        --nginx) nginx=$(realpath "$2"); shift 2 ;;
        --haproxy) haproxy=$(realpath "$2"); shift 2 ;;
        --vtest) vtest=$(realpath "$2"); shift 2 ;;
        --python) python=$(realpath "$2"); shift 2 ;;
        --postgres) postgres=$(realpath "$2"); shift 2 ;;
        --redis) redis=$(realpath "$2"); shift 2 ;;
        --memcached) memcached=$(realpath "$2"); shift 2 ;;
        --net-ssleay) ssleay=$(realpath "$2"); shift 2 ;;
        --stunnel) stunnel=$(realpath "$2"); shift 2 ;;
        --curl) curl=$(realpath "$2"); shift 2 ;;
        --only) only=$2; shift 2 ;;
        --skip-stock) stock=; shift ;;
        *) echo "unknown option: $1" >&2; exit 2 ;;
    esac
done
results=$(realpath -m "${CARGO_TARGET_DIR:-target}")/libssl-tests
mkdir -p "$results"
# shellcheck source=tools/libssl-suites.sh
. tools/libssl-suites.sh

# Runs one file of nginx-tests. Its output is kept in the folder of the results.
one_file() { # BINARY OUTPUT FILE
    TEST_NGINX_BINARY=$1 timeout 120 perl -I"$nginx_tests/lib" "$3" >"$2/$(basename "$3").log" 2>&1 </dev/null || true
}
export -f one_file

# The result of a file in a word: passed/planned, skipped ones, and what went wrong.
summary() { # LOG
    awk '
        /^ok .*# (skip|SKIP|TODO|todo)/ { skipped++; next }
        /^not ok .*# (TODO|todo)/ { skipped++; next }
        /^ok / { passed++ }
        /^not ok / { failed++ }
        /^1\.\.0/ { none = 1 }
        /^1\.\.[1-9]/ { split($1, plan, "\\.\\."); planned = plan[2] }
        END {
            if (none) { print "skip"; exit }
            text = passed + 0 "+" skipped + 0 "/" planned + 0
            if (failed) text = text " FAILED " failed
            if (passed + failed + skipped != planned || !planned) text = text " UNFINISHED"
            print text
        }' "$1"
}

nginx_suite() {
    local wrapper=$results/nginx-on-tercel side binary file
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$library" "$nginx" >"$wrapper"
    chmod +x "$wrapper"
    [ "$(id -u)" -ne 0 ] || export TEST_NGINX_GLOBALS="user root;"
    export TEST_NGINX_MODULES=/usr/lib/nginx/modules nginx_tests
    local files=()
    for file in "$nginx_tests"/*ssl*.t; do
        [[ $(basename "$file") == h3_* ]] || ! [[ $(basename "$file") =~ $only ]] || files+=("$file")
    done
    for side in ${stock:+stock} tercel; do
        mkdir -p "$results/$side"
        binary=$wrapper
        [ "$side" != stock ] || binary=$nginx
        (cd "$nginx_tests" && printf '%s\n' "${files[@]}" |
            xargs -P 2 -I FILE bash -c 'one_file "$0" "$1" FILE' "$binary" "$results/$side")
    done
    printf '%-44s %-24s %s\n' "nginx-tests ($(git -C "$nginx_tests" log -1 --format=%h 2>/dev/null || echo '?'))" stock tercel
    local as_stock=0 count=0 left right stock_tests=0 tercel_tests=0
    for file in "${files[@]}"; do
        file=$(basename "$file")
        left=-
        [ ! -e "$results/stock/$file.log" ] || left=$(summary "$results/stock/$file.log")
        right=$(summary "$results/tercel/$file.log")
        count=$((count + 1))
        # A file that did not finish is not a success, whatever the other library does.
        if [ "$left" = "$right" ] && [[ $right != *UNFINISHED* ]]; then
            as_stock=$((as_stock + 1))
            mark=
        else
            mark='  <'
        fi
        [[ $left != *+* ]] || stock_tests=$((stock_tests + ${left%%+*}))
        [[ $right != *+* ]] || tercel_tests=$((tercel_tests + ${right%%+*}))
        printf '%-44s %-24s %s%s\n' "$file" "$left" "$right" "$mark"
    done
    echo "tests passed: stock $stock_tests, tercel $tercel_tests; $as_stock of $count files finish as with stock"
}

# Runs a suite if its sources are named.
suite() { # NAME FUNCTION SOURCES
    if [ -n "$3" ]; then "$2" "$3"; else echo "absent: $1"; fi
}

if [ -n "$nginx_tests" ] && [ -n "$nginx" ]; then
    nginx_suite
else
    echo "absent: nginx-tests"
fi
if [ -n "$haproxy" ] && [ -n "$vtest" ]; then
    haproxy_suite "$haproxy" "$vtest"
else
    echo "absent: haproxy"
fi
suite python python_suite "$python"
suite python-asyncio python_asyncio_suite "$python"
suite postgres postgres_suite "$postgres"
suite redis redis_suite "$redis"
suite memcached memcached_suite "$memcached"
suite Net::SSLeay ssleay_suite "$ssleay"
suite stunnel stunnel_suite "$stunnel"
suite curl curl_suite "$curl"
