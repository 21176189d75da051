//! Export of a connection's keys to another record layer, such as the kernel's.

use tercel_crypto::AeadAlgorithm;
use tercel_wire::ProtocolVersion;

use crate::connection::buffer::ReceiveBuffer;
use crate::connection::export::Exporter;
use crate::connection::info::ConnectionInfo;
use crate::connection::{Connection, receiver};
use crate::error::{Error, InternalError, Misuse};
use crate::fips::{FipsReason, FipsStatus};
use crate::keys::direction::Keys;
use crate::keys::tls13::TrafficSecret;
use crate::keys::write_key::WriteKey;

/// The traffic keys of a connection for another record layer, and the other parts of the
/// connection.
///
/// The keys allow reading and forging all records of the connection. They are wiped when this value
/// is dropped.
///
/// ```
/// use tercel::handoff::{HandoffError, TrafficKeys};
/// use tercel::{Connection, ReceiveBuffer};
///
/// fn to_the_kernel(connection: Connection, received: &ReceiveBuffer) -> Result<(), HandoffError> {
///     let TrafficKeys { version, send, receive, .. } = connection.export_traffic_keys(received)?;
///     println!("{version}, {:?}", send.algorithm());
///     for key in [send, receive] {
///         let _ = (key.key(), key.iv(), key.sequence()); // setsockopt(TLS_TX), then TLS_RX
///     }
///     Ok(())
/// }
/// ```
#[non_exhaustive]
pub struct TrafficKeys {
    /// The protocol version.
    pub version: ProtocolVersion,
    /// The key for sending.
    pub send: TrafficKey,
    /// The key for receiving.
    pub receive: TrafficKey,
    /// The maximum number of plaintext bytes that the peer accepts in one record, at most 16384.
    /// RFC 8449
    pub max_fragment: usize,
    /// The negotiated parameters. [`ConnectionInfo::fips`] is no longer approved, because another
    /// record layer uses the keys.
    pub info: ConnectionInfo,
    /// The exporter of keying material. RFC 9846 7.5, RFC 5705
    pub exporter: Exporter,
    /// The early exporter, if early data was accepted. RFC 9846 7.5
    pub early_exporter: Option<Box<Exporter>>,
}

/// The traffic key of one direction, with its sequence number.
pub struct TrafficKey {
    write_key: WriteKey,
    nonce: NonceForm,
    sequence: u64,
    /// TLS 1.3: the traffic secret from which the next key is derived.
    secret: Option<TrafficSecret>,
}

/// The construction of record nonces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonceForm {
    /// The nonce is the IV of 12 bytes XOR the sequence number. RFC 9846 5.3, RFC 7905 2
    IvXorSequence,
    /// The nonce is the IV of four bytes, then eight bytes that each record contains before its
    /// ciphertext. In sent records these eight bytes must be the sequence number: any other choice
    /// could repeat a nonce. RFC 5288 3
    SaltAndExplicit,
}

/// The error of a failed export, with the unchanged connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct HandoffError {
    /// The connection.
    pub connection: Box<Connection>,
    /// The reason for the failure.
    pub reason: Error,
}

