//! The rows of the table.

use tercel_crypto::{
    AeadAlgorithm, AeadKey, Expansion, Hash, HashAlgorithm, HeaderProtectionKey, HmacKey, HpkeKey,
    HpkeRecipient, HpkeSender, HpkeSuite, InterleavedHash, KeyExchange, KeyExchangeAlgorithm as Kx,
    KeyKind, Mac, PartsHash, Prk, PublicKey, RandomNonceKey, RecordKey, RecordNonces,
    SignatureCache, Signer, SigningKey, Tls12Prf, expand_batch, fill_random, hkdf_extract,
    mac_batch, sha1_name,
};

use crate::Table;
use crate::support;

const HASHES: [HashAlgorithm; 3] =
    [HashAlgorithm::Sha256, HashAlgorithm::Sha384, HashAlgorithm::Sha512];
const AES: [AeadAlgorithm; 2] = [AeadAlgorithm::Aes128Gcm, AeadAlgorithm::Aes256Gcm];
const CHACHA: AeadAlgorithm = AeadAlgorithm::ChaCha20Poly1305;

pub(crate) fn random(table: &mut Table) {
    table.approved("fill_random", 32, 1, || fill_random(&mut [0; 32]).unwrap());
}

pub(crate) fn hashes(table: &mut Table) {
    for hash in HASHES {
        table.approved("Hash::digest", hash, 1, || Hash::digest(hash, &[b"a", b"b"]));
        let mut running = Hash::new(hash);
        running.update(&[7; 300]);
        table.approved("Hash::current_digest", hash, 1, || running.current_digest());
        table.approved("Hash::finish", hash, 1, || running.finish());
    }
    let parts = PartsHash::new();
    table.approved("PartsHash::finish", "SHA-256", 1, || parts.finish());
    let cache = table.approved("SignatureCache::new", 2, 1, || SignatureCache::new(2).unwrap());
    table.approved("SignatureCache::digest", "SHA-256", 1, || cache.digest([b"a", b"b"]));
    table.approved("sha1_name", "SHA-1", 1, || sha1_name(b"a"));
}

pub(crate) fn macs(table: &mut Table) {
    for hash in HASHES {
        let key = HmacKey::new(hash, &[7; 48]);
        table.approved("HmacKey::new", (hash, "200 bytes"), 1, || HmacKey::new(hash, &[7; 200]));
        table.approved("HmacKey::batch", hash, 1, || {
            HmacKey::batch(hash, [&[7; 200][..], &[8; 48]])
        });
        table.approved("HmacKey::sign", hash, 1, || key.sign(&[b"a", b"b"]));
        table.approved("HmacKey::secret_mac", hash, 1, || key.secret_mac(&[b"a"]));
        table.approved("HmacKey::verify", hash, 1, || key.verify(&[b"a"], &[0; 32]));
        let mut outs = [[0; 64]; 3];
        table.approved("mac_batch", (hash, 3), 3, || {
            let mut all = outs.each_mut().map(|out| {
                let out = &mut out[..hash.output_len()];
                Mac { key: &key, parts: &[b"a"], out }
            });
            mac_batch(&mut all);
        });
        let mut running = Hash::new(hash);
        let mut interleaved = InterleavedHash::new(&mut running, &[7; 1000]);
        table.approved("InterleavedHash::mac", hash, 1, || interleaved.mac::<64>(&key, &[b"a"]));
        let prk = Prk::from_bytes(hash, &[7; 48]);
        table.approved("InterleavedHash::expand", (hash, 2), 2, || {
            interleaved.expand::<64, 2>(&prk, [[b"a", b"b"], [b"c", b"d"]])
        });
    }
}

/// The indicator recognises the PRF of TLS 1.2 by the label of the extended main secret.
const OTHER_LABEL: &str = "the indicator knows one label only; the function is the same";

