//! Import of external pre-shared keys: derives a key for each protocol and hash. RFC 9258 5.1

use tercel_crypto::{HashAlgorithm, Prk, Secret};

use super::label::expand_label;

/// Derives the imported key with this identity. `hash` is the hash of the external key, and
/// `target` is the hash of the cipher suites with which the imported key is used.
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
    use tercel_wire::CipherSuite;

    use super::*;
    use crate::keys::suite;
    use crate::keys::tls13::{EarlySecret, PskKind};

    /// Performs the steps of RFC 9258 5.1 with HMAC and a hash only. HKDF-Expand needs one block
    /// here, since the output is not longer than the hash.
    fn by_hand(hash: HashAlgorithm, key: &[u8], identity: &[u8], length: u8) -> Vec<u8> {
        let zeros = [0_u8; 48];
        let epskx = HmacKey::new(hash, &zeros[..hash.output_len()]).sign(&[key]);
        let context = Hash::digest(hash, &[identity]);
        expanded(hash, &epskx, b"\x11tls13 derived psk", &context, length)
    }

    fn expanded(
        hash: HashAlgorithm,
        secret: &[u8],
        label: &[u8],
        context: &[u8],
        length: u8,
    ) -> Vec<u8> {
        let context_length = u8::try_from(context.len()).unwrap();
        let info = [&[0, length], label, &[context_length], context, &[1]].concat();
        HmacKey::new(hash, secret).sign(&[&info])[..length.into()].to_vec()
    }

    #[test]
    fn the_import_is_that_of_the_rfc() {
        let (key, identity) = (&[9; 20], b"\0\x02ab\0\0\x03\x04\0\x01");
        let (short, long) = (HashAlgorithm::Sha256, HashAlgorithm::Sha384);
        for (hash, target) in [(short, short), (long, short), (long, long)] {
            let made = imported_key(hash, key, identity, target);
            let length = u8::try_from(target.output_len()).unwrap();
            assert_eq!(made.as_bytes(), by_hand(hash, key, identity, length), "{hash:?}");
        }
    }

    #[test]
    fn a_binder_depends_on_the_origin_of_its_key() {
        let hash = HashAlgorithm::Sha256;
        let suite = suite::find(CipherSuite::TLS_AES_128_GCM_SHA256).unwrap();
        let hello = Hash::digest(hash, &[b"a hello without its binders"]);
        let early = HmacKey::new(hash, &[0; 32]).sign(&[&[9; 32]]);
        let by_hand = |label: &[u8]| {
            let binder_key = expanded(hash, &early, label, &Hash::digest(hash, &[]), 32);
            let finished_key = expanded(hash, &binder_key, b"\x0etls13 finished", &[], 32);
            HmacKey::new(hash, &finished_key).sign(&[&hello])
        };
        let made = |kind| EarlySecret::new(suite, Some(&[9; 32])).binder(kind, &hello);
        // RFC 9846 7.1, RFC 9258 5.2
        assert_eq!(made(PskKind::Resumption), by_hand(b"\x10tls13 res binder"));
        assert_eq!(made(PskKind::External), by_hand(b"\x10tls13 ext binder"));
        assert_eq!(made(PskKind::Imported), by_hand(b"\x10tls13 imp binder"));
    }
}
