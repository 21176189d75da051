//! Keys that leave for another record layer: right to the bit, and only when nothing would be lost.
//!
//! For: a second record layer, written from the RFCs over the bare algorithms, that goes on where ours stopped.
//! Must not know: the kernel, which is in `../handover/`. Next: `saved.rs`.

use tercel::crypto::{AeadAlgorithm, AeadKey};
use tercel::wire::{CipherSuite, ProtocolVersion};
use tercel::{
    Connection, Error, Local, Misuse, NonceForm, Padding, Received, ServerConfig, Side, TrafficKey,
};

use crate::identity::{Kind, NAME, client, connect, credential, server};
use crate::pair::{Delivery, Ends, Pair, records};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];
const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];
const APPLICATION_DATA: u8 = 23;
const HANDSHAKE: u8 = 22;

pub(crate) const SUITES: [CipherSuite; 6] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

#[test]
fn another_record_layer_goes_on_where_ours_stopped() {
    for suite in SUITES {
        for side in BOTH_SIDES {
            let ends = busy(suite);
            let tls13 = ends.client.connection.facts.version == TLS13;
            let (left, mut stays) = part(ends, side);
            let mut exported = left.export_traffic_keys(&Received::new()).unwrap_or_else(gave_back);
            assert_eq!(exported.facts.cipher_suite, suite);
            assert_eq!((exported.version == TLS13, exported.max_fragment), (tls13, 16384));
            let mut write = Layer::new(&exported.send, tls13);
            let mut read = Layer::new(&exported.receive, tls13);
            for round in 0..4_u8 {
                let sealed = write.seal(APPLICATION_DATA, &[round; 100]);
                assert_eq!(stays.read(&sealed, Delivery::Whole).unwrap(), [round; 100]);
                let mut wire = Vec::new();
                stays.connection.sender.seal_to(&[round; 50], &mut wire).unwrap();
                assert_eq!(read.open_all(&wire), [(APPLICATION_DATA, vec![round; 50])]);
                if !tls13 || round % 2 == 0 {
                    continue;
                }
                // An update that asks for one in return. RFC 9846 4.7.3
                let update = write.seal(HANDSHAKE, &[24, 0, 0, 1, 1]);
                exported.send.update().unwrap();
                write = Layer::new(&exported.send, tls13);
                assert_eq!(stays.read(&update, Delivery::Whole).unwrap(), b"");
                wire.clear();
                stays.connection.sender.control(&mut wire).unwrap();
                assert_eq!(read.open_all(&wire), [(HANDSHAKE, vec![24, 0, 0, 1, 0])]);
                exported.receive.update().unwrap();
                read = Layer::new(&exported.receive, tls13);
            }
        }
    }
}

/// Another record layer in the place of ours: the keys that were exported, and what follows on them.
struct Elsewhere {
    keys: tercel::TrafficKeys,
    read: Layer,
    write: Layer,
}

impl Elsewhere {
    fn new(keys: tercel::TrafficKeys) -> Self {
        let (read, write) = (Layer::new(&keys.receive, true), Layer::new(&keys.send, true));
        Self { keys, read, write }
    }

    /// The data in these records, and how many key updates are owed for those among them.
    fn receive(&mut self, wire: &[u8]) -> (Vec<u8>, usize) {
        let (mut data, mut owed) = (Vec::new(), 0);
        for (kind, fragment) in records(wire) {
            match self.read.open(kind, &fragment) {
                (APPLICATION_DATA, more) => data.extend(more),
                (HANDSHAKE, update) => {
                    let (request, head) = update.split_last().unwrap();
                    assert_eq!(head, [24, 0, 0, 1]);
                    owed += usize::from(*request);
                    // The records behind it are under the next key.
                    let before = self.keys.receive.key().to_vec();
                    self.keys.receive.update().unwrap();
                    assert_ne!(self.keys.receive.key(), before);
                    assert_eq!(self.keys.receive.sequence(), 0);
                    self.read = Layer::new(&self.keys.receive, true);
                }
                other => panic!("{other:?}"),
            }
        }
        (data, owed)
    }

    fn update(&mut self, request: u8) -> Vec<u8> {
        let update = self.write.seal(HANDSHAKE, &[24, 0, 0, 1, request]);
        self.keys.send.update().unwrap();
        self.write = Layer::new(&self.keys.send, true);
        update
    }
}

