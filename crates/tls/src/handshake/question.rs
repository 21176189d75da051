//! Questions to the application, and its answers.
//!
//! A question owns its data and is `Send + 'static`, so that another thread or a remote service can
//! answer it. A question corresponds to a method of a trait that answers at once, such as
//! [`SelectCredential`].

mod tickets;

use core::time::Duration;
use std::sync::Arc;

use pki_types::{SubjectPublicKeyInfoDer, UnixTime};
use tercel_crypto::{HashAlgorithm, Signer};
use tercel_pki::{Refusal, ServerName};
use tercel_wire::{
    CertificateRequest, CertificateRequestTls12, CertificateType, ClientHello, HandshakeMessage,
    List, ProtocolVersion, SignatureScheme,
};
use zeroize::Zeroizing;

use super::negotiate;
use super::short_list::ShortList;
use crate::auth::certificate_types;
use crate::auth::credential::request::credential_request;
use crate::auth::credential::{Credential, CredentialRequest, PeerLists, SelectCredential};
use crate::auth::peer_certificate::PeerCertificate;
use crate::auth::verify_peer::{PeerIdentity, VerifyPeer};
use crate::config::server::{ChooseConfig, ServerConfig};
use crate::error::Error;
use crate::keys::scheme::{self, SchemeSet};
use crate::psk::PreSharedKey;
use crate::psk::request::{FindPreSharedKey, PreSharedKeyRequest};
use crate::record::joiner::Message;
use crate::resumption::session::client_session::ClientSession;
use crate::resumption::session::client_store::ClientSessionKey;
use crate::side::Side;

pub use tickets::{OpenTicketQuestion, SealTicketQuestion};

/// A decision that the application has to make before the handshake continues.
///
/// A configuration asks if it has [`Policy::Ask`](crate::Policy::Ask), a remote private key,
/// [`ClientAuth::Ask`](crate::server::ClientAuth::Ask),
/// [`ask_for_tickets`](crate::server::ServerConfigBuilder::ask_for_tickets) or
/// [`ask_for_session`](crate::client::ClientConfigBuilder::ask_for_session).
///
/// Each question has a method `answer`, which takes a value. Most questions also have a method
/// `resolve`, which takes the value from a policy. The result is passed to
/// [`crate::Handshake::answer`].
///
/// ```
/// use tercel::{Answer, Question, crypto::Signer, certificates::VerifyPeer};
///
/// fn answer(question: &Question, key: &dyn Signer, verifier: &dyn VerifyPeer) -> Option<Answer> {
///     match question {
///         Question::Sign(question) => Some(question.resolve(key)),
///         Question::VerifyPeer(question) => Some(question.resolve(verifier)),
///         Question::AdmitEarlyData(question) => Some(question.answer(false)),
///         _ => None, // no option of this configuration asks it
///     }
/// }
/// ```
#[non_exhaustive]
pub enum Question {
    /// Server: asks for the configuration for this ClientHello.
    ChooseConfig(ChooseConfigQuestion),
    /// Server: asks for the stored session with this ID.
    FindSession(FindSessionQuestion),
    /// Server: asks to remove a session for single use from its store.
    ClaimSession(ClaimSessionQuestion),
    /// Server: asks for the session in this ticket.
    OpenTicket(OpenTicketQuestion),
    /// Server: asks for a ticket that contains this session.
    SealTicket(SealTicketQuestion),
    /// Server: asks for the pre-shared key for one of these identities.
    FindPreSharedKey(FindPreSharedKeyQuestion),
    /// Server: asks whether early data is admitted.
    AdmitEarlyData(AdmitEarlyDataQuestion),
    /// Client: asks for a stored session of this server.
    FindClientSession(FindClientSessionQuestion),
    /// Asks for the credential to authenticate with.
    SelectCredential(SelectCredentialQuestion),
    /// Asks for a signature with a private key that is outside of the process.
    Sign(SignQuestion),
    /// Asks whether the peer is trusted.
    VerifyPeer(VerifyPeerQuestion),
    /// Server: asks whether a client is admitted that has no certificate.
    AdmitAnonymous(AdmitAnonymousQuestion),
}

/// The answer to a [`Question`]. It is created by the question's method `answer` and passed to
/// [`crate::Handshake::answer`]. A session in it is wiped, also if no handshake takes the answer.
pub struct Answer(pub(crate) AnswerValue);

impl core::fmt::Debug for Answer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Answer({:?})", self.0.kind())
    }
}

