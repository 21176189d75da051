//! Times each wrapper against the foreign call alone and prints the wrapper's overhead.
//!
//! Both sides of a row run in the same process, alternating in short rounds. The figures of a row
//! are the medians of the rounds, and its overhead is the median of the differences within a round,
//! so that a change of the processor's clock does not affect the results. The run fails if an
//! overhead exceeds both 3 % and 10 ns in three measurements. An argument selects the rows whose
//! name contains it.
//!
//! The foreign side of a row is the library of this package. Where the wrapper must do more by
//! design, the foreign side does it too: the key setup rows allocate and wipe a context on both
//! sides.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lab_bare::{self as bare, AeadName};
use tercel_crypto::{
    AeadAlgorithm, AeadKey, Expansion, Hash, HashAlgorithm, HmacKey, Kernel, KeyExchange,
    KeyExchangeAlgorithm, KeyKind, Mac, Prk, PublicKey, SignatureAlgorithm, SigningKey, Tls12Prf,
    expand_batch, fill_random, kernel_state, mac_batch, use_hash_lanes, use_kernel,
};

const ROUNDS: usize = 41;
const ROUND: Duration = Duration::from_micros(1500);

fn main() -> ExitCode {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut bench = Bench { filter: filter.unwrap_or_default(), has_limit: true, too_slow: 0 };
    println!("{:44} {:>10} {:>10} {:>10} {:>8}", "", "bare ns", "ours ns", "over ns", "over %");
    // The wrappers are compared with the same code of AWS-LC.
    Kernel::ALL.iter().for_each(|kernel| use_kernel(*kernel, false));
    aead(&mut bench);
    hashes(&mut bench);
    derivation(&mut bench);
    side_by_side(&mut bench);
    key_exchange(&mut bench);
    signatures(&mut bench);
    Kernel::ALL.iter().for_each(|kernel| use_kernel(*kernel, true));
    kernels(&mut bench);
    if bench.too_slow == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{} rows cost more than 3 % and 10 ns", bench.too_slow);
    ExitCode::FAILURE
}

fn aead(bench: &mut Bench) {
    for (algorithm, name) in [
        (AeadAlgorithm::Aes128Gcm, AeadName::Aes128Gcm),
        (AeadAlgorithm::Aes256Gcm, AeadName::Aes256Gcm),
        (AeadAlgorithm::ChaCha20Poly1305, AeadName::ChaCha20Poly1305),
    ] {
        let key = [7; 32];
        let key = &key[..algorithm.key_len()];
        bench.row(
            &format!("{algorithm:?} key setup and drop"),
            || drop(black_box(AeadKey::new(algorithm, black_box(key)))),
            || drop(black_box(bare::Aead::new(black_box(name)))),
        );
        let (ours, theirs) = (AeadKey::new(algorithm, key).unwrap(), bare::Aead::new(name));
        for len in [16, 256, 1024, 4096, 16384] {
            let (nonce, aad, extra) = ([1; 12], [2; 5], [23]);
            let input = vec![3; len];
            let (mut out, mut other) = (vec![0; len + 17], vec![0; len + 17]);
            bench.row(
                &format!("{algorithm:?} seal {len} + 1"),
                || _ = black_box(ours.seal(&nonce, &aad, black_box(&input), &extra, &mut out)),
                || theirs.seal(&nonce, &aad, black_box(&input), &extra, &mut other),
            );
            let sealed = out.clone();
            let (mut out, mut other) = (vec![0; len + 1], vec![0; len + 1]);
            bench.row(
                &format!("{algorithm:?} open {len} + 1"),
                || _ = black_box(ours.open(&nonce, &aad, black_box(&sealed), &mut out)),
                || theirs.open(&nonce, &aad, black_box(&sealed), &mut other),
            );
        }
    }
}

fn hashes(bench: &mut Bench) {
    for len in [32, 1024] {
        let message = vec![5; len];
        bench.row(
            &format!("SHA-256 of {len}"),
            || _ = black_box(Hash::digest(HashAlgorithm::Sha256, &[black_box(&message)])),
            || _ = black_box(bare::sha256(black_box(&message))),
        );
        bench.row(
            &format!("SHA-384 of {len}"),
            || _ = black_box(Hash::digest(HashAlgorithm::Sha384, &[black_box(&message)])),
            || _ = black_box(bare::sha384(black_box(&message))),
        );
    }
}

