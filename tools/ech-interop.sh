#!/usr/bin/env bash
# usage: tools/ech-interop.sh TERCEL [--no-build] [--filter TEXT] [--nginx|--haproxy|--caddy PROGRAM]...
# Runs other programs with Encrypted ClientHello against `tercel serve` and `tercel connect`, over loopback:
# conformance/ech-interop/README.md. It builds the programs first, below the target folder, which takes some minutes:
# OpenSSL 4.0, BoringSSL's `bssl`, curl on that OpenSSL, and drivers over Go and rustls. --no-build takes those that are
# there. Browsers are those of the system. So are nginx, HAProxy and Caddy, if they have Encrypted ClientHello; an option
# names another program. A program that is missing or cannot be built is reported as absent.
set -euo pipefail
cd "$(dirname "$0")/.."
trap 'echo "tools/ech-interop.sh: stopped at line $LINENO" >&2' ERR

tercel=$(realpath "$1")
shift
build=yes filter=
nginx=$(command -v nginx || true) haproxy=$(command -v haproxy || true) caddy=$(command -v caddy || true)
while [ $# -gt 0 ]; do
    case $1 in
    --no-build) build= ;;
    --filter) filter=$2 && shift ;;
    --nginx) nginx=$(realpath "$2") && shift ;;
    --haproxy) haproxy=$(realpath "$2") && shift ;;
    --caddy) caddy=$(realpath "$2") && shift ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
programs=$target/ech-interop-programs
openssl=$programs/openssl/apps/openssl bssl=$programs/bssl/bssl curl=$programs/curl/src/curl
go=$programs/go-ech-peer rustls=$target/peers/release/peer-rustls-ech
chromium=$(command -v chromium || command -v google-chrome || true)
# Its profile is made with certutil.
firefox=$(command -v firefox-esr || command -v firefox || true)
command -v certutil >/dev/null || firefox=
# Terminators without ECH are absent. nginx knows the directive also where its OpenSSL has no ECH.
[ -z "$nginx" ] || grep -q OSSL_ECHSTORE_read_pem "$nginx" || nginx=
[ -z "$haproxy" ] || "$haproxy" -vv | grep '+ECH' >/dev/null || haproxy=
[ -z "$caddy" ] || "$caddy" version | grep -Eq '^v2\.[1-9][0-9]' || caddy=
mkdir -p "$programs"

# The source of a package of a lock file: MANIFEST NAME
source_of() {
    cargo metadata --locked --all-features --format-version 1 --manifest-path "$1" |
        grep -o "\"manifest_path\":\"[^\"]*/$2-[0-9][^\"/]*/Cargo.toml\"" | head -1 | cut -d'"' -f4 | xargs -r dirname
}

build_bssl() {
    [ ! -x "$bssl" ] || return 0
    command -v cmake >/dev/null && command -v ninja >/dev/null || return 1
    local source
    source=$(source_of conformance/peers/Cargo.toml boring-sys) && [ -n "$source" ] || return 1
    cmake -GNinja -S "$source/deps/boringssl" -B "$programs/bssl" -DCMAKE_BUILD_TYPE=Release >"$programs/bssl.log" &&
        ninja -C "$programs/bssl" bssl >>"$programs/bssl.log"
}

# The source is in the package of Rust's bindings to curl.
build_curl() {
    [ ! -x "$curl" ] || return 0
    command -v cmake >/dev/null && [ -x "$openssl" ] || return 1
    local source
    source=$(source_of conformance/peers/Cargo.toml curl-sys) && [ -n "$source" ] || return 1
    rm -rf "$programs/curl-source"
    cp -r "$source/curl" "$programs/curl-source"
    # The package has no documents, for which the build asks nevertheless.
    mkdir -p "$programs/curl-source/docs/examples"
    touch "$programs/curl-source/docs/CMakeLists.txt" "$programs/curl-source/docs/examples/CMakeLists.txt"
    cmake -S "$programs/curl-source" -B "$programs/curl" -DCMAKE_BUILD_TYPE=Release -DUSE_ECH=ON -DCURL_USE_OPENSSL=ON \
        -DOPENSSL_ROOT_DIR="$programs/openssl" -DOPENSSL_USE_STATIC_LIBS=ON -DBUILD_SHARED_LIBS=OFF \
        -DHTTP_ONLY=ON -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DUSE_LIBIDN2=OFF -DCURL_ZLIB=OFF \
        -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF -DUSE_NGHTTP2=OFF -DBUILD_TESTING=OFF -DBUILD_MISC_DOCS=OFF \
        -DBUILD_LIBCURL_DOCS=OFF -DENABLE_CURL_MANUAL=OFF >"$programs/curl.log" 2>&1 &&
        cmake --build "$programs/curl" --target curl -j "$(nproc)" >>"$programs/curl.log" 2>&1
}

