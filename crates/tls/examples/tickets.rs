//! Measures the time of tickets in comparison with plain AEAD calls; run it in release.
//!
//! The rows are measured in turn in short rounds, and each result is the median of its rounds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tercel::crypto::AeadAlgorithm;
use tercel::pki_types::UnixTime;
use tercel::session::{RotatingTickets, SharedTickets, TicketKey, TicketKeySet, TicketSealer};
use tercel_crypto::{AeadKey, fill_random};

/// A session of TLS 1.3 without certificates.
const SESSION: [u8; 112] = [7; 112];
const ROUNDS: usize = 301;
const CALLS: u32 = 1000;

/// The name of a row, and its call.
type Row<'a> = (&'a str, Box<dyn FnMut() + 'a>);

fn main() {
    let now = UnixTime::now();
    let key = AeadKey::new(AeadAlgorithm::Aes256Gcm, &[1; 32]).expect("a key");
    let rotating = RotatingTickets::new(now).expect("randomness");
    let set = TicketKeySet::new(TicketKey::generate(now).expect("randomness"), None, None);
    let shared = SharedTickets::new(&set.expect("a set"), Duration::from_secs(3600));
    let mut sealed = [0; 112 + AeadAlgorithm::TAG_LEN];
    key.seal(&[0; 12], b"tercel ticket 1", &SESSION, &[], &mut sealed).expect("sealed");
    let (own, fleet) = (rotating.seal(&SESSION, now), shared.seal(&SESSION, now));
    let (own, fleet) = (own.expect("a ticket"), fleet.expect("a ticket"));
    let mut forged = own.clone();
    forged[0] ^= 1;

    let mut rows: Vec<Row<'_>> = vec![
        ("AEAD seal", {
            let (key, mut out) = (&key, sealed);
            Box::new(move || {
                _ = black_box(key.seal(&[0; 12], b"tercel ticket 1", &SESSION, &[], &mut out));
            })
        }),
        ("  the process id", Box::new(|| _ = black_box(std::process::id()))),
        ("  a vector of zeros", Box::new(|| _ = black_box(vec![0_u8; black_box(156)]))),
        ("RotatingTickets seal", Box::new(|| _ = black_box(rotating.seal(&SESSION, now)))),
        ("SharedTickets seal", Box::new(|| _ = black_box(shared.seal(&SESSION, now)))),
        ("AEAD open", {
            let (key, mut out) = (&key, SESSION);
            Box::new(move || {
                _ = black_box(key.open(&[0; 12], b"tercel ticket 1", &sealed, &mut out));
            })
        }),
        ("RotatingTickets open", Box::new(|| _ = black_box(rotating.open(&own, now)))),
        ("SharedTickets open", Box::new(|| _ = black_box(shared.open(&fleet, now)))),
        ("a ticket of another server", Box::new(|| _ = black_box(rotating.open(&forged, now)))),
        ("16 random bytes", Box::new(|| _ = black_box(fill_random(&mut [0; 16])))),
    ];
    let mut rounds = vec![Vec::with_capacity(ROUNDS); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, call), times) in rows.iter_mut().zip(&mut rounds) {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            times.push(start.elapsed() / CALLS);
        }
    }
    println!("{} bytes of session, AES-256-GCM, median of {ROUNDS} rounds", SESSION.len());
    for ((name, _), mut times) in rows.iter().zip(rounds) {
        times.sort_unstable();
        println!("  {name:<28} {:>5} ns", times[ROUNDS / 2].as_nanos());
    }
}
