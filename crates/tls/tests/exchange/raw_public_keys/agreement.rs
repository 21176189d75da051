//! Which form each side shows: agreed on, declined, or answered otherwise than was offered.
//!
//! Must not know: whom anybody trusts. Next: `trust.rs`.

use tercel::wire::{AlertDescription, ExtensionType, ProtocolVersion};
use tercel::{ClientAuth, Error, Peer, Policy};

use super::{RAW, VERSIONS, X509, client_of, connect, error, public, raw, server_with};
use crate::identity::{self, KINDS, Kind, NAME, credential, roots};
use crate::pair::{Delivery, Pair};

#[test]
fn a_server_shows_a_key_of_each_kind() {
    for version in VERSIONS {
        for kind in KINDS {
            let mut ends = connect(client_of(kind, version), server_with([raw(kind)])).unwrap();
            let facts = &ends.client.connection.facts;
            assert_eq!(facts.version, version);
            assert_eq!(facts.server_certificate_type, RAW);
            assert_eq!(facts.peer_raw_public_key, Some(public(kind)));
            assert!(facts.peer_chain().is_empty());
            assert_eq!(ends.server.connection.facts.server_certificate_type, RAW);
            ends.talk();
        }
    }
}

#[test]
fn both_sides_show_keys_one_byte_at_a_time() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version).credential(raw(Kind::Ed25519));
        let trusted = vec![public(Kind::P384), public(Kind::Ed25519)];
        let server = server_with([raw(Kind::P256)]).client_raw_keys(ClientAuth::Required, trusted);
        let (client, server) = (client.build().unwrap(), server.build().unwrap());
        let pair = Pair::new(&client, &server, NAME).delivery(Delivery::Bytes);
        let mut ends = pair.connect().unwrap();
        let facts = &ends.server.connection.facts;
        assert_eq!(facts.client_certificate_type, RAW);
        assert_eq!(facts.peer_raw_public_key, Some(public(Kind::Ed25519)));
        assert_eq!(ends.client.connection.facts.client_certificate_type, RAW);
        ends.talk();
    }
}

#[test]
fn a_key_for_the_one_and_a_chain_for_the_other() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version).credential(credential(Kind::P384));
        let server = server_with([raw(Kind::P256)]).client_auth(ClientAuth::Required, roots());
        let ends = connect(client, server).unwrap();
        assert_eq!(ends.server.connection.facts.peer_chain().len(), 1);
        assert_eq!(ends.server.connection.facts.client_certificate_type, X509);

        let client = identity::client().versions(&[version]).credential(raw(Kind::P384));
        let trusted = vec![public(Kind::P384)];
        let server = identity::server().client_raw_keys(ClientAuth::Required, trusted);
        let ends = connect(client, server).unwrap();
        assert_eq!(ends.server.connection.facts.peer_raw_public_key, Some(public(Kind::P384)));
        assert_eq!(ends.client.connection.facts.peer_chain().len(), 1);
    }
}

#[test]
fn the_server_s_order_decides_among_what_the_client_accepts() {
    for version in VERSIONS {
        for (types, order, expected) in [
            (&[RAW, X509][..], [RAW, X509], RAW),
            (&[X509, RAW], [RAW, X509], RAW),
            (&[RAW, X509], [X509, RAW], X509),
            (&[RAW], [X509, RAW], RAW),
            (&[X509], [RAW, X509], X509),
        ] {
            let client = identity::client()
                .versions(&[version])
                .trusted_raw_keys(vec![public(Kind::P256)])
                .server_certificate_types(types);
            let server = server_with(order.map(|kind| match kind {
                RAW => raw(Kind::P256),
                _ => credential(Kind::P384),
            }));
            let ends = connect(client, server).unwrap();
            let facts = &ends.client.connection.facts;
            assert_eq!(facts.server_certificate_type, expected, "{types:?} {order:?}");
            assert_eq!(facts.peer_raw_public_key.is_some(), expected == RAW);
        }
    }
}

#[test]
fn without_a_common_type_nobody_connects() {
    for version in VERSIONS {
        let none_in_common = error(Peer::NoCommonCertificateType);
        // The client accepts keys only, and then chains only.
        let failure =
            connect(client_of(Kind::P256, version), server_with([credential(Kind::P256)]));
        assert_eq!(failure.unwrap_err().server, none_in_common);
        let client = identity::client().versions(&[version]);
        let failure = connect(client, server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.server, none_in_common);
        let told = Error::AlertReceived(AlertDescription::UNSUPPORTED_CERTIFICATE);
        assert_eq!(failure.client, Some(told));
        // The server wants a key of a client that has a chain to show.
        for demand in [ClientAuth::Optional, ClientAuth::Required] {
            let client = identity::client().versions(&[version]).credential(credential(Kind::P256));
            let server = identity::server().client_raw_keys(demand, vec![public(Kind::P256)]);
            assert_eq!(connect(client, server).unwrap_err().server, none_in_common);
        }
        // And a chain of one that has a key.
        let client = identity::client().versions(&[version]).credential(raw(Kind::P256));
        let server = identity::server().client_auth(ClientAuth::Required, roots());
        assert_eq!(connect(client, server).unwrap_err().server, none_in_common);
    }
}

