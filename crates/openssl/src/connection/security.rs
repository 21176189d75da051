//! What a connection may use: the settings, without what the security level or the program's
//! security function refuses.
//!
//! The function is asked before an algorithm is offered or accepted, for all operations for which
//! OpenSSL asks it on the same side. What it refuses for one of them is not used at all.

use core::ffi::{c_int, c_void};
use core::ptr;

use tercel::Credential;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::Ssl;
use super::state::Side;
use crate::ciphers::suite_b::Profile;
use crate::ciphers::{groups, schemes, suite};
use crate::objects::certificate::Certificate;
use crate::objects::list::Certificates;
use crate::settings::Settings;
use crate::settings::identity::Usable;
use crate::settings::security::{self, Subject, operation as op};
use crate::sys::x509::{V_OK, X509_chain_check_suiteb};

/// The parts of the settings that may be used.
pub(crate) struct Permitted {
    /// The enabled versions, highest first.
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) suites: Vec<CipherSuite>,
    /// `None`: the default groups.
    pub(crate) groups: Option<Vec<NamedGroup>>,
    /// The schemes of the peer's signatures.
    pub(crate) schemes: Vec<SignatureScheme>,
    /// Whether TLS 1.2 may use tickets.
    pub(crate) tickets: bool,
}

impl Ssl {
    /// Whether the answers of a function of the program decide what may be used, which can differ
    /// between connections.
    pub(crate) fn asks_program(settings: &Settings) -> bool {
        settings.callbacks.security.function.is_some()
    }

    /// Whether one subject may be used. No cell may be borrowed.
    fn permits(&self, settings: &Settings, subject: Subject) -> bool {
        let Subject { operation, bits, nid, object } = subject;
        let callback = settings.callbacks.security;
        let Some(function) = callback.function else {
            return security::is_allowed(settings.security_level, operation, bits, nid);
        };
        let (ssl, argument) = (self.address().cast_const(), callback.argument);
        // SAFETY: the program set this function for these arguments, and the object exists during
        // the call. No cell is borrowed.
        let allowed =
            || unsafe { function(ssl, ptr::null(), operation, bits, nid, object, argument) };
        self.outside(allowed) != 0
    }

    /// Whether a subject may be used for each of these operations.
    fn permits_all(
        &self,
        settings: &Settings,
        operations: &[c_int],
        (bits, nid): (c_int, c_int),
        object: *mut c_void,
    ) -> bool {
        operations
            .iter()
            .all(|&operation| self.permits(settings, Subject { operation, bits, nid, object }))
    }

    fn permits_suite(&self, settings: &Settings, side: Side, code: CipherSuite) -> bool {
        let operations: &[c_int] = match side {
            Side::Client => &[op::CIPHER_SUPPORTED, op::CIPHER_CHECK],
            Side::Server => &[op::CIPHER_SHARED],
        };
        suite::find(code).is_some_and(|cipher| {
            let object = ptr::from_ref(cipher).cast_mut().cast();
            self.permits_all(settings, operations, (cipher.bits, 0), object)
        })
    }

    fn permits_group(&self, settings: &Settings, side: Side, group: NamedGroup) -> bool {
        let operations: &[c_int] = match side {
            Side::Client => &[op::CURVE_SUPPORTED, op::CURVE_CHECK],
            Side::Server => &[op::CURVE_SUPPORTED, op::CURVE_SHARED],
        };
        let (nid, bits) = groups::strength(group);
        let mut code = group.0.to_be_bytes();
        self.permits_all(settings, operations, (bits, nid), code.as_mut_ptr().cast())
    }

    fn permits_scheme(
        &self,
        settings: &Settings,
        operations: &[c_int],
        scheme: SignatureScheme,
    ) -> bool {
        let mut code = scheme.0.to_be_bytes();
        let strength = (schemes::bits(scheme), schemes::hash_nid(scheme));
        self.permits_all(settings, operations, strength, code.as_mut_ptr().cast())
    }

    /// Whether TLS 1.2 may use tickets.
    pub(crate) fn permits_tickets(&self, settings: &Settings) -> bool {
        self.permits_all(settings, &[op::TICKET], (0, 0), ptr::null_mut())
    }

