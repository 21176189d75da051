//! ECHConfigList: the configurations for Encrypted ClientHello, which DNS publishes and a server
//! sends to a client whose configuration is out of date. RFC 9849 4
//!
//! Whether an algorithm is supported is decided by the caller.

use super::encrypted_client_hello::HpkeSymmetricCipherSuite;
use super::{ExtensionBlock, block::RawExtension};
use crate::code_points::{ExtensionType, HpkeKem};
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::structure::{Vector, structure};
use crate::writer::Writer;

/// One configuration. RFC 9849 4
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchConfig<'a> {
    /// The whole structure, which is an input of the encryption. RFC 9849 6.1
    pub encoded: &'a [u8],
    /// The contents. `None` for an unknown version, whose configuration clients skip. RFC 9849 4
    pub contents: Option<EchConfigContents<'a>>,
}

impl EchConfig<'_> {
    /// The supported version.
    pub const VERSION: u16 = 0xfe0d;

    /// Parses a list, with its length. The list is not empty. RFC 9849 4
    pub fn parse_list(bytes: &[u8]) -> Result<List<'_, EchConfig<'_>>, DecodeError> {
        Reader::parse_all(bytes, |reader| List::read16(reader)?.not_empty())
    }
}

impl<'a> Element<'a> for EchConfig<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = *reader;
        let (version, contents) = (reader.u16()?, reader.opaque16()?);
        let length = start.remaining().saturating_sub(reader.remaining());
        let encoded = { start }.take(length)?;
        let contents = match version {
            Self::VERSION => Some(Reader::parse_all(contents, EchConfigContents::read)?),
            _ => None,
        };
        if let Some(contents) = &contents {
            contents.check()?;
        }
        Ok(Self { encoded, contents })
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.bytes(self.encoded);
    }
}

structure! {
    /// The contents of a configuration. RFC 9849 4
    EchConfigContents {
        /// The identifier, which a client sends.
        config_id: u8,
        /// The key encapsulation mechanism of the key.
        kem_id: HpkeKem,
        /// The public key.
        public_key: &'a [u8] as Vector<2, 1>,
        /// The algorithms that a client may use.
        cipher_suites: List<'a, HpkeSymmetricCipherSuite> as Vector<2, 1>,
        /// The length of the longest server name, for padding; 0 if it is unknown.
        maximum_name_length: u8,
        /// The name of the server that has the key.
        public_name: &'a [u8] as Vector<1, 1>,
        /// The extensions, unparsed.
        extensions: List<'a, RawExtension<'a>> as Vector<2, 0>,
    }
}

impl<'a> EchConfigContents<'a> {
    /// A type may occur only once. RFC 9849 4.2
    fn check(&self) -> Result<(), DecodeError> {
        ExtensionBlock::of(self.extensions).map(|_| ())
    }

    /// Whether there is an extension that a client must understand. None is defined.
    /// RFC 9849 4.2
    #[must_use]
    pub fn has_mandatory_extension(&self) -> bool {
        self.extensions.iter().any(|(ExtensionType(kind), _)| kind & 0x8000 != 0)
    }

    /// The public name, if it is a valid one: labels of letters, digits and hyphens, of at most 63
    /// bytes and of 253 in all, which cannot be taken for an IPv4 address. RFC 9849 6.1.7
    #[must_use]
    pub fn valid_public_name(&self) -> Option<&'a str> {
        let name = core::str::from_utf8(self.public_name).ok().filter(|name| name.len() <= 253)?;
        name.split('.').all(is_ldh_label).then_some(())?;
        let last = name.rsplit('.').next()?;
        (!is_number(last)).then_some(name)
    }

    /// Appends the whole configuration, of the supported version.
    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u16(EchConfig::VERSION);
        w.vec16(|w| self.write(w));
    }
}

