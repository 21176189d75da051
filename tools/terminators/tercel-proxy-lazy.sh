# tercel-proxy, connecting to the backend at the client's first byte, as HTTP terminators do. Compare it with
# `nginx-http` and `haproxy-http`, which need no connection to the backend for an idle client. Unlike those,
# it does not parse HTTP.

terminator_tercel_proxy_lazy() { tercel_proxy_config first-byte; }
