//! [`Sender`]: the sending part of a connection.

use tercel_wire::{
    AlertDescription, AlertLevel, ContentType, HandshakeMessage, KeyUpdate, KeyUpdateRequest,
    ProtocolVersion,
};

use super::link::{Link, WriteKeys};
use crate::error::{Error, InternalError, Misuse};
use crate::keys::direction::{Keys, NewKeys};
use crate::keys::tls13::TrafficSecret;
use crate::record::limits;
use crate::record::sealer::Sealer;
use crate::sync::MutexGuard;

/// The sending part of a connection: encrypts application data. The sender and the
/// [`crate::Receiver`] can be used in different tasks.
///
/// ```
/// # fn run(mut sender: tercel::Sender) -> Result<(), tercel::Error> {
/// let mut records = Vec::new();
/// sender.seal_to(b"the last message", &mut records)?;
/// sender.close(&mut records)?; // appends close_notify; then the caller sends `records`
/// # Ok(()) }
/// ```
pub struct Sender {
    pub(super) sealer: Sealer,
    pub(crate) version: ProtocolVersion,
    /// The secrets from which the sealer's key is derived. They are needed after [`Self::park`]
    /// and, in TLS 1.3, for the next key.
    pub(super) keys: WriteKeys,
    pub(super) updates: u64,
    pub(super) state: State,
    /// Client: the remaining bytes of early data. `None` if the sender is not for early data.
    /// RFC 9846 4.3.10
    pub(crate) allowance: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// The sender has sent close_notify or a fatal alert.
    Closed,
}

/// The result of [`Sender::seal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The number of plaintext bytes that were encrypted.
    pub consumed: usize,
    /// The number of output bytes that have to be sent.
    pub written: usize,
}

/// The number of output bytes that pending messages can need: the record of a key update or an
/// alert.
const CONTROL_ROOM: usize = limits::HEADER + 64;

impl Sender {
    pub(crate) fn new(sealer: Sealer, version: ProtocolVersion, keys: WriteKeys) -> Self {
        Self { sealer, version, keys, updates: 0, state: State::Open, allowance: None }
    }

    /// Returns the sealer, which the handshake uses too.
    pub(crate) fn sealer(&mut self) -> Result<&mut Sealer, Error> {
        self.wake()?;
        Ok(&mut self.sealer)
    }

    /// Installs these keys, which protect all following records.
    pub(crate) fn install(&mut self, keys: NewKeys) -> Result<(), Error> {
        keys.replace(&mut self.sealer.protection)?;
        self.keys.put(keys.into_keys());
        self.allowance = None;
        Ok(())
    }

    /// Removes the early data key: subsequent records are plaintext.
    pub(crate) fn remove_key(&mut self) {
        self.sealer.protection = None;
        self.keys.clear();
        self.allowance = None;
    }

    pub(crate) fn link(&self) -> &Link {
        self.keys.link()
    }

