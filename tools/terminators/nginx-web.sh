# nginx as a server of its own pages, to compare libraries of TLS under it. See nginx.sh for common settings.
#
# Nothing is behind it, so nearly all work is TLS. The bulk file is read from the page cache, and written in records of
# 16 KiB (ssl_buffer_size), which is the default.
# plain_port: the same server without TLS, for the memory of idle connections.

terminator_nginx_web() {
    head -c 16000000 /dev/zero >"$folder/bulk"
    chmod 644 "$folder/bulk"
    {
        nginx_head
        cat <<EOF
http {
$(nginx_http)
$(nginx_tls)
    open_file_cache max=10 inactive=1h;
    open_file_cache_valid 1h;
    server {
        listen 127.0.0.1:$port ssl backlog=4096 $(nginx_reuseport);
        listen 127.0.0.1:$h2_port ssl http2 $(nginx_reuseport);
        listen 127.0.0.1:$plain_port backlog=4096 $(nginx_reuseport);
        root $folder;
        location = /small { default_type text/plain; return 200 "$(printf '%01000d' 0)"; }
        location = /bulk { }
    }
}
EOF
    } >"$folder/nginx.conf"
    nginx_command
}