if [ -n "$build" ]; then
    tools/openssl-4.0.sh "$programs/openssl" || true
    build_bssl || rm -rf "$programs/bssl"
    build_curl || rm -rf "$programs/curl"
    if command -v go >/dev/null; then
        (cd conformance/ech-interop/peers/go && GOTOOLCHAIN=auto go build -o "$go" .) || rm -f "$go"
    fi
    cargo build --release --locked --manifest-path conformance/peers/Cargo.toml --target-dir "$target/peers" \
        --no-default-features --features ech --bin peer-rustls-ech || rm -f "$rustls"
fi

# Material: a certificate for the public and the secret name, the server's key, and a key that it does not have.
work=$(mktemp -d)
server_pid='' browser_pids=()
# shellcheck disable=SC2329 # called by the trap
clean() {
    kill $server_pid "${browser_pids[@]}" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
# The servers have no certificate for the last.
secret=secret.example public=cover.example foreign=foreign.example
cat >"$work/leaf.cnf" <<END
[leaf]
subjectAltName = DNS:$public, DNS:$secret
extendedKeyUsage = serverAuth
END
ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
{
    openssl req -x509 "${ec[@]}" -days 2 -subj "/CN=ECH interop" -keyout "$work/ca.key" -out "$work/ca.pem"
    openssl req "${ec[@]}" -subj "/CN=$secret" -keyout "$work/leaf.key" -out "$work/leaf.csr"
    openssl x509 -req -in "$work/leaf.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
        -extfile "$work/leaf.cnf" -extensions leaf -out "$work/leaf.pem"
} 2>"$work/pki.log" || { cat "$work/pki.log" >&2; exit 1; }
request=$'GET / HTTP/1.0\r\nHost: '$secret$'\r\n\r\n'
printf '%s' "$request" >"$work/request"
for key in current other foreign; do
    [ $key = foreign ] && name=$foreign || name=$public
    "$tercel" ech generate --public-name $name --max-name-length 64 --out "$work/$key.ech" >"$work/$key.record"
    sed -n '/BEGIN ECHCONFIG/,/END ECHCONFIG/{/-----/d;p}' "$work/$key.ech" | tr -d '\n' >"$work/$key.b64"
    base64 -d "$work/$key.b64" >"$work/$key.list"
    # Raw files for bssl and Go: the list without its length, and the end of the private key in PKCS#8.
    tail -c +3 "$work/$key.list" >"$work/$key.config"
    sed -n '/BEGIN PRIVATE/,/END PRIVATE/{/-----/d;p}' "$work/$key.ech" | base64 -d | tail -c 32 >"$work/$key.raw"
done
current=$(cat "$work/current.b64") other=$(cat "$work/other.b64")
public_key=$("$tercel" ech show "$work/current.ech" | sed -n 's/^public-key  *//p')

port=0
# Starts a server in the background, and waits until it listens: COMMAND... It takes $port.
start() {
    "$@" >"$work/server.log" 2>&1 <"${server_input:-/dev/null}" &
    server_pid=$!
    for _ in $(seq 1200); do
        grep -qi " 0100007F:$(printf %04X "$port") .* 0A \| 00000000:$(printf %04X "$port") .* 0A " /proc/net/tcp && return 0
        grep -qi ":$(printf %04X "$port") .* 0A " /proc/net/tcp6 2>/dev/null && return 0
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.05
    done
    cat "$work/server.log" >&2
    return 1
}
stop() {
    [ -z "$server_pid" ] || { kill "$server_pid" && wait "$server_pid"; } 2>/dev/null || true
    server_pid=
}

ok=0 failed=0
# Runs a cell: PEER ROLE NAME FUNCTION. The function fails, or prints a line `cannot REASON`.
cell() {
    local name="$1 $2 $3" result reason
    [[ $name == *"$filter"* ]] || return 0
    port=$(tools/free-port.sh) resets=
    : >"$work/server.log"
    : >"$work/client.log"
    # A subshell would lose the process of the server.
    if "$4" >"$work/result" 2>&1; then result=ok; else result=FAILED; fi
    stop
    reason=$(sed -n 's/^cannot //p' "$work/result" | head -1)
    case ${reason:+cannot}$result in
    cannotok) printf '%-8s %-8s %-12s cannot: %s\n' "$1" "$2" "$3" "$reason" ;;
    ok) ok=$((ok + 1)) && printf '%-8s %-8s %-12s ok\n' "$1" "$2" "$3" ;;
    *)
        failed=$((failed + 1))
        printf '%-8s %-8s %-12s FAILED\n' "$1" "$2" "$3"
        sed 's/^/    /' "$work/result" "$work/client.log" "$work/server.log" | tail -n 60
        ;;
    esac
}
# Checks that a log has a line: LOG PATTERN
seen() {
    # The server writes its line at the end of the connection.
    for _ in $(seq 1200); do
        grep -Eq -- "$2" "$work/$1.log" && return 0
        sleep 0.05
    done
    echo "no line in the $1's log: $2"
    return 1
}
# Checks that a log has a line: LOG TEXT
seen_text() { grep -Fxq -- "$2" "$work/$1.log" || { echo "no line in the $1's log: $2"; return 1; }; }
unseen() {
    ! grep -Eq -- "$2" "$work/$1.log" || { echo "a line in the $1's log: $2"; return 1; }
}
limited() { timeout 60 "$@" >>"$work/client.log" 2>&1; }
cannot() { echo "cannot $*"; }

