//! Exporters of keying material. RFC 9846 7.5, RFC 5705

use tercel_wire::{ProtocolVersion, Reader, Writer};

use crate::error::{Error, Misuse};
use crate::keys::suite::Suite;
use crate::keys::tls12::Exporter12;
use crate::keys::tls13::ExporterSecret;

/// An exporter: derives keying material for other protocols from a connection. RFC 9846 7.5,
/// RFC 5705
///
/// ```
/// # fn run(connection: tercel::Connection) -> Result<(), tercel::Error> {
/// let mut key = [0; 32];
/// connection.exporter.export(b"EXPORTER-Channel-Binding", Some(b""), &mut key)?; // RFC 9266
/// # Ok(()) }
/// ```
pub struct Exporter(Kind);

/// The variants are boxed, because moving a secret would leave a copy in memory.
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

    /// Reads an exporter that [`Self::write`] wrote for a connection with this cipher suite.
    pub(super) fn read(r: &mut Reader<'_>, suite: &Suite) -> Option<Self> {
        if suite.is_tls13() {
            return ExporterSecret::read(r).map(Self::tls13);
        }
        Exporter12::read(r, suite).map(Self::tls12)
    }

    /// Fills `out` with keying material for `label` and `context`. An absent context and an empty
    /// context give the same material in TLS 1.3, but not in TLS 1.2.
    ///
    /// # Errors
    /// [`Misuse::InvalidArgument`] for an output of more than 255 hash lengths or a label of more
    /// than 249 bytes (TLS 1.3), or a context of more than 65535 bytes (TLS 1.2).
    /// [`Misuse::NoExtendedMainSecret`] in TLS 1.2 without the extended main secret: another
    /// connection could have the same keying material. RFC 7627 5.4
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

    /// Returns the version of the connection.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        match &self.0 {
            Kind::Tls13(_) => ProtocolVersion::TLS1_3,
            Kind::Tls12(_) => ProtocolVersion::TLS1_2,
        }
    }
}

debug_fields!(Exporter);
