//! Certificates.

use tercel::pki::{self, PemError};
use tercel::pki_types::CertificateDer;

use crate::error::{Error, Kind, Result};

/// An X.509 certificate.
#[derive(Clone)]
pub struct Certificate(pub(crate) CertificateDer<'static>);

impl Certificate {
    /// Parses a certificate in DER.
    ///
    /// # Errors
    /// If the bytes are not one certificate.
    pub fn from_der(der: &[u8]) -> Result<Self> {
        Self::new(CertificateDer::from(der.to_vec()))
    }

    /// Parses the first certificate of a PEM file.
    ///
    /// # Errors
    /// If the file contains no certificate, or the certificate cannot be parsed.
    pub fn from_pem(pem: &[u8]) -> Result<Self> {
        let first = pki::load_certs_pem(pem).map_err(Kind::Pem)?.into_iter().next();
        Self::new(first.ok_or(Kind::Pem(PemError::NothingFound))?)
    }

    /// Parses all certificates of a PEM file, in order. The result may be empty.
    ///
    /// # Errors
    /// If the PEM or a certificate cannot be parsed.
    pub fn stack_from_pem(pem: &[u8]) -> Result<Vec<Self>> {
        match pki::load_certs_pem(pem) {
            Ok(certificates) => certificates.into_iter().map(Self::new).collect(),
            Err(PemError::NothingFound) => Ok(Vec::new()),
            Err(error) => Err(Kind::Pem(error).into()),
        }
    }

    /// Returns the certificate in DER.
    ///
    /// # Errors
    /// None; the signature is that of native-tls.
    pub fn to_der(&self) -> Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }

    fn new(der: CertificateDer<'static>) -> Result<Self> {
        match pki::subject_public_key_info(&der) {
            Ok(_) => Ok(Self(der)),
            Err(reason) => Err(Error::from(Kind::Certificate(reason))),
        }
    }
}
