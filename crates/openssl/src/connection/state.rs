//! The state of a connection.

use core::cell::RefCell;
use core::ffi::{CStr, c_int};

use tercel::error::Error;
use tercel::{Connection, Handshake};

use super::Ssl;
use crate::ciphers::suite::{self, Cipher};
use crate::objects::cipher_list::LentCiphers;
use crate::objects::list::{Certificates, LentCertificates, LentNames};
use crate::settings::Settings;
use crate::settings::options::SENT_SHUTDOWN;

/// The side that a connection takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// How far a connection is.
pub(crate) enum Stage {
    New,
    Handshake(Box<Handshake>),
    Connected(Box<Connection>),
    /// The handshake failed.
    Failed,
}

/// The number and the text of the state of an established connection.
pub(crate) const FINISHED: (c_int, &CStr) = (1, c"SSL negotiation finished successfully");

/// Why the last operation could not continue (`SSL_want`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Nothing,
    Read,
    Write,
    /// A callback for certificates wants to be called again.
    Lookup,
    /// A callback for the ClientHello wants to be called again.
    ClientHello,
    /// A callback wants the peer's chain to be verified again.
    RetryVerify,
}

/// The types of key updates (`SSL_KEY_UPDATE_*`); there is none, or it requests no update of the
/// peer, or one. RFC 9846 4.7.3
pub(crate) const NO_UPDATE: c_int = -1;
pub(crate) const UPDATE_NOT_REQUESTED: c_int = 0;
pub(crate) const UPDATE_REQUESTED: c_int = 1;

/// A message of the program that is sealed and not written. As with OpenSSL, `SSL_do_handshake`
/// sends it, and the connection is in a handshake until then.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitingMessage {
    /// A key update of this type, or [`NO_UPDATE`] when its bytes were passed to the BIO, which did
    /// not accept them.
    KeyUpdate(c_int),
    /// A request for a certificate, or the answer.
    Authentication,
}

/// What the program received without a reference of its own: it exists until it is replaced.
#[derive(Default)]
pub(crate) struct Lent {
    pub(crate) peer_chain: RefCell<Option<Certificates>>,
    pub(crate) verified_chain: RefCell<Option<Certificates>>,
    pub(crate) ciphers: LentCiphers,
    pub(crate) names: LentNames,
    pub(crate) own_names: LentNames,
    pub(crate) chains: LentCertificates,
    pub(crate) protocol: RefCell<Vec<u8>>,
}

impl Ssl {
    /// Whether getters show a server: the side that the application has chosen, and before that, as
    /// with OpenSSL, a server's unless the context's method is for clients only.
    pub(crate) fn is_server(&self) -> bool {
        self.side.get().unwrap_or(self.side_of_method) == Side::Server
    }

    /// Takes a side for a function that has one of its own, unless the application has chosen one.
    pub(crate) fn take_side(&self, side: Side) {
        if self.side.get().is_none() {
            self.side.set(Some(side));
        }
    }

