//! TLS for tokio: an [`Acceptor`] and a [`Connector`], which produce a [`TlsStream`].
//!
//! ```no_run
//! use std::sync::Arc;
//! use tercel_tokio::{Acceptor, Connector, TlsListener};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::{TcpListener, TcpStream};
//!
//! async fn serve(config: Arc<tercel::ServerConfig>) -> std::io::Result<()> {
//!     let listener = TcpListener::bind(("127.0.0.1", 8443)).await?;
//!     let mut listener = TlsListener::new(listener, Acceptor::new(config));
//!     loop {
//!         let (mut stream, _) = listener.accept().await;
//!         tokio::spawn(async move {
//!             stream.write_all(b"hello\n").await?;
//!             stream.close().await
//!         });
//!     }
//! }
//!
//! # type BoxError = Box<dyn std::error::Error>;
//! async fn connect(config: Arc<tercel::ClientConfig>) -> Result<String, BoxError> {
//!     let transport = TcpStream::connect(("localhost", 8443)).await?;
//!     let mut stream = Connector::new(config).connect("localhost".try_into()?, transport).await?;
//!     let mut answer = String::new();
//!     stream.read_to_string(&mut answer).await?;
//!     Ok(answer)
//! }
//! ```
//!
//! # What to expect
//!
//! - **Cancellation.** Dropping an `accept` or `connect` closes the transport. Dropping a read,
//!   write, flush or shutdown loses nothing: call it again.
//! - **Closing.** `close` sends close_notify, so that the peer can distinguish the end of the data
//!   from a truncation, and waits for a limited time until the peer closes, so that nothing written
//!   is lost. `shutdown` does not wait, and a drop without either is an abort: see
//!   [`TlsStream::close`]. A read returns 0 bytes after the peer's close_notify, and an error if
//!   the transport closes without it.
//! - **Memory.** An idle stream holds no buffers: a stream takes buffers from a pool of the thread
//!   while data moves. Partial records are kept in buffers of their own size.
//! - **Two tasks.** [`TlsStream::into_split`] returns halves that share no lock, for transports
//!   that can be split; for other transports use [`tokio::io::split`].
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | serve | [`TlsListener`], [`Acceptor`] |
//! | answer early data before the handshake is complete | [`EarlyExchange`] |
//! | connect, with early data too | [`Connector`] |
//! | choose certificates, sign, find sessions or verify peers asynchronously | [`Answers`] |
//! | read in one task, write in another | [`TlsStream::into_split`] |
//! | understand a failure | [`HandshakeError`] |
//!
//! # Modules
//!
//! Lowest first: a module uses only itself and the modules above it in this table.
//!
//! | module | holds |
//! |---|---|
//! | `error` | [`HandshakeError`] |
//! | `accept_backoff` | [`AcceptBackoff`] |
//! | `timer` | timers of the current runtime |
//! | `pool` | read and write buffers that streams of one thread share |
//! | `incoming`, `outgoing` | the reading and the writing side of a stream |
//! | `split` | [`TlsReadHalf`], [`TlsWriteHalf`] |
//! | `stream` | [`TlsStream`] |
//! | `answers` | [`Answers`] |
//! | `early_data` | [`EarlyExchange`] |
//! | `handshake` | the handshake over a transport, for both sides |
//! | `acceptor`, `connector` | [`Acceptor`], [`Connector`] |
//! | `listener` | [`TlsListener`] |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod accept_backoff;
mod acceptor;
mod answers;
mod connector;
mod early_data;
mod error;
mod handshake;
mod incoming;
mod listener;
mod outgoing;
mod pool;
mod split;
mod stream;
mod timer;

pub use accept_backoff::AcceptBackoff;
pub use acceptor::Acceptor;
pub use answers::Answers;
pub use connector::{Connector, EarlyConnection};
pub use early_data::EarlyExchange;
pub use error::HandshakeError;
pub use listener::{AcceptFailure, Listen, TlsListener};
pub use split::{SplitTransport, TlsReadHalf, TlsWriteHalf};
pub use stream::TlsStream;
pub use tercel;

/// The program of this crate's README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;

/// The programs of the repository's README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The programs of the page for users of rustls are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../../tls/docs/coming-from-rustls.md")]
struct ComingFromRustls;