    /// Encrypts the beginning of `plaintext` into as many records as fit in `out`.
    ///
    /// Pending protocol messages, such as a key update or an alert, are written before the data. If
    /// `consumed` is less than the length of `plaintext`, send the output and call this again with
    /// the rest of `plaintext`.
    ///
    /// # Errors
    /// [`Misuse::OutputTooSmall`] if no byte of data fits, or if not all pending messages
    /// fit. The messages then remain pending. [`InternalError::Closed`] after [`Self::close`].
    /// [`InternalError::Failed`] after an error of the receiver, whose alert was written by an
    /// earlier call.
    pub fn seal(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<Sealed, Error> {
        if !self.is_unrestricted() {
            return self.seal_with_checks(plaintext, out);
        }
        let (consumed, written) =
            self.sealer.seal(ContentType::APPLICATION_DATA, plaintext, out)?;
        if consumed == 0 && !plaintext.is_empty() {
            return Err(Misuse::OutputTooSmall.into());
        }
        Ok(Sealed { consumed, written })
    }

    /// Whether data can be sealed without further checks. This is a fast path for small records.
    fn is_unrestricted(&self) -> bool {
        self.state == State::Open
            && self.allowance.is_none()
            && self.link().is_quiet()
            && self.sealer.is_ready()
    }

    /// Does the same as [`Self::seal`] if messages are pending or early data is limited.
    #[inline(never)]
    fn seal_with_checks(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<Sealed, Error> {
        self.require_open()?;
        let mut before = 0;
        if self.is_pending() {
            // The length is checked first, since writing the messages changes keys and signals.
            if out.len() < CONTROL_ROOM {
                return Err(Misuse::OutputTooSmall.into());
            }
            let mut control = Vec::new();
            self.write_pending(&mut control)?;
            let room = out.get_mut(..control.len()).ok_or(Misuse::OutputTooSmall)?;
            room.copy_from_slice(&control);
            before = control.len();
            if self.state == State::Closed {
                if before == 0 {
                    self.require_open()?;
                }
                return Ok(Sealed { consumed: 0, written: before });
            }
        }
        let room = out.get_mut(before..).unwrap_or_default();
        let plaintext = self.within_limit(plaintext)?;
        self.wake()?;
        let (consumed, written) =
            self.sealer.seal(ContentType::APPLICATION_DATA, plaintext, room)?;
        self.count_early_data(consumed);
        if consumed == 0 && before == 0 && !plaintext.is_empty() {
            return Err(Misuse::OutputTooSmall.into());
        }
        Ok(Sealed { consumed, written: before.saturating_add(written) })
    }

    /// Encrypts all of `plaintext`, and appends the records to `out`.
    ///
    /// # Errors
    /// The errors of [`Self::seal`]; [`InternalError::EarlyDataLimit`] if `plaintext` is longer
    /// than [`Self::early_data_left`].
    pub fn seal_to(&mut self, plaintext: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.control(out)?;
        self.require_open()?;
        if self.early_data_left().is_some_and(|left| left < plaintext.len()) {
            return Err(InternalError::EarlyDataLimit.into());
        }
        self.wake()?;
        self.sealer.seal_to(ContentType::APPLICATION_DATA, plaintext, out)?;
        self.count_early_data(plaintext.len());
        Ok(())
    }

    /// Client: returns how many more bytes of early data may be sent. `None` if the sender is not
    /// for early data.
    #[must_use]
    pub fn early_data_left(&self) -> Option<usize> {
        self.allowance.map(|left| usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Returns an output length that is sufficient for [`Self::seal`] with `length` bytes of
    /// plaintext.
    #[must_use]
    pub fn sealed_length(&self, length: usize) -> usize {
        let fragment = usize::from(self.sealer.max_fragment()).max(1);
        let full = length.checked_div(fragment).unwrap_or_default();
        let rest = length.checked_rem(fragment).unwrap_or_default();
        full.saturating_mul(self.sealer.padded_length(fragment))
            .saturating_add(self.sealer.padded_length(rest))
            .saturating_add(CONTROL_ROOM)
    }

    /// Returns the maximum number of plaintext bytes in a record.
    #[must_use]
    pub fn max_fragment(&self) -> usize {
        usize::from(self.sealer.max_fragment())
    }

    /// Appends pending messages to `out`: a requested key update, the alert after an error of the
    /// receiver, the refusal of renegotiation, and in TLS 1.2 the answer to close_notify.
    ///
    /// # Errors
    /// If a cryptographic operation fails.
    pub fn control(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.state == State::Open && self.is_pending() {
            self.write_pending(out)?;
        }
        Ok(())
    }

    /// Appends close_notify to `out`. No data can be sent afterwards. Further calls have no effect.
    /// RFC 9846 6.1
    ///
    /// # Errors
    /// If a cryptographic operation fails.
    pub fn close(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.control(out)?;
        if self.state == State::Open {
            self.close_with_alert(AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY, out)?;
        }
        Ok(())
    }

    /// Appends an alert to `out`, and closes the connection.
    ///
    /// Three alerts are sent as warnings: `close_notify`, which is sent alone, and `user_canceled`
    /// and `no_renegotiation`, which a `close_notify` follows. All others are fatal. RFC 5246 7.2,
    /// RFC 9846 6.1
    ///
    /// # Errors
    /// If a cryptographic operation fails.
    pub fn abort(&mut self, alert: AlertDescription, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.state != State::Open {
            return Ok(());
        }
        match alert {
            AlertDescription::CLOSE_NOTIFY => self.close(out),
            AlertDescription::USER_CANCELED | AlertDescription::NO_RENEGOTIATION => {
                self.send_warning(alert, out)?;
                self.close(out)
            }
            _ => {
                self.link().invalidate_session();
                self.close_with_alert(AlertLevel::FATAL, alert, out)
            }
        }
    }

    /// Appends a `KeyUpdate` to `out` and changes to the next key. If `request` is true, the peer
    /// is requested to update its key too, unless an earlier request is outstanding. RFC 9846 4.7.3
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2. [`InternalError::KeyExhausted`] if no more updates are
    /// allowed.
    /// [`InternalError::Closed`] after [`Self::close`].
    pub fn update_key(&mut self, request: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        self.require_open()?;
        if !request || self.link().signals().update_awaited() {
            return self.write_update(KeyUpdateRequest::UPDATE_NOT_REQUESTED, out);
        }
        self.write_update(KeyUpdateRequest::UPDATE_REQUESTED, out)?;
        self.link().await_update();
        Ok(())
    }

    /// Returns the number of records sealed under the current key.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sealer.sequence()
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, Option<Keys>> {
        self.keys.get()
    }

    /// Calls `make` with the current traffic secret, and seals the handshake messages that it
    /// returns, without a key update in between. Returns the second value of `make`. `link` has to
    /// be the link of this connection.
    pub(crate) fn seal_messages<T>(
        &mut self,
        link: &Link,
        make: impl FnOnce(&TrafficSecret) -> Result<(Vec<u8>, T), Error>,
        out: &mut Vec<u8>,
    ) -> Result<T, Error> {
        if !self.link().is_same(link) {
            return Err(Misuse::InvalidArgument.into());
        }
        self.control(out)?;
        self.require_open()?;
        self.wake()?;
        let keys = self.keys.get();
        let secret = keys.as_ref().and_then(Keys::traffic_secret);
        let (messages, made) = make(secret.ok_or(Misuse::WrongVersion)?)?;
        self.sealer.seal_to(ContentType::HANDSHAKE, &messages, out)?;
        self.link().tap().sent_messages(&messages);
        Ok(made)
    }

    pub(super) fn require_open(&self) -> Result<(), Error> {
        match self.state {
            State::Open => Ok(()),
            State::Closed if self.link().signals().failed().is_some() => {
                Err(InternalError::Failed.into())
            }
            State::Closed => Err(InternalError::Closed.into()),
        }
    }

    /// Returns the part of `plaintext` that is within the limit of early data.
    fn within_limit<'p>(&self, plaintext: &'p [u8]) -> Result<&'p [u8], Error> {
        match self.early_data_left() {
            Some(0) if !plaintext.is_empty() => Err(InternalError::EarlyDataLimit.into()),
            Some(left) => Ok(plaintext.get(..left).unwrap_or(plaintext)),
            None => Ok(plaintext),
        }
    }

    fn count_early_data(&mut self, bytes: usize) {
        if let Some(left) = &mut self.allowance {
            *left = left.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    /// Whether a message has to be sent before data.
    pub(super) fn is_pending(&self) -> bool {
        let signals = self.link().signals();
        let tls13 = self.version == ProtocolVersion::TLS1_3;
        let signaled = signals.failed().is_some()
            || signals.update_requested()
            || signals.renegotiation_to_refuse()
            || (signals.peer_closed() && !tls13);
        signaled || (self.sealer.key_nearly_spent() && tls13)
    }

    fn write_pending(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let signals = self.link().signals();
        if let Some(alert) = signals.failed() {
            self.state = State::Closed;
            if let Some(alert) = alert {
                self.close_with_alert(AlertLevel::FATAL, alert, out)?;
            }
            return Ok(());
        }
        let tls13 = self.version == ProtocolVersion::TLS1_3;
        if signals.peer_closed() && !tls13 {
            // In TLS 1.2, close_notify is answered immediately. In TLS 1.3, it closes one direction
            // only. RFC 5246 7.2.1
            return self.close_with_alert(AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY, out);
        }
        if signals.renegotiation_to_refuse() {
            // no_renegotiation is always a warning. RFC 5246 7.2.2
            self.link().renegotiation_refused();
            self.send_warning(AlertDescription::NO_RENEGOTIATION, out)?;
        }
        if signals.update_requested() {
            self.link().update_done();
            self.write_update(KeyUpdateRequest::UPDATE_NOT_REQUESTED, out)?;
        } else if self.sealer.key_nearly_spent() && tls13 {
            // A key is replaced before its limit is reached. RFC 9846 5.5
            self.write_update(KeyUpdateRequest::UPDATE_NOT_REQUESTED, out)?;
        }
        Ok(())
    }

    fn write_update(&mut self, request: KeyUpdateRequest, out: &mut Vec<u8>) -> Result<(), Error> {
        // No KeyUpdate is allowed before the handshake is complete. RFC 9846 4.7.3
        if self.allowance.is_some() {
            return Err(InternalError::KeyExhausted.into());
        }
        self.wake()?;
        let mut keys = self.keys.get();
        let Some(Keys::Tls13(secret)) = &mut *keys else {
            return Err(Misuse::WrongVersion.into());
        };
        if self.updates >= limits::MAX_KEY_UPDATES {
            return Err(InternalError::KeyExhausted.into());
        }
        let mut message = Vec::new();
        KeyUpdate { request_update: request }.encode(&mut message)?;
        self.sealer.seal_to(ContentType::HANDSHAKE, &message, out)?;
        self.keys.link().tap().sent_messages(&message);
        *secret = secret.next();
        self.sealer.protection = Some(secret.protection()?);
        self.updates = self.updates.saturating_add(1);
        Ok(())
    }

    /// Sends a warning alert.
    fn send_warning(&mut self, alert: AlertDescription, out: &mut Vec<u8>) -> Result<(), Error> {
        self.wake()?;
        self.link().tap().sent_alert(AlertLevel::WARNING, alert);
        self.sealer.seal_to(ContentType::ALERT, &[AlertLevel::WARNING.0, alert.0], out)
    }

    /// Sends the last alert and closes the sender.
    fn close_with_alert(
        &mut self,
        level: AlertLevel,
        description: AlertDescription,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.wake()?;
        self.state = State::Closed;
        self.link().tap().sent_alert(level, description);
        self.sealer.seal_to(ContentType::ALERT, &[level.0, description.0], out)
    }
}

debug_fields!(Sender: state);