pub(crate) fn derivations(table: &mut Table) {
    for hash in HASHES {
        let salt = HmacKey::new(hash, &[7; 48]);
        // HKDF-Extract is HMAC. RFC 5869 2.2
        table.approved("hkdf_extract", hash, 1, || hkdf_extract(hash, b"salt", &[7; 32]));
        table.approved("Prk::extract", hash, 1, || Prk::extract(hash, b"salt", &[7; 32]));
        table.approved("Prk::extract_with", hash, 1, || Prk::extract_with(&salt, &[7; 32]));
        let prk = Prk::from_bytes(hash, &[7; 48]);
        for len in [16, 100] {
            let mut out = vec![0; len];
            table.approved("Prk::expand", (hash, len), 1, || prk.expand(&[b"a", b"b"], &mut out));
        }
        table.approved("Prk::expand_secret", hash, 1, || prk.expand_secret(&[b"a"], 32));
        let (mut outs, mut mac) = ([[0; 100]; 2], [0; 64]);
        table.approved("expand_batch", (hash, "2 and a MAC"), 3, || {
            let mut all = outs.each_mut().map(|out| Expansion { prk: &prk, info: &[b"a"], out });
            let out = &mut mac[..hash.output_len()];
            expand_batch(&mut all, &mut [Mac { key: &salt, parts: &[b"a"], out }]);
        });
        let (prf, seed) = (Tls12Prf::new(hash, &[7; 48]), [&[7; 48][..], b"more"]);
        let (mut out, mut other) = ([0; 48], [0; 48]);
        let label = b"extended master secret";
        table.approved("Tls12Prf::fill", (hash, "extended master secret"), 1, || {
            prf.fill(label, &seed, &mut out);
        });
        table.not_approved("Tls12Prf::fill", (hash, "key expansion"), (1, 0), OTHER_LABEL, || {
            prf.fill(b"key expansion", &seed, &mut out);
        });
        let run = prf.begin(label, &seed, &mut out);
        table.approved("PrfRun::finish", (hash, "extended master secret"), 1, || run.finish());
        let run = prf.begin(label, &seed, &mut out);
        let mut second = prf.begin(label, &seed, &mut other);
        table.approved("PrfRun::finish_with", (hash, "extended master secret"), 1, || {
            run.finish_with(&mut second);
        });
    }
}

const NOT_AN_ALGORITHM: &str = "ChaCha20-Poly1305 is not an algorithm of FIPS";

pub(crate) fn records(table: &mut Table) {
    for nonces in [RecordNonces::Tls13, RecordNonces::Tls12] {
        for algorithm in AES {
            let mut key =
                RecordKey::with_nonces(algorithm, nonces, &[7; 32][..algorithm.key_len()]).unwrap();
            let (mut sealed, mut opened, input) = ([0; 100], [0; 100], (algorithm, nonces));
            let len = table.approved("RecordKey::seal", input, 1, || {
                key.seal(&nonce(0), b"a", b"text", &[23], &mut sealed).unwrap()
            });
            table.approved("AeadKey::open", input, 1, || {
                key.open(&nonce(0), b"a", &sealed[..len], &mut opened).unwrap()
            });
            table.approved("RecordKey::seal_in_place", input, 1, || {
                key.seal_in_place(&nonce(1), b"a", &mut sealed, 4, &[23]).unwrap()
            });
            table.approved("AeadKey::open_in_place", input, 1, || {
                key.open_in_place(&nonce(1), b"a", &mut sealed[..len]).unwrap()
            });
        }
    }
    let mut key = RecordKey::with_nonces(CHACHA, RecordNonces::Tls13, &[7; 32]).unwrap();
    let mut sealed = [0; 21];
    table.not_approved("RecordKey::seal", CHACHA, (1, 0), NOT_AN_ALGORITHM, || {
        key.seal(&nonce(0), b"a", b"text", &[23], &mut sealed).unwrap()
    });
    table.not_approved("AeadKey::open_in_place", CHACHA, (1, 0), NOT_AN_ALGORITHM, || {
        key.open_in_place(&nonce(0), b"a", &mut sealed).unwrap()
    });
}

const OWN_NONCE: &str = "the caller makes the nonce (QUIC)";

