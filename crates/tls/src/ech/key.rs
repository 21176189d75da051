//! A server's key: a configuration and its private key, and their file. RFC 9849 4, RFC 9934

use core::fmt;

use tercel_crypto::{CryptoError, HpkeKey, HpkeRecipient, fill_random, wipe};
use tercel_pki::{PemError, pem_sections};
use tercel_wire::{
    DecodeError, EchConfig, EchConfigContents, HpkeAead, HpkeKdf, HpkeKem,
    HpkeSymmetricCipherSuite, List, OuterEncryptedClientHello, Writer,
};

use super::suite::{MANDATORY, hpke_suite};
use super::{ConfigList, INFO, base64};

/// A server's key for Encrypted ClientHello: a configuration, and its private key.
pub struct Key {
    private: HpkeKey,
    config_id: u8,
    cipher_suites: Vec<HpkeSymmetricCipherSuite>,
    public_name: String,
    /// HPKE's `info`: [`INFO`] and the whole ECHConfig.
    info: Vec<u8>,
}

/// The reason why a key cannot be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The PEM is malformed.
    Pem(PemError),
    /// The file does not have one private key and one list with one configuration. RFC 9934
    NotOneKey,
    /// The private key is not an X25519 key in PKCS#8.
    BadPrivateKey,
    /// The configuration is malformed.
    BadConfig(DecodeError),
    /// The configuration is of an unknown version, has an algorithm or an extension that is not
    /// supported, or has an invalid public name.
    UnsupportedConfig,
    /// The public key of the configuration does not belong to the private key.
    KeyMismatch,
    /// A cryptographic operation failed.
    Crypto(CryptoError),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pem(error) => return write!(f, "ECH key file: {error}"),
            Self::NotOneKey => {
                "the ECH key file does not have exactly one section PRIVATE KEY and one section \
                 ECHCONFIG with one configuration"
            }
            Self::BadPrivateKey => "the private key is not an X25519 key in PKCS#8",
            Self::BadConfig(error) => return write!(f, "malformed ECH configuration: {error}"),
            Self::UnsupportedConfig => {
                "the ECH configuration has an unsupported version, algorithm or extension, or an \
                 invalid public name"
            }
            Self::KeyMismatch => "the private key does not match the ECH configuration",
            Self::Crypto(error) => return write!(f, "cannot create an ECH key: {error}"),
        })
    }
}

impl std::error::Error for KeyError {}

impl From<CryptoError> for KeyError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}

impl Key {
    /// Generates a key with a random identifier.
    ///
    /// Observers see `public_name`. It should be the same for many servers, and the server has to
    /// have a credential for it. `maximum_name_length` should be the length of the longest name
    /// among these servers, so that the length of the ClientHello does not reveal the name; 0 if it
    /// is unknown. RFC 9849 4
    ///
    /// # Errors
    /// [`KeyError::UnsupportedConfig`] if the name is not a DNS name, or could be taken for an IPv4
    /// address (RFC 9849 6.1.7).
    pub fn generate(public_name: &str, maximum_name_length: u8) -> Result<Self, KeyError> {
        let private = HpkeKey::generate()?;
        let mut config_id = [0];
        fill_random(&mut config_id)?;
        let contents = EchConfigContents {
            config_id: config_id[0],
            kem_id: HpkeKem::DHKEM_X25519_HKDF_SHA256,
            public_key: &private.public_key()?,
            cipher_suites: List::new(&CIPHER_SUITES),
            maximum_name_length,
            public_name: public_name.as_bytes(),
            extensions: List::new(&[]),
        };
        let mut config = Vec::new();
        let mut w = Writer::new(&mut config);
        contents.encode(&mut w);
        w.finish().map_err(|_| KeyError::UnsupportedConfig)?;
        Self::new(&config, private)
    }

    /// Creates a key from an ECHConfig and a private key of 32 bytes.
    ///
    /// # Errors
    /// If the configuration is not fully supported, or the private key is of another public key.
    pub fn from_parts(config: &[u8], private_key: &[u8]) -> Result<Self, KeyError> {
        let private = HpkeKey::from_private(private_key).map_err(|_| KeyError::BadPrivateKey)?;
        Self::new(config, private)
    }

