//! Connections that are saved as bytes and restored.
//!
//! The peer must not notice the restoration, the application must not lose data, and damaged bytes
//! must do no harm.

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel::pki::Roots;
use tercel::questions::FindSessionQuestion;
use tercel::wire::{AlertDescription, NamedGroup, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, Error, Padding, Policy, ReceiveBuffer, ServerConfig, Side,
    error::InternalError, handoff::RestoreError, server::ClientAuth,
};
use tercel_crypto::Hash;
use tercel_crypto::deterministic::with_seed;

use crate::fixtures::{Kind, NAME, credential, roots, server};
use crate::movable::{self, client};
use crate::pair::{Delivery, End, Ends, Pair, records};
use crate::raw_public_keys::{public, raw};
use crate::traffic_keys::SUITES;

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];
const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];

type Configs = (Arc<ClientConfig>, Arc<ServerConfig>);

#[test]
fn a_restored_connection_writes_what_the_saved_one_would_have() {
    for suite in SUITES {
        let client = client().cipher_suites(&[suite]).groups(&[NamedGroup::X25519]);
        let client = client.padding(Padding::Block(40)).without_resumption();
        let server = ServerConfig::builder().credential(credential(Kind::Ed25519));
        let configs = (client.build().unwrap(), server.max_fragment(500).build().unwrap());
        let connect = || Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
        let version = connect().client.connection.info.version;
        let expected = with_seed(7, || crate::parked::play(connect(), version, |_, _| {}));
        for seed in 0..10 {
            let mut random = crate::parked::Random(seed);
            let mut spare = Some(connect().client.connection);
            let renewed = with_seed(7, || {
                crate::parked::play(connect(), version, |client, server| match random.below(6) {
                    0 => renew(client, Side::Client, &configs, &mut spare),
                    1 => renew(server, Side::Server, &configs, &mut spare),
                    2 => server.connection.park(),
                    _ => {}
                })
            });
            assert!(renewed == expected, "{suite:?}, saved with seed {seed}");
        }
    }
}

#[test]
fn connection_info_and_exporters_are_those_of_the_saved_one() {
    let timestamps = vec![0, 6, 0, 4, 1, 2, 3, 4];
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).credential(credential(Kind::Ed25519));
        let client = client.alpn(&["h2"]).request_signed_certificate_timestamps(true);
        let shown = credential(Kind::P256).ocsp_response(b"a response".to_vec());
        let shown = shown.signed_certificate_timestamps(timestamps.clone()).unwrap();
        let server = ServerConfig::builder().credential(shown).alpn(&["h2"]);
        let server = server.client_auth(ClientAuth::Required, roots());
        let server = server.groups(&[NamedGroup::SECP384R1, NamedGroup::SECP256R1]);
        let server = server.without_tickets().session_store(Policy::Ask);
        let configs = (client.build().unwrap(), server.build().unwrap());
        let pair = Pair::new(&configs.0, &configs.1, NAME);
        let ends = pair.answering(|_, _| FindSessionQuestion::answer_from(None)).connect().unwrap();
        for (side, end) in [(Side::Client, ends.client), (Side::Server, ends.server)] {
            let (info, exported) = seen(&end.connection);
            let mut restored = restored_end(end.connection, side, &configs);
            assert_eq!(seen(&restored), (info, exported), "{version:?} {side:?}");
            let chain = restored.info.take_peer_chain();
            assert_eq!(chain.len(), 1);
            let info = &mut restored.info;
            assert_eq!(info.alpn.as_deref(), Some(&b"h2"[..]));
            assert_eq!(info.retried, version == TLS13);
            match side {
                Side::Client => {
                    assert_eq!(info.ocsp_response.as_deref(), Some(&b"a response"[..]));
                    assert_eq!(info.signed_certificate_timestamps, Some(timestamps.clone()));
                }
                Side::Server => {
                    assert_eq!(info.server_name.as_deref(), Some(NAME));
                    let kept = info.take_new_sessions();
                    assert!(!kept.is_empty() && kept.iter().all(|new| !new.session.is_empty()));
                }
            }
        }
    }
}

