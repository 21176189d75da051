//! The settings of a context and of a connection. A connection begins with those of its context;
//! the first change of either makes a copy.

pub(crate) mod callbacks;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod remembered;
pub(crate) mod security;

use core::ffi::{CStr, c_int, c_long};
use std::sync::{Arc, Mutex, OnceLock};

use tercel::wire::{CipherSuite, NamedGroup, SignatureScheme};
use tercel::{ClientConfig, ServerConfig};

use crate::ciphers::suite_b::{self, Profile};
use crate::ciphers::{string, suite};
use crate::errors::{self, reasons};
use crate::method::Method;
use crate::objects::certificate::Certificate;
use crate::objects::id::Id;
use crate::objects::key::Key;
use crate::objects::name::Name;
use crate::objects::store::{CtLogs, Store};
use callbacks::Callbacks;
use identity::Identity;

/// The settings of a context or a connection.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) method: &'static Method,
    pub(crate) options: u64,
    pub(crate) mode: u32,
    /// The limits of versions, which a method of one version ignores. 0: no limit.
    pub(crate) min_version: c_int,
    pub(crate) max_version: c_int,
    pub(crate) suites12: Vec<CipherSuite>,
    pub(crate) suites13: Vec<CipherSuite>,
    pub(crate) security_level: c_int,
    pub(crate) groups: Option<Vec<NamedGroup>>,
    pub(crate) schemes: Option<Vec<SignatureScheme>>,
    /// The schemes of clients' signatures, if they differ from the others.
    pub(crate) client_schemes: Option<Vec<SignatureScheme>>,
    /// Certificates and keys, one for each type of key.
    pub(crate) identities: Vec<Identity>,
    /// The index of the identity that was set last, to which chain certificates are added.
    pub(crate) current: usize,
    pub(crate) extra_chain: Vec<Certificate>,
    /// Parameters of Diffie-Hellman, which are not used. The program may use them.
    pub(crate) temporary_dh: Option<Key>,
    /// Logs of certificate transparency, as the parameters.
    pub(crate) ct_logs: Option<Arc<CtLogs>>,
    pub(crate) verify_store: Option<Store>,
    pub(crate) chain_store: Option<Store>,
    pub(crate) verify_mode: c_int,
    /// The longest chain of a peer in bytes.
    pub(crate) max_chain: usize,
    /// The flags of certificates (`SSL_CTX_set_cert_flags`).
    pub(crate) certificate_flags: u32,
    pub(crate) shared_secrets: security::SharedSecrets,
    pub(crate) session_context: Id,
    pub(crate) session_timeout: c_long,
    pub(crate) client_authorities: Arc<Vec<Name>>,
    /// The application protocols of a client, each without its length.
    pub(crate) protocols: Vec<Vec<u8>>,
    pub(crate) tickets: usize,
    pub(crate) max_early_data: u32,
    /// How many bytes of early data a server reads.
    pub(crate) recv_max_early_data: u32,
    pub(crate) post_handshake_auth: bool,
    pub(crate) read_ahead: bool,
    pub(crate) quiet_shutdown: bool,
    pub(crate) max_fragment: usize,
    /// Records are padded to a multiple of as many bytes; 0 for no padding.
    pub(crate) padding_block: u16,
    /// Whether a callback of the application would pad records, which is not supported.
    pub(crate) pads_by_callback: bool,
    /// The type of certificate status that a client requests; -1 for none.
    pub(crate) status_type: c_int,
    pub(crate) callbacks: Callbacks,
    /// Whether a connection has suites of its own, in place of its context's.
    pub(crate) has_own_suites: bool,
    /// Whether a connection has authorities of its own, in place of its context's.
    pub(crate) has_own_authorities: bool,
    /// Configurations made from these settings.
    pub(crate) compiled: Compiled,
}

/// A configuration for clients that offered the protocol, or for those that offered none.
pub(crate) type ForProtocol = (Option<Vec<u8>>, Kind, Arc<ServerConfig>);

/// On what else than the protocol a server's configuration depends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Whether the application may staple a certificate status.
    pub(crate) staples: bool,
    /// Whether the client's certificate is requested after the handshake.
    pub(crate) late: bool,
    /// Whether suites with ChaCha20 are preferred.
    pub(crate) prefers_chacha: bool,
}

/// Configurations that were made from settings. A copy of settings, which is about to be changed,
/// has none.
#[derive(Default)]
pub(crate) struct Compiled {
    /// Configurations of a client, without and with early data.
    pub(crate) clients: [OnceLock<Arc<ClientConfig>>; 2],
    /// Configurations of a server, by the application protocol that was selected and by stapling.
    pub(crate) servers: Mutex<Vec<ForProtocol>>,
}

