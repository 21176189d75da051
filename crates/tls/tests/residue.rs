//! Secrets that remain in memory: the test searches its own process for them.
//!
//! The search covers the heap and all other writable memory, including the boxes of coroutines. It
//! omits stacks, for which portable Rust gives no guarantee (docs/security/secrets.md). The secrets
//! come from the key log, and the test derives the keys that follow from them. The test's own
//! copies are masked.

#![cfg(target_os = "linux")]
// Randomness from a seed is a test seam.
#![cfg(debug_assertions)]

#[path = "exchange/fixtures.rs"]
#[allow(dead_code)]
mod fixtures;
#[path = "exchange/pair.rs"]
#[allow(dead_code)]
mod pair;
#[cfg(feature = "quic")]
#[path = "residue/quic.rs"]
mod quic;
#[cfg(feature = "quic")]
#[path = "exchange/quic/pair.rs"]
#[allow(dead_code)]
mod quic_pair;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard};

use fixtures::{NAME, client, server};
use pair::{Ends, Pair};
use tercel::pki::Roots;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{
    Policy, Question, client::ClientConfigBuilder, key_log::KeyLog, questions::FindSessionQuestion,
    server::ServerConfigBuilder, session::ServerMemoryStore,
};
use tercel_crypto::deterministic::with_seed;
use tercel_crypto::{Digest, Hash, HashAlgorithm, KeyExchange, KeyExchangeAlgorithm, Prk};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;

#[test]
fn handshake_secrets_are_erased_once_connected() {
    let _alone = exclusive();
    // One suite for each hash: suites with SHA-384 derive two secrets in parallel.
    for suite in [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384] {
        let log = Log::default();
        let ends = connect(&log, client().cipher_suites(&[suite]), server());
        let of_handshake = |secret: &Masked| secret.label.contains("HANDSHAKE");
        assert_eq!(log.masked().iter().filter(|secret| of_handshake(secret)).count(), 28);
        assert_eq!(log.found(of_handshake), Vec::<String>::new(), "{suite:?}");
        // The traffic secrets are in use, so finding them proves that the search works.
        assert_ne!(log.found(|secret| !of_handshake(secret)), Vec::<String>::new(), "{suite:?}");
        drop(ends);
    }
}

#[test]
fn nothing_is_left_of_a_connection_that_ended() {
    let _alone = exclusive();
    let sha384 =
        [CipherSuite::TLS_AES_256_GCM_SHA384, CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384];
    for version in [TLS13, TLS12] {
        for client in [client(), client().cipher_suites(&sha384)] {
            let log = Log::default();
            let mut ends = connect(&log, client.versions(&[version]), server());
            ends.talk();
            assert!(!log.masked().is_empty());
            drop(ends);
            assert_eq!(log.found(|_| true), Vec::<String>::new(), "{version:?}");
        }
    }
}

#[test]
fn nothing_is_left_of_sessions_either() {
    let _alone = exclusive();
    for (version, stored) in [(TLS13, false), (TLS13, true), (TLS12, false), (TLS12, true)] {
        let log = Log::default();
        let client = client().versions(&[version]).key_log(log.policy()).build().unwrap();
        let mut server = server().key_log(log.policy());
        if stored {
            let store = Arc::new(ServerMemoryStore::new(10));
            server = server.without_tickets().session_store(Policy::Here(store));
        }
        let server = server.build().unwrap();
        for resumed in [false, true] {
            let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
            ends.talk();
            assert_eq!(ends.client.connection.info.resumed, resumed);
        }
        drop((client, server));
        assert_eq!(log.found(|_| true), Vec::<String>::new(), "{version:?}");
    }
}

/// A session in an answer is wiped, also if no handshake takes the answer.
#[test]
fn nothing_is_left_of_answers_that_were_dropped() {
    let _alone = exclusive();
    // The allocator overwrites the first bytes of memory that was freed.
    let session = |kind: u8| -> Vec<u8> {
        (0..96_u8).map(|at| at.wrapping_mul(kind).wrapping_add(91) ^ kind.rotate_left(3)).collect()
    };
    let log = Log::default();
    for kind in [5, 7, 11, 13] {
        let mut bytes = session(kind);
        log.keep(&format!("answer {kind}"), &bytes[32..80]);
        tercel_crypto::wipe(&mut bytes);
    }
    let (client, server) = (client().build().unwrap(), server());
    let server = server.ask_for_tickets(std::time::Duration::from_secs(60)).build().unwrap();
    let mut opened = 0;
    for _ in 0..2 {
        let pair = Pair::new(&client, &server, NAME).answering(|_, question| match question {
            Question::SealTicket(question) => question.answer(Some(b"ticket".to_vec())),
            Question::OpenTicket(question) => {
                opened += 1;
                drop(question.answer(Some(session(5))));
                drop(question.answer_and_renew(session(7)));
                // The handshake takes this one, which is no session.
                question.answer(Some(session(11)))
            }
            other => panic!("{other:?}"),
        });
        pair.connect().unwrap().talk();
    }
    drop(FindSessionQuestion::answer_from(Some(session(13))));
    assert!(opened > 0);
    assert_eq!(log.found(|_| true), Vec::<String>::new());
}

