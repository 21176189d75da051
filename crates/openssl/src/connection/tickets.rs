//! A server's tickets: the answers to the questions that seal and open them, under the keys of the
//! context or by the application's callback.

use core::ffi::{c_int, c_uchar};
use core::sync::atomic::Ordering::Relaxed;

use tercel::Answer;
use tercel::questions::{OpenTicketQuestion, SealTicketQuestion};
use zeroize::Zeroizing;

use super::Ssl;
use super::server_sessions::MadeSession;
use crate::context::SESS_CACHE_SERVER;
use crate::errors;
use crate::objects::ticket_cipher::TicketCipher;
use crate::settings::callbacks::TicketKey;
use crate::tickets::{Content, write_content};

impl Ssl {
    /// Opens a client's ticket, if it may be used. No cell is borrowed while a callback runs.
    pub(super) fn answer_open_ticket(&self, question: &OpenTicketQuestion) -> Answer {
        let ticket = question.ticket();
        let opened = match self.ticket_callback() {
            Some(callback) => errors::without_errors(|| callback.open(self, ticket)),
            None => self.session_context.tickets.open(ticket, question.now()),
        };
        let found = opened.and_then(Content::read).filter(|content| {
            let is_usable = self.may_use(content.added.clone());
            if is_usable {
                self.found_result.set(Some(content.result));
            }
            is_usable
        });
        let version = found.as_ref().map(|content| content.version);
        let is_used = self.may_use_ticket(ticket, version);
        match found.filter(|_| is_used).map(|content| content.session.to_vec()) {
            Some(session) if self.renews_ticket() => question.answer_and_renew(session),
            session => question.answer(session),
        }
    }

    /// Seals a session in a ticket, if one may be issued.
    pub(super) fn answer_seal_ticket(&self, question: &SealTicketQuestion) -> Answer {
        if !self.may_issue(true) {
            return question.answer(None);
        }
        // The application may change the session in its callback.
        let content = || {
            let result = self.found_result.get().unwrap_or(self.verify_result.get());
            let version = question.version().0;
            write_content(question.session(), result, version, &self.added_to_session())
        };
        let ticket = match self.ticket_callback() {
            Some(callback) => errors::without_errors(|| {
                let (mut name, mut iv) = ([0; 16], [0; 16]);
                let (cipher, _) = callback.set_up(self, &mut name, &mut iv, true)?;
                cipher.seal(&name, &iv, &content())
            }),
            None => self.session_context.tickets.seal(&content(), question.now()),
        };
        if ticket.is_some() {
            self.ticket_issued(question.session());
        }
        question.answer(ticket)
    }

    fn ticket_callback(&self) -> Option<TicketCallback> {
        let callbacks = self.session_context.settings().callbacks;
        let (older, newer) = (callbacks.ticket_key, callbacks.ticket_key_evp);
        let function = newer.or(older);
        function.is_some().then_some(TicketCallback { function, newer: newer.is_some() })
    }

    /// A ticket with this session was made. As with OpenSSL, the program's function for new
    /// sessions is called for tickets of TLS 1.3, whose sessions get a name that no client knows;
    /// and if the program wants to know which sessions end, they are in the cache. A client that
    /// requests more tickets does not get more sessions there.
    fn ticket_issued(&self, session: &[u8]) {
        let context = &self.session_context;
        let callbacks = context.settings().callbacks;
        let mode = context.cache_mode.load(Relaxed);
        let is_wanted = callbacks.new_session.is_some() || callbacks.remove_session.is_some();
        if !is_wanted || !self.is_tls13() || mode & SESS_CACHE_SERVER == 0 {
            return;
        }
        if self.reports_ticket() {
            let core = Zeroizing::new(session.to_vec());
            let made = MadeSession::new(super::completion::random_id(), core, true);
            self.made.borrow_mut().push(made);
        }
    }
}

/// The application's callback for ticket keys.
struct TicketCallback {
    function: TicketKey,
    /// Whether the function expects an EVP_MAC_CTX.
    newer: bool,
}

/// The result of a ticket key callback.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Returned {
    Usable,
    /// The ticket can be used, and is to be replaced.
    UsableOnce,
    Unknown,
}

impl Returned {
    fn of(number: c_int) -> Self {
        match number {
            ..=0 => Self::Unknown,
            2 => Self::UsableOnce,
            _ => Self::Usable,
        }
    }
}

impl TicketCallback {
    /// Lets the application set up a cipher and a MAC. Returns also whether a ticket is to be
    /// replaced.
    fn set_up(
        &self,
        ssl: &Ssl,
        name: &mut [c_uchar; 16],
        iv: &mut [c_uchar; 16],
        seals: bool,
    ) -> Option<(TicketCipher, bool)> {
        let function = self.function?;
        let cipher = TicketCipher::new(self.newer)?;
        let (encryption, mac) = cipher.pointers();
        let (name, iv) = (name.as_mut_ptr(), iv.as_mut_ptr());
        let call = || {
            // SAFETY: the application set this function for these arguments: a name of 16 bytes, an
            // IV of up to 16, and both contexts. No cell is borrowed.
            unsafe { function(ssl.address(), name, iv, encryption, mac, c_int::from(seals)) }
        };
        match Returned::of(ssl.outside(call)) {
            Returned::Unknown => None,
            returned => Some((cipher, returned == Returned::UsableOnce)),
        }
    }

    /// Opens a ticket. Returns its content.
    fn open(&self, ssl: &Ssl, ticket: &[u8]) -> Option<Vec<u8>> {
        let (mut name, rest) = ticket.split_first_chunk().map(|(name, rest)| (*name, rest))?;
        let mut iv = [0; 16];
        let length = rest.len().min(iv.len());
        iv.get_mut(..length)?.copy_from_slice(rest.get(..length)?);
        let (cipher, renews) = self.set_up(ssl, &mut name, &mut iv, false)?;
        let content = cipher.open(ticket)?;
        ssl.set_renews_ticket(renews);
        Some(content)
    }
}