/// The value of an [`Answer`].
pub(crate) enum AnswerValue {
    Config(Option<Arc<ServerConfig>>),
    Session(Option<Zeroizing<Vec<u8>>>),
    Claimed(bool),
    OpenedTicket(Option<Zeroizing<Vec<u8>>>),
    /// The session in a ticket that is replaced.
    OpenedAndRenewed(Zeroizing<Vec<u8>>),
    SealedTicket(Option<Vec<u8>>),
    PreSharedKey(Option<Arc<PreSharedKey>>),
    EarlyData(bool),
    ClientSession(Option<ClientSession>),
    Credential(Option<Arc<Credential>>),
    /// There is no credential, because the requested server name is unknown.
    UnknownName,
    Signature(Option<Vec<u8>>),
    Peer(Result<(), Box<Refusal>>),
    Anonymous(bool),
}

/// The kind of a question and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    ChooseConfig,
    FindSession,
    ClaimSession,
    OpenTicket,
    SealTicket,
    FindPreSharedKey,
    AdmitEarlyData,
    FindClientSession,
    SelectCredential,
    Sign,
    VerifyPeer,
    AdmitAnonymous,
}

impl AnswerValue {
    pub(crate) fn kind(&self) -> QuestionKind {
        match self {
            Self::Config(_) => QuestionKind::ChooseConfig,
            Self::Session(_) => QuestionKind::FindSession,
            Self::Claimed(_) => QuestionKind::ClaimSession,
            Self::OpenedTicket(_) | Self::OpenedAndRenewed(_) => QuestionKind::OpenTicket,
            Self::SealedTicket(_) => QuestionKind::SealTicket,
            Self::PreSharedKey(_) => QuestionKind::FindPreSharedKey,
            Self::EarlyData(_) => QuestionKind::AdmitEarlyData,
            Self::ClientSession(_) => QuestionKind::FindClientSession,
            Self::Credential(_) | Self::UnknownName => QuestionKind::SelectCredential,
            Self::Signature(_) => QuestionKind::Sign,
            Self::Peer(_) => QuestionKind::VerifyPeer,
            Self::Anonymous(_) => QuestionKind::AdmitAnonymous,
        }
    }
}

impl Question {
    pub(crate) fn kind(&self) -> QuestionKind {
        match self {
            Self::ChooseConfig(_) => QuestionKind::ChooseConfig,
            Self::FindSession(_) => QuestionKind::FindSession,
            Self::ClaimSession(_) => QuestionKind::ClaimSession,
            Self::OpenTicket(_) => QuestionKind::OpenTicket,
            Self::SealTicket(_) => QuestionKind::SealTicket,
            Self::FindPreSharedKey(_) => QuestionKind::FindPreSharedKey,
            Self::AdmitEarlyData(_) => QuestionKind::AdmitEarlyData,
            Self::FindClientSession(_) => QuestionKind::FindClientSession,
            Self::SelectCredential(_) => QuestionKind::SelectCredential,
            Self::Sign(_) => QuestionKind::Sign,
            Self::VerifyPeer(_) => QuestionKind::VerifyPeer,
            Self::AdmitAnonymous(_) => QuestionKind::AdmitAnonymous,
        }
    }
}

/// Defines the methods of a question that create its answer. `$wrap` converts the value.
macro_rules! answered_by {
    ($question:ident, $variant:ident, $value:ty, $meaning:literal) => {
        answered_by!($question, $variant, $value, $meaning, core::convert::identity);
    };
    ($question:ident, $variant:ident, $value:ty, $meaning:literal, $wrap:expr) => {
        impl $question {
            #[doc = concat!("The answer: ", $meaning)]
            #[must_use]
            pub fn answer(&self, value: $value) -> Answer {
                Self::answer_from(value)
            }

            /// Creates the same answer as [`Self::answer`], for callers that no longer have the
            /// question.
            #[must_use]
            pub fn answer_from(value: $value) -> Answer {
                Answer(AnswerValue::$variant($wrap(value)))
            }
        }
    };
}

