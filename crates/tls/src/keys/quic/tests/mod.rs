//! The published examples of packet protection, byte for byte. RFC 9001 A, RFC 9369 A

mod vectors;

use tercel_crypto::{AeadAlgorithm, CryptoError, HashAlgorithm, Prk, ShortSecret};

use super::initial::{initial_keys, is_valid_retry, retry_tag};
use super::tokens::{ResetKey, TokenKey};
use super::update::KeyUpdates;
use super::{DirectionKeys, Keys, Material, PacketKey, TrafficSecret, Version};
use crate::side::Side;

const VERSIONS: [Version; 2] = [Version::V1, Version::V2];

fn hex(digits: &str) -> Vec<u8> {
    assert_eq!(digits.len() % 2, 0);
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The Destination Connection ID of the client's first packet in the examples.
fn connection_id() -> Vec<u8> {
    hex("8394c8f03e515708")
}

/// Protects a packet: header, packet number with its position, frames.
fn protected(keys: &DirectionKeys, number: u64, at: usize, header: &str, frames: &[u8]) -> Vec<u8> {
    let mut packet = hex(header);
    let header = packet.clone();
    let mut payload = [frames, &[0; PacketKey::TAG_LEN]].concat();
    keys.packet.seal(number, &header, &mut payload).unwrap();
    packet.append(&mut payload);
    assert!(keys.header.protect(at, &mut packet));
    packet
}

/// Opens a packet whose header has this length.
fn opened(
    keys: &DirectionKeys,
    number: u64,
    at: usize,
    header_length: usize,
    mut packet: Vec<u8>,
) -> Result<(Vec<u8>, Vec<u8>), CryptoError> {
    assert!(keys.header.unprotect(at, &mut packet));
    let (header, payload) = packet.split_at_mut(header_length);
    let length = keys.packet.open(number, header, payload)?;
    Ok((header.to_vec(), payload[..length].to_vec()))
}

/// RFC 9001 A.1, 5.2, 5.1; RFC 9369 A.1, 3.3.1, 3.3.2
#[test]
fn material_of_initial_packets_is_that_of_the_examples() {
    for (version, client, server) in [
        (
            Version::V1,
            "1f369613dd76d5467730efcbe3b1a22d9f50449e04a0e810283a1e9933adedd2\
             fa044b2f42a3fd3b46fb255c",
            "cf3a5331653c364c88f0f379b6067e37c206b8d9b9f0f37644430b490eeaa314\
             0ac1493ca1905853b0bba03e",
        ),
        (
            Version::V2,
            "8b1a0bc121284290a29e0971b5cd045d45b95e15235d6f45a6b19cbcb0294ba9\
             91f73e2351d8fa91660e909f",
            "82db637861d55e1d011f19ea71d5d2a7edf6d05c83121201b436e16877593c3a\
             dd13c276499c0249d3310652",
        ),
    ] {
        let secrets = match version {
            Version::V1 => [
                "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
                "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
            ],
            Version::V2 => [
                "14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b",
                "0263db1782731bf4588e7e4d93b7463907cb8cd8200b5da55a8bd488eafc37c1",
            ],
        };
        let prks = secrets.map(|secret| Prk::from_bytes(HashAlgorithm::Sha256, &hex(secret)));
        let made = Material::derive(version, AeadAlgorithm::Aes128Gcm, prks.each_ref());
        let made = made.map(|material| material.0.as_bytes().to_vec());
        assert_eq!(made, [hex(client), hex(server)]);
    }
}

/// RFC 9001 A.2, A.3; RFC 9369 A.2, A.3
#[test]
fn initial_packets_are_those_of_the_examples() {
    let mut frames = hex(vectors::CLIENT_PAYLOAD);
    frames.resize(1162, 0);
    let answer = hex(vectors::SERVER_PAYLOAD);
    for (version, client_header, server_header, client, server) in [
        (
            Version::V1,
            "c300000001088394c8f03e5157080000449e00000002",
            "c1000000010008f067a5502a4262b50040750001",
            vectors::CLIENT_INITIAL_V1,
            vectors::SERVER_INITIAL_V1,
        ),
        (
            Version::V2,
            "d36b3343cf088394c8f03e5157080000449e00000002",
            "d16b3343cf0008f067a5502a4262b50040750001",
            vectors::CLIENT_INITIAL_V2,
            vectors::SERVER_INITIAL_V2,
        ),
    ] {
        let [ours, theirs] = [Side::Client, Side::Server]
            .map(|side| initial_keys(version, &connection_id(), side).unwrap());
        let sent = protected(&ours.local, 2, 18, client_header, &frames);
        assert_eq!(sent, hex(client));
        let received = opened(&theirs.remote, 2, 18, 22, sent).unwrap();
        assert_eq!(received, (hex(client_header), frames.clone()));
        let sent = protected(&theirs.local, 1, 18, server_header, &answer);
        assert_eq!(sent, hex(server));
        let received = opened(&ours.remote, 1, 18, 20, sent).unwrap();
        assert_eq!(received, (hex(server_header), answer.clone()));
    }
}

/// RFC 9001 A.4, 5.8; RFC 9369 A.4, 3.3.3
#[test]
fn retry_packets_are_those_of_the_examples() {
    for (version, packet) in [
        (Version::V1, "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba"),
        (Version::V2, "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6"),
    ] {
        let packet = hex(packet);
        let (body, tag) = packet.split_at(packet.len() - 16);
        assert_eq!(retry_tag(version, &connection_id(), body).unwrap(), tag);
        assert!(is_valid_retry(version, &connection_id(), &packet));
        for bit in 0..packet.len() * 8 {
            let mut changed = packet.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_valid_retry(version, &connection_id(), &changed), "{version:?} {bit}");
        }
        assert!(!is_valid_retry(version, b"another ID", &packet));
        assert!(!is_valid_retry(version, &connection_id(), &packet[..15]));
        let other = VERSIONS.into_iter().find(|other| *other != version).unwrap();
        assert!(!is_valid_retry(other, &connection_id(), &packet));
    }
}

