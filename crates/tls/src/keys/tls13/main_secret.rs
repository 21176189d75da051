//! The main secret: application data, exporters, resumption. RFC 9846 7.1
//!
//! Must not know: messages. Next: [`super::traffic`], [`super::exporter`], [`super::resumption`].

use tercel_crypto::{Digest, Mac, Prk, ShortSecret};

use super::exporter::ExporterSecret;
use super::handshake::FinishedKey;
use super::label::{Label, Labelled, derive, expand_labels};
use super::resumption::ResumptionSecret;
use super::traffic::{TrafficSecret, key_and_iv};
use crate::keys::direction::WriteKey;
use crate::keys::suite::Suite;

/// The last stage: application data, exporters, resumption.
pub(crate) struct MainSecret {
    prk: Prk,
    suite: &'static Suite,
}

impl MainSecret {
    pub(super) fn new(prk: Prk, suite: &'static Suite) -> Self {
        Self { prk, suite }
    }

    /// All that is over ClientHello to the server's Finished, of which `finished` is the transcript hash. With the client's
    /// key its `verify_data` comes along, which is over the same if no message of the client's stands between. RFC 9846 4.5
    pub(crate) fn application_secrets(
        &self,
        finished: &Digest,
        client: Option<&FinishedKey>,
    ) -> ApplicationSecrets {
        let digest = self.suite.hash.output_len();
        let lengths = [digest, digest, digest, client.map_or(0, |_| digest)];
        let made = ShortSecret::several(lengths, |[of_client, of_server, exporter, out]| {
            let derived = |label, out| Labelled { prk: &self.prk, label, context: finished, out };
            let steps = [
                derived(Label::CLIENT_APPLICATION_TRAFFIC, of_client),
                derived(Label::SERVER_APPLICATION_TRAFFIC, of_server),
                derived(Label::EXPORTER, exporter),
            ];
            let parts: &[&[u8]] = &[finished];
            let mut beside = client.map(|key| Mac { key: key.hmac(), parts, out });
            expand_labels(steps, beside.as_mut_slice());
        });
        let [of_client, of_server, exporter, verify_data] = made;
        ApplicationSecrets {
            client: TrafficSecret::new(self.suite, of_client),
            server: TrafficSecret::new(self.suite, of_server),
            exporter: ExporterSecret::new(self.suite.hash, exporter),
            client_verify_data: client.map(|_| verify_data),
        }
    }

    /// `finished` is the transcript hash of ClientHello to the client's Finished.
    pub(crate) fn resumption_secret(&self, finished: &Digest) -> ResumptionSecret {
        ResumptionSecret::new(self.suite.hash, derive(&self.prk, Label::RESUMPTION, finished))
    }
}

/// What [`MainSecret::application_secrets`] gives.
pub(crate) struct ApplicationSecrets {
    pub(crate) client: TrafficSecret,
    pub(crate) server: TrafficSecret,
    pub(crate) exporter: ExporterSecret,
    /// A secret until the client sends it.
    pub(crate) client_verify_data: Option<ShortSecret>,
}

impl ApplicationSecrets {
    /// Key and IV of the client's direction and of the server's. With `finished`, the transcript hash of ClientHello to the
    /// client's Finished, the resumption secret comes along; `main` is what this came of. RFC 9846 7.3, 7.1
    pub(crate) fn write_keys(
        &self,
        main: &MainSecret,
        finished: Option<&Digest>,
    ) -> ([WriteKey; 2], Option<ResumptionSecret>) {
        let Suite { hash, aead, .. } = *main.suite;
        let secrets = [self.client.as_bytes(), self.server.as_bytes()];
        let [client, server] = &Prk::several(hash, secrets);
        let write = WriteKey::tls13_length(aead);
        let lengths = [write, write, finished.map_or(0, |_| hash.output_len())];
        let made = ShortSecret::several(lengths, |[of_client, of_server, out]| {
            let [client_key, client_iv] = key_and_iv(client, aead, of_client);
            let [server_key, server_iv] = key_and_iv(server, aead, of_server);
            let context = finished.map(|digest| &**digest).unwrap_or_default();
            let resumption = Labelled { prk: &main.prk, label: Label::RESUMPTION, context, out };
            expand_labels([client_key, client_iv, server_key, server_iv, resumption], &mut []);
        });
        let [of_client, of_server, resumption] = made;
        let keys = [of_client, of_server].map(|bytes| WriteKey::tls13(aead, bytes));
        (keys, finished.map(|_| ResumptionSecret::new(hash, resumption)))
    }
}
