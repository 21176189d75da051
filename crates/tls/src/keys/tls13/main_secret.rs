//! The main secret: application traffic secrets, exporters and resumption. RFC 9846 7.1

use tercel_crypto::{Digest, Prk, ShortSecret};

use super::exporter::ExporterSecret;
use super::resumption_secret::ResumptionSecret;
use super::traffic::{TrafficSecret, key_and_iv};
use crate::keys::label::{Label, derive, derive_secrets, expand_labels};
use crate::keys::suite::Suite;
use crate::keys::write_key::WriteKey;

/// The main secret, the last stage of the key schedule.
pub(crate) struct MainSecret {
    prk: Prk,
    suite: &'static Suite,
}

impl MainSecret {
    pub(super) fn new(prk: Prk, suite: &'static Suite) -> Self {
        Self { prk, suite }
    }

    /// Derives the secrets that depend on the transcript up to the server's Finished, whose hash is
    /// `transcript_hash`.
    pub(crate) fn application_secrets(&self, transcript_hash: &Digest) -> ApplicationSecrets {
        let labels =
            [Label::CLIENT_APPLICATION_TRAFFIC, Label::SERVER_APPLICATION_TRAFFIC, Label::EXPORTER];
        let inputs = labels.map(|label| (label, &**transcript_hash));
        let [client, server, exporter] = derive_secrets(&self.prk, inputs);
        ApplicationSecrets {
            suite: self.suite,
            client: TrafficSecret::new(self.suite, client),
            server: TrafficSecret::new(self.suite, server),
            exporter: ExporterSecret::new(self.suite.hash, exporter),
        }
    }

    /// Derives the resumption secret. `transcript_hash` covers ClientHello to the client's
    /// Finished.
    pub(crate) fn resumption_secret(&self, transcript_hash: &Digest) -> ResumptionSecret {
        ResumptionSecret::new(
            self.suite.hash,
            derive(&self.prk, Label::RESUMPTION, transcript_hash),
        )
    }
}

/// The result of [`MainSecret::application_secrets`].
pub(crate) struct ApplicationSecrets {
    suite: &'static Suite,
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    pub(crate) exporter: ExporterSecret,
}

impl ApplicationSecrets {
    /// Derives key and IV of the client and of the server. RFC 9846 7.3
    pub(crate) fn write_keys(&self) -> [WriteKey; 2] {
        let Suite { hash, aead, .. } = *self.suite;
        let [client, server] = &Prk::batch(hash, [self.client.as_bytes(), self.server.as_bytes()]);
        let lengths = [WriteKey::tls13_length(aead); 2];
        let made = ShortSecret::batch(lengths, |[of_client, of_server]| {
            let [client_key, client_iv] = key_and_iv(client, aead, of_client);
            let [server_key, server_iv] = key_and_iv(server, aead, of_server);
            expand_labels([client_key, client_iv, server_key, server_iv], &mut []);
        });
        made.map(|bytes| WriteKey::tls13(aead, bytes))
    }
}