const CHACHA_SECRET: &str = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";

fn chacha_secret(secret: &[u8]) -> TrafficSecret {
    let aead = AeadAlgorithm::ChaCha20Poly1305;
    TrafficSecret::of(HashAlgorithm::Sha256, aead, ShortSecret::new(secret))
}

/// RFC 9001 A.5, 5.1, 6.1; RFC 9369 A.5
#[test]
fn a_short_header_packet_with_chacha20_is_that_of_the_examples() {
    for (version, packet, next) in [
        (
            Version::V1,
            "4cfe4189655e5cd55c41f69080575d7999c25a5bfb",
            "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9",
        ),
        (
            Version::V2,
            "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba",
            "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88",
        ),
    ] {
        let secret = || chacha_secret(&hex(CHACHA_SECRET));
        let keys = DirectionKeys::derive(version, &secret()).unwrap();
        let number = 654_360_564;
        assert_eq!(protected(&keys, number, 1, "4200bff4", &[1]), hex(packet));
        let received = opened(&keys, number, 1, 4, hex(packet)).unwrap();
        assert_eq!(received, (hex("4200bff4"), vec![1]));
        // The keys of a phase are those of the next secret.
        let mut updates =
            KeyUpdates::new(version, Box::new(secret()), Box::new(chacha_secret(&[7; 32])));
        let updated = updates.next_keys().unwrap();
        let expected = DirectionKeys::derive(version, &chacha_secret(&hex(next))).unwrap();
        let sealed = |key: &PacketKey| {
            let mut payload = [0; 17];
            key.seal(5, b"header", &mut payload).unwrap();
            payload
        };
        assert_eq!(sealed(&updated.local), sealed(&expected.packet));
        assert_ne!(sealed(&updated.local), sealed(&keys.packet));
        assert_ne!(sealed(&updates.next_keys().unwrap().local), sealed(&updated.local));
    }
}

/// RFC 9001 5.3, 5.4.1
#[test]
fn every_changed_bit_and_every_other_packet_number_is_refused() {
    let secret = |algorithm, byte| {
        TrafficSecret::of(HashAlgorithm::Sha256, algorithm, ShortSecret::new(&[byte; 32]))
    };
    use AeadAlgorithm::{Aes128Gcm, Aes256Gcm, ChaCha20Poly1305};
    for algorithm in [Aes128Gcm, Aes256Gcm, ChaCha20Poly1305] {
        let keys = Keys::derive(Version::V1, &secret(algorithm, 1), &secret(algorithm, 2)).unwrap();
        let (last, header) = ((1 << 62) - 1, "43ffffffff");
        for number in [0, 1, last] {
            let packet = protected(&keys.local, number, 1, header, b"frames");
            let open = |number, packet| opened(&keys.local, number, 1, 5, packet);
            let expected = (hex(header), b"frames".to_vec());
            assert_eq!(open(number, packet.clone()), Ok(expected));
            for other in [0, 1, 1 << 32, last - 1, last] {
                let is_open = open(other, packet.clone()).is_ok();
                assert_eq!(is_open, other == number, "{algorithm:?} {number} {other}");
            }
            for bit in 0..packet.len() * 8 {
                let mut changed = packet.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(open(number, changed), Err(CryptoError::Rejected), "{bit}");
            }
            let with_other_key = opened(&keys.remote, number, 1, 5, packet);
            assert_eq!(with_other_key, Err(CryptoError::Rejected));
        }
    }
}