    /// Whether no handshake has begun.
    pub(crate) fn is_new(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::New)
    }

    /// Whether the handshake is over and succeeded.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Connected(_))
    }

    /// Whether the program sees an established connection: not after a fatal error, not in its
    /// function for new sessions, and not while a message of its own or an answer waits, or an
    /// answer is received.
    pub(crate) fn is_init_finished(&self) -> bool {
        let waits =
            self.waiting.get().is_some() || self.is_answering() || self.answer.get().is_some();
        let is_usable = self.is_connected() && !self.failed.get();
        is_usable && !waits && self.state_of_new_session.get().is_none()
    }

    /// Whether a handshake has begun and is not over.
    pub(crate) fn is_in_handshake(&self) -> bool {
        matches!(*self.stage.borrow(), Stage::Handshake(_))
    }

    /// The suite of the connection.
    pub(crate) fn cipher(&self) -> Option<&'static Cipher> {
        self.with_info(|info| suite::find(info.cipher_suite)).flatten()
    }

    /// The version: the negotiated one, or before that the one of [`Self::first_version`].
    pub(crate) fn version(&self) -> c_int {
        let negotiated = self.with_info(|info| info.version.0);
        negotiated.map_or_else(|| self.first_version(), c_int::from)
    }

    /// The version that is shown before one is negotiated: the highest that is enabled. As with
    /// OpenSSL, before a ClientHello is made or received it is the highest that the method has.
    pub(super) fn first_version(&self) -> c_int {
        let has_begun = !self.is_new();
        self.first_version_in(has_begun, &self.settings())
    }

    /// As [`Self::first_version`], also inside of a step. `has_begun`: the handshake.
    pub(super) fn first_version_in(&self, has_begun: bool, settings: &Settings) -> c_int {
        let has_hello = match self.side.get() {
            Some(Side::Client) => has_begun,
            Some(Side::Server) => self.hello.borrow().is_some(),
            None => false,
        };
        if !has_hello && settings.method.version == 0 {
            return crate::method::TLS1_3;
        }
        settings.highest_version().unwrap_or(crate::method::TLS1_2)
    }

    /// A text that describes the state of the handshake.
    pub(crate) fn state_text(&self) -> &'static CStr {
        if let Some((_, text)) = self.state_of_new_session.get() {
            return text;
        }
        match &*self.stage.borrow() {
            Stage::New => c"before SSL initialization",
            Stage::Handshake(_) => match self.side.get() {
                _ if self.message_state.get().is_some() => {
                    self.message_state.get().map_or(c"", |(_, text)| text)
                }
                Some(Side::Server) => c"SSLv3/TLS accept",
                _ => c"SSLv3/TLS connect",
            },
            Stage::Connected(_) if !self.failed.get() => self.state_of_connected().1,
            Stage::Connected(_) | Stage::Failed => c"error",
        }
    }

    /// The short form of [`Self::state_text`].
    pub(crate) fn short_state_text(&self) -> &'static CStr {
        let after = self.state_of_new_session.get();
        let is_in_handshake = || self.is_in_handshake().then(|| self.message_state.get()).flatten();
        if let Some((number, _)) = after.or_else(is_in_handshake) {
            return short_text(number);
        }
        match &*self.stage.borrow() {
            Stage::New => c"PINIT",
            Stage::Handshake(_) => match self.side.get() {
                Some(Side::Server) => c"TWSH",
                _ => c"TWCH",
            },
            Stage::Connected(_) if !self.failed.get() => short_text(self.state_of_connected().0),
            Stage::Connected(_) | Stage::Failed => c"SSLERR",
        }
    }

    /// The connection ends: its session is not resumed if this side has not sent close_notify, as
    /// with OpenSSL. Returns whether that is so.
    pub(crate) fn end_session(&self) -> bool {
        let is_bad = self.is_connected() && self.shutdown.get() & SENT_SHUTDOWN == 0;
        if is_bad {
            self.remove_session();
        }
        is_bad
    }

    /// Fails the connection after an error of the transport or of the peer.
    pub(crate) fn fail(&self, error: Error) {
        self.fail_with(error, None);
    }

    /// Like [`Self::fail`], with the detail that the error's entry shows in place of its text.
    pub(super) fn fail_with(&self, error: Error, detail: Option<String>) {
        crate::errors::push_error(error, detail);
        self.failed.set(true);
        self.want.set(Want::Nothing);
    }
}

/// The short texts of the states, by OpenSSL's numbers. The two states of an end of early data have
/// one text.
static SHORT_TEXTS: &[(c_int, &CStr)] = &[
    (0, c"PINIT"),
    (1, c"SSLOK"),
    (3, c"TRSH"),
    (4, c"TRSC"),
    (5, c"TRCS"),
    (6, c"TRSKE"),
    (7, c"TRCR"),
    (8, c"TRSD"),
    (9, c"TRST"),
    (10, c"TRCCS"),
    (11, c"TRFIN"),
    (12, c"TWCH"),
    (13, c"TWCC"),
    (14, c"TWCKE"),
    (15, c"TWCV"),
    (16, c"TWCCS"),
    (18, c"TWFIN"),
    (20, c"TRCH"),
    (22, c"TWSH"),
    (23, c"TWSC"),
    (24, c"TWSKE"),
    (25, c"TWCR"),
    (26, c"TWSD"),
    (27, c"TRCC"),
    (28, c"TRCKE"),
    (29, c"TRCV"),
    (31, c"TRCCS"),
    (32, c"TRFIN"),
    (33, c"TWST"),
    (34, c"TWCS"),
    (35, c"TWCCS"),
    (36, c"TWFIN"),
    (37, c"TWEE"),
    (38, c"TREE"),
    (39, c"TRSCV"),
    (40, c"TWSCV"),
    (42, c"TWSKU"),
    (43, c"TWCKU"),
    (44, c"TRCKU"),
    (45, c"TRSKU"),
    (46, c"TED"),
    (47, c"TPEDE"),
    (48, c"TWEOED"),
    (49, c"TWEOED"),
];

/// The short text of a state.
pub(crate) fn short_text(number: c_int) -> &'static CStr {
    let found = SHORT_TEXTS.iter().find(|(known, _)| *known == number);
    found.map_or(c"UNKWN ", |(_, text)| text)
}
