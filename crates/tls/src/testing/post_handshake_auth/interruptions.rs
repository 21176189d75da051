//! Records between the messages of an answer, or within one, and messages that are not allowed.

use tercel_wire::{AlertDescription, AlertLevel, ContentType, HandshakeType};

use super::{AnswerParts, Ends, Event, bad, receive, send};
use crate::config::client_auth::ClientAuth;
use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::error::PeerError;

/// An empty record of application data, which the crate's sealer does not make.
fn empty_data(from: &mut Connection, to: &mut ReceiveBuffer) {
    let protection = from.sender.sealer().unwrap().protection.as_mut().unwrap();
    let length = protection.overhead();
    let [.., high, low] = length.to_be_bytes();
    let mut record = vec![ContentType::APPLICATION_DATA.0, 3, 3, high, low];
    record.resize(5 + length, 0);
    let kind = ContentType::APPLICATION_DATA;
    protection.seal(kind, &[], &[kind.0], &mut record).unwrap();
    to.extend(&record);
}

#[test]
fn nothing_may_interrupt_the_messages_of_an_answer() {
    // RFC 9846 4.7.2
    for messages in 1..=2 {
        let begun = || {
            let mut ends = Ends::new();
            let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
            let certificate = parts.certificate();
            assert_eq!(ends.client_sends(&certificate), Ok(Event::Nothing));
            if messages == 2 {
                let verify = parts.verify();
                assert_eq!(ends.client_sends(&verify), Ok(Event::Nothing));
            }
            (ends, certificate)
        };
        let interrupted = || bad(PeerError::InterruptedAuthentication);
        assert_eq!(begun().0.data(b"data"), interrupted());
        let (mut ends, _) = begun();
        empty_data(&mut ends.client, &mut ends.to_server);
        assert_eq!(receive(&mut ends.server, &mut ends.to_server), interrupted());
        assert_eq!(begun().0.update(), interrupted());
        let (mut ends, _) = begun();
        let canceled = [AlertLevel::WARNING.0, AlertDescription::USER_CANCELED.0];
        send(&mut ends.client, ContentType::ALERT, &canceled, &mut ends.to_server);
        assert_eq!(receive(&mut ends.server, &mut ends.to_server), interrupted());
        let (mut ends, certificate) = begun();
        assert_eq!(ends.client_sends(&certificate), interrupted());
        // The beginning of another answer is not allowed either.
        let (mut ends, _) = begun();
        let mut other = AnswerParts::to(&mut ends, ClientAuth::Required);
        assert_eq!(ends.client_sends(&other.certificate()), interrupted());
    }
    // A record of another type within a message is not allowed either. RFC 9846 5.1
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    let certificate = parts.certificate();
    assert_eq!(ends.client_sends(&certificate[..100]), Ok(Event::Nothing));
    assert_eq!(ends.data(b"data"), bad(PeerError::InterruptedHandshakeMessage));
}

#[test]
fn no_part_of_an_unexpected_message_is_buffered() {
    let unexpected = || bad(PeerError::UnexpectedMessage);
    let head = |kind: HandshakeType| [&[kind.0, 0, 0x40, 0][..], &[0; 100]].concat();
    let late =
        [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_VERIFY, HandshakeType::FINISHED];
    for kind in [HandshakeType::NEW_SESSION_TICKET, HandshakeType::CLIENT_HELLO, late[0], late[1]] {
        assert_eq!(Ends::new().client_sends(&head(kind)), unexpected());
    }
    for kind in [HandshakeType::SERVER_HELLO, late[0], late[1]] {
        assert_eq!(Ends::new().server_sends(&head(kind)), unexpected());
    }
    // A second answer to the same request is refused at its header.
    let mut ends = Ends::new();
    let flight = AnswerParts::to(&mut ends, ClientAuth::Required).flight();
    assert_eq!(ends.client_sends(&flight), Ok(Event::Answered { verified: true }));
    assert_eq!(ends.client_sends(&head(HandshakeType::CERTIFICATE)), unexpected());
    // The first byte, which is the type, suffices.
    assert_eq!(Ends::new().client_sends(&[late[2].0]), unexpected());
}

#[test]
fn a_close_within_an_answer_is_a_close() {
    let mut ends = Ends::new();
    let mut parts = AnswerParts::to(&mut ends, ClientAuth::Required);
    assert_eq!(ends.client_sends(&parts.certificate()), Ok(Event::Nothing));
    let mut out = Vec::new();
    ends.client.sender.close(&mut out).unwrap();
    ends.to_server.extend(&out);
    assert_eq!(receive(&mut ends.server, &mut ends.to_server), Ok(Event::Closed));
}