#[test]
fn a_raw_public_key_is_carried() {
    let trusted = vec![public(Kind::P256)];
    let client = movable::limited(ClientConfig::builder().trusted_raw_keys(trusted));
    let client = client.build().unwrap();
    let server = ServerConfig::builder().credential(raw(Kind::P256)).build().unwrap();
    let configs = (client, server);
    let mut ends = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
    let before = seen(&ends.client.connection);
    assert!(ends.client.connection.info.peer_raw_public_key.is_some());
    ends.client.connection = restored_end(ends.client.connection, Side::Client, &configs);
    assert_eq!(seen(&ends.client.connection), before);
    ends.talk();
}

#[test]
fn tickets_that_arrive_later_are_stored() {
    for (store, resumes) in [(true, true), (false, false)] {
        let first = client().build().unwrap();
        let server = server().build().unwrap();
        let mut ends = Pair::new(&first, &server, NAME).connect().unwrap();
        assert!(!ends.client.received.is_empty(), "tickets are in transit");
        let next = if store { client() } else { client().without_resumption() };
        let next = (next.build().unwrap(), server);
        ends.client.connection = restored_end(ends.client.connection, Side::Client, &next);
        ends.talk();
        let again = Pair::new(&next.0, &next.1, NAME).connect().unwrap();
        assert_eq!(again.client.connection.info.resumed, resumes);
        let elsewhere = Pair::new(&first, &next.1, NAME).connect().unwrap();
        assert!(!elsewhere.client.connection.info.resumed, "they are in the new store");
    }
}

#[test]
fn tickets_are_not_used_with_other_requirements() {
    let first = client().build().unwrap();
    let server = server().build().unwrap();
    let mut ends = Pair::new(&first, &server, NAME).connect().unwrap();
    let mut other_roots: Roots = roots();
    let other = rcgen::generate_simple_self_signed(vec!["other.example".to_owned()]).unwrap();
    other_roots.add_der(other.cert.der()).unwrap();
    let next = movable::limited(ClientConfig::builder().roots(other_roots)).build().unwrap();
    let next = (next, server);
    ends.client.connection = restored_end(ends.client.connection, Side::Client, &next);
    ends.talk();
    for client in [&first, &next.0] {
        let again = Pair::new(client, &next.1, NAME).connect().unwrap();
        assert!(!again.client.connection.info.resumed);
    }
}

#[test]
fn a_partial_message_is_saved() {
    let server = ServerConfig::builder().credential(credential(Kind::P256)).max_fragment(64);
    let configs = (client().build().unwrap(), server.build().unwrap());
    let mut ends = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
    let wire = ends.client.received.unread().to_vec();
    assert!(records(&wire).len() > 4);
    ends.client.received = ReceiveBuffer::new();
    let mut connection = ends.client.connection;
    for byte in wire {
        ends.client.received.extend(&[byte]);
        connection.receiver.open(&mut ends.client.received).unwrap();
        connection = restored_end(connection, Side::Client, &configs);
    }
    ends.client.connection = connection;
    ends.talk();
    let again = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
    assert!(again.client.connection.info.resumed, "the tickets were stored");
}

#[test]
fn key_updates_continue_after_a_restoration() {
    let configs = (client().build().unwrap(), server().build().unwrap());
    for side in BOTH_SIDES {
        let mut ends = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
        ends.talk();
        // The update is requested before the connection is saved, and answered after it is
        // restored.
        let mut wire = Vec::new();
        let (asks, asked) = ends.both(side);
        asks.connection.sender.update_key(true, &mut wire).unwrap();
        assert_eq!(asked.read(&wire, Delivery::Whole).unwrap(), b"");
        let mut ends = both_restored(ends, &configs);
        let (asks, asked) = ends.both(side);
        let mut answer = Vec::new();
        asked.connection.sender.control(&mut answer).unwrap();
        assert_eq!(records(&answer).len(), 1, "the request was saved");
        // There is no second request before the answer to the first. RFC 9846 4.7.3
        wire.clear();
        asks.connection.sender.update_key(true, &mut wire).unwrap();
        assert_eq!(asked.read(&wire, Delivery::Whole).unwrap(), b"");
        let mut second = Vec::new();
        asked.connection.sender.control(&mut second).unwrap();
        assert!(second.is_empty(), "the pending request was saved, too");
        assert_eq!(asks.read(&answer, Delivery::Whole).unwrap(), b"");
        let (read, write) = ends.client.connection.traffic_secrets().unwrap();
        assert_eq!(ends.server.connection.traffic_secrets().unwrap(), (write, read));
        ends.talk();
    }
}

