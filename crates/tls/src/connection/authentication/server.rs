//! The server of authentication after the handshake: it asks, and reads the answer. RFC 9846 4.7.2
//!
//! Must not know: records, and which key is the current one: that is the receiver's.
//! Next: [`super::client`], `connection/receiver.rs`.

use std::collections::VecDeque;

use pki_types::{CertificateDer, UnixTime};
use tercel_crypto::fill_random;
use tercel_pki::Refusal;
use tercel_wire::{Certificate, Finished, HandshakeMessage, HandshakeType, SignatureScheme};

use super::HandshakeContext;
use super::certificate::{Asked, write_request};
use super::shown::Shown;
use crate::config::policy::{PeerIdentity, Policy};
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::link::Link;
use crate::error::{Error, Misuse, Peer};
use crate::keys::tls13::TrafficSecret;
use crate::record::limits;

/// What a server needs to ask for a certificate after the handshake. RFC 9846 4.7.2
///
/// A connection has one if its client offered that, and if the configuration says by whom clients are
/// judged. It serves any number of requests.
pub struct CertificateRequester(Box<HandshakeContext<ServerConfig>>);

impl CertificateRequester {
    pub(crate) fn new(context: Box<HandshakeContext<ServerConfig>>) -> Self {
        Self(context)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0.link
    }

    /// Writes a CertificateRequest, and what is to be expected in answer to it.
    pub(crate) fn request(
        &self,
        demand: ClientAuth,
        out: &mut Vec<u8>,
    ) -> Result<PendingCertificate, Error> {
        if demand == ClientAuth::None {
            return Err(Misuse::InvalidArgument.into());
        }
        // Unique, and not to be foreseen: who has the key for a moment shall not sign for later.
        // RFC 9846 4.4.2
        let mut id = [0_u8; CONTEXT];
        fill_random(&mut id)?;
        write_request(&self.0.config, &id, out)?;
        let mut context = HandshakeContext::clone(&self.0);
        context.transcript.update(out);
        Ok(PendingCertificate(Box::new(Pending { context, id, demand })))
    }
}

impl core::fmt::Debug for CertificateRequester {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CertificateRequester").finish_non_exhaustive()
    }
}

/// A request that was sent, for the receiver that will get the answer: [`crate::Receiver::expect`].
pub struct PendingCertificate(Box<Pending>);

struct Pending {
    /// The transcript ends with the request.
    context: HandshakeContext<ServerConfig>,
    id: [u8; CONTEXT],
    demand: ClientAuth,
}

/// Bytes of a context.
const CONTEXT: usize = 32;

impl PendingCertificate {
    /// The `certificate_request_context`, which tells answers apart.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        &self.0.id
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0.context.link
    }

    /// Of all messages up to the request.
    #[cfg(test)]
    pub(crate) fn transcript(&self) -> &tercel_crypto::Hash {
        &self.0.context.transcript
    }
}

impl core::fmt::Debug for PendingCertificate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PendingCertificate").field("demand", &self.0.demand).finish_non_exhaustive()
    }
}

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
    /// The context of the request that this answers: [`PendingCertificate::context`].
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

    /// Takes a message, header included, if it belongs to an answer. `secret` is the client's current
    /// one, the base key of its Finished. RFC 9846 4.5
    pub(crate) fn take(
        &mut self,
        kind: HandshakeType,
        message: &[u8],
        secret: &TrafficSecret,
    ) -> Result<bool, Error> {
        let Some(mut flight) = self.flight.take() else {
            if !matches!(kind, HandshakeType::CERTIFICATE | HandshakeType::COMPRESSED_CERTIFICATE) {
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

impl Pending {
    fn asked(&self) -> Asked<'_> {
        Asked::of_client(&self.context.config, self.context.certificate_type)
    }
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
            return Err(Peer::BadFinished.into());
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
