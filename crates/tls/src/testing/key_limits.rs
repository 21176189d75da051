//! The limits for the use of a key in RFC 9846 5.3 and 5.5, with sequence numbers that the tests
//! set.

use tercel_wire::{ContentType, ProtocolVersion};

use super::misbehaving_peer::connected;
use crate::connection::sender::Sender;
use crate::error::{Error, InternalError};
use crate::record::frame::RecordVersion;
use crate::record::limits;
use crate::record::opener::Opener;
use crate::side::Side;

/// RFC 9846 5.5
#[test]
fn a_key_is_updated_before_its_limit() {
    a_spent_key_is_replaced_by(|sender, out| sender.seal_to(b"data", out).unwrap());
    a_spent_key_is_replaced_by(|sender, out| {
        let mut room = [0; 1000];
        let sealed = sender.seal(b"data", &mut room).unwrap();
        assert_eq!(sealed.consumed, 4);
        out.extend_from_slice(&room[..sealed.written]);
    });
}

fn a_spent_key_is_replaced_by(seal: impl Fn(&mut Sender, &mut Vec<u8>)) {
    let mut connection = connected(Side::Client, ProtocolVersion::TLS1_3);
    let spent = limits::AES_GCM_RECORDS_PER_KEY;
    let secret = connection.sender.keys().as_ref().unwrap().traffic_secret().unwrap().duplicate();
    let mut opener = Opener::new();
    opener.version = RecordVersion::Tls13;
    let mut protection = secret.protection().unwrap();
    protection.set_sequence(spent);
    opener.install(protection);

    let mut out = Vec::new();
    connection.sender.sealer().unwrap().protection.as_mut().unwrap().set_sequence(spent);
    seal(&mut connection.sender, &mut out);
    assert_eq!(connection.sender.sequence(), 1);

    // The KeyUpdate is sealed under the old key, and does not request a KeyUpdate in return.
    assert_eq!(open(&mut opener, &mut out), (ContentType::HANDSHAKE, vec![24, 0, 0, 1, 0]));
    opener.install(secret.next().protection().unwrap());
    assert_eq!(open(&mut opener, &mut out), (ContentType::APPLICATION_DATA, b"data".to_vec()));
    assert!(out.is_empty());
}

#[test]
fn sequence_numbers_do_not_wrap() {
    for version in [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3] {
        let mut connection = connected(Side::Server, version);
        let sealer = connection.sender.sealer().unwrap();
        sealer.protection.as_mut().unwrap().set_sequence(u64::MAX);
        let exhausted = sealer.seal_to(ContentType::APPLICATION_DATA, b"data", &mut Vec::new());
        assert_eq!(exhausted, Err(Error::Internal(InternalError::KeyExhausted)));
    }
}

/// Opens the first record and removes it.
fn open(opener: &mut Opener, wire: &mut Vec<u8>) -> (ContentType, Vec<u8>) {
    let frame = opener.frame(wire).unwrap().unwrap();
    let mut record: Vec<u8> = wire.drain(..frame.total).collect();
    let opened = opener.open(frame, &mut record).unwrap().unwrap();
    (opened.content_type, record[opened.plaintext].to_vec())
}
