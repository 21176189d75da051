#!/usr/bin/env python3
"""Reads a page from an HTTPS server, with the C library and cffi (Debian: python3-cffi).

usage: client.py HOST [PATH [PORT [ROOTS]]]      ROOTS is a PEM file; by default, the system's roots are trusted

The library and its header are found by pkg-config.
"""

import re
import socket
import subprocess
import sys

from cffi import FFI


def load():
    """Returns the library, the compiler of types, and the constants of the header."""

    def folder(name):
        command = ["pkg-config", f"--variable={name}", "tercel"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    with open(folder("includedir") + "/tercel.h", encoding="utf-8") as file:
        header = file.read()
    constants = {}
    for name, value in re.findall(r"^#define (TERCEL_\w+) (.+)$", header, re.MULTILINE):
        constants[name] = eval(value, {}, constants)  # numbers, shifts and other constants
    # cffi knows the types of C, but neither the preprocessor nor C++.
    declarations = re.sub(r"^#.*$", "", header, flags=re.MULTILINE)
    declarations = declarations.replace('extern "C" {', "").replace('}  // extern "C"', "")
    ffi = FFI()
    ffi.cdef(declarations)
    return ffi.dlopen(folder("libdir") + "/libtercel.so"), ffi, constants


LIB, FFI_, C = load()


class TlsError(Exception):
    """A function of the library failed."""


def need(status, text=None):
    """Raises an exception if a status is not TERCEL_OK."""
    if status != C["TERCEL_OK"]:
        raise TlsError(text or FFI_.string(LIB.tercel_status_text(status)).decode())


def result(function, *arguments):
    """Returns what a function stores in its last argument, a pointer to a pointer."""
    place = FFI_.new("void **")
    need(function(*arguments, FFI_.cast(FFI_.typeof(function).args[-1], place)))
    return FFI_.cast(FFI_.typeof(function).args[-1].item, place[0])


def configure(roots_file):
    """Makes a configuration, which serves all connections of a program."""
    if roots_file is None:
        roots = result(LIB.tercel_roots_system)
    else:
        with open(roots_file, "rb") as file:
            pem = file.read()
        roots = result(LIB.tercel_roots_from_pem, pem, len(pem))
    builder = LIB.tercel_config_builder_new(C["TERCEL_CLIENT"])
    need(LIB.tercel_config_builder_set_roots(builder, roots))
    config = result(LIB.tercel_config_builder_build, builder)
    LIB.tercel_config_builder_free(builder)
    LIB.tercel_roots_release(roots)
    return FFI_.gc(config, LIB.tercel_config_release)


class Stream:
    """A TLS connection over a socket."""

    def __init__(self, config, transport, name):
        self.transport = transport
        self.input = FFI_.gc(LIB.tercel_input_new(0), LIB.tercel_input_free)
        self.output = FFI_.gc(LIB.tercel_output_new(), LIB.tercel_output_free)
        name = name.encode()
        hello = result(LIB.tercel_handshake_client, config, name, len(name), 0)
        hello = FFI_.gc(hello, LIB.tercel_handshake_free)
        self.connection = FFI_.gc(self._connect(hello), LIB.tercel_connection_free)

    def _connect(self, hello):
        following = FFI_.new("tercel_next *")
        while True:
            status = LIB.tercel_handshake_advance(hello, self.input, self.output, following)
            self._send()  # after an error, the alert
            if status == C["TERCEL_OK"] and following[0] == C["TERCEL_NEXT_CONNECTED"]:
                return result(LIB.tercel_handshake_take_connection, hello)
            if status == C["TERCEL_OK"] and not self._receive():
                status = LIB.tercel_handshake_end_of_input(hello)
            if status != C["TERCEL_OK"]:
                why = FFI_.new("char[]", 400)
                LIB.tercel_handshake_error(hello, why, 400)
                raise TlsError(FFI_.string(why).decode())

    def _send(self):
        data = LIB.tercel_output_bytes(self.output)
        if data.len > 0:
            self.transport.sendall(FFI_.buffer(data.data, data.len))
            need(LIB.tercel_output_sent(self.output, data.len))

    def _receive(self):
        room = FFI_.new("size_t *")
        space = LIB.tercel_input_space(self.input, room)
        count = self.transport.recv_into(FFI_.buffer(space, room[0]))
        need(LIB.tercel_input_filled(self.input, count))
        return count > 0

    def write(self, data):
        """Sends data."""
        need(LIB.tercel_connection_seal_to(self.connection, data, len(data), self.output))
        self._send()

    def read(self):
        """Yields pieces of data until the server closes the connection."""
        data, event = FFI_.new("tercel_bytes *"), FFI_.new("tercel_event *")
        while True:
            need(LIB.tercel_connection_open_in_place(self.connection, self.input, data, event))
            if event[0] == C["TERCEL_EVENT_CLOSED"]:
                return
            if event[0] == C["TERCEL_EVENT_DATA"]:
                yield bytes(FFI_.buffer(data.data, data.len))
            elif not self._receive():
                need(LIB.tercel_connection_end_of_input(self.connection))
                return

    def close(self):
        """Says that nothing more is sent."""
        need(LIB.tercel_connection_close(self.connection, self.output))
        self._send()
        self.transport.close()


def main(host, path="/", port="443", roots_file=None):
    """Prints the page."""
    with socket.create_connection((host, int(port)), timeout=30) as transport:
        stream = Stream(configure(roots_file), transport, host)
        stream.write(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        for data in stream.read():
            sys.stdout.buffer.write(data)
        stream.close()


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (TlsError, OSError) as error:
        sys.exit(f"client.py: {error}")
