# haproxy as a relay of bytes. See haproxy.sh for common settings.

terminator_haproxy_tcp() {
    {
        haproxy_head tcp
        cat <<EOF
frontend one
    bind 127.0.0.1:$port ssl crt $keys/both.pem alpn http/1.1
    default_backend plain
frontend two
    bind 127.0.0.1:$h2_port ssl crt $keys/both.pem alpn h2
    default_backend plain_h2
backend plain
    server backend 127.0.0.1:$backend_port
backend plain_h2
    server backend 127.0.0.1:$backend_h2_port
EOF
    } >"$folder/haproxy.cfg"
    haproxy_command
}
