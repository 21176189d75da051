//! ECHConfigList, as published in DNS and as sent to clients. RFC 9849 4

use core::fmt;

use tercel_crypto::{HpkeKey, HpkeSuite};
use tercel_wire::{
    DecodeError, EchConfig, EchConfigContents, HpkeKem, HpkeSymmetricCipherSuite, Writer,
};

use super::base64;
use super::suite::hpke_suite;

/// A list of configurations for Encrypted ClientHello, most preferred first.
///
/// A list that was parsed is never empty. The empty list is what a server authenticates that has
/// no ECH any more: see [`crate::Handshake::ech_retry_configs`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigList(Vec<u8>);

/// The reason why a list of configurations cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigListError {
    /// The text is not Base64.
    Base64,
    /// The list is malformed.
    Malformed(DecodeError),
}

impl fmt::Display for ConfigListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base64 => f.write_str("the ECH configurations are not Base64"),
            Self::Malformed(error) => write!(f, "malformed ECH configurations: {error}"),
        }
    }
}

impl std::error::Error for ConfigListError {}

impl ConfigList {
    /// Parses an ECHConfigList, for example the value of `ech` in an HTTPS record.
    /// RFC 9849 4, RFC 9848
    ///
    /// # Errors
    /// If the list is empty or malformed. Configurations of unknown versions, or with unsupported
    /// algorithms, are not errors: see [`Self::usable`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ConfigListError> {
        match EchConfig::parse_list(bytes) {
            Ok(_) => Ok(Self(bytes.to_vec())),
            Err(error) => Err(ConfigListError::Malformed(error)),
        }
    }

    /// Parses an ECHConfigList in Base64, as in the text of an HTTPS record.
    ///
    /// # Errors
    /// As for [`Self::parse`], or if the text is not Base64.
    pub fn from_base64(text: &str) -> Result<Self, ConfigListError> {
        Self::parse(&base64::decode(text).ok_or(ConfigListError::Base64)?)
    }

    /// Returns the list in Base64, as in the text of an HTTPS record.
    #[must_use]
    pub fn to_base64(&self) -> String {
        let mut text = String::new();
        base64::encode(&self.0, &mut text);
        text
    }

    /// Returns the bytes of the ECHConfigList. No bytes for the empty list.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this library can offer ECH with one of the configurations. It supports
    /// DHKEM(X25519, HKDF-SHA256), HKDF with SHA-256 and SHA-384, and all three AEADs, but no
    /// mandatory extension.
    #[must_use]
    pub fn usable(&self) -> bool {
        self.select().is_some()
    }

    /// Returns the public name of the configuration that would be used. An observer sees this name
    /// in place of the server's.
    #[must_use]
    pub fn public_name(&self) -> Option<&str> {
        self.select().map(|selected| selected.public_name)
    }

    /// A list of these configurations, which must fit; the empty list for none.
    pub(super) fn of<'c>(configs: impl IntoIterator<Item = &'c [u8]>) -> Self {
        let mut list = Vec::new();
        let mut w = Writer::new(&mut list);
        w.vec16(|w| configs.into_iter().for_each(|config| w.bytes(config)));
        let written = w.finish();
        Self(if written.is_ok() && list.len() > 2 { list } else { Vec::new() })
    }

    /// Returns the first usable configuration. RFC 9849 6.1
    pub(crate) fn select(&self) -> Option<Selected<'_>> {
        EchConfig::parse_list(&self.0).ok()?.iter().find_map(Selected::of)
    }
}

/// A usable configuration.
pub(crate) struct Selected<'a> {
    /// The whole ECHConfig.
    pub(crate) encoded: &'a [u8],
    pub(crate) contents: EchConfigContents<'a>,
    pub(crate) public_name: &'a str,
    /// The first supported cipher suite.
    pub(crate) cipher_suite: HpkeSymmetricCipherSuite,
    pub(crate) suite: HpkeSuite,
}

