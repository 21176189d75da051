//! Replays the corpus in the repository, and a number of random changes of it, without a fuzzer.

#![forbid(unsafe_code)]
#![cfg(debug_assertions)]

use std::path::Path;
use std::{fs, thread};

/// Runs a target with its corpus, then with `changed` changed copies of the corpus.
fn replay(name: &str, changed: u32, target: fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let seeds: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(seeds.len() > 1, "the corpus of {name} has at most one input");

    for (file, seed) in files.iter().zip(&seeds) {
        let parsed = target(seed);
        // Seeds whose name begins with `valid` must have the intended result: a message, a
        // connection, an accepted chain.
        let is_valid =
            file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"valid"));
        assert!(
            parsed || !is_valid,
            "{} has another result: write it again, see ../examples",
            file.display()
        );
    }

    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    for _ in 0..changed {
        let mut input = Input(random.pick(&seeds).clone());
        for _ in 0..=random.below(4) {
            change(&mut input.0, &seeds, &mut random);
        }
        target(&input.0);
    }
}

/// Makes one change: of a byte, of the length, or of a part, which is replaced by a part of another
/// seed.
fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Xorshift) {
    let at = random.below(bytes.len() + 1);
    let there = at < bytes.len();
    match random.below(6) {
        0 if there => bytes[at] ^= 1 << random.below(8),
        1 if there => bytes[at] = *random.pick(&[0, 1, 2, 0x7f, 0x80, 0xfe, 0xff]),
        2 if there => drop(bytes.remove(at)),
        3 => bytes.truncate(at),
        4 => {
            let other = random.pick(seeds).clone();
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() - from + 1);
            bytes.splice(at..at, other[from..to].iter().copied());
            bytes.truncate(1 << 14);
        }
        _ => bytes.insert(at, u8::try_from(random.below(256)).unwrap()),
    }
}

/// An input that is printed if it makes a target panic.
struct Input(Vec<u8>);

impl Drop for Input {
    fn drop(&mut self) {
        if thread::panicking() {
            let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("input: {hex}");
        }
    }
}

/// A small and fast generator with a fixed seed.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

macro_rules! targets {
    ($changed:literal: $($target:ident)*) => {$(
        #[test]
        fn $target() {
            replay(stringify!($target), $changed, tercel_fuzz_targets::$target);
        }
    )*};
}

// Messages.
targets! {
    10_000:
    client_hello
    encrypted_client_hello
    server_hello
    encrypted_extensions
    certificate
    certificate_request
    certificate_verify_finished
    key_exchange_12
    tickets
    record_alert
    quic_packets
    saved_connection
    chain
    sealed_tickets
    ticket_keys
    ocsp_response
    pkcs12
    chacha20_poly1305
}

// Handshakes, and long computations.
targets! {
    500:
    server_handshake
    client_handshake
    two_sided
    quic
    sessions
    saved_sessions
    hash_lanes
    aes_gcm
    rsa_2048
    entry_points
}

#[cfg(unix)]
targets! {
    2_000:
    proxy_header
    passthrough_hello
    proxy_config
    fleet_keys
}
