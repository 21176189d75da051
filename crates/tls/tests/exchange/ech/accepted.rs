//! Handshakes with the inner ClientHello.

use std::sync::{Arc, Mutex};

use tercel::ech::{Key, Keys, Retry};
use tercel::key_log::KeyLog;
use tercel::psk::PreSharedKey;
use tercel::server::{ChooseConfig, ClientAuth};
use tercel::wire::{ClientHello, NamedGroup, ProtocolVersion};
use tercel::{EarlyData, Ech, Handshake, Next, Policy, ReceiveBuffer, ServerConfig};

use tercel_wire::HandshakeMessage as _;

use super::{PUBLIC, SECRET, contains, keys, pair, server, test_key, without_keys};
use crate::early_data::guard;
use crate::fixtures::{Kind, client, credential_for};
use crate::pair::{Delivery, Ends, Pair, first_message};

fn check(ends: &mut Ends, retried: bool) {
    for info in [&ends.client.connection.info, &ends.server.connection.info] {
        assert_eq!(info.ech, Ech::Accepted);
        assert_eq!(info.outer_server_name(), Some(PUBLIC));
        assert_eq!(info.retried, retried);
        assert_eq!(info.version, ProtocolVersion::TLS1_3);
    }
    assert_eq!(ends.server.connection.info.server_name.as_deref(), Some(SECRET));
    ends.talk();
}

/// RFC 9849 6.1, 6.1.1, 6.1.4, 7.1, 7.2
#[test]
fn the_server_uses_the_inner_hello() {
    for shuffled in [false, true] {
        for grease in [false, true] {
            let key = Key::generate(PUBLIC, 64).unwrap();
            let configs = key.config();
            let server = server(key).build().unwrap();
            let client = client().shuffle_extensions(shuffled).grease(grease).build().unwrap();
            for delivery in [Delivery::Whole, Delivery::Bytes] {
                let mut sent = Vec::new();
                let mut ends = pair(&client, &server, &configs)
                    .delivery(delivery)
                    .tap_to_server(|bytes| sent.extend_from_slice(bytes))
                    .connect()
                    .unwrap();
                check(&mut ends, false);
                assert!(contains(&sent, PUBLIC.as_bytes()));
                assert!(!contains(&sent, SECRET.as_bytes()));
            }
        }
    }
}

/// RFC 9849 6.1.5, 7.1.1, 7.2.1
#[test]
fn a_retry_confirms_the_inner_hello_too() {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    let server = server(key).groups(&[NamedGroup::SECP384R1]).build().unwrap();
    for resumed in [false, true] {
        let client = client().build().unwrap();
        for _ in 0..=u8::from(resumed) {
            let mut sent = Vec::new();
            let mut ends = pair(&client, &server, &configs)
                .tap_to_server(|bytes| sent.extend_from_slice(bytes))
                .connect()
                .unwrap();
            check(&mut ends, true);
            assert!(!contains(&sent, SECRET.as_bytes()));
        }
    }
}

/// RFC 9849 6.1, 6.1.2
#[test]
fn sessions_are_offered_in_the_inner_hello() {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    let server = server(key).build().unwrap();
    let client = client().build().unwrap();
    let mut ends = pair(&client, &server, &configs).connect().unwrap();
    check(&mut ends, false);
    let mut first = Vec::new();
    let mut ends = pair(&client, &server, &configs)
        .tap_to_server(|bytes| {
            if first.is_empty() {
                first = first_message(bytes);
            }
        })
        .connect()
        .unwrap();
    check(&mut ends, false);
    assert!(ends.client.connection.info.resumed && ends.server.connection.info.resumed);
    let outer = ClientHello::parse(&first).unwrap();
    // The server knows none of the keys in the outer ClientHello.
    assert!(outer.extensions.pre_shared_key.is_some());
    assert!(outer.extensions.psk_key_exchange_modes.is_some());
}

