//! What a coroutine has for the connection when its handshake is complete.
//!
//! Must not know: records. Next: [`super::records`], which make a connection of it.

use crate::config::client::ClientConfig;
use crate::config::common::Common;
use crate::config::server::ServerConfig;
use crate::connection::authentication::HandshakeContext;
use crate::connection::export::Exporter;
use crate::connection::facts::Facts;
use crate::connection::tickets::TicketTaker;
use crate::keys::tls12::Exporter12;

/// The outcome of a handshake, keys apart: those went out as commands.
pub(crate) struct Established {
    pub(crate) facts: Facts,
    pub(crate) exporter: Exporter,
    pub(crate) early_exporter: Option<Box<Exporter>>,
    pub(crate) tolerate_truncation: bool,
    /// Client of TLS 1.3: what takes the tickets that will come.
    pub(crate) tickets: Option<Box<TicketTaker>>,
    /// Client of TLS 1.3: for the server's requests for a certificate, if it may make them.
    pub(crate) answering: Option<Box<HandshakeContext<ClientConfig>>>,
    /// Server of TLS 1.3: for our requests for a certificate, if we may make them.
    pub(crate) requesting: Option<Box<HandshakeContext<ServerConfig>>>,
}

impl Established {
    /// Of TLS 1.2, in which nothing follows the handshake.
    pub(crate) fn tls12(facts: Facts, exporter: Exporter12, config: &Common) -> Self {
        Self {
            facts,
            exporter: Exporter::tls12(exporter),
            early_exporter: None,
            tolerate_truncation: config.tolerate_truncation,
            tickets: None,
            answering: None,
            requesting: None,
        }
    }
}
