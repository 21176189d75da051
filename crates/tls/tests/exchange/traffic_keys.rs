//! Traffic keys that are exported to another record layer. The tests check that they are correct,
//! and that an export is refused if data would be lost.
//!
//! The other record layer is written from the RFCs with the bare algorithms, and continues the
//! connection.

use tercel::crypto::AeadAlgorithm;
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    Connection, Error, Padding, ReceiveBuffer, ServerConfig, Side,
    error::{InternalError, Misuse},
    handoff::{NonceForm, TrafficKey},
};
use tercel_crypto::AeadKey;

use crate::fixtures::{Kind, NAME, credential, server};
use crate::movable::{client, connect};
use crate::pair::{Delivery, Ends, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];
const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];
const APPLICATION_DATA: u8 = 23;
const HANDSHAKE: u8 = 22;

/// The suites whose keys can be exported, those of TLS 1.3 first.
#[cfg(not(feature = "fips"))]
pub(crate) const SUITES: [CipherSuite; 6] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];
/// See `fips_senders.rs` for the others.
#[cfg(feature = "fips")]
pub(crate) const SUITES: [CipherSuite; 4] = [
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];
const TLS13_SUITES: usize = SUITES.len() - 3;

#[test]
fn another_record_layer_continues_the_connection() {
    for suite in SUITES {
        for side in BOTH_SIDES {
            let ends = busy(suite);
            let tls13 = ends.client.connection.info.version == TLS13;
            let (left, mut peer) = part(ends, side);
            let mut exported =
                left.export_traffic_keys(&ReceiveBuffer::new()).unwrap_or_else(refused_export);
            assert_eq!(exported.info.cipher_suite, suite);
            assert_eq!((exported.version == TLS13, exported.max_fragment), (tls13, 16384));
            let mut write = Direction::new(&exported.send, tls13);
            let mut read = Direction::new(&exported.receive, tls13);
            for round in 0..4_u8 {
                let sealed = write.seal(APPLICATION_DATA, &[round; 100]);
                assert_eq!(peer.read(&sealed, Delivery::Whole).unwrap(), [round; 100]);
                let mut wire = Vec::new();
                peer.connection.sender.seal_to(&[round; 50], &mut wire).unwrap();
                assert_eq!(read.open_all(&wire), [(APPLICATION_DATA, vec![round; 50])]);
                if !tls13 || round % 2 == 0 {
                    continue;
                }
                // A KeyUpdate that requests a KeyUpdate in return. RFC 9846 4.7.3
                let update = write.seal(HANDSHAKE, &[24, 0, 0, 1, 1]);
                exported.send.update().unwrap();
                write = Direction::new(&exported.send, tls13);
                assert_eq!(peer.read(&update, Delivery::Whole).unwrap(), b"");
                wire.clear();
                peer.connection.sender.control(&mut wire).unwrap();
                assert_eq!(read.open_all(&wire), [(HANDSHAKE, vec![24, 0, 0, 1, 0])]);
                exported.receive.update().unwrap();
                read = Direction::new(&exported.receive, tls13);
            }
        }
    }
}

/// Another record layer, with the exported keys and the tracker of key updates.
struct OtherRecordLayer {
    keys: tercel::handoff::TrafficKeys,
    read: Direction,
    write: Direction,
}

impl OtherRecordLayer {
    fn new(keys: tercel::handoff::TrafficKeys) -> Self {
        let (read, write) = (Direction::new(&keys.receive, true), Direction::new(&keys.send, true));
        Self { keys, read, write }
    }

