//! The result of a complete handshake, from which the connection is made.

use crate::config::client::ClientConfig;
use crate::config::common::Common;
use crate::config::server::ServerConfig;
use crate::connection::export::Exporter;
use crate::connection::info::ConnectionInfo;
use crate::connection::post_handshake_auth::HandshakeContext;
use crate::connection::tickets::NewSessions;
use crate::keys::tls12::Exporter12;

/// The result of a handshake, except for the keys, which were installed by commands.
pub(crate) struct Established {
    pub(crate) info: ConnectionInfo,
    pub(crate) exporter: Exporter,
    pub(crate) early_exporter: Option<Box<Exporter>>,
    pub(crate) tolerate_truncation: bool,
    /// Client, TLS 1.3: processes the tickets that the server will send.
    pub(crate) sessions: Option<Box<NewSessions>>,
    /// Client, TLS 1.3: answers the server's requests for a certificate. `None` if the client does
    /// not offer post-handshake authentication.
    pub(crate) answering: Option<Box<HandshakeContext<ClientConfig>>>,
    /// Server, TLS 1.3: requests the client's certificate, if requests are allowed.
    pub(crate) requesting: Option<Box<HandshakeContext<ServerConfig>>>,
}

impl Established {
    /// Creates the result of a TLS 1.2 handshake. No handshake messages follow it.
    pub(crate) fn tls12(mut info: ConnectionInfo, exporter: Exporter12, config: &Common) -> Self {
        info.fips = config.fips_status;
        Self {
            info,
            exporter: Exporter::tls12(exporter),
            early_exporter: None,
            tolerate_truncation: config.tolerate_truncation,
            sessions: None,
            answering: None,
            requesting: None,
        }
    }
}
