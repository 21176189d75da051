//! Writes seeds of the handshake targets (recorded flights and instructions) and of the session
//! targets: `cargo run -p tercel-fuzz-targets --example seed_handshakes`.
//!
//! Run it again when the messages of a side change. The program needs the test seams, which only
//! builds with debug assertions have (CONTRIBUTING.md, "Test seams").

#![cfg_attr(not(debug_assertions), allow(dead_code, unused_imports))]

use std::path::Path;
use std::{fs, io};

#[cfg(debug_assertions)]
use tercel_fuzz_targets::{
    CONFIGS, client_handshake, connections, flights, quic, quic_packet_seeds, quic_packets,
    quic_seeds, saved_connection, sealed_tickets, server_handshake, session_seeds, two_sided,
};

/// Pairs of client and server configurations that can connect.
const PAIRS: [(usize, usize); 14] = [
    (0, 0),
    (1, 1),
    (2, 2),
    (3, 3),
    (2, 0),
    (1, 0),
    // Pairs with pre-shared keys.
    (0, 1),
    (1, 3),
    // Pairs that resume sessions, with and without early data.
    (4, 4),
    (5, 5),
    (6, 4),
    (7, 5),
    (4, 6),
    (4, 7),
];

/// Whether the attacker has the keys.
const WITHOUT_KEYS: u8 = 0;
const WITH_KEYS: u8 = 1;

#[cfg(not(debug_assertions))]
fn main() -> io::Result<()> {
    Err(io::Error::other("built without debug assertions, and so without the test seams"))
}

#[cfg(debug_assertions)]
fn main() -> io::Result<()> {
    for (client, server) in PAIRS {
        let [by_client, by_server] = flights(client, server);
        let name = format!("valid-{client}-{server}");
        let by_client = input(server, [0, 0, 0], &by_client);
        assert!(server_handshake(&by_client), "{name}");
        save("server_handshake", &name, &by_client)?;
        let by_server = input(client, [0, 0, 0], &by_server);
        assert!(client_handshake(&by_server), "{name}");
        save("client_handshake", &name, &by_server)?;
    }
    for (name, seed) in quic_seeds() {
        assert!(quic(&seed) || !name.starts_with("valid"), "{name}");
        save("quic", &name, &seed)?;
    }
    for (name, seed) in quic_packet_seeds() {
        assert!(quic_packets(&seed) || !name.starts_with("valid"), "{name}");
        save("quic_packets", &name, &seed)?;
    }
    for client in [0, 2] {
        let [_, by_server] = flights(client, CONFIGS);
        save(
            "client_handshake",
            &format!("valid-{client}-rsa"),
            &input(client, [0, 0, 0], &by_server),
        )?;
    }
    for server in [0, 2] {
        let [by_client, _] = flights(CONFIGS, server);
        save(
            "server_handshake",
            &format!("valid-p256-{server}"),
            &input(server, [0, 0, 0], &by_client),
        )?;
    }
    let [by_client, by_server] = flights(0, 0);
    save("server_handshake", "valid-pieces", &input(CONFIGS, [1, 7, 100], &by_client))?;
    save("client_handshake", "valid-pieces", &input(CONFIGS, [1, 7, 100], &by_server))?;

    for (client, server) in PAIRS {
        for between in [WITHOUT_KEYS, WITH_KEYS] {
            let configs = u8::try_from(client + CONFIGS * server).unwrap_or_default();
            let name = format!("valid-{client}-{server}-{between}");
            let played = [&[configs, between], USUAL].concat();
            assert!(two_sided(&played), "{name}");
            save("two_sided", &name, &played)?;
        }
    }
    for (target, name, bytes) in session_seeds() {
        save(target, &name, &bytes)?;
    }
    for (name, instructions) in TICKETS {
        for (kind, first) in [("own", 0), ("shared", 1)] {
            let played = [&[first], *instructions].concat();
            assert!(sealed_tickets(&played), "{kind} {name}");
            save("sealed_tickets", &format!("valid-{kind}-{name}"), &played)?;
        }
    }
    // This seed is long, because a fuzzer limits the length of inputs to that of the longest seed.
    let long = [&[0, WITH_KEYS][..], &USUAL.repeat(8)].concat();
    assert!(two_sided(&long), "long");
    save("two_sided", "valid-long", &long)?;
    for (name, instructions) in SCRIPTS {
        for (pair, configs) in [("tls13", 0), ("tls12", 0o22), ("early", 0o44), ("resumed12", 0o46)]
        {
            let played = [&[configs, WITH_KEYS], *instructions].concat();
            two_sided(&played);
            save("two_sided", &format!("{pair}-{name}"), &played)?;
        }
    }
    for (name, bytes) in connections() {
        assert!(saved_connection(&bytes), "{name}");
        save("saved_connection", &name, &bytes)?;
    }
    Ok(())
}

