//! Pre-shared keys on the command line.
//!
//! Other users can see the arguments of a process, so these options are for tests.

use std::fmt;

use anyhow::Result;
use clap::Args;
use tercel::crypto::HashAlgorithm;
use tercel::psk::PreSharedKey;

/// Options for external pre-shared keys.
#[derive(Args, Debug)]
pub(crate) struct PskOptions {
    /// Pre-shared key in hexadecimal with its identity, instead of certificates (TLS 1.3); may be
    /// repeated
    ///
    /// The hash is sha256, the default, or sha384. Other users of this machine can see the key
    /// while the program runs.
    #[arg(long, value_name = "NAME:HEX[:HASH]", value_parser = parse_psk)]
    pub(crate) psk: Vec<PskArgument>,

    /// Like --psk, for a key that both sides import, which makes it usable with every cipher suite
    /// (RFC 9258)
    #[arg(long, value_name = "NAME:HEX[:HASH]", value_parser = parse_psk)]
    pub(crate) import_psk: Vec<PskArgument>,

    /// Context of imported keys; must be the same on both sides
    #[arg(long, value_name = "TEXT", requires = "import_psk", default_value = "")]
    pub(crate) psk_context: String,
}

/// A key given on the command line.
#[derive(Clone)]
pub(crate) struct PskArgument {
    name: String,
    key: Vec<u8>,
    hash: HashAlgorithm,
}

impl PskOptions {
    /// Whether any key was given.
    pub(crate) fn is_set(&self) -> bool {
        !self.psk.is_empty() || !self.import_psk.is_empty()
    }

    /// The keys in the order given, but imported keys last.
    pub(crate) fn keys(&self) -> Result<Vec<PreSharedKey>> {
        let mut keys = Vec::new();
        for PskArgument { name, key, hash } in &self.psk {
            keys.push(PreSharedKey::external(name.as_bytes(), key, *hash)?);
        }
        let context = self.psk_context.as_bytes();
        for PskArgument { name, key, hash } in &self.import_psk {
            keys.extend(PreSharedKey::import(name.as_bytes(), context, key, *hash)?);
        }
        Ok(keys)
    }
}

impl fmt::Debug for PskArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Parses the argument from its end, because an identity may contain colons.
fn parse_psk(text: &str) -> Result<PskArgument, String> {
    let (rest, hash) = match text.rsplit_once(':') {
        Some((rest, "sha256")) => (rest, HashAlgorithm::Sha256),
        Some((rest, "sha384")) => (rest, HashAlgorithm::Sha384),
        _ => (text, HashAlgorithm::Sha256),
    };
    let wrong = || "must be NAME:HEX or NAME:HEX:HASH".to_owned();
    let (name, digits) = rest.rsplit_once(':').ok_or_else(wrong)?;
    let key = decode_hex(digits).ok_or_else(|| "key is not hexadecimal".to_owned())?;
    // The key is checked here, so that an invalid one is reported as an invalid command line.
    let checked = PreSharedKey::external(name.as_bytes(), &key, hash);
    checked.map_err(|error| error.to_string())?;
    Ok(PskArgument { name: name.to_owned(), key, hash })
}

fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "000102030405060708090a0b0c0d0e0F";

    #[test]
    fn a_name_may_have_colons_and_a_key_may_have_a_hash() {
        let parts =
            |text: &str| parse_psk(text).map(|key| (key.name, key.key.len(), key.hash)).ok();
        let of = |name: &str, hash| Some((name.to_owned(), 16, hash));
        assert_eq!(parts(&format!("a:{HEX}")), of("a", HashAlgorithm::Sha256));
        assert_eq!(parts(&format!("urn:a:{HEX}:sha384")), of("urn:a", HashAlgorithm::Sha384));
        assert_eq!(parse_psk(&format!("a:{HEX}")).map(|key| key.key[15]).ok(), Some(15));
    }

    #[test]
    fn invalid_keys_are_refused_with_a_reason() {
        let error = |text: &str| parse_psk(text).map(|_| ()).unwrap_err();
        assert!(error(HEX).contains("NAME:HEX"));
        assert!(error(&format!("a:{HEX}0")).contains("hexadecimal"));
        assert!(error("a:xy").contains("hexadecimal"));
        assert!(error("a:00").contains("16 bytes"));
        assert!(error(&format!(":{HEX}")).contains("identity"));
        assert!(!format!("{:?}", parse_psk(&format!("a:{HEX}"))).contains("01"));
    }
}
