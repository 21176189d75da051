//! A connection's keys on their way to another record layer, such as the kernel's.
//!
//! Must not know: what that layer is. Next: `keys/direction.rs`; [`super::saved`], if it is ours.

use tercel_crypto::AeadAlgorithm;
use tercel_wire::ProtocolVersion;

use super::Connection;
use super::buffer::Received;
use super::export::Exporter;
use super::facts::Facts;
use super::receiver;
use crate::error::{Error, Local, Misuse};
use crate::keys::direction::{Keys, WriteKey};
use crate::keys::tls13::TrafficSecret;

/// What another record layer needs to go on with a connection, and what is left of it here.
///
/// Whoever has the keys reads and writes the connection in its peers' names. They are wiped when this is dropped.
#[non_exhaustive]
pub struct TrafficKeys {
    /// The protocol version.
    pub version: ProtocolVersion,
    /// Seals what we send.
    pub send: TrafficKey,
    /// Opens what the peer sends.
    pub receive: TrafficKey,
    /// Bytes of plaintext that the peer takes in one record, 16384 at most. RFC 8449
    pub max_fragment: usize,
    /// What was agreed.
    pub facts: Facts,
    /// Derives keying material for other protocols.
    pub exporter: Exporter,
    /// The same for early data, where it was accepted or offered. RFC 9846 7.5
    pub early_exporter: Option<Box<Exporter>>,
}

/// The key of one direction, and where it stands.
pub struct TrafficKey {
    write_key: WriteKey,
    nonce: NonceForm,
    sequence: u64,
    /// TLS 1.3: where the next key comes from.
    secret: Option<TrafficSecret>,
}

/// How a record's nonce comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonceForm {
    /// The IV of 12 bytes, exclusive-or the sequence number. RFC 9846 5.3, RFC 7905 2
    IvXorSequence,
    /// The IV of four bytes, then eight that each record carries ahead of its content. In what we send these are
    /// the sequence number, and must go on so: no other choice is sure not to repeat one. RFC 5288 3
    SaltAndExplicit,
}

/// A connection that could not be handed over, as it was before.
#[derive(Debug)]
#[non_exhaustive]
pub struct NotHandedOver {
    /// The connection.
    pub connection: Box<Connection>,
    /// What stood in the way.
    pub reason: Error,
}

impl Connection {
    /// Gives the keys of both directions to another record layer. Nothing can be sealed or opened here afterwards,
    /// since a sequence number may not be used twice.
    ///
    /// From here on the other layer has to see to it that what is not application data comes to someone: in
    /// TLS 1.3 a peer may send a `KeyUpdate` or a ticket at any time. What follows on a `KeyUpdate` is in [`TrafficKeys`], which
    /// is to be kept for that (RFC 9846 4.7.3):
    ///
    /// - The records behind one that was received are under the key that [`TrafficKey::update`] of
    ///   [`receive`](TrafficKeys::receive) changes to.
    /// - If its last byte is 1, one whose last byte is 0 is to be sent, under the key that is in use; all records behind that are
    ///   sealed with the key that [`TrafficKey::update`] of [`send`](TrafficKeys::send) changes to.
    ///
    /// A layer that cannot be given another key, such as that of an older Linux, cannot go on then: the next record fails to
    /// open. Nothing here can prevent a peer from sending a `KeyUpdate`.
    ///
    /// `received` is the buffer that this connection has read from so far.
    ///
    /// # Errors
    /// The connection, with the reason: [`Misuse::UnreadInput`] while `received` is not empty,
    /// [`Misuse::HalfMessage`] while the rest of a handshake message is to come, [`Misuse::CertificateAwaited`] as for
    /// [`Self::save`], [`Misuse::ControlPending`] while
    /// [`crate::Sender::control`] has something to send, [`Misuse::UpdateAwaited`] while the peer has not granted
    /// a key update; [`Local::Closed`] and [`Local::Failed`] when there is nothing more to send.
    pub fn export_traffic_keys(self, received: &Received) -> Result<TrafficKeys, NotHandedOver> {
        match self.exportable(received) {
            Err(reason) => Err(NotHandedOver { connection: Box::new(self), reason }),
            Ok((send, receive)) => Ok(TrafficKeys {
                version: self.facts.version,
                send,
                receive,
                max_fragment: self.sender.max_fragment(),
                facts: self.facts,
                exporter: self.exporter,
                early_exporter: self.early_exporter,
            }),
        }
    }

    fn exportable(&self, received: &Received) -> Result<(TrafficKey, TrafficKey), Error> {
        let (sender, receiver) = (&self.sender, &self.receiver);
        sender.require_open()?;
        if let receiver::State::Failed(_) = receiver.state {
            return Err(Local::Failed.into());
        }
        if !received.is_empty() {
            return Err(Misuse::UnreadInput.into());
        }
        if !receiver.post.joiner.is_empty() {
            return Err(Misuse::HalfMessage.into());
        }
        receiver.post.check_idle()?;
        if sender.is_pending() {
            return Err(Misuse::ControlPending.into());
        }
        if sender.link().signals().update_awaited() {
            return Err(Misuse::UpdateAwaited.into());
        }
        let key = |keys: Option<&Keys>, sequence| {
            keys.map(|keys| TrafficKey::new(keys, sequence)).ok_or(Local::Failed)
        };
        Ok((
            key(sender.keys().as_ref(), sender.sequence())?,
            key(receiver.post.keys().as_ref(), receiver.sequence())?,
        ))
    }
}

impl TrafficKey {
    fn new(keys: &Keys, sequence: u64) -> Self {
        let write_key = keys.write_key();
        let nonce = match write_key.iv().len() {
            AeadAlgorithm::NONCE_LEN => NonceForm::IvXorSequence,
            _ => NonceForm::SaltAndExplicit,
        };
        let secret = keys.traffic_secret().map(TrafficSecret::duplicate);
        Self { write_key, nonce, sequence, secret }
    }

    /// The AEAD algorithm.
    #[must_use]
    pub fn algorithm(&self) -> AeadAlgorithm {
        self.write_key.algorithm()
    }

    /// The key, as long as the algorithm says.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.write_key.key()
    }

    /// The IV: 12 bytes, or the four of [`NonceForm::SaltAndExplicit`].
    #[must_use]
    pub fn iv(&self) -> &[u8] {
        self.write_key.iv()
    }

    /// How nonces are made.
    #[must_use]
    pub fn nonce_form(&self) -> NonceForm {
        self.nonce
    }

    /// The sequence number of the next record.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Changes to the key that is used after a `KeyUpdate` in this direction, from sequence number 0.
    /// RFC 9846 7.2
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2.
    pub fn update(&mut self) -> Result<(), Error> {
        let next = self.secret.as_ref().ok_or(Misuse::WrongVersion)?.next();
        *self = Self::new(&Keys::Tls13(next), 0);
        Ok(())
    }
}

impl core::fmt::Display for NotHandedOver {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for NotHandedOver {}

impl From<NotHandedOver> for Error {
    fn from(kept: NotHandedOver) -> Self {
        kept.reason
    }
}