/// RFC 5890 2.3.1
fn is_ldh_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether parsers of IPv4 addresses may read the label as a number: decimal digits, or `0x` before
/// any number of hexadecimal digits.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HpkeAead, HpkeKdf};

    const SUITES: &[HpkeSymmetricCipherSuite] = &[HpkeSymmetricCipherSuite {
        kdf_id: HpkeKdf::HKDF_SHA256,
        aead_id: HpkeAead::CHACHA20_POLY1305,
    }];

    fn contents() -> EchConfigContents<'static> {
        EchConfigContents {
            config_id: 9,
            kem_id: HpkeKem::DHKEM_X25519_HKDF_SHA256,
            public_key: &[5; 32],
            cipher_suites: List::new(SUITES),
            maximum_name_length: 64,
            public_name: b"cover.example",
            extensions: List::new(&[]),
        }
    }

    fn list(configs: &[&EchConfigContents<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        Writer::new(&mut out).vec16(|w| configs.iter().for_each(|config| config.encode(w)));
        out
    }

    /// RFC 9849 4
    #[test]
    fn configurations_are_written_and_read() {
        let second = EchConfigContents { config_id: 10, ..contents() };
        let bytes = list(&[&contents(), &second]);
        let read: Vec<_> = EchConfig::parse_list(&bytes).unwrap().iter().collect();
        assert_eq!(read.len(), 2);
        assert_eq!([read[0].contents, read[1].contents], [Some(contents()), Some(second)]);
        assert_eq!([&bytes[..2], read[0].encoded, read[1].encoded].concat(), bytes);
        let mut again = Vec::new();
        Writer::new(&mut again).vec16(|w| read.iter().for_each(|config| config.write(w)));
        assert_eq!(again, bytes);
    }

    /// RFC 9849 4
    #[test]
    fn unknown_versions_are_skipped_and_an_empty_list_is_refused() {
        let mut bytes = list(&[&contents(), &contents()]);
        bytes[3] ^= 1;
        let read: Vec<_> = EchConfig::parse_list(&bytes).unwrap().iter().collect();
        assert_eq!([read[0].contents, read[1].contents], [None, Some(contents())]);
        assert_eq!(EchConfig::parse_list(&[0, 0]), Err(DecodeError::EmptyList));
        assert_eq!(EchConfig::parse_list(&[0, 3, 1, 1, 0]), Err(DecodeError::Truncated));
        let unknown = [0, 4, 1, 1, 0, 0];
        assert_eq!(EchConfig::parse_list(&unknown).map(|list| list.len()), Ok(1));
    }

    /// RFC 9849 4
    #[test]
    fn each_length_and_each_bit_is_read_without_a_panic() {
        let bytes = list(&[&contents()]);
        for length in 0..bytes.len() {
            assert_eq!(EchConfig::parse_list(&bytes[..length]), Err(DecodeError::Truncated));
            // Without the end of the contents, but with lengths that fit.
            if length >= 6 {
                let mut cut = bytes[..length].to_vec();
                let inside = u16::try_from(length - 2).unwrap();
                cut[..2].copy_from_slice(&inside.to_be_bytes());
                cut[4..6].copy_from_slice(&(inside - 4).to_be_bytes());
                assert_eq!(EchConfig::parse_list(&cut), Err(DecodeError::Truncated), "{length}");
            }
        }
        let mut accepted = 0;
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = EchConfig::parse_list(&changed) {
                accepted += 1;
                assert!(read.iter().all(|config| config.contents != Some(contents())), "{bit}");
            }
        }
        // Version, identifier, algorithms, key, maximum length and name may be any.
        assert_eq!(accepted, 8 * (2 + 1 + 2 + 32 + 4 + 1 + 13));
    }

    /// RFC 9849 4.2
    #[test]
    fn mandatory_and_repeated_extensions_are_found() {
        let with = |extensions: &[RawExtension<'_>]| {
            let bytes =
                list(&[&EchConfigContents { extensions: List::new(extensions), ..contents() }]);
            let read = EchConfig::parse_list(&bytes)?;
            let contents = read.first().and_then(|config| config.contents).unwrap();
            Ok(contents.has_mandatory_extension())
        };
        let (optional, mandatory) = (ExtensionType(0x7fff), ExtensionType(0x8000));
        assert_eq!(with(&[]), Ok(false));
        assert_eq!(with(&[(optional, b"any")]), Ok(false));
        assert_eq!(with(&[(optional, b""), (mandatory, b"")]), Ok(true));
        let twice = with(&[(optional, b""), (optional, b"")]);
        assert_eq!(twice, Err(DecodeError::DuplicateExtension(optional)));
    }

    /// RFC 9849 6.1.7, RFC 5890 2.3.1
    #[test]
    fn public_names_are_checked() {
        let valid = |name: &[u8]| {
            let contents = EchConfigContents { public_name: name, ..contents() };
            let found = contents.valid_public_name();
            assert!(found.is_none_or(|found| found.as_bytes() == name));
            found.is_some()
        };
        let longest = [b'a'; 63];
        let labels = [&longest[..]; 4].join(&b'.');
        for name in [
            &b"cover.example"[..],
            b"A-1.b",
            b"localhost",
            b"xn--bcher-kva.example",
            b"1.2.3.4a",
            b"0x1.example",
            b"123.456.x0",
            b"example.0xg",
            &longest,
            &labels[..253],
        ] {
            assert!(valid(name), "{name:?}");
        }
        for name in [
            &b""[..],
            b".",
            b".example",
            b"example.",
            b"a..b",
            b"a_b.example",
            b"-a.example",
            b"a-.example",
            b"a b.example",
            b"\xc3\xbc.example",
            b"\xff.example",
            b"1.2.3.4",
            b"example.0",
            b"example.0x",
            b"example.0X7f",
            b"127",
            &[b'a'; 64],
            &labels[..254],
            &labels[..],
        ] {
            assert!(!valid(name), "{name:?}");
        }
    }
}
