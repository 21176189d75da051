//! The server of authentication after the handshake asks. RFC 9846 4.7.2
//!
//! Must not know: records, and what is answered. Next: [`super::server`], which reads the answer.

use tercel_crypto::fill_random;

use super::HandshakeContext;
use super::certificate::{Asked, write_request};
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::link::Link;
use crate::error::{Error, Misuse};

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
pub struct PendingCertificate(pub(super) Box<Pending>);

pub(super) struct Pending {
    /// The transcript ends with the request.
    pub(super) context: HandshakeContext<ServerConfig>,
    pub(super) id: [u8; CONTEXT],
    pub(super) demand: ClientAuth,
}

/// Bytes of a context.
pub(super) const CONTEXT: usize = 32;

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

impl Pending {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked::of_client(&self.context.config, self.context.certificate_type)
    }
}
