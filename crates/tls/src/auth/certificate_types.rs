//! Certificate types that a side sends and accepts: X.509 and raw public key. RFC 7250

use tercel_wire::{CertificateType, List};

/// The certificate types that apply if the extension is not sent. RFC 7250 3
pub(crate) const DEFAULT: &[CertificateType] = &[CertificateType::X509];

/// Returns a static list that contains only this type.
pub(crate) fn list_of(certificate_type: CertificateType) -> List<'static, CertificateType> {
    List::new(match certificate_type {
        CertificateType::RAW_PUBLIC_KEY => &[CertificateType::RAW_PUBLIC_KEY],
        _ => DEFAULT,
    })
}

/// The set of known certificate types in a peer's list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeSet {
    x509: bool,
    raw_public_key: bool,
}

impl TypeSet {
    pub(crate) fn of(types: List<'_, CertificateType>) -> Self {
        Self {
            x509: types.contains(CertificateType::X509),
            raw_public_key: types.contains(CertificateType::RAW_PUBLIC_KEY),
        }
    }

    pub(crate) fn has(self, certificate_type: CertificateType) -> bool {
        match certificate_type {
            CertificateType::X509 => self.x509,
            CertificateType::RAW_PUBLIC_KEY => self.raw_public_key,
            _ => false,
        }
    }
}

/// Whether the list is not empty, and each type is known and listed once.
pub(crate) fn is_valid_list(types: &[CertificateType]) -> bool {
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
    fn a_type_set_contains_the_known_types_of_its_list() {
        const X509: CertificateType = CertificateType::X509;
        const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
        let other = CertificateType(1);
        let has = |types: &[CertificateType]| {
            let set = TypeSet::of(List::new(types));
            [set.has(X509), set.has(RAW), set.has(other)]
        };
        assert_eq!(has(&[other, RAW]), [false, true, false]);
        assert_eq!(has(&[X509]), [true, false, false]);
        assert_eq!(has(&[RAW, X509]), [true, true, false]);
    }

    #[test]
    fn lists_of_types_are_checked() {
        const X509: CertificateType = CertificateType::X509;
        const RAW: CertificateType = CertificateType::RAW_PUBLIC_KEY;
        for good in [&[X509][..], &[RAW], &[X509, RAW], &[RAW, X509]] {
            assert!(is_valid_list(good), "{good:?}");
        }
        for bad in [&[][..], &[RAW, RAW], &[CertificateType(1)], &[X509, RAW, X509]] {
            assert!(!is_valid_list(bad), "{bad:?}");
        }
    }
}
