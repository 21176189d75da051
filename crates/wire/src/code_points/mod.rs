//! The registered numbers, as open types: an unknown number is a value, not an error.

mod algorithms;
mod extension_type;
mod protocol;

pub use algorithms::{
    CertificateCompressionAlgorithm, CipherSuite, CompressionMethod, EcCurveType, EcPointFormat,
    HpkeAead, HpkeKdf, HpkeKem, KdfIdentifier, NamedGroup, PskKeyExchangeMode, SignatureScheme,
};
pub use extension_type::ExtensionType;
pub use protocol::{
    AlertDescription, AlertLevel, CertificateStatusType, CertificateType, ClientCertificateType,
    ContentType, HandshakeType, KeyUpdateRequest, ProtocolVersion, ServerNameType,
};

/// Defines a code point type: named constants, and conversion from and to names.
macro_rules! code_points {
    ($(#[$meta:meta])* $Type:ident($int:ident) { $($CONST:ident = $value:literal $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Type(pub $int);

        impl $Type {
            $(#[doc = concat!("`", $name, "`.")] pub const $CONST: Self = Self($value);)*

            /// All named constants of this type.
            pub const NAMED: &'static [Self] = &[$(Self::$CONST),*];

            /// The registered name; `None` for a code point that is not in [`Self::NAMED`].
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$CONST => Some($name),)*
                    _ => None,
                }
            }

            /// The code point with this name, compared without regard to case.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                let named = |point: &&Self| {
                    point.name().is_some_and(|known| known.eq_ignore_ascii_case(name))
                };
                Self::NAMED.iter().find(named).copied()
            }
        }

        impl std::fmt::Debug for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "0x{:0width$x}", self.0, width = size_of::<$int>() << 1),
                }
            }
        }

        impl std::fmt::Display for $Type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    };
}
use code_points;

/// Adds `is_grease` to a 16-bit code point type.
macro_rules! grease {
    ($($Type:ident),*) => {$(
        impl $Type {
            /// Whether this is one of the sixteen values that peers must ignore. RFC 8701 2
            #[must_use]
            pub const fn is_grease(self) -> bool {
                let [high, low] = self.0.to_be_bytes();
                high == low && low & 0x0f == 0x0a
            }
        }
    )*};
}
grease!(CipherSuite, NamedGroup, SignatureScheme, ExtensionType, ProtocolVersion);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_without_regard_to_case() {
        assert_eq!(NamedGroup::from_name("x25519mlkem768"), Some(NamedGroup::X25519MLKEM768));
        assert_eq!(NamedGroup::X25519MLKEM768.name(), Some("X25519MLKEM768"));
        assert_eq!(NamedGroup::from_name("nonesuch"), None);
    }

    #[test]
    fn unknown_numbers_print_as_numbers() {
        assert_eq!(format!("{:?}", CipherSuite(0x00ab)), "0x00ab");
        assert_eq!(format!("{}", AlertDescription(7)), "0x07");
        assert_eq!(format!("{}", AlertDescription::DECODE_ERROR), "decode_error");
    }

    /// RFC 9180 7.1, 7.2, 7.3
    #[test]
    fn every_name_leads_back_to_its_number() {
        for point in ExtensionType::NAMED {
            assert_eq!(point.name().and_then(ExtensionType::from_name), Some(*point));
        }
        for point in SignatureScheme::NAMED {
            assert_eq!(point.name().and_then(SignatureScheme::from_name), Some(*point));
        }
        for (kem, (kdf, aead)) in
            HpkeKem::NAMED.iter().zip(HpkeKdf::NAMED.iter().zip(HpkeAead::NAMED))
        {
            assert_eq!(kem.name().and_then(HpkeKem::from_name), Some(*kem));
            assert_eq!(kdf.name().and_then(HpkeKdf::from_name), Some(*kdf));
            assert_eq!(aead.name().and_then(HpkeAead::from_name), Some(*aead));
        }
        for point in AlertDescription::NAMED {
            assert_eq!(point.name().and_then(AlertDescription::from_name), Some(*point));
        }
        for point in CipherSuite::NAMED {
            assert_eq!(point.name().and_then(CipherSuite::from_name), Some(*point));
        }
    }

    #[test]
    fn grease_is_sixteen_values() {
        let found = (0..=u16::MAX).filter(|&value| NamedGroup(value).is_grease()).count();
        assert_eq!(found, 16);
        assert!(ExtensionType(0x0a0a).is_grease());
        assert!(CipherSuite(0xfafa).is_grease());
        assert!(!CipherSuite(0x0a1a).is_grease());
    }
}