pub(crate) fn other_messages(table: &mut Table) {
    let key = RandomNonceKey::new(&[7; 32]).unwrap();
    let mut sealed = [0; 4 + RandomNonceKey::OVERHEAD];
    table.approved("RandomNonceKey::seal_in_place", "AES-256-GCM", 1, || {
        key.seal_in_place(b"a", &mut sealed, 4).unwrap()
    });
    table.approved("RandomNonceKey::open_in_place", "AES-256-GCM", 1, || {
        key.open_in_place(b"a", &mut sealed).unwrap()
    });
    for algorithm in AES {
        let key = AeadKey::new(algorithm, &[7; 32][..algorithm.key_len()]).unwrap();
        let (mut sealed, mut opened) = ([0; 20], [0; 4]);
        table.not_approved("AeadKey::seal", algorithm, (1, 0), OWN_NONCE, || {
            key.seal(&nonce(0), b"a", b"text", &[], &mut sealed).unwrap()
        });
        table.approved("AeadKey::open", algorithm, 1, || {
            key.open(&nonce(0), b"a", &sealed, &mut opened).unwrap()
        });
        table.not_approved("AeadKey::seal_in_place", algorithm, (1, 0), OWN_NONCE, || {
            key.seal_in_place(&nonce(1), b"a", &mut sealed, 4, &[]).unwrap()
        });
        table.approved("AeadKey::open_in_place", algorithm, 1, || {
            key.open_in_place(&nonce(1), b"a", &mut sealed).unwrap()
        });
        table.not_approved("AeadKey::seal_with_separate_tag", algorithm, (1, 0), OWN_NONCE, || {
            key.seal_with_separate_tag(&nonce(2), b"a", &mut sealed).unwrap()
        });
        let key = HeaderProtectionKey::new(algorithm, &[7; 32][..algorithm.key_len()]).unwrap();
        let reason = "the indicator does not count single AES blocks (QUIC)";
        table.not_approved("HeaderProtectionKey::mask", algorithm, (1, 0), reason, || {
            key.mask(&[7; 16])
        });
    }
    let (key, mut sealed) = (AeadKey::new(CHACHA, &[7; 32]).unwrap(), [0; 20]);
    table.not_approved("AeadKey::seal", CHACHA, (1, 0), NOT_AN_ALGORITHM, || {
        key.seal(&nonce(0), b"a", b"text", &[], &mut sealed).unwrap()
    });
}

const X25519: &str = "X25519 is not an algorithm of FIPS";

pub(crate) fn key_exchanges(table: &mut Table) {
    // With each algorithm the numbers of services of `generate`, `agree` and `respond`, needed and
    // approved. The random bytes of X25519 are a service, those of the other algorithms part of
    // one.
    for (algorithm, [generate, agree, respond]) in [
        (Kx::P256, [(1, 1), (1, 1), (2, 2)]),
        (Kx::P384, [(1, 1), (1, 1), (2, 2)]),
        (Kx::P521, [(1, 1), (1, 1), (2, 2)]),
        (Kx::MlKem768, [(1, 1), (1, 1), (1, 1)]),
        (Kx::MlKem1024, [(1, 1), (1, 1), (1, 1)]),
        (Kx::SecP256r1MlKem768, [(2, 2), (2, 2), (3, 3)]),
        (Kx::SecP384r1MlKem1024, [(2, 2), (2, 2), (3, 3)]),
        (Kx::X25519MlKem768, [(3, 2), (2, 1), (4, 2)]),
        (Kx::X25519, [(2, 1), (1, 0), (3, 1)]),
    ] {
        let client = row(table, "KeyExchange::generate", algorithm, generate, || {
            KeyExchange::generate(algorithm).unwrap()
        });
        let mut share = vec![0; algorithm.client_share_len()];
        let in_place = row(table, "KeyExchange::generate_into", algorithm, generate, || {
            KeyExchange::generate_into(algorithm, &mut share).unwrap()
        });
        let (answer, _) = row(table, "KeyExchange::respond", algorithm, respond, || {
            KeyExchange::respond(algorithm, client.public_share()).unwrap()
        });
        row(table, "KeyExchange::agree", algorithm, agree, || client.agree(&answer).unwrap());
        let mut answer = vec![0; algorithm.server_share_len()];
        row(table, "KeyExchange::respond_into", algorithm, respond, || {
            KeyExchange::respond_into(algorithm, &share, &mut answer).unwrap()
        });
        row(table, "KeyExchange::agree_in_place", algorithm, agree, || {
            in_place.agree_in_place(&answer).unwrap()
        });
        let Some((part, place)) = algorithm.traditional() else { continue };
        let (answer, _) = KeyExchange::respond(part, &share[place]).unwrap();
        let numbers = if part == Kx::X25519 { (1, 0) } else { (1, 1) };
        row(table, "KeyExchange::agree_traditional_in_place", algorithm, numbers, || {
            in_place.agree_traditional_in_place(&answer).unwrap()
        });
        row(table, "KeyExchange::agree_traditional", algorithm, numbers, || {
            in_place.agree_traditional(&answer).unwrap()
        });
    }
}

fn row<T>(
    table: &mut Table,
    function: &'static str,
    algorithm: Kx,
    numbers: (u64, u64),
    action: impl FnOnce() -> T,
) -> T {
    match numbers {
        (needed, counted) if needed == counted => {
            table.approved(function, algorithm, needed, action)
        }
        _ => table.not_approved(function, algorithm, numbers, X25519, action),
    }
}

