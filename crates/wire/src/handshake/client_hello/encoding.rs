//! Options for encoding a ClientHello: extension order and reserved values. The options do not
//! change the meaning of the message.
//!
//! Randomness comes from the caller: the same seed gives the same bytes, as a second ClientHello
//! requires.

use crate::code_points::ExtensionType;
use crate::error::EncodeError;
use crate::extension::ClientExtensions;
use crate::handshake::{ClientHello, Grease, HandshakeMessage};
use crate::writer::Writer;

/// The options for encoding a ClientHello.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientHelloEncoding {
    /// The seed of the order in which the extensions are shuffled; pre_shared_key stays last.
    pub order: Option<u64>,
    /// Reserved values to add, which the server must ignore. RFC 8701 3.1
    pub grease: Option<Grease>,
}

/// The differences of an inner ClientHello from another one. RFC 9849 5.1
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    /// The extensions that follow the others: a set of bits, as that of the present extensions.
    pub(super) shared: u64,
    /// Whether a list of their types replaces these extensions, and the session ID is left out.
    pub(super) is_compressed: bool,
}

impl ClientHello<'_> {
    /// Appends the message, encoded with these options. On an error, `out` is restored.
    pub fn encode_with(
        &self,
        encoding: &ClientHelloEncoding,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        w.handshake(Self::TYPE, |w| self.write_body_with(encoding, w));
        w.finish()
    }

    pub(super) fn write_body_with(&self, encoding: &ClientHelloEncoding, w: &mut Writer<'_>) {
        self.write_form(encoding, Form::default(), w);
    }

    pub(super) fn write_form(
        &self,
        encoding: &ClientHelloEncoding,
        form: Form,
        w: &mut Writer<'_>,
    ) {
        w.u16(self.legacy_version.0);
        w.bytes(self.random);
        w.opaque8(if form.is_compressed { &[] } else { self.session_id });
        w.vec16(|w| {
            if let Some(grease) = &encoding.grease {
                w.u16(grease.cipher_suite.0);
            }
            self.cipher_suites.write(w);
        });
        self.compression_methods.write8(w);
        if self.extensions_present {
            w.vec16(|w| self.extensions.write_with(encoding, form, w));
        }
    }
}

impl ClientExtensions<'_> {
    fn write_with(&self, encoding: &ClientHelloEncoding, form: Form, w: &mut Writer<'_>) {
        let grease = encoding.grease.as_ref();
        if let Some(grease) = grease {
            w.extension(grease.first_extension, |_| {});
        }
        // All known types are shuffled, present or not: a second ClientHello with other extensions
        // keeps the same order.
        let mut order: [u8; ClientExtensions::KNOWN.len()] =
            core::array::from_fn(|place| u8::try_from(place).unwrap_or(u8::MAX));
        if let Some(seed) = encoding.order {
            shuffle(&mut order, seed);
        }
        let kind = |place: &u8| Self::KNOWN.get(usize::from(*place)).copied();
        let present = self.present();
        let own = present & !form.shared;
        for extension_type in order.iter().filter(|place| own >> **place & 1 != 0).filter_map(kind)
        {
            if extension_type != ExtensionType::PRE_SHARED_KEY {
                self.write_plain_or_grease(grease, extension_type, w);
            }
        }
        let shared = present & form.shared;
        if shared != 0 {
            let types = order.iter().filter(|place| shared >> **place & 1 != 0).filter_map(kind);
            if form.is_compressed {
                w.extension(ExtensionType::ECH_OUTER_EXTENSIONS, |w| {
                    w.vec8(|w| types.for_each(|extension_type| w.u16(extension_type.0)));
                });
            } else {
                types.for_each(|extension_type| {
                    self.write_plain_or_grease(grease, extension_type, w);
                });
            }
        }
        self.unknown.write(w);
        if let Some(grease) = grease {
            // One of the two reserved extensions has a body, so that servers also read past the
            // bodies of unknown extensions.
            w.extension(grease.last_extension, |w| w.u8(0));
        }
        self.write_one(ExtensionType::PRE_SHARED_KEY, w);
    }

    fn write_plain_or_grease(
        &self,
        grease: Option<&Grease>,
        extension_type: ExtensionType,
        w: &mut Writer<'_>,
    ) {
        match grease {
            Some(grease) => grease.write_one(self, extension_type, w),
            None => self.write_one(extension_type, w),
        }
    }
}

/// The set of present extensions has one bit for each type.
const _: () = assert!(ClientExtensions::KNOWN.len() <= 64);

