# Redis, to compare libraries of TLS under it. It has one thread, and no HTTP: its rows of requests are GET of a value of
# 1,000 bytes, those of downloads GET of 1,000,000 bytes, by redis-benchmark.
#
# tls-auth-clients no: the clients here have no certificates. No snapshots, and no limits of time.
# port: without TLS, for the memory of idle connections.

terminator_redis() {
    cat >"$folder/redis.conf" <<EOF
bind 127.0.0.1
port $plain_port
tls-port $port
tls-cert-file $keys/chain.pem
tls-key-file $keys/key.pem
tls-ca-cert-file $keys/ca.pem
tls-auth-clients no
tls-protocols "TLSv1.2 TLSv1.3"
tls-ciphers $suite_12_openssl
tls-ciphersuites $suite_13
tcp-backlog 4096
maxclients $((file_limit - 100))
timeout 0
save ""
dir $folder
EOF
    echo "redis-server $folder/redis.conf"
}

redis_fill() {
    head -c 1000 /dev/zero | redis-cli -p "$plain_port" -x set small >/dev/null
    head -c 1000000 /dev/zero | redis-cli -p "$plain_port" -x set big >/dev/null
}

# Sets `per_second` and `used`, the processor time of the server.
redis_get() { # KEY CONNECTIONS REQUESTS
    local before
    before=$(processor "$pid")
    OPENSSL_CONF=$work/openssl.cnf taskset -c "$load_cores" redis-benchmark -h 127.0.0.1 -p "$port" --tls --sni localhost \
        --cacert "$keys/ca.pem" -c "$2" -n "$3" --csv get "$1" >"$folder/benchmark" 2>"$folder/err"
    used=$(($(processor "$pid") - before))
    per_second=$(sed -n '2s/^"[^"]*","\([0-9.]*\)".*/\1/p' "$folder/benchmark")
    [ -n "$per_second" ] || fail "$(tail -n 1 "$folder/err")"
}

redis_requests() {
    local per_second used count=$((20000 * seconds))
    redis_fill
    redis_get small 32 5000
    redis_get small 32 "$count"
    record per-second "$per_second"
    record cpu-us "$(divide "$used" "$count")"
}

redis_download() {
    local per_second used count=$((400 * seconds))
    redis_fill
    redis_get big 4 50
    redis_get big 4 "$count"
    record MB-per-second "$per_second"
    record cpu-us-per-MB "$(divide "$used" "$count")"
}
