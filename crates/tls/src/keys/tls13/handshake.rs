//! The handshake secret: handshake traffic keys and Finished keys. RFC 9846 7.1

use tercel_crypto::{Digest, HmacKey, Mac, Prk, ShortSecret};

use super::finished_key::FinishedKey;
use super::main_secret::MainSecret;
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
        let [of_client, of_server, a, b, main] = made;
        let [client_finished, server_finished, main] =
            HmacKey::batch(hash, [a.as_bytes(), b.as_bytes(), main.as_bytes()]);
        HandshakeKeys {
            client: WriteKey::tls13(aead, of_client),
            server: WriteKey::tls13(aead, of_server),
            client_finished: FinishedKey(client_finished),
            server_finished: FinishedKey(server_finished),
            main: MainSecret::new(Prk::from_key(main), self.suite),
        }
    }
}

/// Traffic keys and Finished keys of both sides, and the main secret.
pub(crate) struct HandshakeKeys {
    pub(crate) client: WriteKey,
    pub(crate) server: WriteKey,
    pub(crate) client_finished: FinishedKey,
    pub(crate) server_finished: FinishedKey,
    pub(crate) main: MainSecret,
}