    /// The data in these records, and the number of requested key updates.
    fn receive(&mut self, wire: &[u8]) -> (Vec<u8>, usize) {
        let (mut data, mut owed) = (Vec::new(), 0);
        for (kind, fragment) in records(wire) {
            match self.read.open(kind, &fragment) {
                (APPLICATION_DATA, more) => data.extend(more),
                (HANDSHAKE, update) => {
                    let (request, head) = update.split_last().unwrap();
                    assert_eq!(head, [24, 0, 0, 1]);
                    owed += usize::from(*request);
                    // Later records are protected with the next key.
                    let before = self.keys.receive.key().to_vec();
                    self.keys.receive.update().unwrap();
                    assert_ne!(self.keys.receive.key(), before);
                    assert_eq!(self.keys.receive.sequence(), 0);
                    self.read = Direction::new(&self.keys.receive, true);
                }
                other => panic!("{other:?}"),
            }
        }
        (data, owed)
    }

    fn update(&mut self, request: u8) -> Vec<u8> {
        let update = self.write.seal(HANDSHAKE, &[24, 0, 0, 1, request]);
        self.keys.send.update().unwrap();
        self.write = Direction::new(&self.keys.send, true);
        update
    }
}

/// A peer updates its key and requests an update, while another record layer has the keys.
/// RFC 9846 4.7.3
#[test]
fn another_record_layer_follows_a_peers_key_updates() {
    for suite in &SUITES[..TLS13_SUITES] {
        for side in BOTH_SIDES {
            let (left, mut peer) = part(busy(*suite), side);
            let exported =
                left.export_traffic_keys(&ReceiveBuffer::new()).unwrap_or_else(refused_export);
            let mut other_layer = OtherRecordLayer::new(exported);
            for request in [false, true, true, false, true] {
                // Data before and after the update, in one flight.
                let (mut wire, sender) = (Vec::new(), &mut peer.connection.sender);
                sender.seal_to(b"before, ", &mut wire).unwrap();
                sender.update_key(request, &mut wire).unwrap();
                sender.seal_to(b"after", &mut wire).unwrap();
                let (data, owed) = other_layer.receive(&wire);
                assert_eq!((&data[..], owed), (&b"before, after"[..], usize::from(request)));
                // The other record layer sends under its old key until it has answered.
                let mut answer = other_layer.write.seal(APPLICATION_DATA, b"old, ");
                for _ in 0..owed {
                    answer.extend(other_layer.update(0));
                }
                answer.extend(other_layer.write.seal(APPLICATION_DATA, b"new"));
                assert_eq!(peer.read(&answer, Delivery::Whole).unwrap(), b"old, new");
                wire.clear();
                peer.connection.sender.control(&mut wire).unwrap();
                assert!(wire.is_empty(), "the request was answered");
            }
            // Both sides request an update at the same time. Both change keys after each received
            // update, and answer each request.
            let mut wire = Vec::new();
            peer.connection.sender.update_key(true, &mut wire).unwrap();
            let mut crossing = other_layer.update(1);
            let (_, owed) = other_layer.receive(&wire);
            assert_eq!(owed, 1);
            crossing.extend(other_layer.update(0));
            crossing.extend(other_layer.write.seal(APPLICATION_DATA, b"there"));
            assert_eq!(peer.read(&crossing, Delivery::Whole).unwrap(), b"there");
            wire.clear();
            peer.connection.sender.control(&mut wire).unwrap();
            peer.connection.sender.seal_to(b"answer", &mut wire).unwrap();
            assert_eq!(other_layer.receive(&wire), (b"answer".to_vec(), 0));
        }
    }
}

