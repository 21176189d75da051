//! Which types threads can share, checked at compile time.

use std::cell::Cell;
use std::net::TcpStream;

use tercel_native_tls::{
    Certificate, Error, HandshakeError, Identity, MidHandshakeTlsStream, Protocol, TlsAcceptor,
    TlsAcceptorBuilder, TlsConnector, TlsConnectorBuilder, TlsStream,
};

const fn shared<T: Send + Sync>() {}
const fn sent<T: Send>() {}

const _: () = {
    shared::<Error>();
    shared::<TlsConnectorBuilder>();
    shared::<TlsConnector>();
    shared::<TlsAcceptorBuilder>();
    shared::<TlsAcceptor>();
    shared::<TlsStream<TcpStream>>();
    shared::<MidHandshakeTlsStream<TcpStream>>();
    shared::<HandshakeError<TcpStream>>();
    shared::<Identity>();
    shared::<Certificate>();
    shared::<Protocol>();
    // A transport that threads cannot share.
    sent::<TlsStream<Cell<u8>>>();
    sent::<MidHandshakeTlsStream<Cell<u8>>>();
};
