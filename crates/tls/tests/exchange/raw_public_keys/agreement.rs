//! The certificate type that each side sends: negotiated, declined, or answered against the offer.

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{Error, Policy, error::PeerError, server::ClientAuth};
use tercel_wire::ExtensionType;

use super::{RAW, VERSIONS, X509, client_of, connect, error, public, raw, server_with};
use crate::fixtures::{self, KINDS, Kind, NAME, credential, roots};
use crate::pair::{Delivery, Pair};

/// RFC 7250 4
#[test]
fn a_server_sends_a_raw_key_of_each_type() {
    for version in VERSIONS {
        for kind in KINDS {
            let mut ends = connect(client_of(kind, version), server_with([raw(kind)])).unwrap();
            let info = &ends.client.connection.info;
            assert_eq!(info.version, version);
            assert_eq!(info.server_certificate_type, RAW);
            assert_eq!(info.peer_raw_public_key, Some(public(kind)));
            assert!(info.peer_chain().is_empty());
            assert_eq!(ends.server.connection.info.server_certificate_type, RAW);
            ends.talk();
        }
    }
}

#[test]
fn both_sides_send_raw_keys_in_single_bytes() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version).credential(raw(Kind::Ed25519));
        let trusted = vec![public(Kind::P384), public(Kind::Ed25519)];
        let server = server_with([raw(Kind::P256)]).client_raw_keys(ClientAuth::Required, trusted);
        let (client, server) = (client.build().unwrap(), server.build().unwrap());
        let pair = Pair::new(&client, &server, NAME).delivery(Delivery::Bytes);
        let mut ends = pair.connect().unwrap();
        let info = &ends.server.connection.info;
        assert_eq!(info.client_certificate_type, RAW);
        assert_eq!(info.peer_raw_public_key, Some(public(Kind::Ed25519)));
        assert_eq!(ends.client.connection.info.client_certificate_type, RAW);
        ends.talk();
    }
}

#[test]
fn certificate_types_are_negotiated_for_each_side() {
    for version in VERSIONS {
        let client = client_of(Kind::P256, version).credential(credential(Kind::P384));
        let server = server_with([raw(Kind::P256)]).client_auth(ClientAuth::Required, roots());
        let ends = connect(client, server).unwrap();
        assert_eq!(ends.server.connection.info.peer_chain().len(), 1);
        assert_eq!(ends.server.connection.info.client_certificate_type, X509);

        let client = fixtures::client().versions(&[version]).credential(raw(Kind::P384));
        let trusted = vec![public(Kind::P384)];
        let server = fixtures::server().client_raw_keys(ClientAuth::Required, trusted);
        let ends = connect(client, server).unwrap();
        assert_eq!(ends.server.connection.info.peer_raw_public_key, Some(public(Kind::P384)));
        assert_eq!(ends.client.connection.info.peer_chain().len(), 1);
    }
}

#[test]
fn the_servers_order_decides_among_accepted_types() {
    for version in VERSIONS {
        for (types, order, expected) in [
            (&[RAW, X509][..], [RAW, X509], RAW),
            (&[X509, RAW], [RAW, X509], RAW),
            (&[RAW, X509], [X509, RAW], X509),
            (&[RAW], [X509, RAW], RAW),
            (&[X509], [RAW, X509], X509),
        ] {
            let client = fixtures::client()
                .versions(&[version])
                .trusted_raw_keys(vec![public(Kind::P256)])
                .server_certificate_types(types);
            let server = server_with(order.map(|kind| match kind {
                RAW => raw(Kind::P256),
                _ => credential(Kind::P384),
            }));
            let ends = connect(client, server).unwrap();
            let info = &ends.client.connection.info;
            assert_eq!(info.server_certificate_type, expected, "{types:?} {order:?}");
            assert_eq!(info.peer_raw_public_key.is_some(), expected == RAW);
        }
    }
}

#[test]
fn without_a_common_type_the_handshake_fails() {
    for version in VERSIONS {
        let none_in_common = error(PeerError::NoCommonCertificateType);
        // The client accepts only raw keys, and then only chains.
        let failure =
            connect(client_of(Kind::P256, version), server_with([credential(Kind::P256)]));
        assert_eq!(failure.unwrap_err().server, none_in_common);
        let client = fixtures::client().versions(&[version]);
        let failure = connect(client, server_with([raw(Kind::P256)])).unwrap_err();
        assert_eq!(failure.server, none_in_common);
        let reported = Error::AlertReceived(AlertDescription::UNSUPPORTED_CERTIFICATE);
        assert_eq!(failure.client, Some(reported));
        // The server requires a raw key, and the client has a chain.
        for demand in [ClientAuth::Optional, ClientAuth::Required] {
            let client = fixtures::client().versions(&[version]).credential(credential(Kind::P256));
            let server = fixtures::server().client_raw_keys(demand, vec![public(Kind::P256)]);
            assert_eq!(connect(client, server).unwrap_err().server, none_in_common);
        }
        // The server requires a chain, and the client has a raw key.
        let client = fixtures::client().versions(&[version]).credential(raw(Kind::P256));
        let server = fixtures::server().client_auth(ClientAuth::Required, roots());
        assert_eq!(connect(client, server).unwrap_err().server, none_in_common);
    }
}