answered_by!(
    ChooseConfigQuestion,
    Config,
    Option<Arc<ServerConfig>>,
    "the configuration to continue with; `None` refuses the connection."
);
answered_by!(
    FindSessionQuestion,
    Session,
    Option<Vec<u8>>,
    "the bytes of [`NewSession::session`](crate::session::NewSession::session) stored under this id, or `None`.",
    wiped
);
answered_by!(
    ClaimSessionQuestion,
    Claimed,
    bool,
    "whether this answer's caller removed the session, so that no other connection resumes it."
);
answered_by!(
    OpenTicketQuestion,
    OpenedTicket,
    Option<Vec<u8>>,
    "the bytes of [`SealTicketQuestion::session`] in the ticket; `None` leads to a full handshake.",
    wiped
);
answered_by!(
    SealTicketQuestion,
    SealedTicket,
    Option<Vec<u8>>,
    "the ticket, at most 65,535 bytes; with `None`, or another length, the client gets no ticket."
);
answered_by!(
    FindPreSharedKeyQuestion,
    PreSharedKey,
    Option<Arc<PreSharedKey>>,
    "the pre-shared key, or `None` if none of those offered is known."
);
answered_by!(AdmitEarlyDataQuestion, EarlyData, bool, "whether early data is admitted.");
answered_by!(
    FindClientSessionQuestion,
    ClientSession,
    Option<ClientSession>,
    "the session, which is removed from its store, or `None`."
);
answered_by!(
    SelectCredentialQuestion,
    Credential,
    Option<Arc<Credential>>,
    "the credential, or `None` if none fits."
);
answered_by!(
    SignQuestion,
    Signature,
    Option<Vec<u8>>,
    "the signature, or `None` if signing failed."
);
answered_by!(
    VerifyPeerQuestion,
    Peer,
    Result<(), Box<Refusal>>,
    "whether the peer is trusted, or why not."
);
answered_by!(
    AdmitAnonymousQuestion,
    Anonymous,
    bool,
    "whether the client is admitted; `false` refuses it as `ClientAuth::Required` does."
);

/// Makes a session wipe itself.
fn wiped(session: Option<Vec<u8>>) -> Option<Zeroizing<Vec<u8>>> {
    session.map(Zeroizing::new)
}

/// A session ID, which needs no allocation, or a ticket of any length.
pub(crate) type SessionIdentity = ShortList<u8, 32>;

/// Parses the ClientHello in a message that was parsed before the question was asked. Therefore the
/// default is unreachable. It avoids a `Result` for an error that cannot occur.
fn hello(message: &Message) -> ClientHello<'_> {
    ClientHello::parse(message.body()).unwrap_or_default()
}

/// Asks for the configuration for a ClientHello. See [`Question::ChooseConfig`].
///
/// ```
/// # use std::sync::Arc;
/// # use tercel::{Error, Handshake, ServerConfig, questions::ChooseConfigQuestion};
/// # fn run(handshake: &mut Handshake, question: ChooseConfigQuestion,
/// #     http: Arc<ServerConfig>, other: Arc<ServerConfig>) -> Result<(), Error> {
/// let offers_alpn = question.client_hello().extensions.alpn.is_some();
/// handshake.answer(question.answer(Some(if offers_alpn { http } else { other })))?;
/// # Ok(()) }
/// ```
pub struct ChooseConfigQuestion {
    pub(crate) hello: Message,
}

impl ChooseConfigQuestion {
    /// Returns the bytes of the ClientHello, without the header of the handshake message.
    #[must_use]
    pub fn client_hello_bytes(&self) -> &[u8] {
        self.hello.body()
    }

    /// Returns the ClientHello. Each call parses it again.
    #[must_use]
    pub fn client_hello(&self) -> ClientHello<'_> {
        hello(&self.hello)
    }

    /// Answers with the decision of `policy`.
    #[must_use]
    pub fn resolve(&self, policy: &dyn ChooseConfig) -> Answer {
        self.answer(policy.choose_config(&self.client_hello()))
    }
}

/// Asks for a stored session, which stays in its store. See [`Question::FindSession`].
///
/// ```
/// # use std::collections::HashMap;
/// # use tercel::{Error, Handshake, questions::FindSessionQuestion};
/// # fn run(handshake: &mut Handshake, question: FindSessionQuestion,
/// #     sessions: &HashMap<Vec<u8>, Vec<u8>>) -> Result<(), Error> {
/// let session = sessions.get(question.identity()).cloned();
/// handshake.answer(question.answer(session))?;
/// # Ok(()) }
/// ```
pub struct FindSessionQuestion {
    pub(crate) identity: SessionIdentity,
    pub(crate) single_use: bool,
}

