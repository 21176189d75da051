#!/usr/bin/env bash
# Runs programs of the system on libssl.so.3, a named action each, and prints a table: ok, FAILED, or absent. Both sides
# of an action use the library, except where the action says "openssl". Fails if an action fails.
# usage: tools/libssl-programs.sh FOLDER [PROGRAM...]      FOLDER has libssl.so.3
set -euo pipefail
cd "$(dirname "$0")/.."

library=$(realpath "$1")
shift
[ -e "$library/libssl.so.3" ] || { echo "no libssl.so.3 in $library" >&2; exit 2; }
wanted=("$@")
work=$(mktemp -d)
chmod 755 "$work"
failed=0
started=()
trap 'ended $?; stop_all; rm -rf "$work"' EXIT

# Names the program during which the script ended, such as one whose server did not start.
ended() { # STATUS
    [ -n "${program:-}" ] || return 0
    printf '%-12s %-58s %s\n' "$program" "the script ended, for example because a server did not start" FAILED
    [ ! -e "$work/server.log" ] || sed 's/^/    /' "$work/server.log" | tail -n 5
}

on() { LD_LIBRARY_PATH=$library timeout 20 "$@"; }

# Starts a server on the library in the background.
start() {
    LD_LIBRARY_PATH=$library "$@" >"$work/server.log" 2>&1 &
    started+=($!)
}

stop_all() {
    local pid
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    started=()
}

port() { tools/free-port.sh; }

