# nginx as an HTTP proxy. See nginx.sh for common settings.
#
# upstream keepalive, proxy_http_version 1.1 and an empty Connection field: connections to the backend stay
#   open, as the documentation of `keepalive` recommends; its number is that of the busiest row.
# proxy_max_temp_file_size 0: data for a slow client waits in memory or at the backend, not on a disk.
# proxy_request_buffering off: uploads are relayed, not stored.

terminator_nginx_http() {
    {
        nginx_head
        cat <<EOF
http {
$(nginx_http)
$(nginx_tls)
    upstream backend {
        server 127.0.0.1:$backend_port;
        keepalive 256;
        keepalive_requests 1000000000;
        keepalive_timeout 1h;
    }
    server {
        listen 127.0.0.1:$port ssl $(nginx_reuseport);
        listen 127.0.0.1:$h2_port ssl http2 $(nginx_reuseport);
        location / {
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_max_temp_file_size 0;
            proxy_request_buffering off;
        }
    }
}
EOF
    } >"$folder/nginx.conf"
    nginx_command
}