pub(crate) fn signatures(table: &mut Table) {
    let ml_dsa = support::parse(include_str!("../vectors/ml_dsa_keygen.txt"));
    let mut tested = 0;
    for vector in support::parse(include_str!("../vectors/keys.txt")) {
        if vector.text("kind") != "refused" {
            signatures_by(table, vector.text("name"), &vector.bytes("private"));
            tested += 1;
        }
    }
    // Version 3 of the module has no ML-DSA.
    for vector in ml_dsa.into_iter().filter(|_| !cfg!(fips_module_3)) {
        let name = vector.text("algorithm");
        let identifier = match name {
            "MlDsa44" => 17,
            "MlDsa65" => 18,
            _ => 19,
        };
        // PKCS#8 with a seed. RFC 9881 6
        let mut der = vec![0x30, 52, 2, 1, 0, 0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3];
        der.extend([identifier, 4, 34, 0x80, 32]);
        der.extend(vector.bytes("seed"));
        signatures_by(table, name, &der);
        tested += 1;
    }
    assert!(tested > 10, "{tested} keys");
}

/// Tests all algorithms of a key.
fn signatures_by(table: &mut Table, name: &str, private: &[u8]) {
    let key = SigningKey::from_der(private).unwrap();
    let kind = key.kind();
    match kind {
        // The module counts the hashes by which it expands the seed.
        KeyKind::MlDsa44 | KeyKind::MlDsa65 | KeyKind::MlDsa87 => {}
        KeyKind::Ed25519 if cfg!(fips_module_3) => {}
        // The public key is derived from the seed, in the parser and for the form that signs.
        KeyKind::Ed25519 => {
            drop(table.approved("SigningKey::from_der", name, 2, || SigningKey::from_der(private)));
        }
        _ => {
            drop(table.approved("SigningKey::from_der", name, 0, || SigningKey::from_der(private)));
        }
    }
    let public = PublicKey::from_spki(&key.public_key_spki()).unwrap();
    // For Ed25519, version 3 of the module derives the public key again.
    let services = if cfg!(fips_module_3) && kind == KeyKind::Ed25519 { 2 } else { 1 };
    for algorithm in key.algorithms() {
        let input = (kind, *algorithm);
        let signature = table.approved("SigningKey::sign", input, services, || {
            key.sign(*algorithm, b"message").unwrap()
        });
        table.approved("PublicKey::verify", input, 1, || {
            public.verify(*algorithm, b"message", &signature).unwrap();
        });
        table.approved("SigningKey::sign_to", input, services, || {
            key.sign_to(*algorithm, b"message", &mut Vec::new()).unwrap();
        });
        let signer: &dyn Signer = &key;
        table.approved("Signer::sign", input, services, || {
            signer.sign(*algorithm, b"message").unwrap()
        });
        table.approved("Signer::sign_to", input, services, || {
            signer.sign_to(*algorithm, b"message", &mut Vec::new()).unwrap();
        });
    }
}

pub(crate) fn hpke(table: &mut Table) {
    const REASON: &str = "the indicator does not count HPKE, whose KEM is X25519 (ECH)";
    let suite = HpkeSuite { kdf: HashAlgorithm::Sha256, aead: AeadAlgorithm::Aes128Gcm };
    let key = table.not_approved("HpkeKey::generate", "X25519", (2, 1), REASON, || {
        HpkeKey::generate().unwrap()
    });
    table.not_approved("HpkeKey::from_private", "X25519", (1, 0), REASON, || {
        HpkeKey::from_private(&[7; 32]).unwrap()
    });
    let public = key.public_key().unwrap();
    let (mut sender, encapsulated) =
        table.not_approved("HpkeSender::new", suite, (7, 5), REASON, || {
            HpkeSender::new(suite, &public, b"info").unwrap()
        });
    let mut recipient = table.not_approved("HpkeRecipient::new", suite, (5, 4), REASON, || {
        HpkeRecipient::new(suite, &key, &encapsulated, b"info").unwrap()
    });
    let mut sealed = [0; 20];
    table.not_approved("HpkeSender::seal", suite, (1, 0), REASON, || {
        sender.seal(b"a", b"text", &mut sealed).unwrap();
    });
    table.approved("HpkeRecipient::open", suite, 1, || recipient.open(b"a", &sealed).unwrap());
}

fn nonce(number: u8) -> [u8; 12] {
    [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, number]
}
