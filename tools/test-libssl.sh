#!/usr/bin/env bash
# Tests libssl.so.3: its symbols, the parts in Rust, and programs in C under AddressSanitizer. The programs need the
# headers of OpenSSL 3 (libssl-dev on Debian); without them this step is absent.
# usage: tools/test-libssl.sh
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/test-libssl
sources=crates/openssl/tests/c
export MATERIAL=$target/material
mkdir -p "$target" "$MATERIAL"

step() { echo "-- $*"; }

# Makes two roots, and certificates of the first one: NAME.pem and NAME.key.
make_material() {
    (
        cd "$MATERIAL"
        for root in root other; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $root.key -out $root.pem \
                -days 3650 -subj "/CN=$root" -addext basicConstraints=critical,CA:true 2>/dev/null
        done
        for name in server client; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr \
                -subj "/CN=$name" 2>/dev/null
            openssl x509 -req -in $name.csr -CA root.pem -CAkey root.key -CAcreateserial -days 3650 -out $name.pem \
                -extfile <(echo "subjectAltName=DNS:localhost,DNS:$name.test,IP:127.0.0.1") 2>/dev/null
        done
        openssl req -x509 -newkey rsa:2048 -nodes -keyout rsa.key -out rsa.pem -days 3650 -subj "/CN=rsa" 2>/dev/null
        openssl req -x509 -newkey rsa-pss -pkeyopt rsa_keygen_bits:2048 -nodes -keyout pss.key -out pss.pem \
            -days 3650 -subj "/CN=pss" 2>/dev/null
    )
}

step "the parts in Rust"
cargo test --quiet -p tercel-openssl

step "the library"
tools/libssl.sh "$target" dev

step "it exports the symbols of the list, with the version OPENSSL_3.0.0"
nm -D --defined-only "$target/libssl.so.3" | sed -n 's/^[0-9a-f]* T //p' | LC_ALL=C sort >"$target/exported"
sed -n 's/^        \(\w*\);$/\1@@OPENSSL_3.0.0/p' crates/openssl/libssl.map | LC_ALL=C sort >"$target/listed"
diff "$target/listed" "$target/exported"

if [ ! -e /usr/include/openssl/ssl.h ]; then
    echo "absent: libssl-dev"
    exit 0
fi
step "reasons of errors have the numbers of sslerr.h"
sed -n 's/^ *\([A-Z0-9_]*\) = \([0-9]*\) ".*/SSL_R_\1 \2/p' crates/openssl/src/errors/reasons.rs | sort >"$target/reasons"
sed -n 's/^# *define \(SSL_R_[A-Z0-9_]*\)  *\([0-9]*\)$/\1 \2/p' /usr/include/openssl/sslerr.h | sort |
    comm -13 - "$target/reasons" >"$target/other-reasons"
[ -s "$target/reasons" ] && [ ! -s "$target/other-reasons" ] || { cat "$target/other-reasons"; exit 1; }

step "functions have the arguments and results of ssl.h"
python3 tools/libssl-signatures.py
python3 tools/libssl-signatures.py --getters >"$target/getters.h"

[ -e "$MATERIAL/pss.pem" ] || make_material

compile() { # PROGRAM SOURCES...
    cc -std=c11 -Wall -Wextra -Werror -Wno-deprecated-declarations -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined \
        -fno-sanitize-recover=all -I "$target" -o "$target/$1" "${@:2}" "$target/libssl.so.3" -l:libcrypto.so.3 -lpthread
}

