//! The server of authentication after the handshake reads what the client answers. RFC 9846 4.7.2
//!
//! Must not know: records, and which key is the current one: that is the receiver's.
//! Next: [`super::requester`], which asks; `connection/receiver.rs`.

use std::collections::VecDeque;

use pki_types::{CertificateDer, UnixTime};
use tercel_pki::Refusal;
use tercel_wire::{Certificate, Finished, HandshakeMessage, HandshakeType, SignatureScheme};

use super::requester::{CONTEXT, Pending, PendingCertificate};
use super::shown::Shown;
use crate::config::policy::{PeerIdentity, Policy};
use crate::config::server::ClientAuth;
use crate::error::{Error, Misuse, Peer};
use crate::keys::tls13::TrafficSecret;
use crate::record::limits;

/// A client's answer to a request for its certificate after the handshake. RFC 9846 4.7.2
///
/// The client has proved to have the key of what it shows.
#[derive(PartialEq, Eq)]
pub struct ClientCertificate(Box<Answer>);

#[derive(PartialEq, Eq)]
struct Answer {
    id: [u8; CONTEXT],
    shown: Option<(Shown, SignatureScheme)>,
    verified: bool,
    received: UnixTime,
}

impl ClientCertificate {
    /// The context of the request that this answers: [`crate::PendingCertificate::context`].
    #[must_use]
    pub fn context(&self) -> &[u8] {
        &self.0.id
    }

    /// What the client showed; `None` if it declined.
    #[must_use]
    pub fn identity(&self) -> Option<PeerIdentity<'_>> {
        let (shown, _) = self.0.shown.as_ref()?;
        Some(shown.identity(None, self.0.received))
    }

    /// The chain, leaf first; empty if the client declined or showed a raw public key.
    #[must_use]
    pub fn into_chain(self) -> Vec<CertificateDer<'static>> {
        self.0.shown.map(|(shown, _)| shown.chain).unwrap_or_default()
    }

    /// The scheme with which the client signed; `None` if it declined.
    #[must_use]
    pub fn signature_scheme(&self) -> Option<SignatureScheme> {
        self.0.shown.as_ref().map(|(_, scheme)| *scheme)
    }

    /// Whether the configuration's verifier accepted what the client showed. If not, the client declined,
    /// or the configuration asks: then it is for the caller to judge [`Self::identity`], and to
    /// [abort](crate::Sender::abort) if it is not to be trusted.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.0.verified
    }
}

impl core::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ClientCertificate")
            .field("identity", &self.identity())
            .field("verified", &self.0.verified)
            .finish_non_exhaustive()
    }
}

/// A receiver of which certificates were asked.
#[derive(Default)]
pub(crate) struct Expecting {
    pending: Vec<PendingCertificate>,
    /// An answer of which a part has come.
    flight: Option<Box<Flight>>,
    /// Not yet handed out.
    answers: VecDeque<ClientCertificate>,
    refusal: Option<Box<Refusal>>,
}

/// A client's Certificate, and its CertificateVerify if that has come.
struct Flight {
    /// The transcript ends with the last message.
    request: Box<Pending>,
    shown: Option<Shown>,
    scheme: Option<SignatureScheme>,
}

