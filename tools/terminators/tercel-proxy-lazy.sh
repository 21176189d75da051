# The same, connecting to the backend at the client's first byte, as terminators do that speak HTTP:
# it belongs beside `nginx-http` and `haproxy-http`, which need no connection to the backend for a client
# that says nothing. They read HTTP, this one does not.

terminator_tercel_proxy_lazy() { tercel_proxy_config first-byte; }
