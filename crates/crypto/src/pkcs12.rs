//! PKCS#12 files: a private key and certificates, protected by a password. RFC 7292

mod ber;
mod iterations;
mod prf_parameters;

use core::fmt;
use std::ffi::CString;

use crate::backend::pkcs12;
use crate::error::Pkcs12Error;
use crate::memory::wipe;
use crate::signing_key::SigningKey;

/// The contents of a PKCS#12 file.
pub struct Pkcs12 {
    /// The private key, if there is one.
    pub key: Option<SigningKey>,
    /// The certificates (DER) in the order of the file, which need not be the order of a chain.
    pub certificates: Vec<Vec<u8>>,
}

impl Pkcs12 {
    /// Verifies the MAC of a file (BER) with the password, and decrypts the contents. The
    /// encryption may be PBES2, also as GnuTLS and NSS write it, or 3DES, RC2-40 and RC4 of older
    /// files. RFC 7292 4, RFC 8018 6.2
    ///
    /// The iterations that the file asks for are limited ([`Pkcs12Error::TooManyIterations`]): for
    /// its MAC and for each encryption to ten million, which take some seconds, and together to a
    /// hundred million. For a key in encrypted contents, AWS-LC's limit is a hundred million.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be opened.
    pub fn open(file: &[u8], password: &str) -> Result<Self, Pkcs12Error> {
        iterations::check(file)?;
        let terminated = CString::new(password).map_err(|_| Pkcs12Error::WrongPassword)?;
        let contents = prf_parameters::complete(file, password)
            .and_then(|completed| pkcs12::open(completed.as_deref().unwrap_or(file), &terminated));
        wipe(&mut terminated.into_bytes());
        let contents = contents?;
        let key = contents.key.map(|der| SigningKey::from_der(&der)).transpose();
        let key = key.map_err(Pkcs12Error::Key)?;
        Ok(Self { key, certificates: contents.certificates })
    }
}

/// Omits the contents.
impl fmt::Debug for Pkcs12 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pkcs12")
            .field("key", &self.key.is_some())
            .field("certificates", &self.certificates.len())
            .finish()
    }
}