impl<'a> Selected<'a> {
    /// Returns the configuration, if it is usable. RFC 9849 4, 4.2, 6.1, 6.1.7
    fn of(config: EchConfig<'a>) -> Option<Self> {
        let EchConfig { encoded, contents } = config;
        let contents = contents?;
        let usable = contents.kem_id == HpkeKem::DHKEM_X25519_HKDF_SHA256
            && contents.public_key.len() == HpkeKey::LEN
            && !contents.has_mandatory_extension();
        let public_name = contents.valid_public_name().filter(|_| usable)?;
        let mut suites = contents.cipher_suites.iter();
        let (cipher_suite, suite) =
            suites.find_map(|suite| hpke_suite(suite).map(|known| (suite, known)))?;
        Some(Self { encoded, contents, public_name, cipher_suite, suite })
    }
}

#[cfg(test)]
mod tests {
    use tercel_wire::{ExtensionType, HpkeAead, HpkeKdf, List};

    use super::super::suite::MANDATORY;
    use super::*;

    fn contents() -> EchConfigContents<'static> {
        EchConfigContents {
            config_id: 1,
            kem_id: HpkeKem::DHKEM_X25519_HKDF_SHA256,
            public_key: &[5; 32],
            cipher_suites: List::new(&[MANDATORY]),
            maximum_name_length: 64,
            public_name: b"cover.example",
            extensions: List::new(&[]),
        }
    }

    fn list(configs: &[EchConfigContents<'_>]) -> ConfigList {
        let mut out = Vec::new();
        Writer::new(&mut out).vec16(|w| configs.iter().for_each(|config| config.encode(w)));
        ConfigList::parse(&out).unwrap()
    }

    /// RFC 9849 4, 4.2, 6.1, 6.1.7, RFC 9848
    #[test]
    fn the_first_usable_configuration_is_selected() {
        let unknown = HpkeSymmetricCipherSuite { kdf_id: HpkeKdf(0x1111), aead_id: HpkeAead(1) };
        let (only_unknown, both) = ([unknown], [unknown, MANDATORY]);
        let unusable = [
            EchConfigContents { kem_id: HpkeKem(0x6666), ..contents() },
            EchConfigContents { public_key: &[5; 31], ..contents() },
            EchConfigContents { cipher_suites: List::new(&only_unknown), ..contents() },
            EchConfigContents { public_name: b"127.0.0.1", ..contents() },
            EchConfigContents {
                extensions: List::new(&[(ExtensionType(0x8000), &[])]),
                ..contents()
            },
        ];
        for config in unusable {
            assert!(!list(&[config]).usable(), "{config:?}");
        }
        let second = EchConfigContents {
            config_id: 2,
            cipher_suites: List::new(&both),
            extensions: List::new(&[(ExtensionType(0x7fff), &[])]),
            ..contents()
        };
        let third = EchConfigContents { config_id: 3, ..contents() };
        let all = list(&[&unusable[..], &[second, third]].concat());
        let selected = all.select().unwrap();
        assert_eq!(selected.contents, second);
        assert_eq!(selected.cipher_suite, MANDATORY);
        assert_eq!(all.public_name(), Some("cover.example"));
    }

    #[test]
    fn lists_are_converted_to_text_and_back() {
        let one = list(&[contents()]);
        assert_eq!(ConfigList::from_base64(&one.to_base64()), Ok(one.clone()));
        assert!(!one.is_empty() && ConfigList::default().is_empty());
        assert!(!ConfigList::default().usable());
        let error = ConfigList::from_base64("?").unwrap_err();
        assert_eq!(error.to_string(), "the ECH configurations are not Base64");
        let error = ConfigList::parse(&one.as_bytes()[..9]).unwrap_err();
        assert_eq!(error, ConfigListError::Malformed(DecodeError::Truncated));
        assert!(error.to_string().starts_with("malformed ECH configurations: "));
        let empty = ConfigList::parse(&[0, 0]).unwrap_err();
        assert_eq!(empty, ConfigListError::Malformed(DecodeError::EmptyList));
    }
}