#[test]
fn a_client_with_both_types_sends_the_one_that_the_server_prefers() {
    for version in VERSIONS {
        for (types, expected) in [(&[RAW, X509][..], RAW), (&[X509, RAW], X509), (&[X509], X509)] {
            let own = vec![raw(Kind::P256), credential(Kind::P384)];
            let client = fixtures::client()
                .versions(&[version])
                .credentials(Policy::Here(std::sync::Arc::new(
                    tercel::certificates::Credentials::new(own),
                )))
                .client_certificate_types(&[X509, RAW]);
            let server = fixtures::server()
                .client_auth(ClientAuth::Required, roots())
                .client_raw_keys(ClientAuth::Required, vec![public(Kind::P256)])
                .client_certificate_types(types);
            let ends = connect(client, server).unwrap();
            let info = &ends.server.connection.info;
            assert_eq!(info.client_certificate_type, expected);
            assert_eq!(info.peer_raw_public_key.is_some(), expected == RAW);
        }
    }
}

#[test]
fn a_client_without_a_key_may_decline() {
    for version in VERSIONS {
        let client = || {
            let types = [RAW];
            fixtures::client().versions(&[version]).client_certificate_types(&types)
        };
        let server = |demand| fixtures::server().client_raw_keys(demand, vec![public(Kind::P256)]);
        let ends = connect(client(), server(ClientAuth::Optional)).unwrap();
        assert_eq!(ends.server.connection.info.peer_raw_public_key, None);
        let failure = connect(client(), server(ClientAuth::Required)).unwrap_err();
        let expected = match version {
            ProtocolVersion::TLS1_3 => PeerError::CertificateRequired,
            _ => PeerError::CertificateRequiredTls12,
        };
        assert_eq!(failure.server, error(expected));
    }
}

/// No call weakens the demand of another option.
#[test]
fn the_stronger_demand_for_clients_applies_in_any_order() {
    const NONE: ClientAuth = ClientAuth::None;
    const OPTIONAL: ClientAuth = ClientAuth::Optional;
    const REQUIRED: ClientAuth = ClientAuth::Required;
    let keys = || vec![public(Kind::P256)];
    let any = || Policy::Here(std::sync::Arc::new(tercel::certificates::AcceptAnyPeer) as _);
    for (one, other, expected) in
        [(REQUIRED, OPTIONAL, REQUIRED), (REQUIRED, NONE, REQUIRED), (OPTIONAL, NONE, OPTIONAL)]
    {
        for (chains, raw) in [(one, other), (other, one)] {
            for server in [
                fixtures::server().client_auth(chains, roots()).client_raw_keys(raw, keys()),
                fixtures::server().client_raw_keys(raw, keys()).client_auth(chains, roots()),
                fixtures::server().client_verifier(chains, any()).client_raw_keys(raw, keys()),
                fixtures::server().client_raw_keys(raw, keys()).client_verifier(chains, any()),
            ] {
                let server = server.build().unwrap();
                for version in VERSIONS {
                    let client = || fixtures::client().versions(&[version]);
                    let connect = |client: tercel::client::ClientConfigBuilder| {
                        Pair::new(&client.build().unwrap(), &server, NAME).connect()
                    };
                    let what = format!("{chains:?} {raw:?} {version}");
                    assert_eq!(connect(client()).is_err(), expected == REQUIRED, "{what}");
                    let ends = connect(client().credential(credential(Kind::P256))).unwrap();
                    assert!(!ends.server.connection.info.peer_chain().is_empty(), "{what}");
                }
            }
        }
    }
    // A later call of the same option replaces the demand, and also the roots or the verifier.
    let server = fixtures::server().client_auth(REQUIRED, roots()).client_verifier(NONE, any());
    connect(fixtures::client(), server).unwrap();
    let server = fixtures::server().client_raw_keys(REQUIRED, keys()).client_raw_keys(NONE, keys());
    connect(fixtures::client(), server).unwrap();
}

#[test]
fn without_a_request_the_clients_type_is_not_negotiated() {
    for version in VERSIONS {
        let client = fixtures::client().versions(&[version]).credential(raw(Kind::P256));
        connect(client, fixtures::server()).unwrap().talk();
    }
}

/// RFC 7250 4.2
#[test]
fn a_type_that_the_client_did_not_offer_is_refused() {
    // A raw key in place of the negotiated chain: the type is in the first two bytes of the body.
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
    assert_eq!(failure.client, error(PeerError::NoCommonCertificateType));
    let reported = Error::AlertReceived(AlertDescription::UNSUPPORTED_CERTIFICATE);
    assert_eq!(failure.server, Some(reported));
}

/// RFC 7250 4.1
#[test]
fn a_list_with_nothing_but_the_default_is_refused() {
    for extension in
        [ExtensionType::SERVER_CERTIFICATE_TYPE, ExtensionType::CLIENT_CERTIFICATE_TYPE]
    {
        let client = fixtures::client()
            .trusted_raw_keys(vec![public(Kind::P256)])
            .server_certificate_types(&[RAW])
            .client_certificate_types(&[RAW])
            .build()
            .unwrap();
        let server = fixtures::server().build().unwrap();
        let [high, low] = extension.0.to_be_bytes();
        let tap = |bytes: &mut Vec<u8>| {
            let offer = [high, low, 0, 2, 1, 2];
            if let Some(at) = bytes.windows(6).position(|window| window == offer) {
                bytes[at + 5] = 0;
            }
        };
        let failure = Pair::new(&client, &server, NAME).tap_to_server(tap).connect().unwrap_err();
        assert_eq!(failure.server, error(PeerError::UnnecessaryCertificateType));
        let reported = Error::AlertReceived(AlertDescription::ILLEGAL_PARAMETER);
        assert_eq!(failure.client, Some(reported));
    }
}