/// If the other record layer ignores an update, the next record cannot be opened on either side:
/// old keys are not used.
#[test]
fn a_key_update_that_is_ignored_ends_the_connection() {
    for side in BOTH_SIDES {
        let (left, mut peer) = part(busy(SUITES[0]), side);
        let exported =
            left.export_traffic_keys(&ReceiveBuffer::new()).unwrap_or_else(refused_export);
        let mut other_layer = OtherRecordLayer::new(exported);
        let mut wire = Vec::new();
        peer.connection.sender.update_key(false, &mut wire).unwrap();
        let fragment = records(&wire).remove(0).1;
        assert_eq!(other_layer.read.open(APPLICATION_DATA, &fragment).0, HANDSHAKE);
        wire.clear();
        peer.connection.sender.seal_to(b"under the next key", &mut wire).unwrap();
        let fragment = records(&wire).remove(0).1;
        assert!(other_layer.read.try_open(APPLICATION_DATA, &fragment).is_none());
        // The other record layer announced an update but did not change its key.
        let update = other_layer.write.seal(HANDSHAKE, &[24, 0, 0, 1, 0]);
        let data = other_layer.write.seal(APPLICATION_DATA, b"under the old key");
        assert_eq!(peer.read(&update, Delivery::Whole).unwrap(), b"");
        assert_eq!(
            peer.read(&data, Delivery::Whole),
            Err(tercel::error::PeerError::BadRecordMac.into())
        );
    }
}

#[test]
fn both_sides_export_the_same_keys() {
    for suite in SUITES {
        let Ends { client, server } = busy(suite);
        let mut client =
            client.connection.export_traffic_keys(&client.received).unwrap_or_else(refused_export);
        let mut server =
            server.connection.export_traffic_keys(&server.received).unwrap_or_else(refused_export);
        for round in 0..3 {
            for (ours, theirs) in [(&client.send, &server.receive), (&client.receive, &server.send)]
            {
                assert_eq!(seen(ours), seen(theirs), "{suite:?}");
                assert_eq!(ours.key().len(), ours.algorithm().key_len());
                assert_eq!(ours.sequence() > 0, round == 0);
            }
            assert_ne!(client.send.key(), client.receive.key());
            let updates = [&mut client.send, &mut client.receive, &mut server.send]
                .into_iter()
                .chain([&mut server.receive])
                .map(TrafficKey::update);
            for update in updates.collect::<Vec<_>>() {
                let tls13 = server.version == TLS13;
                assert_eq!(update, if tls13 { Ok(()) } else { Err(Misuse::WrongVersion.into()) });
            }
            if server.version != TLS13 {
                break;
            }
        }
        // Exporters are not part of the export, and can still be used.
        let (mut ours, mut theirs) = ([0; 20], [0; 20]);
        client.exporter.export(b"EXPORTER-x", None, &mut ours).unwrap();
        server.exporter.export(b"EXPORTER-x", None, &mut theirs).unwrap();
        assert_eq!(ours, theirs);
    }
}

#[test]
fn keys_of_a_parked_connection_can_be_exported() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        ends.talk();
        ends.client.connection.park();
        let client = ends.client.connection.export_traffic_keys(&ends.client.received);
        let server = ends.server.connection.export_traffic_keys(&ends.server.received);
        let (client, server) =
            (client.unwrap_or_else(refused_export), server.unwrap_or_else(refused_export));
        assert_eq!(seen(&client.send), seen(&server.receive));
        assert_eq!(seen(&client.receive), seen(&server.send));
    }
}

#[test]
fn an_export_is_refused_with_pending_data() {
    // Received bytes that were not read would be missing in the other record layer.
    let mut ends = connect(TLS13);
    ends.talk();
    let mut wire = Vec::new();
    ends.server.connection.sender.seal_to(b"unread", &mut wire).unwrap();
    for length in [1, wire.len()] {
        let mut received = ReceiveBuffer::new();
        received.extend(&wire[..length]);
        let refused = ends.client.connection.export_traffic_keys(&received);
        ends.client.connection = refused_for(refused, Misuse::UnreadInput.into());
    }
    assert_eq!(ends.client.read(&wire, Delivery::Whole).unwrap(), b"unread");

    // An update that the peer requested is pending.
    wire.clear();
    ends.server.connection.sender.update_key(true, &mut wire).unwrap();
    assert_eq!(ends.client.read(&wire, Delivery::Whole).unwrap(), b"");
    let refused = ends.client.connection.export_traffic_keys(&ends.client.received);
    ends.client.connection = refused_for(refused, Misuse::ControlPending.into());
    // An update that this side requested is pending.
    let refused = ends.server.connection.export_traffic_keys(&ends.server.received);
    ends.server.connection = refused_for(refused, Misuse::KeyUpdatePending.into());
    wire.clear();
    ends.client.connection.sender.control(&mut wire).unwrap();
    assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), b"");
    ends.talk();
    assert!(ends.client.connection.export_traffic_keys(&ends.client.received).is_ok());
    assert!(ends.server.connection.export_traffic_keys(&ends.server.received).is_ok());
}