/// A Fisher-Yates shuffle. The order need not be unpredictable, so a simple generator is enough.
fn shuffle(order: &mut [u8], seed: u64) {
    let mut state = seed | 1;
    let mut next_below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        // The high half of a product maps the state evenly onto 0..bound.
        let scaled = u128::from(state).wrapping_mul(u128::from(bound)) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    };
    for last in (1..order.len()).rev() {
        order.swap(last, next_below(last.saturating_add(1))); // both are below the length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::*;

    const GROUPS: &[NamedGroup] = &[NamedGroup::X25519];
    const SCHEMES: &[SignatureScheme] = &[SignatureScheme::ED25519];
    const VERSIONS: &[ProtocolVersion] = &[ProtocolVersion::TLS1_3];
    const SHARES: &[KeyShareEntry<'_>] =
        &[KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[7; 32] }];

    fn hello() -> ClientHello<'static> {
        ClientHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &[1; 32],
            session_id: &[2; 32],
            cipher_suites: List::new(&[CipherSuite::TLS_AES_128_GCM_SHA256]),
            compression_methods: List::new(&[CompressionMethod::NULL]),
            extensions_present: true,
            extensions: ClientExtensions {
                supported_groups: Some(List::new(GROUPS)),
                supported_versions: Some(List::new(VERSIONS)),
                key_share: Some(List::new(SHARES)),
                extended_master_secret: Some(()),
                signature_algorithms: Some(List::new(SCHEMES)),
                signature_algorithms_cert: Some(List::new(SCHEMES)),
                alpn: Some(List::new(&[ProtocolName(b"h2")])),
                psk_key_exchange_modes: Some(List::new(&[PskKeyExchangeMode::PSK_DHE_KE])),
                pre_shared_key: Some(OfferedPsks {
                    identities: List::new(&[PskIdentity {
                        identity: b"ticket",
                        obfuscated_ticket_age: 1,
                    }]),
                    binders: List::new(&[PskBinder(&[0; 32])]),
                }),
                ..ClientExtensions::default()
            },
        }
    }

    fn encoded(encoding: ClientHelloEncoding) -> Vec<u8> {
        let mut out = Vec::new();
        hello().encode_with(&encoding, &mut out).unwrap();
        out
    }

    #[test]
    fn a_shuffled_hello_has_equal_contents_and_pre_shared_key_last() {
        let mut orders = std::collections::HashSet::new();
        for seed in 0..64 {
            let bytes = encoded(ClientHelloEncoding { order: Some(seed), grease: None });
            let parsed = ClientHello::parse(&bytes[4..]).unwrap();
            assert_eq!(parsed, hello());
            orders.insert(parsed.extensions.types().collect::<Vec<_>>());
        }
        assert!(orders.len() > 16, "{} orders", orders.len());
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let grease = Some(Grease::from_random([1, 2, 3, 4, 5, 6, 7, 8]));
        let encoding = ClientHelloEncoding { order: Some(7), grease };
        assert_eq!(encoded(encoding), encoded(encoding));
    }

    #[test]
    fn reserved_values_are_added_and_the_rest_is_unchanged() {
        let grease = Grease::from_random([0, 1, 2, 3, 4, 5, 6, 6]);
        let bytes = encoded(ClientHelloEncoding { order: Some(3), grease: Some(grease) });
        let parsed = ClientHello::parse(&bytes[4..]).unwrap();
        let extensions = parsed.extensions;

        assert_eq!(parsed.cipher_suites.first(), Some(grease.cipher_suite));
        assert_eq!(extensions.supported_groups.unwrap().first(), Some(grease.group));
        assert_eq!(extensions.supported_versions.unwrap().first(), Some(grease.version));
        let shares = extensions.key_share.unwrap();
        assert_eq!(shares.first().unwrap().group, grease.group);
        assert_eq!(shares.len(), SHARES.len() + 1);
        for schemes in [extensions.signature_algorithms, extensions.signature_algorithms_cert] {
            let schemes: Vec<_> = schemes.unwrap().iter().collect();
            assert_eq!(schemes, [grease.signature_scheme, SignatureScheme::ED25519]);
        }
        let protocols: Vec<_> = extensions.alpn.unwrap().iter().collect();
        assert_eq!(protocols, [ProtocolName(&grease.protocol), ProtocolName(b"h2")]);
        let modes: Vec<_> = extensions.psk_key_exchange_modes.unwrap().iter().collect();
        assert_eq!(modes, [grease.psk_key_exchange_mode, PskKeyExchangeMode::PSK_DHE_KE]);
        let unknown: Vec<_> = extensions.unknown.iter().collect();
        assert_eq!(unknown, [(grease.first_extension, &[][..]), (grease.last_extension, &[0][..])]);
        assert_eq!(extensions.types().last(), Some(ExtensionType::PRE_SHARED_KEY));
    }

    #[test]
    fn binders_are_replaced_after_encoding() {
        let mut message = encoded(ClientHelloEncoding::default());
        let partial = hello().without_binders(&message).unwrap().to_vec();
        let binders = [PskBinder(&[5; 32])];
        hello().replace_binders(&mut message, List::new(&binders)).unwrap();
        assert!(message.starts_with(&partial));
        let parsed = ClientHello::parse(&message[4..]).unwrap();
        assert_eq!(parsed.extensions.pre_shared_key.unwrap().binders, List::new(&binders));

        let before = message.clone();
        let longer = [PskBinder(&[5; 48])];
        assert_eq!(
            hello().replace_binders(&mut message, List::new(&longer)),
            Err(EncodeError::BinderLength)
        );
        assert_eq!(message, before);
    }
}
