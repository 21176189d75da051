//! Secrets that leave a connection on purpose: exporters. RFC 9846 7.5, RFC 5705
//!
//! Must not know: records. Next: `keys/`; [`super::traffic_keys`], which give the connection itself away.

use tercel_wire::{ProtocolVersion, Reader, Writer};

use crate::error::{Error, Misuse};
use crate::keys::suite::Suite;
use crate::keys::tls12::Exporter12;
use crate::keys::tls13::ExporterSecret;

/// Derives keying material for other protocols from a connection.
pub struct Exporter(Kind);

/// In boxes, so that a secret is not left behind wherever the connection was moved from.
enum Kind {
    Tls13(Box<ExporterSecret>),
    Tls12(Box<Exporter12>),
}

impl Exporter {
    pub(crate) fn tls13(secret: ExporterSecret) -> Self {
        Self(Kind::Tls13(Box::new(secret)))
    }

    pub(crate) fn tls12(exporter: Exporter12) -> Self {
        Self(Kind::Tls12(Box::new(exporter)))
    }

    pub(super) fn write(&self, w: &mut Writer<'_>) {
        match &self.0 {
            Kind::Tls13(secret) => secret.write(w),
            Kind::Tls12(exporter) => exporter.write(w),
        }
    }

    /// What [`Self::write`] wrote, in a connection of this suite.
    pub(super) fn read(r: &mut Reader<'_>, suite: &Suite) -> Option<Self> {
        if suite.is_tls13() {
            return ExporterSecret::read(r).map(Self::tls13);
        }
        Exporter12::read(r, suite).map(Self::tls12)
    }

    /// Fills `out` with keying material for `label` and `context`. In TLS 1.3 no context and an empty
    /// one give the same material, in TLS 1.2 they do not.
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] for lengths the protocol has no room for: an output beyond 255 hash
    /// lengths or a label beyond 249 bytes (TLS 1.3), a context beyond 65535 bytes (TLS 1.2).
    /// [`Misuse::NoExtendedMainSecret`] in TLS 1.2 with a peer that lacks that: the material could be
    /// shared with another connection. RFC 7627 5.4
    pub fn export(
        &self,
        label: &[u8],
        context: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        match &self.0 {
            Kind::Tls13(secret) => secret
                .export(label, context.unwrap_or_default(), out)
                .map_err(|_| Misuse::InvalidArgument.into()),
            Kind::Tls12(exporter) => {
                if context.is_some_and(|context| context.len() > usize::from(u16::MAX)) {
                    return Err(Misuse::InvalidArgument.into());
                }
                exporter.export(label, context, out)
            }
        }
    }

    /// Which version's exporter this is.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        match &self.0 {
            Kind::Tls13(_) => ProtocolVersion::TLS1_3,
            Kind::Tls12(_) => ProtocolVersion::TLS1_2,
        }
    }
}

impl core::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}