/// A peer changes its key, and asks for ours to change, while another record layer has the keys. RFC 9846 4.7.3
#[test]
fn another_record_layer_follows_a_peer_s_key_updates() {
    for suite in &SUITES[..3] {
        for side in BOTH_SIDES {
            let (left, mut stays) = part(busy(*suite), side);
            let exported = left.export_traffic_keys(&Received::new()).unwrap_or_else(gave_back);
            let mut elsewhere = Elsewhere::new(exported);
            for request in [false, true, true, false, true] {
                // Data on both sides of the update, in one flight.
                let (mut wire, sender) = (Vec::new(), &mut stays.connection.sender);
                sender.seal_to(b"before, ", &mut wire).unwrap();
                sender.update_key(request, &mut wire).unwrap();
                sender.seal_to(b"after", &mut wire).unwrap();
                let (data, owed) = elsewhere.receive(&wire);
                assert_eq!((&data[..], owed), (&b"before, after"[..], usize::from(request)));
                // Until the answer our own key is the one before.
                let mut answer = elsewhere.write.seal(APPLICATION_DATA, b"old, ");
                for _ in 0..owed {
                    answer.extend(elsewhere.update(0));
                }
                answer.extend(elsewhere.write.seal(APPLICATION_DATA, b"new"));
                assert_eq!(stays.read(&answer, Delivery::Whole).unwrap(), b"old, new");
                wire.clear();
                stays.connection.sender.control(&mut wire).unwrap();
                assert!(wire.is_empty(), "what was asked for was granted");
            }
            // Both ask at once: each update is followed, and each request granted.
            let mut wire = Vec::new();
            stays.connection.sender.update_key(true, &mut wire).unwrap();
            let mut crossing = elsewhere.update(1);
            let (_, owed) = elsewhere.receive(&wire);
            assert_eq!(owed, 1);
            crossing.extend(elsewhere.update(0));
            crossing.extend(elsewhere.write.seal(APPLICATION_DATA, b"there"));
            assert_eq!(stays.read(&crossing, Delivery::Whole).unwrap(), b"there");
            wire.clear();
            stays.connection.sender.control(&mut wire).unwrap();
            stays.connection.sender.seal_to(b"and back", &mut wire).unwrap();
            assert_eq!(elsewhere.receive(&wire), (b"and back".to_vec(), 0));
        }
    }
}

/// Without the update the next record cannot be opened, on either side: nothing goes on under old keys.
#[test]
fn a_key_update_that_is_not_followed_ends_the_connection() {
    for side in BOTH_SIDES {
        let (left, mut stays) = part(busy(SUITES[0]), side);
        let exported = left.export_traffic_keys(&Received::new()).unwrap_or_else(gave_back);
        let mut elsewhere = Elsewhere::new(exported);
        let mut wire = Vec::new();
        stays.connection.sender.update_key(false, &mut wire).unwrap();
        let fragment = records(&wire).remove(0).1;
        assert_eq!(elsewhere.read.open(APPLICATION_DATA, &fragment).0, HANDSHAKE);
        wire.clear();
        stays.connection.sender.seal_to(b"under the next key", &mut wire).unwrap();
        let fragment = records(&wire).remove(0).1;
        assert!(elsewhere.read.try_open(APPLICATION_DATA, &fragment).is_none());
        // Ours was announced, and did not change.
        let update = elsewhere.write.seal(HANDSHAKE, &[24, 0, 0, 1, 0]);
        let data = elsewhere.write.seal(APPLICATION_DATA, b"under the old key");
        assert_eq!(stays.read(&update, Delivery::Whole).unwrap(), b"");
        assert_eq!(stays.read(&data, Delivery::Whole), Err(tercel::Peer::BadRecordMac.into()));
    }
}

#[test]
fn both_sides_export_the_same_keys() {
    for suite in SUITES {
        let Ends { client, server } = busy(suite);
        let mut client =
            client.connection.export_traffic_keys(&client.received).unwrap_or_else(gave_back);
        let mut server =
            server.connection.export_traffic_keys(&server.received).unwrap_or_else(gave_back);
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
        // Exporters are not part of it, and go on.
        let (mut ours, mut theirs) = ([0; 20], [0; 20]);
        client.exporter.export(b"EXPORTER-x", None, &mut ours).unwrap();
        server.exporter.export(b"EXPORTER-x", None, &mut theirs).unwrap();
        assert_eq!(ours, theirs);
    }
}

#[test]
fn keys_of_a_parked_connection_are_exported_too() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        ends.talk();
        ends.client.connection.park();
        let client = ends.client.connection.export_traffic_keys(&ends.client.received);
        let server = ends.server.connection.export_traffic_keys(&ends.server.received);
        let (client, server) = (client.unwrap_or_else(gave_back), server.unwrap_or_else(gave_back));
        assert_eq!(seen(&client.send), seen(&server.receive));
        assert_eq!(seen(&client.receive), seen(&server.send));
    }
}

