//! CRYPTO data of a level before its transport has the keys, or before it has the connection.
//! RFC 9001 4.1.3

use tercel::error::PeerError;
use tercel::quic::{Handshake, Level, Next, Version};
use tercel::{Policy, Question, ServerName};
use tercel_wire::HandshakeType;

use super::messages::message;
use super::pair::{OF_CLIENT, client, plain};
use super::rules::{PROTOCOL_VIOLATION, UNEXPECTED_MESSAGE, check};
use crate::fixtures::NAME;

/// A client whose application has accepted the server's certificate. The coroutine continues at the
/// next call of `advance`.
fn client_after_answer() -> Handshake {
    let (_, server) = plain();
    let config = client().verifier(Policy::Ask).build().unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    let mut client = Handshake::client(&config, name, Version::V1, OF_CLIENT.to_vec()).unwrap();
    let mut server = Handshake::server(&server, Version::V1, Vec::new()).unwrap();
    let sent = |handshake: &mut Handshake| match handshake.advance().unwrap() {
        Next::Send(_, data) => data,
        other => panic!("{other:?}"),
    };
    server.receive(Level::Initial, &sent(&mut client)).unwrap();
    client.receive(Level::Initial, &sent(&mut server)).unwrap();
    for side in [&mut client, &mut server] {
        assert!(matches!(side.advance().unwrap(), Next::HandshakeKeys(_)));
    }
    client.receive(Level::Handshake, &sent(&mut server)).unwrap();
    match client.advance().unwrap() {
        Next::Answer(Question::VerifyPeer(question)) => {
            client.answer(question.answer(Ok(()))).unwrap();
        }
        other => panic!("{other:?}"),
    }
    client
}

/// The client's coroutine has installed the keys of 1-RTT packets, but its transport does not have
/// them yet. RFC 9001 4.1.3
#[test]
fn data_of_a_level_whose_keys_were_not_given_is_refused() {
    let mut client = client_after_answer();
    assert!(matches!(client.advance().unwrap(), Next::Send(Level::Handshake, _)));
    assert_eq!(client.read_level(), Level::Application);
    let ended = client.receive(Level::Application, &[4]).unwrap_err();
    check(ended, PeerError::WrongEncryptionLevel, PROTOCOL_VIOLATION);
}

/// The server has sent its ServerHello, but its transport has not taken the Handshake keys.
#[test]
fn data_of_handshake_packets_needs_the_keys_of_handshake_packets() {
    let (config, server) = plain();
    let name = ServerName::try_from(NAME).unwrap();
    let mut client = Handshake::client(&config, name, Version::V1, Vec::new()).unwrap();
    let mut server = Handshake::server(&server, Version::V1, Vec::new()).unwrap();
    let Next::Send(_, hello) = client.advance().unwrap() else { panic!("no ClientHello") };
    server.receive(Level::Initial, &hello).unwrap();
    assert!(matches!(server.advance().unwrap(), Next::Send(Level::Initial, _)));
    assert_eq!(server.read_level(), Level::Handshake);
    let ended = server.receive(Level::Handshake, &[20]).unwrap_err();
    check(ended, PeerError::WrongEncryptionLevel, PROTOCOL_VIOLATION);
}

/// A client may receive data of 1-RTT packets between their keys and the connection.
#[test]
fn data_received_before_the_connection_is_processed_with_it() {
    let update = message(HandshakeType::KEY_UPDATE, &[0]);
    for (data, error) in [(&[][..], None), (&update[..], Some(PeerError::UnexpectedMessage))] {
        let mut client = client_after_answer();
        while !matches!(client.advance().unwrap(), Next::ApplicationKeys(..)) {}
        client.receive(Level::Application, data).unwrap();
        match (client.advance(), error) {
            (Ok(Next::Connected(_)), None) => {}
            (Err(ended), Some(error)) => check(ended, error, UNEXPECTED_MESSAGE),
            (other, _) => panic!("{other:?}"),
        }
    }
}