const SERVER: u8 = 0x80;

/// Instructions for data in both directions, sent in several ways, and a key update.
const USUAL: &[u8] = &[
    18,
    19,
    0,
    200,
    SERVER | 19,
    16,
    0,
    18,
    21,
    1,
    19,
    1,
    0,
    18,
    SERVER | 20,
    2,
    0,
    4,
    0,
    18,
    SERVER | 24,
    1,
    0,
    19,
    3,
    0,
    18,
    SERVER | 21,
    0,
    SERVER | 19,
    0,
    1,
    18,
];

/// Changes that only an attacker with the keys can make.
const SCRIPTS: &[(&str, &[u8])] = &[
    ("tickets", &[18, SERVER | 19, 0, 9, SERVER | 3, 0, 10, 18]),
    ("key-updates", &[18, SERVER | 3, 0, 9, 19, 0, 9, 3, 0, 8, 18]),
    ("renegotiation", &[18, SERVER | 3, 0, 7, 18]),
    ("warnings", &[18, 3, 0, 4, 3, 0, 4, 16, 18]),
    ("split-flight", &[16, SERVER | 9, 2, 0, 9, SERVER | 10, 2, 18]),
    ("altered-flight", &[16, SERVER | 6, 2, 0, 6, 0, 2, 1, 2, SERVER | 11, 2, 18]),
    ("other-epoch", &[16, 18, 19, 0, 9, 13, 0, 1, 18]),
    ("parked", &[18, 28, SERVER | 28, 19, 0, 200, 18, SERVER | 21, 1, 28, SERVER | 28, 18]),
    ("renewed", &[18, 29, SERVER | 29, 19, 0, 200, 18, SERVER | 21, 1, 29, SERVER | 29, 18]),
    ("data-in-handshake", &[16, SERVER | 3, 2, 15, 18]),
];

/// Instructions for tickets.
const TICKETS: &[(&str, &[u8])] = &[
    ("replayed", &[0, 3, 1, 2, 3, 1, 0, 1, 0, 1, 0]),
    ("altered", &[0, 3, 1, 2, 3, 1, 0, 2, 0, 0, 9, 1, 3, 0, 0, 40, 7, 0, 0, 20]),
    ("mixed", &[0, 3, 1, 2, 3, 0, 3, 4, 5, 6, 7, 0, 0, 30, 1, 0, 1, 1]),
    ("foreign", &[0, 1, 1, 1, 0, 6, 8, 1, 2, 3, 4, 5, 6, 7, 8, 6, 0]),
    ("rotated", &[0, 2, 7, 7, 1, 0, 4, 0, 14, 16, 5, 0, 0, 1, 9, 1, 0, 1, 1, 4, 0, 14, 16, 1, 1]),
];

fn input(config: usize, pieces: [u8; 3], bytes: &[u8]) -> Vec<u8> {
    [&[u8::try_from(config).unwrap_or_default()], &pieces[..], bytes].concat()
}

fn save(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}
