//! One of the pre-shared keys that a client offers: a session's, or one from outside. RFC 9846 4.3.11
//!
//! Must not know: what else is in the hello. Next: [`super::offer`].

use pki_types::UnixTime;
use tercel_crypto::Digest;
use tercel_wire::PskIdentity;

use crate::config::common::Common;
use crate::config::pre_shared_key::PreSharedKey;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;
use crate::keys::tls13::{EarlySecret, PskKind};
use crate::session::state::Session;

pub(crate) struct OfferedKey<'k> {
    pub(crate) identity: PskIdentity<'k>,
    kind: PskKind,
    /// Any suite that has the key's hash.
    suite: &'static Suite,
    secret: Secret<'k>,
}

/// What a binder is made of.
enum Secret<'k> {
    /// A session's early secret, which the handshake goes on with if the server takes the session.
    Early(&'k EarlySecret),
    External(&'k [u8]),
}

impl<'k> OfferedKey<'k> {
    /// A session is named with its age obfuscated. RFC 9846 4.3.11.1
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

    /// A key from outside has no age. RFC 9846 4.3.11
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

    /// A transcript for its binder, up to the hello.
    pub(crate) fn transcript(&self, before: Option<&Transcript>) -> Transcript {
        before.cloned().unwrap_or_else(|| Transcript::new(self.suite.hash))
    }

    /// The proof of having the key, over the hello without its binders and what came before. `transcript` goes
    /// as far, if it is of the key's hash. RFC 9846 4.3.11.2
    pub(crate) fn binder(&self, transcript: &mut Transcript, partial_hello: &[u8]) -> Digest {
        // Keys of another hash are offered in a first hello only: nothing came before.
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
