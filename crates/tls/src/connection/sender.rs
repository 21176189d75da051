//! The writing half of a connection.
//!
//! Must not know: sockets, and the receiver but for one atomic word. Next: [`super::receiver`].

use tercel_wire::{
    AlertDescription, AlertLevel, ContentType, HandshakeMessage, KeyUpdate, KeyUpdateRequest,
    ProtocolVersion,
};

use super::link::{Link, WriteKeys};
use crate::error::{Error, Local, Misuse};
use crate::keys::direction::{Keys, NewKeys};
use crate::keys::tls13::TrafficSecret;
use crate::record::limits;
use crate::record::sealer::Sealer;
use crate::sync::MutexGuard;

/// Seals application data. Independent of the [`crate::Receiver`]: the two can live in two tasks.
pub struct Sender {
    pub(super) sealer: Sealer,
    pub(super) version: ProtocolVersion,
    /// Where the key comes from, again after [`Self::park`]; in TLS 1.3 the next one too.
    pub(super) keys: WriteKeys,
    pub(super) updates: u64,
    pub(super) state: State,
    /// Client, early data: bytes that may still be sent. RFC 9846 4.3.10
    pub(super) allowance: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// close_notify or a fatal alert was sent.
    Closed,
}

/// What [`Sender::seal`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Bytes of plaintext that are in records now.
    pub consumed: usize,
    /// Bytes of output to send.
    pub written: usize,
}

/// Room that pending messages may need ahead of data: a key update or an alert, and what protects it.
const CONTROL_ROOM: usize = limits::HEADER + 64;

impl Sender {
    pub(crate) fn new(sealer: Sealer, version: ProtocolVersion, keys: WriteKeys) -> Self {
        Self { sealer, version, keys, updates: 0, state: State::Open, allowance: None }
    }

    /// A handshake sends through the same value that will be the connection's.
    pub(crate) fn sealer(&mut self) -> Result<&mut Sealer, Error> {
        self.wake()?;
        Ok(&mut self.sealer)
    }

    pub(crate) fn set_version(&mut self, version: ProtocolVersion) {
        self.version = version;
    }

    /// Seals under these keys from here on.
    pub(crate) fn install(&mut self, keys: NewKeys) -> Result<(), Error> {
        self.sealer.replace(|place| keys.replace(place))?;
        self.keys.put(keys.into_keys());
        self.allowance = None;
        Ok(())
    }

    /// What is sealed from here on is early data, up to so many bytes.
    pub(crate) fn limit_to(&mut self, bytes: u32) {
        self.allowance = Some(bytes);
    }

    /// Early data is over before it began: back to the clear.
    pub(crate) fn abandon_key(&mut self) {
        self.sealer.uninstall();
        self.keys.clear();
        self.allowance = None;
    }

    pub(crate) fn link(&self) -> &Link {
        self.keys.link()
    }

