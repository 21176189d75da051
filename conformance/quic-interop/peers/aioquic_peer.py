"""An endpoint of aioquic, with the options of src/options.rs.

A server prints `ready`; both print a line `connection name=value ...` for each connection.
"""

import argparse
import asyncio
import ssl

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    ProtocolNegotiated,
    StreamDataReceived,
)
from aioquic.tls import CipherSuite

PAGE = bytes(ord("a") + position % 23 for position in range(65536))


class Endpoint(QuicConnectionProtocol):
    """One connection, whose facts are collected."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.facts = {"exchanges": 0}
        self.http = None
        self.streams = {}
        self.is_printed = False
        self.stored = asyncio.Event()

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.facts["protocol"] = event.alpn_protocol
            if event.alpn_protocol == "h3":
                self.http = H3Connection(self._quic)
        elif isinstance(event, HandshakeCompleted):
            self.facts["resumed"] = int(event.session_resumed)
            self.facts["early"] = int(event.early_data_accepted)
            suite = self._quic.tls.key_schedule.cipher_suite
            self.facts["suite"] = f"{int(suite):04x}"
        elif isinstance(event, ConnectionTerminated):
            # Codes from 0x0100 on are those of TLS alerts, unless the application closed.
            if event.frame_type is not None and event.error_code >= 0x0100:
                self.facts["code"] = f"{event.error_code:#06x}"
            self.print_facts()
        if self.http is not None:
            for http_event in self.http.handle_event(event):
                self.http_event(http_event)
        elif isinstance(event, StreamDataReceived):
            self.stream_data(event.stream_id, event.data, event.end_stream)

    def print_facts(self):
        if not self.is_printed:
            self.is_printed = True
            words = " ".join(f"{name}={value}" for name, value in self.facts.items())
            print(f"connection {words}", flush=True)


class Server(Endpoint):
    def stream_data(self, stream_id, data, is_end):
        self._quic.send_stream_data(stream_id, data, is_end)
        self.transmit()
        if is_end:
            self.facts["exchanges"] += 1
            self.update_keys()

    def http_event(self, event):
        # The end of a request may follow its headers.
        if isinstance(event, (DataReceived, HeadersReceived)) and event.stream_ended:
            headers = [(b":status", b"200"), (b"content-type", b"text/plain")]
            self.http.send_headers(event.stream_id, headers)
            self.http.send_data(event.stream_id, PAGE, end_stream=True)
            self.transmit()
            self.facts["exchanges"] += 1
            self.update_keys()

    def update_keys(self):
        if options.key_update and self.facts["exchanges"] == 1:
            self._quic.request_key_update()


class Client(Endpoint):
    def stream_data(self, stream_id, data, is_end):
        received, done = self.streams[stream_id]
        received += data
        if is_end:
            done.set()

    def http_event(self, event):
        if isinstance(event, (DataReceived, HeadersReceived)):
            if isinstance(event, DataReceived):
                self.streams[event.stream_id][0].extend(event.data)
            if event.stream_ended:
                self.streams[event.stream_id][1].set()

    async def exchange(self):
        stream_id = self._quic.get_next_available_stream_id()
        self.streams[stream_id] = (bytearray(), asyncio.Event())
        if options.alpn == "h3":
            if self.http is None:
                self.http = H3Connection(self._quic)
            request = [(b":method", b"GET"), (b":scheme", b"https"),
                       (b":authority", b"localhost"), (b":path", b"/page")]
            self.http.send_headers(stream_id, request, end_stream=True)
        else:
            self._quic.send_stream_data(stream_id, PAGE, end_stream=True)
        self.transmit()
        received, done = self.streams[stream_id]
        await asyncio.wait_for(done.wait(), 10)
        if bytes(received) != PAGE:
            raise ValueError(f"received {len(received)} other bytes")
        self.facts["exchanges"] += 1


def configuration(is_client):
    made = QuicConfiguration(is_client=is_client, alpn_protocols=[options.alpn], idle_timeout=5)
    if is_client:
        made.server_name = "localhost"
        made.load_verify_locations(cafile=options.roots)
        made.verify_mode = ssl.CERT_REQUIRED
    if options.cert:
        made.load_cert_chain(options.cert, options.key)
    if options.chacha20:
        made.cipher_suites = [CipherSuite.CHACHA20_POLY1305_SHA256]
    return made


async def run_server():
    tickets = {}
    store = {}
    if options.early_data or options.connections > 1:
        store = {
            "session_ticket_fetcher": lambda label: tickets.pop(label, None),
            "session_ticket_handler": lambda ticket: tickets.update({ticket.ticket: ticket}),
        }
    await serve("127.0.0.1", options.port, configuration=configuration(False),
                create_protocol=Server, retry=options.retry, **store)
    print("ready", flush=True)
    await asyncio.Future()


async def run_client():
    ticket = None
    for _ in range(options.connections):
        made = configuration(True)
        made.session_ticket = ticket
        received = asyncio.Queue()
        may_send_early = options.early_data and ticket is not None
        try:
            async with connect("127.0.0.1", options.port, configuration=made, create_protocol=Client,
                               session_ticket_handler=received.put_nowait,
                               wait_connected=not may_send_early) as client:
                await client.exchange()
                await client.wait_connected()
                if options.key_update:
                    client._quic.request_key_update()
                # In this time a server may update its keys.
                await asyncio.sleep(0.2)
                for _ in range(2):
                    await client.exchange()
                if options.connections > 1:
                    ticket = await asyncio.wait_for(received.get(), 5)
                client.facts["retry"] = int(client._quic._retry_count > 0)
                client.print_facts()
        except ConnectionError:
            # The protocol has printed the code of the connection's end.
            pass


parser = argparse.ArgumentParser()
parser.add_argument("role", choices=["serve", "connect"])
parser.add_argument("--port", type=int)
parser.add_argument("--alpn")
for name in ["--roots", "--cert", "--key"]:
    parser.add_argument(name)
parser.add_argument("--connections", type=int)
for name in ["--early-data", "--chacha20", "--p384", "--retry", "--key-update", "--version2"]:
    parser.add_argument(name, action="store_true")
options = parser.parse_args()
asyncio.run(run_server() if options.role == "serve" else run_client())
