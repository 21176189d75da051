# Common settings of both nginx configurations, from nginx' documentation of its core, stream and ssl modules:
#
# worker_processes: the number of cores, equal to the number of threads of the others.
# reuseport: with several workers, a socket of its own for each, so that they do not wake each other.
#   With one worker there is nothing to distribute, unless another process uses the address.
# worker_connections, worker_rlimit_nofile: far above what a row opens, both sides of a connection counted.
# multi_accept stays off, which is the default.
# ssl_session_tickets on (default), ssl_session_cache none (default): clients here resume with tickets. The shared
#   cache that the documentation recommends for clients without tickets would be filled by the others, too, and makes
#   every handshake more expensive; no other terminator here has one.
# ssl_conf_command: the suite of TLS 1.3, which ssl_ciphers does not reach.
# ssl_ecdh_curve X25519: every OpenSSL here supports it.
# ssl_session_ticket_key: in `scaling`, where a client may resume at the other process.
# access_log off; error_log for errors only.

nginx_head() {
    cat <<EOF
daemon off;
pid $folder/pid;
error_log $folder/error.log error;
worker_processes $workers;
worker_rlimit_nofile $file_limit;
events { worker_connections $((file_limit > 100000 ? 100000 : file_limit - 100)); }
EOF
}

nginx_tls() {
    cat <<EOF
    ssl_certificate $keys/chain.pem;
    ssl_certificate_key $keys/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_ciphers $suite_12_openssl;
    ssl_conf_command Ciphersuites $suite_13;
    ssl_ecdh_curve X25519;
    ssl_session_cache none;
    ssl_session_timeout 1h;
    ssl_session_tickets on;
EOF
    [ -z "$shares" ] || echo "    ssl_session_ticket_key $keys/tickets.nginx;"
}

# Settings for HTTP. keepalive_requests, keepalive_timeout, client_header_timeout: connections stay open, as with the
# relays. client_max_body_size 0: uploads may have any size. Temporary files are in the run's folder.
nginx_http() {
    cat <<EOF
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_header_timeout 1h;
    client_max_body_size 0;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
EOF
}

nginx_reuseport() { if [ "$workers" -gt 1 ] || [ -n "$shares" ]; then echo reuseport; fi; }
nginx_command() { echo "nginx -c $folder/nginx.conf -e $folder/error.log"; }