impl FindSessionQuestion {
    /// Returns the session ID or ticket.
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }

    /// Returns whether the session is for single use (TLS 1.3). The session must not be removed
    /// from its store yet, because any client that has seen the identity can send it. A
    /// [`ClaimSessionQuestion`] follows if the client has the session's key.
    #[must_use]
    pub fn is_single_use(&self) -> bool {
        self.single_use
    }
}

/// Asks to remove a session for single use from its store, after the client has proved that it has
/// the session's key. See [`Question::ClaimSession`].
///
/// If several connections ask this for one session, only one answer may be `true`; the others make
/// a full handshake. RFC 9846 8.1
///
/// ```
/// # use std::collections::HashMap;
/// # use tercel::{Error, Handshake, questions::ClaimSessionQuestion};
/// # fn run(handshake: &mut Handshake, question: ClaimSessionQuestion,
/// #     sessions: &mut HashMap<Vec<u8>, Vec<u8>>) -> Result<(), Error> {
/// let claimed = sessions.remove(question.identity()).is_some();
/// handshake.answer(question.answer(claimed))?;
/// # Ok(()) }
/// ```
pub struct ClaimSessionQuestion {
    pub(crate) identity: SessionIdentity,
}

impl ClaimSessionQuestion {
    /// Returns the ticket, which is the ID of the session.
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        &self.identity
    }
}

/// Asks for a pre-shared key. See [`Question::FindPreSharedKey`].
///
/// ```
/// # use std::sync::Arc;
/// # use tercel::{Error, Handshake, psk::PreSharedKey, questions::FindPreSharedKeyQuestion};
/// # fn run(handshake: &mut Handshake, question: FindPreSharedKeyQuestion,
/// #     known: &[Arc<PreSharedKey>]) -> Result<(), Error> {
/// let request = question.request();
/// let key = request.identities().find_map(|identity| {
///     known.iter().find(|key| key.identity() == identity && request.fits(key))
/// });
/// handshake.answer(question.answer(key.cloned()))?;
/// # Ok(()) }
/// ```
pub struct FindPreSharedKeyQuestion {
    pub(crate) hello: Message,
    pub(crate) hashes: Vec<HashAlgorithm>,
}

impl FindPreSharedKeyQuestion {
    /// Returns the identities that the client offers, and the requirements on a key. Each call
    /// parses the ClientHello again.
    #[must_use]
    pub fn request(&self) -> PreSharedKeyRequest<'_> {
        negotiate::pre_shared_key_request(&hello(&self.hello), &self.hashes)
    }

    /// Answers with the decision of `policy`.
    #[must_use]
    pub fn resolve(&self, policy: &dyn FindPreSharedKey) -> Answer {
        self.answer(policy.find_pre_shared_key(&self.request()))
    }
}

/// Asks whether early data is admitted. See [`Question::AdmitEarlyData`].
///
/// ```
/// # use tercel::{Error, Handshake, questions::AdmitEarlyDataQuestion, session::AdmitEarlyData};
/// # fn run(handshake: &mut Handshake, question: AdmitEarlyDataQuestion,
/// #     guard: &dyn AdmitEarlyData) -> Result<(), Error> {
/// let admitted = guard.admit_early_data(question.unique(), question.checked_at());
/// handshake.answer(question.answer(admitted))?;
/// # Ok(()) }
/// ```
pub struct AdmitEarlyDataQuestion {
    pub(crate) unique: Vec<u8>,
    pub(crate) checked_at: UnixTime,
    pub(crate) freshness_window: Duration,
}

impl AdmitEarlyDataQuestion {
    /// Returns the time, by the configuration's clock, at which the early data counted as fresh. A
    /// guard that answers later or uses another clock has to account for the difference.
    /// RFC 9846 8.3
    #[must_use]
    pub fn checked_at(&self) -> UnixTime {
        self.checked_at
    }

    /// Returns the [freshness window](crate::server::ServerConfigBuilder::freshness_window) of the
    /// configuration. [`freshness_period`](crate::session::ReplayGuard::freshness_period) returns
    /// the time for which the value of [`Self::unique`] has to be remembered.
    #[must_use]
    pub fn freshness_window(&self) -> Duration {
        self.freshness_window
    }

    /// Returns a value that identifies the ClientHello. The guard must admit it only once, because
    /// a replayed ClientHello has the same value.
    #[must_use]
    pub fn unique(&self) -> &[u8] {
        &self.unique
    }
}

