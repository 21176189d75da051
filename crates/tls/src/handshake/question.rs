//! The handshake's stops for the application: owned questions, and the answers to them.
//!
//! A question owns its data and is `Send + 'static`: it can travel to another thread or wait for a
//! remote service. Each corresponds to one trait of [`crate::config::policy`].
//! Must not know: how the handshake waits. Next: [`super::flow`].

use std::sync::Arc;

use pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::HashAlgorithm;
use tercel_pki::Refusal;
use tercel_wire::{
    CertificateRequest, CertificateRequestTls12, CertificateType, ClientHello, HandshakeMessage,
    ProtocolVersion, SignatureScheme,
};

use crate::config::certificate_types;
use crate::config::credential::{Credential, CredentialRequest, Known};
use crate::config::policy::{
    ChooseConfig, FindPreSharedKey, PeerIdentity, SelectCredential, Side, VerifyPeer,
};
use crate::config::pre_shared_key::PreSharedKey;
use crate::config::pre_shared_key::request::PreSharedKeyRequest;
use crate::config::scheme::SchemeSet;
use crate::config::server::ServerConfig;
use crate::connection::authentication::certificate::credential_request;
use crate::handshake::flow::Message;
use crate::handshake::hello::negotiate;
use crate::handshake::pre_shared_key;

/// What the handshake wants to know before it goes on.
#[non_exhaustive]
pub enum Question {
    /// Which configuration? [`Answer::Config`]
    ChooseConfig(ChooseConfigQuestion),
    /// Is this session known? [`Answer::Session`]
    FindSession(FindSessionQuestion),
    /// Which of these pre-shared keys is known? [`Answer::PreSharedKey`]
    FindPreSharedKey(FindPreSharedKeyQuestion),
    /// May early data be accepted? [`Answer::EarlyData`]
    AdmitEarlyData(AdmitEarlyDataQuestion),
    /// Which certificate? [`Answer::Credential`]
    SelectCredential(SelectCredentialQuestion),
    /// Sign this, please. [`Answer::Signature`]
    Sign(SignQuestion),
    /// Is this peer to be trusted? [`Answer::Peer`]
    VerifyPeer(VerifyPeerQuestion),
}

/// The answer to a [`Question`], handed to [`crate::Handshake::answer`].
#[non_exhaustive]
pub enum Answer {
    /// The configuration to go on with; `None` refuses the connection.
    Config(Option<Arc<ServerConfig>>),
    /// The stored session, or `None`.
    Session(Option<Vec<u8>>),
    /// The pre-shared key, or `None` if none is known.
    PreSharedKey(Option<Arc<PreSharedKey>>),
    /// Whether early data is admitted.
    EarlyData(bool),
    /// The credential, or `None` if none fits.
    Credential(Option<Arc<Credential>>),
    /// The signature, or `None` if signing failed.
    Signature(Option<Vec<u8>>),
    /// Whether the peer is trusted.
    Peer(Result<(), Box<Refusal>>),
}

fn parse(hello: &Message) -> Option<ClientHello<'_>> {
    ClientHello::parse(hello.body()).ok()
}

/// See [`Question::ChooseConfig`].
pub struct ChooseConfigQuestion {
    pub(crate) hello: Message,
}

impl ChooseConfigQuestion {
    /// What the client said. `None` never occurs: the hello was parsed before the question was asked.
    #[must_use]
    pub fn client_hello(&self) -> Option<ClientHello<'_>> {
        parse(&self.hello)
    }

    /// Answers as `policy` would.
    #[must_use]
    pub fn resolve(&self, policy: &dyn ChooseConfig) -> Answer {
        Answer::Config(self.client_hello().and_then(|hello| policy.choose_config(&hello)))
    }
}

/// See [`Question::FindSession`].
pub struct FindSessionQuestion {
    pub(crate) identity: Vec<u8>,
    pub(crate) single_use: bool,
}

impl FindSessionQuestion {
    /// The session id or ticket.
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// Whether the session must be taken from its store, so that no one else gets it (TLS 1.3).
    #[must_use]
    pub fn is_single_use(&self) -> bool {
        self.single_use
    }
}

/// See [`Question::FindPreSharedKey`].
pub struct FindPreSharedKeyQuestion {
    pub(crate) hello: Message,
    pub(crate) hashes: Vec<HashAlgorithm>,
}

impl FindPreSharedKeyQuestion {
    /// What the client offers. `None` never occurs: the hello was parsed before the question was asked.
    #[must_use]
    pub fn request(&self) -> Option<PreSharedKeyRequest<'_>> {
        pre_shared_key::request(&parse(&self.hello)?, &self.hashes)
    }

    /// Answers as `policy` would.
    #[must_use]
    pub fn resolve(&self, policy: &dyn FindPreSharedKey) -> Answer {
        Answer::PreSharedKey(
            self.request().and_then(|request| policy.find_pre_shared_key(&request)),
        )
    }
}

/// See [`Question::AdmitEarlyData`].
pub struct AdmitEarlyDataQuestion {
    pub(crate) unique: Vec<u8>,
    pub(crate) judged_at: UnixTime,
    pub(crate) freshness_window: u32,
}

impl AdmitEarlyDataQuestion {
    /// When it was found to be fresh, by the configuration's clock. A guard that answers later, or by another clock,
    /// has to take the difference into account. RFC 9846 8.3
    #[must_use]
    pub fn judged_at(&self) -> UnixTime {
        self.judged_at
    }

    /// The [freshness window](crate::ServerConfigBuilder::freshness_window) that it was judged by, in seconds: for
    /// [twice as long](crate::ReplayGuard::fresh_for) the value has to be remembered.
    #[must_use]
    pub fn freshness_window(&self) -> u32 {
        self.freshness_window
    }