/// RFC 9849 6.1
#[test]
fn external_keys_are_offered_in_the_inner_hello() {
    let identity = b"the identity of an external key";
    let psk = || PreSharedKey::external(identity, &[7; 32], tercel::crypto::HashAlgorithm::Sha256);
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    let server = server(key).pre_shared_keys([psk().unwrap()]).build().unwrap();
    let client = client().pre_shared_keys([psk().unwrap()]).build().unwrap();
    let mut sent = Vec::new();
    let mut ends = pair(&client, &server, &configs)
        .tap_to_server(|bytes| sent.extend_from_slice(bytes))
        .connect()
        .unwrap();
    check(&mut ends, false);
    assert_eq!(ends.server.connection.info.pre_shared_key(), Some(&identity[..]));
    assert!(!contains(&sent, identity));
}

/// RFC 9849 6.1
#[test]
fn early_data_belongs_to_the_inner_hello() {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    let server = server(key).early_data(1000, guard()).build().unwrap();
    let client = client().early_data(true).build().unwrap();
    pair(&client, &server, &configs).connect().unwrap().talk();
    let mut ours = Handshake::client(client, SECRET.try_into().unwrap());
    ours = ours.with_ech(super::offer(&configs));
    let mut theirs = Handshake::server(server);
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let mut out = Vec::new();
    assert!(matches!(ours.advance(&mut to_client, &mut out), Ok(Next::Receive)));
    // A server that uses the outer ClientHello skips early data, because that offers it, too.
    let outer = first_message(&out);
    assert!(ClientHello::parse(&outer).unwrap().extensions.early_data.is_some());
    ours.early_sender().unwrap().seal_to(b"early", &mut out).unwrap();
    to_server.extend(&out);
    out.clear();
    let early = theirs.advance(&mut to_server, &mut out).unwrap();
    assert!(matches!(&early, Next::EarlyData(data) if data == b"early"), "{early:?}");
    assert_eq!(theirs.early_info().unwrap().ech, Ech::Accepted);
    assert!(matches!(theirs.advance(&mut to_server, &mut out), Ok(Next::Receive)));
    to_client.extend(&out);
    out.clear();
    let connected = ours.advance(&mut to_client, &mut out).unwrap();
    let Next::Connected(connection) = connected else { panic!("{connected:?}") };
    assert_eq!(connection.info.early_data, EarlyData::Accepted);
    assert_eq!(connection.info.ech, Ech::Accepted);
}

/// A policy that selects by the server name, and records the names.
struct ByName(Mutex<Vec<String>>, Arc<ServerConfig>);

impl ChooseConfig for ByName {
    fn choose_config(&self, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let name = hello.extensions.server_name?.host_name()?;
        self.0.lock().unwrap().push(name.as_str().to_owned());
        Some(Arc::clone(&self.1))
    }
}

/// RFC 9849 7.1
#[test]
fn policies_see_the_inner_hello() {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    // The chosen configuration has no keys for Encrypted ClientHello.
    let by_name = Arc::new(ByName(Mutex::default(), without_keys().build().unwrap()));
    let server = server(key).choose_config(Policy::Here(Arc::clone(&by_name) as _));
    let server = server.build().unwrap();
    let client = client().build().unwrap();
    let mut ends = pair(&client, &server, &configs).connect().unwrap();
    check(&mut ends, false);
    assert_eq!(*by_name.0.lock().unwrap(), [SECRET]);
}

/// RFC 9849 6.1.7
#[test]
fn a_client_authenticates_after_acceptance() {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    let server =
        server(key).client_auth(ClientAuth::Required, crate::fixtures::roots()).build().unwrap();
    let credential = credential_for(Kind::P256, &["client.example"]);
    let client = client().credential(credential).build().unwrap();
    let mut ends = pair(&client, &server, &configs).connect().unwrap();
    check(&mut ends, false);
    assert_eq!(ends.server.connection.info.peer_chain().len(), 1);
}

