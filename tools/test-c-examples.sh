#!/usr/bin/env bash
# Builds the examples of the C interface as its users do, with the installed library and pkg-config, and checks what
# they print: linked with the shared and the static library, by gcc, clang and under AddressSanitizer; with each other,
# with openssl, and from C++ and Python.
# usage: tools/test-c-examples.sh PREFIX MATERIAL [CONNECTIONS]
#
# PREFIX is where tools/c-library.sh or `cargo cinstall` installed the library. MATERIAL has root.pem, and server and
# second with .pem and .key. CONNECTIONS (default: 5000) is how many the epoll server holds at once. clang, libuv and
# cffi are used if they are installed (Debian: clang, libuv1-dev, python3-cffi).
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=$(realpath "$1")
material=$(realpath "$2")
connections=${3:-5000}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
libdir=$(dirname "$(find "$prefix/lib" -name tercel.pc -printf '%h\n' -quit)")
export PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} LD_LIBRARY_PATH=$libdir
examples=crates/capi/examples
warnings="-Wall -Wextra -Wpedantic -Werror"

step() { echo "-- $*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { # FILE TEXT
    grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "$1 has no \"$2\""; }
}
shared_flags() { pkg-config --cflags --libs tercel; }
# The name of the archive, since a linker prefers shared libraries.
static_flags() { pkg-config --cflags --static --libs tercel | sed 's/-ltercel/-l:libtercel.a/'; }

# Starts a server in the background, and waits for its port: $server and $port.
start() { # LOG COMMAND...
    local log=$work/$1
    shift
    : >"$log"
    timeout 300 "$@" >"$log" 2>"$log.err" &
    server=$!
    for _ in $(seq 600); do
        port=$(sed -n 's/^listening on port //p' "$log")
        [ -z "$port" ] || return 0
        sleep 0.1
    done
    cat "$log.err" >&2
    fail "$1 does not listen"
}

# openssl's server: $port.
start_openssl() { # FLAGS...
    port=$(tools/free-port.sh)
    openssl s_server -quiet -www -accept "127.0.0.1:$port" -cert "$material/server.pem" \
        -key "$material/server.key" "$@" >"$work/s_server" 2>&1 &
    openssl=$!
    for _ in $(seq 600); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return 0
        kill -0 $openssl 2>/dev/null || break
        sleep 0.1
    done
    cat "$work/s_server" >&2
    fail "openssl s_server does not listen"
}

# A page of openssl's server in both versions, and a server that is not trusted.
check_client() { # COMMAND...
    for version in -tls1_2 -tls1_3; do
        start_openssl $version
        timeout 60 "$@" 127.0.0.1 / "$port" "$material/root.pem" >"$work/page" 2>"$work/error" || { cat "$work/error" >&2; fail "$*"; }
        has "$work/page" "HTTP/1.0 200 ok"
        ! timeout 60 "$@" 127.0.0.1 / "$port" "$material/other-root.pem" >"$work/page" 2>"$work/error" || fail "a server was trusted"
        has "$work/error" "the issuer is unknown"
        [ ! -s "$work/page" ] || fail "data of a server that is not trusted"
        kill "$openssl"
        wait "$openssl" 2>/dev/null || true
    done
}

check_server() { # BIN
    start server "$1/server" "$material/server.pem" "$material/server.key" 0 3
    "$1/client" 127.0.0.1 /page "$port" "$material/root.pem" >"$work/page"
    has "$work/page" "hello from C"
    ! "$1/client" localhost / "$port" "$material/root.pem" 2>"$work/error" || fail "a name was accepted"
    has "$work/error" "localhost"
    printf 'GET /other HTTP/1.0\r\n\r\n' | timeout 60 openssl s_client -quiet -verify_return_error -servername server.test \
        -connect "127.0.0.1:$port" -CAfile "$material/root.pem" >"$work/page" 2>/dev/null || true
    has "$work/page" "hello from C"
    wait "$server"
    has "$work/server" "GET /page HTTP/1.0"
    has "$work/server" "GET /other HTTP/1.0"
    has "$work/server.err" "bad_certificate"
}

# Many clients at once, then sessions and early data.
check_echo() { # SERVER BIN CONNECTIONS EARLY
    start echo "$1" "$material/server.pem" "$material/server.key" 0 $(($3 + 2))
    "$2/many_clients" "$material/root.pem" server.test "$port" "$3" >"$work/many"
    cat "$work/many"
    has "$work/many" "$3 connections at once"
    # A server admits early data some seconds after its start.
    [ "$4" != accepted ] || sleep 6
    "$2/resume" "$material/root.pem" server.test "$port" >"$work/resume"
    has "$work/resume" "full, early data not accepted: the first text"
    has "$work/resume" "resumed, early data $4: the second text"
    wait "$server"
}