#[test]
fn nothing_is_left_of_a_handshake_that_failed() {
    let _alone = exclusive();
    let unrelated = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let mut roots = Roots::new();
    roots.add_der(unrelated.cert.der()).unwrap();
    let log = Log::default();
    let client =
        tercel::ClientConfig::builder().roots(roots).key_log(log.policy()).build().unwrap();
    let server = server().key_log(log.policy()).build().unwrap();
    Pair::new(&client, &server, NAME).connect().unwrap_err();
    assert!(!log.masked().is_empty());
    assert_eq!(log.found(|_| true), Vec::<String>::new());
}

#[test]
fn nothing_is_left_of_key_pairs_that_were_offered() {
    const SEED: u64 = 20;
    const X25519: NamedGroup = NamedGroup::X25519;
    let _alone = exclusive();
    let groups = [NamedGroup::SECP256R1, NamedGroup::SECP384R1, X25519];
    let client = client().groups(&groups).key_shares(&groups).build().unwrap();
    // The client generates all shares, and the server selects only one.
    for chosen in [X25519, NamedGroup::SECP256R1] {
        let server = server().groups(&[chosen]).build().unwrap();
        let (log, mut hello) = (Log::default(), Vec::new());
        let pair =
            Pair::new(&client, &server, NAME).tap_to_server(|bytes| hello.extend_from_slice(bytes));
        let ends = with_seed(SEED, || pair.connect().unwrap());
        assert_eq!(ends.client.connection.info.group, Some(chosen));
        // The private key is one of the first values that the generator returned.
        for drawn in 0..100_u64 {
            let private = draw(SEED, drawn);
            let key = KeyExchange::from_private(KeyExchangeAlgorithm::X25519, &private).unwrap();
            if hello.windows(32).any(|piece| piece == key.public_share()) {
                log.keep("key pair", &private);
            }
        }
        assert_eq!(log.masked().len(), 1);
        drop(ends);
        assert_eq!(log.found(|_| true), Vec::<String>::new(), "{chosen:?}");
    }
}

#[test]
fn nothing_is_left_of_what_a_hybrid_drew() {
    const SEED: u64 = 21;
    let _alone = exclusive();
    let groups = [NamedGroup::X25519MLKEM768];
    let client = client().groups(&groups).build().unwrap();
    let server = server().build().unwrap();
    let log = Log::default();
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    let pair = Pair::new(&client, &server, NAME)
        .tap_to_server(|bytes| from_client.extend_from_slice(bytes))
        .tap_to_client(|bytes| from_server.extend_from_slice(bytes));
    let ends = with_seed(SEED, || pair.connect().unwrap());
    // The values after the private key of X25519 are ML-KEM's `d` and `z`, or its `m`.
    for drawn in 0..100 {
        let key =
            KeyExchange::from_private(KeyExchangeAlgorithm::X25519, &draw(SEED, drawn)).unwrap();
        let is_in = |bytes: &[u8]| bytes.windows(32).any(|piece| piece == key.public_share());
        let (of_client, of_server) = (is_in(&from_client), is_in(&from_server));
        let count = if of_client { 3 } else { 2 * u64::from(of_server) };
        for place in drawn..drawn + count {
            log.keep(&format!("{of_client} {}", place - drawn), &draw(SEED, place));
        }
    }
    assert_eq!(log.masked().len(), 3 + 2);
    // The private keys are erased even while the connection exists.
    assert_eq!(log.found(|_| true), Vec::<String>::new());
    drop(ends);
}

#[test]
fn a_secret_that_stays_is_found() {
    let _alone = exclusive();
    let log = Log::default();
    let kept = Box::new([0x17_u8; 48].map(|byte| byte ^ 0x2b));
    log.log("KEPT", &[0; 32], kept.as_slice());
    assert!(log.found(|_| true).iter().any(|label| label == "KEPT"));
    drop(kept);
}

