//! TLS 1.3 exporters. RFC 9846 7.5

use tercel_crypto::{Hash, HashAlgorithm, Prk, ShortSecret};
use tercel_wire::{Reader, Writer};

use crate::error::{Error, InternalError};
use crate::keys::constants::Constants;
use crate::keys::label::{MAX_LABEL, derive_secret, expand_label};

/// The exporter secret. RFC 9846 7.5
pub(crate) struct ExporterSecret {
    secret: ShortSecret,
    hash: HashAlgorithm,
}

impl ExporterSecret {
    /// Writes the secret. Its length identifies the hash.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.opaque8(self.secret.as_bytes());
    }

    /// Reads a secret that [`Self::write`] wrote.
    pub(crate) fn read(r: &mut Reader<'_>) -> Option<Self> {
        let bytes = r.opaque8().ok()?;
        let hash = match bytes.len() {
            32 => HashAlgorithm::Sha256,
            48 => HashAlgorithm::Sha384,
            _ => return None,
        };
        Some(Self { secret: ShortSecret::new(bytes), hash })
    }

    pub(super) fn new(hash: HashAlgorithm, secret: ShortSecret) -> Self {
        Self { secret, hash }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    /// Computes TLS-Exporter. An absent context and an empty one give the same value. RFC 9846 7.5
    pub(crate) fn export(&self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let longest = self.hash.output_len().saturating_mul(255);
        if out.len() > longest || label.len() > MAX_LABEL {
            return Err(InternalError::Encode.into());
        }
        let prk = Prk::from_bytes(self.hash, self.secret.as_bytes());
        let secret = derive_secret(&prk, label, &Constants::of(self.hash).empty_hash);
        let prk = Prk::from_bytes(self.hash, secret.as_bytes());
        expand_label(&prk, b"exporter", &Hash::digest(self.hash, &[context]), out);
        Ok(())
    }
}
