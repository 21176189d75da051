"""Post-handshake authentication with Python's ssl: an echo server that requests a certificate after
the first data, and a client that can answer the request.

The command line is in src/post_handshake_auth.rs.
"""

import os
import socket
import ssl
import sys

role, port, certificate, key, roots, name = sys.argv[1:]


def serve():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(roots)
    context.verify_mode = ssl.CERT_REQUIRED
    context.post_handshake_auth = True
    listener = socket.create_server(("127.0.0.1", int(port)))
    while True:
        serve_one(context, listener.accept()[0])


def serve_one(context, plain):
    with context.wrap_socket(plain, server_side=True) as connection:
        asked = False
        while data := connection.recv(16384):
            connection.sendall(data)
            print("client:", connection.getpeercert(), file=sys.stderr)
            if not asked:
                # The request must follow the echo: OpenSSL drops a request while it owes the peer a key
                # update.
                connection.verify_client_post_handshake()
                asked = True
        connection.unwrap()


def connect():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(roots)
    context.post_handshake_auth = True
    plain = socket.create_connection(("127.0.0.1", int(port)))
    with context.wrap_socket(plain, server_hostname=name) as connection:
        while data := os.read(0, 16384):
            connection.sendall(data)
            os.write(1, connection.recv(16384))
        connection.unwrap()


{"serve": serve, "connect": connect}[role]()