fn derivation(bench: &mut Bench) {
    for algorithm in [HashAlgorithm::Sha256, HashAlgorithm::Sha384] {
        let sha384 = algorithm == HashAlgorithm::Sha384;
        let (secret, message) = (vec![6; algorithm.output_len()], vec![7; algorithm.output_len()]);
        let key = HmacKey::new(algorithm, &secret);
        let mut context = bare::HmacContext::new(sha384, &secret);
        bench.row(
            &format!("HMAC-{algorithm:?}, against a kept HMAC_CTX"),
            || _ = black_box(key.sign(&[black_box(&message)])),
            || _ = black_box(context.mac(&[black_box(&message)])),
        );
        let precomputed = bare::HmacPrecomputed::new(sha384, &secret);
        bench.row(
            &format!("HMAC-{algorithm:?}, against a precomputed key"),
            || _ = black_box(key.sign(&[black_box(&message)])),
            || _ = black_box(precomputed.mac(black_box(&message))),
        );
        let prk = Prk::from_bytes(algorithm, &secret);
        bench.row(
            &format!("HKDF-Expand {algorithm:?}, against its one HMAC"),
            || _ = black_box(prk.expand_secret(&[black_box(&message)], message.len())),
            || _ = black_box(context.mac(&[black_box(&message), &[1]])),
        );
        let mut out = [0; 72];
        let mut other = [0; 72];
        let secret = [6; 48];
        bench.row(
            &format!("PRF {algorithm:?} of 72, keyed each time"),
            || {
                let prf = Tls12Prf::new(algorithm, black_box(&secret));
                prf.fill(b"key expansion", &[&[1; 64]], &mut out);
            },
            || bare::tls1_prf(sha384, black_box(&secret), b"key expansion", &[1; 64], &mut other),
        );
    }
    let (mut ours, mut theirs) = ([0; 32], [0; 32]);
    bench.row(
        "random 32",
        || _ = black_box(fill_random(&mut ours)),
        || bare::random(black_box(&mut theirs)),
    );
}

/// Measures the gain of hash lanes. Each row compares a call with hash lanes to the same call
/// without them. `just bench-kernels` times the compression functions alone.
fn side_by_side(bench: &mut Bench) {
    let algorithm = HashAlgorithm::Sha384;
    let (message, info) = ([7; 48], [8; 70]);
    let key = HmacKey::new(algorithm, &message);
    let prk = Prk::from_bytes(algorithm, &message);
    let prf = Tls12Prf::new(algorithm, &message);
    bench.with_lanes("HMAC key", || _ = black_box(HmacKey::new(algorithm, black_box(&message))));
    bench.with_lanes("2 HMAC keys", || {
        _ = black_box(HmacKey::batch(algorithm, [black_box(&message), &message]));
    });
    for count in [1, 2, 3, 4, 5, 8] {
        let mut outs = [[0; 48]; 8];
        bench.with_lanes(&format!("{count} MACs of 48"), || {
            let parts: &[&[u8]] = &[black_box(&message)];
            let mut all = outs.each_mut().map(|out| Mac { key: &key, parts, out });
            mac_batch(&mut all[..count]);
        });
        bench.with_lanes(&format!("{count} expansions to 32 with info of 70"), || {
            let info: &[&[u8]] = &[black_box(&info)];
            let mut all =
                outs.each_mut().map(|out| Expansion { prk: &prk, info, out: &mut out[..32] });
            expand_batch(&mut all[..count], &mut []);
        });
    }
    let (mut block, mut first, mut second) = ([0; 72], [0; 12], [0; 12]);
    bench
        .with_lanes("PRF of 72", || prf.fill(b"key expansion", &[&[1; 64]], black_box(&mut block)));
    bench.with_lanes("PRF of 72 together with 12, then 12", || {
        let seeds: [&[u8]; 2] = [&[1; 32], &[2; 32]];
        let mut keys = prf.begin(b"key expansion", &seeds, black_box(&mut block));
        let hash: [&[u8]; 1] = [black_box(&message)];
        prf.begin(b"server finished", &hash, &mut first).finish_with(&mut keys);
        prf.begin(b"client finished", &hash, &mut second).finish_with(&mut keys);
        keys.finish();
    });
}

