//! Reserved values that a client adds so that servers stay used to ignoring what they do not know. RFC 8701
//!
//! Which values is for the caller's random. Next: `client_hello_encoding`, where they are put.

use crate::{
    CipherSuite, ClientExtensions, ExtensionType, KeyShareEntry, NamedGroup, ProtocolVersion,
    Writer,
};

/// The reserved values of one ClientHello. A second ClientHello uses the same ones. RFC 8701 3.1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grease {
    /// Stands first among the suites.
    pub cipher_suite: CipherSuite,
    /// Stands first among the groups.
    pub group: NamedGroup,
    /// Whether the group has a key share of one byte; a client that is asked for another group sends the real share
    /// alone.
    pub key_share: bool,
    /// Stands first among the versions.
    pub version: ProtocolVersion,
    /// An empty extension before all others.
    pub first_extension: ExtensionType,
    /// An extension of one byte after all others but pre_shared_key.
    pub last_extension: ExtensionType,
}

impl Grease {
    /// Picks the values by five random bytes.
    #[must_use]
    pub const fn from_random(random: [u8; 5]) -> Self {
        let [cipher_suite, group, version, first, last] = random;
        let first_extension = reserved(first);
        let mut last_extension = reserved(last);
        if last_extension == first_extension {
            last_extension ^= 0x1010; // no type twice in a block
        }
        Self {
            cipher_suite: CipherSuite(reserved(cipher_suite)),
            group: NamedGroup(reserved(group)),
            key_share: true,
            version: ProtocolVersion(reserved(version)),
            first_extension: ExtensionType(first_extension),
            last_extension: ExtensionType(last_extension),
        }
    }

    /// Writes one extension as `extensions` would, with the reserved value before its own.
    pub(super) fn write_one(
        &self,
        extensions: &ClientExtensions<'_>,
        extension_type: ExtensionType,
        w: &mut Writer<'_>,
    ) {
        match extension_type {
            ExtensionType::SUPPORTED_GROUPS => {
                let Some(groups) = &extensions.supported_groups else { return };
                w.extension(extension_type, |w| {
                    w.vec16(|w| {
                        w.u16(self.group.0);
                        groups.write(w);
                    });
                });
            }
            ExtensionType::SUPPORTED_VERSIONS => {
                let Some(versions) = &extensions.supported_versions else { return };
                w.extension(extension_type, |w| {
                    w.vec8(|w| {
                        w.u16(self.version.0);
                        versions.write(w);
                    });
                });
            }
            ExtensionType::KEY_SHARE if self.key_share => {
                let Some(shares) = &extensions.key_share else { return };
                let reserved = KeyShareEntry { group: self.group, key_exchange: &[0] };
                w.extension(extension_type, |w| {
                    w.vec16(|w| {
                        crate::Element::write(&reserved, w);
                        shares.write(w);
                    });
                });
            }
            _ => extensions.write_one(extension_type, w),
        }
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

    #[test]
    fn every_value_is_reserved_and_the_two_extensions_differ() {
        for first in 0..=255 {
            for last in 0..=255 {
                let grease = Grease::from_random([first, last, first, first, last]);
                assert!(grease.cipher_suite.is_grease() && grease.group.is_grease());
                assert!(grease.version.is_grease());
                assert!(grease.first_extension.is_grease() && grease.last_extension.is_grease());
                assert_ne!(grease.first_extension, grease.last_extension);
            }
        }
    }
}