# --- tercel serve, with each client.

tercel_serve() {
    start "$tercel" serve --listen "127.0.0.1:$port" --cert "$work/leaf.pem" --key "$work/leaf.key" \
        --ech "$work/current.ech" "$@"
}
accepted_by_tercel() { seen server "name=$secret ech=accepted outer-name=$public"; }

# Each client: CONFIGS (a name of a key, or grease) and options for the cell.
client_openssl() {
    local configs=$1 ech=(-ech_grease)
    shift
    [ "$configs" = grease ] || ech=(-ech_config_list "$(cat "$work/$configs.b64")")
    printf '%s' "$request" | limited "$openssl" s_client -connect "127.0.0.1:$port" -servername $secret -tls1_3 \
        -CAfile "$work/ca.pem" -verify_return_error -ign_eof "${ech[@]}" "$@"
}
openssl_accepted() { tercel_serve && client_openssl current && seen client '^ECH: success' && accepted_by_tercel; }
openssl_retry() {
    tercel_serve
    ! client_openssl other || return 1
    # It prints the fields of the configurations, not their Base64.
    seen client 'ECH: failed\+retry-configs' && seen client "$public_key"
    client_openssl current && seen client '^ECH: success' && accepted_by_tercel
}
openssl_hrr() { tercel_serve --groups secp384r1 && openssl_hrr_client; }
openssl_hrr_client() {
    client_openssl current -groups X25519:P-384 && seen client '^ECH: success' && seen server 'retried' &&
        accepted_by_tercel
}
openssl_wrong() {
    tercel_serve
    ! client_openssl other || return 1
    unseen client 'Tercel</h1>' && unseen server 'ech=accepted'
}
openssl_grease() { tercel_serve && client_openssl grease && seen client 'ECH: GREASE' && seen server 'ech=rejected'; }
# The outer ClientHello of OpenSSL 4.0.3 has a binder of no bytes, which RFC 9846 4.3.11 does not permit. Go refuses it
# as well.
openssl_resumed() {
    client_openssl current -sess_out "$work/session.pem" || return 1
    client_openssl current -sess_in "$work/session.pem" "$@" && return 0
    seen client 'alert decode error' && cannot "its outer ClientHello has a binder of no bytes"
}
openssl_resumption() {
    tercel_serve && openssl_resumed || return 1
    grep -q ^cannot "$work/result" || { seen client '^Reused' && seen server "resumed name=$secret ech=accepted"; }
}
openssl_early() {
    tercel_serve --early-data 4096 && openssl_resumed -early_data "$work/request" || return 1
    grep -q ^cannot "$work/result" || {
        seen client 'Early data was accepted' && seen server "early-data=[1-9][0-9]* name=$secret ech=accepted"
    }
}

