//! Certificates as both sides of TLS 1.3 show and read them, and authentication after the handshake.
//! RFC 9846 4.5, 4.7.2
//!
//! A request and its answer cross between the halves of a connection as values: a client's receiver
//! yields a [`client::CertificateRequested`], which its sender answers; a server's sender yields a
//! [`server::PendingCertificate`], which its receiver expects to be answered.
//! Must not know: handshakes. Next: [`certificate`] for the messages, [`client`], [`requester`] and [`server`].

pub(crate) mod certificate;
pub(crate) mod client;
pub(crate) mod compression;
mod halves;
pub(crate) mod requester;
pub(crate) mod server;
pub(crate) mod shown;

use std::sync::Arc;

use tercel_crypto::Hash;
use tercel_wire::{CertificateType, HandshakeType};

use super::link::Link;
use crate::error::Error;
use crate::keys::tls13::TrafficSecret;
use client::{Answering, CertificateRequested};
use server::{ClientCertificate, Expecting};

/// What authentication after the handshake rests on; `C` is the configuration of our side.
#[derive(Clone)]
pub(crate) struct HandshakeContext<C> {
    pub(crate) config: Arc<C>,
    /// Of the messages from ClientHello to the client's Finished. RFC 9846 4.1
    pub(crate) transcript: Hash,
    /// What form a client's certificate has. RFC 7250
    pub(crate) certificate_type: CertificateType,
    /// Tells which connection it belongs to.
    pub(crate) link: Link,
}

impl<C> HandshakeContext<C> {
    /// Of a handshake that is complete; it belongs to no connection yet.
    pub(crate) fn boxed(
        config: &Arc<C>,
        transcript: &Hash,
        certificate_type: CertificateType,
    ) -> Box<Self> {
        let (config, transcript) = (Arc::clone(config), transcript.clone());
        Box::new(Self { config, transcript, certificate_type, link: Link::default() })
    }

    /// From here on it belongs to the connection of this link.
    pub(crate) fn of(mut self: Box<Self>, link: &Link) -> Box<Self> {
        self.link = link.clone();
        self
    }
}

/// What a receiver keeps of authentication after the handshake.
pub(crate) enum Authentication {
    /// A client that offered it.
    Answering(Answering),
    /// A server that asked for it.
    Expecting(Expecting),
}

/// What a receiver has for its caller besides data.
pub(crate) enum Event {
    Requested(CertificateRequested),
    Answered(ClientCertificate),
}

impl Authentication {
    /// Something came that may not stand within an answer.
    pub(crate) fn check_uninterrupted(&self) -> Result<(), Error> {
        match self {
            Self::Answering(_) => Ok(()),
            Self::Expecting(expecting) => expecting.check_uninterrupted(),
        }
    }

    /// Takes a message of another kind than the receiver's own, header included, under the peer's
    /// current secret. `false` if it has no place here.
    pub(crate) fn take(
        &mut self,
        kind: HandshakeType,
        message: &[u8],
        secret: &TrafficSecret,
    ) -> Result<bool, Error> {
        match self {
            Self::Answering(answering) if kind == HandshakeType::CERTIFICATE_REQUEST => {
                answering.request(message).map(|()| true)
            }
            Self::Answering(_) => Ok(false),
            Self::Expecting(expecting) => expecting.take(kind, message, secret),
        }
    }

    /// Whether a message of another kind than the receiver's own may come now, as far as its kind tells.
    pub(crate) fn has_place(&self, kind: HandshakeType) -> bool {
        match self {
            Self::Answering(_) => kind == HandshakeType::CERTIFICATE_REQUEST,
            Self::Expecting(expecting) => expecting.has_place(kind),
        }
    }

    /// The next event that the caller has not had yet.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        match self {
            Self::Answering(answering) => answering.next().map(Event::Requested),
            Self::Expecting(expecting) => expecting.next().map(Event::Answered),
        }
    }
}
