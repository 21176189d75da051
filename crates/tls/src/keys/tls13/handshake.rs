//! The handshake secret: what protects the rest of the handshake, and makes both Finished. RFC 9846 7.1
//!
//! Must not know: messages. Next: [`super::main_secret`].

use tercel_crypto::{Digest, HmacKey, Mac, Prk, ShortSecret};

use super::label::{Label, Labelled, derive_secrets, expand_labels};
use super::main_secret::MainSecret;
use super::traffic::key_and_iv;
use crate::keys::constants::Constants;
use crate::keys::direction::{Keys, WriteKey};
use crate::keys::suite::Suite;

/// The second stage: protects the rest of the handshake.
pub(crate) struct HandshakeSecret {
    prk: Prk,
    suite: &'static Suite,
}

impl HandshakeSecret {
    pub(super) fn new(prk: Prk, suite: &'static Suite) -> Self {
        Self { prk, suite }
    }

    /// `hello` is the transcript hash of ClientHello to ServerHello. The salt of the main secret comes along: it depends on
    /// this secret alone.
    pub(crate) fn into_traffic_secrets(self, hello: &Digest) -> HandshakeTrafficSecrets {
        let empty = &Constants::of(self.suite.hash).empty;
        let derived: [(Label, &[u8]); 3] = [
            (Label::CLIENT_HANDSHAKE_TRAFFIC, hello),
            (Label::SERVER_HANDSHAKE_TRAFFIC, hello),
            (Label::DERIVED, empty),
        ];
        let [client, server, salt] = derive_secrets(&self.prk, derived);
        HandshakeTrafficSecrets { client, server, salt, suite: self.suite }
    }
}

/// Both sides' secrets of this stage, and the salt of the next.
pub(crate) struct HandshakeTrafficSecrets {
    client: ShortSecret,
    server: ShortSecret,
    salt: ShortSecret,
    suite: &'static Suite,
}

impl HandshakeTrafficSecrets {
    /// client_handshake_traffic_secret.
    pub(crate) fn client(&self) -> &[u8] {
        self.client.as_bytes()
    }

    /// server_handshake_traffic_secret.
    pub(crate) fn server(&self) -> &[u8] {
        self.server.as_bytes()
    }

    /// All that comes of them. The last stage is extracted beside: it takes in no message and no further secret, so that what
    /// it will be is settled by now, however long the handshake goes on. RFC 9846 7.1, 7.3, 4.5.3
    pub(crate) fn into_keys(self) -> HandshakeKeys {
        let Suite { hash, aead, .. } = *self.suite;
        let (digest, write) = (hash.output_len(), WriteKey::tls13_length(aead));
        let [client, server, salt] = HmacKey::several(
            hash,
            [self.client.as_bytes(), self.server.as_bytes(), self.salt.as_bytes()],
        );
        let (client, server) = (Prk::from_key(client), Prk::from_key(server));
        let zeros = [0_u8; 64];
        let zeros = zeros.get(..digest).unwrap_or_default();
        let lengths = [write, write, digest, digest, digest];
        let made = ShortSecret::several(lengths, |[of_client, of_server, a, b, main]| {
            let [client_key, client_iv] = key_and_iv(&client, aead, of_client);
            let [server_key, server_iv] = key_and_iv(&server, aead, of_server);
            let finished = |prk, out| Labelled { prk, label: Label::FINISHED, context: &[], out };
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
            HmacKey::several(hash, [a.as_bytes(), b.as_bytes(), main.as_bytes()]);
        HandshakeKeys {
            client: Keys::Handshake13(WriteKey::tls13(aead, of_client)),
            server: Keys::Handshake13(WriteKey::tls13(aead, of_server)),
            client_finished: FinishedKey(client_finished),
            server_finished: FinishedKey(server_finished),
            main: MainSecret::new(Prk::from_key(main), self.suite),
        }
    }
}

/// What a handshake needs to its end: for the records of each side and its Finished, and the last stage of the schedule.
pub(crate) struct HandshakeKeys {
    pub(crate) client: Keys,
    pub(crate) server: Keys,
    pub(crate) client_finished: FinishedKey,
    pub(crate) server_finished: FinishedKey,
    pub(crate) main: MainSecret,
}

/// What makes one side's Finished. RFC 9846 4.5.3
pub(crate) struct FinishedKey(HmacKey);

impl FinishedKey {
    pub(super) fn hmac(&self) -> &HmacKey {
        &self.0
    }

    /// The `verify_data` over this transcript hash.
    pub(crate) fn verify_data(&self, transcript: &Digest) -> Digest {
        self.0.sign(&[transcript])
    }

    /// Compares in constant time.
    pub(crate) fn verifies(&self, transcript: &Digest, verify_data: &[u8]) -> bool {
        self.0.verify(&[transcript], verify_data)
    }
}
