//! The decisions that belong to the application, and how it takes each: inside the call, or later.
//!
//! Every decision is a trait with one method and borrowed arguments. A configuration slot holds
//! [`Policy::Here`] with an implementation, which answers at once and without a copy, or
//! [`Policy::Ask`], which makes [`crate::Handshake::advance`] return the question.
//! Must not know: how a handshake waits. Next: `handshake/question.rs`, the owned form of each question.

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, UnixTime};
use tercel_pki::Refusal;
use tercel_wire::SignatureScheme;

use super::credential::{Credential, CredentialRequest};
use super::pre_shared_key::PreSharedKey;
use super::pre_shared_key::request::PreSharedKeyRequest;
use super::server::ServerConfig;
use crate::record::limits;

/// Who answers: an object, at once, or the caller of the handshake, when it is ready.
#[derive(Debug)]
pub enum Policy<T: ?Sized> {
    /// This object answers without suspending the handshake.
    Here(Arc<T>),
    /// The handshake stops with [`crate::Next::Answer`].
    Ask,
}

impl<T: ?Sized> Clone for Policy<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Here(object) => Self::Here(Arc::clone(object)),
            Self::Ask => Self::Ask,
        }
    }
}

/// Chooses a server's configuration by what the client says first.
pub trait ChooseConfig: Send + Sync {
    /// The configuration to go on with; `None` refuses the connection.
    fn choose_config(&self, hello: &tercel_wire::ClientHello<'_>) -> Option<Arc<ServerConfig>>;
}

/// Chooses the certificate to show.
pub trait SelectCredential: Send + Sync {
    /// The credential to use; `None` if none fits: a client then sends an empty certificate,
    /// a server refuses.
    fn select_credential(&self, request: &CredentialRequest<'_>) -> Option<Arc<Credential>>;
}

/// Finds a server's external pre-shared key among those that a client offers. RFC 9846 4.3.11
///
/// A finder with one key, as a server of one tenant may have it:
///
/// ```
/// use std::sync::Arc;
/// use tercel::{FindPreSharedKey, PreSharedKey, PreSharedKeyRequest};
///
/// struct Tenant(Arc<PreSharedKey>);
///
/// impl FindPreSharedKey for Tenant {
///     fn find_pre_shared_key(
///         &self,
///         request: &PreSharedKeyRequest<'_>,
///     ) -> Option<Arc<PreSharedKey>> {
///         request.fits(&self.0).then(|| Arc::clone(&self.0))
///     }
///
///     fn knows(&self, _: &[u8], fingerprint: &[u8; 32]) -> bool {
///         *fingerprint == self.0.fingerprint()
///     }
/// }
/// ```
pub trait FindPreSharedKey: Send + Sync {
    /// The key to use; `None` if none is known, or a certificate is to be shown instead. One that the
    /// client did not offer, or whose hash fits no suite in common, counts as none: see
    /// [`PreSharedKeyRequest::fits`].
    ///
    /// An identity that is not plain can be taken apart with [`tercel_wire::ImportedIdentity::parse`], and the
    /// key for it made with [`PreSharedKey::import`].
    fn find_pre_shared_key(&self, request: &PreSharedKeyRequest<'_>) -> Option<Arc<PreSharedKey>>;

    /// Whether a session may be resumed that was made with the key of this
    /// [external identity](PreSharedKey::external_identity) and [fingerprint](PreSharedKey::fingerprint): yes,
    /// if a full handshake with this very key would succeed here now.
    ///
    /// Servers that share ticket keys or a store can open each other's sessions, so a wrong "yes" lets the
    /// client of another server in. The identity alone does not tell a key from the one that replaced it, or
    /// from another tenant's key of the same name; the fingerprint does. A removed key is not known any more.
    fn knows(&self, external_identity: &[u8], fingerprint: &[u8; 32]) -> bool;
}

/// Decides whether a peer is who it should be.
pub trait VerifyPeer: Send + Sync {
    /// `Ok` if the chain is to be trusted for this name and moment.
    ///
    /// # Errors
    /// A [`Refusal`] with the reason; it is kept and can be had from [`crate::Handshake::refusal`].
    fn verify_peer(&self, identity: &PeerIdentity<'_>) -> Result<(), Box<Refusal>>;

    /// A digest of all that this verifier decides by, or `None` if that cannot be told. What was accepted
    /// under one fingerprint is resumed only under the same.
    fn fingerprint(&self) -> Option<[u8; 32]> {
        None
    }

    /// DER names of the authorities trusted, sent to clients in `CertificateRequest`. RFC 9846 4.3.4
    fn authorities(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opens the connection.
    Client,
    /// The end that accepts it.
    Server,
}

/// What a peer showed of itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PeerIdentity<'a> {
    /// Which end the peer is.
    pub side: Side,
    /// The chain, leaf first; empty if there is a raw public key, and never otherwise.
    pub chain: &'a [CertificateDer<'a>],
    /// A SubjectPublicKeyInfo (DER) in place of a chain, which only a configuration can bring about
    /// that offers to accept it. RFC 7250
    pub raw_public_key: Option<&'a [u8]>,
    /// The name a server must have; `None` for clients.
    pub server_name: Option<&'a ServerName<'a>>,
    /// Whether a stapled OCSP response was asked for.
    pub ocsp_requested: bool,
    /// A stapled OCSP response. RFC 6066 8
    pub ocsp_response: Option<&'a [u8]>,
    /// The `SignedCertificateTimestampList` of the leaf. RFC 6962 3.3
    pub signed_certificate_timestamps: Option<&'a [u8]>,
    /// The configuration's idea of now.
    pub now: UnixTime,
}

/// The replay guard of early data. RFC 9846 8
pub trait AdmitEarlyData: Send + Sync {
    /// Whether early data under this unique value may be accepted. The answer is "yes" once only, for as
    /// long as a replay would count as fresh; a guard that cannot tell says "no".
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool;

    /// The widest [freshness window](crate::ServerConfigBuilder::freshness_window), in seconds, for which it
    /// remembers long enough. A configuration with a wider one is refused. Default: the widest there is.
    fn freshness_window(&self) -> u32 {
        limits::FRESHNESS_WINDOW
    }
}

/// Where the time comes from: the core has no clock of its own.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> UnixTime;
}

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        UnixTime::now()
    }
}

/// Receives secrets as they are made, in the labels of the NSS key log format. For debugging only:
/// whoever reads them reads the connection.
pub trait KeyLog: Send + Sync {
    /// One secret of the connection that `client_random` names.
    fn log(&self, label: &str, client_random: &[u8; 32], secret: &[u8]);
}

/// Every scheme that [`tercel_crypto`] can verify, best first.
pub(crate) const SIGNATURE_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::ECDSA_SECP521R1_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::MLDSA65,
    SignatureScheme::MLDSA87,
    SignatureScheme::MLDSA44,
];