# Waits until a command succeeds, by default a connection to the port.
wait_for() { # PORT [COMMAND...]
    local port=$1 _
    shift
    [ $# -gt 0 ] || set -- bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
    for _ in $(seq 300); do
        "$@" 2>/dev/null && return
        sleep 0.1
    done
    return 1
}

# Runs an action, and prints its row.
action() { # PROGRAM WHAT COMMAND...
    local program=$1 what=$2 result=ok
    shift 2
    if ! "$@" >"$work/log" 2>&1; then
        result=FAILED
        failed=1
    fi
    printf '%-12s %-58s %s\n' "$program" "$what" "$result"
    [ "$result" = ok ] || sed 's/^/    /' "$work/log" | tail -n 5
}

is_wanted() { # PROGRAM EXECUTABLE
    if [ ${#wanted[@]} -gt 0 ] && ! [[ " ${wanted[*]} " == *" $1 "* ]]; then
        return 1
    fi
    command -v "$2" >/dev/null || [ -x "$2" ] || { printf '%-12s %-58s absent\n' "$1" ""; return 1; }
}

make_material() {
    (
        cd "$work"
        for root in root other; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $root.key -out $root.pem \
                -days 30 -subj "/CN=$root" -addext basicConstraints=critical,CA:true 2>/dev/null
        done
        for name in server client; do
            openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj "/CN=$name" 2>/dev/null
            openssl x509 -req -in $name.csr -CA root.pem -CAkey root.key -CAcreateserial -days 30 -out $name.pem \
                -extfile <(echo "subjectAltName=DNS:localhost,IP:127.0.0.1") 2>/dev/null
        done
        cat server.pem server.key >server-both.pem
        head -c 3000000 /dev/urandom | base64 >big
        chmod 644 ./*
    )
}

# Whether a command fails and its output has a text.
refused() { # TEXT COMMAND...
    local text=$1
    shift
    ! "$@" >"$work/refused" 2>&1 && grep -qi "$text" "$work/refused"
}

contains() { # TEXT COMMAND...
    local text=$1
    shift
    "$@" >"$work/contained" 2>&1 || { cat "$work/contained"; return 1; }
    grep -q "$text" "$work/contained" || { cat "$work/contained"; return 1; }
}

same_as() { # FILE COMMAND...
    local file=$1
    shift
    "$@" >"$work/same" && cmp "$work/same" "$file"
}

# Connects twice with the openssl program, and sends a text. The second connection has to resume the session of the
# first.
reuses() { # PORT TEXT FLAGS...
    local p=$1 text=$2 turn
    shift 2
    for turn in out in; do
        (sleep 0.3; printf '%b' "$text"; sleep 0.7) | timeout 20 openssl s_client "$@" -nocommands \
            -connect "127.0.0.1:$p" "-sess_$turn" "$work/session" >"$work/$turn" 2>&1 || true
    done
    cat "$work/in"
    grep -q '^Reused, TLSv1\.[23]' "$work/in"
}

try_curl() {
    is_wanted curl curl || return 0
    local p version
    for version in 1.2 1.3; do
        p=$(port)
        (cd "$work" && exec openssl s_server -WWW -quiet -tls${version/./_} -accept "127.0.0.1:$p" -cert server.pem \
            -key server.key >"$work/server.log" 2>&1) &
        started+=($!)
        wait_for "$p"
        action curl "a page of openssl, TLS $version" \
            same_as "$work/big" on curl -sS --cacert "$work/root.pem" "https://localhost:$p/big"
        action curl "refuses the certificate of openssl, TLS $version" \
            refused "unable to get local issuer" on curl -sS --cacert "$work/other.pem" "https://localhost:$p/big"
        stop_all
        p=$(port)
        (cd "$work" && exec openssl s_server -www -quiet -tls${version/./_} -accept "127.0.0.1:$p" -cert server.pem \
            -key server.key -CAfile root.pem -Verify 2 -verify_return_error >"$work/server.log" 2>&1) &
        started+=($!)
        wait_for "$p"
        local curl=(on curl -sS --cacert "$work/root.pem" -H "Connection: close")
        local own=(--cert "$work/client.pem" --key "$work/client.key")
        action curl "a client certificate, TLS $version" \
            contains "CN *= *client" "${curl[@]}" "${own[@]}" "https://localhost:$p/"
        action curl "resumes its session for a second page, TLS $version" \
            contains "^Reused, TLSv$version" "${curl[@]}" "${own[@]}" "https://localhost:$p/" "https://localhost:$p/"
        action curl "is refused without a certificate, TLS $version" \
            refused "alert" "${curl[@]}" "https://localhost:$p/"
        stop_all
    done
}

try_nginx() {
    is_wanted nginx nginx || return 0
    local p q version
    p=$(port) q=$(port)
    mkdir -p "$work/nginx"
    cat >"$work/nginx.conf" <<END
daemon off;
worker_processes 2;
error_log $work/nginx/error.log info;
pid $work/nginx/pid;
events {}
http {
    access_log off;
    client_body_temp_path $work/nginx/body;
    proxy_temp_path $work/nginx/proxy;
    fastcgi_temp_path $work/nginx/fastcgi;
    uwsgi_temp_path $work/nginx/uwsgi;
    scgi_temp_path $work/nginx/scgi;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_certificate $work/server.pem;
    ssl_certificate_key $work/server.key;
    server {
        listen 127.0.0.1:$p ssl http2;
        ssl_session_cache shared:SSL:1m;
        location / { root $work; }
        location = /state { return 200 "\$ssl_protocol \$ssl_session_reused"; }
        location = /through { proxy_pass https://localhost:$q/; proxy_ssl_certificate $work/client.pem;
            proxy_ssl_certificate_key $work/client.key; proxy_ssl_verify on;
            proxy_ssl_trusted_certificate $work/root.pem; proxy_ssl_name localhost; }
    }
    server {
        listen 127.0.0.1:$q ssl;
        ssl_verify_client on;
        ssl_client_certificate $work/root.pem;
        location / { return 200 "\$ssl_client_verify \$ssl_client_s_dn"; }
    }
}
END
    [ "$(id -u)" -ne 0 ] || sed -i '1i user root;' "$work/nginx.conf"
    start nginx -p "$work/nginx" -c "$work/nginx.conf"
    wait_for "$p"
    for version in 1.2 1.3; do
        local curl=(on curl -sS --cacert "$work/root.pem" "--tlsv$version" --tls-max "$version")
        action nginx "a page over HTTP/2 and its size, TLS $version" \
            same_as "$work/big" "${curl[@]}" --http2 "https://localhost:$p/big"
        action nginx "resumes a session of openssl, TLS $version" resumes "$p" "-tls${version/./_}"
        action nginx "a client certificate, TLS $version" \
            contains "SUCCESS CN=client" "${curl[@]}" --cert "$work/client.pem" --key "$work/client.key" "https://localhost:$q/"
        action nginx "refuses an unknown client certificate, TLS $version" \
            contains "400 The SSL certificate error" "${curl[@]}" --cert "$work/other.pem" --key "$work/other.key" "https://localhost:$q/"
    done
    action nginx "as a proxy with a client certificate" \
        contains "SUCCESS CN=client" on curl -sS --cacert "$work/root.pem" "https://localhost:$p/through"
    stop_all
}

# Connects twice with the openssl program. The second connection has to resume the session of the first.
resumes() { # PORT FLAGS...
    local p=$1 request="GET /state HTTP/1.0\r\n\r\n"
    shift
    (printf '%b' "$request"; sleep 0.5) | timeout 20 openssl s_client "$@" -connect "127.0.0.1:$p" -quiet -ign_eof \
        -sess_out "$work/session" >"$work/first" 2>&1
    (printf '%b' "$request"; sleep 0.5) | timeout 20 openssl s_client "$@" -connect "127.0.0.1:$p" -quiet -ign_eof \
        -sess_in "$work/session" >"$work/second" 2>&1
    cat "$work/second"
    grep -q 'TLSv1.[23] r$' "$work/second"
}

try_postgres() {
    local bin=
    for bin in /usr/lib/postgresql/*/bin; do :; done
    is_wanted postgres "$bin/postgres" || return 0
    is_wanted postgres "$bin/psql" || return 0
    local p user=() data=$work/postgres query
    p=$(port)
    mkdir "$data"
    if [ "$(id -u)" -eq 0 ]; then
        user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
        chown postgres "$data"
    fi
    "${user[@]}" "$bin/initdb" -D "$data/data" -A trust >"$work/initdb.log" 2>&1
    cp "$work/server.pem" "$work/server.key" "$work/root.pem" "$data/data/"
    chown --reference="$data" "$data"/data/{server,root}.*
    chmod 600 "$data/data/server.key"
    cat >>"$data/data/postgresql.conf" <<END
ssl = on
ssl_cert_file = 'server.pem'
ssl_key_file = 'server.key'
ssl_ca_file = 'root.pem'
listen_addresses = '127.0.0.1'
port = $p
unix_socket_directories = '$data'
END
    echo "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca" >"$data/data/pg_hba.conf"
    start "${user[@]}" env LD_LIBRARY_PATH="$library" "$bin/postgres" -D "$data/data"
    # The port is open before the server answers queries.
    wait_for "$p" "$bin/pg_isready" --quiet --host=127.0.0.1 --port="$p"
    chmod 600 "$work/client.key"
    local to="host=localhost port=$p user=postgres dbname=postgres sslmode=verify-full"
    local client="sslcert=$work/client.pem sslkey=$work/client.key"
    query="select version from pg_stat_ssl where pid = pg_backend_pid()"
    action postgres "psql: a query with a client certificate" \
        contains "TLSv1.3" on "$bin/psql" "$to $client sslrootcert=$work/root.pem" -Atc "$query"
    action postgres "psql: 5 MB" contains "^5000000$" \
        on "$bin/psql" "$to $client sslrootcert=$work/root.pem" -Atc "select length(repeat('x', 5000000))"
    action postgres "psql refuses the certificate of the server" \
        refused "certificate verify failed" on "$bin/psql" "$to sslrootcert=$work/other.pem" -Atc "$query"
    action postgres "refuses a client without a certificate" \
        refused "certificate" on "$bin/psql" "$to sslrootcert=$work/root.pem sslcert=$work/none" -Atc "$query"
    stop_all
}

try_redis() {
    is_wanted redis redis-server || return 0
    local p
    p=$(port)
    start redis-server --port 0 --tls-port "$p" --bind 127.0.0.1 --tls-cert-file "$work/server.pem" \
        --tls-key-file "$work/server.key" --tls-ca-cert-file "$work/root.pem" --save '' --dir "$work"
    wait_for "$p"
    local cli=(on redis-cli --tls -p "$p" --cacert "$work/root.pem")
    local client=(--cert "$work/client.pem" --key "$work/client.key")
    action redis "a value, with a client certificate" contains "OK" "${cli[@]}" "${client[@]}" set name value
    action redis "4 MB from standard input" redis_bulk "${cli[@]}" "${client[@]}"
    local version
    for version in 1_2 1_3; do
        action redis "resumes a session of openssl, TLS ${version/_/.}" reuses "$p" "PING\r\n" "-tls$version" \
            -cert "$work/client.pem" -key "$work/client.key"
    done
    action redis "refuses a client without a certificate" redis_refuses "${cli[@]}"
    action redis "redis-cli refuses the certificate of the server" \
        refused "certificate verify failed" on redis-cli --tls -p "$p" --cacert "$work/other.pem" ping
    stop_all
}

redis_bulk() {
    "$@" -x set big <"$work/big" && contains "^$(stat -c %s "$work/big")$" "$@" strlen big
}

redis_refuses() {
    "$@" ping >"$work/redis" 2>&1 || true
    cat "$work/redis"
    ! grep -q PONG "$work/redis"
}

try_memcached() {
    is_wanted memcached memcached || return 0
    local p
    p=$(port)
    start memcached -u root -l 127.0.0.1 -p "$p" -U 0 -Z -o "ssl_chain_cert=$work/server.pem,ssl_key=$work/server.key"
    wait_for "$p"
    # In its first seconds, memcached finds nothing that was stored.
    sleep 3
    action memcached "a value, for openssl" memcached_value "$p"
    stop_all
    p=$(port)
    start memcached -u root -l 127.0.0.1 -p "$p" -U 0 -Z -o ssl_session_cache \
        -o "ssl_chain_cert=$work/server.pem,ssl_key=$work/server.key,ssl_ca_cert=$work/root.pem,ssl_verify_mode=2"
    wait_for "$p"
    sleep 3
    local own=(-cert "$work/client.pem" -key "$work/client.key")
    action memcached "a value with a client certificate" memcached_value "$p" "${own[@]}"
    action memcached "refuses a client without a certificate" memcached_refuses "$p"
    local version
    for version in 1_2 1_3; do
        action memcached "resumes a session of openssl, TLS ${version/_/.}" reuses "$p" "version\r\n" \
            "-tls$version" "${own[@]}"
    done
    stop_all
}

memcached_refuses() {
    ! memcached_value "$@"
}

memcached_value() { # PORT FLAGS...
    local p=$1
    shift
    (printf 'set name 0 0 5\r\nvalue\r\n'; sleep 0.5; printf 'get name\r\nquit\r\n'; sleep 0.5) |
        timeout 20 openssl s_client -quiet "$@" -connect "127.0.0.1:$p" -CAfile "$work/root.pem" \
            -verify_return_error >"$work/memcached" 2>&1 || true
    cat "$work/memcached"
    grep -q "^STORED" "$work/memcached" && grep -q "^value" "$work/memcached"
}

try_haproxy() {
    is_wanted haproxy haproxy || return 0
    local p q
    p=$(port) q=$(port)
    cat >"$work/haproxy.cfg" <<END
global
    maxconn 100
defaults
    mode http
    timeout client 10s
    timeout server 10s
    timeout connect 10s
frontend secure
    bind 127.0.0.1:$p ssl crt $work/server-both.pem alpn h2,http/1.1
    bind 127.0.0.1:$q ssl crt $work/server-both.pem ca-file $work/root.pem verify required
    http-request return status 200 content-type text/plain lf-string "%[ssl_fc_protocol] %[ssl_fc_is_resumed] %[ssl_c_s_dn(CN)]" if !{ path /through }
    default_backend again
backend again
    server one 127.0.0.1:$q ssl ca-file $work/root.pem crt $work/client-both.pem verifyhost localhost sni str(localhost)
END
    cat "$work/client.pem" "$work/client.key" >"$work/client-both.pem"
    start haproxy -f "$work/haproxy.cfg"
    wait_for "$p"
    local version
    for version in 1.2 1.3; do
        local curl=(on curl -sS --cacert "$work/root.pem" "--tlsv$version" --tls-max "$version")
        action haproxy "a page over HTTP/2, TLS $version" contains "TLSv$version 0" "${curl[@]}" "https://localhost:$p/"
        action haproxy "a client certificate, TLS $version" contains "client" \
            "${curl[@]}" --cert "$work/client.pem" --key "$work/client.key" "https://localhost:$q/"
        action haproxy "resumes a session of openssl, TLS $version" \
            reuses "$p" "GET / HTTP/1.0\r\n\r\n" "-tls${version/./_}"
        action haproxy "refuses an unknown client certificate, TLS $version" refused "alert" \
            "${curl[@]}" --cert "$work/other.pem" --key "$work/other.key" "https://localhost:$q/"
    done
    stop_all
}

try_python() {
    is_wanted python /usr/bin/python3 || return 0
    cat >"$work/test.py" <<'END'
import socket, ssl, sys, threading
folder, version = sys.argv[1], getattr(ssl.TLSVersion, sys.argv[2])
server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder + "/root.pem")
server.load_cert_chain(folder + "/server.pem", folder + "/server.key")
server.verify_mode = ssl.CERT_REQUIRED
client = ssl.create_default_context(cafile=folder + "/root.pem")
client.load_cert_chain(folder + "/client.pem", folder + "/client.key")
for context in (server, client):
    context.minimum_version = context.maximum_version = version
listener = socket.create_server(("127.0.0.1", 0))

def serve():
    for _ in range(2):
        connection = server.wrap_socket(listener.accept()[0], server_side=True)
        assert connection.getpeercert()["subject"][0][0][1] == "client"
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        connection.unwrap().close()

thread = threading.Thread(target=serve)
thread.start()
session, data = None, bytes(range(256)) * 2000
for turn in range(2):
    connection = client.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost",
                                    session=session)
    sender = threading.Thread(target=connection.sendall, args=(data,))
    sender.start()
    received = b""
    while len(received) < len(data):
        received += connection.recv(1 << 16)
    sender.join()
    assert received == data
    assert connection.session_reused == (turn == 1), turn
    session = connection.session
    connection.unwrap().close()
thread.join()

# Each side refuses a certificate of another root.
def refuses(client_certificate, client_root, side):
    one = ssl.create_default_context(cafile=folder + "/" + client_root)
    one.load_cert_chain(folder + "/" + client_certificate + ".pem", folder + "/" + client_certificate + ".key")
    one.minimum_version = one.maximum_version = version
    failures = {}

    def accept():
        try:
            server.wrap_socket(listener.accept()[0], server_side=True).recv(1)
        except ssl.SSLError as error:
            failures["server"] = error.reason

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        with one.wrap_socket(socket.create_connection(listener.getsockname()), server_hostname="localhost") as peer:
            peer.recv(1)
    except ssl.SSLError as error:
        failures["client"] = error.reason
    thread.join()
    assert failures.get(side) == "CERTIFICATE_VERIFY_FAILED", failures

refuses("client", "other.pem", "client")
refuses("other", "root.pem", "server")
print(sys.argv[2], "ok")
END
    local version
    for version in TLSv1_2 TLSv1_3; do
        action python "echo and resumption with client certificates, refusals, $version" \
            contains "ok" on /usr/bin/python3 "$work/test.py" "$work" "$version"
    done
}

try_apache() {
    is_wanted apache /usr/sbin/apache2 || return 0
    local p q version
    p=$(port) q=$(port)
    mkdir -p "$work/apache/run"
    cat >"$work/apache.conf" <<END
ServerRoot $work/apache
ServerName localhost
PidFile $work/apache/pid
DefaultRuntimeDir $work/apache/run
ErrorLog $work/apache/error.log
Listen 127.0.0.1:$p
Listen 127.0.0.1:$q
$(for module in mpm_event authn_core authz_core socache_shmcb ssl http2 headers; do
    echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
done)
SSLCertificateFile $work/server.pem
SSLCertificateKeyFile $work/server.key
SSLSessionCache shmcb:$work/apache/cache(512000)
Protocols h2 http/1.1
DocumentRoot $work
<VirtualHost *:$p>
    SSLEngine on
    Header always set X-State "%{SSL_PROTOCOL}s %{SSL_SESSION_RESUMED}s"
</VirtualHost>
<VirtualHost *:$q>
    SSLEngine on
    SSLCACertificateFile $work/root.pem
    SSLVerifyClient require
    Header always set X-Client "%{SSL_CLIENT_S_DN_CN}s"
</VirtualHost>
END
    [ "$(id -u)" -ne 0 ] || sed -i '1i User www-data\nGroup www-data' "$work/apache.conf"
    start /usr/sbin/apache2 -f "$work/apache.conf" -DFOREGROUND
    wait_for "$p"
    for version in 1.2 1.3; do
        local curl=(on curl -sS --cacert "$work/root.pem" "--tlsv$version" --tls-max "$version")
        action apache "a page over HTTP/2, TLS $version" \
            same_as "$work/big" "${curl[@]}" --http2 "https://localhost:$p/big"
        action apache "resumes a session of openssl, TLS $version" apache_resumes "$p" "-tls${version/./_}"
        action apache "a client certificate, TLS $version" contains "X-Client: client" \
            "${curl[@]}" -I --http1.1 --cert "$work/client.pem" --key "$work/client.key" "https://localhost:$q/root.pem"
        action apache "refuses a client without a certificate, TLS $version" \
            refused "alert" "${curl[@]}" --http1.1 "https://localhost:$q/root.pem"
    done
    stop_all
    try_apache_directories
}

# The page of a directory that demands a certificate, for clients on OpenSSL's library: TLS, the mode of the host, the
# client's certificate, and whether servers on OpenSSL's library and on this one send the page. This library does not
# renegotiate, which the demand needs in TLS 1.2; in TLS 1.3 the certificate is requested after the handshake.
apache_directory_rows() {
    cat <<'END'
1.2 none           absent withheld withheld
1.2 none           other  withheld withheld
1.2 none           client sent     withheld
1.2 optional_no_ca other  withheld withheld
1.2 optional_no_ca client sent     withheld
1.3 none           absent withheld withheld
1.3 none           other  withheld withheld
1.3 none           client sent     sent
1.3 optional_no_ca other  withheld withheld
1.3 optional_no_ca client withheld withheld
END
}

try_apache_directories() {
    local -A ports
    local side mode version certificate of_openssl of_tercel
    mkdir -p "$work/private"
    echo "private page" >"$work/private/page"
    for side in openssl tercel; do
        for mode in none optional_no_ca; do
            ports[$side-$mode]=$(port)
        done
        mkdir -p "$work/apache/$side/run"
        {
            sed -e "s,$work/apache,$work/apache/$side," -e '/^Listen/d' -e '/^<VirtualHost/,$d' "$work/apache.conf"
            echo "SSLCACertificateFile $work/root.pem"
            printf '<Directory %s/private>\nSSLVerifyClient require\n</Directory>\n' "$work"
            for mode in none optional_no_ca; do
                printf 'Listen 127.0.0.1:%s\n<VirtualHost *:%s>\nSSLEngine on\nSSLVerifyClient %s\n</VirtualHost>\n' \
                    "${ports[$side-$mode]}" "${ports[$side-$mode]}" "$mode"
            done
        } >"$work/apache-$side.conf"
    done
    start /usr/sbin/apache2 -f "$work/apache-tercel.conf" -DFOREGROUND
    /usr/sbin/apache2 -f "$work/apache-openssl.conf" -DFOREGROUND >"$work/openssl.log" 2>&1 &
    started+=($!)
    for side in "${!ports[@]}"; do
        wait_for "${ports[$side]}"
    done
    while read -r version mode certificate of_openssl of_tercel; do
        action apache "a demand of a directory, $mode, $certificate, TLS $version" apache_directory \
            "$version" "$certificate" "${ports[openssl-$mode]} $of_openssl" "${ports[tercel-$mode]} $of_tercel"
    done < <(apache_directory_rows)
    action apache "a demand of a directory, both sides, TLS 1.3" contains "private page" on curl -sS --http1.1 \
        --cacert "$work/root.pem" --cert "$work/client.pem" --key "$work/client.key" \
        "https://localhost:${ports[tercel-none]}/private/page"
    stop_all
}

apache_directory() { # VERSION CERTIFICATE "PORT EXPECTED"...
    local version=$1 certificate=$2 found port expected each
    local curl=(timeout 20 curl -sS --http1.1 --cacert "$work/root.pem" "--tlsv$version" --tls-max "$version")
    [ "$certificate" = absent ] || curl+=(--cert "$work/$certificate.pem" --key "$work/$certificate.key")
    for each in "${@:3}"; do
        read -r port expected <<<"$each"
        # A page without such a demand shows that the host works.
        "${curl[@]}" "https://localhost:$port/root.pem" | cmp - "$work/root.pem" || return 1
        found=withheld
        "${curl[@]}" "https://localhost:$port/private/page" >"$work/page" 2>&1 || true
        ! grep -q "private page" "$work/page" || found=sent
        cat "$work/page"
        echo "port $port: $found, expected $expected"
        [ "$found" = "$expected" ] || return 1
    done
}

# As `resumes`, for a server that names the state in a header.
apache_resumes() { # PORT FLAGS...
    local p=$1 turn
    shift
    for turn in out in; do
        (printf 'HEAD /root.pem HTTP/1.0\r\n\r\n'; sleep 0.5) | timeout 20 openssl s_client "$@" \
            -connect "127.0.0.1:$p" -quiet -ign_eof "-sess_$turn" "$work/session" >"$work/$turn" 2>&1
    done
    cat "$work/in"
    grep -q 'X-State: TLSv1.[23] Resumed' "$work/in"
}

try_stunnel() {
    is_wanted stunnel stunnel4 || return 0
    local p q plain version
    for version in 1.2 1.3; do
        p=$(port) q=$(port) plain=$(port)
        cat >"$work/stunnel.conf" <<END
foreground = yes
pid =
debug = info
output = $work/stunnel.log
sslVersion = TLSv$version
[server]
accept = 127.0.0.1:$q
connect = 127.0.0.1:$plain
cert = $work/server.pem
key = $work/server.key
CAfile = $work/root.pem
verifyChain = yes
[client]
client = yes
accept = 127.0.0.1:$p
connect = 127.0.0.1:$q
cert = $work/client.pem
key = $work/client.key
CAfile = $work/root.pem
verifyChain = yes
checkHost = localhost
END
        (cd "$work" && exec /usr/bin/python3 -m http.server --bind 127.0.0.1 "$plain" >"$work/plain.log" 2>&1) &
        started+=($!)
        rm -f "$work/stunnel.log"
        start stunnel4 "$work/stunnel.conf"
        wait_for "$plain"
        wait_for "$q"
        wait_for "$p"
        action stunnel "a page through both sides with certificates, TLS $version" \
            same_as "$work/big" curl -sS "http://127.0.0.1:$p/big"
        action stunnel "a second page, TLS $version" same_as "$work/big" curl -sS "http://127.0.0.1:$p/big"
        # The connection of `wait_for` may have made a session for the first page, too.
        action stunnel "both sides resumed the session, TLS $version" \
            contains "^[24]$" grep -c "previous session reused" "$work/stunnel.log"
        action stunnel "refuses an unknown client certificate, TLS $version" stunnel_refuses "$q"
        stop_all
    done
}

# In TLS 1.3 the client learns of the refusal after it has sent its request, so its error depends on the time.
stunnel_refuses() { # PORT
    ! curl -sS --cacert "$work/root.pem" --cert "$work/other.pem" --key "$work/other.key" "https://localhost:$1/" \
        >"$work/stunnel" 2>&1 && ! grep -q "Directory listing" "$work/stunnel" &&
        curl -sS --cacert "$work/root.pem" --cert "$work/client.pem" --key "$work/client.key" \
            "https://localhost:$1/" >"$work/stunnel"
}

try_mosquitto() {
    is_wanted mosquitto /usr/sbin/mosquitto || return 0
    is_wanted mosquitto mosquitto_pub || return 0
    local p version
    p=$(port)
    cat >"$work/mosquitto.conf" <<END
listener $p 127.0.0.1
allow_anonymous true
persistence false
cafile $work/root.pem
certfile $work/server.pem
keyfile $work/server.key
require_certificate true
use_identity_as_username true
END
    start /usr/sbin/mosquitto -c "$work/mosquitto.conf"
    wait_for "$p"
    for version in 1.2 1.3; do
        local flags=(-h localhost -p "$p" --tls-version "tlsv$version" -t topic)
        local own=(--cert "$work/client.pem" --key "$work/client.key")
        action mosquitto "a retained message with client certificates, TLS $version" \
            mosquitto_message "version $version" "${flags[@]}" --cafile "$work/root.pem" "${own[@]}"
        action mosquitto "resumes a session of openssl, TLS $version" \
            reuses "$p" "" "-tls${version/./_}" -cert "$work/client.pem" -key "$work/client.key"
        action mosquitto "refuses a client without a certificate, TLS $version" \
            refused "error\|lost\|refused" on mosquitto_pub "${flags[@]}" --cafile "$work/root.pem" -m x
        action mosquitto "the client refuses the certificate, TLS $version" \
            refused "certificate verify failed\|TLS error" \
            on mosquitto_pub "${flags[@]}" --cafile "$work/other.pem" "${own[@]}" -m x
    done
    stop_all
}

mosquitto_message() { # MESSAGE FLAGS...
    local message=$1
    shift
    on mosquitto_pub "$@" -r -m "$message" && contains "^$message$" on mosquitto_sub "$@" -C 1 -W 5
}

try_node() {
    is_wanted node node || return 0
    # Other builds have an OpenSSL of their own.
    if ! grep -q 'libnode\|libssl\.so\.3' <<<"$(ldd "$(command -v node)")"; then
        printf '%-12s %-58s absent\n' node "this node has an OpenSSL of its own"
        return 0
    fi
    local version
    cat >"$work/test.js" <<'END'
const fs = require("fs"), tls = require("tls");
const [folder, version] = process.argv.slice(2), read = name => fs.readFileSync(folder + "/" + name);
const ca = read("root.pem"), only = { minVersion: version, maxVersion: version };
const server = tls.createServer({ ...only, ca, cert: read("server.pem"), key: read("server.key"), requestCert: true },
    socket => socket.write(socket.getPeerCertificate().subject.CN, () => socket.pipe(socket)));
let session;
const connect = turn => {
    const socket = tls.connect({ ...only, ca, port: server.address().port, host: "localhost", session,
        cert: read("client.pem"), key: read("client.key") });
    socket.on("session", value => { session = value; });
    socket.once("data", data => {
        if (data.toString() !== "client" || socket.isSessionReused() !== (turn > 0)) throw new Error("turn " + turn);
        setTimeout(() => { socket.end(); turn ? (console.log("ok"), process.exit()) : connect(turn + 1); }, 100);
    });
};
server.listen(0, () => connect(0));
END
    cat >"$work/refused.js" <<'END'
const fs = require("fs"), tls = require("tls");
const [folder, version] = process.argv.slice(2), read = name => fs.readFileSync(folder + "/" + name);
const only = { minVersion: version, maxVersion: version };
const server = tls.createServer({ ...only, ca: read("root.pem"), cert: read("server.pem"), key: read("server.key"),
    requestCert: true, rejectUnauthorized: true }, socket => socket.end("data"));
server.on("tlsClientError", () => {});
// A client that does not trust the server, and one that the server does not trust.
const attempt = (ca, name) => new Promise(resolve => {
    const socket = tls.connect({ ...only, ca: read(ca), port: server.address().port, host: "localhost",
        cert: read(name + ".pem"), key: read(name + ".key") });
    socket.on("data", () => resolve("data"));
    socket.on("error", error => resolve(error.code));
    socket.on("close", () => resolve("CLOSED"));
});
server.listen(0, async () => {
    console.log(await attempt("other.pem", "client"), await attempt("root.pem", "other"), await attempt("root.pem", "client"));
    process.exit();
});
END
    for version in TLSv1.2 TLSv1.3; do
        action node "resumption with a client certificate, $version" \
            contains "ok" on node "$work/test.js" "$work" "$version"
        action node "refusals on both sides, $version" \
            contains "^[A-Z_]*CERT[A-Z_]* [A-Z0-9_]* data$" on node "$work/refused.js" "$work" "$version"
    done
}

try_socat() {
    is_wanted socat socat || return 0
    local p version
    for version in 1.2 1.3; do
        p=$(port)
        start socat "OPENSSL-LISTEN:$p,bind=127.0.0.1,fork,reuseaddr,cert=$work/server.pem,key=$work/server.key,cafile=$work/root.pem,openssl-min-proto-version=TLS$version,openssl-max-proto-version=TLS$version" \
            SYSTEM:"cat $work/big"
        wait_for "$p"
        local to=(OPENSSL:"localhost:$p,cafile=$work/root.pem")
        action socat "3 MB with client certificates, TLS $version" same_as "$work/big" \
            on socat -u "${to[0]},cert=$work/client.pem,key=$work/client.key" -
        action socat "ends with an error for a server of another root, TLS $version" \
            socat_fails "certificate verify failed" "OPENSSL:localhost:$p,cafile=$work/other.pem"
        action socat "ends with an error if nothing listens, TLS $version" \
            socat_fails "Connection refused" "OPENSSL:localhost:1,cafile=$work/root.pem"
        action socat "ends with an error after its handshake, TLS $version" socat_fails "No such file" \
            "${to[0]},cert=$work/client.pem,key=$work/client.key" "OPEN:$work/absent/file"
        action socat "refuses a client without a certificate, TLS $version" socat_refuses "${to[0]}"
        stop_all
    done
}

# socat ends by exit() inside of its functions, and frees its connection after that.
socat_fails() { # TEXT ADDRESS [ADDRESS]
    local status=0
    on socat "$2" "${3:--}" </dev/null >"$work/socat" 2>&1 || status=$?
    cat "$work/socat"
    [ "$status" -eq 1 ] && grep -q "$1" "$work/socat"
}

socat_refuses() { # ADDRESS
    on socat -u "$1" - >"$work/socat" 2>&1 || true
    [ ! -s "$work/socat" ] || ! cmp -s "$work/socat" "$work/big"
}

try_openssl() {
    is_wanted openssl openssl || return 0
    local p version
    for version in 1.2 1.3; do
        p=$(port)
        start_in_work openssl s_server -www -quiet "-tls${version/./_}" -accept "127.0.0.1:$p" -cert server.pem \
            -key server.key
        wait_for "$p"
        local curl=(curl -sS --cacert "$work/root.pem")
        action openssl "s_server -www, TLS $version" contains "TLSv$version" "${curl[@]}" "https://localhost:$p/"
        action openssl "s_server -www, again with a session, TLS $version" \
            contains "^Reused, TLSv$version" "${curl[@]}" -H "Connection: close" "https://localhost:$p/" "https://localhost:$p/"
        stop_all
        p=$(port)
        start_in_work openssl s_server -WWW -quiet "-tls${version/./_}" -accept "127.0.0.1:$p" -cert server.pem \
            -key server.key
        wait_for "$p"
        action openssl "s_server -WWW, 3 MB, TLS $version" same_as "$work/big" "${curl[@]}" "https://localhost:$p/big"
        stop_all
    done
    p=$(port)
    printf 'HTTP/1.0 200 ok\r\n\r\nHTTP page\n' >"$work/page"
    start_in_work openssl s_server -HTTP -quiet -accept "127.0.0.1:$p" -cert server.pem -key server.key \
        -CAfile root.pem -Verify 2 -verify_return_error
    wait_for "$p"
    action openssl "s_server -HTTP with a client certificate" contains "HTTP page" \
        curl -sS --cacert "$work/root.pem" --cert "$work/client.pem" --key "$work/client.key" "https://localhost:$p/page"
    action openssl "s_server -HTTP refuses a client without one" refused "alert" \
        curl -sS --cacert "$work/root.pem" "https://localhost:$p/page"
    stop_all
    try_s_client
}

# As `start`, in the folder of the material.
start_in_work() {
    (cd "$work" && LD_LIBRARY_PATH=$library exec "$@" >"$work/server.log" 2>&1) &
    started+=($!)
}

# The openssl program as a client of one on OpenSSL's library: options of the server, and of the client. The result of
# each row is compared with that of the program on OpenSSL's library.
s_client_rows() {
    cat <<'END'
|
-tls1_2|
-tls1_3|
|-tls1_2
|-tls1_3
-tls1_2|-tls1_3
-tls1_3|-tls1_2
|-no_tls1_3
|-no_tls1_2 -no_tls1_1 -no_tls1
|-min_protocol TLSv1.3
|-max_protocol TLSv1.2
|-CAfile root.pem
|-CAfile root.pem -verify_return_error
|-CAfile other.pem
|-CAfile other.pem -verify_return_error
|-CAfile root.pem -verify 0
|-CAfile root.pem -verify_hostname localhost -verify_return_error
|-CAfile root.pem -verify_hostname elsewhere -verify_return_error
|-CAfile root.pem -verify_ip 127.0.0.1 -verify_return_error
|-CAfile root.pem -verify_ip 127.0.0.2 -verify_return_error
|-CAfile root.pem -verify_email a@b -verify_return_error
|-CAfile root.pem -purpose sslclient -verify_return_error
|-CAfile root.pem -x509_strict -verify_return_error
|-CAfile root.pem -attime 1 -verify_return_error
|-CAfile root.pem -verify_depth 0 -verify_return_error
|-CAfile root.pem -partial_chain -verify_return_error
|-CAfile root.pem -crl_check -verify_return_error
|-CAfile root.pem -verify_quiet
|-servername localhost
|-noservername
-servername other -cert2 client.pem -key2 client.key|-servername other -CAfile root.pem
-servername other -servername_fatal -cert2 client.pem -key2 client.key|-servername third
|-alpn h2
-alpn h2,http/1.1|-alpn http/1.1
-alpn h2|-alpn other
-alpn h2|
-Verify 2 -verify_return_error -CAfile root.pem|-cert client.pem -key client.key
-Verify 2 -verify_return_error -CAfile root.pem|-cert other.pem -key other.key
-Verify 2 -verify_return_error -CAfile root.pem|
-Verify 2 -verify_return_error -CAfile root.pem -tls1_2|-cert client.pem -key client.key
-Verify 2 -verify_return_error -CAfile root.pem -tls1_2|-cert other.pem -key other.key
-Verify 2 -verify_return_error -CAfile root.pem -tls1_2|
-verify 2 -CAfile root.pem|-cert client.pem -key client.key -cert_chain root.pem
-tls1_2|-cipher ECDHE-RSA-AES256-GCM-SHA384
-tls1_2|-cipher ECDHE-RSA-CHACHA20-POLY1305
-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256|
-tls1_2|-cipher ECDHE-ECDSA-AES256-GCM-SHA384
-tls1_2 -serverpref -cipher ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384|-cipher ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256
|-ciphersuites TLS_AES_128_GCM_SHA256
-ciphersuites TLS_CHACHA20_POLY1305_SHA256|
-ciphersuites TLS_AES_128_GCM_SHA256|-ciphersuites TLS_AES_256_GCM_SHA384 -tls1_3
-groups P-384|
|-groups P-256
-groups P-384|-groups X25519
|-curves P-521:P-384
|-sigalgs RSA-PSS+SHA384
|-sigalgs ECDSA+SHA256
-status_file response.der|-status
|-status
|-no_ticket
-no_ticket|
|-legacy_renegotiation
|-keymatexport label
|-keymatexport label -keymatexportlen 40 -tls1_2
|-showcerts
|-msg
|-state
|-tlsextdebug
|-prexit
|-brief -CAfile root.pem
|-brief -CAfile other.pem -verify_return_error
|-no_ign_eof -nbio
|-crlf
|-split_send_frag 512 -max_send_frag 600
|-read_buf 4096
|-bugs -comp
|-security_debug
|-cipher DEFAULT@SECLEVEL=3
|-sess_out session.out
|-nameopt RFC2253 -CAfile root.pem
|-chainCAfile root.pem -verifyCAfile root.pem
|-no-CAfile -no-CApath -no-CAstore
|-build_chain -cert client.pem -key client.key -CAfile root.pem
|-noout
|-no_renegotiation -no_etm -no_extended_master
END
}

try_s_client() {
    local server client p row=0 version
    start_rev_server
    for version in 1_2 1_3; do
        action openssl "s_client resumes the session of its file, TLS ${version/_/.}" s_client_resumes "$p" "-tls$version"
    done
    stop_all
    while IFS='|' read -r server client; do
        row=$((row + 1))
        # shellcheck disable=SC2086
        start_rev_server $server
        # shellcheck disable=SC2086
        action openssl "s_client, row $row" s_client_is_same "$p" $client
        stop_all
    done < <(s_client_rows)
}

# Starts a server of OpenSSL that answers with reversed lines, at another port if one is in use, and sets `p`.
start_rev_server() { # OPTIONS...
    local _
    for _ in 1 2 3 4; do
        p=$(port)
        (cd "$work" && exec openssl s_server -rev -quiet -accept "127.0.0.1:$p" -cert server.pem -key server.key "$@" \
            </dev/null >"$work/server.log" 2>&1) &
        started+=($!)
        wait_for "$p" && return
        stop_all
    done
    cat "$work/server.log"
    return 1
}

s_client_resumes() { # PORT FLAG
    local turn
    for turn in out in; do
        { sleep 0.3; printf 'hello\n'; sleep 0.7; } | on openssl s_client -connect "localhost:$1" "$2" -nocommands \
            "-sess_$turn" "$work/session" >"$work/$turn" 2>&1 || true
    done
    cat "$work/in"
    grep -q '^Reused, TLSv1\.[23]' "$work/in"
}

s_client_is_same() { # PORT OPTIONS...
    echo "${*:2}"
    s_client env "$@" >"$work/row.openssl"
    s_client env LD_LIBRARY_PATH="$library" "$@" >"$work/row.tercel"
    diff "$work/row.openssl" "$work/row.tercel"
}

# Sends a line, and waits for the answer or for the end of the program. Prints the result: after a handshake, what was
# negotiated and verified; otherwise the error.
s_client() { # env [VARIABLE] PORT OPTIONS...
    local prefix=(env) _
    shift
    while [[ $1 == *=* ]]; do prefix+=("$1"); shift; done
    rm -f "$work/ended"
    : >"$work/output"
    {
        printf 'hello\n'
        for _ in $(seq 200); do
            if [ -e "$work/ended" ] || grep -aq olleh "$work/output"; then break; fi
            sleep 0.05
        done
        printf 'Q\n'
    } 2>/dev/null | (
        cd "$work"
        status=0
        timeout 20 "${prefix[@]}" stdbuf -oL openssl s_client -connect "localhost:$1" "${@:2}" >output 2>&1 || status=$?
        echo "status $status"
        : >ended
    )
    local lines='error:[^:]*:[^:]*:[^:]*:[^:]*'
    if grep -aq olleh "$work/output"; then
        lines='^(depth=|verify |Verification|    Verify return|New, |Reused, |No ALPN|ALPN protocol|Protocol version:|Ciphersuite:|    (Protocol|Cipher|Keying material: )|No client certificate|OCSP response: no|Server public key|Peer sign).*|olleh'
    fi
    grep -aoE "$lines" "$work/output" | sed -E -e '/Keying/s/[0-9A-F]{40,}//' -e 's/^(error:[^:]*:[^:]*:)[^:]*/\1/' || true
}

try_bind() {
    is_wanted bind /usr/sbin/named || return 0
    is_wanted bind dig || return 0
    local p q h
    p=$(port) q=$(port) h=$(port)
    mkdir -p "$work/bind"
    {
        printf '$TTL 60\n@ SOA localhost. localhost. 1 60 60 60 60\n@ NS localhost.\nname TXT "over TLS"\n'
        seq -f 'n%.0f A 127.0.0.1' 2000
    } >"$work/bind/zone"
    cat >"$work/bind/named.conf" <<END
tls own { cert-file "$work/server.pem"; key-file "$work/server.key"; };
tls both { cert-file "$work/server.pem"; key-file "$work/server.key"; ca-file "$work/root.pem"; };
options {
    directory "$work/bind"; pid-file none; session-keyfile none; lock-file none; recursion no;
    listen-on port $p tls own { 127.0.0.1; };
    listen-on port $q tls both { 127.0.0.1; };
    listen-on port $h tls own http default { 127.0.0.1; };
    listen-on-v6 { none; };
};
controls { };
zone "test" { type primary; file "zone"; allow-transfer { any; }; };
END
    start /usr/sbin/named -g -c "$work/bind/named.conf"
    wait_for "$p"
    local dig=(dig @127.0.0.1 +tries=1 +time=10) name=(name.test TXT +short)
    local trusts=("+tls-ca=$work/root.pem" +tls-hostname=localhost)
    action bind "an answer over TLS" contains "over TLS" on "${dig[@]}" -p "$p" +tls "${trusts[@]}" "${name[@]}"
    action bind "an answer over TLS, for dig on openssl" \
        contains "over TLS" "${dig[@]}" -p "$p" +tls "${trusts[@]}" "${name[@]}"
    action bind "a zone of 2,000 names over TLS" contains "XFR size: 2004 records" on "${dig[@]}" -p "$p" +tls test AXFR
    action bind "an answer over HTTPS" contains "over TLS" on "${dig[@]}" -p "$h" +https "${name[@]}"
    action bind "an answer with a client certificate" contains "over TLS" on "${dig[@]}" -p "$q" +tls "${trusts[@]}" \
        "+tls-certfile=$work/client.pem" "+tls-keyfile=$work/client.key" "${name[@]}"
    action bind "refuses a client without a certificate" \
        bind_refuses on "${dig[@]}" -p "$q" +tls "${trusts[@]}" "${name[@]}"
    action bind "dig refuses the certificate of the server" contains "verification.*failed" \
        on "${dig[@]}" -p "$p" +tls "+tls-ca=$work/other.pem" +tls-hostname=localhost name.test TXT
    stop_all
}

bind_refuses() {
    "$@" >"$work/dig" 2>&1 || true
    cat "$work/dig"
    ! grep -q "over TLS" "$work/dig"
}

try_openvpn() {
    is_wanted openvpn /usr/sbin/openvpn || return 0
    local version
    for version in 1.2 1.3; do
        action openvpn "a tunnel with certificates, keys are renewed, TLS $version" \
            openvpn_tunnel "$version" client "Data Channel: .*cipher\|Outgoing Data Channel" 2
        action openvpn "the server refuses an unknown client, TLS $version" \
            openvpn_tunnel "$version" other "certificate verify failed\|unable to get local issuer\|self.signed" 1
    done
}

# Two ends without a device. Waits until a text is in the log of the server a given number of times.
openvpn_tunnel() { # VERSION CLIENT TEXT TIMES
    local version=$1 client=$2 text=$3 times=$4 p result=1 _
    p=$(port)
    local common=(--dev null --ca "$work/root.pem" --verb 4 --tls-version-min "$version" --tls-version-max "$version"
        --reneg-sec 3 --ping 1 --data-ciphers AES-256-GCM)
    start /usr/sbin/openvpn "${common[@]}" --proto tcp-server --local 127.0.0.1 --port "$p" --tls-server --dh none \
        --cert "$work/server.pem" --key "$work/server.key"
    LD_LIBRARY_PATH=$library /usr/sbin/openvpn "${common[@]}" --proto tcp-client --remote 127.0.0.1 "$p" --nobind \
        --tls-client --cert "$work/$client.pem" --key "$work/$client.key" >"$work/client.log" 2>&1 &
    started+=($!)
    for _ in $(seq 150); do
        if [ "$(grep -c "$text" "$work/server.log")" -ge "$times" ]; then
            result=0
            break
        fi
        sleep 0.2
    done
    stop_all
    [ "$result" -eq 0 ] || cat "$work/server.log"
    # A tunnel exists if and only if the client is known.
    [ "$client" = client ] || ! grep -q "Initialization Sequence Completed" "$work/server.log" || result=1
    return "$result"
}

try_tcl() {
    is_wanted tcl tclsh || return 0
    if ! tclsh <<<'package require tls' >/dev/null 2>&1; then
        printf '%-12s %-58s absent\n' tcl "the package tls"
        return 0
    fi
    local version
    cat >"$work/tls.tcl" <<'END'
package require tls
lassign $argv folder version
set files [list -cafile $folder/root.pem -certfile $folder/server.pem -keyfile $folder/server.key]
set only [expr {$version eq "1.2" ? {-tls1 0 -tls1.1 0 -tls1.2 1 -tls1.3 0} : {-tls1 0 -tls1.1 0 -tls1.2 0 -tls1.3 1}}]
proc accept {channel address port} {
    fconfigure $channel -blocking 0 -buffering line -translation lf
    fileevent $channel readable [list answer $channel]
}
proc answer {channel} {
    if {[catch {gets $channel line} count] || [eof $channel]} { catch {close $channel}; return }
    if {$count >= 0} { catch {puts $channel [string length $line]} }
}
set server [tls::socket -server accept {*}$files {*}$only -require 1 -request 1 -myaddr 127.0.0.1 0]
set port [lindex [fconfigure $server -sockname] 2]
proc wait {} {
    global tick
    after 10 { set tick 1 }
    vwait tick
}
# The program reads without blocking, because the server is in the same process.
proc attempt {root name length} {
    global folder port only
    set channel [tls::socket -cafile $folder/$root.pem -certfile $folder/$name.pem -keyfile $folder/$name.key {*}$only \
        -require 1 -request 1 -servername localhost 127.0.0.1 $port]
    fconfigure $channel -blocking 0 -buffering line -translation lf
    while {![set failed [catch { tls::handshake $channel } result]] && !$result} { wait }
    if {!$failed && ![catch { puts $channel [string repeat x $length] }]} {
        for {set turn 0} {$turn < 500 && ![catch { gets $channel result } count] && $count < 0} {incr turn} {
            if {[eof $channel]} { break }
            wait
        }
    }
    catch { close $channel }
    return $result
}
puts "[attempt root client 5] [attempt root client 500000] [expr {[attempt other client 5] ne 5}] [expr {
    [attempt root other 5] ne 5}]"
END
    for version in 1.2 1.3; do
        action tcl "data with client certificates, refusals on both sides, TLS $version" \
            contains "^5 500000 1 1$" on tclsh "$work/tls.tcl" "$work" "$version"
    done
}