fn key_exchange(bench: &mut Bench) {
    use KeyExchangeAlgorithm as A;
    let generate = |algorithm| move || _ = black_box(KeyExchange::generate(algorithm));
    bench.row("X25519 generate", generate(A::X25519), || _ = black_box(bare::x25519_keypair()));
    bench.row("P-256 generate", generate(A::P256), || _ = black_box(bare::P256::generate()));
    bench.row("X25519MLKEM768 generate", generate(A::X25519MlKem768), || {
        _ = black_box((bare::x25519_keypair(), bare::MlKem768::generate()));
    });

    // `respond` generates a key pair and computes the agreement, or encapsulates.
    let respond = |algorithm| {
        let share = KeyExchange::generate(algorithm).unwrap().public_share().to_vec();
        move || _ = black_box(KeyExchange::respond(algorithm, black_box(&share)))
    };
    let (peer, _) = bare::x25519_keypair();
    bench.row("X25519 respond", respond(A::X25519), || {
        let (_, private) = bare::x25519_keypair();
        black_box(bare::x25519(&private, black_box(&peer)));
    });
    let (_, point) = bare::P256::generate();
    bench.row("P-256 respond", respond(A::P256), || {
        let (key, _) = bare::P256::generate();
        black_box(key.agree(black_box(&point)));
    });
    let (key, share) = bare::MlKem768::generate();
    bench.row("X25519MLKEM768 respond", respond(A::X25519MlKem768), || {
        let (_, private) = bare::x25519_keypair();
        black_box(bare::x25519(&private, black_box(&peer)));
        black_box(bare::MlKem768::encapsulate(black_box(&share)));
    });

    // `agree` consumes its key and cannot be repeated alone, so this row generates and agrees.
    let (response, _) = {
        let client = KeyExchange::generate(A::X25519MlKem768).unwrap();
        KeyExchange::respond(A::X25519MlKem768, client.public_share()).unwrap()
    };
    let (ciphertext, _) = bare::MlKem768::encapsulate(&share);
    drop(key);
    bench.row(
        "X25519MLKEM768 generate and agree",
        || {
            let client = KeyExchange::generate(A::X25519MlKem768).unwrap();
            _ = black_box(client.agree(black_box(&response)));
        },
        || {
            let (_, private) = bare::x25519_keypair();
            let (key, _) = bare::MlKem768::generate();
            black_box(bare::x25519(&private, black_box(&peer)));
            black_box(key.decapsulate(black_box(&ciphertext)));
        },
    );
}

fn signatures(bench: &mut Bench) {
    let message = [8; 146];

    let (key, point) = bare::P256::generate();
    let (signature, len) = key.sign(&message);
    let signature = &signature[..len as usize];
    let public = PublicKey::from_raw(KeyKind::EcdsaP256, &point).unwrap();
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let ours = SigningKey::from_der(pair.serialized_der()).unwrap();
    bench.row(
        "ECDSA P-256 sign",
        || _ = black_box(ours.sign(SignatureAlgorithm::EcdsaSha256, black_box(&message))),
        || _ = black_box(key.sign(black_box(&message))),
    );
    let algorithm = SignatureAlgorithm::EcdsaSha256;
    bench.row(
        "ECDSA P-256 verify",
        || black_box(public.verify(algorithm, black_box(&message), signature)).unwrap(),
        || assert!(black_box(key.verify(black_box(&message), signature))),
    );

    rsa(bench);

    let (raw, private) = bare::ed25519_expand(&[9; 32]);
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let ours = SigningKey::from_der(pair.serialized_der()).unwrap();
    let public = PublicKey::from_raw(KeyKind::Ed25519, &raw).unwrap();
    let signature = bare::ed25519_sign(&private, &message);
    let algorithm = SignatureAlgorithm::Ed25519;
    bench.row(
        "Ed25519 sign",
        || _ = black_box(ours.sign(algorithm, black_box(&message))),
        || _ = black_box(bare::ed25519_sign(&private, black_box(&message))),
    );
    bench.row(
        "Ed25519 verify",
        || black_box(public.verify(algorithm, black_box(&message), &signature)).unwrap(),
        || assert!(black_box(bare::ed25519_verify(&raw, black_box(&message), &signature))),
    );
}