/// Asks for a stored session to offer to the server. See [`Question::FindClientSession`].
///
/// ```
/// # use std::collections::HashMap;
/// # use tercel::{Error, Handshake, questions::FindClientSessionQuestion};
/// # use tercel::session::{ClientSession, ClientSessionKey};
/// # fn run(handshake: &mut Handshake, question: FindClientSessionQuestion,
/// #     sessions: &mut HashMap<ClientSessionKey, Vec<u8>>) -> Result<(), Error> {
/// let bytes = sessions.remove(question.key());
/// let session = bytes.and_then(|bytes| ClientSession::from_bytes(&bytes));
/// handshake.answer(question.answer(session))?;
/// # Ok(()) }
/// ```
pub struct FindClientSessionQuestion {
    pub(crate) key: ClientSessionKey,
}

impl FindClientSessionQuestion {
    /// Returns the key under which the store received the server's sessions. A session of
    /// another port, or of a configuration that trusts other servers, is not offered, nor one of
    /// another name, unless the server allows its use under several names. A session has to be
    /// removed when it is used, because a second use would let observers link the connections.
    /// RFC 9846 C.4
    #[must_use]
    pub fn key(&self) -> &ClientSessionKey {
        &self.key
    }
}

/// The message from which a credential request is made.
pub(crate) enum RequestSource {
    /// Server: the ClientHello, whose suites determine the usable keys.
    Hello { hello: Message, version: ProtocolVersion, config: Arc<ServerConfig> },
    /// Client: a `CertificateRequest`.
    Request { message: Message, version: ProtocolVersion, certificate_type: CertificateType },
}

/// Asks for the credential to authenticate with. See [`Question::SelectCredential`].
///
/// ```
/// # use std::sync::Arc;
/// # use tercel::{Credential, Error, Handshake, questions::SelectCredentialQuestion};
/// # fn run(handshake: &mut Handshake, question: SelectCredentialQuestion,
/// #     find: impl Fn(&str) -> Option<Arc<Credential>>) -> Result<(), Error> {
/// let request = question.request();
/// let found = request.server_name.and_then(find);
/// let usable = found.filter(|credential| request.scheme_for(credential).is_some());
/// handshake.answer(question.answer(usable))?;
/// # Ok(()) }
/// ```
pub struct SelectCredentialQuestion {
    pub(crate) source: RequestSource,
}

impl SelectCredentialQuestion {
    /// Returns the requirements on the credential.
    ///
    /// Each call parses the peer's message, which may have 64 KB, so call it once and not for each
    /// credential.
    #[must_use]
    pub fn request(&self) -> CredentialRequest<'_> {
        // The message was parsed before the question was created, so the default is unreachable.
        let (request, side) = match &self.source {
            RequestSource::Hello { hello: message, version, config } => {
                (negotiate::credential_request(&hello(message), *version, config), Side::Server)
            }
            RequestSource::Request { message, version, certificate_type } => {
                (request_from_message(message.body(), *version, *certificate_type), Side::Client)
            }
        };
        request.unwrap_or_else(|| CredentialRequest::that_nothing_matches(side))
    }

    /// Answers with the decision of `policy`.
    #[must_use]
    pub fn resolve(&self, policy: &dyn SelectCredential) -> Answer {
        let request = self.request();
        match policy.select_credential(&request) {
            None if policy.is_unknown_name(&request) => self.answer_unknown_name(),
            selected => self.answer(selected),
        }
    }

    /// Server: answers that there is no credential, because the requested server name is unknown.
    /// See [`SelectCredential::is_unknown_name`]. On a client, and if no name is requested, the
    /// answer only means that there is no credential.
    #[must_use]
    pub fn answer_unknown_name(&self) -> Answer {
        Answer(AnswerValue::UnknownName)
    }
}

/// Returns the credential request in the body of a server's `CertificateRequest`.
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
    let certificate_types = certificate_types::list_of(certificate_type);
    Some(CredentialRequest {
        side: Side::Client,
        version,
        server_name: None,
        alpn: None,
        cipher_suites: List::new(&[]),
        known: PeerLists::of(SchemeSet::of(schemes), None, None, certificate_types),
        signature_schemes: schemes,
        certificate_signature_schemes: None,
        groups: None,
        certificate_types,
        key_kinds: negotiate::key_kinds_of(&request),
        client_certificate_types: Some(request.certificate_types),
        authorities: Some(request.certificate_authorities),
    })
}

