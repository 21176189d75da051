//! Complete handshakes with the library's own client. Unlike the prober, the client checks the
//! server's signature.

use std::io::Write;
use std::sync::Arc;

use tercel::{ClientConfig, Connection, Error, Handshake, Next, ReceiveBuffer, ServerName};

use crate::explain;
use crate::transport::Transport;

/// Why a handshake failed.
#[derive(Debug)]
pub(crate) enum HandshakeFailure {
    /// The server broke a rule of the protocol, or its signature is invalid.
    Breach(String),
    /// The server answered, but the sides do not agree.
    Answered(String),
    /// The connection ended or failed, or the time limit passed.
    Unanswered(String),
}

impl HandshakeFailure {
    fn of_error(error: Error) -> Self {
        match error {
            Error::Peer(peer) if !peer.is_disagreement() => Self::Breach(error.to_string()),
            other => Self::Answered(other.to_string()),
        }
    }
}

/// Completes a handshake, which the server can do only with the private key of its certificate.
pub(crate) fn complete(
    mut transport: &Transport,
    config: &Arc<ClientConfig>,
    name: &ServerName<'static>,
) -> Result<(Connection, ReceiveBuffer), HandshakeFailure> {
    let failed = |error: &std::io::Error| HandshakeFailure::Unanswered(explain::io_error(error));
    let mut handshake = Handshake::client(Arc::clone(config), name.clone());
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    loop {
        let step = handshake.advance(&mut received, &mut out);
        let sent = transport.write_all(&out);
        out.clear();
        let next = step.map_err(HandshakeFailure::of_error)?;
        sent.map_err(|error| failed(&error))?;
        match next {
            Next::Receive => {
                let count = received.read_from(&mut transport);
                if count.map_err(|error| failed(&error))? == 0 {
                    let why = "the server closed the connection in the handshake";
                    return Err(HandshakeFailure::Unanswered(why.to_owned()));
                }
            }
            Next::Connected(connection) => return Ok((*connection, received)),
            // The configuration asks no questions.
            _ => {
                return Err(HandshakeFailure::Answered(
                    "unexpected question in the handshake".to_owned(),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::error::PeerError;

    #[test]
    fn a_disagreement_does_not_break_the_protocol() {
        let failure = |error: PeerError| HandshakeFailure::of_error(error.into());
        assert!(matches!(failure(PeerError::BadSignature), HandshakeFailure::Breach(_)));
        // A server may answer the prober, but not this client, with a version that both have.
        for error in [PeerError::UnsupportedVersion, PeerError::NoCommonSignatureScheme] {
            assert!(matches!(failure(error), HandshakeFailure::Answered(_)), "{error:?}");
        }
    }
}
