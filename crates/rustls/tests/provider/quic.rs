//! Packets against the examples of RFC 9001 and RFC 9369, and against rustls' own provider.

#[path = "../../../tls/src/keys/quic/tests/vectors.rs"]
mod vectors;

use rustls::crypto::aws_lc_rs;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::quic::{Algorithm, DirectionalKeys, Keys, Version};
use rustls::{Error, Side, SupportedCipherSuite};
use tercel_rustls::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};

use crate::support::hex;

const TAG_LEN: usize = 16;

fn initial(suite: SupportedCipherSuite, version: Version, side: Side) -> Keys {
    let suite = suite.tls13().unwrap();
    Keys::initial(version, suite, suite.quic.unwrap(), &hex("8394c8f03e515708"), side)
}

/// Protects a packet: header, packet number with its position, frames.
fn protected(
    keys: &DirectionalKeys,
    number: u64,
    at: usize,
    header: &str,
    frames: &[u8],
) -> Vec<u8> {
    let (mut header, mut payload) = (hex(header), frames.to_vec());
    let tag = keys.packet.encrypt_in_place(number, &header, &mut payload).unwrap();
    payload.extend_from_slice(tag.as_ref());
    // The sample begins four bytes after the start of the packet number. RFC 9001 5.4.2
    let number_len = header.len() - at;
    let sample = payload[4 - number_len..][..keys.header.sample_len()].to_vec();
    let (first, rest) = header.split_first_mut().unwrap();
    keys.header.encrypt_in_place(&sample, first, &mut rest[at - 1..]).unwrap();
    [header, payload].concat()
}

/// Opens a packet whose packet number is at `at`. Returns the header and the frames.
fn opened(
    keys: &DirectionalKeys,
    number: u64,
    at: usize,
    mut packet: Vec<u8>,
) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let sample = packet[at + 4..][..keys.header.sample_len()].to_vec();
    let (first, rest) = packet.split_first_mut().unwrap();
    keys.header.decrypt_in_place(&sample, first, &mut rest[at - 1..at + 3])?;
    let header_len = at + 1 + usize::from(packet[0] & 3);
    let (header, payload) = packet.split_at_mut(header_len);
    let frames = keys.packet.decrypt_in_place(number, header, payload)?.to_vec();
    Ok((header.to_vec(), frames))
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
            .map(|side| initial(TLS13_AES_128_GCM_SHA256, version, side));
        let sent = protected(&ours.local, 2, 18, client_header, &frames);
        assert_eq!(sent, hex(client));
        let received = opened(&theirs.remote, 2, 18, sent).unwrap();
        assert_eq!(received, (hex(client_header), frames.clone()));
        let sent = protected(&theirs.local, 1, 18, server_header, &answer);
        assert_eq!(sent, hex(server));
        let received = opened(&ours.remote, 1, 18, sent).unwrap();
        assert_eq!(received, (hex(server_header), answer.clone()));
    }
}

