# What all terminators stand in front of: nginx with plain HTTP, from memory.
#
# Two ports, because this version tells HTTP/2 without TLS from HTTP/1.1 by the port.
# Connections stay open for as long as a row wants them: terminators, not the backend, are measured.

backend() {
    head -c 16000000 /dev/zero >"$folder/bulk"
    chmod 644 "$folder/bulk"
    cat >"$folder/nginx.conf" <<EOF
daemon off;
pid $folder/pid;
error_log $folder/error.log error;
worker_processes 1;
worker_rlimit_nofile $file_limit;
events { worker_connections $((file_limit > 100000 ? 100000 : file_limit - 100)); }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=10 inactive=1h;
    open_file_cache_valid 1h;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_header_timeout 1h;
    client_max_body_size 0;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    server {
        listen 127.0.0.1:$backend_port backlog=4096;
        listen 127.0.0.1:$backend_h2_port http2 backlog=4096;
        root $folder;
        location = /small { default_type text/plain; return 200 "$(printf '%01000d' 0)"; }
        location = /sink { return 200; }
        location = /bulk { }
    }
}
EOF
    echo "nginx -c $folder/nginx.conf -e $folder/error.log"
}
