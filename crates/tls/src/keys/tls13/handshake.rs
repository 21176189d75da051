//! The handshake secret: handshake traffic keys and Finished keys. RFC 9846 7.1

use tercel_crypto::{Digest, HmacKey, Mac, Prk, ShortSecret};

use super::finished_key::FinishedKey;
use super::main_secret::MainSecret;
#[cfg(feature = "quic")]
use super::traffic::TrafficSecret;
use super::traffic::key_and_iv;
use crate::keys::constants::Constants;
use crate::keys::label::{ExpandLabel, Label, derive_secrets, expand_labels};
use crate::keys::suite::Suite;
use crate::keys::write_key::WriteKey;

/// The handshake secret, the second stage of the key schedule.
pub(crate) struct HandshakeSecret {
    prk: Prk,
    suite: &'static Suite,
}

impl HandshakeSecret {
    pub(super) fn new(prk: Prk, suite: &'static Suite) -> Self {
        Self { prk, suite }
    }

    /// Derives the handshake traffic secrets, and the salt of the main secret, which depends only
    /// on the handshake secret. `transcript_hash` covers ClientHello to ServerHello.
    pub(crate) fn into_traffic_secrets(self, transcript_hash: &Digest) -> HandshakeTrafficSecrets {
        let empty_hash = &Constants::of(self.suite.hash).empty_hash;
        let inputs: [(Label, &[u8]); 3] = [
            (Label::CLIENT_HANDSHAKE_TRAFFIC, transcript_hash),
            (Label::SERVER_HANDSHAKE_TRAFFIC, transcript_hash),
            (Label::DERIVED, empty_hash),
        ];
        let [client, server, salt] = derive_secrets(&self.prk, inputs);
        HandshakeTrafficSecrets { client, server, salt, suite: self.suite }
    }
}

/// The handshake traffic secrets, and the salt of the main secret.
pub(crate) struct HandshakeTrafficSecrets {
    client: ShortSecret,
    server: ShortSecret,
    salt: ShortSecret,
    suite: &'static Suite,
}

impl HandshakeTrafficSecrets {
    /// Returns client_handshake_traffic_secret.
    pub(crate) fn client(&self) -> &[u8] {
        self.client.as_bytes()
    }

    /// Returns server_handshake_traffic_secret.
    pub(crate) fn server(&self) -> &[u8] {
        self.server.as_bytes()
    }

    /// Derives the Finished keys and the main secret at once, and keeps the traffic secrets, from
    /// which QUIC derives its own keys. RFC 9001 5.1
    #[cfg(feature = "quic")]
    pub(crate) fn into_secrets(self) -> HandshakeKeys {
        let Suite { hash, .. } = *self.suite;
        let digest = hash.output_len();
        let [client, server, salt] = HmacKey::batch(
            hash,
            [self.client.as_bytes(), self.server.as_bytes(), self.salt.as_bytes()],
        );
        let (client, server) = (Prk::from_key(client), Prk::from_key(server));
        let zeros = [0_u8; 64];
        let zeros = zeros.get(..digest).unwrap_or_default();
        let made = ShortSecret::batch([digest; 3], |[a, b, main]| {
            let finished =
                |prk, out| ExpandLabel { prk, label: Label::FINISHED, context: &[], out };
            let mac = Mac { key: &salt, parts: &[zeros], out: main };
            expand_labels([finished(&client, a), finished(&server, b)], &mut [mac]);
        });
        let secret = |secret| HandshakeTraffic::Secret(TrafficSecret::new(self.suite, secret));
        HandshakeKeys::new(self.suite, secret(self.client), secret(self.server), &made)
    }

    /// Derives the traffic keys, the Finished keys and the main secret at once. The main secret can
    /// already be extracted here, since it does not depend on later messages or secrets.
    /// RFC 9846 7.1, 7.3, 4.5.3
    pub(crate) fn into_keys(self) -> HandshakeKeys {
        let Suite { hash, aead, .. } = *self.suite;
        let (digest, write) = (hash.output_len(), WriteKey::tls13_length(aead));
        let [client, server, salt] = HmacKey::batch(
            hash,
            [self.client.as_bytes(), self.server.as_bytes(), self.salt.as_bytes()],
        );
        let (client, server) = (Prk::from_key(client), Prk::from_key(server));
        let zeros = [0_u8; 64];
        let zeros = zeros.get(..digest).unwrap_or_default();
        let lengths = [write, write, digest, digest, digest];
        let made = ShortSecret::batch(lengths, |[of_client, of_server, a, b, main]| {
            let [client_key, client_iv] = key_and_iv(&client, aead, of_client);
            let [server_key, server_iv] = key_and_iv(&server, aead, of_server);
            let finished =
                |prk, out| ExpandLabel { prk, label: Label::FINISHED, context: &[], out };
            let steps = [
                client_key,
                client_iv,
                finished(&client, a),
                server_key,
                server_iv,
                finished(&server, b),
            ];
            expand_labels(steps, &mut [Mac { key: &salt, parts: &[zeros], out: main }]);
        });
        let [of_client, of_server, later @ ..] = made;
        let keys = |bytes| HandshakeTraffic::Key(WriteKey::tls13(aead, bytes));
        HandshakeKeys::new(self.suite, keys(of_client), keys(of_server), &later)
    }
}

/// Traffic keys and Finished keys of both sides, and the main secret.
pub(crate) struct HandshakeKeys {
    pub(crate) client: HandshakeTraffic,
    pub(crate) server: HandshakeTraffic,
    pub(crate) client_finished: FinishedKey,
    pub(crate) server_finished: FinishedKey,
    pub(crate) main: MainSecret,
}

/// The protection of one direction's handshake messages.
pub(crate) enum HandshakeTraffic {
    /// Key and IV. Over records the secret is not needed, since it is never updated.
    Key(WriteKey),
    /// The traffic secret, for QUIC.
    #[cfg(feature = "quic")]
    Secret(TrafficSecret),
}

impl HandshakeKeys {
    /// `later` has the Finished keys of client and server, and the main secret.
    fn new(
        suite: &'static Suite,
        client: HandshakeTraffic,
        server: HandshakeTraffic,
        later: &[ShortSecret; 3],
    ) -> Self {
        let [client_finished, server_finished, main] =
            HmacKey::batch(suite.hash, later.each_ref().map(ShortSecret::as_bytes));
        Self {
            client,
            server,
            client_finished: FinishedKey(client_finished),
            server_finished: FinishedKey(server_finished),
            main: MainSecret::new(Prk::from_key(main), suite),
        }
    }
}