step "programs in C under AddressSanitizer and UndefinedBehaviorSanitizer"
compile tests "$sources"/*.c
LD_LIBRARY_PATH=$target ASAN_OPTIONS=detect_leaks=1 timeout 300 "$target/tests"

# The program is not linked with libssl, so that the library is unloaded if nothing else holds it.
step "a program that unloads the library while a thread ends"
cc -std=c11 -Wall -Wextra -Werror -D_GNU_SOURCE -g -O1 -o "$target/unload" crates/openssl/tests/load/unload.c \
    -l:libcrypto.so.3 -lpthread -ldl
timeout 300 "$target/unload" "$target/libssl.so.3"

# These programs run themselves on OpenSSL's library as the client.
step "programs in C whose peer uses OpenSSL"
for source in crates/openssl/tests/peer/*.c; do
    name=$(basename "$source" .c)
    compile "$name" "$source" "$sources/pair.c"
    LD_LIBRARY_PATH=$target ASAN_OPTIONS=detect_leaks=1 timeout 300 "$target/$name"
done

# Compares what a program prints on both libraries: sections, which begin with a line that is not indented. A file of
# differences has their causes in words (#), each before pairs of extended regular expressions for a line of OpenSSL (-)
# and one of this library (+), of which one may be empty: then that line is absent. The comparison continues after them,
# unless a line with a point follows. Fails for a difference without a cause, and for a pair that is not needed.
compare() { # DIFFERENCES FILE FILE
    awk -v known="$1" '
        BEGIN {
            while ((getline line < known) > 0) {
                kind = substr(line, 1, 1)
                rest = substr(line, 2)
                if (kind == "#") cause = (last == "#" ? cause : "") rest
                if (kind == "-") theirs = rest
                if (kind == "+" && cause != "") {
                    pairs++
                    their[pairs] = theirs
                    own[pairs] = rest
                    causes[pairs] = cause
                }
                if (kind == ".") ends[pairs] = 1
                last = kind
            }
        }
        function fits(line, pattern) { return line ~ "^(" pattern ")$" }
        # The pair that explains two lines.
        function cause_of(one, other, pair) {
            for (pair = 1; pair <= pairs; pair++)
                if (their[pair] == "" ? fits(other, own[pair]) :
                    fits(one, their[pair]) && (own[pair] == "" || fits(other, own[pair])))
                    return pair
            return 0
        }
        /^[^ ]/ { section[FILENAME]++ }
        { lines[FILENAME, section[FILENAME], ++count[FILENAME, section[FILENAME]]] = $0 }
        END {
            one = ARGV[1]
            other = ARGV[2]
            for (at = 0; at <= section[one] || at <= section[other]; at++) {
                differs = 0
                for (i = j = 1; i <= count[one, at] || j <= count[other, at];) {
                    if (lines[one, at, i] == lines[other, at, j]) { i++; j++; continue }
                    differs = 1
                    pair = cause_of(lines[one, at, i], lines[other, at, j])
                    if (pair == 0) {
                        print lines[one, at, 1] "\n-" lines[one, at, i] "\n+" lines[other, at, j]
                        unexplained++
                        break
                    }
                    found[pair]++
                    if (ends[pair]) break
                    if (their[pair] != "") i++
                    if (own[pair] != "") j++
                }
                different += differs
            }
            for (pair = 1; pair <= pairs; pair++)
                if (found[pair] == 0) { print "not needed: -" their[pair] " +" own[pair]; unexplained++ }
            if (different > 0) printf "   %d of %d sections differ\n", different, section[one]
            exit unexplained > 0
        }' "$2" "$3"
}

# Other releases of OpenSSL may print something else.
step "programs in C on OpenSSL 3.0 and on Tercel"
for source in crates/openssl/tests/same/*.c; do
    name=$(basename "$source" .c)
    compile "$name" "$source" "$sources/pair.c" "$sources/limited.c"
    LD_LIBRARY_PATH=$target ASAN_OPTIONS=detect_leaks=1 timeout 300 "$target/$name" >"$target/$name.tercel"
    case $(openssl version) in
    "OpenSSL 3.0."*)
        timeout 300 "$target/$name" >"$target/$name.openssl"
        known=${source%.c}.differences
        [ -e "$known" ] || known=/dev/null
        compare "$known" "$target/$name.openssl" "$target/$name.tercel"
        ;;
    *) echo "absent: OpenSSL 3.0" ;;
    esac
done

echo "passed"
