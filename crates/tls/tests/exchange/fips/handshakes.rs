//! Handshakes with each permitted suite, group and kind of key, and with resumption.

use std::sync::Arc;
use std::time::Duration;

use tercel::pki_types::UnixTime;
use tercel::server::ClientAuth;
use tercel::session::{ReplayGuard, ServerMemoryStore};
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};
use tercel::{ClientConfig, EarlyData, Policy, ServerConfig};

use super::{approved, server_with_rsa};
use crate::fixtures::{KINDS, NAME, client, credential, roots, server};
use crate::pair::{Ends, Pair};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

/// Asserts that both ends are approved, and that they can exchange data.
#[track_caller]
fn assert_approved(mut ends: Ends) -> Ends {
    for end in [&ends.client, &ends.server] {
        assert_eq!(end.connection.info.fips, approved());
    }
    ends.talk();
    ends
}

#[test]
fn every_permitted_suite() {
    for suite in [
        CipherSuite::TLS_AES_128_GCM_SHA256,
        CipherSuite::TLS_AES_256_GCM_SHA384,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ] {
        let client = client().fips(true).cipher_suites(&[suite]).build().unwrap();
        let server = server_with_rsa().fips(true).build().unwrap();
        assert_eq!((client.fips(), server.fips()), (approved(), approved()));
        let ends = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
        assert_eq!(ends.client.connection.info.cipher_suite, suite);
        assert!(ends.client.connection.info.extended_main_secret);
    }
}

#[test]
fn every_permitted_group() {
    for (group, versions) in [
        (NamedGroup::SECP256R1, &VERSIONS[..]),
        (NamedGroup::SECP384R1, &VERSIONS[..]),
        (NamedGroup::SECP521R1, &VERSIONS[..]),
        (NamedGroup::X25519MLKEM768, &VERSIONS[..1]),
        (NamedGroup::SECP256R1MLKEM768, &VERSIONS[..1]),
        (NamedGroup::SECP384R1MLKEM1024, &VERSIONS[..1]),
    ] {
        for version in versions {
            // In TLS 1.2 the curve of the server's certificate has to be enabled, too.
            let groups = [group, NamedGroup::SECP256R1];
            let groups = if group == NamedGroup::SECP256R1 { &groups[1..] } else { &groups[..] };
            let client = client().fips(true).versions(&[*version]).groups(groups);
            let client = client.build().unwrap();
            let server = server_with_rsa().fips(true).groups(groups).build().unwrap();
            let ends = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
            assert_eq!(ends.server.connection.info.group, Some(group), "{version}");
        }
    }
}

#[test]
fn every_kind_of_key_on_both_sides() {
    for version in VERSIONS {
        for kind in KINDS {
            let client = client().fips(true).versions(&[version]).credential(credential(kind));
            let client = client.build().unwrap();
            let server = ServerConfig::builder()
                .fips(true)
                .credential(credential(kind))
                .client_auth(ClientAuth::Required, roots())
                .build()
                .unwrap();
            let ends = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
            assert_eq!(ends.server.connection.info.peer_chain().len(), 1, "{kind:?} {version}");
        }
    }
}

#[test]
fn ml_dsa() {
    for scheme in crate::ml_dsa::SCHEMES {
        let (credential, roots) = crate::ml_dsa::identity(scheme);
        let client = ClientConfig::builder().roots(roots).fips(true).build().unwrap();
        let server = ServerConfig::builder().credential(credential).fips(true).build().unwrap();
        let ends = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
        assert_eq!(ends.client.connection.info.peer_signature_scheme, Some(scheme));
    }
}

#[test]
fn resumption_by_tickets_and_by_a_store() {
    let store = || Policy::Here(Arc::new(ServerMemoryStore::default()) as Arc<_>);
    for version in VERSIONS {
        let servers = [server(), server().without_tickets().session_store(store())];
        for server in servers.map(|server| server.fips(true).build().unwrap()) {
            let client = client().fips(true).versions(&[version]).build().unwrap();
            let first = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
            assert!(!first.client.connection.info.resumed);
            let second = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
            assert!(second.client.connection.info.resumed, "{version}");
        }
    }
}

#[test]
fn early_data() {
    let guard = ReplayGuard::new(100, UnixTime::since_unix_epoch(Duration::ZERO));
    let server = server().early_data(1000, Policy::Here(Arc::new(guard))).fips(true);
    let server = server.build().unwrap();
    let client = client().early_data(true).fips(true).build().unwrap();
    assert_eq!((client.fips(), server.fips()), (approved(), approved()));
    assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
    let second = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
    assert_eq!(second.server.connection.info.early_data, EarlyData::Accepted);
}

#[test]
fn a_retry() {
    let client = client().fips(true).build().unwrap();
    let server = server_with_rsa().fips(true).groups(&[NamedGroup::SECP384R1]).build().unwrap();
    let ends = assert_approved(Pair::new(&client, &server, NAME).connect().unwrap());
    assert!(ends.client.connection.info.retried);
}
