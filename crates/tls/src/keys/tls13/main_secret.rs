//! The main secret: application traffic secrets, exporters and resumption. RFC 9846 7.1

use tercel_crypto::{Digest, Mac, Prk, ShortSecret};

use super::exporter::ExporterSecret;
use super::finished_key::FinishedKey;
use super::resumption_secret::ResumptionSecret;
use super::traffic::{TrafficSecret, key_and_iv};
use crate::keys::label::{ExpandLabel, Label, derive, expand_labels};
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
    /// `transcript_hash`. If the client's Finished key is given, the client's `verify_data` is
    /// computed as well: it covers the same transcript if the client sends no other message before
    /// its Finished. RFC 9846 4.5
    pub(crate) fn application_secrets(
        &self,
        transcript_hash: &Digest,
        client: Option<&FinishedKey>,
    ) -> ApplicationSecrets {
        let digest = self.suite.hash.output_len();
        let lengths = [digest, digest, digest, client.map_or(0, |_| digest)];
        let made = ShortSecret::batch(lengths, |[of_client, of_server, exporter, out]| {
            let derived =
                |label, out| ExpandLabel { prk: &self.prk, label, context: transcript_hash, out };
            let steps = [
                derived(Label::CLIENT_APPLICATION_TRAFFIC, of_client),
                derived(Label::SERVER_APPLICATION_TRAFFIC, of_server),
                derived(Label::EXPORTER, exporter),
            ];
            let parts: &[&[u8]] = &[transcript_hash];
            let mut macs = client.map(|key| Mac { key: key.hmac(), parts, out });
            expand_labels(steps, macs.as_mut_slice());
        });
        let [of_client, of_server, exporter, verify_data] = made;
        ApplicationSecrets {
            client: TrafficSecret::new(self.suite, of_client),
            server: TrafficSecret::new(self.suite, of_server),
            exporter: ExporterSecret::new(self.suite.hash, exporter),
            client_verify_data: client.map(|_| verify_data),
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
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    pub(crate) exporter: ExporterSecret,
    /// The content of the client's Finished, which is secret until the client sends it.
    pub(crate) client_verify_data: Option<ShortSecret>,
}

impl ApplicationSecrets {
    /// Derives key and IV of the client and of the server. If `transcript_hash`, which covers
    /// ClientHello to the client's Finished, is given, the resumption secret is derived as well.
    /// `main` is the main secret from which these secrets were derived. RFC 9846 7.3, 7.1
    pub(crate) fn write_keys(
        &self,
        main: &MainSecret,
        transcript_hash: Option<&Digest>,
    ) -> ([WriteKey; 2], Option<ResumptionSecret>) {
        let Suite { hash, aead, .. } = *main.suite;
        let secrets = [self.client.as_bytes(), self.server.as_bytes()];
        let [client, server] = &Prk::batch(hash, secrets);
        let write = WriteKey::tls13_length(aead);
        let lengths = [write, write, transcript_hash.map_or(0, |_| hash.output_len())];
        let made = ShortSecret::batch(lengths, |[of_client, of_server, out]| {
            let [client_key, client_iv] = key_and_iv(client, aead, of_client);
            let [server_key, server_iv] = key_and_iv(server, aead, of_server);
            let context = transcript_hash.map(|digest| &**digest).unwrap_or_default();
            let resumption = ExpandLabel { prk: &main.prk, label: Label::RESUMPTION, context, out };
            expand_labels([client_key, client_iv, server_key, server_iv, resumption], &mut []);
        });
        let [of_client, of_server, resumption] = made;
        let keys = [of_client, of_server].map(|bytes| WriteKey::tls13(aead, bytes));
        (keys, transcript_hash.map(|_| ResumptionSecret::new(hash, resumption)))
    }
}