#[test]
fn an_export_is_refused_with_a_partial_ticket() {
    let server = ServerConfig::builder().credential(credential(Kind::P256)).max_fragment(64);
    let (client, server) = (client().build().unwrap(), server.build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let mut wire = ends.client.received.unread().to_vec();
    ends.client.received = ReceiveBuffer::new();
    let first = 5 + records(&wire)[0].1.len();
    let rest = wire.split_off(first);
    assert_eq!(ends.client.read(&wire, Delivery::Whole).unwrap(), b"");
    let refused = ends.client.connection.export_traffic_keys(&ends.client.received);
    ends.client.connection = refused_for(refused, Misuse::PartialMessage.into());
    assert_eq!(ends.client.read(&rest, Delivery::Whole).unwrap(), b"");
    ends.talk();
    let exported = ends.server.connection.export_traffic_keys(&ends.server.received);
    assert_eq!(exported.unwrap_or_else(refused_export).max_fragment, 64);
}

#[test]
fn a_closed_or_failed_connection_is_not_exported() {
    for version in BOTH_VERSIONS {
        // This side has closed.
        let mut ends = connect(version);
        let mut wire = Vec::new();
        ends.client.connection.sender.close(&mut wire).unwrap();
        let refused = ends.client.connection.export_traffic_keys(&ReceiveBuffer::new());
        refused_for(refused, InternalError::Closed.into());
        // The peer has closed. TLS 1.2 requires an answer; in TLS 1.3 the other direction stays
        // open. RFC 9846 6.1
        assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), b"");
        let exported = ends.server.connection.export_traffic_keys(&ReceiveBuffer::new());
        match version {
            TLS13 => assert!(exported.is_ok()),
            _ => drop(refused_for(exported, Misuse::ControlPending.into())),
        }
        // The connection has failed.
        let mut ends = connect(version);
        ends.client.read(&[23, 3, 3, 0, 1, 0], Delivery::Whole).unwrap_err();
        let refused = ends.client.connection.export_traffic_keys(&ReceiveBuffer::new());
        let kept = refused_for(refused, InternalError::Failed.into());
        let mut alert = Vec::new();
        { kept }.sender.control(&mut alert).unwrap();
        assert!(!alert.is_empty(), "the connection is returned with its alert");
    }
}

