//! Key updates that the peer requests, and sealing after a failure of the peer.

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{Side, error::InternalError};

use crate::fixtures::connect;
use crate::pair::{Delivery, End, records};

const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, ProtocolVersion::TLS1_2];

#[test]
fn an_update_request_is_not_repeated_before_its_answer() {
    let mut ends = connect(TLS13);
    let (client, server) = ends.both(Side::Client);
    // Sends a request, and returns what the server sends in response.
    let mut ask = |client: &mut End| {
        let (mut request, mut answer) = (Vec::new(), Vec::new());
        client.connection.sender.update_key(true, &mut request).unwrap();
        assert_eq!(server.read(&request, Delivery::Whole), Ok(Vec::new()));
        server.connection.sender.control(&mut answer).unwrap();
        answer
    };
    let first = ask(client);
    assert_eq!(records(&first).len(), 1);
    // The server's answer is in transit, so the client updates its key again without a request.
    // RFC 9846 4.7.3
    assert!(ask(client).is_empty());
    assert_eq!(client.read(&first, Delivery::Whole), Ok(Vec::new()));
    let second = ask(client);
    assert_eq!(records(&second).len(), 1);
    assert_eq!(client.read(&second, Delivery::Whole), Ok(Vec::new()));
    ends.talk();
}

#[test]
fn after_the_peers_alert_nothing_is_sealed() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        let alert = AlertDescription::INTERNAL_ERROR;
        ends.client.connection.sender.abort(alert, &mut wire).unwrap();
        ends.server.read(&wire, Delivery::Whole).unwrap_err();
        let sealed = ends.server.connection.sender.seal(b"data", &mut [0; 1000]);
        assert_eq!(sealed, Err(InternalError::Failed.into()));
    }
}
