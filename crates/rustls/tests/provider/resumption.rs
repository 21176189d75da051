//! Resumption by tickets of the ticketer, and from rustls' store.

use std::sync::Arc;

use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, ServerConfig};
use tercel_rustls::Ticketer;

use crate::support::{Identity, Pair, Provider};

fn handshake(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> HandshakeKind {
    let mut pair = Pair::new(client, server);
    pair.transfer().unwrap();
    pair.exchange_data();
    assert_eq!(pair.client.handshake_kind(), pair.server.handshake_kind());
    pair.client.handshake_kind().unwrap()
}

#[test]
fn sessions_are_resumed_by_ticket() {
    let identity = Identity::p256();
    for version in [&TLS12, &TLS13] {
        for (client, server) in Provider::PAIRS {
            let client = Arc::new(identity.client(client.default(), &[version]));
            let new_server = || {
                let mut config = identity.server(server.default(), &[version]);
                config.ticketer = Ticketer::new().unwrap();
                Arc::new(config)
            };
            let (one, other) = (new_server(), new_server());
            assert_eq!(handshake(&client, &one), HandshakeKind::Full);
            assert_eq!(handshake(&client, &one), HandshakeKind::Resumed);
            assert_eq!(handshake(&client, &one), HandshakeKind::Resumed);
            // Another server has other keys.
            assert_eq!(handshake(&client, &other), HandshakeKind::Full);
        }
    }
}

#[test]
fn sessions_are_resumed_from_the_store() {
    let identity = Identity::p256();
    for version in [&TLS12, &TLS13] {
        for (client, server) in Provider::PAIRS {
            let client = Arc::new(identity.client(client.default(), &[version]));
            let server = Arc::new(identity.server(server.default(), &[version]));
            assert_eq!(handshake(&client, &server), HandshakeKind::Full);
            assert_eq!(handshake(&client, &server), HandshakeKind::Resumed);
        }
    }
}
