//! The keys of a server's first flight in TLS 1.3, so that the scan can read EncryptedExtensions
//! and the certificate without finishing the handshake. RFC 9846 7.1

use tercel_crypto::{
    AeadAlgorithm, AeadKey, Hash, HashAlgorithm, KeyExchange, KeyExchangeAlgorithm, Prk,
};
use tercel_wire::{CipherSuite, ContentType, NamedGroup, RecordHeader};

/// The keys of the server's handshake records.
pub(crate) struct ServerKeys {
    key: AeadKey,
    iv: [u8; 12],
    sequence: u64,
}

impl std::fmt::Debug for ServerKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKeys")
    }
}

impl ServerKeys {
    /// The keys for this shared secret and these two hello messages. `None` if the suite is not
    /// implemented.
    pub(crate) fn derive(suite: CipherSuite, shared: &[u8], hellos: [&[u8]; 2]) -> Option<Self> {
        let (hash, algorithm) = algorithms(suite)?;
        let empty = Hash::digest(hash, &[]);
        let zeros = [0; 64];
        let zeros = zeros.get(..hash.output_len())?;
        let early = Prk::extract(hash, zeros, zeros);
        let mut secret = [0; 64];
        let secret = secret.get_mut(..hash.output_len())?;
        expand_label(&early, b"derived", &empty, secret);
        let handshake = Prk::extract(hash, secret, shared);
        expand_label(&handshake, b"s hs traffic", &Hash::digest(hash, &hellos), secret);
        let traffic = Prk::from_bytes(hash, secret);
        let mut key = [0; 32];
        let key = key.get_mut(..algorithm.key_len())?;
        expand_label(&traffic, b"key", &[], key);
        let mut iv = [0; 12];
        expand_label(&traffic, b"iv", &[], &mut iv);
        Some(Self { key: AeadKey::new(algorithm, key).ok()?, iv, sequence: 0 })
    }

    /// The content type and the content of a protected record. RFC 9846 5.2
    pub(crate) fn open(
        &mut self,
        header: RecordHeader,
        fragment: &[u8],
    ) -> Option<(ContentType, Vec<u8>)> {
        let mut nonce = self.iv;
        let (_, tail) = nonce.split_at_mut(4);
        tail.iter_mut().zip(self.sequence.to_be_bytes()).for_each(|(to, from)| *to ^= from);
        self.sequence += 1;
        let mut content = fragment.to_vec();
        let length = self.key.open_in_place(&nonce, &header.encode(), &mut content).ok()?;
        content.truncate(length);
        while content.last() == Some(&0) {
            content.pop();
        }
        Some((ContentType(content.pop()?), content))
    }
}

/// The suites of TLS 1.3 whose records can be read.
pub(crate) const READABLE: [CipherSuite; 3] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

fn algorithms(suite: CipherSuite) -> Option<(HashAlgorithm, AeadAlgorithm)> {
    Some(match suite {
        CipherSuite::TLS_AES_128_GCM_SHA256 => (HashAlgorithm::Sha256, AeadAlgorithm::Aes128Gcm),
        CipherSuite::TLS_AES_256_GCM_SHA384 => (HashAlgorithm::Sha384, AeadAlgorithm::Aes256Gcm),
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => {
            (HashAlgorithm::Sha256, AeadAlgorithm::ChaCha20Poly1305)
        }
        _ => return None,
    })
}

/// A fresh key pair for this group. `None` if the group is not implemented.
pub(crate) fn key_exchange(group: NamedGroup) -> Option<KeyExchange> {
    use KeyExchangeAlgorithm as A;
    let algorithm = match group {
        NamedGroup::X25519 => A::X25519,
        NamedGroup::SECP256R1 => A::P256,
        NamedGroup::SECP384R1 => A::P384,
        NamedGroup::SECP521R1 => A::P521,
        NamedGroup::X25519MLKEM768 => A::X25519MlKem768,
        NamedGroup::SECP256R1MLKEM768 => A::SecP256r1MlKem768,
        NamedGroup::SECP384R1MLKEM1024 => A::SecP384r1MlKem1024,
        NamedGroup::MLKEM768 => A::MlKem768,
        NamedGroup::MLKEM1024 => A::MlKem1024,
        _ => return None,
    };
    KeyExchange::generate(algorithm).ok()
}

/// HKDF-Expand-Label. RFC 9846 7.1
fn expand_label(prk: &Prk, label: &[u8], context: &[u8], out: &mut [u8]) {
    const PREFIX: &[u8] = b"tls13 ";
    let [.., high, low] = out.len().to_be_bytes();
    let [.., label_length] = (PREFIX.len() + label.len()).to_be_bytes();
    let [.., context_length] = context.len().to_be_bytes();
    prk.expand(&[&[high, low, label_length], PREFIX, label, &[context_length], context], out);
}
