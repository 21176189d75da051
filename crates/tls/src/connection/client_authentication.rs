//! Methods of connection, sender and receiver for post-handshake authentication. RFC 9846 4.7.2

use std::sync::Arc;

use tercel_pki::Refusal;
use tercel_wire::{Finished, HandshakeMessage, ProtocolVersion};

use super::Connection;
use super::post_handshake_auth::client::{
    CertificateRequested, UnfinishedAnswer, UnsignedAuthentication,
};
use super::post_handshake_auth::requester::{CertificateRequester, PendingCertificate};
use super::receiver::Receiver;
use super::sender::Sender;
use crate::auth::credential::Credential;
use crate::config::client_auth::ClientAuth;
use crate::error::{Error, Misuse};
use crate::keys::tls13::TrafficSecret;

impl Connection {
    /// Server: requests the client's certificate. Appends the request to `out`, and returns the
    /// request's `certificate_request_context`. RFC 9846 4.7.2
    ///
    /// The answer is returned as [`crate::Opened::ClientCertificate`]. With
    /// [`ClientAuth::Required`], a client without a certificate is refused. With a verifier that is
    /// [`Policy::Ask`](crate::Policy::Ask), **the caller has to verify the answer**:
    /// [`is_verified`](crate::server::ClientCertificate::is_verified) is false.
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2; [`Misuse::NoPostHandshakeAuth`] without a
    /// [`Self::requester`]; [`Misuse::TooManyCertificateRequests`] if 8 are unanswered;
    /// [`Misuse::InvalidArgument`] for [`ClientAuth::None`].
    pub fn request_certificate(
        &mut self,
        demand: ClientAuth,
        out: &mut Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        if self.info.version != ProtocolVersion::TLS1_3 {
            return Err(Misuse::WrongVersion.into());
        }
        let requester = self.requester.as_ref().ok_or(Misuse::NoPostHandshakeAuth)?;
        self.receiver.post_handshake.pending_requests()?.check_room()?;
        let pending = self.sender.request_certificate(requester, demand, out)?;
        let context = pending.context().to_vec();
        self.receiver.expect(pending)?;
        Ok(context)
    }
}

impl Sender {
    /// Client: answers a certificate request with this credential, or declines it with `None`.
    /// Appends the answer to `out`. RFC 9846 4.7.2
    ///
    /// After an error the request cannot be answered any more. An answer contains the whole chain,
    /// so a server that sends many requests and does not read the answers could make `out` grow
    /// without limit. Check that earlier answers were sent.
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] if the credential does not match the request, or the request
    /// belongs to another connection; [`Misuse::KeyNotLocal`] for a remote credential, see
    /// [`CertificateRequested::prepare`]; [`crate::error::InternalError::Closed`] after
    /// [`Self::close`].
    pub fn authenticate(
        &mut self,
        request: CertificateRequested,
        credential: Option<&Arc<Credential>>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let answer = match credential {
            None => request.decline()?,
            Some(credential) => request.answer(credential)?,
        };
        self.finish_authentication(answer, out)
    }

    /// Client: answers a certificate request with a signature that the caller has obtained. Appends
    /// the answer to `out`. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] if the request belongs to another connection;
    /// [`crate::error::InternalError::Closed`] after [`Self::close`].
    pub fn authenticate_signed(
        &mut self,
        unsigned: UnsignedAuthentication,
        signature: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let answer = unsigned.signed(signature)?;
        self.finish_authentication(answer, out)
    }

    /// Completes the answer with a Finished message, which is computed with the current traffic
    /// secret. RFC 9846 4.5
    fn finish_authentication(
        &mut self,
        answer: UnfinishedAnswer,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let UnfinishedAnswer { mut messages, transcript, link, .. } = answer;
        let make = |secret: &TrafficSecret| {
            let verify_data = secret.finished_key().verify_data(&transcript.finish());
            Finished { verify_data: &verify_data }.encode(&mut messages)?;
            Ok((messages, ()))
        };
        self.seal_messages(&link, make, out)
    }

    /// Server: requests the client's certificate. Appends the request to `out`. The returned value
    /// has to be passed to [`crate::Receiver::expect`]. With [`ClientAuth::Required`], a client
    /// without a certificate is refused. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] for [`ClientAuth::None`], or if the requester belongs to another
    /// connection; [`crate::error::InternalError::Closed`] after [`Self::close`].
    pub fn request_certificate(
        &mut self,
        requester: &CertificateRequester,
        demand: ClientAuth,
        out: &mut Vec<u8>,
    ) -> Result<PendingCertificate, Error> {
        let make = |_: &TrafficSecret| {
            let mut message = Vec::new();
            let pending = requester.request(demand, &mut message)?;
            Ok((message, pending))
        };
        self.seal_messages(requester.link(), make, out)
    }
}

impl Receiver {
    /// Server: expects the client's answer to this certificate request. When the answer arrives,
    /// [`Self::open`] returns [`crate::Opened::ClientCertificate`]. RFC 9846 4.7.2
    ///
    /// Call this before the request is sent, since an answer that is not expected is an error. The
    /// client may send data before its answer. A missing answer is not an error here: the
    /// application decides how long to wait.
    ///
    /// # Errors
    /// [`Misuse::TooManyCertificateRequests`] if 8 are unanswered; [`Misuse::InvalidArgument`] if
    /// the request belongs to another connection.
    pub fn expect(&mut self, pending: PendingCertificate) -> Result<(), Error> {
        if !self.link().is_same(pending.link()) {
            return Err(Misuse::InvalidArgument.into());
        }
        self.post_handshake.pending_requests()?.expect(pending)
    }

    /// Server: returns the details of an [`Error::Refused`] after the handshake.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.post_handshake.refusal()
    }
}
