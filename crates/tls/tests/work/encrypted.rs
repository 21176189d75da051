//! ClientHellos whose Encrypted ClientHello has the identifier of a server's keys, and that none of
//! these keys opens. RFC 9849 7.1
//!
//! An unauthenticated client learns the identifier from DNS. The work is one HPKE operation for
//! each key with that identifier, at most four, in the first ClientHello only.

use std::sync::Arc;

use tercel::ech::{Key, Keys, KeysError, Offer, Retry};
use tercel::pki_types::PrivatePkcs8KeyDer;
use tercel::pki_types::pem::PemObject;
use tercel::wire::NamedGroup;
use tercel::{Handshake, ReceiveBuffer, ServerConfig};

use crate::configs::server;
use crate::fixtures::{NAME, client};
use crate::{Case, Counted, SLACK, counted, no_question};

/// The kinds of ClientHello: the number of other keys of the server, and whether a second
/// ClientHello follows.
const KINDS: [(&str, u8, bool); 3] = [
    ("encrypted_client_hello", 0, false),
    ("encrypted_client_hello, with 12 other keys", 12, false),
    ("encrypted_client_hello, after a retry", 0, true),
];

/// The numbers of keys with the identifier.
const WITH_IDENTIFIER: [usize; 3] = [0, 1, 4];

/// The identifier in the ClientHello.
const IDENTIFIER: u8 = 7;

/// A key with this identifier.
fn key(identifier: u8) -> Key {
    let key = Key::generate("cover.example", 0).unwrap();
    let pem = key.to_pem().unwrap();
    let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).unwrap();
    let private = der.secret_pkcs8_der().last_chunk::<32>().unwrap();
    // Behind the length of the list: version, length, identifier.
    let mut config = key.config().as_bytes()[2..].to_vec();
    config[4] = identifier;
    Key::from_parts(&config, private).unwrap()
}

/// A server with these numbers of keys. It always has one with another identifier, as a server
/// needs a key to send.
fn server_with(with_identifier: usize, others: u8, retry: bool) -> Arc<ServerConfig> {
    let mut keys = vec![(key(100), Retry::Send)];
    keys.extend((0..with_identifier).map(|_| (key(IDENTIFIER), Retry::AcceptOnly)));
    keys.extend((1..others).map(|other| (key(100 + other), Retry::AcceptOnly)));
    let server = server(1).ech(Arc::new(Keys::new(keys).unwrap()));
    let server = if retry { server.groups(&[NamedGroup::SECP384R1]) } else { server };
    server.build().unwrap()
}

/// Every kind of ClientHello for every number of keys. The scale is that number.
pub(crate) fn cases() -> Vec<Case> {
    let all = KINDS.into_iter().flat_map(|kind| WITH_IDENTIFIER.map(|scale| (kind, scale)));
    let case = |((kind, others, retry), scale): ((&str, u8, bool), usize)| {
        let config = server_with(scale, others, retry);
        Case {
            kind: kind.to_owned(),
            halves: 0,
            scale,
            run: Box::new(move || show(&config, if retry { 2 } else { 1 })),
        }
    };
    all.map(case).collect()
}

/// Sends the ClientHellos of a client that has another key with the identifier. Only the server's
/// part is counted.
fn show(config: &Arc<ServerConfig>, hellos: usize) {
    let offer = Offer::Configs(key(IDENTIFIER).config());
    let client = Handshake::client(client().build().unwrap(), NAME.try_into().unwrap());
    let mut client = client.with_ech(offer);
    let mut server = Handshake::server(Arc::clone(config));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    for _ in 0..hellos {
        let mut out = Vec::new();
        let _ = client.advance(&mut to_client, &mut out).unwrap();
        to_server.extend(&out);
        out.clear();
        counted(&mut server, &mut to_server, &mut out, &no_question);
        to_client.extend(&out);
    }
}

/// Returns what is wrong with the counts.
pub(crate) fn check(all: &[Counted]) -> Vec<String> {
    let of = |kind: &str, scale| {
        let found = all.iter().find(|each| each.kind == kind && each.scale == scale);
        found.expect("each case is counted").instructions
    };
    let (plain, ..) = KINDS[0];
    let operation = of(plain, 1).saturating_sub(of(plain, 0));
    let mut faults = Vec::new();
    for (kind, ..) in KINDS {
        let added = of(kind, 4).saturating_sub(of(kind, 0));
        println!("{kind}: {added} added by four keys with its identifier, {operation} by one");
        if added > operation * 4 + SLACK {
            faults.push(format!("{kind}: four keys add {added}, one adds {operation}"));
        }
        if added < operation * 3 {
            faults.push(format!("{kind}: four keys add {added}, so that not all were tried"));
        }
    }
    let five = (0..5).map(|_| (key(IDENTIFIER), Retry::Send)).collect();
    if Keys::new(five).err() != Some(KeysError::TooManyKeysOfOneId) {
        faults.push("five keys with one identifier are accepted".to_owned());
    }
    faults
}

/// Prints the work for each number of keys, as a share of an ordinary handshake.
pub(crate) fn report(all: &[Counted], ordinary: u64) {
    for (kind, ..) in KINDS {
        print!("{kind:<60}");
        for each in all.iter().filter(|each| each.kind == kind) {
            let percent = each.instructions * 100 / ordinary;
            print!("  {} keys: {:>10} ({percent:>4} %)", each.scale, each.instructions);
        }
        println!();
    }
}