#[test]
fn counters_of_repeated_messages_are_saved() {
    let configs = (client().build().unwrap(), server().build().unwrap());
    let mut ends = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
    ends.talk();
    let refused = (0..100).find_map(|_| {
        let mut wire = Vec::new();
        ends.client.connection.sender.update_key(false, &mut wire).unwrap();
        let read = ends.server.read(&wire, Delivery::Whole);
        if read.is_ok() {
            let spare = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
            let server = std::mem::replace(&mut ends.server.connection, spare.server.connection);
            ends.server.connection = restored_end(server, Side::Server, &configs);
        }
        read.err()
    });
    assert_eq!(refused, Some(tercel::error::PeerError::TooManyKeyUpdates.into()));
}

#[test]
fn a_closed_connection_stays_closed() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let configs = (client, server().build().unwrap());
        let mut ends = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
        ends.talk();
        let mut wire = Vec::new();
        ends.client.connection.sender.close(&mut wire).unwrap();
        assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), b"");
        let mut ends = both_restored(ends, &configs);
        let sealed = ends.client.connection.sender.seal_to(b"more", &mut Vec::new());
        assert_eq!(sealed, Err(InternalError::Closed.into()));
        assert_eq!(ends.server.connection.receiver.end_of_input(), Ok(()));
        // In TLS 1.2 the close_notify must still be answered. RFC 5246 7.2.1
        let mut answer = Vec::new();
        ends.server.connection.sender.control(&mut answer).unwrap();
        assert_eq!(answer.is_empty(), version == TLS13);
    }
}

#[test]
fn a_failed_connection_is_not_saved() {
    let mut ends = movable::connect(TLS13);
    ends.client.read(&[23, 3, 3, 0, 1, 0], Delivery::Whole).unwrap_err();
    let mut kept = ends.client.connection.save().unwrap_err();
    assert_eq!(Error::from(InternalError::Failed), kept.reason);
    let mut alert = Vec::new();
    kept.connection.sender.control(&mut alert).unwrap();
    let reported = ends.server.read(&alert, Delivery::Whole).unwrap_err();
    assert_eq!(reported, Error::AlertReceived(AlertDescription::BAD_RECORD_MAC));
}

#[test]
fn the_new_configuration_decides_on_truncation() {
    for tolerate in [true, false] {
        let ends = movable::connect(TLS13);
        let next = client().tolerate_truncation(tolerate).build().unwrap();
        let bytes = ends.client.connection.save().unwrap();
        let mut restored = Connection::restore_client(&bytes, &next).unwrap();
        assert_eq!(restored.receiver.end_of_input().is_ok(), tolerate);
    }
}

#[test]
fn bytes_that_were_changed_or_cut_are_refused() {
    for (bytes, side, configs) in samples() {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let error = restore(&changed, side, &configs).unwrap_err();
                let format = u16::from_be_bytes([changed[0], changed[1]]);
                let expected = match at {
                    0 | 1 => RestoreError::UnknownFormat(format),
                    _ => RestoreError::Damaged,
                };
                assert_eq!(error, expected, "byte {at}");
            }
            let error = restore(&bytes[..at], side, &configs).unwrap_err();
            let short = if at < 2 { RestoreError::Malformed } else { RestoreError::Damaged };
            assert_eq!(error, short, "{at} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(restore(&longer, side, &configs).unwrap_err(), RestoreError::Damaged);
        let other = if side == Side::Client { Side::Server } else { Side::Client };
        assert_eq!(restore(&bytes, other, &configs).unwrap_err(), RestoreError::WrongSide);
        restore(&bytes, side, &configs).unwrap();
    }
}

#[test]
fn changed_bytes_with_a_valid_digest_do_no_harm() {
    for (bytes, side, configs) in samples() {
        let body = &bytes[..bytes.len() - 16];
        let (mut restored, mut refused) = (0, 0);
        for at in 0..body.len() {
            for bit in 0..8 {
                let mut changed = body.to_vec();
                changed[at] ^= 1 << bit;
                match restore(&with_digest(&changed), side, &configs) {
                    Ok(connection) => {
                        restored += 1;
                        exercise(connection);
                    }
                    Err(RestoreError::Damaged) => panic!("the digest is valid"),
                    Err(_) => refused += 1,
                }
            }
            restore(&with_digest(&body[..at]), side, &configs).unwrap_err();
            let longer = [&body[..at], &[7], &body[at..]].concat();
            if let Ok(connection) = restore(&with_digest(&longer), side, &configs) {
                exercise(connection);
            }
        }
        assert!(restored > 100 && refused > 100, "{restored} restored, {refused} refused");
    }
}