fn connect(log: &Log, client: ClientConfigBuilder, server: ServerConfigBuilder) -> Ends {
    let client = client.key_log(log.policy()).build().unwrap();
    let server = server.key_log(log.policy()).build().unwrap();
    Pair::new(&client, &server, NAME).connect().unwrap()
}

/// The bytes at this position of a seeded generator.
fn draw(seed: u64, place: u64) -> Digest {
    Hash::digest(HashAlgorithm::Sha256, &[&seed.to_be_bytes(), &place.to_be_bytes()])
}

/// Tests of this file search each other's memory, so only one may run at a time.
fn exclusive() -> MutexGuard<'static, ()> {
    static EXCLUSIVE: Mutex<()> = Mutex::new(());
    EXCLUSIVE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The secrets of a connection, and keys derived from them.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<Masked>>>);

#[derive(Clone, Debug)]
struct Masked {
    label: String,
    bytes: Vec<u8>,
}

/// The mask of all copies that the test keeps.
const MASK: u8 = 0xa5;

impl KeyLog for Log {
    fn log(&self, label: &str, _client_random: &[u8; 32], secret: &[u8]) {
        self.keep(label, secret);
        if label.contains("TRAFFIC") {
            for derived in ["key", "quic key", "quic hp"] {
                self.keep_key::<16>(label, derived, secret);
                self.keep_key::<32>(label, derived, secret);
            }
        }
    }
}

impl Log {
    fn policy(&self) -> Arc<dyn KeyLog> {
        Arc::new(self.clone())
    }

    fn masked(&self) -> Vec<Masked> {
        self.0.lock().unwrap().clone()
    }

    fn keep(&self, label: &str, secret: &[u8]) {
        let bytes = secret.iter().map(|byte| byte ^ MASK).collect();
        self.0.lock().unwrap().push(Masked { label: label.to_owned(), bytes });
    }

    /// Adds the key of this length that is derived with this label from a traffic secret.
    /// RFC 9846 7.1, 7.3, RFC 9001 5.1
    fn keep_key<const LENGTH: usize>(&self, label: &str, derived: &str, secret: &[u8]) {
        let hash = if secret.len() == 48 { HashAlgorithm::Sha384 } else { HashAlgorithm::Sha256 };
        let [length, of_label] =
            [LENGTH, 6 + derived.len()].map(|length| u8::try_from(length).unwrap());
        let info = [&[0, length, of_label][..], b"tls13 ", derived.as_bytes(), &[0]].concat();
        let mut key = [0; LENGTH];
        Prk::from_bytes(hash, secret).expand(&[&info], &mut key);
        self.keep(&format!("{derived} of {label}"), &key);
        tercel_crypto::wipe(&mut key);
    }

    /// The labels of the `wanted` secrets that are in memory.
    fn found(&self, wanted: impl Fn(&Masked) -> bool) -> Vec<String> {
        let masked: Vec<_> = self.masked().into_iter().filter(|secret| wanted(secret)).collect();
        // The secrets are grouped by their first byte, so that each position is compared with one
        // group only.
        let mut starting: [Vec<&Masked>; 256] = std::array::from_fn(|_| Vec::new());
        for secret in &masked {
            starting[usize::from(secret.bytes[0] ^ MASK)].push(secret);
        }
        let mut found = Vec::new();
        in_memory(|piece| {
            for (position, byte) in piece.iter().enumerate() {
                for secret in &starting[usize::from(*byte)] {
                    let here = piece[position..].iter().zip(&secret.bytes);
                    let fits = piece.len() - position >= secret.bytes.len();
                    if fits && here.clone().all(|(byte, kept)| byte ^ MASK == *kept) {
                        found.push(secret.label.clone());
                    }
                }
            }
        });
        found
    }
}

/// Calls `look` with all writable memory of this process except stacks, in overlapping parts.
fn in_memory(mut look: impl FnMut(&[u8])) {
    const PIECE: usize = 1 << 20;
    const OVERLAP: usize = 64;
    let memory = File::open("/proc/self/mem").unwrap();
    let here = std::ptr::from_ref(&memory).addr();
    let mut piece = vec![0; PIECE];
    for line in fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let mut fields = line.split_whitespace();
        let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).unwrap());
        let stack = line.ends_with("[stack]") || (start..end).contains(&here);
        if !rights.starts_with("rw") || stack {
            continue;
        }
        let mut from = start;
        while from < end {
            let length = PIECE.min(end - from);
            // Mapped memory that has no pages cannot be read, and has no content.
            if memory.read_exact_at(&mut piece[..length], from as u64).is_ok() {
                look(&piece[..length]);
            }
            from += if length == PIECE { PIECE - OVERLAP } else { length };
        }
    }
}