#[test]
fn nothing_that_is_pending_is_lost_by_an_export() {
    // Bytes that were received: the other layer would never see them.
    let mut ends = connect(TLS13);
    ends.talk();
    let mut wire = Vec::new();
    ends.server.connection.sender.seal_to(b"unread", &mut wire).unwrap();
    for length in [1, wire.len()] {
        let mut received = Received::new();
        received.extend(&wire[..length]);
        let refused = ends.client.connection.export_traffic_keys(&received);
        ends.client.connection = refused_for(refused, Misuse::UnreadInput.into());
    }
    assert_eq!(ends.client.read(&wire, Delivery::Whole).unwrap(), b"unread");

    // A key update that the peer asked for.
    wire.clear();
    ends.server.connection.sender.update_key(true, &mut wire).unwrap();
    assert_eq!(ends.client.read(&wire, Delivery::Whole).unwrap(), b"");
    let refused = ends.client.connection.export_traffic_keys(&ends.client.received);
    ends.client.connection = refused_for(refused, Misuse::ControlPending.into());
    // And one that we asked for.
    let refused = ends.server.connection.export_traffic_keys(&ends.server.received);
    ends.server.connection = refused_for(refused, Misuse::UpdateAwaited.into());
    wire.clear();
    ends.client.connection.sender.control(&mut wire).unwrap();
    assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), b"");
    ends.talk();
    assert!(ends.client.connection.export_traffic_keys(&ends.client.received).is_ok());
    assert!(ends.server.connection.export_traffic_keys(&ends.server.received).is_ok());
}

#[test]
fn half_a_ticket_forbids_an_export() {
    let server = ServerConfig::builder().credential(credential(Kind::P256)).max_fragment(64);
    let (client, server) = (client().build().unwrap(), server.build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    let mut wire = ends.client.received.unread().to_vec();
    ends.client.received = Received::new();
    let first = 5 + records(&wire)[0].1.len();
    let rest = wire.split_off(first);
    assert_eq!(ends.client.read(&wire, Delivery::Whole).unwrap(), b"");
    let refused = ends.client.connection.export_traffic_keys(&ends.client.received);
    ends.client.connection = refused_for(refused, Misuse::HalfMessage.into());
    assert_eq!(ends.client.read(&rest, Delivery::Whole).unwrap(), b"");
    ends.talk();
    let exported = ends.server.connection.export_traffic_keys(&ends.server.received);
    assert_eq!(exported.unwrap_or_else(gave_back).max_fragment, 64);
}

#[test]
fn what_is_over_is_not_exported() {
    for version in BOTH_VERSIONS {
        // Closed by us.
        let mut ends = connect(version);
        let mut wire = Vec::new();
        ends.client.connection.sender.close(&mut wire).unwrap();
        let refused = ends.client.connection.export_traffic_keys(&Received::new());
        refused_for(refused, Local::Closed.into());
        // Closed by the peer: TLS 1.2 owes an answer, in TLS 1.3 the other direction goes on. RFC 9846 6.1
        assert_eq!(ends.server.read(&wire, Delivery::Whole).unwrap(), b"");
        let exported = ends.server.connection.export_traffic_keys(&Received::new());
        match version {
            TLS13 => assert!(exported.is_ok()),
            _ => drop(refused_for(exported, Misuse::ControlPending.into())),
        }
        // Failed.
        let mut ends = connect(version);
        ends.client.read(&[23, 3, 3, 0, 1, 0], Delivery::Whole).unwrap_err();
        let refused = ends.client.connection.export_traffic_keys(&Received::new());
        let kept = refused_for(refused, Local::Failed.into());
        let mut alert = Vec::new();
        { kept }.sender.control(&mut alert).unwrap();
        assert!(!alert.is_empty(), "what is kept still says why");
    }
}

/// Both ends of this suite, on which records and key updates have gone both ways.
fn busy(suite: CipherSuite) -> Ends {
    let client = client().cipher_suites(&[suite]).unwrap().padding(Padding::Block(32));
    let (client, server) = (client.build().unwrap(), server().build().unwrap());
    let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
    for _ in 0..3 {
        ends.talk();
    }
    if ends.client.connection.facts.version == TLS13 {
        let mut wire = Vec::new();
        ends.client.connection.sender.update_key(false, &mut wire).unwrap();
        ends.server.read(&wire, Delivery::Whole).unwrap();
    }
    ends.talk();
    ends
}

/// The connection that is given away, and the end that stays.
fn part(ends: Ends, given: Side) -> (Connection, crate::pair::End) {
    match given {
        Side::Client => (ends.client.connection, ends.server),
        Side::Server => (ends.server.connection, ends.client),
    }
}

fn gave_back(refused: tercel::NotHandedOver) -> tercel::TrafficKeys {
    panic!("{}", Error::from(refused))
}

fn refused_for(
    result: Result<tercel::TrafficKeys, tercel::NotHandedOver>,
    reason: Error,
) -> Connection {
    let refused = result.err().expect("an export is refused");
    assert_eq!(refused.reason, reason);
    *refused.connection
}

fn seen(key: &TrafficKey) -> (AeadAlgorithm, &[u8], &[u8], NonceForm, u64) {
    (key.algorithm(), key.key(), key.iv(), key.nonce_form(), key.sequence())
}

/// One direction of a record layer that is not ours. RFC 9846 5.2, 5.3; RFC 5288 3, RFC 7905 2
struct Layer {
    key: AeadKey,
    iv: Vec<u8>,
    form: NonceForm,
    tls13: bool,
    sequence: u64,
}

impl Layer {
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