    /// What this side may use. No cell may be borrowed.
    pub(crate) fn permitted(&self, settings: &Settings, side: Side) -> Permitted {
        let suite_b = settings.suite_b();
        let keep = |suites: &[CipherSuite]| -> Vec<_> {
            let fits = |code: &&CipherSuite| {
                suite_b.is_none_or(|profile| profile.suites.contains(code))
                    && self.permits_suite(settings, side, **code)
            };
            suites.iter().filter(fits).copied().collect()
        };
        let (suites13, suites12) = (keep(&settings.suites13), keep(&settings.suites12));
        let mut versions = settings.versions_with(!suites13.is_empty(), !suites12.is_empty());
        versions.retain(|version| {
            self.permits_all(settings, &[op::VERSION], (0, version.0.into()), ptr::null_mut())
        });
        let of_clients = settings.client_schemes.as_ref().filter(|_| side == Side::Server);
        let accepted = of_clients.or(settings.schemes.as_ref());
        let accepted = accepted.map_or(&schemes::DEFAULT[..], Vec::as_slice);
        let accepted = suite_b.map_or(accepted, |profile| profile.schemes);
        let operations = [op::SIGALG_SUPPORTED, op::SIGALG_CHECK];
        let may_accept =
            |scheme: &SignatureScheme| self.permits_scheme(settings, &operations, *scheme);
        Permitted {
            versions,
            suites: [suites13, suites12].concat(),
            groups: self.permitted_groups(settings, side),
            schemes: accepted.iter().copied().filter(may_accept).collect(),
            tickets: self.permits_tickets(settings),
        }
    }

    /// The groups that this side may use. `None`: the default groups. No cell may be borrowed.
    pub(crate) fn permitted_groups(
        &self,
        settings: &Settings,
        side: Side,
    ) -> Option<Vec<NamedGroup>> {
        let suite_b = settings.suite_b();
        let own = || settings.groups.clone().unwrap_or_else(groups::default);
        let all = suite_b.map_or_else(own, |profile| profile.groups.to_vec());
        let count = all.len();
        let kept: Vec<_> =
            all.into_iter().filter(|group| self.permits_group(settings, side, *group)).collect();
        let is_default = settings.groups.is_none() && suite_b.is_none() && kept.len() == count;
        Some(kept).filter(|_| !is_default)
    }

    /// The schemes with which this side may sign. `None`: all.
    pub(crate) fn own_schemes(&self, settings: &Settings) -> Option<Vec<SignatureScheme>> {
        let is_client = !self.is_server();
        let of_clients = settings.client_schemes.as_ref().filter(|_| is_client);
        let selected = of_clients.or(settings.schemes.as_ref());
        let strongest = security::least_bits(settings.security_level) <= 128;
        let suite_b = settings.suite_b();
        let is_free = selected.is_none() && suite_b.is_none() && !Self::asks_program(settings);
        if is_free && strongest {
            return None;
        }
        let selected = selected.map_or(&schemes::DEFAULT[..], Vec::as_slice);
        let selected = suite_b.map_or(selected, |profile| profile.schemes);
        let may_use =
            |scheme: &SignatureScheme| self.permits_scheme(settings, &[op::SIGALG_SHARED], *scheme);
        Some(selected.iter().copied().filter(may_use).collect())
    }

    /// Whether the keys and signatures of an own chain may be used.
    pub(crate) fn permits_chain(&self, settings: &Settings, usable: &Usable) -> bool {
        if settings.suite_b().is_some_and(|profile| !fits_suite_b(profile, &usable.credential)) {
            return false;
        }
        if !Self::asks_program(settings) {
            let level = settings.security_level;
            return security::is_allowed(level, op::EE_KEY, usable.weakest, 0);
        }
        let Some(certificates) = chain_of(&usable.credential) else { return false };
        let subjects = certificates.iter().enumerate();
        let subjects = subjects.flat_map(|(at, each)| security::of_certificate(each, at == 0));
        subjects.into_iter().all(|subject| self.permits(settings, subject))
    }
}

/// Whether the keys and signatures of an own chain are those of a profile of Suite B.
fn fits_suite_b(profile: &Profile, credential: &Credential) -> bool {
    let Some(chain) = chain_of(credential) else { return false };
    let Some((leaf, rest)) = chain.split_first() else { return false };
    let Some(rest) = Certificates::of(rest) else { return false };
    // SAFETY: the certificates and their list exist during the call; no depth is written to NULL.
    let result = unsafe {
        X509_chain_check_suiteb(ptr::null_mut(), leaf.as_ptr(), rest.as_ptr(), profile.flags)
    };
    i64::from(result) == V_OK
}

/// The certificates of a credential, leaf first. `None` if one cannot be parsed.
fn chain_of(credential: &Credential) -> Option<Vec<Certificate>> {
    let ders = credential.chain().iter();
    crate::errors::without_errors(|| ders.map(|der| Certificate::from_der(der)).collect())
}
