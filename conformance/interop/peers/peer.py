"""A TLS echo server and a stdin/stdout TLS client over Python's ssl.

The command line is described in src/programs/driver.rs.
"""

import argparse
import os
import select
import socket
import ssl
import sys

# OpenSSL's short names of groups; Python accepts only groups that have an object identifier.
GROUPS = {
    "x25519": "X25519",
    "secp256r1": "prime256v1",
    "secp384r1": "secp384r1",
    "secp521r1": "secp521r1",
}
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["abilities", "serve", "connect"])
    for option in ("name", "ca", "client-ca", "cert", "key", "version", "suite", "group", "feature"):
        parser.add_argument("--" + option)
    parser.add_argument("--port", type=int)
    parser.add_argument("--connections", type=int, default=1)
    options = parser.parse_args()
    {"abilities": abilities, "serve": serve, "connect": connect}[options.role](options)


def abilities(_):
    hybrids = ["X25519MLKEM768"] if ssl.OPENSSL_VERSION_INFO[:2] >= (3, 5) else []
    print("keys rsa2048 p256 p384 p521 ed25519")
    print("groups", *GROUPS, *hybrids)
    resumption = "resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful"
    print("as-client", resumption)
    print("as-server", resumption)
    # TLS 1.3 suites cannot be chosen before Python 3.15.
    print("limits group suite1.2")


def serve(options):
    context = prepare(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), options)
    if options.client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(options.client_ca)
    listener = socket.create_server(("127.0.0.1", options.port))
    while True:
        try:
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                tell(connection)
                while data := connection.recv(16384):
                    connection.sendall(data)
                connection.unwrap()
        except OSError as error:
            print(error, file=sys.stderr, flush=True)


def connect(options):
    context = prepare(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), options)
    context.load_verify_locations(options.ca)
    session = None
    for _ in range(1, options.connections):
        session = next_session(context, options, session)
    plain = socket.create_connection(("127.0.0.1", options.port))
    with context.wrap_socket(plain, server_hostname=options.name, session=session) as connection:
        tell(connection)
        # One thread handles both directions, because the module does not promise that two threads may use one
        # connection.
        connection.setblocking(False)
        while True:
            select.select([0, connection], [], [])
            receive_available(connection)
            if select.select([0], [], [], 0)[0]:
                data = os.read(0, 16384)
                if not data:
                    break
                send_all(connection, data)
        connection.setblocking(True)
        connection.unwrap()


def next_session(context, options, session):
    """Returns the session that the next connection resumes. The echo of a line proves that tickets have arrived."""
    plain = socket.create_connection(("127.0.0.1", options.port))
    with context.wrap_socket(plain, server_hostname=options.name, session=session) as connection:
        tell(connection)
        connection.sendall(b"0123\n")
        while data := connection.recv(16384):
            os.write(1, data)
            if data.endswith(b"\n"):
                break
        session = connection.session
        connection.unwrap()
    return session


def tell(connection):
    print("resumed", "yes" if connection.session_reused else "no", file=sys.stderr, flush=True)


def receive_available(connection):
    while True:
        try:
            data = connection.recv(16384)
        except ssl.SSLWantReadError:
            return
        if not data:
            sys.exit("the server ended first")
        while data:
            data = data[os.write(1, data):]


def send_all(connection, data):
    while data:
        try:
            data = data[connection.send(data):]
        except ssl.SSLWantWriteError:
            select.select([], [connection], [])


def prepare(context, options):
    if options.version:
        context.minimum_version = context.maximum_version = VERSIONS[options.version]
    if options.suite:
        context.set_ciphers(openssl_name(options.suite))
    if options.group:
        context.set_ecdh_curve(GROUPS[options.group])
    if options.feature in ("resume-1.2-id", "resume-1.3-stateful"):
        context.options |= ssl.OP_NO_TICKET
    if options.cert:
        context.load_cert_chain(options.cert, options.key)
    return context


def openssl_name(suite):
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256"""
    name = suite.removeprefix("TLS_").replace("_WITH_", "_").replace("AES_", "AES")
    return name.replace("POLY1305_SHA256", "POLY1305").replace("_", "-")


main()
