# shellcheck shell=bash disable=SC2154 # variables and functions of tools/ech-interop.sh, which reads this file
# nginx, HAProxy and Caddy as servers of `tercel connect`.

# DIRECTIVE...
serve_nginx() {
    mkdir -p "$work/nginx"
    cat >"$work/nginx.conf" <<END
daemon off; master_process off; pid $work/nginx/pid; error_log stderr info;
events {}
http {
    access_log off;
    client_body_temp_path $work/nginx; proxy_temp_path $work/nginx; fastcgi_temp_path $work/nginx;
    uwsgi_temp_path $work/nginx; scgi_temp_path $work/nginx;
    server {
        listen 127.0.0.1:$port ssl;
        ssl_protocols TLSv1.3;
        ssl_certificate $work/leaf.pem; ssl_certificate_key $work/leaf.key;
        ssl_ech_file $work/current.ech;
        $*
        location / {
            return 200 "<\$ssl_ech_status> <\$ssl_ech_outer_server_name> <\$ssl_session_reused>\n";
        }
    }
}
END
    # It ends connections without close_notify.
    resets=yes
    start "$nginx" -e stderr -p "$work/nginx" -c "$work/nginx.conf"
}
nginx_server_accepted() {
    serve_nginx && connect current && accepted_by_peer && seen client "^<SUCCESS> <$public> <\.>"
}
nginx_server_retry() { serve_nginx && connect other && retried_by_tercel && seen client "^<SUCCESS> <$public>"; }
nginx_server_hrr() {
    serve_nginx 'ssl_ecdh_curve secp384r1;' && connect current && accepted_by_peer && seen client '^retried +yes$' &&
        seen client "^<SUCCESS> <$public>"
}
nginx_server_wrong() { serve_nginx && resets='' && wrong_for_tercel; }
nginx_server_grease() { serve_nginx && connect grease && seen client '^ech +grease$' && seen client '^<GREASE>'; }
nginx_server_resumption() { serve_nginx && resumed_by_tercel && seen client "^<SUCCESS> <$public> <r>"; }
nginx_server_early() {
    serve_nginx 'ssl_early_data on;' && resumed_by_tercel --early-data "$work/request" &&
        seen client '^early-data +accepted$' && seen client "^<SUCCESS> <$public> <r>"
}

# OPTION-OF-BIND...
serve_haproxy() {
    mkdir -p "$work/haproxy"
    cp "$work/current.ech" "$work/haproxy/"
    cat "$work/leaf.pem" "$work/leaf.key" >"$work/haproxy.pem"
    cat >"$work/haproxy.cfg" <<END
global
    expose-experimental-directives
defaults
    mode http
    timeout client 10s
    timeout server 10s
    timeout connect 10s
frontend ech
    bind 127.0.0.1:$port ssl crt $work/haproxy.pem ssl-min-ver TLSv1.3 ech $work/haproxy $*
    http-request return status 200 content-type text/plain \
        lf-string "<%[ssl_fc_ech_status]> <%[ssl_fc_ech_outer_sni]> <%[ssl_fc_is_resumed]>\n"
END
    start "$haproxy" -db -f "$work/haproxy.cfg"
}
haproxy_server_accepted() {
    serve_haproxy && connect current && accepted_by_peer && seen client "SUCCESS> <$public> <0>"
}
haproxy_server_retry() { serve_haproxy && connect other && retried_by_tercel && seen client "SUCCESS> <$public>"; }
haproxy_server_hrr() {
    serve_haproxy curves P-384 && connect current && accepted_by_peer && seen client '^retried +yes$' &&
        seen client "SUCCESS> <$public>"
}
haproxy_server_wrong() { serve_haproxy && wrong_for_tercel; }
haproxy_server_grease() { serve_haproxy && connect grease && seen client '^ech +grease$' && seen client 'GREASE>'; }
haproxy_server_resumption() { serve_haproxy && resumed_by_tercel && seen client "SUCCESS> <$public> <1>"; }
haproxy_server_early() {
    # It closes after the request that it gets early, while the client sends the same again.
    serve_haproxy allow-0rtt && resets=yes && resumed_by_tercel --early-data "$work/request" && seen client '^early-data +accepted$'
}

# Caddy makes its key itself. Its configuration is then that of the key `caddy` of the run: GROUP, or none
serve_caddy() {
    rm -rf "$work/caddy"
    cat >"$work/Caddyfile" <<END
{
    admin off
    storage file_system $work/caddy
    auto_https disable_redirects
    default_bind 127.0.0.1
    ech $public
}
https://$secret:$port, https://$public:$port {
    tls $work/leaf.pem $work/leaf.key {
        ${1:+curves $1}
    }
    respond "<{http.request.tls.ech}> <{http.request.tls.server_name}> <{http.request.tls.resumed}>"
}
END
    HOME=$work start "$caddy" run --config "$work/Caddyfile" --adapter caddyfile || return 1
    local config length
    config=$(find "$work/caddy/ech/configs" -name config.bin | head -1)
    [ -n "$config" ] || { echo "there is no configuration in Caddy's storage"; return 1; }
    # A list with this configuration.
    length=$(printf %04x "$(stat -c %s "$config")")
    { printf "\x${length:0:2}\x${length:2}" && cat "$config"; } >"$work/caddy.ech"
}
caddy_server_accepted() {
    serve_caddy && connect caddy && accepted_by_peer && seen client "^<true> <$secret> <false>"
}
# Caddy 2.11 sends no configurations, to Go's client neither.
caddy_server_retry() {
    serve_caddy && connect other || return 1
    grep -q 'because it sent no usable configuration' "$work/client.log" &&
        cannot "it sends no configurations after a rejection" && return 0
    retried_by_tercel && seen client "^<true> <$secret>"
}
caddy_server_hrr() {
    serve_caddy secp384r1 && connect caddy && accepted_by_peer && seen client '^retried +yes$' &&
        seen client "^<true> <$secret>"
}
# It sends no certificate for an unknown name, but this alert.
caddy_server_wrong() {
    serve_caddy
    ! connect foreign || return 1
    seen client 'alert internal_error' && unseen client 'HTTP/1'
}
caddy_server_grease() { serve_caddy && connect grease && seen client '^ech +grease$' && seen client '^<false>'; }
caddy_server_resumption() {
    serve_caddy && rm -f "$work/sessions" && connect caddy --session-file "$work/sessions" &&
        connect caddy --session-file "$work/sessions" && accepted_by_peer && seen client "^<true> <$secret> <true>"
}
caddy_server_early() { cannot "crypto/tls has no early data over TCP"; }
