# Common settings of both haproxy configurations, from its configuration manual and management guide:
#
# nbthread: the number of threads of the others.
# maxconn: as the file limit permits, with both sides of a connection counted; `ulimit-n` follows from it.
# ssl-default-bind-*: suites, groups and versions as everywhere here; tickets are on by default.
# tune.ssl.cachesize 0: no session cache, for the reason in nginx.sh; haproxy is faster without.
# no log, no health checks of the backend.
# timeouts: longer than any row holds idle connections; the manual warns against having no limit for clients.
# Buffers (tune.bufsize, 16 KiB) and splicing have their defaults.

haproxy_head() { # MODE
    cat <<EOF
global
    maxconn $(((file_limit - 200) / 2))
    nbthread $workers
    tune.ssl.cachesize 0
    ssl-default-bind-ciphers $suite_12_openssl
    ssl-default-bind-ciphersuites $suite_13
    ssl-default-bind-curves X25519
    ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
    mode $1
    timeout connect 5s
    timeout client 1h
    timeout server 1h
EOF
}

haproxy_command() { echo "haproxy -db -q -f $folder/haproxy.cfg"; }
