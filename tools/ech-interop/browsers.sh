# shellcheck shell=bash disable=SC2154 # variables and functions of tools/ech-interop.sh, which reads this file
# Chromium and Firefox as clients of `tercel serve`.

# Browsers take configurations only from DNS over HTTPS. Starts a server for it, at $dns_port: CONFIGS
serve_dns() {
    local list=''
    [ "$1" = grease ] || list=$(cat "$work/$1.b64")
    dns_port=$(tools/free-port.sh)
    "$go" dns -port "$dns_port" -cert "$work/leaf.pem" -key "$work/leaf.key" -name $secret -ech "$list" \
        >"$work/dns.log" 2>&1 &
    browser_pids+=($!)
}
# Ends the processes of a browser's cell, and checks that the browser has asked for the server's configurations.
end_browser() {
    kill "${browser_pids[@]}" 2>/dev/null || true
    wait "${browser_pids[@]}" 2>/dev/null || true
    browser_pids=()
    grep -q "asked 65 _$port._https.$secret" "$work/dns.log"
}

# CONFIGS
client_chromium() {
    local digest
    serve_dns "$1"
    digest=$(openssl x509 -in "$work/leaf.pem" -pubkey -noout | openssl pkey -pubin -outform DER |
        openssl dgst -sha256 -binary | base64)
    rm -rf "$work/profile"
    mkdir "$work/profile"
    printf '{"dns_over_https":{"mode":"secure","templates":"https://127.0.0.1:%s/dns-query"}}' "$dns_port" \
        >"$work/profile/Local State"
    timeout 60 "$chromium" --headless=new --no-sandbox --disable-gpu --mute-audio --no-first-run \
        --disable-background-networking --dump-dom --user-data-dir="$work/profile" \
        --ignore-certificate-errors-spki-list="$digest" "https://$secret:$port/" >"$work/client.log" 2>/dev/null || true
    end_browser && seen client 'Tercel</h1>'
}
chromium_accepted() { tercel_serve && client_chromium current && accepted_by_tercel; }
chromium_retry() {
    tercel_serve && client_chromium other && seen server "name=$public ech=rejected" && accepted_by_tercel
}
chromium_hrr() { tercel_serve --groups secp384r1 && client_chromium current && seen server retried && accepted_by_tercel; }
chromium_wrong() { cannot "it has to ignore errors of certificates to accept those of this run"; }
chromium_grease() { tercel_serve && client_chromium grease && seen server "name=$secret ech=rejected"; }
chromium_resumption() { cannot "one page makes one connection"; }
chromium_early() { cannot "one page makes one connection"; }

# Firefox verifies certificates, with the authority of the run. By the settings in the last line, each of several visits
# has a connection of its own. CONFIGS, and options of the driver
client_firefox() {
    local configs=$1 control status=0
    shift
    serve_dns "$configs"
    control=$(tools/free-port.sh)
    rm -rf "$work/profile"
    mkdir "$work/profile"
    certutil -N -d "sql:$work/profile" --empty-password
    certutil -A -n "ECH interop" -t C,, -i "$work/ca.pem" -d "sql:$work/profile"
    cat >"$work/profile/user.js" <<END
user_pref("marionette.port", $control);
user_pref("network.trr.mode", 3);
user_pref("network.trr.uri", "https://$public:$dns_port/dns-query");
user_pref("network.trr.bootstrapAddr", "127.0.0.1");
user_pref("network.trr.allow-rfc1918", true);
user_pref("network.dns.port_prefixed_qname_https_rr", true);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("app.update.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("network.http.http2.enabled", false); user_pref("network.http.keep-alive.timeout", 1);
END
    HOME=$work "$firefox" --headless --no-remote --profile "$work/profile" --marionette >"$work/firefox.log" 2>&1 &
    browser_pids+=($!)
    timeout 150 "$go" firefox -port "$control" -url "https://$secret:$port/" "$@" >"$work/client.log" 2>&1 || status=1
    end_browser && return $status
}
firefox_accepted() { tercel_serve && client_firefox current && seen client 'Tercel</h1>' && accepted_by_tercel; }
firefox_retry() {
    tercel_serve && client_firefox other && seen server "name=$public ech=rejected" && seen client 'Tercel</h1>' &&
        accepted_by_tercel
}
firefox_hrr() {
    tercel_serve --groups secp384r1 && client_firefox current && seen server retried && accepted_by_tercel
}
firefox_wrong() {
    tercel_serve
    ! client_firefox foreign || return 1
    seen client 'insecure certificate' && unseen client 'Tercel</h1>' && unseen server 'ech=accepted'
}
firefox_grease() {
    tercel_serve && client_firefox grease && seen client 'Tercel</h1>' && seen server "name=$secret ech=rejected"
}
firefox_resumption() {
    tercel_serve && client_firefox current -connections 2 -pause 4s && seen server "resumed name=$secret ech=accepted"
}
firefox_early() {
    tercel_serve --early-data 65536 && client_firefox current -connections 2 -pause 4s &&
        seen server "early-data=[1-9][0-9]* name=$secret ech=accepted"
}
