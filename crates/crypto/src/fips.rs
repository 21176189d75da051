//! Which cryptographic module this build uses, in the sense of FIPS 140-3.
//!
//! Cargo selects the newest version of the bindings, whose module is in process of validation. The
//! module with a certificate is version 3.1.0, which the bindings 0.13.11 contain; later versions
//! 0.13 contain later modules. A program pins it by `cargo update -p aws-lc-fips-sys --precise
//! 0.13.11`. That module has no ML-DSA.

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
        let version = crate::backend::fips::version();
        return Some(FipsModule { version, certificate: certificate(version) });
    }
    None
}

/// The certificate of a module of this version, which is printed as AWS-LC does.
#[cfg(any(test, feature = "fips"))]
fn certificate(version: &str) -> Option<&'static str> {
    let number = if cfg!(fips_module_static) { STATIC } else { SHARED };
    (version == CERTIFIED).then_some(number)
}

/// The only version with a certificate that can be linked, according to `FIPS.md` of AWS-LC.
#[cfg(any(test, feature = "fips"))]
const CERTIFIED: &str = "AWS-LC FIPS 3.1.0";
/// The certificate of the static library.
#[cfg(any(test, feature = "fips"))]
const STATIC: &str = "5314";
/// The certificate of the shared library.
#[cfg(any(test, feature = "fips"))]
const SHARED: &str = "5298";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_certified_version_has_a_certificate() {
        assert!(certificate(CERTIFIED).is_some_and(|number| [STATIC, SHARED].contains(&number)));
        for version in
            ["AWS-LC FIPS 3.1.1", "AWS-LC FIPS 3.6.0", "AWS-LC FIPS 4.2.0", "AWS-LC 3.1.0"]
        {
            assert_eq!(certificate(version), None);
        }
    }

    #[test]
    fn the_feature_alone_selects_the_module() {
        let module = fips_module();
        assert_eq!(module.is_some(), cfg!(feature = "fips"));
        assert!(module.is_none_or(|module| module.version.starts_with("AWS-LC FIPS ")));
    }
}
