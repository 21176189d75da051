//! The protocol messages of a connection: for the program's callbacks, and for the values in them
//! that programs ask for.

use core::ffi::{CStr, c_int};
use std::sync::{Arc, LazyLock};

use tercel::Handshake;
use tercel::message_tap::{Direction, MessageTap};
use tercel::wire::{ContentType, HandshakeType as T, ProtocolVersion};

use super::Ssl;
use super::state::{FINISHED, Side, UPDATE_REQUESTED};
use super::tap::{self, Message};
use crate::settings::Settings;
use crate::settings::callbacks::SslPointer;

/// The tap of all connections, which finds the connection by the step of the thread.
struct StepTap;

impl MessageTap for StepTap {
    fn message(&self, direction: Direction, content_type: ContentType, content: &[u8]) {
        tap::with_current(|ssl| ssl.see(direction, content_type, content));
    }
}

/// Sets the tap of a connection's handshake.
pub(crate) fn set_tap(handshake: &mut Handshake) {
    static TAP: LazyLock<Arc<StepTap>> = LazyLock::new(|| Arc::new(StepTap));
    handshake.set_message_tap(Arc::clone(&TAP) as Arc<dyn MessageTap>);
}

/// The kind of messages that were received since the beginning of a read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    #[default]
    Nothing,
    Alert,
    /// A message that OpenSSL's handshake handles alone: a ticket, or a key update.
    Exchange,
}