try_ruby() {
    is_wanted ruby ruby || return 0
    local version
    openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048 -out "$work/dh.pem" 2>/dev/null
    cat >"$work/test.rb" <<'END'
require "openssl"
require "socket"
folder, version = ARGV
read = ->(name) { File.read(File.join(folder, name)) }
context = lambda do |name, root|
  made = OpenSSL::SSL::SSLContext.new
  made.cert = OpenSSL::X509::Certificate.new(read["#{name}.pem"])
  made.key = OpenSSL::PKey.read(read["#{name}.key"])
  made.ca_file = File.join(folder, "#{root}.pem")
  made.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
  made.min_version = made.max_version = version
  made
end
served = context["server", "root"]
# The key is used after it has been passed on.
parameters = OpenSSL::PKey::DH.new(read["dh.pem"])
served.tmp_dh = parameters
GC.start
raise "parameters" unless parameters.to_pem == read["dh.pem"]
listener = TCPServer.new("127.0.0.1", 0)
server = OpenSSL::SSL::SSLServer.new(listener, served)
Thread.new do
  loop do
    peer = server.accept
    Thread.new do
      while (line = peer.gets)
        peer.puts(line.chomp.reverse)
      end
      peer.close
    end
  rescue OpenSSL::SSL::SSLError, SystemCallError
    next
  end
end
attempt = lambda do |name, root, text|
  used = context[name, root]
  socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", listener.addr[1]), used)
  socket.sync_close = true
  socket.hostname = "localhost"
  socket.connect
  socket.post_connection_check("localhost")
  socket.puts(text)
  answer = socket.gets
  socket.close
  answer&.chomp
rescue OpenSSL::SSL::SSLError, SystemCallError => e
  e.class.name
end
raise "echo" unless attempt["client", "root", "hello"] == "olleh"
raise "much" unless attempt["client", "root", "ab" * 300_000] == "ba" * 300_000
raise "root" if attempt["client", "other", "hello"] == "olleh"
raise "client" if attempt["other", "root", "hello"] == "olleh"
100.times { GC.start if context["client", "root"].tap { |made| made.tmp_dh = OpenSSL::PKey::DH.new(read["dh.pem"]) }.nil? }
GC.start
puts "ok"
END
    for version in TLS1_2 TLS1_3; do
        action ruby "tmp_dh, data with client certificates, refusals, $version" \
            contains "^ok$" on ruby "$work/test.rb" "$work" "$version"
    done
}