/// RFC 9001 A.5
#[test]
fn a_short_header_packet_with_chacha20_is_that_of_the_example() {
    let quic = TLS13_CHACHA20_POLY1305_SHA256.tls13().unwrap().quic.unwrap();
    let array = |digits| <[u8; 32]>::try_from(hex(digits)).unwrap();
    let key = array("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
    let header = array("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
    let iv = <[u8; 12]>::try_from(hex("e0459b3474bdd0e44a41c144")).unwrap();
    let keys = DirectionalKeys {
        header: quic.header_protection_key(AeadKey::from(header)),
        packet: quic.packet_key(AeadKey::from(key), Iv::from(iv)),
    };
    let packet = protected(&keys, 654_360_564, 1, "4200bff4", &[1]);
    assert_eq!(packet, hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb"));
    let received = opened(&keys, 654_360_564, 1, packet).unwrap();
    assert_eq!(received, (hex("4200bff4"), vec![1]));
}

/// The suites, and those of rustls' own provider.
fn suites() -> [[SupportedCipherSuite; 2]; 3] {
    use aws_lc_rs::cipher_suite as theirs;
    [
        [TLS13_AES_128_GCM_SHA256, theirs::TLS13_AES_128_GCM_SHA256],
        [TLS13_AES_256_GCM_SHA384, theirs::TLS13_AES_256_GCM_SHA384],
        [TLS13_CHACHA20_POLY1305_SHA256, theirs::TLS13_CHACHA20_POLY1305_SHA256],
    ]
}

#[test]
fn packets_are_equal_to_those_of_rustls_own_provider() {
    for suites in suites() {
        let [ours, theirs] = suites.map(|suite| initial(suite, Version::V1, Side::Client));
        for length in (4..100).chain([255, 256, 1200, 1452, 9000]) {
            let frames: Vec<u8> = (0..length).map(|at: u32| at.to_be_bytes()[3]).collect();
            for header in ["40ff", "4100ff", "430000ffff", "c30000000100000044d00000ff"] {
                let at = hex(header).len() - 1 - usize::from(hex(header)[0] & 3);
                let number = u64::from(length) << 30;
                let sent = protected(&ours.local, number, at, header, &frames);
                assert_eq!(sent, protected(&theirs.local, number, at, header, &frames));
                assert_eq!(opened(&ours.local, number, at, sent).unwrap().1, frames);
            }
        }
    }
}

/// draft-ietf-quic-multipath, "Nonce Calculation"
#[test]
fn a_path_has_nonces_of_its_own() {
    for suites in suites() {
        let [ours, theirs] = suites.map(|suite| initial(suite, Version::V1, Side::Client));
        let seal = |keys: &Keys, path, number| {
            let mut payload = [7; 40];
            let tag =
                keys.local.packet.encrypt_in_place_for_path(path, number, b"header", &mut payload);
            [&payload[..], tag.unwrap().as_ref()].concat()
        };
        for (path, number) in [(0, 0), (1, 0), (0, 1), (u32::MAX, u64::MAX), (9, 1 << 61)] {
            let mut sealed = seal(&ours, path, number);
            assert_eq!(sealed, seal(&theirs, path, number));
            let mut on_first_path = sealed.clone();
            let packet = &ours.local.packet;
            let opened = packet.decrypt_in_place_for_path(path, number, b"header", &mut sealed);
            assert_eq!(opened.unwrap(), [7; 40]);
            let opened = packet.decrypt_in_place(number, b"header", &mut on_first_path);
            assert_eq!(opened.is_ok(), path == 0);
        }
    }
}

/// RFC 9001 5.3, 5.4.1
#[test]
fn every_changed_bit_is_refused() {
    for [suite, _] in suites() {
        let keys = initial(suite, Version::V1, Side::Client).local;
        let packet = protected(&keys, 1, 1, "43ffffffff", b"frames");
        assert!(opened(&keys, 1, 1, packet.clone()).is_ok());
        assert_eq!(opened(&keys, 2, 1, packet.clone()), Err(Error::DecryptError));
        for bit in 0..packet.len() * 8 {
            let mut changed = packet.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(opened(&keys, 1, 1, changed), Err(Error::DecryptError), "{bit}");
        }
        for length in 0..TAG_LEN {
            let mut short = vec![0; length];
            let opened = keys.packet.decrypt_in_place(1, b"header", &mut short);
            assert_eq!(opened, Err(Error::DecryptError));
        }
    }
}

/// RFC 9001 5.4.1, 5.4.2
#[test]
fn arguments_of_wrong_lengths_change_nothing() {
    for [suite, _] in suites() {
        let header = initial(suite, Version::V1, Side::Client).local.header;
        for (sample, number) in [(0, 4), (15, 4), (17, 4), (16, 5), (15, 5)] {
            let (sample, mut first, mut number) = (vec![3; sample], 0x43, vec![5; number]);
            let before = number.clone();
            assert!(header.encrypt_in_place(&sample, &mut first, &mut number).is_err());
            assert!(header.decrypt_in_place(&sample, &mut first, &mut number).is_err());
            assert_eq!((first, number), (0x43, before));
        }
    }
}

/// RFC 9001 6.6
#[test]
fn limits_are_those_of_the_algorithm() {
    let limits = |suite: SupportedCipherSuite| {
        let packet = initial(suite, Version::V1, Side::Client).local.packet;
        assert_eq!(packet.tag_len(), TAG_LEN);
        (packet.confidentiality_limit(), packet.integrity_limit())
    };
    for [ours, theirs] in suites() {
        assert_eq!(limits(ours), limits(theirs));
        let quic = |suite: SupportedCipherSuite| -> &'static dyn Algorithm {
            suite.tls13().unwrap().quic.unwrap()
        };
        assert_eq!(quic(ours).aead_key_len(), quic(theirs).aead_key_len());
        assert!(!quic(ours).fips());
    }
    assert_eq!(limits(TLS13_CHACHA20_POLY1305_SHA256), (u64::MAX, 1 << 36));
}