    /// Seals from the front of `plaintext` into `out`, as many records as fit.
    ///
    /// Pending protocol messages (the answer to a key update, an alert) go first. If `consumed` is less
    /// than the plaintext's length, send what was written and call again.
    ///
    /// # Errors
    /// [`Misuse::OutputTooSmall`] if not even one byte fits, or not all that is pending, which then
    /// stays so; [`Local::Closed`] after [`Self::close`];
    /// [`Local::Failed`] after a failure of the receiver, whose alert was written by an earlier call.
    pub fn seal(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<Sealed, Error> {
        if !self.is_free() {
            return self.seal_with_care(plaintext, out);
        }
        let (consumed, written) =
            self.sealer.seal(ContentType::APPLICATION_DATA, plaintext, out)?;
        if consumed == 0 && !plaintext.is_empty() {
            return Err(Misuse::OutputTooSmall.into());
        }
        Ok(Sealed { consumed, written })
    }

    /// Whether data can be sealed without a thought of anything else: small records are worth the question.
    fn is_free(&self) -> bool {
        self.state == State::Open
            && self.allowance.is_none()
            && self.link().is_quiet()
            && self.sealer.is_ready()
    }

    /// [`Self::seal`] where something else may have to come first, or a limit be kept.
    #[inline(never)]
    fn seal_with_care(&mut self, plaintext: &[u8], out: &mut [u8]) -> Result<Sealed, Error> {
        self.require_open()?;
        let mut before = 0;
        if self.is_pending() {
            // Nothing that was changed for a record may be lost with it.
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
        let plaintext = self.allowed(plaintext)?;
        self.wake()?;
        let (consumed, written) =
            self.sealer.seal(ContentType::APPLICATION_DATA, plaintext, room)?;
        self.spend(consumed);
        if consumed == 0 && before == 0 && !plaintext.is_empty() {
            return Err(Misuse::OutputTooSmall.into());
        }
        Ok(Sealed { consumed, written: before.saturating_add(written) })
    }

    /// Seals all of `plaintext` onto the end of `out`.
    ///
    /// # Errors
    /// As [`Self::seal`].
    pub fn seal_to(&mut self, plaintext: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        self.control(out)?;
        self.require_open()?;
        if self.early_data_left().is_some_and(|left| left < plaintext.len()) {
            return Err(Local::EarlyDataLimit.into());
        }
        self.wake()?;
        self.sealer.seal_to(ContentType::APPLICATION_DATA, plaintext, out)?;
        self.spend(plaintext.len());
        Ok(())
    }

    /// Client, early data: how many more bytes may be sent; `None` if there is no such limit.
    #[must_use]
    pub fn early_data_left(&self) -> Option<usize> {
        self.allowance.map(|left| usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// The output length that surely takes `length` bytes of plaintext in one call of [`Self::seal`].
    #[must_use]
    pub fn sealed_length(&self, length: usize) -> usize {
        let fragment = usize::from(self.sealer.max_fragment()).max(1);
        let full = length.checked_div(fragment).unwrap_or_default();
        let rest = length.checked_rem(fragment).unwrap_or_default();
        full.saturating_mul(self.sealer.padded_length(fragment))
            .saturating_add(self.sealer.padded_length(rest))
            .saturating_add(CONTROL_ROOM)
    }

    /// The most plaintext bytes one record carries.
    #[must_use]
    pub fn max_fragment(&self) -> usize {
        usize::from(self.sealer.max_fragment())
    }

    /// Appends what is pending without data: the answer to a key update, an alert after a failure of
    /// the receiver, and in TLS 1.2 the answer to close_notify. Cheap if nothing is.
    ///
    /// # Errors
    /// If a cryptographic operation fails.
    pub fn control(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.state == State::Open && self.is_pending() {
            self.write_pending(out)?;
        }
        Ok(())
    }

    /// Appends close_notify. Nothing can be sealed afterwards; a second call does nothing. RFC 9846 6.1
    ///
    /// # Errors
    /// If a cryptographic operation fails.
    pub fn close(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.control(out)?;
        if self.state == State::Open {
            self.last_alert(AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY, out)?;
        }
        Ok(())
    }

    /// Appends a fatal alert of the application's choice, and closes.
    ///
    /// Three alerts are no errors, and are sent as the warnings that they are: `user_canceled` and
    /// `no_renegotiation` ahead of a `close_notify`, and that alone. RFC 5246 7.2, RFC 9846 6.1
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
                self.warn(alert, out)?;
                self.close(out)
            }
            _ => {
                self.link().forget_session();
                self.last_alert(AlertLevel::FATAL, alert, out)
            }
        }
    }

    /// Appends a `KeyUpdate` and changes to the next key; `request` asks the peer to do the same, unless
    /// it was asked before and has not done so yet. RFC 9846 4.7.3
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2.
    pub fn update_key(&mut self, request: bool, out: &mut Vec<u8>) -> Result<(), Error> {
        self.require_open()?;
        if !request || self.link().signals().update_awaited() {
            return self.write_update(KeyUpdateRequest::UPDATE_NOT_REQUESTED, out);
        }
        self.write_update(KeyUpdateRequest::UPDATE_REQUESTED, out)?;
        self.link().await_update();
        Ok(())
    }

    /// Records sealed under the current key.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sealer.sequence()
    }

