//! The client side of post-handshake authentication. RFC 9846 4.7.2

use std::collections::VecDeque;
use std::sync::Arc;

use tercel_crypto::{Digest, Hash, HashAlgorithm, Signer};
use tercel_wire::{CertificateRequest, CertificateVerify, HandshakeMessage, SignatureScheme};

use super::HandshakeContext;
use crate::auth::certificate_verify::content_to_sign;
use crate::auth::credential::certificate::{CertificateOptions, write};
use crate::auth::credential::request::credential_request;
use crate::auth::credential::{Credential, CredentialRequest, Key};
use crate::config::client::ClientConfig;
use crate::connection::link::Link;
use crate::error::{Error, InternalError, Misuse, PeerError};
use crate::keys::scheme;
use crate::policy::Policy;
use crate::record::limits;
use crate::side::Side;

/// A server's certificate request after the handshake. RFC 9846 4.7.2
///
/// The request has to be answered with [`crate::Sender::authenticate`] or, for a remote private
/// key, with [`Self::prepare`] and [`crate::Sender::authenticate_signed`]. Data can be sent and
/// received before the answer, and several requests can be answered in any order.
pub struct CertificateRequested(Box<Request>);

struct Request {
    /// The state of the handshake, with a transcript that ends with the request.
    context: HandshakeContext<ClientConfig>,
    /// The CertificateRequest message with its header.
    message: Vec<u8>,
    unanswered: UnansweredRef,
}

/// A reference that exists until the request is answered. The receiver counts these references.
type UnansweredRef = Arc<()>;

impl CertificateRequested {
    /// Returns the `certificate_request_context`, which identifies the request.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        self.parsed().map(|request| request.certificate_request_context).unwrap_or_default()
    }

    /// Returns the requirements on the credential. Each call parses the server's message again.
    #[must_use]
    pub fn request(&self) -> CredentialRequest<'_> {
        // The message was parsed when it was received, so the fallback is never used.
        let certificate_type = self.0.context.certificate_type;
        self.parsed()
            .and_then(|request| credential_request(&request, certificate_type))
            .unwrap_or_else(|| CredentialRequest::that_nothing_matches(Side::Client))
    }

    /// Returns the credential that the configuration selects, or `None` if no credential matches.
    ///
    /// # Errors
    /// [`Misuse::QuestionOpen`] if the configuration's credentials are [`Policy::Ask`]. Then the
    /// caller has to select a credential.
    pub fn select(&self) -> Result<Option<Arc<Credential>>, Error> {
        match &self.0.context.config.credentials {
            None => Ok(None),
            Some(Policy::Ask) => Err(Misuse::QuestionOpen.into()),
            Some(Policy::Here(policy)) => Ok(policy.select_credential(&self.request())),
        }
    }

    /// Creates the answer with this credential, but without the signature. After an error the
    /// request cannot be answered any more. [`Self::request`] returns the requirements on the
    /// credential.
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] if the credential does not match the request,
    /// [`InternalError::NotFips`] if the configuration has the option `fips` and the credential is
    /// not approved.
    pub fn prepare(self, credential: &Arc<Credential>) -> Result<UnsignedAuthentication, Error> {
        let scheme = self.request().scheme_for(credential);
        let scheme = scheme.ok_or(Misuse::InvalidArgument)?;
        self.0.context.config.common.check_fips(credential)?;
        let answer = self.certificate(Some(credential))?;
        let content = content_to_sign(Side::Client, &answer.transcript.current_digest()).to_vec();
        Ok(UnsignedAuthentication { answer, credential: Arc::clone(credential), scheme, content })
    }

    /// Creates the answer without a certificate.
    pub(crate) fn decline(self) -> Result<UnfinishedAnswer, Error> {
        self.certificate(None)
    }

    /// Creates the answer with a credential whose key is in this process.
    pub(crate) fn answer(self, credential: &Arc<Credential>) -> Result<UnfinishedAnswer, Error> {
        let Key::Here(signer) = credential.key() else { return Err(Misuse::KeyNotLocal.into()) };
        let unsigned = self.prepare(credential)?;
        let signature = unsigned.sign(signer.as_ref())?;
        unsigned.signed(&signature)
    }

    fn certificate(&self, credential: Option<&Arc<Credential>>) -> Result<UnfinishedAnswer, Error> {
        let mut messages = Vec::new();
        let credential = credential.map(Arc::as_ref);
        let request = self.parsed().ok_or(InternalError::Encode)?;
        let options = CertificateOptions::of_server(
            &request,
            &self.0.context.config.common.certificate_compression,
        );
        write(credential, self.context(), options, &mut messages)?;
        let Request { context, unanswered, .. } = self.0.as_ref();
        let mut transcript = context.transcript.clone();
        transcript.update(&messages);
        Ok(UnfinishedAnswer {
            messages,
            transcript,
            link: context.link.clone(),
            _unanswered: Arc::clone(unanswered),
        })
    }

    fn parsed(&self) -> Option<CertificateRequest<'_>> {
        CertificateRequest::parse(self.0.message.get(4..)?).ok()
    }
}

