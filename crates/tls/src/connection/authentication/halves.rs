//! What the halves of a connection do to authenticate a client after the handshake. RFC 9846 4.7.2
//!
//! Must not know: what requests and answers are made of. Next: [`super::client`],
//! [`super::requester`].

use std::sync::Arc;

use tercel_pki::Refusal;
use tercel_wire::{Finished, HandshakeMessage, ProtocolVersion};

use super::client::{Answer, CertificateRequested, UnsignedAuthentication};
use super::requester::{CertificateRequester, PendingCertificate};
use crate::config::credential::Credential;
use crate::config::server::ClientAuth;
use crate::connection::Connection;
use crate::connection::receiver::Receiver;
use crate::connection::sender::Sender;
use crate::error::{Error, Misuse};
use crate::keys::tls13::TrafficSecret;

impl Connection {
    /// Server: appends a request for the client's certificate, and expects the answer to it:
    /// [`crate::Opened::ClientCertificate`]. With [`ClientAuth::Required`], a client that declines is
    /// refused. The context of the request. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::WrongVersion`] in TLS 1.2; [`Misuse::NoPostHandshakeAuth`] without a
    /// [`Self::requester`]; [`Misuse::TooManyCertificateRequests`] if 8 are open already;
    /// [`Misuse::InvalidArgument`] for [`ClientAuth::None`].
    pub fn request_certificate(
        &mut self,
        demand: ClientAuth,
        out: &mut Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        if self.facts.version != ProtocolVersion::TLS1_3 {
            return Err(Misuse::WrongVersion.into());
        }
        let requester = self.requester.as_ref().ok_or(Misuse::NoPostHandshakeAuth)?;
        self.receiver.post_mut().expecting()?.check_room()?;
        let pending = self.sender.request_certificate(requester, demand, out)?;
        let context = pending.context().to_vec();
        self.receiver.expect(pending)?;
        Ok(context)
    }
}

impl Sender {
    /// Client: answers a request for our certificate: with this credential, or with none, which
    /// declines. RFC 9846 4.7.2
    ///
    /// After an error the request stays without an answer.
    /// Each answer is as long as the chain: see to it that the ones before were taken, or a server that asks
    /// on and on and does not read fills `out`.
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] if the credential does not fit the request, or the request is another
    /// connection's; [`Misuse::KeyElsewhere`] for a remote credential, see
    /// [`CertificateRequested::prepare`]; [`crate::Local::Closed`] after [`Self::close`].
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

    /// Client: answers a request for our certificate with what was signed elsewhere. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] if the request was another connection's; [`crate::Local::Closed`] after
    /// [`Self::close`].
    pub fn authenticate_signed(
        &mut self,
        unsigned: UnsignedAuthentication,
        signature: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let answer = unsigned.signed(signature)?;
        self.finish_authentication(answer, out)
    }

    /// Finished is made under the secret of the moment. RFC 9846 4.5
    fn finish_authentication(&mut self, answer: Answer, out: &mut Vec<u8>) -> Result<(), Error> {
        let Answer { mut messages, transcript, link, .. } = answer;
        let make = |secret: &TrafficSecret| {
            let verify_data = secret.verify_data(&transcript.finish());
            Finished { verify_data: &verify_data }.encode(&mut messages)?;
            Ok((messages, ()))
        };
        self.seal_messages(&link, make, out)
    }

    /// Server: asks for the client's certificate; with [`ClientAuth::Required`], a client that declines
    /// is refused. The receiver has to [expect](crate::Receiver::expect) the answer. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] for [`ClientAuth::None`], or if the requester is another
    /// connection's; [`crate::Local::Closed`] after [`Self::close`].
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
    /// Server: expects the answer to this request for a certificate from here on. Call it before the
    /// request is sent, or the answer might come unexpected.
    ///
    /// The client may take its time, and goes on sending data meanwhile; nothing enforces that it
    /// answers at all, which is up to the application. What it answers is
    /// [`crate::Opened::ClientCertificate`]. RFC 9846 4.7.2
    ///
    /// # Errors
    /// [`Misuse::TooManyCertificateRequests`] if 8 are open already; [`Misuse::InvalidArgument`] if the
    /// request is another connection's.
    pub fn expect(&mut self, pending: PendingCertificate) -> Result<(), Error> {
        if !self.link().is(pending.link()) {
            return Err(Misuse::InvalidArgument.into());
        }
        self.post_mut().expecting()?.expect(pending)
    }

    /// Server: the chain and the names behind an [`Error::Refused`] after the handshake.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.post().refusal()
    }
}
