//! Steps of the key schedule that are the same on both sides, with key logging. RFC 9846 7.1

use crate::connection::export::Exporter;
use crate::handshake::secret_log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::keys::direction::{Keys, NewKeys};
use crate::keys::tls13::{HandshakeKeys, HandshakeSecret, MainSecret};

/// Derives and logs the handshake keys after the ServerHello.
pub(crate) fn handshake_keys(
    secret: HandshakeSecret,
    transcript: &mut Transcript,
    log: &SecretLog,
    over_quic: bool,
) -> HandshakeKeys {
    let secrets = secret.into_traffic_secrets(&transcript.digest());
    log.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", secrets.client());
    log.log("SERVER_HANDSHAKE_TRAFFIC_SECRET", secrets.server());
    match over_quic {
        #[cfg(feature = "quic")]
        true => secrets.into_secrets(),
        _ => secrets.into_keys(),
    }
}

/// The application keys of both sides, and the exporter.
pub(crate) struct ApplicationKeys {
    pub(crate) client: NewKeys,
    pub(crate) server: NewKeys,
    pub(crate) exporter: Exporter,
}

/// Derives and logs the application keys, after the server's Finished. RFC 9846 7.1
pub(crate) fn application_keys(
    main: &MainSecret,
    transcript: &mut Transcript,
    log: &SecretLog,
    over_quic: bool,
) -> ApplicationKeys {
    let made = main.application_secrets(&transcript.digest());
    log.log("CLIENT_TRAFFIC_SECRET_0", made.client.as_bytes());
    log.log("SERVER_TRAFFIC_SECRET_0", made.server.as_bytes());
    log.log("EXPORTER_SECRET", made.exporter.as_bytes());
    // QUIC derives other keys from the secrets. RFC 9001 5.1
    if over_quic {
        let exporter = Exporter::tls13(made.exporter);
        let [client, server] = [made.client, made.server].map(|secret| Keys::Tls13(secret).into());
        return ApplicationKeys { client, server, exporter };
    }
    let [client_key, server_key] = made.write_keys();
    ApplicationKeys {
        client: NewKeys::tls13(made.client, client_key),
        server: NewKeys::tls13(made.server, server_key),
        exporter: Exporter::tls13(made.exporter),
    }
}