# Postfix gives its daemons only the variables of import_environment. Mail that the server receives is discarded.
try_postfix() {
    is_wanted postfix /usr/sbin/postfix || return 0
    if [ "$(id -u)" -ne 0 ]; then
        printf '%-12s %-58s absent\n' postfix "it is started by root only"
        return 0
    fi
    local p folder=$work/postfix
    p=$(port)
    mkdir -p "$folder/etc" "$folder/queue" "$folder/data"
    chown postfix "$folder/data"
    cat >"$folder/etc/main.cf" <<END
compatibility_level = 3.6
queue_directory = $folder/queue
data_directory = $folder/data
maillog_file = /var/log/tercel-postfix-$p.log
import_environment = MAIL_CONFIG LD_LIBRARY_PATH=$library
myhostname = server.test
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
alias_database =
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_tls_chain_files = $work/server.key, $work/server.pem
smtpd_tls_security_level = encrypt
smtpd_tls_loglevel = 1
smtpd_tls_CAfile = $work/root.pem
smtpd_tls_ask_ccert = yes
smtp_tls_loglevel = 1
smtp_tls_CAfile = $work/root.pem
smtp_tls_chain_files = $work/client.key, $work/client.pem
transport_maps = inline:{ {verified.test = verified:[127.0.0.1]:$p}, {may.test = smtp:[127.0.0.1]:$p},
    {other.test = other:[127.0.0.1]:$p} }
END
    cat >"$folder/etc/master.cf" <<END
127.0.0.1:$p inet n - n - - smtpd -o content_filter=discard:
pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
smtp unix - - n - - smtp -o smtp_tls_security_level=may
verified unix - - n - - smtp -o smtp_tls_security_level=verify -o smtp_tls_verify_cert_match=localhost
other unix - - n - - smtp -o smtp_tls_security_level=verify -o smtp_tls_CAfile=$work/other.pem -o smtp_tls_verify_cert_match=localhost
error unix - - n - - error
retry unix - - n - - error
proxymap unix - - n - - proxymap
discard unix - - n - - discard
postlog unix-dgram n - n - 1 postlogd
END
    LD_LIBRARY_PATH=$library /usr/sbin/postfix -c "$folder/etc" start >"$work/server.log" 2>&1 || true
    wait_for "$p" || cat "$work/server.log"
    local log=/var/log/tercel-postfix-$p.log
    action postfix "smtpd: STARTTLS for openssl" contains "^250 " postfix_starttls "$p"
    action postfix "smtp to smtpd with a verified certificate" \
        postfix_mail "$folder" "$log" verified.test "Verified TLS connection established to"
    action postfix "smtp to smtpd, opportunistic" \
        postfix_mail "$folder" "$log" may.test "TLS connection established to"
    action postfix "smtpd sees the client's certificate" contains "Trusted TLS connection established from" cat "$log"
    action postfix "smtp defers mail for a certificate of another root" \
        postfix_mail "$folder" "$log" other.test "status=deferred (Server certificate not"
    LD_LIBRARY_PATH=$library /usr/sbin/postfix -c "$folder/etc" stop >>"$work/server.log" 2>&1 || true
    rm -f "$log"
}

postfix_starttls() { # PORT
    { sleep 0.5; printf 'EHLO client\r\n'; sleep 0.5; printf 'QUIT\r\n'; sleep 0.5; } |
        timeout 20 openssl s_client -quiet -starttls smtp -connect "127.0.0.1:$1" -CAfile "$work/root.pem" \
            -verify_return_error
}

# Sends a mail, and waits for a text in the log after it.
postfix_mail() { # FOLDER LOG DOMAIN TEXT
    local before _
    before=$(wc -l <"$2")
    printf 'Subject: test\n\ntext\n' | LD_LIBRARY_PATH=$library timeout 20 /usr/sbin/sendmail -C "$1/etc" \
        -f "from@server.test" "to@$3"
    for _ in $(seq 100); do
        grep -q "$4" < <(tail -n "+$((before + 1))" "$2") && return 0
        sleep 0.2
    done
    tail -n "+$((before + 1))" "$2"
    return 1
}

make_material
printf '%-12s %-58s %s\n' program action result
for program in curl nginx postgres redis memcached haproxy python apache stunnel mosquitto node socat openssl \
    bind openvpn tcl ruby postfix; do
    "try_$program"
done
program=
exit "$failed"