client_bssl() {
    local configs=$1 ech=(-ech-grease)
    shift
    [ "$configs" = grease ] || ech=(-ech-config-list "$work/$configs.list")
    # It ends when its input ends.
    { printf '%s' "$request"; sleep 1; } | limited "$bssl" client -connect "127.0.0.1:$port" -server-name $secret \
        -root-certs "$work/ca.pem" "${ech[@]}" "$@"
}
bssl_accepted() {
    tercel_serve && client_bssl current && seen client 'Encrypted ClientHello: yes' && accepted_by_tercel
}
bssl_retry() { cannot "its client does not print the configurations of the server"; }
bssl_hrr() {
    tercel_serve --groups secp384r1
    client_bssl current -curves X25519:P-384 && seen client 'Encrypted ClientHello: yes' && seen server retried &&
        accepted_by_tercel
}
bssl_wrong() {
    tercel_serve
    ! client_bssl other || return 1
    seen client ECH_REJECTED && seen server "name=$public ech=rejected" && unseen client 'Tercel</h1>'
}
bssl_grease() { tercel_serve && client_bssl grease && seen server 'ech=rejected' && seen client 'Tercel</h1>'; }
bssl_resumption() {
    tercel_serve
    client_bssl current -session-out "$work/session" && client_bssl current -session-in "$work/session" &&
        seen client 'Resumed session: yes' && seen server "resumed name=$secret ech=accepted"
}
bssl_early() {
    tercel_serve --early-data 4096
    client_bssl current -session-out "$work/session" &&
        client_bssl current -session-in "$work/session" -early-data "@$work/request" &&
        seen server "early-data=[1-9][0-9]* name=$secret ech=accepted"
}

client_go() {
    local configs=$1
    shift
    limited "$go" client -port "$port" -name $secret -ca "$work/ca.pem" -ech "$(cat "$work/$configs.b64")" "$@"
}
go_accepted() { tercel_serve && client_go current && seen client '^ech=true' && accepted_by_tercel; }
go_retry() {
    tercel_serve && client_go other -retry && seen_text client "rejected $current" && seen client '^ech=true' &&
        accepted_by_tercel
}
go_hrr() {
    tercel_serve --groups secp384r1 && client_go current -curves X25519,P-384 && seen client 'retried=true' &&
        accepted_by_tercel
}
go_wrong() {
    tercel_serve
    ! client_go other || return 1
    seen client '^rejected' && seen server "name=$public ech=rejected" && unseen client answered
}
go_grease() { cannot "crypto/tls does not send random contents"; }
go_resumption() {
    tercel_serve && client_go current -connections 2 && seen client 'ech=true resumed=true' &&
        seen server "resumed name=$secret ech=accepted"
}
go_early() { cannot "crypto/tls has no early data over TCP"; }

client_rustls() {
    local configs=$1 ech=()
    shift
    [ "$configs" = grease ] || ech=(--ech "$work/$configs.list")
    limited "$rustls" --port "$port" --name $secret --ca "$work/ca.pem" "${ech[@]}" "$@"
}
rustls_accepted() { tercel_serve && client_rustls current && seen client '^ech=accepted' && accepted_by_tercel; }
rustls_retry() {
    tercel_serve && client_rustls other --retry && seen client "^rejected $(wc -c <"$work/current.config")$" &&
        seen client '^ech=accepted' && accepted_by_tercel
}
rustls_hrr() { tercel_serve --groups secp384r1 && client_rustls current && seen server retried && accepted_by_tercel; }
rustls_wrong() {
    tercel_serve
    ! client_rustls other || return 1
    seen client '^rejected' && seen server "name=$public ech=rejected" && unseen client answered
}
rustls_grease() { tercel_serve && client_rustls grease && seen client '^ech=grease' && seen server 'ech=rejected'; }
rustls_resumption() {
    tercel_serve && client_rustls current --connections 2 && seen client 'ech=accepted resumed=yes' &&
        seen server "resumed name=$secret ech=accepted"
}
rustls_early() {
    tercel_serve --early-data 4096 && client_rustls current --connections 2 --early &&
        seen client 'ech=accepted resumed=yes early=yes' && seen server "early-data=[1-9][0-9]* name=$secret ech=accepted"
}

