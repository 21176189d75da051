//! What comes between the messages of an answer, or within one, and what comes where none has a place.
//!
//! Must not know: what an answer says. Next: `requests.rs`.

use tercel_wire::{AlertDescription, AlertLevel, ContentType, HandshakeType};

use super::{Ends, Parts, Seen, bad, hear, say};
use crate::config::server::ClientAuth;
use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::error::Peer;

/// A record of application data without any, which our sealer never makes.
fn empty_data(from: &mut Connection, to: &mut Received) {
    let protection = from.sender.sealer().unwrap().protection_mut().unwrap();
    let length = protection.overhead();
    let [.., high, low] = length.to_be_bytes();
    let mut record = vec![ContentType::APPLICATION_DATA.0, 3, 3, high, low];
    record.resize(5 + length, 0);
    let kind = ContentType::APPLICATION_DATA;
    protection.seal(kind, &[], &[kind.0], &mut record).unwrap();
    to.extend(&record);
}

#[test]
fn nothing_comes_between_the_messages_of_an_answer() {
    // RFC 9846 4.7.2
    for messages in 1..=2 {
        let begun = || {
            let mut ends = Ends::new();
            let mut parts = Parts::to(&mut ends, ClientAuth::Required);
            let certificate = parts.certificate();
            assert_eq!(ends.client_says(&certificate), Ok(Seen::Nothing));
            if messages == 2 {
                let verify = parts.verify();
                assert_eq!(ends.client_says(&verify), Ok(Seen::Nothing));
            }
            (ends, certificate)
        };
        let interrupted = || bad(Peer::InterruptedAuthentication);
        assert_eq!(begun().0.data(b"data"), interrupted());
        let (mut ends, _) = begun();
        empty_data(&mut ends.client, &mut ends.to_server);
        assert_eq!(hear(&mut ends.server, &mut ends.to_server), interrupted());
        assert_eq!(begun().0.update(), interrupted());
        let (mut ends, _) = begun();
        let canceled = [AlertLevel::WARNING.0, AlertDescription::USER_CANCELED.0];
        say(&mut ends.client, ContentType::ALERT, &canceled, &mut ends.to_server);
        assert_eq!(hear(&mut ends.server, &mut ends.to_server), interrupted());
        let (mut ends, certificate) = begun();
        assert_eq!(ends.client_says(&certificate), interrupted());
        // Not even the beginning of another answer.
        let (mut ends, _) = begun();
        let mut other = Parts::to(&mut ends, ClientAuth::Required);
        assert_eq!(ends.client_says(&other.certificate()), interrupted());
    }
    // Nor within a message. RFC 9846 5.1
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    let certificate = parts.certificate();
    assert_eq!(ends.client_says(&certificate[..100]), Ok(Seen::Nothing));
    assert_eq!(ends.data(b"data"), bad(Peer::InterruptedHandshakeMessage));
}

#[test]
fn of_a_message_without_a_place_not_even_a_part_is_kept() {
    let unexpected = || bad(Peer::UnexpectedMessage);
    let head = |kind: HandshakeType| [&[kind.0, 0, 0x40, 0][..], &[0; 100]].concat();
    let late =
        [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_VERIFY, HandshakeType::FINISHED];
    for kind in [HandshakeType::NEW_SESSION_TICKET, HandshakeType::CLIENT_HELLO, late[0], late[1]] {
        assert_eq!(Ends::new().client_says(&head(kind)), unexpected());
    }
    for kind in [HandshakeType::SERVER_HELLO, late[0], late[1]] {
        assert_eq!(Ends::new().server_says(&head(kind)), unexpected());
    }
    // Nor of an answer, once it was given.
    let mut ends = Ends::new();
    let flight = Parts::to(&mut ends, ClientAuth::Required).flight();
    assert_eq!(ends.client_says(&flight), Ok(Seen::Answered { verified: true }));
    assert_eq!(ends.client_says(&head(HandshakeType::CERTIFICATE)), unexpected());
    // One byte tells what it is to be.
    assert_eq!(Ends::new().client_says(&[late[2].0]), unexpected());
}

#[test]
fn a_close_within_an_answer_is_a_close() {
    let mut ends = Ends::new();
    let mut parts = Parts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_says(&parts.certificate()), Ok(Seen::Nothing));
    let mut out = Vec::new();
    ends.client.sender.close(&mut out).unwrap();
    ends.to_server.extend(&out);
    assert_eq!(hear(&mut ends.server, &mut ends.to_server), Ok(Seen::Closed));
}
