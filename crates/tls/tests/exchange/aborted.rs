//! Handshakes that the application ends with an alert. RFC 9846 6.2, RFC 5246 7.2.2

use std::sync::Arc;

use tercel::certificates::AcceptAnyPeer;
use tercel::error::{Error, Misuse};
use tercel::server::ClientAuth;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{ClientConfig, Handshake, Next, Policy, ReceiveBuffer, ServerConfig};

use crate::fixtures::{KINDS, NAME, client, credential, plain, server};

const ALERT: AlertDescription = AlertDescription::ACCESS_DENIED;
const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_2, ProtocolVersion::TLS1_3];

/// Runs handshakes up to the first question, which one side answers with the alert. Returns the
/// error of the other side.
fn abort(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Error {
    let mut handshakes = [
        Handshake::client(client.clone(), NAME.try_into().unwrap()),
        Handshake::server(server.clone()),
    ];
    let mut received = [ReceiveBuffer::new(), ReceiveBuffer::new()];
    let mut connected = None;
    for turn in 0..20 {
        let (at, mut out) = (turn % 2, Vec::new());
        loop {
            match handshakes[at].advance(&mut received[at], &mut out) {
                Ok(Next::Receive) | Err(Error::Misuse(_)) => break,
                Ok(Next::Connected(connection)) => connected = Some(connection),
                Ok(Next::Answer(_)) => {
                    handshakes[at].abort(ALERT, &mut out);
                    let ended = Error::Misuse(Misuse::HandshakeEnded);
                    let again = handshakes[at].advance(&mut received[at], &mut out);
                    assert_eq!(again.unwrap_err(), ended);
                    let length = out.len();
                    handshakes[at].abort(ALERT, &mut out);
                    assert_eq!(out.len(), length);
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => return error,
            }
        }
        received[1 - at].extend(&out);
        // A client of TLS 1.3 does not wait for the server's verification.
        if let (Some(client), 1) = (&mut connected, at) {
            return client.receiver.open(&mut received[0]).unwrap_err();
        }
    }
    panic!("no error");
}

/// In each place of a question the alert is protected with the keys that the peer expects.
#[test]
fn the_peer_receives_the_alert() {
    for version in VERSIONS {
        let anyone = || Policy::Here(Arc::new(AcceptAnyPeer) as _);
        let plain_client = || client().versions(&[version]);
        for (place, client, server) in [
            ("choose_config", plain_client(), ServerConfig::builder().choose_config(Policy::Ask)),
            ("credentials", plain_client(), ServerConfig::builder().credentials(Policy::Ask)),
            (
                "verifier",
                ClientConfig::builder().versions(&[version]).verifier(Policy::Ask),
                server(),
            ),
            (
                "client's credentials",
                plain_client().credentials(Policy::Ask),
                server().client_verifier(ClientAuth::Optional, anyone()),
            ),
            (
                "client_verifier",
                plain_client().credential(credential(KINDS[1])),
                server().client_verifier(ClientAuth::Optional, Policy::Ask),
            ),
        ] {
            let error = abort(&client.build().unwrap(), &server.build().unwrap());
            assert_eq!(error, Error::AlertReceived(ALERT), "{version:?} {place}");
        }
    }
}

/// A handshake that has neither sent nor received anything sends no alert.
#[test]
fn a_handshake_that_has_not_begun_sends_no_alert() {
    let (client, server) = plain();
    let client = Handshake::client(client, NAME.try_into().unwrap());
    for mut handshake in [client, Handshake::server(server)] {
        let mut out = Vec::new();
        handshake.abort(ALERT, &mut out);
        assert!(out.is_empty());
    }
}
