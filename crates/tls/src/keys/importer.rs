//! The importer of external pre-shared keys: one key for each protocol and hash. RFC 9258 5.1
//!
//! Must not know: what an identity is made of. Next: [`super::tls13`], where the key goes in.

use tercel_crypto::{HashAlgorithm, Prk, Secret};

use super::tls13::expand_label;

/// The imported key of this identity. `hash` belongs to the external key, `target` to the suites that the
/// imported one is for.
pub(crate) fn imported_key(
    hash: HashAlgorithm,
    external_key: &[u8],
    imported_identity: &[u8],
    target: HashAlgorithm,
) -> Secret {
    let epskx = Prk::extract(hash, &[], external_key);
    let identity = tercel_crypto::Hash::digest(hash, &[imported_identity]);
    Secret::with(target.output_len(), |out| expand_label(&epskx, b"derived psk", &identity, out))
}

#[cfg(test)]
mod tests {
    use tercel_crypto::{Hash, HmacKey};

    use super::*;

    /// Every step of RFC 9258 5.1 by hand, of HMAC and a hash alone. The one block that HKDF-Expand needs
    /// here is longer than what is wanted, or as long.
    fn by_hand(hash: HashAlgorithm, key: &[u8], identity: &[u8], length: u8) -> Vec<u8> {
        let zeros = [0_u8; 48];
        let epskx = HmacKey::new(hash, &zeros[..hash.output_len()]).sign(&[key]);
        let context = Hash::digest(hash, &[identity]);
        let context_length = u8::try_from(context.len()).unwrap();
        let label: &[u8] = b"\x11tls13 derived psk";
        let info = [&[0, length], label, &[context_length], &context, &[1]].concat();
        HmacKey::new(hash, &epskx).sign(&[&info])[..length.into()].to_vec()
    }

    #[test]
    fn the_derivation_is_that_of_the_rfc() {
        let (key, identity) = (&[9; 20], b"\0\x02ab\0\0\x03\x04\0\x01");
        let (short, long) = (HashAlgorithm::Sha256, HashAlgorithm::Sha384);
        for (hash, target) in [(short, short), (long, short), (long, long)] {
            let made = imported_key(hash, key, identity, target);
            let length = u8::try_from(target.output_len()).unwrap();
            assert_eq!(made.as_bytes(), by_hand(hash, key, identity, length), "{hash:?}");
        }
    }
}
