//! Encoding of sessions: round trips, truncation, damage and other versions.

use pki_types::CertificateDer;

use super::client_session::ClientSession;
use super::*;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// A TLS 1.3 session without optional fields, and a TLS 1.2 session with all of them.
fn sessions() -> [Session; 2] {
    let tls13 = suite::find(CipherSuite::TLS_AES_256_GCM_SHA384).unwrap();
    let tls12 = suite::find(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256).unwrap();
    let bare = Session {
        secret: Secret::new(&[7; 48]),
        lifetime: 7200,
        ..Session::new(tls13, 1000, None)
    };
    let full = Session {
        secret: Secret::new(&[8; 48]),
        extended: true,
        lifetime: u32::MAX,
        age_add: 5,
        max_early_data: 6,
        replay_guard: Some(Box::new([9; 16])),
        group: Some(NamedGroup::X25519),
        peer_signature_scheme: Some(SignatureScheme::ED25519),
        server_name: Some("server.example".to_owned()),
        alpn: Some(b"h2".to_vec()),
        context_digest: ContextDigest::new(&[1; 16], None),
        credential: Some(SessionCredential::for_tests(9)),
        identity: vec![2; 300],
        by_ticket: true,
        peer_chain: vec![CertificateDer::from(vec![3; 70]), CertificateDer::from(vec![4; 80])]
            .into(),
        peer_raw_public_key: Some(vec![5; 44].into()),
        ocsp_response: Some(vec![6; 30]),
        signed_certificate_timestamps: Some(vec![7; 20]),
        ..Session::new(tls12, 2000, Some(1500))
    };
    [bare, full]
}

#[test]
fn a_clients_session_knows_the_lifetime_of_its_ticket() {
    let [tls13, tls12] = sessions();
    let by_id = Session { by_ticket: false, ..tls12.duplicate() };
    let lifetime = |session| ClientSession::new(Box::new(session)).ticket_lifetime();
    assert_eq!(lifetime(tls13), Some(7200));
    assert_eq!(lifetime(tls12), Some(u32::MAX));
    assert_eq!(lifetime(by_id), None);
}

#[test]
fn sessions_are_restored_from_their_bytes() {
    for session in sessions() {
        let bytes = session.to_bytes().unwrap();
        let again = Session::from_bytes(&bytes).unwrap();
        assert_eq!(again.to_bytes().unwrap(), bytes);
        assert_eq!(again.secret.as_bytes(), session.secret.as_bytes());
        assert_eq!(again.expires(), session.expires());
        assert_eq!((again.extended, again.by_ticket), (session.extended, session.by_ticket));
        assert_eq!(again.peer_chain, session.peer_chain);
        let stored = session.to_stored_bytes().unwrap();
        let again = Session::from_stored_bytes(&stored).unwrap();
        assert_eq!(again.to_stored_bytes().unwrap(), stored);
    }
}

#[test]
fn writing_does_not_grow_the_buffer() {
    for session in sessions() {
        assert_eq!(session.to_bytes().unwrap().capacity(), session.max_encoded_length());
        assert_eq!(session.to_stored_bytes().unwrap().capacity(), session.max_encoded_length());
    }
    // A session with every field at its longest.
    let [_, mut full] = sessions();
    full.server_name = Some("n".repeat(255));
    full.alpn = Some(vec![1; 255]);
    full.context_digest = ContextDigest::read(&[1; ContextDigest::MAX_LENGTH]).unwrap();
    full.identity = vec![2; 0xffff];
    full.pre_shared_key =
        Some(PskReference { external_identity: vec![3; 0xffff], fingerprint: [4; 32] });
    full.peer_chain = vec![CertificateDer::from(vec![5; 1]); 1000].into();
    full.peer_raw_public_key = Some(vec![6; 0xffff].into());
    full.peer_certificate_digest = Some([7; 32]);
    assert_eq!(full.to_stored_bytes().unwrap().capacity(), full.max_encoded_length());
}