/// Both ends with this suite, after records and key updates in both directions.
fn busy(suite: CipherSuite) -> Ends {
    let client = client().cipher_suites(&[suite]).padding(Padding::Block(32));
    let (client, server) = (client.build().unwrap(), server().build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    for _ in 0..3 {
        ends.talk();
    }
    if ends.client.connection.info.version == TLS13 {
        let mut wire = Vec::new();
        ends.client.connection.sender.update_key(false, &mut wire).unwrap();
        ends.server.read(&wire, Delivery::Whole).unwrap();
    }
    ends.talk();
    ends
}

/// Returns the connection to export, and the other end.
fn part(ends: Ends, given: Side) -> (Connection, crate::pair::End) {
    match given {
        Side::Client => (ends.client.connection, ends.server),
        Side::Server => (ends.server.connection, ends.client),
    }
}

fn refused_export(refused: tercel::handoff::HandoffError) -> tercel::handoff::TrafficKeys {
    panic!("{}", Error::from(refused))
}

fn refused_for(
    result: Result<tercel::handoff::TrafficKeys, tercel::handoff::HandoffError>,
    reason: Error,
) -> Connection {
    let refused = result.err().expect("an export is refused");
    assert_eq!(refused.reason, reason);
    *refused.connection
}

fn seen(key: &TrafficKey) -> (AeadAlgorithm, &[u8], &[u8], NonceForm, u64) {
    (key.algorithm(), key.key(), key.iv(), key.nonce_form(), key.sequence())
}

/// One direction of the other record layer. RFC 9846 5.2, 5.3; RFC 5288 3, RFC 7905 2
struct Direction {
    key: AeadKey,
    iv: Vec<u8>,
    form: NonceForm,
    tls13: bool,
    sequence: u64,
}

impl Direction {
    fn new(from: &TrafficKey, tls13: bool) -> Self {
        Self {
            key: AeadKey::new(from.algorithm(), from.key()).unwrap(),
            iv: from.iv().to_vec(),
            form: from.nonce_form(),
            tls13,
            sequence: from.sequence(),
        }
    }

    fn nonce(&self, explicit: &[u8]) -> [u8; 12] {
        if self.form == NonceForm::SaltAndExplicit {
            return [&self.iv, explicit].concat().try_into().unwrap();
        }
        let mut nonce: [u8; 12] = self.iv.clone().try_into().unwrap();
        let padded = u128::from(self.sequence).to_be_bytes();
        nonce.iter_mut().zip(&padded[4..]).for_each(|(byte, with)| *byte ^= with);
        nonce
    }

    fn explicit(&self) -> usize {
        if self.form == NonceForm::SaltAndExplicit { 8 } else { 0 }
    }

    /// RFC 5246 6.2.3.3
    fn aad12(&self, kind: u8, length: usize) -> Vec<u8> {
        let length = u16::try_from(length).unwrap().to_be_bytes();
        [&self.sequence.to_be_bytes()[..], &[kind, 3, 3], &length].concat()
    }

    fn seal(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        let inner = if self.tls13 { [content, &[kind, 0, 0]].concat() } else { content.to_vec() };
        let length = self.explicit() + inner.len() + 16;
        let outer = if self.tls13 { APPLICATION_DATA } else { kind };
        let header = [&[outer, 3, 3][..], &u16::try_from(length).unwrap().to_be_bytes()].concat();
        let explicit = &self.sequence.to_be_bytes()[..self.explicit()];
        let aad = if self.tls13 { header.clone() } else { self.aad12(kind, inner.len()) };
        let mut sealed = vec![0; inner.len() + 16];
        self.key.seal(&self.nonce(explicit), &aad, &inner, &[], &mut sealed).unwrap();
        self.sequence += 1;
        [header, explicit.to_vec(), sealed].concat()
    }

    fn open_all(&mut self, wire: &[u8]) -> Vec<(u8, Vec<u8>)> {
        records(wire).into_iter().map(|(kind, fragment)| self.open(kind, &fragment)).collect()
    }

    fn open(&mut self, kind: u8, fragment: &[u8]) -> (u8, Vec<u8>) {
        self.try_open(kind, fragment).unwrap()
    }

    fn try_open(&mut self, kind: u8, fragment: &[u8]) -> Option<(u8, Vec<u8>)> {
        let (explicit, sealed) = fragment.split_at(self.explicit());
        let length = u16::try_from(fragment.len()).unwrap().to_be_bytes();
        let aad = match self.tls13 {
            true => [&[kind, 3, 3][..], &length].concat(),
            false => self.aad12(kind, sealed.len() - 16),
        };
        let mut opened = vec![0; sealed.len()];
        let count = self.key.open(&self.nonce(explicit), &aad, sealed, &mut opened).ok()?;
        opened.truncate(count);
        self.sequence += 1;
        if !self.tls13 {
            return Some((kind, opened));
        }
        let at = opened.iter().rposition(|byte| *byte != 0).unwrap();
        Some((opened[at], opened[..at].to_vec()))
    }
}