fn rsa(bench: &mut Bench) {
    let message = [8; 146];
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
    let ours = SigningKey::from_der(pair.serialized_der()).unwrap();
    let public = PublicKey::from_spki(&ours.public_key_spki()).unwrap();
    // The PKCS#8 encoding of an RSA-2048 key has a header of 26 bytes before the PKCS#1 encoding.
    let theirs = bare::Rsa2048::from_pkcs1(&pair.serialized_der()[26..]);
    let algorithm = SignatureAlgorithm::RsaPssSha256;
    let signature = ours.sign(algorithm, &message).unwrap();
    bench.row(
        "RSA-2048 PSS sign",
        || _ = black_box(ours.sign(algorithm, black_box(&message))),
        || _ = black_box(theirs.sign_pss(black_box(&message))),
    );
    bench.row(
        "RSA-2048 PSS verify",
        || black_box(public.verify(algorithm, black_box(&message), &signature)).unwrap(),
        || assert!(black_box(theirs.verify_pss(black_box(&message), &signature))),
    );
}

/// Measures the gain of kernels. Each row compares a key that uses a kernel with AWS-LC.
fn kernels(bench: &mut Bench) {
    for kernel in Kernel::ALL {
        println!("{kernel}: {}", kernel_state(*kernel));
    }
    bench.has_limit = false;
    aead(bench);
    rsa(bench);
}

struct Bench {
    filter: String,
    /// Whether an overhead fails the run.
    has_limit: bool,
    too_slow: usize,
}

impl Bench {
    /// Compares SHA-384 with lanes and without.
    fn with_lanes(&mut self, name: &str, action: impl FnMut()) {
        let action = core::cell::RefCell::new(action);
        self.show(&format!("lanes: {name}"), &mut || (action.borrow_mut())(), &mut || {
            use_hash_lanes(false);
            (action.borrow_mut())();
            use_hash_lanes(true);
        });
    }

    /// Measures a row that has no limit.
    fn show(&mut self, name: &str, ours: &mut impl FnMut(), bare: &mut impl FnMut()) {
        if name.contains(&self.filter) {
            let result = measure(ours, bare);
            let percent = result.percent();
            let Measured { bare, ours, over } = result;
            println!("{name:44} {bare:10.1} {ours:10.1} {over:10.1} {percent:8.1}");
        }
    }

    fn row(&mut self, name: &str, mut ours: impl FnMut(), mut bare: impl FnMut()) {
        if !name.contains(&self.filter) {
            return;
        }
        if !self.has_limit {
            return self.show(&format!("kernel: {name}"), &mut ours, &mut bare);
        }
        let mut result = measure(&mut ours, &mut bare);
        // Another program can disturb one measurement, but hardly three. A real overhead appears in
        // all three.
        for _ in 0..2 {
            if result.is_too_slow() {
                result = measure(&mut ours, &mut bare);
            }
        }
        self.too_slow += usize::from(result.is_too_slow());
        let mark = if result.is_too_slow() { "  too slow" } else { "" };
        let percent = result.percent();
        let Measured { bare, ours, over } = result;
        println!("{name:44} {bare:10.1} {ours:10.1} {over:10.1} {percent:8.1}{mark}");
    }
}

struct Measured {
    bare: f64,
    ours: f64,
    over: f64,
}

impl Measured {
    fn percent(&self) -> f64 {
        100.0 * self.over / self.bare
    }

    fn is_too_slow(&self) -> bool {
        self.over > 10.0 && self.percent() > 3.0
    }
}

fn measure(ours: &mut impl FnMut(), bare: &mut impl FnMut()) -> Measured {
    let repeats = repeats_of(bare);
    let (mut bare_times, mut our_times, mut differences) = (vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        // The side that runs first in a round may find a colder cache, so the order alternates.
        let (our_time, bare_time) = if round % 2 == 0 {
            let bare_time = time(repeats, bare);
            (time(repeats, ours), bare_time)
        } else {
            (time(repeats, ours), time(repeats, bare))
        };
        our_times.push(our_time);
        bare_times.push(bare_time);
        differences.push(our_time - bare_time);
    }
    Measured {
        bare: median(&mut bare_times),
        ours: median(&mut our_times),
        over: median(&mut differences),
    }
}

/// The number of repetitions that fit in a round, after a warm-up.
fn repeats_of(action: &mut impl FnMut()) -> u32 {
    let start = Instant::now();
    let mut repeats = 0;
    while start.elapsed() < ROUND {
        action();
        repeats += 1;
    }
    repeats
}

/// The duration of one repetition in nanoseconds.
fn time(repeats: u32, action: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        action();
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(repeats)
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
