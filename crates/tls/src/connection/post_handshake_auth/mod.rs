//! Post-handshake client authentication. RFC 9846 4.7.2
//!
//! Requests pass between receiver and sender as values. A client's receiver returns a
//! [`client::CertificateRequested`], and the client's sender answers it. A server's sender returns
//! a [`requester::PendingCertificate`], and the server's receiver expects the answer to it.

pub(crate) mod client;
pub(crate) mod requester;
pub(crate) mod server;

use std::sync::Arc;

use tercel_crypto::Hash;
use tercel_wire::{CertificateType, HandshakeType};

use super::link::Link;
use crate::error::Error;
use crate::keys::tls13::TrafficSecret;
use client::{CertificateRequested, ReceivedRequests};
use server::{ClientCertificate, PendingRequests};

/// The part of a handshake's state that post-handshake authentication needs. `C` is the
/// configuration of this side.
#[derive(Clone)]
pub(crate) struct HandshakeContext<C> {
    pub(crate) config: Arc<C>,
    /// The transcript from ClientHello to the client's Finished. RFC 9846 4.1
    pub(crate) transcript: Hash,
    /// The type of the client's certificate. RFC 7250
    pub(crate) certificate_type: CertificateType,
    /// The link of the connection, which identifies the connection.
    pub(crate) link: Link,
}

impl<C> HandshakeContext<C> {
    /// Creates the state at the end of a handshake. The connection does not exist yet, so
    /// [`Self::with_link`] sets its link later.
    pub(crate) fn boxed(
        config: &Arc<C>,
        transcript: &Hash,
        certificate_type: CertificateType,
    ) -> Box<Self> {
        let (config, transcript) = (Arc::clone(config), transcript.clone());
        Box::new(Self { config, transcript, certificate_type, link: Link::default() })
    }

    /// Sets the link of the connection.
    pub(crate) fn with_link(mut self: Box<Self>, link: &Link) -> Box<Self> {
        self.link = link.clone();
        self
    }
}

/// A receiver's state of post-handshake authentication.
pub(crate) enum Authentication {
    /// The state of a client that offered post-handshake authentication.
    Client(ReceivedRequests),
    /// The state of a server that requested a certificate.
    Server(PendingRequests),
}

/// An event that the receiver reports to its caller.
pub(crate) enum Event {
    Requested(CertificateRequested),
    Answered(ClientCertificate),
}

impl Authentication {
    /// Checks that a record or message does not interrupt an answer to a certificate request.
    pub(crate) fn check_uninterrupted(&self) -> Result<(), Error> {
        match self {
            Self::Client(_) => Ok(()),
            Self::Server(requests) => requests.check_uninterrupted(),
        }
    }

    /// Handles a message with its header, received under the peer's current secret. Returns `false`
    /// if the message does not belong to post-handshake authentication.
    pub(crate) fn take(
        &mut self,
        kind: HandshakeType,
        message: &[u8],
        secret: &TrafficSecret,
    ) -> Result<bool, Error> {
        match self {
            Self::Client(requests) if kind == HandshakeType::CERTIFICATE_REQUEST => {
                requests.request(message).map(|()| true)
            }
            Self::Client(_) => Ok(false),
            Self::Server(requests) => requests.take(kind, message, secret),
        }
    }

    /// Client: whether tickets that follow a certificate request are kept. A ticket belongs to the
    /// client that the answer authenticates, and a caller may answer with any credential. Only a
    /// session context states who the client is.
    pub(crate) fn keeps_tickets(&self) -> bool {
        match self {
            Self::Client(requests) => requests.has_session_context(),
            Self::Server(_) => true,
        }
    }

    /// Whether [`Self::take`] handles a message of this type.
    pub(crate) fn is_handled(&self, kind: HandshakeType) -> bool {
        match self {
            Self::Client(_) => kind == HandshakeType::CERTIFICATE_REQUEST,
            Self::Server(requests) => requests.is_handled(kind),
        }
    }

    /// Returns the next event that the caller has not received yet.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        match self {
            Self::Client(requests) => requests.next().map(Event::Requested),
            Self::Server(requests) => requests.next().map(Event::Answered),
        }
    }
}
