//! An established connection: two independent halves and the facts.
//!
//! After the handshake TLS is a matter of events, not of sequence, so everything here is plain
//! synchronous code. Must not know: handshakes. Next: [`sender`], [`receiver`].

pub(crate) mod authentication;
pub(crate) mod buffer;
pub(crate) mod export;
pub(crate) mod facts;
pub(crate) mod link;
pub(crate) mod parked;
pub(crate) mod post_handshake;
pub(crate) mod receiver;
pub(crate) mod saved;
pub(crate) mod sender;
pub(crate) mod stream;
pub(crate) mod tickets;
pub(crate) mod traffic_keys;

use authentication::requester::CertificateRequester;
use export::Exporter;
use facts::Facts;
use receiver::Receiver;
use sender::Sender;

use crate::error::{Error, Misuse};
use crate::keys::direction::Keys;

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
    /// The current traffic secrets of TLS 1.3, (of the receiver, of the sender), for tests and debugging tools.
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2, which has no traffic secrets.
    pub fn traffic_secrets(&self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let secret = |keys: Option<&Keys>| {
            let secret = keys.and_then(Keys::traffic_secret).ok_or(Misuse::WrongVersion)?;
            Ok::<_, Error>(secret.as_bytes().to_vec())
        };
        Ok((secret(self.receiver.post().keys().as_ref())?, secret(self.sender.keys().as_ref())?))
    }
}
