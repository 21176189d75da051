"""Clients of a terminator that end their connections in different ways: see the rows `unread`, `unclosed` and
`instructions` of tools/terminators.sh.

usage: peers.py KIND PORT CA COUNT     one connection after the other, with the settings in OPENSSL_CONF
    orderly   reads the answer of a request, and the tickets before it, and closes with close_notify
    unread    closes without having read the tickets
    unclosed  makes all connections, prints `holding`, and neither reads nor closes until its input ends
"""

import socket
import ssl
import sys

REQUEST = b"GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def main(kind, port, authority, count):
    context = ssl.create_default_context(cafile=authority)
    context.set_alpn_protocols(["http/1.1"])
    held = []
    for _ in range(int(count)):
        transport = socket.create_connection(("127.0.0.1", int(port)))
        transport.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = context.wrap_socket(transport, server_hostname="localhost")
        if kind == "orderly":
            stream.sendall(REQUEST)
            while stream.recv(65536):
                pass
            stream.unwrap()
        if kind == "unclosed":
            held.append(stream)
        else:
            stream.close()
    if held:
        print("holding", flush=True)
        sys.stdin.read()


main(*sys.argv[1:])
