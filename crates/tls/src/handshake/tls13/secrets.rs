//! The steps of the key schedule that both sides take alike, and their lines in the key log. RFC 9846 7.1
//!
//! Must not know: whose turn it is. Next: `keys/tls13.rs`.

use crate::connection::export::Exporter;
use crate::handshake::log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::{HandshakeKeys, HandshakeSecret, MainSecret, TrafficSecret};

/// The handshake keys of (client, server), after the ServerHello.
pub(crate) fn handshake_secrets(
    secrets: &HandshakeSecret,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> (HandshakeKeys, HandshakeKeys) {
    let digest = transcript.digest();
    let client = secrets.client_handshake_traffic_secret(&digest);
    let server = secrets.server_handshake_traffic_secret(&digest);
    log.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", client.as_bytes());
    log.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", server.as_bytes());
    (client.into_handshake_keys(), server.into_handshake_keys())
}

/// The secrets of application data, in the roles' names.
pub(crate) struct Application {
    pub(crate) main: MainSecret,
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    pub(crate) exporter: Exporter,
}

/// The last stage, after the server's Finished.
pub(crate) fn main_secrets(
    secrets: HandshakeSecret,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> Application {
    let main: MainSecret = secrets.into_main();
    let digest = transcript.digest();
    let client = main.client_application_traffic_secret(&digest);
    let server = main.server_application_traffic_secret(&digest);
    let exporter = main.exporter_secret(&digest);
    log.log("CLIENT_TRAFFIC_SECRET_0", client.as_bytes());
    log.log("SERVER_TRAFFIC_SECRET_0", server.as_bytes());
    log.log("EXPORTER_SECRET", exporter.as_bytes());
    Application { main, client, server, exporter: Exporter::tls13(exporter) }
}