impl Expecting {
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        let open = self.pending.len().saturating_add(self.answers.len());
        if open >= limits::MAX_CERTIFICATE_REQUESTS {
            return Err(Misuse::TooManyCertificateRequests.into());
        }
        Ok(())
    }

    /// Nothing was asked that is not answered, and no answer waits.
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

    /// Nothing may come between the messages of an answer. RFC 9846 4.7.2
    pub(crate) fn check_uninterrupted(&self) -> Result<(), Error> {
        if self.flight.is_some() { Err(Peer::InterruptedAuthentication.into()) } else { Ok(()) }
    }

    /// Whether a message of this kind belongs to an answer that is expected, or breaks one.
    pub(crate) fn has_place(&self, kind: HandshakeType) -> bool {
        self.flight.is_some() || (is_certificate(kind) && !self.pending.is_empty())
    }

    /// Takes a message, header included, if it belongs to an answer. `secret` is the client's current
    /// one, the base key of its Finished. RFC 9846 4.5
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
            return Err(Peer::InterruptedAuthentication.into());
        }
        if kind == HandshakeType::CERTIFICATE_VERIFY {
            flight.verify(message)?;
            self.flight = Some(flight);
            return Ok(true);
        }
        flight.check_finished(message, secret)?;
        let answer = flight.judge().map_err(|refusal| {
            let reason = refusal.reason;
            self.refusal = Some(refusal);
            Error::Refused(reason)
        })?;
        self.answers.push_back(answer);
        Ok(true)
    }

    /// A Certificate, which says by its context which request it answers.
    fn begin(&mut self, kind: HandshakeType, message: &[u8]) -> Result<bool, Error> {
        // Requests differ in their contexts and demands only.
        let Some(any) = self.pending.first() else { return Ok(false) };
        let body = any.0.asked().open(kind, message.get(4..).unwrap_or_default())?;
        let id = Certificate::parse(&body)?.certificate_request_context;
        let place = self.pending.iter().position(|pending| pending.context() == id);
        let place = place.ok_or(Peer::WrongCertificateContext)?;
        let PendingCertificate(mut request) = self.pending.swap_remove(place);
        let shown = request.asked().shown(&body, id)?;
        if shown.is_none() && request.demand == ClientAuth::Required {
            return Err(Peer::CertificateRequired.into());
        }
        request.context.transcript.update(message);
        self.flight = Some(Box::new(Flight { request, shown, scheme: None }));
        Ok(true)
    }
}

fn is_certificate(kind: HandshakeType) -> bool {
    matches!(kind, HandshakeType::CERTIFICATE | HandshakeType::COMPRESSED_CERTIFICATE)
}

impl Flight {
    /// A client that shows nothing has nothing to sign with. RFC 9846 4.7.2
    fn awaited(&self) -> HandshakeType {
        match (&self.shown, self.scheme) {
            (Some(_), None) => HandshakeType::CERTIFICATE_VERIFY,
            _ => HandshakeType::FINISHED,
        }
    }

    fn verify(&mut self, message: &[u8]) -> Result<(), Error> {
        let Some(shown) = &self.shown else { return Err(Peer::UnexpectedMessage.into()) };
        let transcript = self.request.context.transcript.fork_finish();
        let body = message.get(4..).unwrap_or_default();
        self.scheme = Some(self.request.asked().check_verify(shown, body, &transcript)?);
        self.request.context.transcript.update(message);
        Ok(())
    }

    /// The base key is the client's current application traffic secret. RFC 9846 4.5, 4.5.3
    fn check_finished(&self, message: &[u8], secret: &TrafficSecret) -> Result<(), Error> {
        let finished = Finished::parse(message.get(4..).unwrap_or_default())?;
        let transcript = self.request.context.transcript.fork_finish();
        if !secret.verifies(&transcript, finished.verify_data) {
            let length = finished.verify_data.len();
            return Err(Peer::wrong_finished(length, transcript.len()).into());
        }
        Ok(())
    }

    /// The answer, judged by the configuration if it can be done here.
    fn judge(self) -> Result<ClientCertificate, Box<Refusal>> {
        let Self { request, shown, scheme } = self;
        let config = &request.context.config;
        let received = config.common.clock.now();
        let shown = shown.zip(scheme);
        let verified = match (&shown, &config.client_verifier) {
            (Some((shown, _)), Some(Policy::Here(verifier))) => {
                verifier.verify_peer(&shown.identity(None, received))?;
                true
            }
            _ => false,
        };
        let answer = Answer { id: request.id, shown, verified, received };
        Ok(ClientCertificate(Box::new(answer)))
    }
}
