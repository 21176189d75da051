//! Handshakes, and what interrupts them.

use std::any::Any;
use std::io::{self, Read, Write};
use std::result;
use std::sync::Arc;
use std::{error, fmt};

use tercel::Handshake;
use tercel::pki_types::CertificateDer;

use crate::error::Error;
use crate::stream::TlsStream;

/// A handshake that was interrupted because the transport would have blocked.
pub struct MidHandshakeTlsStream<S>(Box<Parts<S>>);

struct Parts<S> {
    handshake: Handshake,
    transport: S,
    /// A server's own chain.
    own_chain: Option<Arc<[CertificateDer<'static>]>>,
}

impl<S> MidHandshakeTlsStream<S> {
    pub(crate) fn new(
        handshake: Handshake,
        transport: S,
        own_chain: Option<Arc<[CertificateDer<'static>]>>,
    ) -> Self {
        Self(Box::new(Parts { handshake, transport, own_chain }))
    }

    /// Returns the transport.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.0.transport
    }

    /// Returns the transport, to change its settings. It must not be read from or written to.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.0.transport
    }
}

impl<S: Read + Write> MidHandshakeTlsStream<S> {
    /// Continues the handshake where it was interrupted.
    ///
    /// # Errors
    /// [`HandshakeError::WouldBlock`] if the transport would block again.
    /// [`HandshakeError::Failure`] for all other errors.
    pub fn handshake(mut self) -> result::Result<TlsStream<S>, HandshakeError<S>> {
        let Parts { handshake, transport, .. } = &mut *self.0;
        // The stream borrows the transport, which the handshake keeps until it is complete.
        match handshake.complete(transport) {
            Ok(stream) => {
                let stream = stream.map_transport(|_| ());
                let Parts { transport, own_chain, .. } = *self.0;
                Ok(TlsStream::new(stream.map_transport(|()| transport), own_chain))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(HandshakeError::WouldBlock(self))
            }
            Err(error) => {
                let refusal = self.0.handshake.refusal();
                Err(HandshakeError::Failure(Error::of_handshake(error, refusal)))
            }
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for MidHandshakeTlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MidHandshakeTlsStream")
            .field("transport", &self.0.transport)
            .finish_non_exhaustive()
    }
}

/// The reason why a handshake is not complete.
#[derive(Debug)]
pub enum HandshakeError<S> {
    /// The handshake failed.
    Failure(Error),
    /// The transport would have blocked. When it is ready again, the handshake can be continued
    /// with [`MidHandshakeTlsStream::handshake`].
    WouldBlock(MidHandshakeTlsStream<S>),
}

impl<S: Any + fmt::Debug> error::Error for HandshakeError<S> {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Failure(error) => Some(error),
            Self::WouldBlock(_) => None,
        }
    }
}

impl<S: Any + fmt::Debug> fmt::Display for HandshakeError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failure(error) => error.fmt(f),
            Self::WouldBlock(_) => f.write_str("the handshake is incomplete: it would block"),
        }
    }
}