/// Asks for a signature. See [`Question::Sign`].
///
/// [`Self::sign`] and [`Self::resolve`] sign with a [`Signer`]. A service that is none gets the
/// scheme and the content:
///
/// ```
/// # use tercel::{Error, Handshake, questions::SignQuestion, wire::SignatureScheme};
/// # fn run(handshake: &mut Handshake, question: SignQuestion,
/// #     vault: impl Fn(SignatureScheme, &[u8]) -> Option<Vec<u8>>) -> Result<(), Error> {
/// let signature = vault(question.scheme(), question.content());
/// handshake.answer(question.answer(signature))?;
/// # Ok(()) }
/// ```
pub struct SignQuestion {
    pub(crate) credential: Arc<Credential>,
    pub(crate) scheme: SignatureScheme,
    pub(crate) content: Vec<u8>,
}

impl SignQuestion {
    /// Returns the credential whose key has to sign.
    #[must_use]
    pub fn credential(&self) -> &Arc<Credential> {
        &self.credential
    }

    /// Returns the scheme to sign with.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// Returns the bytes to sign. Hashing them is part of the scheme.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Signs the content with the scheme, for callers that pass on a signature, such as another
    /// thread or process. [`Self::resolve`] makes the answer.
    ///
    /// # Errors
    /// [`InternalError::SigningFailed`](crate::error::InternalError::SigningFailed) if the signer
    /// fails.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Vec<u8>, Error> {
        scheme::sign(signer, self.scheme, &self.content)
    }

    /// Answers with a signature by `signer`.
    #[must_use]
    pub fn resolve(&self, signer: &dyn Signer) -> Answer {
        self.answer(self.sign(signer).ok())
    }
}

/// Asks whether the peer is trusted. See [`Question::VerifyPeer`].
///
/// ```
/// # use tercel::{Error, Handshake, certificates::VerifyPeer, questions::VerifyPeerQuestion};
/// # fn run(handshake: &mut Handshake, question: VerifyPeerQuestion, verifier: &dyn VerifyPeer)
/// #     -> Result<(), Error> {
/// let trusted = verifier.verify_peer(&question.identity());
/// handshake.answer(question.answer(trusted))?;
/// # Ok(()) }
/// ```
pub struct VerifyPeerQuestion {
    certificate: PeerCertificate,
    server_name: Option<ServerName<'static>>,
    now: UnixTime,
    resumed: bool,
}

impl VerifyPeerQuestion {
    pub(crate) fn of(peer: &PeerIdentity<'_>) -> Self {
        let key = |key: &[u8]| SubjectPublicKeyInfoDer::from(key.to_vec());
        let chain = peer.chain.iter().map(|certificate| certificate.clone().into_owned());
        let certificate = PeerCertificate {
            side: peer.side,
            chain: chain.collect(),
            raw_public_key: peer.raw_public_key.map(key),
            ocsp_requested: peer.ocsp_requested,
            ocsp_response: peer.ocsp_response.map(<[u8]>::to_vec),
            signed_certificate_timestamps: peer.signed_certificate_timestamps.map(<[u8]>::to_vec),
        };
        let server_name = peer.server_name.map(ServerName::to_owned);
        Self { certificate, server_name, now: peer.now, resumed: peer.resumed }
    }

    /// Returns the identity that the peer presented.
    #[must_use]
    pub fn identity(&self) -> PeerIdentity<'_> {
        let identity = self.certificate.identity(self.server_name.as_ref(), self.now);
        PeerIdentity { resumed: self.resumed, ..identity }
    }

    /// Answers with the decision of `policy`.
    #[must_use]
    pub fn resolve(&self, policy: &dyn VerifyPeer) -> Answer {
        self.answer(policy.verify_peer(&self.identity()))
    }
}

/// Asks whether a client is admitted that answered the request for a certificate with an empty
/// Certificate message. Nothing was sent to it since. See [`Question::AdmitAnonymous`].
/// RFC 9846 4.5.1.3, RFC 5246 7.4.6
///
/// ```
/// # use tercel::{Error, Handshake, questions::AdmitAnonymousQuestion};
/// # fn run(handshake: &mut Handshake, question: AdmitAnonymousQuestion, is_public: bool)
/// #     -> Result<(), Error> {
/// handshake.answer(question.answer(is_public))?;
/// # Ok(()) }
/// ```
#[non_exhaustive]
pub struct AdmitAnonymousQuestion;

impl core::fmt::Debug for Question {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.kind().fmt(f)
    }
}
