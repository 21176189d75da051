# haproxy as an HTTP proxy. See haproxy.sh for common settings.
#
# http-reuse: `safe` is the default; `always` shares connections to the backend between clients, as
#   nginx' keepalive does.
# plain_port: for the memory of idle connections without TLS.
# timeout http-keep-alive and http-request: connections stay, as with the relays.

terminator_haproxy_http() {
    {
        haproxy_head http
        cat <<EOF
    timeout http-keep-alive 1h
    timeout http-request 1h
    http-reuse always
frontend one
    bind 127.0.0.1:$port ssl crt $keys/both.pem alpn http/1.1
    bind 127.0.0.1:$h2_port ssl crt $keys/both.pem alpn h2
    bind 127.0.0.1:$plain_port
    default_backend plain
backend plain
    server backend 127.0.0.1:$backend_port
EOF
    } >"$folder/haproxy.cfg"
    haproxy_command
}
