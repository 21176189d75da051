# The backend of all terminators: nginx with plain HTTP, from memory.
#
# There are two ports, because this version of nginx distinguishes HTTP/2 without TLS from HTTP/1.1 by the
# port. Connections stay open for as long as a row needs them, because terminators are measured and not the
# backend. See ../nginx.sh for the common settings.

backend() {
    head -c 16000000 /dev/zero >"$folder/bulk"
    chmod 644 "$folder/bulk"
    {
        workers=1 nginx_head
        cat <<EOF
http {
$(nginx_http)
    sendfile on;
    tcp_nopush on;
    open_file_cache max=10 inactive=1h;
    open_file_cache_valid 1h;
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
    } >"$folder/nginx.conf"
    nginx_command
}
