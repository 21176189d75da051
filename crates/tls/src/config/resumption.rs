//! How sessions are resumed: what a server gives out and takes back, what a client keeps.
//!
//! Must not know: handshakes. Next: `session/`, `ticket/`, and `handshake/resumption.rs`, which decides.

use std::sync::Arc;

use tercel_crypto::{Hash, HashAlgorithm};

use super::common::Common;
use super::error::ConfigError;
use super::policy::{AdmitEarlyData, FindPreSharedKey, Policy, VerifyPeer};
use super::pre_shared_key::PreSharedKey;
use super::server::ClientAuth;
use crate::record::limits;
use crate::session::client_store::ClientSessionStore;
use crate::session::context::Context;
use crate::session::state::Session;
use crate::session::store::{ForgetSession, SessionStore};
use crate::ticket::TicketSealer;

/// A server's side of resumption.
#[derive(Clone)]
pub(crate) struct ServerResumption {
    /// Stateless: sessions travel sealed in tickets.
    pub(crate) tickets: Option<Arc<dyn TicketSealer>>,
    /// Stateful: sessions stay here, clients hold a name for them. New sessions prefer it.
    pub(crate) store: Option<Policy<dyn SessionStore>>,
    /// The store is only for clients of TLS 1.2 that take no tickets.
    pub(crate) only_session_ids: bool,
    /// Who is told of sessions that an application keeps and has to forget.
    pub(crate) forget: Option<Arc<dyn ForgetSession>>,
    /// Tickets after a full handshake of TLS 1.3.
    pub(crate) new_tickets: u8,
    /// Tickets after a resumed one.
    pub(crate) renewed_tickets: u8,
    /// Seconds for which a stored session may be used.
    pub(crate) lifetime: u32,
    /// Bytes of early data a ticket of ours admits; 0 turns early data off.
    pub(crate) max_early_data: u32,
    pub(crate) guard: Option<Policy<dyn AdmitEarlyData>>,
    /// Seconds by which a ticket's age may be off for its early data to count as fresh.
    pub(crate) freshness_window: u32,
    /// Whether a client's stored chain is judged again before it is resumed.
    pub(crate) verify_again: bool,
    /// Whether sessions keep a digest in place of a client's chain.
    pub(crate) digests_only: bool,
    /// Whether tickets of TLS 1.3 are good for every name of the certificate.
    pub(crate) across_names: bool,
    /// What the application calls this configuration.
    pub(crate) label: Vec<u8>,
    /// The name under which sessions of this configuration are known, see [`context`].
    pub(crate) context: Context,
    /// The same for sessions of external pre-shared keys, see [`context_of_keys`].
    pub(crate) context_of_keys: Context,
}

impl ServerResumption {
    pub(crate) fn new() -> Self {
        Self {
            tickets: None,
            store: None,
            only_session_ids: false,
            forget: None,
            new_tickets: 2,
            renewed_tickets: 1,
            lifetime: 86_400,
            max_early_data: 0,
            guard: None,
            freshness_window: limits::FRESHNESS_WINDOW,
            verify_again: true,
            digests_only: false,
            across_names: false,
            label: Vec::new(),
            context: Context::NONE,
            context_of_keys: Context::NONE,
        }
    }

    /// What this session has to be bound to.
    pub(crate) fn context_for(&self, session: &Session) -> Context {
        if session.pre_shared_key.is_some() { self.context_of_keys } else { self.context }
    }

    /// Whether the application has named this configuration.
    pub(crate) fn has_label(&self) -> bool {
        !self.label.is_empty()
    }

    /// Whether what TLS 1.3 calls a ticket is the name of a session in the store.
    pub(crate) fn stores_tickets(&self) -> bool {
        self.store.is_some() && !self.only_session_ids
    }

    pub(crate) fn is_on(&self) -> bool {
        self.tickets.is_some() || self.store.is_some()
    }

    /// Refuses a window that is none, or wider than what the guard remembers. RFC 9846 8.3
    pub(crate) fn check_window(&self) -> Result<(), ConfigError> {
        let window = self.freshness_window;
        if !(limits::MIN_FRESHNESS_WINDOW..=limits::FRESHNESS_WINDOW).contains(&window) {
            return Err(ConfigError::BadFreshnessWindow);
        }
        match &self.guard {
            Some(Policy::Here(guard)) if guard.freshness_window() < window => {
                Err(ConfigError::ForgetfulGuard)
            }
            _ => Ok(()),
        }
    }
}

