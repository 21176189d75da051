//! X.509 or raw public key: which forms of certificate a side shows and accepts. RFC 7250
//!
//! Must not know: messages. Next: [`super::verifier`], which judges keys; `hello/certificate_type.rs`,
//! which agrees on a form.

use tercel_wire::{CertificateType, List};

/// What stands where nobody speaks of it. RFC 7250 3
pub(crate) const DEFAULT: &[CertificateType] = &[CertificateType::X509];

/// A list of this one type, for as long as anybody likes.
pub(crate) fn only(certificate_type: CertificateType) -> List<'static, CertificateType> {
    List::of(match certificate_type {
        CertificateType::RAW_PUBLIC_KEY => &[CertificateType::RAW_PUBLIC_KEY],
        _ => DEFAULT,
    })
}

/// Whether these are types we know, each once and at least one.
pub(crate) fn are_sound(types: &[CertificateType]) -> bool {
    let known = |kind: &CertificateType| {
        *kind == CertificateType::X509 || *kind == CertificateType::RAW_PUBLIC_KEY
    };
    !types.is_empty()
        && types.iter().all(known)
        && (types.len() < 2 || types.first() != types.last())
        && types.len() <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_types_are_checked() {
        const X509: CertificateType = CertificateType::X509;
        const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
        for good in [&[X509][..], &[RAW], &[X509, RAW], &[RAW, X509]] {
            assert!(are_sound(good), "{good:?}");
        }
        for bad in [&[][..], &[RAW, RAW], &[CertificateType(1)], &[X509, RAW, X509]] {
            assert!(!are_sound(bad), "{bad:?}");
        }
    }
}