/// Only a session of TLS 1.2 is discarded after a fatal alert. RFC 5246 7.2.2
#[test]
fn a_session_to_discard_is_of_tls12() {
    for (bytes, side, configs) in samples().into_iter().filter(|(_, side, _)| *side == Side::Server)
    {
        let [body @ .., 0] = &bytes[..bytes.len() - 16] else { panic!("there is one already") };
        let named = [body, &[1], &[7; 32]].concat();
        let restored = restore(&with_digest(&named), side, &configs);
        match u16::from_be_bytes([bytes[3], bytes[4]]) {
            0x0303 => drop(restored.unwrap()),
            _ => assert_eq!(restored.unwrap_err(), RestoreError::Malformed),
        }
    }
}

/// Calls every function, each of which must succeed or return an error.
fn exercise(mut connection: Connection) {
    let mut out = Vec::new();
    let mut received = ReceiveBuffer::new();
    received.extend(&[23, 3, 3, 0, 30]);
    received.extend(&[9; 30]);
    connection.park();
    connection.exporter.export(b"EXPORTER-x", None, &mut [0; 10]).ok();
    connection.sender.control(&mut out).ok();
    connection.sender.seal_to(b"data", &mut out).ok();
    connection.sender.update_key(true, &mut out).ok();
    connection.receiver.open(&mut received).ok();
    assert!(out.len() < 5000, "{}", out.len());
}

/// Saved connections of both versions and sides, with all optional parts.
fn samples() -> Vec<(Vec<u8>, Side, Configs)> {
    let mut samples = Vec::new();
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).alpn(&["h2"]);
        let configs = (client.build().unwrap(), server().alpn(&["h2"]).build().unwrap());
        let ends = Pair::new(&configs.0, &configs.1, NAME).connect().unwrap();
        for (side, mut end) in [(Side::Client, ends.client), (Side::Server, ends.server)] {
            // The certificate is removed because of its length; another test covers it.
            drop(end.connection.info.take_peer_chain());
            let bytes = end.connection.save().unwrap().to_vec();
            samples.push((bytes, side, configs.clone()));
        }
    }
    samples
}

fn with_digest(body: &[u8]) -> Vec<u8> {
    [body, &Hash::digest(HashAlgorithm::Sha256, &[body])[..16]].concat()
}

fn restore(bytes: &[u8], side: Side, configs: &Configs) -> Result<Connection, RestoreError> {
    match side {
        Side::Client => Connection::restore_client(bytes, &configs.0),
        Side::Server => Connection::restore_server(bytes, &configs.1),
    }
}

/// Saves and restores a connection.
fn restored_end(connection: Connection, side: Side, configs: &Configs) -> Connection {
    let bytes = connection.save().unwrap();
    restore(&bytes, side, configs).unwrap()
}

fn both_restored(ends: Ends, configs: &Configs) -> Ends {
    let Ends { client, server } = ends;
    let renew = |end: End, side| End {
        connection: restored_end(end.connection, side, configs),
        received: end.received,
    };
    Ends { client: renew(client, Side::Client), server: renew(server, Side::Server) }
}

/// Saves and restores an end. `spare` is in the place of the connection during that time.
fn renew(end: &mut End, side: Side, configs: &Configs, spare: &mut Option<Connection>) {
    let connection = std::mem::replace(&mut end.connection, spare.take().unwrap());
    let restored = restored_end(connection, side, configs);
    *spare = Some(std::mem::replace(&mut end.connection, restored));
}

/// All information about a connection that an application can query.
fn seen(connection: &Connection) -> (String, [u8; 20]) {
    let mut exported = [0; 20];
    let context = Some(&b"context"[..]);
    connection.exporter.export(b"EXPORTER-saved", context, &mut exported).unwrap();
    let info = format!("{:?} {:?}", connection.info, connection.info.peer_chain());
    (info, exported)
}