#[test]
fn a_client_of_both_forms_shows_the_one_the_server_prefers() {
    for version in VERSIONS {
        for (types, expected) in [(&[RAW, X509][..], RAW), (&[X509, RAW], X509), (&[X509], X509)] {
            let own = vec![raw(Kind::P256), credential(Kind::P384)];
            let client = identity::client()
                .versions(&[version])
                .credentials(Policy::Here(std::sync::Arc::new(tercel::Credentials::new(own))))
                .client_certificate_types(&[X509, RAW]);
            let server = identity::server()
                .client_auth(ClientAuth::Required, roots())
                .client_raw_keys(ClientAuth::Required, vec![public(Kind::P256)])
                .client_certificate_types(types);
            let ends = connect(client, server).unwrap();
            let facts = &ends.server.connection.facts;
            assert_eq!(facts.client_certificate_type, expected);
            assert_eq!(facts.peer_raw_public_key.is_some(), expected == RAW);
        }
    }
}

#[test]
fn a_client_without_a_key_may_decline() {
    for version in VERSIONS {
        let client = || {
            let types = [RAW];
            identity::client().versions(&[version]).client_certificate_types(&types)
        };
        let server = |demand| identity::server().client_raw_keys(demand, vec![public(Kind::P256)]);
        let ends = connect(client(), server(ClientAuth::Optional)).unwrap();
        assert_eq!(ends.server.connection.facts.peer_raw_public_key, None);
        let failure = connect(client(), server(ClientAuth::Required)).unwrap_err();
        let expected = match version {
            ProtocolVersion::TLS1_3 => Peer::CertificateRequired,
            _ => Peer::CertificateRequiredTls12,
        };
        assert_eq!(failure.server, error(expected));
    }
}

#[test]
fn a_server_that_asks_for_nothing_need_not_know_the_client_s_type() {
    for version in VERSIONS {
        let client = identity::client().versions(&[version]).credential(raw(Kind::P256));
        connect(client, identity::server()).unwrap().talk();
    }
}

#[test]
fn an_answer_the_client_did_not_offer_is_refused() {
    // A key in place of the chain agreed on: the first two bytes of the answer's body are its type.
    let client = client_of(Kind::P256, ProtocolVersion::TLS1_2);
    let (client, server) = (client.build().unwrap(), server_with([raw(Kind::P256)]));
    let answer = |chosen: u8| [0, 20, 0, 1, chosen];
    let tap = |bytes: &mut Vec<u8>| {
        if let Some(at) = bytes.windows(5).position(|window| window == answer(2)) {
            bytes[at..at + 5].copy_from_slice(&answer(0));
        }
    };
    let server = server.build().unwrap();
    let failure = Pair::new(&client, &server, NAME).tap_to_client(tap).connect().unwrap_err();
    assert_eq!(failure.client, error(Peer::NoCommonCertificateType));
    let told = Error::AlertReceived(AlertDescription::UNSUPPORTED_CERTIFICATE);
    assert_eq!(failure.server, Some(told));
}

#[test]
fn a_list_that_says_what_silence_says_is_refused() {
    for extension in
        [ExtensionType::SERVER_CERTIFICATE_TYPE, ExtensionType::CLIENT_CERTIFICATE_TYPE]
    {
        let client = identity::client()
            .trusted_raw_keys(vec![public(Kind::P256)])
            .server_certificate_types(&[RAW])
            .client_certificate_types(&[RAW])
            .build()
            .unwrap();
        let server = identity::server().build().unwrap();
        let [high, low] = extension.0.to_be_bytes();
        let tap = |bytes: &mut Vec<u8>| {
            let offer = [high, low, 0, 2, 1, 2];
            if let Some(at) = bytes.windows(6).position(|window| window == offer) {
                bytes[at + 5] = 0;
            }
        };
        let failure = Pair::new(&client, &server, NAME).tap_to_server(tap).connect().unwrap_err();
        assert_eq!(failure.server, error(Peer::PointlessCertificateType));
        let told = Error::AlertReceived(AlertDescription::ILLEGAL_PARAMETER);
        assert_eq!(failure.client, Some(told));
    }
}
