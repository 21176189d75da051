# nginx as a relay of bytes. See nginx.sh for common settings.
#
# load_module: on Debian the module is a package of its own, on others it may be built in.
# proxy_timeout: longer than any row holds idle connections.
# tcp_nodelay on and proxy_buffer_size 16k are the defaults.

nginx_stream_module=/usr/lib/nginx/modules/ngx_stream_module.so

terminator_nginx_stream() {
    {
        [ ! -e "$nginx_stream_module" ] || echo "load_module $nginx_stream_module;"
        nginx_head
        cat <<EOF
stream {
    access_log off;
    proxy_timeout 1h;
$(nginx_tls)
    server {
        listen 127.0.0.1:$port ssl $(nginx_reuseport);
        ssl_alpn http/1.1;
        proxy_pass 127.0.0.1:$backend_port;
    }
    server {
        listen 127.0.0.1:$h2_port ssl $(nginx_reuseport);
        ssl_alpn h2;
        proxy_pass 127.0.0.1:$backend_h2_port;
    }
}
EOF
    } >"$folder/nginx.conf"
    nginx_command
}