# Questions: a credential by name, and a decision about the server's certificate.
check_questions() { # BIN
    mkdir -p "$work/hosts"
    for name in server second; do
        cp "$material/$name.pem" "$work/hosts/$name.test.pem"
        cp "$material/$name.key" "$work/hosts/$name.test.key"
        openssl x509 -in "$material/$name.pem" -outform DER -out "$work/$name.der"
    done
    start names "$1/hosts" 0 5 "$work/hosts"
    "$1/pin" "$material/root.pem" "$work/server.der" server.test "$port" >"$work/pin"
    has "$work/pin" "trusted"
    "$1/pin" "$material/root.pem" "$work/second.der" second.test "$port" >"$work/pin"
    ! "$1/pin" "$material/root.pem" "$work/second.der" server.test "$port" >"$work/pin" || fail "another certificate"
    has "$work/pin" "this is another certificate than the pinned one"
    ! "$1/pin" "$material/other-root.pem" "$work/server.der" server.test "$port" >"$work/pin" || fail "another root"
    has "$work/pin" "the issuer is unknown"
    ! "$1/pin" "$material/root.pem" "$work/server.der" third.test "$port" >"$work/pin" || fail "an unknown name"
    wait "$server"
    has "$work/names" "a client of server.test"
    has "$work/names" "a client of second.test"
}

build() { # BIN COMPILER FLAGS...
    local bin=$1 name uv
    shift
    mkdir -p "$bin"
    for name in client server epoll_server many_clients resume hosts pin; do
        # shellcheck disable=SC2086
        $1 -std=c99 -O1 -g $warnings -o "$bin/$name" $examples/$name.c "${@:2}"
    done
    if pkg-config --exists libuv; then
        uv=$(pkg-config --cflags --libs libuv)
        # shellcheck disable=SC2086
        $1 -std=c99 -O1 -g $warnings -o "$bin/uv_server" $examples/uv_server.c "${@:2}" $uv
    fi
}

check_all() { # BIN CONNECTIONS
    check_client "$1/client"
    check_server "$1"
    check_echo "$1/epoll_server" "$1" "$2" accepted
    check_questions "$1"
    [ ! -e "$1/uv_server" ] || check_echo "$1/uv_server" "$1" 200 "not accepted"
}

# The code of docs/c.md is that of the examples; only indentation may differ.
check_document() {
    perl -0777 -e '
        my ($document, @examples) = map { open my $file, "<", $_ or die "$_: $!"; my $text = <$file>; $text } @ARGV;
        s/^[ ]+//mg for @examples;
        my ($blocks, $missing) = (0, 0);
        while ($document =~ /^```c\n(.*?)^```$/msg) {
            my $block = $1 =~ s/^[ ]+//mgr;
            $blocks++;
            next if grep { index($_, $block) >= 0 } @examples;
            print "docs/c.md has code that no example has:\n$block";
            $missing++;
        }
        exit($missing > 0 || $blocks == 0);
    ' docs/c.md $examples/*.[ch]
}

step "the code of docs/c.md"
check_document

pkg-config --exists libuv || echo "absent: libuv, so the example uv_server is not built"
# shellcheck disable=SC2046
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || { echo "absent: $compiler"; continue; }
    step "examples by $compiler, with the shared library: $connections connections"
    build "$work/$compiler-shared" "$compiler" $(shared_flags)
    grep -q "libtercel.so.*$libdir" <<<"$(ldd "$work/$compiler-shared/client")" || fail "the shared library is not used"
    check_all "$work/$compiler-shared" "$connections"
    step "examples by $compiler, with the static library"
    build "$work/$compiler-static" "$compiler" $(static_flags)
    ! grep -q libtercel <<<"$(ldd "$work/$compiler-static/client")" || fail "the shared library is used"
    check_all "$work/$compiler-static" 100
done

step "examples under AddressSanitizer and UndefinedBehaviorSanitizer"
# shellcheck disable=SC2046
build "$work/asan" gcc -fsanitize=address,undefined -fno-sanitize-recover=all $(static_flags)
check_all "$work/asan" 500

for standard in c++17 c++20; do
    step "tercel.hpp, $standard, under AddressSanitizer and UndefinedBehaviorSanitizer"
    # shellcheck disable=SC2046,SC2086
    c++ -std=$standard -O1 -g $warnings -fno-exceptions -fsanitize=address,undefined -fno-sanitize-recover=all \
        -o "$work/cpp" crates/capi/tests/cpp/test.cpp $(static_flags)
    "$work/cpp" "$material"
done

if python3 -c 'import cffi' 2>/dev/null; then
    step "Python"
    check_client python3 $examples/client.py
else
    echo "absent: cffi for Python"
fi
