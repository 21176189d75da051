//! GREASE: reserved values that a client adds so that servers keep ignoring unknown values.
//! RFC 8701
//!
//! The caller's random bytes select the values.

use crate::code_points::{
    CipherSuite, ExtensionType, NamedGroup, ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
use crate::extension::{ClientExtensions, KeyShareEntry, ProtocolName};
use crate::list::{Element, List};
use crate::writer::Writer;

/// The reserved values of one ClientHello. A second ClientHello has the same values. RFC 8701 3.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grease {
    /// The reserved cipher suite, placed first in the list.
    pub cipher_suite: CipherSuite,
    /// The reserved group, placed first in the list.
    pub group: NamedGroup,
    /// Whether the reserved group has a one-byte key share. After a HelloRetryRequest for another
    /// group, only the real share is sent.
    pub key_share: bool,
    /// The reserved version, placed first in the list.
    pub version: ProtocolVersion,
    /// The reserved signature scheme, placed first in signature_algorithms, and in
    /// signature_algorithms_cert if that extension is sent.
    pub signature_scheme: SignatureScheme,
    /// The reserved application protocol, placed first in the list if any protocols are offered.
    pub protocol: [u8; 2],
    /// The reserved PSK key exchange mode, placed first in the list if any modes are offered.
    pub psk_key_exchange_mode: PskKeyExchangeMode,
    /// The type of an empty extension that is placed before all others.
    pub first_extension: ExtensionType,
    /// The type of a one-byte extension that is placed after all others except pre_shared_key.
    pub last_extension: ExtensionType,
}

impl Grease {
    /// Selects the values by eight random bytes, one for each.
    #[must_use]
    pub const fn from_random(random: [u8; 8]) -> Self {
        let [cipher_suite, group, version, scheme, protocol, mode, first, last] = random;
        let first_extension = reserved(first);
        let mut last_extension = reserved(last);
        if last_extension == first_extension {
            last_extension ^= 0x1010; // a block must not repeat a type. RFC 8701 5
        }
        Self {
            cipher_suite: CipherSuite(reserved(cipher_suite)),
            group: NamedGroup(reserved(group)),
            key_share: true,
            version: ProtocolVersion(reserved(version)),
            signature_scheme: SignatureScheme(reserved(scheme)),
            protocol: reserved(protocol).to_be_bytes(),
            psk_key_exchange_mode: PskKeyExchangeMode::reserved(mode),
            first_extension: ExtensionType(first_extension),
            last_extension: ExtensionType(last_extension),
        }
    }

    /// Writes one extension as `extensions` would, but with the reserved value before the other
    /// elements of its list.
    pub(super) fn write_one(
        &self,
        extensions: &ClientExtensions<'_>,
        extension_type: ExtensionType,
        w: &mut Writer<'_>,
    ) {
        let share = KeyShareEntry { group: self.group, key_exchange: &[0] };
        let (kind, e) = (extension_type, extensions);
        match extension_type {
            ExtensionType::SUPPORTED_GROUPS => {
                list::<2, _>(kind, self.group, e.supported_groups, w);
            }
            ExtensionType::SIGNATURE_ALGORITHMS => {
                list::<2, _>(kind, self.signature_scheme, e.signature_algorithms, w);
            }
            ExtensionType::SIGNATURE_ALGORITHMS_CERT => {
                list::<2, _>(kind, self.signature_scheme, e.signature_algorithms_cert, w);
            }
            ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION => {
                list::<2, _>(kind, ProtocolName(&self.protocol), e.alpn, w);
            }
            ExtensionType::KEY_SHARE if self.key_share => {
                list::<2, _>(kind, share, e.key_share, w);
            }
            ExtensionType::SUPPORTED_VERSIONS => {
                list::<1, _>(kind, self.version, e.supported_versions, w);
            }
            ExtensionType::PSK_KEY_EXCHANGE_MODES => {
                list::<1, _>(kind, self.psk_key_exchange_mode, e.psk_key_exchange_modes, w);
            }
            _ => extensions.write_one(extension_type, w),
        }
    }
}

/// Writes an extension that is a list with a length of `WIDTH` bytes, with `first` before the other
/// elements.
fn list<'a, const WIDTH: usize, T: Element<'a>>(
    extension_type: ExtensionType,
    first: T,
    others: Option<List<'a, T>>,
    w: &mut Writer<'_>,
) {
    let Some(others) = others else { return };
    w.extension(extension_type, |w| {
        w.prefixed(WIDTH, |w| {
            first.write(w);
            others.write(w);
        });
    });
}

impl PskKeyExchangeMode {
    /// One of 0x0b, 0x2a, 0x49, ... 0xe4, selected by the low three bits. RFC 8701 2
    const fn reserved(random: u8) -> Self {
        Self((random & 7).wrapping_mul(0x1f).wrapping_add(0x0b)) // at most 0xe4
    }

    /// Whether this is one of the eight values that servers must ignore. RFC 8701 2
    #[must_use]
    pub const fn is_grease(self) -> bool {
        self.0 % 0x1f == 0x0b
    }
}

impl ProtocolName<'_> {
    /// Whether this is one of the sixteen names that servers must ignore. RFC 8701 2
    #[must_use]
    pub fn is_grease(&self) -> bool {
        matches!(self.0, [first, second] if first == second && first & 0x0f == 0x0a)
    }
}

/// One of 0x0a0a, 0x1a1a, ... 0xfafa. RFC 8701 2
const fn reserved(random: u8) -> u16 {
    let byte = (random & 0xf0) | 0x0a;
    u16::from_be_bytes([byte, byte])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8701 5
    #[test]
    fn every_value_is_reserved_and_the_two_extensions_differ() {
        for first in 0..=255 {
            for last in 0..=255 {
                let [a, b] = [first, last];
                let grease = Grease::from_random([a, b, a, b, a, b, first, last]);
                assert!(grease.cipher_suite.is_grease() && grease.group.is_grease());
                assert!(grease.version.is_grease() && grease.signature_scheme.is_grease());
                assert!(ProtocolName(&grease.protocol).is_grease());
                assert!(grease.psk_key_exchange_mode.is_grease());
                assert!(grease.first_extension.is_grease() && grease.last_extension.is_grease());
                assert_ne!(grease.first_extension, grease.last_extension);
            }
        }
    }

    #[test]
    fn the_reserved_modes_and_names_are_those_of_the_rfc() {
        let modes: Vec<u8> =
            (0..=255).filter(|mode| PskKeyExchangeMode(*mode).is_grease()).collect();
        assert_eq!(modes, [0x0b, 0x2a, 0x49, 0x68, 0x87, 0xa6, 0xc5, 0xe4]);
        let drawn: Vec<u8> = (0..8).map(|random| PskKeyExchangeMode::reserved(random).0).collect();
        assert_eq!(drawn, modes);
        let names = (0..=u16::MAX).map(u16::to_be_bytes);
        assert_eq!(names.filter(|name| ProtocolName(name).is_grease()).count(), 16);
        assert!(!ProtocolName(b"h2").is_grease() && !ProtocolName(&[0x0a]).is_grease());
    }
}
