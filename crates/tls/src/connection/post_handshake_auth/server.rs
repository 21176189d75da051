//! The server side of post-handshake authentication: the client's answers. RFC 9846 4.7.2

use std::collections::VecDeque;

use pki_types::{CertificateDer, UnixTime};
use tercel_pki::Refusal;
use tercel_wire::{Certificate, HandshakeMessage, HandshakeType, SignatureScheme};

use super::requester::{CONTEXT, Pending, PendingCertificate};
use crate::auth::peer_certificate::PeerCertificate;
use crate::auth::verify_peer::PeerIdentity;
use crate::config::client_auth::ClientAuth;
use crate::error::{Error, Misuse, PeerError};
use crate::keys::tls13::TrafficSecret;
use crate::policy::Policy;
use crate::record::limits;

/// A client's answer to a certificate request after the handshake. RFC 9846 4.7.2
///
/// The signature was verified, which proves that the client has the private key of its certificate.
#[derive(PartialEq, Eq)]
pub struct ClientCertificate(Box<CertificateAnswer>);

/// The content of [`ClientCertificate`].
#[derive(PartialEq, Eq)]
struct CertificateAnswer {
    id: [u8; CONTEXT],
    certificate: Option<(PeerCertificate, SignatureScheme)>,
    verified: bool,
    received: UnixTime,
}

impl ClientCertificate {
    /// Returns the [context](crate::server::PendingCertificate::context) of the answered request.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        &self.0.id
    }

    /// Returns the client's certificate or raw public key; `None` if the client declined.
    #[must_use]
    pub fn identity(&self) -> Option<PeerIdentity<'_>> {
        let (certificate, _) = self.0.certificate.as_ref()?;
        Some(certificate.identity(None, self.0.received))
    }

    /// Returns the chain, leaf first; empty if the client declined or sent a raw public key.
    #[must_use]
    pub fn into_chain(self) -> Vec<CertificateDer<'static>> {
        self.0.certificate.map(|(certificate, _)| certificate.chain).unwrap_or_default()
    }

    /// Returns the scheme of the client's signature; `None` if the client declined.
    #[must_use]
    pub fn signature_scheme(&self) -> Option<SignatureScheme> {
        self.0.certificate.as_ref().map(|(_, scheme)| *scheme)
    }

    /// Returns whether the configuration's verifier accepted the certificate.
    ///
    /// False if the client declined, or if the verifier is [`Policy::Ask`]. With [`Policy::Ask`]
    /// the caller has to verify [`Self::identity`], and to [abort](crate::Sender::abort) the
    /// connection if the client is not trusted.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.0.verified
    }
}

debug_fields!(ClientCertificate, it: identity = it.identity(), verified = it.0.verified);

/// The state of a server that requested certificates.
#[derive(Default)]
pub(crate) struct PendingRequests {
    pending: Vec<PendingCertificate>,
    /// A partially received answer.
    flight: Option<Box<Flight>>,
    /// Answers that the caller has not received yet.
    answers: VecDeque<ClientCertificate>,
    refusal: Option<Box<Refusal>>,
}

/// A partially received answer: Certificate, and perhaps CertificateVerify.
struct Flight {
    /// The request, with a transcript that ends with the last received message.
    request: Box<Pending>,
    certificate: Option<PeerCertificate>,
    scheme: Option<SignatureScheme>,
}