/// RFC 9001 5.4.1, 5.4.2
#[test]
fn only_the_packet_number_and_the_protected_bits_of_a_header_change() {
    let keys = initial_keys(Version::V1, b"id", Side::Client).unwrap().local;
    for first in 0..=0xff_u8 {
        let mut packet = [0x55; 1 + 4 + 16];
        packet[0] = first;
        let before = packet;
        assert!(keys.header.protect(1, &mut packet));
        let unprotected_bits = if first & 0x80 == 0 { 0xe0 } else { 0xf0 };
        assert_eq!(packet[0] & unprotected_bits, first & unprotected_bits);
        let length = 1 + usize::from(first & 3);
        assert_eq!(packet[1 + length..], before[1 + length..]);
        assert!(keys.header.unprotect(1, &mut packet));
        assert_eq!(packet, before);
    }
    for (at, length) in [(1, 20), (0, 30), (31, 30), (usize::MAX, 30)] {
        let mut packet = vec![0x55; length];
        assert!(!keys.header.protect(at, &mut packet));
        assert!(!keys.header.unprotect(at, &mut packet));
        assert_eq!(packet, vec![0x55; length]);
    }
}

/// RFC 9001 6.6, B.1
#[test]
fn limits_are_those_of_the_algorithm() {
    let limits = |algorithm: AeadAlgorithm| {
        let key = vec![1; algorithm.key_len()];
        let key = PacketKey::new(algorithm, &key, &[2; 12]).unwrap();
        (key.confidentiality_limit(), key.integrity_limit())
    };
    assert_eq!(limits(AeadAlgorithm::Aes128Gcm), (1 << 23, 1 << 52));
    assert_eq!(limits(AeadAlgorithm::Aes256Gcm), (1 << 23, 1 << 52));
    assert_eq!(limits(AeadAlgorithm::ChaCha20Poly1305), (u64::MAX, 1 << 36));
}

/// RFC 9000 15, RFC 9369 3.1
#[test]
fn versions_have_the_registered_numbers() {
    for version in VERSIONS {
        assert_eq!(Version::from_number(version.number()), Some(version));
    }
    assert_eq!(Version::V1.number(), 1);
    assert_eq!(Version::V2.number(), 0x6b33_43cf);
    assert_eq!(Version::from_number(0xff00_001d), None);
}

/// RFC 9000 10.3, 10.3.2, 8.1, 8.1.4
#[test]
fn reset_and_token_keys_accept_only_their_own_values() {
    let (one, other) = (ResetKey::new(&[1; 32]), ResetKey::random().unwrap());
    let signature = one.sign(b"connection");
    assert_eq!(signature, ResetKey::new(&[1; 32]).sign(b"connection"));
    assert!(one.verify(b"connection", &signature));
    assert!(!one.verify(b"connectioN", &signature));
    assert!(!one.verify(b"connection", &signature[..31]));
    assert!(!other.verify(b"connection", &signature));

    let (one, other) = (TokenKey::new(&[1; 32]), TokenKey::random().unwrap());
    let mut token = b"address".to_vec();
    one.for_token(b"random").unwrap().seal(&mut token, b"data").unwrap();
    let open = |key: &TokenKey, random: &[u8], data: &[u8]| {
        let mut token = token.clone();
        let length = key.for_token(random).unwrap().open(&mut token, data)?;
        Ok(token[..length].to_vec())
    };
    assert_eq!(open(&one, b"random", b"data"), Ok(b"address".to_vec()));
    assert_eq!(open(&TokenKey::new(&[1; 32]), b"random", b"data"), Ok(b"address".to_vec()));
    assert_eq!(open(&other, b"random", b"data"), Err(CryptoError::Rejected));
    assert_eq!(open(&one, b"randoM", b"data"), Err(CryptoError::Rejected));
    assert_eq!(open(&one, b"random", b"datA"), Err(CryptoError::Rejected));
}
