//! Which cryptographic module this build uses, in the sense of FIPS 140-3.

/// A cryptographic module with a certificate of FIPS 140-3, or submitted for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FipsModule {
    /// The version, as the module prints it.
    pub version: &'static str,
    /// The number of the certificate, or `None` while the validation is in process.
    pub certificate: Option<&'static str>,
}

/// The module that this build uses and that has passed its self-tests; `None` without the feature
/// `fips`.
pub fn fips_module() -> Option<FipsModule> {
    #[cfg(feature = "fips")]
    if crate::backend::fips::is_on() {
        return Some(FipsModule { version: crate::backend::fips::version(), certificate: None });
    }
    None
}
