//! Repeats one batch of a key schedule, so that a tool can count its cost.
//!
//! Run `perf stat -e instructions:u,cycles:u` on the program, twice with different numbers of
//! repetitions: the difference of the results is the cost of the additional batches. Valgrind's
//! callgrind counts as well, but does not support AVX-512, so it runs the lanes of AVX2. Arguments:
//! the batch (with a number after a dash if it takes one: macs-8), the number of repetitions, and
//! "off" for no lanes.

use std::hint::black_box;
use std::process::ExitCode;

use tercel_crypto::{
    Expansion, HashAlgorithm, HmacKey, Mac, Prk, Tls12Prf, expand_batch, mac_batch, use_hash_lanes,
};

const SHA384: HashAlgorithm = HashAlgorithm::Sha384;
const SECRET: [u8; 48] = [6; 48];
/// The structure HkdfLabel without and with a transcript hash: its head, and its context.
const LABEL: [&[u8]; 2] = [&[8; 12], &[]];
const LABEL_OF_HASH: [&[u8]; 2] = [&[8; 18], &[9; 48]];

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let (Some(batch), Some(Ok(times))) = (words.first(), words.get(1).map(|times| times.parse()))
    else {
        eprintln!("usage: lanes mac|key|keys|macs-N|expansions-N|tls12|tls13 TIMES [on|off]");
        // `cargo test --benches` runs the program with these arguments.
        return ExitCode::SUCCESS;
    };
    use_hash_lanes(words.get(2).is_none_or(|word| word == "on"));
    let Some(mut batch) = named(batch) else {
        eprintln!("no such batch: {batch}");
        return ExitCode::FAILURE;
    };
    (0..times).for_each(|_: u32| batch());
    ExitCode::SUCCESS
}

fn named(name: &str) -> Option<Box<dyn FnMut()>> {
    let (kind, count) = name.split_once('-').unwrap_or((name, "1"));
    let count: usize = count.parse().ok()?;
    let (key, prk, prf) = (
        HmacKey::new(SHA384, &SECRET),
        Prk::from_bytes(SHA384, &SECRET),
        Tls12Prf::new(SHA384, &SECRET),
    );
    Some(match kind {
        "mac" => Box::new(move || _ = black_box(key.sign(&[black_box(&SECRET)]))),
        "key" => Box::new(|| _ = black_box(&HmacKey::new(SHA384, black_box(&SECRET)))),
        "keys" => Box::new(|| _ = black_box(&HmacKey::batch(SHA384, black_box([&SECRET[..]; 3])))),
        "macs" => Box::new(move || {
            let (mut outs, parts) = ([[0; 48]; 8], [&black_box(SECRET)[..]]);
            let mut all = outs.each_mut().map(|out| Mac { key: &key, parts: &parts, out });
            mac_batch(&mut all[..count]);
            black_box(&mut outs);
        }),
        "expansions" => Box::new(move || _ = black_box(expand(&prk, count))),
        "tls12" => Box::new(move || tls12(&prf)),
        "tls13" => Box::new(tls13),
        _ => return None,
    })
}

fn expand(prk: &Prk, count: usize) -> [[u8; 48]; 8] {
    let mut outs = [[0; 48]; 8];
    let info = &black_box(LABEL_OF_HASH);
    let mut all = outs.each_mut().map(|out| Expansion { prk, info, out });
    expand_batch(&mut all[..count], &mut []);
    outs
}

/// A key block and both Finished, as in a resumed TLS 1.2 handshake with SHA-384.
fn tls12(prf: &Tls12Prf) {
    let (mut block, mut first, mut second) = ([0; 72], [0; 12], [0; 12]);
    let (seeds, hash): ([&[u8]; 2], [&[u8]; 1]) = ([&[1; 32], &[2; 32]], [black_box(&SECRET)]);
    let mut keys = prf.begin(b"key expansion", &seeds, &mut block);
    prf.begin(b"server finished", &hash, &mut first).finish_with(&mut keys);
    prf.begin(b"client finished", &hash, &mut second).finish_with(&mut keys);
    keys.finish();
    black_box((block, first, second));
}

/// The stages of a TLS 1.3 key schedule from the handshake secret to the end. Each stage has the
/// same number of keys, expansions and MACs as in a handshake, computed at once.
fn tls13() {
    let secret = black_box(&SECRET);
    let handshake = Prk::from_bytes(SHA384, secret);
    black_box(expand(&handshake, 3));
    let [client, server, salt] = HmacKey::batch(SHA384, [&secret[..]; 3]);
    let (client, server) = (Prk::from_key(client), Prk::from_key(server));
    let (mut outs, mut main) = ([[0; 48]; 6], [0; 48]);
    let mut turn = 0;
    let mut all = outs.each_mut().map(|out| {
        turn += 1;
        let (prk, len) = (if turn > 3 { &server } else { &client }, [32, 12, 48][(turn - 1) % 3]);
        Expansion { prk, info: &LABEL, out: &mut out[..len] }
    });
    expand_batch(&mut all, &mut [Mac { key: &salt, parts: &[&[0; 48]], out: &mut main }]);
    let [finished, _, main] = HmacKey::batch(SHA384, [&outs[2], &outs[5], &main]);
    let (main, mut verify_data, mut outs) = (Prk::from_key(main), [0; 48], [[0; 48]; 3]);
    let mut all = outs.each_mut().map(|out| Expansion { prk: &main, info: &LABEL_OF_HASH, out });
    let beside = Mac { key: &finished, parts: &[secret], out: &mut verify_data };
    expand_batch(&mut all, &mut [beside]);
    let [client, server] = Prk::batch(SHA384, [&outs[0], &outs[1]]);
    let mut outs = [[0; 32]; 4];
    let mut turn = 0;
    let mut all = outs.each_mut().map(|out| {
        turn += 1;
        let (prk, len) = (if turn > 2 { &server } else { &client }, [32, 12][(turn - 1) % 2]);
        Expansion { prk, info: &LABEL, out: &mut out[..len] }
    });
    expand_batch(&mut all, &mut []);
    black_box((outs, verify_data));
}
