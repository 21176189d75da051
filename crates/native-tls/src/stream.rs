//! Connections.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use tercel::pki;
use tercel::pki_types::CertificateDer;

use crate::certificate::Certificate;
use crate::error::{Kind, Result};

/// A TLS connection over a transport.
///
/// `read` returns 0 after the peer's close_notify, and also if the transport ends without one, as
/// with native-tls on OpenSSL. An attacker can end the transport early, so the protocol above has
/// to mark its end. `tercel::Stream` distinguishes both by default. RFC 9846 6.1
pub struct TlsStream<S> {
    stream: tercel::Stream<S>,
    /// A server's own chain.
    own_chain: Option<Arc<[CertificateDer<'static>]>>,
}

impl<S> TlsStream<S> {
    pub(crate) fn new(
        stream: tercel::Stream<S>,
        own_chain: Option<Arc<[CertificateDer<'static>]>>,
    ) -> Self {
        Self { stream, own_chain }
    }

    /// Returns the transport.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        self.stream.transport()
    }

    /// Returns the transport, to change its settings. It must not be read from or written to.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut S {
        self.stream.transport_mut()
    }
}

impl<S: Read + Write> TlsStream<S> {
    /// Returns the number of decrypted bytes, which a read returns without using the transport.
    /// Records that were received but not decrypted are not counted: before a program waits for the
    /// transport, it should read until `WouldBlock`.
    ///
    /// # Errors
    /// None; the signature is that of native-tls.
    pub fn buffered_read_size(&self) -> Result<usize> {
        Ok(self.stream.buffered())
    }

    /// Returns the peer's certificate. A server has none, because an acceptor does not request
    /// client certificates.
    ///
    /// # Errors
    /// None; the signature is that of native-tls.
    pub fn peer_certificate(&self) -> Result<Option<Certificate>> {
        let leaf = self.stream.connection().info.peer_chain().first();
        Ok(leaf.cloned().map(Certificate))
    }

    /// Returns the channel binding `tls-server-end-point`: a digest of the server's certificate
    /// with the hash of its signature algorithm. `None` if the algorithm has no hash of its own,
    /// such as Ed25519. RFC 5929 4.1
    ///
    /// # Errors
    /// If the certificate cannot be parsed.
    pub fn tls_server_end_point(&self) -> Result<Option<Vec<u8>>> {
        let chain = match &self.own_chain {
            Some(chain) => chain,
            None => self.stream.connection().info.peer_chain(),
        };
        let Some(leaf) = chain.first() else { return Ok(None) };
        Ok(pki::tls_server_end_point(leaf).map_err(Kind::Certificate)?)
    }

    /// Returns the negotiated application protocol (ALPN).
    ///
    /// # Errors
    /// None; the signature is that of native-tls.
    pub fn negotiated_alpn(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.stream.connection().info.alpn.clone())
    }

    /// Sends close_notify. The peer's data can still be read: read until the end before the stream
    /// is dropped, since unread data may reset the connection and discard what was written. If the
    /// transport would block, the call has to be repeated; after a success a repetition has no
    /// effect.
    ///
    /// # Errors
    /// The errors of the transport.
    pub fn shutdown(&mut self) -> io::Result<()> {
        self.stream.close_now()
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.read(out)
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The output contains no plaintext.
impl<S: fmt::Debug> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}
