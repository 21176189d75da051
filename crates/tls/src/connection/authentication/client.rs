//! The client of authentication after the handshake: it is asked, and answers. RFC 9846 4.7.2
//!
//! Must not know: records, and which key is the current one: that is the sender's.
//! Next: [`super::server`], `connection/sender.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use tercel_crypto::{Digest, Hash, HashAlgorithm, Signer};
use tercel_wire::{CertificateRequest, CertificateVerify, HandshakeMessage, SignatureScheme};

use super::HandshakeContext;
use super::certificate::{self, Wishes, content_to_sign};
use crate::config::client::ClientConfig;
use crate::config::credential::{Credential, CredentialRequest, Key};
use crate::config::policy::{Policy, Side};
use crate::config::scheme;
use crate::connection::link::Link;
use crate::error::{Error, Local, Misuse, Peer};
use crate::record::limits;

/// A server's request for the client's certificate after the handshake. RFC 9846 4.7.2
///
/// It must be answered, with [`crate::Sender::authenticate`] or, if the key is elsewhere, with
/// [`Self::prepare`] and [`crate::Sender::authenticate_signed`]. There is no hurry: data may go both
/// ways in the meantime, and of several requests any can be answered first.
pub struct CertificateRequested(Box<Requested>);

struct Requested {
    /// The transcript ends with the request.
    context: HandshakeContext<ClientConfig>,
    /// The CertificateRequest, header included.
    message: Vec<u8>,
    open: Open,
}

/// Lives as long as a request is not answered, so that the receiver can count those.
type Open = Arc<()>;

impl CertificateRequested {
    /// The `certificate_request_context`, which tells requests apart.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        self.parsed().map(|request| request.certificate_request_context).unwrap_or_default()
    }

    /// What the credential must fit. `None` never occurs: the message was parsed before.
    #[must_use]
    pub fn request(&self) -> Option<CredentialRequest<'_>> {
        certificate::credential_request(&self.parsed()?, self.0.context.certificate_type)
    }

    /// The credential that the configuration chooses; `None` if it has none that fits.
    ///
    /// # Errors
    /// [`Misuse::QuestionOpen`] if the configuration asks: then it is for the caller to choose.
    pub fn select(&self) -> Result<Option<Arc<Credential>>, Error> {
        match &self.0.context.config.credentials {
            None => Ok(None),
            Some(Policy::Ask) => Err(Misuse::QuestionOpen.into()),
            Some(Policy::Here(policy)) => {
                Ok(self.request().and_then(|request| policy.select_credential(&request)))
            }
        }
    }

    /// The answer with this credential, as far as it goes without the private key. If that fails, the
    /// request stays without an answer: ask [`Self::request`] what fits.
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] if the credential does not fit the request.
    pub fn prepare(self, credential: &Arc<Credential>) -> Result<UnsignedAuthentication, Error> {
        let scheme = self.request().and_then(|request| request.scheme_for(credential));
        let scheme = scheme.ok_or(Misuse::InvalidArgument)?;
        let answer = self.certificate(Some(credential))?;
        let content = content_to_sign(Side::Client, &answer.transcript.fork_finish()).to_vec();
        Ok(UnsignedAuthentication { answer, credential: Arc::clone(credential), scheme, content })
    }

    /// The answer of a client that shows no certificate.
    pub(crate) fn decline(self) -> Result<Answer, Error> {
        self.certificate(None)
    }

    /// The answer with a credential whose key is at hand.
    pub(crate) fn answer(self, credential: &Arc<Credential>) -> Result<Answer, Error> {
        let Key::Here(signer) = credential.key() else { return Err(Misuse::KeyElsewhere.into()) };
        let unsigned = self.prepare(credential)?;
        let signature = unsigned.sign(signer.as_ref())?;
        unsigned.signed(&signature)
    }

    fn certificate(&self, credential: Option<&Arc<Credential>>) -> Result<Answer, Error> {
        let mut messages = Vec::new();
        let credential = credential.map(Arc::as_ref);
        let request = self.parsed().ok_or(Local::Encode)?;
        let wishes = Wishes::of_server(&request, &self.0.context.config);
        certificate::write(credential, self.context(), wishes, &mut messages)?;
        let Requested { context, open, .. } = self.0.as_ref();
        let mut transcript = context.transcript.clone();
        transcript.update(&messages);
        Ok(Answer { messages, transcript, link: context.link.clone(), _open: Arc::clone(open) })
    }

    fn parsed(&self) -> Option<CertificateRequest<'_>> {
        CertificateRequest::parse(self.0.message.get(4..)?).ok()
    }
}

