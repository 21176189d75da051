//! The server side of post-handshake authentication: certificate requests. RFC 9846 4.7.2

use tercel_crypto::fill_random;

use super::HandshakeContext;
use crate::auth::certificate_expectations::CertificateExpectations;
use crate::config::client_auth::ClientAuth;
use crate::config::server::ServerConfig;
use crate::connection::link::Link;
use crate::error::{Error, Misuse};
use crate::policy::Policy;
use crate::side::Side;

/// The part of a server's connection that creates certificate requests after the handshake, any
/// number of them. RFC 9846 4.7.2
///
/// A connection has a requester if its client offered post-handshake authentication, and the
/// configuration has a verifier for clients.
pub struct CertificateRequester(Box<HandshakeContext<ServerConfig>>);

impl CertificateRequester {
    /// Returns whether the library verifies the certificates of answers. False if the verifier is
    /// [`Policy::Ask`](crate::Policy::Ask): then the caller has to verify each answer.
    #[must_use]
    pub fn verifies(&self) -> bool {
        matches!(self.0.config.client_verifier, Some(Policy::Here(_)))
    }

    /// Checks that the library verifies the certificates of answers, for a caller that would use
    /// them unverified, such as a stream, which asks no question.
    ///
    /// # Errors
    /// [`Misuse::VerifierAsks`] if the verifier is [`Policy::Ask`](crate::Policy::Ask).
    pub fn check_verifies(&self) -> Result<(), Error> {
        if self.verifies() { Ok(()) } else { Err(Misuse::VerifierAsks.into()) }
    }

    pub(crate) fn new(context: Box<HandshakeContext<ServerConfig>>) -> Self {
        Self(context)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0.link
    }

    /// Writes a CertificateRequest. Returns the pending request, for the receiver.
    pub(crate) fn request(
        &self,
        demand: ClientAuth,
        out: &mut Vec<u8>,
    ) -> Result<PendingCertificate, Error> {
        if demand == ClientAuth::None {
            return Err(Misuse::InvalidArgument.into());
        }
        // The context is unique and unpredictable, so that temporary access to the client's private
        // key does not allow answers to be signed in advance. RFC 9846 4.4.2
        let mut id = [0_u8; CONTEXT];
        fill_random(&mut id)?;
        self.0.config.write_certificate_request(&id, out)?;
        let mut context = HandshakeContext::clone(&self.0);
        context.transcript.update(out);
        Ok(PendingCertificate(Box::new(Pending { context, id, demand })))
    }
}

debug_fields!(CertificateRequester);

/// An unanswered certificate request, for [`crate::Receiver::expect`].
pub struct PendingCertificate(pub(super) Box<Pending>);

pub(super) struct Pending {
    /// The state of the handshake, with a transcript that ends with the request.
    pub(super) context: HandshakeContext<ServerConfig>,
    pub(super) id: [u8; CONTEXT],
    pub(super) demand: ClientAuth,
}

/// The number of bytes of a `certificate_request_context`.
pub(super) const CONTEXT: usize = 32;

impl PendingCertificate {
    /// Returns the `certificate_request_context`, which identifies the request and its answer.
    #[must_use]
    pub fn context(&self) -> &[u8] {
        &self.0.id
    }

    pub(crate) fn link(&self) -> &Link {
        &self.0.context.link
    }

    /// Returns the transcript of all messages up to the request.
    #[cfg(test)]
    pub(crate) fn transcript(&self) -> &tercel_crypto::Hash {
        &self.0.context.transcript
    }
}

debug_fields!(PendingCertificate, pending: demand = pending.0.demand);

impl Pending {
    pub(super) fn expectations(&self) -> CertificateExpectations<'_> {
        let HandshakeContext { config, certificate_type, .. } = &self.context;
        config.common.certificate_expectations(Side::Client, *certificate_type)
    }
}
