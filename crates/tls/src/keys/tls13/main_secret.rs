//! The main secret: application data, exporters, resumption. RFC 9846 7.1
//!
//! Must not know: messages. Next: [`super::traffic`], [`super::exporter`], [`super::resumption`].

use tercel_crypto::{Digest, Prk};

use super::exporter::ExporterSecret;
use super::label::derive_secret;
use super::resumption::ResumptionSecret;
use super::traffic::TrafficSecret;
use crate::keys::suite::Suite;

/// The last stage: application data, exporters, resumption.
pub(crate) struct MainSecret {
    pub(super) prk: Prk,
    pub(super) suite: &'static Suite,
}

impl MainSecret {
    /// `finished` is the transcript hash of ClientHello to the server's Finished.
    pub(crate) fn client_application_traffic_secret(&self, finished: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(&self.prk, b"c ap traffic", finished))
    }

    /// `finished` is the transcript hash of ClientHello to the server's Finished.
    pub(crate) fn server_application_traffic_secret(&self, finished: &Digest) -> TrafficSecret {
        TrafficSecret::new(self.suite, &derive_secret(&self.prk, b"s ap traffic", finished))
    }

    /// `finished` is the transcript hash of ClientHello to the client's Finished.
    pub(crate) fn resumption_secret(&self, finished: &Digest) -> ResumptionSecret {
        ResumptionSecret {
            secret: derive_secret(&self.prk, b"res master", finished),
            hash: self.suite.hash,
        }
    }

    /// `finished` is the transcript hash of ClientHello to the server's Finished.
    pub(crate) fn exporter_secret(&self, finished: &Digest) -> ExporterSecret {
        ExporterSecret::new(self.suite.hash, &derive_secret(&self.prk, b"exp master", finished))
    }
}
