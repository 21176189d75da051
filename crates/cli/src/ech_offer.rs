//! `--ech` of clients: what is offered of Encrypted ClientHello. RFC 9849 6

use std::convert::Infallible;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use tercel::ech::Offer;

use crate::ech_files;

/// What `--ech` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EchSource {
    /// An extension with random contents. RFC 9849 6.2
    Grease,
    /// The HTTPS record of the server. RFC 9848
    Auto,
    /// No extension.
    Off,
    /// A file, Base64 or a record.
    Named(String),
}

impl FromStr for EchSource {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "grease" => Self::Grease,
            "auto" => Self::Auto,
            "off" => Self::Off,
            other => Self::Named(other.to_owned()),
        })
    }
}

/// What to do if the name cannot be encrypted.
pub(crate) const WITHOUT_ENCRYPTION: &str =
    "--ech grease connects without encrypting the server name";

/// Reads the configurations that an argument names. One of them must be usable: otherwise the name
/// would be sent in the clear, although it was to be encrypted.
pub(crate) fn configs(argument: &str) -> Result<Offer> {
    let found = ech_files::find(argument).context("--ech")?;
    ensure!(
        !found.configs.is_empty(),
        "--ech: the record has no ECH configuration; {WITHOUT_ENCRYPTION}"
    );
    ensure!(
        found.configs.usable(),
        "--ech: none of the configurations is usable: `tercel ech show` prints why; \
         {WITHOUT_ENCRYPTION}"
    );
    Ok(Offer::Configs(found.configs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::ech::Key;

    #[test]
    fn words_have_priority_over_files() {
        let source = |text: &str| text.parse::<EchSource>().unwrap();
        assert_eq!(source("grease"), EchSource::Grease);
        assert_eq!(source("auto"), EchSource::Auto);
        assert_eq!(source("off"), EchSource::Off);
        assert_eq!(source("./off"), EchSource::Named("./off".to_owned()));
    }

    #[test]
    fn unusable_configurations_are_refused() {
        let list = Key::generate("cover.example", 0).unwrap().config();
        assert_eq!(configs(&list.to_base64()).unwrap(), Offer::Configs(list.clone()));
        // Another version.
        let mut other = list.as_bytes().to_vec();
        other[3] ^= 1;
        let other = tercel::ech::ConfigList::parse(&other).unwrap();
        let error = configs(&other.to_base64()).unwrap_err().to_string();
        assert_eq!(
            error,
            "--ech: none of the configurations is usable: `tercel ech show` prints why; --ech \
             grease connects without encrypting the server name"
        );
        let error = configs("1 . alpn=h2").unwrap_err().to_string();
        assert_eq!(
            error,
            "--ech: the record has no ECH configuration; --ech grease connects without encrypting \
             the server name"
        );
    }
}
