//! A pre-shared key that a client offers: the key of a session, or an external key. RFC 9846 4.3.11

use pki_types::UnixTime;
use tercel_crypto::Digest;
use tercel_wire::PskIdentity;

use crate::config::common::Common;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, PskKind};
use crate::psk::PreSharedKey;
use crate::resumption::session::Session;

/// A pre-shared key that a client offers.
pub(crate) struct OfferedKey<'k> {
    pub(crate) identity: PskIdentity<'k>,
    kind: PskKind,
    /// A cipher suite that has the hash of the key.
    suite: &'static Suite,
    secret: Secret<'k>,
}

/// The secret from which the binder is derived.
enum Secret<'k> {
    /// A session's early secret, which the handshake uses if the server accepts the session.
    Early(&'k EarlySecret),
    External(&'k [u8]),
}

impl<'k> OfferedKey<'k> {
    /// Creates the offer of a session's key, with its obfuscated age. RFC 9846 4.3.11.1
    pub(crate) fn of_session(session: &'k Session, early: &'k EarlySecret, now: UnixTime) -> Self {
        let age = now.as_secs().saturating_sub(session.created).saturating_mul(1000);
        let age = u32::try_from(age).unwrap_or(u32::MAX);
        Self {
            identity: PskIdentity {
                identity: &session.identity,
                obfuscated_ticket_age: age.wrapping_add(session.age_add),
            },
            kind: PskKind::Resumption,
            suite: session.suite,
            secret: Secret::Early(early),
        }
    }

    /// Creates the offer of an external key, which has no age. RFC 9846 4.3.11
    pub(crate) fn external(key: &'k PreSharedKey, common: &Common) -> Option<Self> {
        let fits = |suite: &&'static Suite| suite.is_tls13() && suite.hash == key.hash();
        Some(Self {
            identity: PskIdentity { identity: key.identity(), obfuscated_ticket_age: 0 },
            kind: key.kind(),
            suite: common.usable_suites().find(fits)?,
            secret: Secret::External(key.secret()),
        })
    }

    pub(crate) fn binder_length(&self) -> usize {
        self.suite.hash.output_len()
    }

    /// Returns the transcript before the ClientHello, for the key's binder.
    pub(crate) fn transcript(&self, before: Option<&Transcript>) -> Transcript {
        before.cloned().unwrap_or_else(|| Transcript::new(self.suite.hash))
    }

    /// Computes the binder: a MAC over the transcript up to the ClientHello without its binders.
    /// `transcript` is used if it has the hash of the key. RFC 9846 4.3.11.2
    pub(crate) fn binder(&self, transcript: &mut Transcript, partial_hello: &[u8]) -> Digest {
        // A key with another hash is offered only in a first ClientHello. No message precedes it,
        // so its transcript is the ClientHello alone.
        let digest = if transcript.algorithm() == self.suite.hash {
            transcript.digest()
        } else {
            Transcript::new(self.suite.hash).digest_with(partial_hello)
        };
        match self.secret {
            Secret::Early(early) => early.binder(self.kind, &digest),
            Secret::External(key) => {
                EarlySecret::for_binder(self.suite, key).binder(self.kind, &digest)
            }
        }
    }
}