    /// Creates a key from a file with the private key and the configuration in PEM. RFC 9934 3
    ///
    /// # Errors
    /// As for [`Self::from_parts`], or if the file is malformed.
    pub fn from_pem(pem: &[u8]) -> Result<Self, KeyError> {
        let (mut private, mut list) = (Vec::new(), Vec::new());
        for section in pem_sections(pem).map_err(KeyError::Pem)? {
            match section.label() {
                "PRIVATE KEY" => private.push(Wiped(section.decode().map_err(KeyError::Pem)?)),
                "ECHCONFIG" => list.push(section.decode().map_err(KeyError::Pem)?),
                _ => {}
            }
        }
        let ([private], [list]) = (&private[..], &list[..]) else {
            return Err(KeyError::NotOneKey);
        };
        let private = x25519_of_pkcs8(&private.0).ok_or(KeyError::BadPrivateKey)?;
        let configs = EchConfig::parse_list(list).map_err(KeyError::BadConfig)?;
        match (configs.len(), configs.first()) {
            (1, Some(config)) => Self::from_parts(config.encoded, private),
            _ => Err(KeyError::NotOneKey),
        }
    }

    /// Returns the private key and the configuration as a file. RFC 9934 3
    ///
    /// # Errors
    /// If a cryptographic operation fails.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let private = self.private.private_key()?;
        let der = Wiped([&PKCS8_X25519, private.as_bytes()].concat());
        let mut pem = String::with_capacity(1024);
        base64::encode_pem("PRIVATE KEY", &der.0, &mut pem);
        base64::encode_pem("ECHCONFIG", self.config().as_bytes(), &mut pem);
        Ok(pem)
    }

    /// Returns the configuration to publish, as a list with one element.
    #[must_use]
    pub fn config(&self) -> ConfigList {
        ConfigList::of([self.encoded_config()])
    }

    /// Returns the name that observers see.
    #[must_use]
    pub fn public_name(&self) -> &str {
        &self.public_name
    }

    /// Returns the identifier, which clients send.
    #[must_use]
    pub fn config_id(&self) -> u8 {
        self.config_id
    }

    pub(super) fn encoded_config(&self) -> &[u8] {
        self.info.get(INFO.len()..).unwrap_or_default()
    }

    /// A server uses only configurations that it supports completely.
    fn new(config: &[u8], private: HpkeKey) -> Result<Self, KeyError> {
        let list = ConfigList::of([config]);
        let parsed = EchConfig::parse_list(list.as_bytes()).map_err(KeyError::BadConfig)?;
        let unsupported = KeyError::UnsupportedConfig;
        let contents = parsed.first().and_then(|config| config.contents).ok_or(unsupported)?;
        let selected = list.select().ok_or(unsupported)?;
        if contents.cipher_suites.iter().any(|suite| hpke_suite(suite).is_none()) {
            return Err(unsupported);
        }
        if private.public_key()?.as_slice() != contents.public_key {
            return Err(KeyError::KeyMismatch);
        }
        Ok(Self {
            config_id: contents.config_id,
            cipher_suites: contents.cipher_suites.iter().collect(),
            public_name: selected.public_name.to_owned(),
            info: [INFO, config].concat(),
            private,
        })
    }

    /// Decrypts the payload of an outer ClientHello, if it was encrypted to this key. Returns the
    /// context for the second ClientHello, and the plaintext. RFC 9849 7.1
    pub(crate) fn open(
        &self,
        outer: &OuterEncryptedClientHello<'_>,
        associated_data: &[u8],
    ) -> Option<(HpkeRecipient, Vec<u8>)> {
        let suite = hpke_suite(outer.cipher_suite)?;
        if !self.cipher_suites.contains(&outer.cipher_suite) {
            return None;
        }
        let mut recipient = HpkeRecipient::new(suite, &self.private, outer.enc, &self.info).ok()?;
        let plaintext = recipient.open(associated_data, outer.payload).ok()?;
        Some((recipient, plaintext))
    }
}

debug_fields!(Key: config_id, public_name);