impl PartialEq for CertificateRequested {
    fn eq(&self, other: &Self) -> bool {
        self.0.message == other.0.message && self.0.context.link.is_same(&other.0.context.link)
    }
}

impl Eq for CertificateRequested {}

impl core::fmt::Debug for CertificateRequested {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CertificateRequested").field("request", &self.request()).finish()
    }
}

/// An answer to a [`CertificateRequested`] without its signature.
pub struct UnsignedAuthentication {
    answer: UnfinishedAnswer,
    credential: Arc<Credential>,
    scheme: SignatureScheme,
    content: Vec<u8>,
}

impl UnsignedAuthentication {
    /// Returns the credential whose private key has to sign.
    #[must_use]
    pub fn credential(&self) -> &Arc<Credential> {
        &self.credential
    }

    /// Returns the signature scheme.
    #[must_use]
    pub fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// Returns the content to sign, which is not hashed.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Signs the content.
    ///
    /// # Errors
    /// [`InternalError::SigningFailed`] if the signer fails.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Vec<u8>, Error> {
        scheme::sign(signer, self.scheme, &self.content)
    }

    pub(crate) fn signed(self, signature: &[u8]) -> Result<UnfinishedAnswer, Error> {
        let Self { mut answer, scheme, .. } = self;
        let start = answer.messages.len();
        CertificateVerify { algorithm: scheme, signature }.encode(&mut answer.messages)?;
        answer.transcript.update(answer.messages.get(start..).unwrap_or_default());
        Ok(answer)
    }
}

debug_fields!(UnsignedAuthentication: scheme);

/// An answer without its Finished, which depends on the traffic secret at the time of sending.
pub(crate) struct UnfinishedAnswer {
    /// Certificate and CertificateVerify.
    pub(crate) messages: Vec<u8>,
    pub(crate) transcript: Hash,
    pub(crate) link: Link,
    _unanswered: UnansweredRef,
}

/// The state of a client that offered post-handshake authentication.
pub(crate) struct ReceivedRequests {
    context: Box<HandshakeContext<ClientConfig>>,
    /// Digests of the `certificate_request_context` values of all requests.
    used: Vec<Digest>,
    unanswered: UnansweredRef,
    /// Requests that the caller has not received yet.
    requests: VecDeque<CertificateRequested>,
}

impl ReceivedRequests {
    pub(crate) fn new(context: Box<HandshakeContext<ClientConfig>>) -> Self {
        Self {
            context,
            used: Vec::new(),
            unanswered: UnansweredRef::default(),
            requests: VecDeque::new(),
        }
    }

    pub(crate) fn next(&mut self) -> Option<CertificateRequested> {
        self.requests.pop_front()
    }

    /// Whether all connections with these sessions authenticate as the same client, as the
    /// application states.
    pub(crate) fn has_session_context(&self) -> bool {
        !self.context.config.resumption.session_context.is_empty()
    }

    /// Handles a CertificateRequest message with its header.
    pub(crate) fn request(&mut self, message: &[u8]) -> Result<(), Error> {
        let request = CertificateRequest::parse(message.get(4..).unwrap_or_default())?;
        if request.extensions.signature_algorithms.is_none() {
            return Err(PeerError::MissingServerExtension.into());
        }
        // One of the references belongs to `self`.
        if Arc::strong_count(&self.unanswered) > limits::MAX_CERTIFICATE_REQUESTS
            || self.used.len() >= limits::MAX_CERTIFICATE_REQUESTS_IN_ALL
        {
            return Err(PeerError::TooManyCertificateRequests.into());
        }
        // The context of a request has to be unique in a connection. RFC 9846 4.4.2
        let digest = Hash::digest(HashAlgorithm::Sha256, &[request.certificate_request_context]);
        if self.used.contains(&digest) {
            return Err(PeerError::WrongCertificateContext.into());
        }
        self.used.push(digest);
        let mut context = HandshakeContext::clone(&self.context);
        context.transcript.update(message);
        let unanswered = Arc::clone(&self.unanswered);
        let requested = Request { context, message: message.to_vec(), unanswered };
        self.requests.push_back(CertificateRequested(Box::new(requested)));
        Ok(())
    }
}
