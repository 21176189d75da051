//! Pre-shared keys on the command line, for both subcommands.
//!
//! Must not know: sockets. A key that was typed is known to whoever can list processes, so this is for trying
//! things out. Next: `tercel::PreSharedKey`.

use std::fmt;

use anyhow::Result;
use clap::Args;
use tercel::PreSharedKey;
use tercel::crypto::HashAlgorithm;

/// The keys that both ends were given.
#[derive(Args, Debug)]
pub(crate) struct PskOptions {
    /// A pre-shared key in hexadecimal and its name, in place of certificates (TLS 1.3); may be repeated
    ///
    /// The hash is sha256, which is the default, or sha384. Keys given like this can be read by every user
    /// of this machine while the program runs.
    #[arg(long, value_name = "NAME:HEX[:HASH]", value_parser = given)]
    pub(crate) psk: Vec<Given>,

    /// The same for a key that both ends import first, so that it goes with every cipher suite (RFC 9258)
    #[arg(long, value_name = "NAME:HEX[:HASH]", value_parser = given)]
    pub(crate) import_psk: Vec<Given>,

    /// What imported keys are for; both ends have to say the same
    #[arg(long, value_name = "TEXT", requires = "import_psk", default_value = "")]
    pub(crate) psk_context: String,
}

/// A key as it was typed.
#[derive(Clone)]
pub(crate) struct Given {
    name: String,
    key: Vec<u8>,
    hash: HashAlgorithm,
}

impl PskOptions {
    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        !self.psk.is_empty() || !self.import_psk.is_empty()
    }

    /// The keys, in the order given, plain ones first.
    pub(crate) fn keys(&self) -> Result<Vec<PreSharedKey>> {
        let mut keys = Vec::new();
        for Given { name, key, hash } in &self.psk {
            keys.push(PreSharedKey::external(name.as_bytes(), key, *hash)?);
        }
        let context = self.psk_context.as_bytes();
        for Given { name, key, hash } in &self.import_psk {
            keys.extend(PreSharedKey::import(name.as_bytes(), context, key, *hash)?);
        }
        Ok(keys)
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A name may have colons in it, so the parts are found from the end.
fn given(text: &str) -> Result<Given, String> {
    let (rest, hash) = match text.rsplit_once(':') {
        Some((rest, "sha256")) => (rest, HashAlgorithm::Sha256),
        Some((rest, "sha384")) => (rest, HashAlgorithm::Sha384),
        _ => (text, HashAlgorithm::Sha256),
    };
    let wrong = || "not of the form NAME:HEX or NAME:HEX:HASH".to_owned();
    let (name, digits) = rest.rsplit_once(':').ok_or_else(wrong)?;
    let key = bytes(digits).ok_or_else(|| "the key is not in hexadecimal".to_owned())?;
    // What the library refuses is refused with the command line.
    let checked = PreSharedKey::external(name.as_bytes(), &key, hash);
    checked.map_err(|error| error.to_string())?;
    Ok(Given { name: name.to_owned(), key, hash })
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
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
        let parts = |text: &str| given(text).map(|key| (key.name, key.key.len(), key.hash)).ok();
        let of = |name: &str, hash| Some((name.to_owned(), 16, hash));
        assert_eq!(parts(&format!("a:{HEX}")), of("a", HashAlgorithm::Sha256));
        assert_eq!(parts(&format!("urn:a:{HEX}:sha384")), of("urn:a", HashAlgorithm::Sha384));
        assert_eq!(given(&format!("a:{HEX}")).map(|key| key.key[15]).ok(), Some(15));
    }

    #[test]
    fn what_is_no_key_is_refused_with_the_reason() {
        let error = |text: &str| given(text).map(|_| ()).unwrap_err();
        assert!(error(HEX).contains("NAME:HEX"));
        assert!(error(&format!("a:{HEX}0")).contains("hexadecimal"));
        assert!(error("a:xy").contains("hexadecimal"));
        assert!(error("a:00").contains("16 bytes"));
        assert!(error(&format!(":{HEX}")).contains("identity"));
        assert!(!format!("{:?}", given(&format!("a:{HEX}"))).contains("01"));
    }
}
