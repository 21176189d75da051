//! Established connections: sender, receiver, and the negotiated parameters.
//!
//! After the handshake, messages have no fixed order, so this module uses event handlers and not a
//! coroutine.

pub(crate) mod buffer;
mod client_authentication;
pub(crate) mod export;
pub(crate) mod handoff;
pub(crate) mod info;
pub(crate) mod link;
mod parked;
pub(crate) mod post_handshake;
pub(crate) mod post_handshake_auth;
#[cfg(feature = "quic")]
pub(crate) mod quic;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod tickets;

use crate::error::{Error, Misuse};
use crate::keys::direction::Keys;
use export::Exporter;
use info::ConnectionInfo;
use post_handshake_auth::requester::CertificateRequester;
use receiver::Receiver;
use sender::Sender;

/// An established connection. Its parts are independent values and can be moved apart.
///
/// ```
/// use tercel::Connection;
///
/// # fn run(connection: Connection) {
/// let Connection { sender, receiver, info, .. } = connection;
/// println!("{} with {}", info.version, info.cipher_suite);
/// # drop((sender, receiver)); }
/// ```
#[derive(Debug)]
pub struct Connection {
    /// Encrypts data for the peer.
    pub sender: Sender,
    /// Decrypts data from the peer.
    pub receiver: Receiver,
    /// The negotiated parameters.
    pub info: ConnectionInfo,
    /// The exporter of keying material. RFC 9846 7.5, RFC 5705
    pub exporter: Exporter,
    /// The early exporter, if early data was accepted. RFC 9846 7.5
    pub early_exporter: Option<Box<Exporter>>,
    /// Server: requests the client's certificate after the handshake. `None` unless the client
    /// offered post-handshake authentication and the configuration has a verifier for clients.
    /// RFC 9846 4.7.2
    pub requester: Option<CertificateRequester>,
}

impl Connection {
    /// Returns the current traffic secrets of TLS 1.3: first the receiver's, then the sender's. For
    /// tests and debugging tools.
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2, which has no traffic secrets.
    pub fn traffic_secrets(&self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let secret = |keys: Option<&Keys>| {
            let secret = keys.and_then(Keys::traffic_secret).ok_or(Misuse::WrongVersion)?;
            Ok::<_, Error>(secret.as_bytes().to_vec())
        };
        Ok((
            secret(self.receiver.post_handshake.keys().as_ref())?,
            secret(self.sender.keys().as_ref())?,
        ))
    }
}
