//! TLS for tokio: an [`Acceptor`], a [`Connector`], and the [`TlsStream`] that both lead to.
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
//!             stream.shutdown().await
//!         });
//!     }
//! }
//!
//! async fn connect(config: Arc<tercel::ClientConfig>) -> Result<String, Box<dyn std::error::Error>> {
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
//! - **Cancellation.** Dropping an `accept` or `connect` closes the transport. Dropping a read, write,
//!   flush or shutdown loses nothing: call it again.
//! - **Closing.** `shutdown` sends close_notify, so that the peer can tell the end from a cut. A read gives
//!   0 bytes after the peer's close_notify, and an error if the transport ends without.
//! - **Memory.** A stream that waits holds no buffers: they are lent by the thread while bytes move. What
//!   is half there is kept in memory of its own size.
//! - **Two tasks.** [`TlsStream::into_split`] gives halves that share no lock, for transports that split
//!   themselves; for others there is [`tokio::io::split`].
//!
//! # Map
//!
//! | to do this | look at |
//! |---|---|
//! | serve | [`TlsListener`], [`Acceptor`] |
//! | answer early data before the handshake is complete | [`EarlyExchange`] |
//! | connect, with early data too | [`Connector`] |
//! | choose certificates, sign, find sessions or judge peers elsewhere | [`Answers`] |
//! | read in one task, write in another | [`TlsStream::into_split`] |
//! | understand a failure | [`HandshakeError`] |

#![forbid(unsafe_code)]

mod accept_backoff;
mod acceptor;
mod answers;
mod connector;
mod early;
mod error;
mod handshake;
mod incoming;
mod listener;
mod outgoing;
mod pool;
mod split;
mod stream;

pub use accept_backoff::AcceptBackoff;
pub use acceptor::Acceptor;
pub use answers::Answers;
pub use connector::{Connector, EarlyConnection};
pub use early::EarlyExchange;
pub use error::HandshakeError;
pub use listener::{AcceptFailure, Listen, TlsListener};
pub use split::{SplitTransport, TlsReadHalf, TlsWriteHalf};
pub use stream::TlsStream;
pub use tercel;