/// A state of a handshake: after this message was sent or received by a side.
type State = (Side, Direction, T, c_int, &'static CStr);

/// The states with OpenSSL's numbers (`ssl.h`) and texts.
#[rustfmt::skip]
static STATES: &[State] = {
    use Direction::{Received as R, Sent as S};
    use Side::{Client, Server};
    &[
        (Client, S, T::CLIENT_HELLO, 12, c"SSLv3/TLS write client hello"),
        (Client, R, T::SERVER_HELLO, 3, c"SSLv3/TLS read server hello"),
        (Client, R, T::ENCRYPTED_EXTENSIONS, 38, c"TLSv1.3 read encrypted extensions"),
        (Client, R, T::CERTIFICATE_REQUEST, 7, c"SSLv3/TLS read server certificate request"),
        (Client, R, T::CERTIFICATE, 4, c"SSLv3/TLS read server certificate"),
        (Client, R, T::COMPRESSED_CERTIFICATE, 4, c"SSLv3/TLS read server certificate"),
        (Client, R, T::CERTIFICATE_STATUS, 5, c"SSLv3/TLS read certificate status"),
        (Client, R, T::CERTIFICATE_VERIFY, 39, c"TLSv1.3 read server certificate verify"),
        (Client, R, T::SERVER_KEY_EXCHANGE, 6, c"SSLv3/TLS read server key exchange"),
        (Client, R, T::SERVER_HELLO_DONE, 8, c"SSLv3/TLS read server done"),
        (Client, R, T::NEW_SESSION_TICKET, 9, c"SSLv3/TLS read server session ticket"),
        (Client, R, T::FINISHED, 11, c"SSLv3/TLS read finished"),
        (Client, S, T::END_OF_EARLY_DATA, 48, c"TLSv1.3 write end of early data"),
        (Client, S, T::CERTIFICATE, 13, c"SSLv3/TLS write client certificate"),
        (Client, S, T::COMPRESSED_CERTIFICATE, 13, c"SSLv3/TLS write client certificate"),
        (Client, S, T::CLIENT_KEY_EXCHANGE, 14, c"SSLv3/TLS write client key exchange"),
        (Client, S, T::CERTIFICATE_VERIFY, 15, c"SSLv3/TLS write certificate verify"),
        (Client, S, T::FINISHED, 18, c"SSLv3/TLS write finished"),
        (Client, S, T::KEY_UPDATE, 43, c"TLSv1.3 write client key update"),
        (Client, R, T::KEY_UPDATE, 45, c"TLSv1.3 read server key update"),
        (Server, R, T::CLIENT_HELLO, 20, c"SSLv3/TLS read client hello"),
        (Server, S, T::SERVER_HELLO, 22, c"SSLv3/TLS write server hello"),
        (Server, S, T::ENCRYPTED_EXTENSIONS, 37, c"TLSv1.3 write encrypted extensions"),
        (Server, S, T::CERTIFICATE_REQUEST, 25, c"SSLv3/TLS write certificate request"),
        (Server, S, T::CERTIFICATE, 23, c"SSLv3/TLS write certificate"),
        (Server, S, T::COMPRESSED_CERTIFICATE, 23, c"SSLv3/TLS write certificate"),
        (Server, S, T::CERTIFICATE_STATUS, 34, c"SSLv3/TLS write certificate status"),
        (Server, S, T::CERTIFICATE_VERIFY, 40, c"TLSv1.3 write server certificate verify"),
        (Server, S, T::SERVER_KEY_EXCHANGE, 24, c"SSLv3/TLS write key exchange"),
        (Server, S, T::SERVER_HELLO_DONE, 26, c"SSLv3/TLS write server done"),
        (Server, S, T::FINISHED, SERVER_FINISHED.0, SERVER_FINISHED.1),
        (Server, R, T::END_OF_EARLY_DATA, 49, c"TLSv1.3 read end of early data"),
        (Server, R, T::CERTIFICATE, 27, c"SSLv3/TLS read client certificate"),
        (Server, R, T::COMPRESSED_CERTIFICATE, 27, c"SSLv3/TLS read client certificate"),
        (Server, R, T::CLIENT_KEY_EXCHANGE, 28, c"SSLv3/TLS read client key exchange"),
        (Server, R, T::CERTIFICATE_VERIFY, 29, c"SSLv3/TLS read certificate verify"),
        (Server, R, T::FINISHED, 32, c"SSLv3/TLS read finished"),
        (Server, S, T::NEW_SESSION_TICKET, 33, c"SSLv3/TLS write session ticket"),
        (Server, S, T::KEY_UPDATE, 42, c"TLSv1.3 write server key update"),
        (Server, R, T::KEY_UPDATE, 44, c"TLSv1.3 read client key update"),
    ]
};

/// The states after a change_cipher_spec.
#[rustfmt::skip]
static AFTER_CHANGE: &[(Side, Direction, c_int, &CStr)] = {
    use Direction::{Received as R, Sent as S};
    use Side::{Client, Server};
    &[
        (Client, R, 10, c"SSLv3/TLS read change cipher spec"),
        (Client, S, CLIENT_CHANGE.0, CLIENT_CHANGE.1),
        (Server, R, 31, c"SSLv3/TLS read change cipher spec"),
        (Server, S, SERVER_CHANGE.0, SERVER_CHANGE.1),
    ]
};

impl Ssl {
    /// Whether the program wants to see messages, or the states after them.
    pub(crate) fn sees_messages(&self) -> bool {
        has_message_callback(&self.settings())
    }

    /// Sees a message inside of a step.
    fn see(&self, direction: Direction, content_type: ContentType, content: &[u8]) {
        if direction == Direction::Received {
            self.take_notice(content_type, content);
        }
        if content_type == ContentType::HANDSHAKE {
            if let Some(values) = &mut *self.values.borrow_mut() {
                values.see(direction, content_type, content);
            }
            let kind = content.first().map(|kind| T(*kind));
            let is_certificate = matches!(kind, Some(T::CERTIFICATE | T::COMPRESSED_CERTIFICATE));
            if is_certificate && direction == Direction::Sent {
                self.resumption.is_full.set(true);
                // A session that was found is not resumed, and its result is not that of the new
                // one. A client's certificate comes later.
                if self.side.get() == Some(Side::Server) {
                    self.found_result.set(None);
                }
            }
        }
        let settings = self.known_settings();
        if has_message_callback(&settings) {
            let version = self.version_of_messages(&settings);
            let content = content.to_vec();
            self.add_message(Message { direction, content_type, content, version });
        }
    }

    /// Remembers what a read has received besides data.
    fn take_notice(&self, content_type: ContentType, content: &[u8]) {
        let is_server = self.side.get() == Some(Side::Server);
        let kind = content.first().map(|kind| T(*kind));
        // The request follows the header of the message. RFC 9846 4.7.3
        if content_type == ContentType::HANDSHAKE && kind == Some(T::KEY_UPDATE) {
            let request = content.get(4).copied().map(c_int::from);
            let is_requested = request == Some(UPDATE_REQUESTED);
            self.owes_update.set(self.owes_update.get() || is_requested);
        }
        match (content_type, kind) {
            (ContentType::ALERT, _) => self.seen.set(Seen::Alert),
            (ContentType::HANDSHAKE, Some(T::NEW_SESSION_TICKET | T::KEY_UPDATE)) => {
                self.seen.set(Seen::Exchange);
            }
            (
                ContentType::HANDSHAKE,
                Some(kind @ (T::CERTIFICATE | T::COMPRESSED_CERTIFICATE | T::CERTIFICATE_VERIFY)),
            ) if is_server => self.answer.set(Some(kind)),
            (ContentType::HANDSHAKE, Some(T::FINISHED)) => self.answer.set(None),
            _ => {}
        }
    }

    /// Whether a server has received the beginning of a client's answer to a request after the
    /// handshake. As with OpenSSL, the connection is in a handshake until the Finished.
    pub(crate) fn receives_answer(&self) -> bool {
        self.answer.get().is_some() && self.is_connected()
    }

    /// Whether a client has received a request after the handshake, and not answered it.
    pub(crate) fn is_answering(&self) -> bool {
        self.answers.get() > 0 || !self.requests.borrow().is_empty()
    }

    /// The state of a connection that has not failed, after its handshake.
    pub(crate) fn state_of_connected(&self) -> MessageState {
        let state = match self.answer.get() {
            Some(kind) => after(Side::Server, Direction::Received, kind),
            None if self.is_answering() => {
                after(Side::Client, Direction::Received, T::CERTIFICATE_REQUEST)
            }
            None => None,
        };
        state.unwrap_or(FINISHED)
    }

    /// Whether the peer's hello was received.
    pub(crate) fn has_received_hello(&self) -> bool {
        let values = self.values.borrow();
        values.as_ref().is_some_and(|values| match self.side.get() {
            Some(Side::Server) => values.client_random().is_some(),
            _ => values.server_random().is_some(),
        })
    }

    /// The negotiated version, or before that the one of [`Self::first_version`].
    pub(super) fn version_of_messages(&self, settings: &Settings) -> c_int {
        let negotiated = self.values.borrow().as_ref().and_then(|values| values.version());
        let first = || self.first_version_in(true, settings);
        negotiated.map_or_else(first, |ProtocolVersion(number)| number.into())
    }

    /// Passes messages to the program, and reports the changes of the state.
    pub(crate) fn deliver_messages(&self, messages: Vec<Message>) {
        for message in messages {
            self.change_state(&message);
            self.call_message(&message);
        }
    }

    /// Changes the state for a message. As with OpenSSL, the callback sees the state before each
    /// change, and once more where this side begins to wait for the peer.
    fn change_state(&self, message: &Message) {
        let Some(state) = self.state_after(message) else { return };
        if self.is_connected() {
            return self.report_progress();
        }
        let is_sent = message.direction == Direction::Sent;
        let is_tls13 = message.version == crate::method::TLS1_3;
        let is_client = self.side.get() == Some(Side::Client);
        if message.content_type == ContentType::CHANGE_CIPHER_SPEC && is_client && is_tls13 {
            // OpenSSL sends it before its next message.
            self.changes.set(true);
            return;
        }
        if !is_sent {
            self.report_waiting();
        }
        if is_sent && self.changes.take() {
            self.enter(CLIENT_CHANGE);
        }
        self.enter(state);
        // Early data follows the server's flight, and a HelloRetryRequest.
        let is_flight = state == SERVER_FINISHED || state == SERVER_CHANGE && self.has_sent_retry();
        if is_tls13 && is_flight {
            self.enter(EARLY_DATA);
        }
        self.sends.set(is_sent);
    }

    /// Enters a state of the handshake.
    fn enter(&self, state: MessageState) {
        self.report_progress();
        self.message_state.set(Some(state));
    }

    /// Reports that this side waits for the peer, if it has sent a message since it last did.
    pub(super) fn report_waiting(&self) {
        if self.sends.take() {
            self.report_progress();
        }
    }

    /// Passes an alert to the program that was sent without the handshake.
    pub(crate) fn deliver_alert(&self, content: [u8; 2]) {
        let version = self.version_of_messages(&self.settings());
        let direction = Direction::Sent;
        let content = content.to_vec();
        self.call_message(&Message {
            direction,
            content_type: ContentType::ALERT,
            content,
            version,
        });
    }

    fn call_message(&self, message: &Message) {
        let callback = self.settings().callbacks.message;
        let Some(function) = callback.function else { return };
        let sent = c_int::from(message.direction == Direction::Sent);
        let (start, length) = (message.content.as_ptr().cast(), message.content.len());
        let (content_type, ssl) = (message.content_type.0.into(), self.address() as SslPointer);
        // SAFETY: the program set this function for these arguments. No cell is borrowed.
        self.outside(|| unsafe {
            let argument = callback.argument;
            function(sent, message.version, content_type, start, length, ssl, argument);
        });
    }

    /// The state in which OpenSSL calls the function for new sessions: in TLS 1.3 that of the
    /// ticket, in TLS 1.2 that after the handshake. It is one of a handshake (`SSL_in_init`).
    pub(super) fn state_with_new_session(&self) -> MessageState {
        let ticket = match self.side.get() {
            Some(Side::Server) => after(Side::Server, Direction::Sent, T::NEW_SESSION_TICKET),
            _ => after(Side::Client, Direction::Received, T::NEW_SESSION_TICKET),
        };
        ticket.filter(|_| self.is_tls13()).unwrap_or(FINISHED)
    }

    fn state_after(&self, message: &Message) -> Option<MessageState> {
        let side = self.side.get()?;
        let direction = message.direction;
        match message.content_type {
            ContentType::HANDSHAKE => after(side, direction, T(*message.content.first()?)),
            ContentType::CHANGE_CIPHER_SPEC => {
                let found =
                    AFTER_CHANGE.iter().find(|state| (state.0, state.1) == (side, direction));
                found.map(|state| (state.2, state.3))
            }
            _ => None,
        }
    }
}

/// Whether a callback sees messages, or the states after them.
fn has_message_callback(settings: &Settings) -> bool {
    let callbacks = &settings.callbacks;
    callbacks.message.function.is_some() || callbacks.own_info.or(callbacks.info).is_some()
}

/// The state after a message was sent or received.
fn after(side: Side, direction: Direction, kind: T) -> Option<MessageState> {
    let fits = |state: &&State| (state.0, state.1, state.2) == (side, direction, kind);
    STATES.iter().find(fits).map(|state| (state.3, state.4))
}

/// The number and the text of a state.
pub(crate) type MessageState = (c_int, &'static CStr);

const CLIENT_CHANGE: MessageState = (16, c"SSLv3/TLS write change cipher spec");
const SERVER_CHANGE: MessageState = (35, c"SSLv3/TLS write change cipher spec");
const SERVER_FINISHED: MessageState = (36, c"SSLv3/TLS write finished");

/// The state of a server of TLS 1.3 that may receive early data.
const EARLY_DATA: MessageState = (46, c"TLSv1.3 early data");

/// The state before the first message.
pub(crate) const BEFORE: MessageState = (0, c"before SSL initialization");

#[cfg(test)]
mod tests {
    use super::super::state::short_text;
    use super::*;

    #[test]
    fn each_state_has_a_short_text() {
        let after_change = AFTER_CHANGE.iter().map(|state| state.2);
        for number in STATES.iter().map(|state| state.3).chain(after_change) {
            assert_ne!(short_text(number), c"UNKWN ", "{number}");
        }
    }

    #[test]
    fn each_state_is_listed_once() {
        for (index, state) in STATES.iter().enumerate() {
            let same = |other: &State| (other.0, other.1, other.2) == (state.0, state.1, state.2);
            assert!(!STATES[..index].iter().any(same), "{:?}", state.4);
        }
    }
}
