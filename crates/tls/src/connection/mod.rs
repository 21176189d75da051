//! An established connection: two independent halves and the facts.
//!
//! After the handshake TLS is a matter of events, not of sequence, so everything here is plain
//! synchronous code. Must not know: handshakes. Next: [`sender`], [`receiver`].

pub(crate) mod authentication;
pub(crate) mod buffer;
pub(crate) mod export;
pub(crate) mod facts;
pub(crate) mod link;
pub(crate) mod post_handshake;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod stream;
pub(crate) mod tickets;

use tercel_wire::ProtocolVersion;

use authentication::server::CertificateRequester;
use export::Exporter;
use facts::Facts;
use receiver::Receiver;
use sender::Sender;

use crate::config::server::ClientAuth;
use crate::error::{Error, Misuse};

/// What a handshake leads to. Take it apart: the halves are independent values.
#[derive(Debug)]
pub struct Connection {
    /// Seals data for the peer.
    pub sender: Sender,
    /// Opens data from the peer.
    pub receiver: Receiver,
    /// What was agreed.
    pub facts: Facts,
    /// Derives keying material for other protocols.
    pub exporter: Exporter,
    /// The same for early data, where it was accepted or offered. RFC 9846 7.5
    pub early_exporter: Option<Box<Exporter>>,
    /// Server: asks for the client's certificate, if the client offered to be asked after the handshake
    /// and the configuration says by whom clients are judged. RFC 9846 4.7.2
    pub requester: Option<CertificateRequester>,
}

impl Connection {
    /// Server: appends a request for the client's certificate, and expects the answer to it:
    /// [`crate::Opened::ClientCertificate`]. With [`ClientAuth::Required`], a client that declines is
    /// refused. The context of the request. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2; [`Misuse::NoPostHandshakeAuth`] without a
    /// [`Self::requester`]; [`Misuse::TooManyCertificateRequests`] if 8 are open already;
    /// [`Misuse::InvalidArgument`] for [`ClientAuth::None`].
    pub fn request_certificate(
        &mut self,
        demand: ClientAuth,
        out: &mut Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        if self.facts.version != ProtocolVersion::TLS1_3 {
            return Err(Misuse::WrongVersion.into());
        }
        let requester = self.requester.as_ref().ok_or(Misuse::NoPostHandshakeAuth)?;
        self.receiver.post_mut().expecting()?.check_room()?;
        let pending = self.sender.request_certificate(requester, demand, out)?;
        let context = pending.context().to_vec();
        self.receiver.expect(pending)?;
        Ok(context)
    }

    /// The current traffic secrets of TLS 1.3, (of the receiver, of the sender), for tests and debugging tools.
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2, which has no traffic secrets.
    pub fn traffic_secrets(&self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (Some(read), Some(write)) = (self.receiver.post().secret(), self.sender.secret())
        else {
            return Err(Misuse::WrongVersion.into());
        };
        Ok((read.as_bytes().to_vec(), write.as_bytes().to_vec()))
    }
}
