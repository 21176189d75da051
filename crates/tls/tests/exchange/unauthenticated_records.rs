//! Plaintext records on a protected connection: an attacker on the path can end the connection with
//! them, but cannot forge an alert of a side.

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{Error, Handshake, Next, Opened, ReceiveBuffer, Side, error::PeerError};

use crate::fixtures::{NAME, client, plain, server};
use crate::pair::{Delivery, Pair};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const SIDES: [Side; 2] = [Side::Client, Side::Server];

const CLOSE_NOTIFY: &[u8] = &[21, 3, 3, 0, 2, 1, 0];
const USER_CANCELED: &[u8] = &[21, 3, 3, 0, 2, 1, 90];
const HANDSHAKE_FAILURE: &[u8] = &[21, 3, 3, 0, 2, 2, 40];

#[test]
fn a_plaintext_alert_closes_no_connection() {
    for version in [TLS13, TLS12] {
        for side in SIDES {
            for alert in [CLOSE_NOTIFY, USER_CANCELED, HANDSHAKE_FAILURE] {
                let client = client().versions(&[version]).build().unwrap();
                let server = server().build().unwrap();
                let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
                let (end, _) = ends.both(side);
                refused(&end.read(alert, Delivery::Whole), version);
            }
        }
    }
}

#[test]
fn a_plaintext_alert_after_a_key_update_closes_no_connection() {
    for side in SIDES {
        let (client, server) = plain();
        let mut ends = Pair::new(&client, &server, NAME).connect().unwrap();
        let (end, other) = ends.both(side);
        let mut wire = Vec::new();
        other.connection.sender.update_key(false, &mut wire).unwrap();
        assert_eq!(end.read(&wire, Delivery::Whole), Ok(Vec::new()));
        refused(&end.read(CLOSE_NOTIFY, Delivery::Whole), TLS13);
        let receiver = &mut end.connection.receiver;
        assert_ne!(receiver.open(&mut end.received), Ok(Opened::Closed));
        assert!(receiver.end_of_input().is_err());
    }
}

/// A client that cannot read the server's first flight sends its alert in plaintext.
#[test]
fn a_server_receives_the_alert_of_a_client_without_keys() {
    let (client, server) = plain();
    let mut client = Handshake::client(client, NAME.try_into().unwrap());
    let mut server = Handshake::server(server);
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    assert!(matches!(client.advance(&mut ReceiveBuffer::new(), &mut out), Ok(Next::Receive)));
    received.extend(&out);
    assert!(matches!(server.advance(&mut received, &mut Vec::new()), Ok(Next::Receive)));
    received.extend(HANDSHAKE_FAILURE);
    let error = server.advance(&mut received, &mut Vec::new()).unwrap_err();
    assert_eq!(error, Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE));
}

fn refused(read: &Result<Vec<u8>, Error>, version: ProtocolVersion) {
    let expected =
        if version == TLS13 { PeerError::UnexpectedRecord } else { PeerError::BadRecordMac };
    assert_eq!(*read, Err(expected.into()));
}