    /// The value that must be admitted once only.
    #[must_use]
    pub fn unique(&self) -> &[u8] {
        &self.unique
    }
}

/// Where a credential request comes from.
pub(crate) enum RequestSource {
    /// A server looks at the hello; the suites decide which keys fit.
    Hello { hello: Message, version: ProtocolVersion, config: Arc<ServerConfig> },
    /// A client looks at a `CertificateRequest`.
    Request { message: Message, version: ProtocolVersion, certificate_type: CertificateType },
}

/// See [`Question::SelectCredential`].
pub struct SelectCredentialQuestion {
    pub(crate) source: RequestSource,
}

impl SelectCredentialQuestion {
    /// What the credential must fit. `None` never occurs: the message was parsed before.
    ///
    /// Each call reads the peer's message again, which may have 64 KB: call it once, not for each credential.
    #[must_use]
    pub fn request(&self) -> Option<CredentialRequest<'_>> {
        match &self.source {
            RequestSource::Hello { hello, version, config } => {
                negotiate::credential_request(&parse(hello)?, *version, config)
            }
            RequestSource::Request { message, version, certificate_type } => {
                request_from_message(message.body(), *version, *certificate_type)
            }
        }
    }

    /// Answers as `policy` would.
    #[must_use]
    pub fn resolve(&self, policy: &dyn SelectCredential) -> Answer {
        Answer::Credential(self.request().and_then(|request| policy.select_credential(&request)))
    }
}

/// The credential request in the body of a server's `CertificateRequest`.
pub(crate) fn request_from_message(
    body: &[u8],
    version: ProtocolVersion,
    certificate_type: CertificateType,
) -> Option<CredentialRequest<'_>> {
    if version == ProtocolVersion::TLS1_3 {
        return credential_request(&CertificateRequest::parse(body).ok()?, certificate_type);
    }
    let request = CertificateRequestTls12::parse(body).ok()?;
    let schemes = request.supported_signature_algorithms;
    let certificate_types = certificate_types::only(certificate_type);
    Some(CredentialRequest {
        side: Side::Client,
        version,
        server_name: None,
        known: Known::of(SchemeSet::of(schemes), None, None, certificate_types),
        signature_schemes: schemes,
        certificate_signature_schemes: None,
        groups: None,
        certificate_types,
        key_kinds: negotiate::key_kinds_of(&request),
        client_certificate_types: Some(request.certificate_types),
        authorities: Some(request.certificate_authorities),
    })
}

/// See [`Question::Sign`].
pub struct SignQuestion {
    pub(crate) credential: Arc<Credential>,
    pub(crate) scheme: SignatureScheme,
    pub(crate) content: Vec<u8>,
}

impl SignQuestion {
    /// The credential whose key is to sign.
    #[must_use]
    pub fn credential(&self) -> &Arc<Credential> {
        &self.credential
    }

    /// The scheme to sign with.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// The bytes to sign; hashing them is part of the scheme.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Answers with a key at hand.
    #[must_use]
    pub fn resolve(&self, signer: &dyn tercel_crypto::Signer) -> Answer {
        let algorithm = crate::config::scheme::algorithm(self.scheme);
        Answer::Signature(algorithm.and_then(|a| signer.sign(a, &self.content).ok()))
    }
}

/// See [`Question::VerifyPeer`].
pub struct VerifyPeerQuestion {
    pub(crate) side: Side,
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    pub(crate) server_name: Option<ServerName<'static>>,
    pub(crate) ocsp_requested: bool,
    pub(crate) ocsp_response: Option<Vec<u8>>,
    pub(crate) signed_certificate_timestamps: Option<Vec<u8>>,
    pub(crate) now: UnixTime,
}

impl VerifyPeerQuestion {
    pub(crate) fn of(shown: &PeerIdentity<'_>) -> Self {
        let key = |key: &[u8]| SubjectPublicKeyInfoDer::from(key.to_vec());
        Self {
            side: shown.side,
            chain: shown.chain.iter().map(|certificate| certificate.clone().into_owned()).collect(),
            raw_public_key: shown.raw_public_key.map(key),
            server_name: shown.server_name.map(ServerName::to_owned),
            ocsp_requested: shown.ocsp_requested,
            ocsp_response: shown.ocsp_response.map(<[u8]>::to_vec),
            signed_certificate_timestamps: shown.signed_certificate_timestamps.map(<[u8]>::to_vec),
            now: shown.now,
        }
    }

    /// What the peer showed.
    #[must_use]
    pub fn identity(&self) -> PeerIdentity<'_> {
        PeerIdentity {
            side: self.side,
            chain: &self.chain,
            raw_public_key: self.raw_public_key.as_deref(),
            server_name: self.server_name.as_ref(),
            ocsp_requested: self.ocsp_requested,
            ocsp_response: self.ocsp_response.as_deref(),
            signed_certificate_timestamps: self.signed_certificate_timestamps.as_deref(),
            now: self.now,
        }
    }

    /// Answers as `policy` would.
    #[must_use]
    pub fn resolve(&self, policy: &dyn VerifyPeer) -> Answer {
        Answer::Peer(policy.verify_peer(&self.identity()))
    }
}

impl core::fmt::Debug for Question {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::ChooseConfig(_) => "ChooseConfig",
            Self::FindSession(_) => "FindSession",
            Self::FindPreSharedKey(_) => "FindPreSharedKey",
            Self::AdmitEarlyData(_) => "AdmitEarlyData",
            Self::SelectCredential(_) => "SelectCredential",
            Self::Sign(_) => "Sign",
            Self::VerifyPeer(_) => "VerifyPeer",
        })
    }
}
