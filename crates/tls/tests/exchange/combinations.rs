//! Every version, key type, suite, group and setting of client authentication, in combination.

use tercel::server::ClientAuth;
use tercel::wire::{CipherSuite, NamedGroup, ProtocolVersion};

use crate::fixtures::{KINDS, Kind, NAME, client, credential, roots};
use crate::pair::Pair;

const SUITES_13: [CipherSuite; 3] = [
    CipherSuite::TLS_AES_128_GCM_SHA256,
    CipherSuite::TLS_AES_256_GCM_SHA384,
    CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

const SUITES_12_RSA: [CipherSuite; 3] = [
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

const SUITES_12_ECDSA: [CipherSuite; 3] = [
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
];

const CLASSIC: [NamedGroup; 4] =
    [NamedGroup::X25519, NamedGroup::SECP256R1, NamedGroup::SECP384R1, NamedGroup::SECP521R1];

const POST_QUANTUM: [NamedGroup; 5] = [
    NamedGroup::X25519MLKEM768,
    NamedGroup::SECP256R1MLKEM768,
    NamedGroup::SECP384R1MLKEM1024,
    NamedGroup::MLKEM768,
    NamedGroup::MLKEM1024,
];

#[test]
fn tls13_with_classic_groups() {
    for kind in KINDS {
        all(ProtocolVersion::TLS1_3, kind, &SUITES_13, &CLASSIC);
    }
}

#[test]
fn tls13_with_post_quantum_groups() {
    for kind in KINDS {
        all(ProtocolVersion::TLS1_3, kind, &SUITES_13, &POST_QUANTUM);
    }
}

#[test]
fn tls12() {
    for kind in KINDS {
        let suites = if kind == Kind::Rsa2048 { &SUITES_12_RSA } else { &SUITES_12_ECDSA };
        all(ProtocolVersion::TLS1_2, kind, suites, &CLASSIC);
    }
}

/// Tests each suite with each group, each setting of client authentication, and a client with and
/// without a certificate.
fn all(version: ProtocolVersion, kind: Kind, suites: &[CipherSuite], groups: &[NamedGroup]) {
    let demands = [
        (ClientAuth::None, true),
        (ClientAuth::Optional, false),
        (ClientAuth::Optional, true),
        (ClientAuth::Required, true),
    ];
    for suite in suites {
        for group in groups {
            for (demand, shows) in demands {
                one(version, kind, *suite, *group, demand, shows);
            }
        }
    }
}

fn one(
    version: ProtocolVersion,
    kind: Kind,
    suite: CipherSuite,
    group: NamedGroup,
    demand: ClientAuth,
    shows: bool,
) {
    let what = format!("{version:?} {kind:?} {suite:?} {group:?} {demand:?} {shows}");
    // The curve of a certificate's key must be among the groups of a TLS 1.2 client. RFC 8422 5.1
    let mut groups = vec![group];
    groups.extend(CLASSIC.iter().filter(|classic| **classic != group));
    let mut client = client().versions(&[version]).groups(&groups);
    if shows {
        client = client.credential(credential(kind));
    }
    let server = tercel::ServerConfig::builder()
        .cipher_suites(&[suite])
        .groups(&[group])
        .credential(credential(kind))
        .client_auth(demand, roots())
        .build()
        .unwrap();
    let mut ends = Pair::new(&client.build().unwrap(), &server, NAME)
        .connect()
        .unwrap_or_else(|failure| panic!("{what}: {failure:?}"));

    let (client, server) = (&ends.client.connection.info, &ends.server.connection.info);
    assert_eq!((client.version, server.version), (version, version), "{what}");
    assert_eq!((client.cipher_suite, server.cipher_suite), (suite, suite), "{what}");
    assert_eq!((client.group, server.group), (Some(group), Some(group)), "{what}");
    assert!(client.peer_signature_scheme.is_some(), "{what}");
    assert_eq!(client.peer_signature_scheme, server.own_signature_scheme, "{what}");
    assert_eq!(server.peer_signature_scheme, client.own_signature_scheme, "{what}");
    assert_eq!(client.peer_chain().len(), 1, "{what}");
    let shown = shows && demand != ClientAuth::None;
    assert_eq!(server.peer_chain().len(), usize::from(shown), "{what}");
    assert_eq!(server.server_name.as_deref(), Some(NAME), "{what}");
    ends.talk();
}