    pub(crate) fn keys(&self) -> MutexGuard<'_, Option<Keys>> {
        self.keys.get()
    }

    /// Seals handshake messages made under the secret of the moment, of which no update of the key may
    /// part any from the others, if `link` is this connection's. Gives what `make` gives beside them.
    pub(crate) fn seal_messages<T>(
        &mut self,
        link: &Link,
        make: impl FnOnce(&TrafficSecret) -> Result<(Vec<u8>, T), Error>,
        out: &mut Vec<u8>,
    ) -> Result<T, Error> {
        if !self.link().is(link) {
            return Err(Misuse::InvalidArgument.into());
        }
        self.control(out)?;
        self.require_open()?;
        self.wake()?;
        let keys = self.keys.get();
        let secret = keys.as_ref().and_then(Keys::traffic_secret);
        let (messages, made) = make(secret.ok_or(Misuse::WrongVersion)?)?;
        self.sealer.seal_to(ContentType::HANDSHAKE, &messages, out)?;
        Ok(made)
    }

    pub(super) fn require_open(&self) -> Result<(), Error> {
        match self.state {
            State::Open => Ok(()),
            State::Closed if self.link().signals().failed().is_some() => Err(Local::Failed.into()),
            State::Closed => Err(Local::Closed.into()),
        }
    }

    /// The part of `plaintext` that early data has room for.
    fn allowed<'p>(&self, plaintext: &'p [u8]) -> Result<&'p [u8], Error> {
        match self.early_data_left() {
            Some(0) if !plaintext.is_empty() => Err(Local::EarlyDataLimit.into()),
            Some(left) => Ok(plaintext.get(..left).unwrap_or(plaintext)),
            None => Ok(plaintext),
        }
    }

    fn spend(&mut self, bytes: usize) {
        if let Some(left) = &mut self.allowance {
            *left = left.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    /// Whether there is something to say ahead of data.
    pub(super) fn is_pending(&self) -> bool {
        let signals = self.link().signals();
        let tls13 = self.version == ProtocolVersion::TLS1_3;
        let said = signals.failed().is_some()
            || signals.update_requested()
            || signals.renegotiation_to_refuse()
            || (signals.peer_closed() && !tls13);
        said || (self.sealer.key_nearly_spent() && tls13)
    }

    fn write_pending(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let signals = self.link().signals();
        if let Some(alert) = signals.failed() {
            self.state = State::Closed;
            if let Some(alert) = alert {
                self.last_alert(AlertLevel::FATAL, alert, out)?;
            }
            return Ok(());
        }
        let tls13 = self.version == ProtocolVersion::TLS1_3;
        if signals.peer_closed() && !tls13 {
            // In TLS 1.2 a close is answered at once, in TLS 1.3 it ends one direction only. RFC 5246 7.2.1
            return self.last_alert(AlertLevel::WARNING, AlertDescription::CLOSE_NOTIFY, out);
        }
        if signals.renegotiation_to_refuse() {
            // It is always a warning. RFC 5246 7.2.2
            self.link().renegotiation_refused();
            self.warn(AlertDescription::NO_RENEGOTIATION, out)?;
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
        // There is no KeyUpdate among early data. RFC 9846 4.7.3
        if self.allowance.is_some() {
            return Err(Local::KeyExhausted.into());
        }
        self.wake()?;
        let mut keys = self.keys.get();
        let Some(Keys::Tls13(secret)) = &mut *keys else {
            return Err(Misuse::WrongVersion.into());
        };
        if self.updates >= limits::MAX_KEY_UPDATES {
            return Err(Local::KeyExhausted.into());
        }
        let mut message = Vec::new();
        KeyUpdate { request_update: request }.encode(&mut message)?;
        self.sealer.seal_to(ContentType::HANDSHAKE, &message, out)?;
        *secret = secret.next();
        self.sealer.install(secret.protection()?);
        self.updates = self.updates.saturating_add(1);
        Ok(())
    }

    /// An alert that ends nothing.
    fn warn(&mut self, alert: AlertDescription, out: &mut Vec<u8>) -> Result<(), Error> {
        self.wake()?;
        self.sealer.seal_to(ContentType::ALERT, &[AlertLevel::WARNING.0, alert.0], out)
    }

    /// An alert behind which nothing is sent.
    fn last_alert(
        &mut self,
        level: AlertLevel,
        description: AlertDescription,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.wake()?;
        self.state = State::Closed;
        self.link().write_closed();
        self.sealer.seal_to(ContentType::ALERT, &[level.0, description.0], out)
    }
}

impl core::fmt::Debug for Sender {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sender").field("state", &self.state).finish_non_exhaustive()
    }
}
