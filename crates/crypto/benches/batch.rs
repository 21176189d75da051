//! Measures the gain if a server signed several handshakes together, with the existing signature
//! calls.
//!
//! A batch has the work of several full TLS 1.3 handshakes of a server. The batch runs either
//! handshake by handshake, or in stages: first all handshakes up to the signature, then all
//! signatures in a row, then the rest of each handshake. Both ways run in the same process,
//! alternating. The calls are the same, so the only difference is how warm the caches are. A batch
//! cannot gain more over `SigningKey::sign`, since AWS-LC has no call that signs more than one
//! message at once. The cost of collecting a batch, in waiting time and in queues, is not included.

use std::hint::black_box;
use std::time::Instant;

use tercel_crypto::{
    AeadAlgorithm, AeadKey, Hash, HashAlgorithm, KeyExchange, KeyExchangeAlgorithm, Prk,
    SignatureAlgorithm, SigningKey,
};

/// The number of batches in a measurement, and the number of measurements.
const BATCHES: usize = 8;
const ROUNDS: usize = 31;

fn main() {
    println!(
        "{:24} {:>6} {:>14} {:>14} {:>8}",
        "", "batch", "one by one µs", "together µs", "gain"
    );
    for (name, generated, algorithm) in [
        ("RSA-2048", &rcgen::PKCS_RSA_SHA256, SignatureAlgorithm::RsaPssSha256),
        ("ECDSA P-256", &rcgen::PKCS_ECDSA_P256_SHA256, SignatureAlgorithm::EcdsaSha256),
        ("Ed25519", &rcgen::PKCS_ED25519, SignatureAlgorithm::Ed25519),
    ] {
        let pair = rcgen::KeyPair::generate_for(generated).expect("a key pair");
        let key = SigningKey::from_der(pair.serialized_der()).expect("the key just made");
        for batch in [4, 16, 64] {
            row(name, &Server::new(&key, algorithm), batch);
        }
    }
}

fn row(name: &str, server: &Server<'_>, batch: usize) {
    let (mut apart, mut together, mut gains) = (vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        // The way that runs first in a round may find a colder cache, so the order alternates.
        let (one, other) = if round % 2 == 0 {
            let one = time(|| server.one_by_one(batch));
            (one, time(|| server.together(batch)))
        } else {
            let other = time(|| server.together(batch));
            (time(|| server.one_by_one(batch)), other)
        };
        gains.push(one / other);
        apart.push(one / batch as f64);
        together.push(other / batch as f64);
    }
    let (apart, together) = (median(&mut apart), median(&mut together));
    println!("{name:24} {batch:6} {apart:14.1} {together:14.1} {:8.3}", median(&mut gains));
}

/// The server's cryptographic operations in a handshake.
struct Server<'a> {
    key: &'a SigningKey,
    algorithm: SignatureAlgorithm,
    share: Vec<u8>,
}

impl<'a> Server<'a> {
    fn new(key: &'a SigningKey, algorithm: SignatureAlgorithm) -> Self {
        let client = KeyExchange::generate(KeyExchangeAlgorithm::X25519MlKem768).expect("a share");
        Self { key, algorithm, share: client.public_share().to_vec() }
    }

    fn one_by_one(&self, handshakes: usize) {
        for _ in 0..handshakes {
            let started = self.before();
            self.sign(&started);
            after(&started);
        }
    }

    fn together(&self, handshakes: usize) {
        let started: Vec<_> = (0..handshakes).map(|_| self.before()).collect();
        started.iter().for_each(|started| self.sign(started));
        started.iter().for_each(after);
    }

    /// The key exchange, the handshake keys and everything before CertificateVerify.
    fn before(&self) -> Started {
        let (_, shared) = KeyExchange::respond(KeyExchangeAlgorithm::X25519MlKem768, &self.share)
            .expect("an answer");
        let secret = Prk::extract(HASH, &[0; 48], shared.as_bytes());
        let mut key = [0; 32];
        expand(&secret, 6, &mut key);
        let aead = AeadKey::new(AeadAlgorithm::Aes256Gcm, &key).expect("a key of 32 bytes");
        seal(&aead, 2500);
        Started { secret, aead, transcript: Hash::digest(HASH, &[&[7; 4000]]).to_vec() }
    }

    fn sign(&self, started: &Started) {
        let content =
            [&[0x20; 64][..], b"TLS 1.3, server CertificateVerify\0", &started.transcript];
        _ = black_box(self.key.sign(self.algorithm, &content.concat()));
    }
}

struct Started {
    secret: Prk,
    aead: AeadKey,
    transcript: Vec<u8>,
}

/// Finished, and the application traffic keys.
fn after(started: &Started) {
    expand(&started.secret, 12, &mut [0; 32]);
    seal(&started.aead, 300);
}

fn expand(secret: &Prk, times: u8, out: &mut [u8]) {
    for time in 0..times {
        secret.expand(&[b"tls13 key", &[time]], out);
    }
    black_box(out);
}

fn seal(key: &AeadKey, len: usize) {
    let mut out = vec![0; len + 17];
    let sealed = key.seal(&[1; 12], &[2; 5], &vec![3; len], &[22], &mut out);
    sealed.expect("room for the tag");
    black_box(out);
}

fn time(action: impl Fn()) -> f64 {
    let start = Instant::now();
    for _ in 0..BATCHES {
        action();
    }
    start.elapsed().as_secs_f64() * 1e6 / BATCHES as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

const HASH: HashAlgorithm = HashAlgorithm::Sha384;