/// RFC 9849 7.1
#[test]
fn the_key_is_found_among_keys_with_one_identifier() {
    let all = [(); 4].map(|()| test_key());
    let configs = all.each_ref().map(|key| key.key().config());
    let server = without_keys().ech(keys(all.iter().map(super::TestKey::key).collect()));
    let server = server.build().unwrap();
    let client = client().build().unwrap();
    for configs in &configs {
        check(&mut pair(&client, &server, configs).connect().unwrap(), false);
    }
}

/// RFC 9849 4
#[test]
fn keys_are_replaced_while_the_server_runs() {
    let [old, new] = [(); 2].map(|()| test_key());
    let shared = Arc::new(Keys::new(vec![(old.key(), Retry::Send)]).unwrap());
    let server = without_keys().ech(Arc::clone(&shared)).build().unwrap();
    let client = client().build().unwrap();
    check(&mut pair(&client, &server, &old.key().config()).connect().unwrap(), false);
    shared.replace(vec![(new.key(), Retry::Send), (old.key(), Retry::AcceptOnly)]).unwrap();
    for key in [&old, &new] {
        check(&mut pair(&client, &server, &key.key().config()).connect().unwrap(), false);
    }
    shared.replace(vec![(new.key(), Retry::Send)]).unwrap();
    assert!(pair(&client, &server, &old.key().config()).connect().is_err());
}

#[derive(Default)]
struct Randoms(Mutex<Vec<[u8; 32]>>);

impl KeyLog for Randoms {
    fn log(&self, _: &str, client_random: &[u8; 32], _: &[u8]) {
        self.0.lock().unwrap().push(*client_random);
    }
}

/// Wireshark and other programs look up the random of the inner ClientHello. RFC 9849 6, 7
#[test]
fn key_logs_have_the_random_of_the_inner_hello() {
    let key = Key::generate(PUBLIC, 64).unwrap();
    let configs = key.config();
    let logs = [(); 2].map(|()| Arc::new(Randoms::default()));
    let server = server(key).key_log(Arc::clone(&logs[0]) as _).build().unwrap();
    let client = client().key_log(Arc::clone(&logs[1]) as _).build().unwrap();
    let mut outer = None;
    pair(&client, &server, &configs)
        .tap_to_server(|bytes| {
            outer.get_or_insert_with(|| *ClientHello::parse(&first_message(bytes)).unwrap().random);
        })
        .connect()
        .unwrap();
    let [of_server, of_client] = logs.map(|log| log.0.lock().unwrap().clone());
    assert_eq!(of_server.len(), 5);
    assert!(of_server.iter().chain(&of_client).all(|random| *random == of_server[0]));
    assert_ne!(outer, Some(of_server[0]));
}

/// RFC 9849 7, 7.2, 7.2.1
#[test]
fn a_backend_confirms_inner_hellos() {
    // A client-facing server is a server with the key; here, its decrypted ClientHello is passed to
    // a backend, and the backend's answer to the client.
    for group in [NamedGroup::X25519MLKEM768, NamedGroup::SECP384R1] {
        let key = test_key();
        let backend = without_keys().ech_backend(true).groups(&[group]).build().unwrap();
        let client = client().build().unwrap();
        let mut front = super::inner_hellos::Front::new(&key);
        let handshake = Handshake::client(client, SECRET.try_into().unwrap());
        let handshake = handshake.with_ech(super::offer(&key.key().config()));
        let mut ends = Pair::of(handshake, Handshake::server(backend))
            .tap_to_server(|bytes| front.forward(bytes, |_| {}))
            .connect()
            .unwrap();
        assert_eq!(ends.client.connection.info.ech, Ech::Accepted);
        assert_eq!(ends.server.connection.info.ech, Ech::Backend);
        assert_eq!(ends.server.connection.info.server_name.as_deref(), Some(SECRET));
        assert_eq!(ends.server.connection.info.outer_server_name(), None);
        ends.talk();
    }
}