impl PendingRequests {
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        let open = self.pending.len().saturating_add(self.answers.len());
        if open >= limits::MAX_CERTIFICATE_REQUESTS {
            return Err(Misuse::TooManyCertificateRequests.into());
        }
        Ok(())
    }

    /// Whether there is no unanswered request, and no answer that the caller has not received.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.flight.is_none() && self.answers.is_empty()
    }

    pub(crate) fn expect(&mut self, pending: PendingCertificate) -> Result<(), Error> {
        self.check_room()?;
        self.pending.push(pending);
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Option<ClientCertificate> {
        self.answers.pop_front()
    }

    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }

    /// Checks that no answer is incomplete: its messages have to be consecutive. RFC 9846 4.7.2
    pub(crate) fn check_uninterrupted(&self) -> Result<(), Error> {
        if self.flight.is_some() {
            Err(PeerError::InterruptedAuthentication.into())
        } else {
            Ok(())
        }
    }

    /// Whether [`Self::take`] handles a message of this type: as part of an answer, or as an error.
    pub(crate) fn is_handled(&self, kind: HandshakeType) -> bool {
        self.flight.is_some() || (is_certificate(kind) && !self.pending.is_empty())
    }

    /// Handles a message with its header, if it belongs to an answer. `secret` is the client's
    /// current traffic secret, the base key of its Finished. RFC 9846 4.5
    pub(crate) fn take(
        &mut self,
        kind: HandshakeType,
        message: &[u8],
        secret: &TrafficSecret,
    ) -> Result<bool, Error> {
        let Some(mut flight) = self.flight.take() else {
            if !is_certificate(kind) {
                return Ok(false);
            }
            return self.begin(kind, message);
        };
        if kind != flight.awaited() {
            return Err(PeerError::InterruptedAuthentication.into());
        }
        if kind == HandshakeType::CERTIFICATE_VERIFY {
            flight.verify(message)?;
            self.flight = Some(flight);
            return Ok(true);
        }
        flight.check_finished(message, secret)?;
        let answer = flight.finish().map_err(|refusal| {
            let reason = refusal.reason;
            self.refusal = Some(refusal);
            Error::Refused(reason)
        })?;
        self.answers.push_back(answer);
        Ok(true)
    }

    /// Handles a Certificate. Its context identifies the request.
    fn begin(&mut self, kind: HandshakeType, message: &[u8]) -> Result<bool, Error> {
        // Any request can be used here, because the expectations are the same for all requests.
        let Some(any) = self.pending.first() else { return Ok(false) };
        let body =
            any.0.expectations().certificate_body(kind, message.get(4..).unwrap_or_default())?;
        let id = Certificate::parse(&body)?.certificate_request_context;
        let place = self.pending.iter().position(|pending| pending.context() == id);
        let place = place.ok_or(PeerError::WrongCertificateContext)?;
        let PendingCertificate(mut request) = self.pending.swap_remove(place);
        let certificate = request.expectations().parse(&body, id)?;
        if certificate.is_none() && request.demand == ClientAuth::Required {
            return Err(PeerError::CertificateRequired.into());
        }
        request.context.transcript.update(message);
        self.flight = Some(Box::new(Flight { request, certificate, scheme: None }));
        Ok(true)
    }
}

fn is_certificate(kind: HandshakeType) -> bool {
    matches!(kind, HandshakeType::CERTIFICATE | HandshakeType::COMPRESSED_CERTIFICATE)
}

impl Flight {
    /// Returns the type of the next message. A client without a certificate sends no
    /// CertificateVerify. RFC 9846 4.7.2
    fn awaited(&self) -> HandshakeType {
        match (&self.certificate, self.scheme) {
            (Some(_), None) => HandshakeType::CERTIFICATE_VERIFY,
            _ => HandshakeType::FINISHED,
        }
    }

    fn verify(&mut self, message: &[u8]) -> Result<(), Error> {
        let Some(certificate) = &self.certificate else {
            return Err(PeerError::UnexpectedMessage.into());
        };
        let transcript = self.request.context.transcript.current_digest();
        let body = message.get(4..).unwrap_or_default();
        self.scheme = Some(self.request.expectations().check_certificate_verify(
            certificate,
            body,
            &transcript,
        )?);
        self.request.context.transcript.update(message);
        Ok(())
    }

    /// Checks a Finished. Its base key is the client's current application traffic secret.
    /// RFC 9846 4.5, 4.5.3
    fn check_finished(&self, message: &[u8], secret: &TrafficSecret) -> Result<(), Error> {
        let body = message.get(4..).unwrap_or_default();
        secret.finished_key().check(body, &self.request.context.transcript.current_digest())
    }

    /// Verifies the certificate, unless the verifier is [`Policy::Ask`], and completes the answer.
    fn finish(self) -> Result<ClientCertificate, Box<Refusal>> {
        let Self { request, certificate, scheme } = self;
        let config = &request.context.config;
        let received = config.common.clock.now();
        let certificate = certificate.zip(scheme);
        let verified = match (&certificate, &config.client_verifier) {
            (Some((certificate, _)), Some(Policy::Here(verifier))) => {
                verifier.verify_peer(&certificate.identity(None, received))?;
                true
            }
            _ => false,
        };
        let answer = CertificateAnswer { id: request.id, certificate, verified, received };
        Ok(ClientCertificate(Box::new(answer)))
    }
}
