//! Seals or opens many records of one size, so that callgrind can count the cost of a record:
//! `records seal|open SUITE BYTES N`; `records suites` prints the names of the suites.

#[allow(dead_code)]
mod measured;
#[path = "../tests/exchange/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::hint::black_box;

use measured::{Configs, Key, Method};
use pair::{End, Ends};
use tercel::Filled;
use tercel::wire::{CipherSuite, ProtocolVersion};

/// Every construction of nonce and additional data, and in TLS 1.3 both kinds of AEAD.
const SUITES: [CipherSuite; 4] = [
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["suites"] => SUITES.iter().for_each(|suite| println!("{}", suite.name().expect("named"))),
        [direction, suite, bytes, count] => {
            let suite = CipherSuite::from_name(suite).expect("a suite");
            let bytes = bytes.parse().expect("a number of bytes");
            run(*direction == "open", suite, bytes, count.parse().expect("a number"));
        }
        _ => panic!("usage: records seal|open SUITE BYTES N, records suites"),
    }
}

fn run(open: bool, suite: CipherSuite, bytes: usize, count: usize) {
    let tls12 = suite.name().expect("named").starts_with("TLS_ECDHE");
    let version = if tls12 { ProtocolVersion::TLS1_2 } else { ProtocolVersion::TLS1_3 };
    let configs = Configs::of_suite(version, Key::EcdsaP256, Method::Full, Some(suite));
    let Ends { mut client, mut server } = configs.connect();
    let plaintext = vec![7; bytes];
    let mut sealed = vec![0; server.connection.sender.sealed_length(bytes)];
    let mut opened = vec![0; client.connection.receiver.max_opened_length()];
    for _ in 0..count {
        let written = seal_step(&mut server, &plaintext, &mut sealed);
        if open {
            client.received.extend(&sealed[..written]);
            assert_eq!(open_step(&mut client, &mut opened), bytes);
        }
    }
    black_box((client, server));
}

/// A function of its own so that callgrind can count it.
#[inline(never)]
fn seal_step(end: &mut End, plaintext: &[u8], out: &mut [u8]) -> usize {
    let sealed = end.connection.sender.seal(plaintext, out).expect("sealed");
    assert_eq!(sealed.consumed, plaintext.len());
    sealed.written
}

/// As [`seal_step`].
#[inline(never)]
fn open_step(end: &mut End, out: &mut [u8]) -> usize {
    match end.connection.receiver.open_into(&mut end.received, out).expect("opened") {
        Filled::Data(length) => length,
        other => panic!("{other:?}"),
    }
}