client_curl() {
    local configs=$1
    shift
    local ech=(--ech grease)
    [ "$configs" = grease ] || ech=(--ech hard --ech "ecl:$(cat "$work/$configs.b64")")
    limited "$curl" --silent --show-error --verbose --http1.0 --cacert "$work/ca.pem" \
        --resolve "$secret:$port:127.0.0.1" "${ech[@]}" "$@" "https://$secret:$port/"
}
curl_accepted() { tercel_serve && client_curl current && seen client 'Tercel</h1>' && accepted_by_tercel; }
curl_retry() {
    tercel_serve
    ! client_curl other || return 1
    seen client 'ECH: retry_configs' && unseen client 'Tercel</h1>'
    client_curl current && accepted_by_tercel
}
curl_hrr() {
    tercel_serve --groups secp384r1 && client_curl current --curves X25519:P-384 && seen server retried &&
        accepted_by_tercel
}
curl_wrong() {
    tercel_serve
    ! client_curl other || return 1
    unseen client 'Tercel</h1>' && unseen server 'ech=accepted'
}
curl_grease() { tercel_serve && client_curl grease && seen client 'Tercel</h1>' && seen server 'ech=rejected'; }
curl_resumption() {
    tercel_serve
    client_curl current "https://$secret:$port/" && seen server "resumed name=$secret ech=accepted" && return 0
    seen client 'alert, decode error' && cannot "OpenSSL's outer ClientHello has a binder of no bytes"
}
curl_early() { cannot "curl sends no early data with OpenSSL"; }

. tools/ech-interop/browsers.sh

# --- tercel connect, with each server.

connect() {
    local configs=$1
    shift
    [ "$configs" = grease ] || configs=$work/$configs.ech
    printf '%s' "$request" | limited "$tercel" connect "127.0.0.1:$port" --name $secret --ca "$work/ca.pem" \
        --ech "$configs" --timeout 5 "$@" || [ -n "$resets" ]
}
# The report of the client, after the server's own.
accepted_by_peer() {
    seen client '^ech +accepted$' && seen client "^ech-outer-name +$public$" &&
        seen client "^ech-inner-name +$secret$"
}
retried_by_tercel() { seen client '^ech-retried +yes$' && accepted_by_peer; }

serve_openssl() {
    start "$openssl" s_server -accept "127.0.0.1:$port" -cert "$work/leaf.pem" -key "$work/leaf.key" \
        -ech_key "$work/current.ech" "$@"
}
serve_bssl() {
    # Its page ends the connection without reading close_notify.
    resets=yes
    start "$bssl" server -accept "$port" -cert "$work/leaf.pem" -key "$work/leaf.key" -ech-key "$work/current.raw" \
        -ech-config "$work/current.config" -loop "$@"
}
serve_go() {
    start "$go" server -port "$port" -cert "$work/leaf.pem" -key "$work/leaf.key" -ech-key "$work/current.raw" \
        -ech-config "$work/current.config" "$@"
}