/// The cipher suites of a generated key.
const CIPHER_SUITES: [HpkeSymmetricCipherSuite; 3] = [
    MANDATORY,
    HpkeSymmetricCipherSuite { kdf_id: HpkeKdf::HKDF_SHA256, aead_id: HpkeAead::AES_256_GCM },
    HpkeSymmetricCipherSuite { kdf_id: HpkeKdf::HKDF_SHA256, aead_id: HpkeAead::CHACHA20_POLY1305 },
];

/// A private key in PKCS#8, up to its 32 bytes. RFC 5958 2, RFC 8410 7
const PKCS8_X25519: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20,
];

/// The 32 bytes of a private key. An appended public key is ignored. RFC 5958 2, RFC 8410 7
fn x25519_of_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let (head, rest) = der.split_first_chunk::<{ PKCS8_X25519.len() }>()?;
    let length_fits = usize::from(head[1]).checked_add(2) == Some(der.len()) && head[1] < 0x80;
    let version_fits = head[4] == 0 && rest.len() == HpkeKey::LEN || head[4] == 1;
    let expected = [head[0], PKCS8_X25519[1], head[2], head[3], PKCS8_X25519[4]];
    let same = expected[..] == PKCS8_X25519[..5] && head[5..] == PKCS8_X25519[5..];
    rest.get(..HpkeKey::LEN).filter(|_| length_fits && version_fits && same)
}

