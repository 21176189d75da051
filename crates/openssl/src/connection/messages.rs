//! The protocol messages of a connection: for the program's callbacks, and for the values in them
//! that programs ask for.

use core::ffi::{CStr, c_int};
use std::sync::{Arc, LazyLock};

use tercel::Handshake;
use tercel::message_tap::{Direction, MessageTap};
use tercel::wire::{ContentType, HandshakeType as T, ProtocolVersion};

use super::Ssl;
use super::state::{FINISHED, Side};
use super::tap::{self, Message};
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
        (Server, S, T::FINISHED, 36, c"SSLv3/TLS write finished"),
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
        (Client, S, 16, c"SSLv3/TLS write change cipher spec"),
        (Server, R, 31, c"SSLv3/TLS read change cipher spec"),
        (Server, S, 35, c"SSLv3/TLS write change cipher spec"),
    ]
};

impl Ssl {
    /// Whether the program wants to see messages, or the states after them.
    pub(crate) fn sees_messages(&self) -> bool {
        let settings = self.settings();
        let callbacks = &settings.callbacks;
        callbacks.message.function.is_some() || callbacks.own_info.or(callbacks.info).is_some()
    }

    /// Sees a message inside of a step.
    fn see(&self, direction: Direction, content_type: ContentType, content: &[u8]) {
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
        if self.sees_messages() {
            let version = self.version_of_messages();
            let content = content.to_vec();
            tap::add_message(Message { direction, content_type, content, version });
        }
    }

    /// Whether the peer's hello was received.
    pub(crate) fn has_received_hello(&self) -> bool {
        let values = self.values.borrow();
        values.as_ref().is_some_and(|values| match self.side.get() {
            Some(Side::Server) => values.client_random().is_some(),
            _ => values.server_random().is_some(),
        })
    }

    /// The negotiated version, or before that the highest that is enabled.
    fn version_of_messages(&self) -> c_int {
        let negotiated = self.values.borrow().as_ref().and_then(|values| values.version());
        let highest = || self.highest_version().unwrap_or(crate::method::TLS1_2);
        negotiated.map_or_else(highest, |ProtocolVersion(number)| number.into())
    }

    /// Passes messages to the program, and the states after them.
    pub(crate) fn deliver_messages(&self, messages: Vec<Message>) {
        for message in messages {
            let state = self.state_after(&message);
            if state.is_some() {
                self.message_state.set(state);
            }
            self.call_message(&message);
            if state.is_some() {
                self.report_progress();
            }
        }
    }

    /// Passes an alert to the program that was sent without the handshake.
    pub(crate) fn deliver_alert(&self, content: [u8; 2]) {
        let (direction, version) = (Direction::Sent, self.version_of_messages());
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
        let is_tls13 = self.negotiated_version() == Some(ProtocolVersion::TLS1_3);
        ticket.filter(|_| is_tls13).unwrap_or(FINISHED)
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

/// The state after a message was sent or received.
fn after(side: Side, direction: Direction, kind: T) -> Option<MessageState> {
    let fits = |state: &&State| (state.0, state.1, state.2) == (side, direction, kind);
    STATES.iter().find(fits).map(|state| (state.3, state.4))
}

/// The number and the text of a state.
pub(crate) type MessageState = (c_int, &'static CStr);

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