impl PartialEq for CertificateRequested {
    fn eq(&self, other: &Self) -> bool {
        self.0.message == other.0.message && self.0.context.link.is(&other.0.context.link)
    }
}

impl Eq for CertificateRequested {}

impl core::fmt::Debug for CertificateRequested {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CertificateRequested").field("request", &self.request()).finish()
    }
}

/// An answer to a [`CertificateRequested`] that lacks its signature.
pub struct UnsignedAuthentication {
    answer: Answer,
    credential: Arc<Credential>,
    scheme: SignatureScheme,
    content: Vec<u8>,
}

impl UnsignedAuthentication {
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

    /// The signature of a key at hand.
    ///
    /// # Errors
    /// [`Local::SigningFailed`] if the signer fails.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Vec<u8>, Error> {
        let algorithm = scheme::algorithm(self.scheme).ok_or(Local::SigningFailed)?;
        signer.sign(algorithm, &self.content).map_err(|_| Local::SigningFailed.into())
    }

    pub(crate) fn signed(self, signature: &[u8]) -> Result<Answer, Error> {
        let Self { mut answer, scheme, .. } = self;
        let start = answer.messages.len();
        CertificateVerify { algorithm: scheme, signature }.encode(&mut answer.messages)?;
        answer.transcript.update(answer.messages.get(start..).unwrap_or_default());
        Ok(answer)
    }
}

impl core::fmt::Debug for UnsignedAuthentication {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("UnsignedAuthentication")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// An answer that lacks its Finished, whose key is the one of the moment at which it is sent.
pub(crate) struct Answer {
    /// Certificate and CertificateVerify.
    pub(crate) messages: Vec<u8>,
    pub(crate) transcript: Hash,
    pub(crate) link: Link,
    _open: Open,
}

/// A receiver that can be asked for a certificate.
pub(crate) struct Answering {
    context: Box<HandshakeContext<ClientConfig>>,
    /// The contexts of the latest requests, hashed: they are of any length up to 255 bytes.
    used: VecDeque<Digest>,
    open: Open,
    /// Not yet handed out.
    requests: VecDeque<CertificateRequested>,
}

impl Answering {
    pub(crate) fn new(context: Box<HandshakeContext<ClientConfig>>) -> Self {
        Self { context, used: VecDeque::new(), open: Open::default(), requests: VecDeque::new() }
    }

    pub(crate) fn next(&mut self) -> Option<CertificateRequested> {
        self.requests.pop_front()
    }

    /// Takes a CertificateRequest, header included.
    pub(crate) fn request(&mut self, message: &[u8]) -> Result<(), Error> {
        let request = CertificateRequest::parse(message.get(4..).unwrap_or_default())?;
        if request.extensions.signature_algorithms.is_none() {
            return Err(Peer::MissingServerExtension.into());
        }
        // One reference is our own.
        if Arc::strong_count(&self.open) > limits::MAX_CERTIFICATE_REQUESTS {
            return Err(Peer::TooManyCertificateRequests.into());
        }
        // A context is used once in a connection. RFC 9846 4.4.2
        let digest = Hash::digest(HashAlgorithm::Sha256, &[request.certificate_request_context]);
        if self.used.contains(&digest) {
            return Err(Peer::WrongCertificateContext.into());
        }
        if self.used.len() >= limits::MAX_REMEMBERED_CONTEXTS {
            self.used.pop_front();
        }
        self.used.push_back(digest);
        let mut context = HandshakeContext::clone(&self.context);
        context.transcript.update(message);
        let open = Arc::clone(&self.open);
        let requested = Requested { context, message: message.to_vec(), open };
        self.requests.push_back(CertificateRequested(Box::new(requested)));
        Ok(())
    }
}
