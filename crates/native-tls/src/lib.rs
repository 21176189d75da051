//! The interface of the crate `native-tls` 0.2, on Tercel.
//!
//! A program whose dependencies use `native-tls` (reqwest, sqlx, lettre, postgres-native-tls, ...)
//! uses Tercel instead with one entry under `[patch.crates-io]`: see the README. New programs use
//! the crate `tercel` directly, which has more functions.
//!
//! ```no_run
//! use std::io::{Read, Write};
//! use tercel_native_tls::TlsConnector;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let transport = std::net::TcpStream::connect("www.rust-lang.org:443")?;
//!     let mut stream = TlsConnector::new()?.connect("www.rust-lang.org", transport)?;
//!     stream.write_all(b"GET / HTTP/1.0\r\nHost: www.rust-lang.org\r\n\r\n")?;
//!     let mut page = String::new();
//!     stream.read_to_string(&mut page)?;
//!     println!("{page}");
//!     Ok(())
//! }
//! ```
//!
//! A server:
//!
//! ```no_run
//! use std::io::Write;
//! use tercel_native_tls::{Identity, TlsAcceptor};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let identity = Identity::from_pkcs12(&std::fs::read("identity.p12")?, "password")?;
//!     let acceptor = TlsAcceptor::new(identity)?;
//!     for transport in std::net::TcpListener::bind("127.0.0.1:8443")?.incoming() {
//!         let Ok(mut stream) = acceptor.accept(transport?) else { continue };
//!         let _ = stream.write_all(b"hello\n").and_then(|()| stream.shutdown());
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Transports that would block
//!
//! A handshake over a transport that returns [`WouldBlock`](std::io::ErrorKind::WouldBlock) ends
//! with [`HandshakeError::WouldBlock`], whose [`MidHandshakeTlsStream`] continues it. `read`,
//! `write`, `flush` and [`TlsStream::shutdown`] return such an error too, and can be repeated.
//! `write` takes bytes as soon as they are encrypted; `flush`, or the next call, sends the rest.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod acceptor;
mod certificate;
mod connector;
mod error;
mod handshake;
mod identity;
mod protocol;
mod stream;
mod system_roots;
mod version_range;

pub use acceptor::{TlsAcceptor, TlsAcceptorBuilder};
pub use certificate::Certificate;
pub use connector::{TlsConnector, TlsConnectorBuilder};
pub use error::{Error, Result};
pub use handshake::{HandshakeError, MidHandshakeTlsStream};
pub use identity::Identity;
pub use protocol::Protocol;
pub use stream::TlsStream;

// The programs of the README are tested with those of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