impl Connection {
    /// Exports the keys of both directions for another record layer. The connection is consumed,
    /// since a sequence number must not be used twice.
    ///
    /// The application has to handle records that are not application data: in TLS 1.3 a peer may
    /// send a `KeyUpdate` or a ticket at any time. Keep the [`TrafficKeys`] for a `KeyUpdate`
    /// (RFC 9846 4.7.3):
    ///
    /// - Records after a received `KeyUpdate` use the next key for receiving: call
    ///   [`TrafficKey::update`] of [`receive`](TrafficKeys::receive).
    /// - If the last byte of the received `KeyUpdate` is 1, send a `KeyUpdate` whose last byte is
    ///   0 under the current key. All records after it use the next key for sending: call
    ///   [`TrafficKey::update`] of [`send`](TrafficKeys::send).
    ///
    /// If the key of the other record layer cannot be replaced, as in older versions of Linux, that
    /// layer cannot decrypt the records after a `KeyUpdate`. A peer cannot be prevented from
    /// sending a `KeyUpdate`.
    ///
    /// `received` is the buffer from which this connection has read.
    ///
    /// # Errors
    /// Returns the connection with the reason: [`Misuse::UnreadInput`] if `received` is not empty;
    /// [`Misuse::PartialMessage`] if a handshake message is incomplete;
    /// [`Misuse::CertificatePending`] and [`Misuse::BoundToFipsModule`] as for [`Self::save`];
    /// [`Misuse::ControlPending`] if [`crate::Sender::control`] has something to send;
    /// [`Misuse::KeyUpdatePending`] if a key update requested from the peer is outstanding;
    /// [`InternalError::Closed`] after close_notify was sent; [`InternalError::Failed`] after an
    /// error.
    pub fn export_traffic_keys(
        self,
        received: &ReceiveBuffer,
    ) -> Result<TrafficKeys, HandoffError> {
        match self.export_keys(received) {
            Err(reason) => Err(HandoffError { connection: Box::new(self), reason }),
            Ok((send, receive)) => Ok(TrafficKeys {
                version: self.info.version,
                send,
                receive,
                max_fragment: self.sender.max_fragment(),
                info: ConnectionInfo {
                    fips: FipsStatus::of(Some(FipsReason::Exported)),
                    ..self.info
                },
                exporter: self.exporter,
                early_exporter: self.early_exporter,
            }),
        }
    }

    fn export_keys(&self, received: &ReceiveBuffer) -> Result<(TrafficKey, TrafficKey), Error> {
        let (sender, receiver) = (&self.sender, &self.receiver);
        sender.require_open()?;
        if let receiver::State::Failed(_) = receiver.state {
            return Err(InternalError::Failed.into());
        }
        if !received.is_empty() {
            return Err(Misuse::UnreadInput.into());
        }
        if !receiver.post_handshake.joiner.is_empty() {
            return Err(Misuse::PartialMessage.into());
        }
        receiver.post_handshake.check_idle()?;
        if sender.is_pending() {
            return Err(Misuse::ControlPending.into());
        }
        if sender.link().signals().update_awaited() {
            return Err(Misuse::KeyUpdatePending.into());
        }
        sender.check_movable()?;
        let key = |keys: Option<&Keys>, sequence| {
            keys.map(|keys| TrafficKey::new(keys, sequence)).ok_or(InternalError::Failed)
        };
        Ok((
            key(sender.keys().as_ref(), sender.sequence())?,
            key(receiver.post_handshake.keys().as_ref(), receiver.sequence())?,
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

    /// Returns the AEAD algorithm.
    #[must_use]
    pub fn algorithm(&self) -> AeadAlgorithm {
        self.write_key.algorithm()
    }

    /// Returns the key. The algorithm determines its length.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.write_key.key()
    }

    /// Returns the IV: 12 bytes, or four with [`NonceForm::SaltAndExplicit`].
    #[must_use]
    pub fn iv(&self) -> &[u8] {
        self.write_key.iv()
    }

    /// Returns the construction of nonces.
    #[must_use]
    pub fn nonce_form(&self) -> NonceForm {
        self.nonce
    }

    /// Returns the sequence number of the next record.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Replaces the key with the one that follows a `KeyUpdate` in this direction, with sequence
    /// number 0. RFC 9846 7.2
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2.
    pub fn update(&mut self) -> Result<(), Error> {
        let next = self.secret.as_ref().ok_or(Misuse::WrongVersion)?.next();
        *self = Self::new(&Keys::Tls13(next), 0);
        Ok(())
    }
}

impl core::fmt::Display for HandoffError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for HandoffError {}

impl From<HandoffError> for Error {
    fn from(error: HandoffError) -> Self {
        error.reason
    }
}