openssl_server_accepted() {
    serve_openssl -www && connect current && accepted_by_peer &&
        seen client "ECH success: outer sni: $public, inner sni: $secret"
}
openssl_server_retry() { serve_openssl -www && connect other && retried_by_tercel && seen client 'ECH success'; }
openssl_server_hrr() {
    serve_openssl -www -groups P-384 && connect current && accepted_by_peer && seen client '^retried +yes$'
}
# The server has no certificate for the public name, so its configurations are not authentic.
openssl_server_wrong() { serve_openssl -www && wrong_for_tercel; }
wrong_for_tercel() {
    ! connect foreign || return 1
    seen client 'its certificate for the public name was refused' && unseen client 'HTTP/1'
}
openssl_server_grease() {
    serve_openssl -www && connect grease && seen client '^ech +grease$' && seen client 'interpret as GREASE'
}
resumed_by_tercel() {
    rm -f "$work/sessions"
    connect current --session-file "$work/sessions" && connect current --session-file "$work/sessions" "$@" &&
        accepted_by_peer && seen client '^resumed +yes$'
}
openssl_server_resumption() { serve_openssl -www && resumed_by_tercel; }
openssl_server_early() {
    mkfifo "$work/input"
    # Without a page, s_server reads its input and stays for the next connection.
    sleep 30 >"$work/input" &
    local writer=$!
    server_input=$work/input serve_openssl -early_data -max_early_data 4096 -no_anti_replay || return 1
    # This server does not close by itself.
    connect current --session-file "$work/sessions" --json || true
    printf '%s' "$request" | timeout 3 "$tercel" connect "127.0.0.1:$port" --name $secret --ca "$work/ca.pem" \
        --ech "$work/current.ech" --session-file "$work/sessions" --early-data "$work/request" --timeout 2 \
        >>"$work/client.log" 2>&1 || true
    kill "$writer" 2>/dev/null || true
    accepted_by_peer && seen client '^early-data +accepted$' && seen server 'Early data received'
}

bssl_server_accepted() { serve_bssl -www && connect current && accepted_by_peer && seen server 'ClientHello: yes'; }
bssl_server_retry() { serve_bssl -www && connect other && retried_by_tercel && seen server 'ClientHello: yes'; }
bssl_server_hrr() {
    serve_bssl -www -curves P-384 && connect current && accepted_by_peer && seen client '^retried +yes$'
}
bssl_server_wrong() { serve_bssl -www && resets='' && wrong_for_tercel; }
bssl_server_grease() { serve_bssl -www && connect grease && seen client '^ech +grease$' && seen client '200 OK'; }
bssl_server_resumption() { serve_bssl -www && resumed_by_tercel && seen server 'Resumed session: yes'; }
bssl_server_early() {
    serve_bssl -www -early-data && resumed_by_tercel --early-data "$work/request" &&
        seen client '^early-data +accepted$'
}

go_server_accepted() { serve_go && connect current && accepted_by_peer && seen server "^ech=true .* name=$secret req"; }
go_server_retry() { serve_go && connect other && retried_by_tercel && seen server '^ech=true'; }
go_server_hrr() { serve_go -curves P-384 && connect current && accepted_by_peer && seen server 'retried=true'; }
go_server_wrong() { serve_go && wrong_for_tercel; }
go_server_grease() { serve_go && connect grease && seen client '^ech +grease$' && seen server '^ech=false'; }
go_server_resumption() { serve_go && resumed_by_tercel && seen server '^ech=true resumed=true'; }
go_server_early() { cannot "crypto/tls has no early data over TCP"; }

. tools/ech-interop/terminators.sh

names=(accepted retry hrr wrong grease resumption early)
for peer in openssl bssl go rustls curl chromium firefox nginx haproxy caddy; do
    program=${!peer}
    # The server for the DNS of browsers is that of Go.
    if [ ! -x "$program" ] || { [[ $peer == @(chromium|firefox) ]] && [ ! -x "$go" ]; }; then
        printf '%-8s absent\n' "$peer"
        continue
    fi
    case $peer in
    nginx | haproxy | caddy) ;;
    *) for name in "${names[@]}"; do cell "$peer" client "$name" "${peer}_$name"; done ;;
    esac
    case $peer in
    rustls) printf '%-8s %-8s %-12s cannot: %s\n' rustls server all "rustls has no server with ECH" ;;
    curl | chromium | firefox) ;;
    *) for name in "${names[@]}"; do cell "$peer" server "$name" "${peer}_server_$name"; done ;;
    esac
done

# Files: keys that other programs have made, and each program with the same file.
openssl_file() {
    "$openssl" ech -public_name $public -max_name_len 64 -out "$work/theirs.ech"
    "$tercel" ech show "$work/theirs.ech" && start "$tercel" serve --listen "127.0.0.1:$port" \
        --cert "$work/leaf.pem" --key "$work/leaf.key" --ech "$work/theirs.ech" && connect theirs && accepted_by_peer
}
[ ! -x "$openssl" ] || cell openssl file made-there openssl_file

echo "$ok ok, $failed failed"
[ "$failed" = 0 ]