/// Bytes that are wiped on drop.
struct Wiped(Vec<u8>);

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9934 3, RFC 9849 4, RFC 5958 2, RFC 8410 7
    #[test]
    fn a_generated_key_survives_its_file() {
        let key = Key::generate("cover.example", 64).unwrap();
        let pem = key.to_pem().unwrap();
        let (first, der) = pem.split_once('\n').unwrap();
        assert_eq!(first, "-----BEGIN PRIVATE KEY-----");
        assert!(der.starts_with("MC4CAQAwBQYDK2VuBCIEI"), "{pem}");
        let again = Key::from_pem(pem.as_bytes()).unwrap();
        assert_eq!(again.config(), key.config());
        assert_eq!(again.to_pem(), Ok(pem));
        assert_eq!((again.public_name(), again.config_id()), ("cover.example", key.config_id));
        assert!(key.config().usable());
        assert_eq!(key.config().public_name(), Some("cover.example"));
        let other = Key::generate("cover.example", 64).unwrap();
        assert_ne!(other.config(), key.config());
    }

    /// RFC 5958 2
    #[test]
    fn a_private_key_with_its_public_key_is_read() {
        let key = Key::generate("a.example", 0).unwrap();
        let private = key.private.private_key().unwrap();
        // With the public key, as in the second version of PKCS#8. RFC 5958 2
        let public = [&[0x81, 0x21, 0][..], &key.private.public_key().unwrap()].concat();
        let mut der = [&PKCS8_X25519, private.as_bytes(), &public].concat();
        (der[1], der[4]) = (0x2e + 35, 1);
        assert_eq!(x25519_of_pkcs8(&der), Some(private.as_bytes()));
        let mut pem = String::new();
        base64::encode_pem("PRIVATE KEY", &der, &mut pem);
        base64::encode_pem("ECHCONFIG", key.config().as_bytes(), &mut pem);
        assert_eq!(Key::from_pem(pem.as_bytes()).unwrap().config(), key.config());
    }

    /// RFC 9934 3
    #[test]
    fn files_without_exactly_one_key_are_refused() {
        let [one, other] = [(); 2].map(|()| Key::generate("a.example", 0).unwrap());
        let pem = one.to_pem().unwrap();
        let (private, config) = pem.split_at(pem.find("-----BEGIN ECH").unwrap());
        let error = |text: &str| Key::from_pem(text.as_bytes()).unwrap_err();
        for text in ["", private, config, &[&pem, private].concat(), &[&pem, config].concat()] {
            assert_eq!(error(text), KeyError::NotOneKey, "{text}");
        }
        assert_eq!(error(&pem.replace("END", "EMD")), KeyError::Pem(PemError::NoEnd));
        let mut both = private.to_owned();
        let list = ConfigList::of([one.encoded_config(), other.encoded_config()]);
        base64::encode_pem("ECHCONFIG", list.as_bytes(), &mut both);
        assert_eq!(error(&both), KeyError::NotOneKey);
        let mut mismatch = private.to_owned();
        base64::encode_pem("ECHCONFIG", other.config().as_bytes(), &mut mismatch);
        assert_eq!(error(&mismatch), KeyError::KeyMismatch);
        let mut malformed = private.to_owned();
        base64::encode_pem("ECHCONFIG", &[0, 0], &mut malformed);
        assert_eq!(error(&malformed), KeyError::BadConfig(DecodeError::EmptyList));
        let mut no_x25519 = String::new();
        base64::encode_pem("PRIVATE KEY", &[0x30, 0], &mut no_x25519);
        assert_eq!(error(&[&no_x25519, config].concat()), KeyError::BadPrivateKey);
    }

    /// RFC 5958 2, RFC 8410 7
    #[test]
    fn each_other_beginning_of_pkcs8_is_refused() {
        let der = [&PKCS8_X25519[..], &[7; 32]].concat();
        assert_eq!(x25519_of_pkcs8(&der), Some(&[7; 32][..]));
        for place in 0..PKCS8_X25519.len() {
            for bit in 0..8 {
                let mut changed = der.clone();
                changed[place] ^= 1 << bit;
                // The second version may have nothing after the key, too.
                let is_second_version = place == 4 && bit == 0;
                assert_eq!(x25519_of_pkcs8(&changed).is_some(), is_second_version, "{place}");
            }
        }
        assert_eq!(x25519_of_pkcs8(&der[..47]), None);
        assert_eq!(x25519_of_pkcs8(&[&der[..], &[0]].concat()), None);
    }

    /// RFC 9849 6.1.7
    #[test]
    fn unsupported_configurations_are_refused() {
        for name in ["", "a_b.example", "127.0.0.1", "a.example.", &"a".repeat(256)] {
            assert!(Key::generate(name, 0).is_err(), "{name}");
        }
        let key = Key::generate("a.example", 0).unwrap();
        let private = key.private.private_key().unwrap();
        let config = key.encoded_config();
        assert!(Key::from_parts(config, private.as_bytes()).is_ok());
        assert_eq!(Key::from_parts(config, &[1; 31]).unwrap_err(), KeyError::BadPrivateKey);
        assert_eq!(Key::from_parts(config, &[1; 32]).unwrap_err(), KeyError::KeyMismatch);
        let cut = Key::from_parts(&config[..9], private.as_bytes());
        assert_eq!(cut.unwrap_err(), KeyError::BadConfig(DecodeError::Truncated));
        // The second of three AEADs becomes an unknown one.
        let (suites, length) = (config.len() - 2 - 10 - 1 - 12, config.len());
        assert_eq!(config[suites..suites + 12], [0, 1, 0, 1, 0, 1, 0, 2, 0, 1, 0, 3]);
        let mut unknown = config.to_vec();
        unknown[suites + 7] = 9;
        assert_eq!(unknown.len(), length);
        let refused = Key::from_parts(&unknown, private.as_bytes()).unwrap_err();
        assert_eq!(refused, KeyError::UnsupportedConfig);
        let mut version = config.to_vec();
        version[1] ^= 1;
        let refused = Key::from_parts(&version, private.as_bytes()).unwrap_err();
        assert_eq!(refused, KeyError::UnsupportedConfig);
    }

    #[test]
    fn errors_have_texts_and_debug_output_no_secrets() {
        let all = [
            KeyError::Pem(PemError::NoEnd),
            KeyError::NotOneKey,
            KeyError::BadPrivateKey,
            KeyError::BadConfig(DecodeError::Truncated),
            KeyError::UnsupportedConfig,
            KeyError::KeyMismatch,
            KeyError::Crypto(CryptoError::Internal),
        ];
        let texts: std::collections::HashSet<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), all.len());
        let key = Key::generate("a.example", 0).unwrap();
        let expected =
            format!("Key {{ config_id: {}, public_name: \"a.example\", .. }}", key.config_id);
        assert_eq!(format!("{key:?}"), expected);
    }
}