/// Binds sessions to a configuration: its label, what it demands of clients and what it keeps of them; where
/// clients are not judged again, also what it trusts and whether it requests staples and timestamps (`requests`). A session made
/// under one policy never satisfies another.
pub(crate) fn context(
    resumption: &ServerResumption,
    demand: ClientAuth,
    verifier: Option<&Policy<dyn VerifyPeer>>,
    requests: (bool, bool),
) -> Result<Context, ConfigError> {
    let mut hash = Hash::new(HashAlgorithm::Sha256);
    let mut add = |part: &[u8]| {
        hash.update(&part.len().to_be_bytes());
        hash.update(part);
    };
    add(&resumption.label);
    add(match demand {
        ClientAuth::None => b"none",
        ClientAuth::Optional => b"optional",
        ClientAuth::Required => b"required",
    });
    if resumption.digests_only {
        add(b"digests only");
    }
    // Early data of one ticket is fresh by one window, whichever server judges it: between two, a guard that is as
    // long blind as its own window asks for would see again what was admitted by the other.
    if resumption.max_early_data > 0 && resumption.freshness_window != limits::FRESHNESS_WINDOW {
        add(b"freshness window");
        add(&resumption.freshness_window.to_be_bytes());
    }
    if let Some(Policy::Here(verifier)) = verifier {
        verifier.authorities().iter().for_each(|name| add(name));
    }
    let verifier = verifier.filter(|_| !resumption.verify_again && demand != ClientAuth::None);
    if let Some(verifier) = verifier {
        add(b"not verified again");
        // A certificate that demands a staple is judged by whether one was asked for. RFC 7633 4.2.3
        add(&[u8::from(requests.0), u8::from(requests.1)]);
        add(&match fingerprint(verifier) {
            Some(trusted) => trusted,
            None => unknown(&resumption.label)?,
        });
    }
    Ok(Context::new(&hash.finish().first_chunk().copied().unwrap_or_default(), None))
}

/// Binds sessions of external pre-shared keys. A finder says later whether it still knows a key; an application
/// that is asked for keys is not asked that, so its sessions are for nobody else.
pub(crate) fn context_of_keys(
    resumption: &ServerResumption,
    keys: Option<&Policy<dyn FindPreSharedKey>>,
) -> Result<Context, ConfigError> {
    let Some(Policy::Ask) = keys else { return Ok(resumption.context) };
    let digest = resumption.context.first_chunk().copied().unwrap_or_default();
    Ok(Context::new(&digest, Some(&unknown(&resumption.label)?)))
}

/// What a verifier decides by, if that can be told.
fn fingerprint(verifier: &Policy<dyn VerifyPeer>) -> Option<[u8; 32]> {
    match verifier {
        Policy::Here(verifier) => verifier.fingerprint(),
        Policy::Ask => None,
    }
}

/// Stands for what cannot be told: the label has to tell configurations apart, and without a label nothing
/// is shared with any other.
fn unknown(label: &[u8]) -> Result<[u8; 32], ConfigError> {
    let mut unknown = [0_u8; 32];
    if label.is_empty() {
        tercel_crypto::fill_random(&mut unknown).map_err(|_| ConfigError::Random)?;
    }
    Ok(unknown)
}

/// A client's side of resumption.
#[derive(Clone)]
pub(crate) struct ClientResumption {
    pub(crate) store: Option<Arc<dyn ClientSessionStore>>,
    pub(crate) early_data: bool,
    /// Whether a stored server chain is judged again before it is resumed.
    pub(crate) verify_again: bool,
    /// What the application calls this configuration.
    pub(crate) label: Vec<u8>,
    /// What the sessions of this configuration are stored under, besides the server's name.
    pub(crate) context: [u8; 32],
}

impl ClientResumption {
    pub(crate) fn new() -> Self {
        Self {
            store: None,
            early_data: false,
            verify_again: false,
            label: Vec::new(),
            context: [0; 32],
        }
    }
}

/// Binds sessions to a configuration: its label, its application protocols, what it trusts, what it shows, whether it asks for
/// staples and certificate timestamps, and its pre-shared keys. A session made where more was trusted is not resumed
/// where less is.
///
/// What a verifier or a choice of credentials decides by may not be known; then the label has to tell
/// configurations apart, and without a label nothing is shared with any other.
pub(crate) fn client_context(
    label: &[u8],
    common: &Common,
    verifier: &Policy<dyn VerifyPeer>,
    shows_credentials: bool,
    (request_ocsp, request_timestamps): (bool, bool),
    pre_shared_keys: &[Arc<PreSharedKey>],
) -> Result<[u8; 32], ConfigError> {
    let trusted = fingerprint(verifier);
    let can_tell = trusted.is_some() && !shows_credentials;
    let unknown = if can_tell { [0; 32] } else { unknown(label)? };
    let trusted = trusted.unwrap_or_default();
    // Without a request for a staple, a certificate that demands one is accepted without it. RFC 7633 4.2.3
    // A verifier may demand timestamps, which come only if they are asked for. RFC 6962 3.3.1
    let staples = [u8::from(request_ocsp), u8::from(request_timestamps)];
    let fixed: [&[u8]; 4] = [label, &trusted, &unknown, &staples];
    let mut hash = Hash::new(HashAlgorithm::Sha256);
    for part in fixed.into_iter().chain(common.alpn.iter().map(Vec::as_slice)) {
        hash.update(&part.len().to_be_bytes());
        hash.update(part);
    }
    for fingerprint in pre_shared_keys.iter().map(|key| key.fingerprint()) {
        hash.update(&fingerprint.len().to_be_bytes());
        hash.update(&fingerprint);
    }
    Ok(hash.finish().first_chunk().copied().unwrap_or_default())
}
