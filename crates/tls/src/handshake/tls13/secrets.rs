//! The steps of the key schedule that both sides take alike, and their lines in the key log. RFC 9846 7.1
//!
//! Must not know: whose turn it is. Next: `keys/tls13/`.

use tercel_crypto::ShortSecret;

use crate::connection::export::Exporter;
use crate::handshake::log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::keys::direction::NewKeys;
use crate::keys::tls13::{FinishedKey, HandshakeKeys, HandshakeSecret, MainSecret};

/// The keys of the handshake, after the ServerHello.
pub(crate) fn handshake_keys(
    secret: HandshakeSecret,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> HandshakeKeys {
    let secrets = secret.into_traffic_secrets(&transcript.digest());
    log.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", secrets.client());
    log.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", secrets.server());
    secrets.into_keys()
}

/// What application data needs, in the roles' names.
pub(crate) struct Application {
    pub(crate) client: NewKeys,
    pub(crate) server: NewKeys,
    pub(crate) exporter: Exporter,
    /// What the client's Finished says, if that follows on the server's at once.
    pub(crate) client_verify_data: Option<ShortSecret>,
}

/// The last stage, after the server's Finished. `client` is given if the client has no other message to send before
/// its own.
pub(crate) fn application(
    main: &MainSecret,
    client: Option<&FinishedKey>,
    transcript: &mut Transcript,
    log: &SecretLog,
) -> Application {
    let made = main.application_secrets(&transcript.digest(), client);
    log.log("CLIENT_TRAFFIC_SECRET_0", made.client.as_bytes());
    log.log("SERVER_TRAFFIC_SECRET_0", made.server.as_bytes());
    log.log("EXPORTER_SECRET", made.exporter.as_bytes());
    let [client_key, server_key] = made.client.write_keys(&made.server);
    Application {
        client: NewKeys::tls13(made.client, client_key),
        server: NewKeys::tls13(made.server, server_key),
        exporter: Exporter::tls13(made.exporter),
        client_verify_data: made.client_verify_data,
    }
}
