# Tercel's own terminator. A relay of bytes, like nginx' stream module and haproxy's mode tcp.
#
# connect: the proxy connects to the backend when the handshake is complete, as those two do. The terminator
#   `tercel-proxy-lazy` waits for the first byte instead.
# log: warnings only; the others write no access log either.
# resumption: in `scaling` ticket keys from a file, because a client may resume at the other process.
# timeouts.idle: longer than rows hold idle connections, as for the others, except in `unclosed`.

tercel_proxy_config() { # CONNECT
    cat >"$folder/config.toml" <<EOF
workers = $workers
drain = 0
[log]
level = "warn"
[timeouts]
idle = $idle_time
[limits]
connections = 100000
[[listener]]
address = "127.0.0.1:$port"
to = ["127.0.0.1:$backend_port"]
certificate = "$keys/chain.pem"
key = "$keys/key.pem"
connect = "$1"
alpn = ["http/1.1"]
[[listener]]
address = "127.0.0.1:$h2_port"
to = ["127.0.0.1:$backend_h2_port"]
certificate = "$keys/chain.pem"
key = "$keys/key.pem"
connect = "$1"
alpn = ["h2"]
EOF
    if [ -n "$shares" ]; then
        printf '[resumption]\ntickets = "shared"\nticket_keys = "%s"\n' "$keys/tickets.tercel" >>"$folder/config.toml"
    fi
    echo "$program proxy --config $folder/config.toml"
}

terminator_tercel_proxy() { tercel_proxy_config at-once; }
