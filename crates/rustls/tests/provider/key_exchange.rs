//! Both ways to complete an exchange agree, and malformed shares are refused.

use rustls::crypto::SupportedKxGroup;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use tercel_rustls::ALL_KX_GROUPS;
use tercel_rustls::kx_group::{
    MLKEM768, SECP256R1, SECP256R1MLKEM768, SECP384R1, SECP384R1MLKEM1024, SECP521R1, X25519,
    X25519MLKEM768,
};

const REFUSED: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

#[test]
fn both_sides_have_the_same_secret() {
    for group in ALL_KX_GROUPS {
        let client = group.start().unwrap();
        assert_eq!(client.group(), group.name());
        assert!(client.ffdhe_group().is_none() && group.ffdhe_group().is_none());
        let server = group.start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.group, group.name());
        let secret = client.complete_for_tls_version(&server.pub_key, &TLS13).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes(), "{group:?}");
        assert!(!group.fips());
    }
}

/// In TLS 1.2 both sides first make a share each.
#[test]
fn two_shares_have_one_secret() {
    for group in [X25519, SECP256R1, SECP384R1, SECP521R1] {
        let [one, other] = [(); 2].map(|()| group.start().unwrap());
        let shares = [&one, &other].map(|exchange| exchange.pub_key().to_vec());
        let one = one.complete_for_tls_version(&shares[1], &TLS12).unwrap();
        let other = other.complete_for_tls_version(&shares[0], &TLS12).unwrap();
        assert_eq!(one.secret_bytes(), other.secret_bytes());
    }
}

#[test]
fn a_component_of_a_hybrid_is_an_exchange_of_its_own() {
    for (hybrid, component) in
        [(X25519MLKEM768, X25519), (SECP256R1MLKEM768, SECP256R1), (SECP384R1MLKEM1024, SECP384R1)]
    {
        let client = hybrid.start().unwrap();
        let (name, share) = client.hybrid_component().unwrap();
        assert_eq!(name, component.name());
        let server = component.start_and_complete(share).unwrap();
        let secret = client.complete_hybrid_component(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }
    for group in [X25519, SECP256R1, MLKEM768] {
        assert!(group.start().unwrap().hybrid_component().is_none());
    }
}

fn refuses(group: &dyn SupportedKxGroup, share: &[u8]) {
    let by_server = group.start_and_complete(share).map(|_| ());
    let by_client = group.start().unwrap().complete(share).map(|_| ());
    assert_eq!([by_server, by_client], [Err(REFUSED), Err(REFUSED)], "{group:?} {share:02x?}");
}

/// RFC 9846 4.3.8, 7.4.2; RFC 7748 6.1
#[test]
fn malformed_shares_are_refused() {
    for group in ALL_KX_GROUPS {
        let share = group.start().unwrap().pub_key().to_vec();
        refuses(*group, b"");
        refuses(*group, &share[1..]);
        refuses(*group, &[&share[..], &[0]].concat());
    }
    // Shares that give an all-zero secret.
    refuses(X25519, &[0; 32]);
    let mut one = [0; 32];
    one[0] = 1;
    refuses(X25519, &one);
    for group in [SECP256R1, SECP384R1, SECP521R1] {
        let mut share = group.start().unwrap().pub_key().to_vec();
        // The point is not on the curve any more.
        *share.last_mut().unwrap() ^= 1;
        refuses(group, &share);
        // A compressed point, and one of the right length with its first byte.
        *share.last_mut().unwrap() ^= 1;
        share[0] = 2;
        refuses(group, &share);
        refuses(group, &share[..share.len() / 2 + 1]);
        refuses(group, &[0]);
    }
}

/// A coefficient of an encapsulation key is beyond the modulus. FIPS 203 7.2
#[test]
fn an_encapsulation_key_out_of_range_is_refused() {
    for (group, at) in [(MLKEM768, 0), (X25519MLKEM768, 0), (SECP256R1MLKEM768, 65)] {
        let mut share = group.start().unwrap().pub_key().to_vec();
        share[at..at + 3].fill(0xff);
        assert_eq!(group.start_and_complete(&share).map(|_| ()), Err(REFUSED), "{group:?}");
    }
}

#[test]
fn ml_kem_is_for_tls_1_3() {
    for group in ALL_KX_GROUPS {
        let has_ml_kem = ![
            NamedGroup::X25519,
            NamedGroup::secp256r1,
            NamedGroup::secp384r1,
            NamedGroup::secp521r1,
        ]
        .contains(&group.name());
        assert!(group.usable_for_version(ProtocolVersion::TLSv1_3));
        assert_eq!(group.usable_for_version(ProtocolVersion::TLSv1_2), !has_ml_kem, "{group:?}");
    }
}
