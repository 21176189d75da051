#!/usr/bin/env bash
# Tests the C interface: header and symbols, programs in C under AddressSanitizer and Valgrind, and handshakes
# with the openssl program.
# usage: tools/test-c.sh
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/test-c
sources=crates/capi/tests/c
export MATERIAL=$target/material
# The libraries of the system that rustc names for a static library.
system="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"
warnings="-std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror"
mkdir -p "$target"

step() { echo "-- $*"; }

# Makes a root, another root, and certificates of the first one: NAME.pem and NAME.key.
make_material() {
    mkdir -p "$MATERIAL"
    (
        cd "$MATERIAL"
        for root in root other-root; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $root.key -out $root.pem \
                -days 3650 -subj "/CN=$root" -addext basicConstraints=critical,CA:true 2>/dev/null
        done
        for name in server client second; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr \
                -subj "/CN=$name" 2>/dev/null
            openssl x509 -req -in $name.csr -CA root.pem -CAkey root.key -CAcreateserial -days 3650 -out $name.pem \
                -extfile <(echo "subjectAltName=DNS:$name.test,IP:127.0.0.1") 2>/dev/null
        done
    )
}

# Compiles the programs of the tests. FLAGS are the compiler's.
compile() { # FOLDER FLAGS...
    local folder=$1
    shift
    mkdir -p "$folder"
    # shellcheck disable=SC2086
    cc $warnings "$@" -I"$target/include" -o "$folder/tests" "$sources"/{test,memory,question,session,misuse,thread}.c \
        "$target/lib/libtercel.a" $system
    # shellcheck disable=SC2086
    cc $warnings "$@" -I"$target/include" -o "$folder/sockets" "$sources/sockets.c" "$target/lib/libtercel.a" $system
}

# Handshakes of the program `sockets` in both roles.
with_openssl() { # SOCKETS
    local port peer pid
    for version in -tls1_2 -tls1_3; do
        port=$(tools/free-port.sh)
        openssl s_server -quiet -www "$version" -accept "127.0.0.1:$port" -cert "$MATERIAL/server.pem" \
            -key "$MATERIAL/server.key" >"$target/s_server.log" 2>&1 &
        peer=$!
        wait_for_port "$port"
        "$1" client "$port" "$MATERIAL/root.pem" server.test >"$target/client.log" || { kill $peer; cat "$target/client.log"; return 1; }
        kill $peer
        wait $peer 2>/dev/null || true
        grep -q "HTTP/1.0 200" "$target/client.log"

        rm -f "$target/port"
        timeout 60 "$1" server 0 "$MATERIAL/server.pem" "$MATERIAL/server.key" >"$target/port" &
        pid=$!
        for _ in $(seq 600); do [ -s "$target/port" ] || sleep 0.1; done
        printf 'hello from openssl' | timeout 60 openssl s_client -quiet "$version" -verify_return_error \
            -connect "127.0.0.1:$(head -n 1 "$target/port")" -CAfile "$MATERIAL/root.pem" -servername server.test \
            >"$target/s_client.log" 2>/dev/null || true
        wait $pid
        grep -q "hello from openssl" "$target/port"
        grep -q "hello from C" "$target/s_client.log"
    done
}

wait_for_port() {
    for _ in $(seq 600); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.1
    done
    echo "openssl s_server does not listen" >&2
    return 1
}

step "the header and the list of symbols are those of the source; the parts in Rust"
cargo test --quiet -p tercel-capi

step "the library"
tools/c-library.sh "$target"

step "the header is C99 and C++"
echo '#include "tercel.h"' >"$target/include.c"
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$target/include" "$target/include.c"
c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -I"$target/include" "$target/include.c"

step "the shared library exports the symbols of the list, with the version TERCEL_0"
nm -D --defined-only "$target/lib/libtercel.so" | sed -n 's/^[0-9a-f]* T //p' | LC_ALL=C sort >"$target/exported"
sed -n 's/^        \(tercel_.*\);$/\1@@TERCEL_0/p' crates/capi/libtercel.map | LC_ALL=C sort >"$target/listed"
diff "$target/listed" "$target/exported"

[ -e "$MATERIAL/second.pem" ] || make_material

step "a program of the first header runs with the shared library"
# shellcheck disable=SC2086
cc $warnings -O1 -I"$sources/first" -o "$target/first" "$sources/first/program.c" -L"$target/lib" -ltercel
LD_LIBRARY_PATH=$target/lib "$target/first" "$MATERIAL"

step "a program that unloads the shared library while a thread ends"
cc -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -O1 -I"$target/include" -o "$target/unload" \
    crates/capi/tests/load/unload.c -lpthread -ldl
timeout 60 "$target/unload" "$target/lib/libtercel.so" "$MATERIAL/root.pem"

step "each declaration that was ever listed is still listed"
if git rev-parse --git-dir >/dev/null 2>&1 && [ "$(git rev-parse --is-shallow-repository)" = false ]; then
    git log -p --format= -- crates/capi/abi-0.txt | sed -n 's/^+\([^+]\)/\1/p' | LC_ALL=C sort -u >"$target/ever-listed"
    missing=$(LC_ALL=C sort -u crates/capi/abi-0.txt | LC_ALL=C comm -23 "$target/ever-listed" -)
    [ -z "$missing" ] || { echo "removed from abi-0.txt: $missing"; exit 1; }
else
    echo "absent: the history of crates/capi/abi-0.txt"
fi

step "programs under AddressSanitizer and UndefinedBehaviorSanitizer"
compile "$target/asan" -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 "$target/asan/tests"

step "handshakes with openssl $(openssl version | cut -d' ' -f2)"
with_openssl "$target/asan/sockets"

step "programs under Valgrind"
compile "$target/plain" -g -O1
valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite,indirect,possible \
    --errors-for-leak-kinds=definite,indirect,possible "$target/plain/tests"

step "examples, with the library of tools/c-library.sh"
tools/test-c-examples.sh "$target" "$MATERIAL"

echo "passed"