impl Clone for Compiled {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Settings {
    /// Sets the TLS 1.2 suites that a string selects, its security level, and its profile of
    /// Suite B. Returns whether it succeeded; if not, an error is in the queue. As with OpenSSL,
    /// the suites are removed if nothing is selected, which is an error.
    pub(crate) fn set_cipher_string(&mut self, text: &CStr) -> bool {
        let text = text.to_string_lossy();
        if let Some(profile) = suite_b::named(&text) {
            self.certificate_flags &= !suite_b::FLAGS;
            self.certificate_flags |= profile;
        }
        // A profile takes the place of the string.
        let rule = suite_b::rule(self.certificate_flags, &text);
        let Some(selected) = string::select(rule.unwrap_or(&text)) else {
            errors::push(reasons::INVALID_COMMAND);
            return false;
        };
        self.suites12 = selected.suites;
        self.security_level = selected.security_level.unwrap_or(self.security_level);
        let succeeded = !self.suites12.is_empty();
        if !succeeded {
            errors::push(reasons::NO_CIPHER_MATCH);
        }
        succeeded
    }

    /// The settings of a new context.
    pub(crate) fn new(method: &'static Method) -> Self {
        let (suites13, suites12): (Vec<_>, Vec<_>) =
            suite::ALL.iter().partition(|cipher| cipher.is_tls13());
        let codes = |ciphers: Vec<&suite::Cipher>| ciphers.iter().map(|each| each.code).collect();
        Self {
            method,
            options: options::DEFAULT,
            mode: options::MODE_AUTO_RETRY,
            min_version: 0,
            max_version: 0,
            suites12: codes(suites12),
            suites13: codes(suites13),
            security_level: DEFAULT_SECURITY_LEVEL,
            groups: None,
            schemes: None,
            client_schemes: None,
            identities: Vec::new(),
            current: 0,
            extra_chain: Vec::new(),
            temporary_dh: None,
            ct_logs: None,
            verify_store: None,
            chain_store: None,
            verify_mode: 0,
            max_chain: DEFAULT_MAX_CHAIN,
            certificate_flags: 0,
            shared_secrets: security::SharedSecrets::default(),
            session_context: Id::default(),
            session_timeout: DEFAULT_TIMEOUT,
            client_authorities: Arc::default(),
            protocols: Vec::new(),
            tickets: 2,
            max_early_data: 0,
            recv_max_early_data: 1 << 14,
            post_handshake_auth: false,
            read_ahead: false,
            quiet_shutdown: false,
            max_fragment: 1 << 14,
            padding_block: 0,
            pads_by_callback: false,
            status_type: -1,
            callbacks: Callbacks::default(),
            has_own_suites: false,
            has_own_authorities: false,
            compiled: Compiled::default(),
        }
    }

    /// The settings of a connection after a change of its contexts: `context` is that of its
    /// callbacks, `of_sessions` that of its sessions.
    ///
    /// OpenSSL copies most settings in `SSL_new`, and reads the fields here from the context when
    /// they are needed. Code that needs another setting of the context reads it there.
    pub(crate) fn follow(&mut self, context: &Self, of_sessions: &Self) {
        self.session_timeout = of_sessions.session_timeout;
        self.extra_chain.clone_from(&context.extra_chain);
        self.callbacks.verify_chain = context.callbacks.verify_chain;
        self.callbacks.client_certificate = context.callbacks.client_certificate;
        self.callbacks.info = context.callbacks.info;
        if !self.has_own_suites {
            self.suites12.clone_from(&context.suites12);
            self.suites13.clone_from(&context.suites13);
        }
        if !self.has_own_authorities {
            self.client_authorities = Arc::clone(&context.client_authorities);
        }
    }

    /// Takes the certificates of other settings, and what OpenSSL keeps with them.
    pub(crate) fn take_certificates(&mut self, from: &Self) {
        self.identities.clone_from(&from.identities);
        self.current = from.current;
        self.verify_store.clone_from(&from.verify_store);
        self.chain_store.clone_from(&from.chain_store);
        self.schemes.clone_from(&from.schemes);
        self.client_schemes.clone_from(&from.client_schemes);
        self.security_level = from.security_level;
        self.certificate_flags = from.certificate_flags;
        self.callbacks.security = from.callbacks.security;
        self.callbacks.certificate = from.callbacks.certificate;
    }

    /// The certificate and key that were set last.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identities.get(self.current)
    }

    /// The identity for keys of this type, which becomes the current one.
    pub(crate) fn identity_for(&mut self, key_type: i32) -> &mut Identity {
        let found = self.identities.iter().position(|each| each.key_type == key_type);
        self.current = found.unwrap_or_else(|| {
            self.identities.push(Identity::new(key_type));
            self.identities.len().saturating_sub(1)
        });
        let current = self.current;
        self.identities.get_mut(current).expect("an index that was found").changed()
    }

    /// The profile of Suite B that restricts what is used.
    pub(crate) fn suite_b(&self) -> Option<&'static Profile> {
        suite_b::profile(self.certificate_flags)
    }

    /// Whether a bit of the options is set.
    pub(crate) fn has(&self, option: u64) -> bool {
        self.options & option != 0
    }
}

/// Debian's default.
const DEFAULT_SECURITY_LEVEL: c_int = 2;

/// OpenSSL's default.
const DEFAULT_MAX_CHAIN: usize = 100 << 10;

/// The lifetime of sessions in seconds.
pub(crate) const DEFAULT_TIMEOUT: c_long = 7200;