type Read = fn(&[u8]) -> Option<Session>;

#[test]
fn every_other_length_is_refused() {
    for session in sessions() {
        let sealed = (session.to_bytes().unwrap(), Session::from_bytes as Read);
        let stored = (session.to_stored_bytes().unwrap(), Session::from_stored_bytes as Read);
        for (bytes, read) in [sealed, stored] {
            for length in 0..bytes.len() {
                assert!(read(&bytes[..length]).is_none(), "length {length}");
            }
            for more in 1..40 {
                let longer = [&bytes[..], &vec![0; more]].concat();
                assert!(read(&longer).is_none(), "{more} bytes more");
            }
        }
    }
}

#[test]
fn every_changed_bit_of_a_stored_session_is_detected() {
    for session in sessions() {
        let bytes = session.to_stored_bytes().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Session::from_stored_bytes(&damaged).is_none(), "bit {bit}");
        }
    }
}

#[test]
fn every_two_changed_bits_are_detected_also_in_the_checksum() {
    // The content has two steps of each lane, and a remainder of one and a half words.
    let content: Vec<u8> = (0..2 * 32 + 12).collect();
    let whole = [content.as_slice(), &checksum(&content)].concat();
    let flip = |bytes: &mut [u8], bit: usize| bytes[bit / 8] ^= 1 << (bit % 8);
    let mut damaged = whole.clone();
    for first in 0..whole.len() * 8 {
        flip(&mut damaged, first);
        for second in 0..first {
            flip(&mut damaged, second);
            let (content, found) = damaged.split_last_chunk().unwrap();
            assert_ne!(checksum(content), *found, "bits {second} and {first}");
            flip(&mut damaged, second);
        }
        flip(&mut damaged, first);
    }
    assert_eq!(damaged, whole);
}

/// The bytes in tickets have no checksum, since sealing detects damage. If damaged bytes can be
/// decoded nevertheless, the result has the damaged bytes as its encoding.
#[test]
fn no_two_encodings_are_one_session() {
    for session in sessions() {
        let bytes = session.to_bytes().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            if let Some(read) = Session::from_bytes(&other) {
                assert_eq!(read.to_bytes().unwrap(), other, "bit {bit}");
                // No value of `now` causes an overflow.
                for now in [0, 1000, u64::MAX] {
                    read.is_unexpired(at(now));
                }
                read.expires();
            }
        }
    }
}

/// RFC 5246 8.1
#[test]
fn another_format_version_suite_or_secret_is_refused() {
    for session in sessions() {
        let bytes = session.to_bytes().unwrap();
        let with = |place: usize, value: &[u8]| {
            let mut other = bytes.clone();
            other[place..place + value.len()].copy_from_slice(value);
            Session::from_bytes(&other).is_none()
        };
        for format in (0..=u8::MAX).filter(|format| *format != FORMAT) {
            assert!(with(0, &[format]), "format {format}");
        }
        let other_version = if session.version == ProtocolVersion::TLS1_3 { 3 } else { 4 };
        assert!(with(1, &[3, other_version]), "a suite of another version");
        assert!(with(3, &[0x13, 0xff]), "an unknown suite");
        assert!(with(5, &[47]), "a secret of another length");
        assert!(with(54, &[16]), "an unknown flag");
    }
    let [tls13, _] = sessions();
    let mut bytes = tls13.to_bytes().unwrap();
    // TLS_AES_128_GCM_SHA256 with a secret of 48 bytes.
    bytes[3..5].copy_from_slice(&[0x13, 1]);
    assert!(Session::from_bytes(&bytes).is_none());
}

#[test]
fn a_field_too_long_for_its_length_prefix_is_not_written() {
    let [_, mut session] = sessions();
    session.identity = vec![0; 0x1_0000];
    assert!(session.to_bytes().is_none() && session.to_stored_bytes().is_none());
}
