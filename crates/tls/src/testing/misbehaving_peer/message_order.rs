//! Tests of every message at every wrong time: added, omitted, or repeated. Only the order of
//! messages in the RFCs' figures leads to a connection. RFC 9846 4, RFC 5246 7.3

use tercel_wire::{AlertDescription, ContentType, HandshakeType};

use super::cases::{Case, cases};
use super::scripted_peer::{Outcome, Outgoing, ScriptedPeer};
use crate::connection::Connection;
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::receiver::Opened;
use crate::error::{Error, PeerError};
use crate::side::Side;

const UNEXPECTED: Option<AlertDescription> = Some(AlertDescription::UNEXPECTED_MESSAGE);

#[test]
fn every_case_connects_without_changes() {
    for case in cases() {
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let outcome = peer.run(case.tested());
        assert!(matches!(outcome, Outcome::Connected(_)), "{case:?}: {outcome:?}");
        assert_eq!(peer.alerts, []);
    }
}

/// RFC 9846 A.1, A.2, RFC 5246 7.4
#[test]
fn a_message_at_a_wrong_time_is_unexpected() {
    let mut tried = 0;
    for case in cases() {
        for (place, due) in case.sequence().iter().enumerate() {
            for wrong in every_message() {
                if is_allowed_before(case, wrong.kind(), due) {
                    continue;
                }
                let outcome = case.run_with(place, &wrong);
                assert_alert(&outcome, UNEXPECTED, (case, wrong.kind(), "before", due));
                tried += 1;
            }
        }
    }
    // There are 14 cases with 3 to 7 steps each, and 23 message types.
    assert!(tried > 900, "{tried}");
}

#[test]
fn an_omitted_message_is_noticed() {
    for case in cases() {
        let sequence = case.sequence();
        for (place, due) in sequence.iter().enumerate() {
            let outcome = case.run(|at, due| if at == place { vec![] } else { vec![due] });
            let next = sequence.get(place + 1);
            match omission(case, due, next) {
                Omission::Unnoticed => {
                    assert!(
                        matches!(outcome, Outcome::Connected(_)),
                        "{case:?} {due:?} {outcome:?}"
                    );
                }
                Omission::Awaited => {
                    assert!(matches!(outcome, Outcome::Waits), "{case:?} {due:?} {outcome:?}");
                }
                Omission::Alert(alert) => {
                    assert_alert(&outcome, Some(alert), (case, due.kind(), "omitted", due));
                }
            }
        }
    }
}

#[test]
fn a_repeated_message_is_unexpected() {
    for case in cases() {
        let sequence = case.sequence();
        // The last message is not repeated here: after it the handshake is complete, and the
        // connection receives messages.
        for (place, due) in sequence.iter().enumerate().take(sequence.len() - 1) {
            let outcome =
                case.run(|at, due| if at == place { vec![due.clone(), due] } else { vec![due] });
            let change_cipher_spec = due.kind().is_none();
            if change_cipher_spec && case.tls13() {
                // TLS 1.3 ignores change_cipher_spec within limits. RFC 9846 5
                assert!(matches!(outcome, Outcome::Connected(_)), "{case:?}: {outcome:?}");
            } else if change_cipher_spec {
                // The second change_cipher_spec is read under the keys that the first one has
                // installed.
                let alert = Some(AlertDescription::BAD_RECORD_MAC);
                assert_alert(&outcome, alert, (case, None, "twice", due));
            } else if case.retry && case.tested == Side::Server && place == 0 {
                // A server that sent a HelloRetryRequest expects a second ClientHello, but one with
                // the requested changes. RFC 9846 4.2.2
                let alert = Some(AlertDescription::ILLEGAL_PARAMETER);
                assert_alert(&outcome, alert, (case, due.kind(), "twice", due));
            } else {
                assert_alert(&outcome, UNEXPECTED, (case, due.kind(), "twice", due));
            }
        }
    }
}

/// RFC 9846 4.7
#[test]
fn a_handshake_message_after_the_handshake_is_unexpected() {
    for case in cases() {
        for wrong in every_message() {
            let kind = wrong.kind().unwrap();
            let mut peer = case.peer(Box::new(|_, due| vec![due]));
            let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
                panic!("{case:?} does not connect");
            };
            let expected = match (case.tls13(), kind, case.tested) {
                (true, HandshakeType::KEY_UPDATE, _) => continue,
                (true, HandshakeType::NEW_SESSION_TICKET, Side::Client) => continue,
                // A HelloRequest does not end the connection: see the test below.
                (false, HandshakeType::HELLO_REQUEST, Side::Client) => continue,
                // Nor does a ClientHello, whose content is not read.
                (false, HandshakeType::CLIENT_HELLO, Side::Server) => continue,
                _ => AlertDescription::UNEXPECTED_MESSAGE,
            };
            let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
            peer.write(&wrong, &mut out);
            received.extend(&out);
            let error = connection.receiver.open(&mut received).unwrap_err();
            assert_eq!(error.alert(), Some(expected), "{case:?} {kind:?}");
            // The sender of the connection sends the alert, and then no more records.
            let mut out = Vec::new();
            connection.sender.control(&mut out).unwrap();
            assert!(!out.is_empty());
            assert!(connection.sender.seal_to(b"more", &mut out).is_err());
        }
    }
}

/// A request for renegotiation is answered with a warning, and the connection continues.
/// RFC 5246 7.2.2, 7.4.1.1
#[test]
fn renegotiation_is_refused_with_a_warning() {
    for case in cases().filter(|case| !case.tls13()) {
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
            panic!("{case:?} does not connect");
        };
        let request = match case.tested {
            Side::Client => Outgoing::message(HandshakeType::HELLO_REQUEST, &[]),
            Side::Server => peer.original_records[0].clone(),
        };
        let mut received = ReceiveBuffer::new();
        let mut outgoing =
            |peer: &mut ScriptedPeer<'_>, connection: &mut Connection, record: &Outgoing| {
                let mut out = Vec::new();
                peer.write(record, &mut out);
                received.extend(&out);
                connection.receiver.open(&mut received).map(|opened| match opened {
                    Opened::Data(data) => data.to_vec(),
                    Opened::More => Vec::new(),
                    other => panic!("{other:?}"),
                })
            };
        let answer = |peer: &mut ScriptedPeer<'_>, connection: &mut Connection| {
            let (mut out, mut to_peer) = (Vec::new(), ReceiveBuffer::new());
            connection.sender.control(&mut out).unwrap();
            to_peer.extend(&out);
            peer.read(&mut to_peer);
            core::mem::take(&mut peer.alerts)
        };
        let data = Outgoing::Sealed(ContentType::APPLICATION_DATA, b"data".to_vec());
        for _ in 0..10 {
            assert_eq!(outgoing(&mut peer, &mut connection, &request), Ok(Vec::new()), "{case:?}");
            let alerts = answer(&mut peer, &mut connection);
            assert_eq!(alerts, [AlertDescription::NO_RENEGOTIATION], "{case:?}");
            assert_eq!(outgoing(&mut peer, &mut connection, &data), Ok(b"data".to_vec()));
        }
        // Without data in between, only a few requests are accepted; then the connection fails.
        let error = (0..10).find_map(|_| outgoing(&mut peer, &mut connection, &request).err());
        assert_eq!(error, Some(PeerError::Renegotiation.into()), "{case:?}");
        let alerts = answer(&mut peer, &mut connection);
        assert_eq!(alerts, [AlertDescription::UNEXPECTED_MESSAGE], "{case:?}");
        assert!(connection.sender.seal_to(b"more", &mut Vec::new()).is_err());
    }
}

/// The rest of a refused ClientHello is discarded and not stored. RFC 5246 7.4.1.2
#[test]
fn renegotiation_is_refused_at_the_header_of_the_client_hello() {
    for case in cases().filter(|case| !case.tls13() && case.tested == Side::Server) {
        for cut in [1, 3, 4, 100, 16_384] {
            let mut peer = case.peer(Box::new(|_, due| vec![due]));
            let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
                panic!("{case:?} does not connect");
            };
            let mut received = ReceiveBuffer::new();
            let mut receive = |connection: &mut Connection, kind, content: &[u8]| {
                let mut out = Vec::new();
                peer.write(&Outgoing::Sealed(kind, content.to_vec()), &mut out);
                received.extend(&out);
                match connection.receiver.open(&mut received) {
                    Ok(Opened::Data(data)) => Ok(data.to_vec()),
                    Ok(Opened::More) => Ok(Vec::new()),
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => Err(error),
                }
            };
            let is_refused = |connection: &mut Connection| {
                let mut out = Vec::new();
                connection.sender.control(&mut out).unwrap();
                !out.is_empty()
            };
            let length = 60_000_usize;
            let mut hello = vec![HandshakeType::CLIENT_HELLO.0, 0, 0xea, 0x60];
            hello.resize(4 + length, 7);
            let mut sent = 0;
            for fragment in hello.chunks(cut).take(8) {
                sent += fragment.len();
                let opened = receive(&mut connection, ContentType::HANDSHAKE, fragment);
                assert_eq!(opened, Ok(Vec::new()), "{case:?} {cut}");
                let at_header = (4..4 + cut).contains(&sent);
                assert_eq!(is_refused(&mut connection), at_header, "{case:?} {cut}: {sent}");
                let stored = connection.receiver.stored_handshake_bytes();
                assert!(stored < 4, "{stored} bytes are stored");
            }
            if cut == 100 {
                // The message is incomplete. RFC 5246 6.2.1
                let opened = receive(&mut connection, ContentType::APPLICATION_DATA, b"data");
                assert_eq!(opened, Err(PeerError::InterruptedHandshakeMessage.into()));
                continue;
            }
            for fragment in hello[sent..].chunks(16_384) {
                let opened = receive(&mut connection, ContentType::HANDSHAKE, fragment);
                assert_eq!((opened, is_refused(&mut connection)), (Ok(Vec::new()), false));
            }
            let opened = receive(&mut connection, ContentType::APPLICATION_DATA, b"data");
            assert_eq!(opened, Ok(b"data".to_vec()), "{case:?} {cut}");
        }
    }
}

/// After its close_notify a side sends no warning, and receives data until the peer closes.
/// RFC 5246 7.2.1, 7.4.1.1
#[test]
fn renegotiation_after_a_close_notify_is_ignored() {
    for case in cases().filter(|case| !case.tls13()) {
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
            panic!("{case:?} does not connect");
        };
        connection.sender.close(&mut Vec::new()).unwrap();
        let request = match case.tested {
            Side::Client => Outgoing::message(HandshakeType::HELLO_REQUEST, &[]),
            Side::Server => peer.original_records[0].clone(),
        };
        let data = Outgoing::Sealed(ContentType::APPLICATION_DATA, b"data".to_vec());
        let (mut out, mut received) = (Vec::new(), ReceiveBuffer::new());
        peer.write(&request, &mut out);
        peer.write(&data, &mut out);
        received.extend(&out);
        match connection.receiver.open(&mut received) {
            Ok(Opened::Data(data)) => assert_eq!(data, b"data", "{case:?}"),
            other => panic!("{case:?}: {other:?}"),
        }
        let mut answer = Vec::new();
        connection.sender.control(&mut answer).unwrap();
        assert!(answer.is_empty(), "{case:?}");
        // The number of requests in a row is limited as before the close_notify.
        let error = (0..10).find_map(|_| {
            let mut out = Vec::new();
            peer.write(&request, &mut out);
            received.extend(&out);
            connection.receiver.open(&mut received).err()
        });
        assert_eq!(error, Some(PeerError::Renegotiation.into()), "{case:?}");
    }
}

/// RFC 5246 7.2.1, RFC 9846 6.1
#[test]
fn a_close_notify_in_the_handshake_is_answered() {
    let mut answered = 0;
    for case in cases() {
        for place in 0..case.sequence().len() {
            let close = Outgoing::Sealed(ContentType::ALERT, vec![1, 0]);
            // The scripted peer checks the alert that the tested side sends.
            match case.run_with(place, &close) {
                Outcome::Failed(Error::ClosedInHandshake) => answered += 1,
                // After the ServerHello of TLS 1.3 a plaintext alert is unexpected.
                Outcome::Failed(Error::Peer(PeerError::UnexpectedRecord)) if case.tls13() => {}
                other => panic!("{case:?} {place}: {other:?}"),
            }
        }
    }
    assert!(answered > 40, "{answered}");
}

fn assert_alert(
    outcome: &Outcome,
    expected: Option<AlertDescription>,
    (case, kind, how, due): (Case, Option<HandshakeType>, &str, &Outgoing),
) {
    let alert = match outcome {
        Outcome::Failed(error) => error.alert(),
        _ => None,
    };
    let due = due.kind();
    assert!(
        alert == expected && expected.is_some(),
        "{case:?}: {kind:?} {how} {due:?} (None is change_cipher_spec)\n got {outcome:?}, not {expected:?}"
    );
}

/// Messages of every known type and of some unknown types, all with empty bodies.
fn every_message() -> Vec<Outgoing> {
    let kinds =
        [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 25, 67, 254, 255];
    kinds.into_iter().map(|kind| Outgoing::message(HandshakeType(kind), &[])).collect()
}

/// Whether a message of type `wrong` is allowed where the peer would send `due`.
fn is_allowed_before(case: Case, wrong: Option<HandshakeType>, due: &Outgoing) -> bool {
    let Some(kind) = wrong else { return false };
    let client = case.tested == Side::Client;
    match due.kind() {
        Some(due) if due == kind => true,
        // A server may send CertificateRequest, its only optional message, at this position.
        Some(HandshakeType::CERTIFICATE) if client && case.tls13() => {
            kind == HandshakeType::CERTIFICATE_REQUEST && !case.client_auth
        }
        Some(HandshakeType::SERVER_HELLO_DONE) if client => {
            kind == HandshakeType::CERTIFICATE_REQUEST && !case.client_auth
        }
        Some(HandshakeType::CERTIFICATE_REQUEST) if case.tls13() => {
            kind == HandshakeType::CERTIFICATE
        }
        Some(HandshakeType::CERTIFICATE_REQUEST) => kind == HandshakeType::SERVER_HELLO_DONE,
        // In TLS 1.3 a change_cipher_spec has no fixed position, so a message that follows it may
        // also precede it. The message may precede it only if both records use the same keys. This
        // is the case after a retry.
        None if case.tls13() && case.retry => {
            kind == if client { HandshakeType::SERVER_HELLO } else { HandshakeType::CLIENT_HELLO }
        }
        _ => false,
    }
}

/// The effect of an omitted message.
enum Omission {
    Unnoticed,
    Awaited,
    Alert(AlertDescription),
}

fn omission(case: Case, due: &Outgoing, next: Option<&Outgoing>) -> Omission {
    match due.kind() {
        // TLS 1.3 does not depend on change_cipher_spec. RFC 9846 E.4
        None if case.tls13() => Omission::Unnoticed,
        // The message is optional, but it is part of the signed transcript.
        Some(HandshakeType::CERTIFICATE_REQUEST) if case.tls13() => {
            Omission::Alert(AlertDescription::DECRYPT_ERROR)
        }
        Some(HandshakeType::CERTIFICATE_REQUEST) => Omission::Awaited,
        // The last message of a flight is missing, so the tested side waits for it.
        Some(HandshakeType::SERVER_HELLO_DONE | HandshakeType::FINISHED) => Omission::Awaited,
        Some(HandshakeType::CLIENT_HELLO) => Omission::Awaited,
        Some(HandshakeType::SERVER_HELLO) if next.is_none() => Omission::Awaited,
        _ => Omission::Alert(AlertDescription::UNEXPECTED_MESSAGE),
    }
}

#[test]
fn a_record_of_another_content_type_is_unexpected() {
    for case in cases() {
        for (place, due) in case.sequence().iter().enumerate() {
            for kind in [ContentType::APPLICATION_DATA, ContentType::HEARTBEAT, ContentType(99)] {
                let wrong = Outgoing::Sealed(kind, vec![1, 2, 3]);
                let outcome = case.run_with(place, &wrong);
                // Protected records have the outer type application_data. RFC 9846 5.2
                let sealed = kind == ContentType::APPLICATION_DATA && case.tls13();
                let expected = if sealed && !case.retry && due.kind().is_none() {
                    Some(AlertDescription::BAD_RECORD_MAC)
                } else {
                    UNEXPECTED
                };
                assert_alert(&outcome, expected, (case, None, &format!("{kind:?} before"), due));
            }
        }
    }
}

#[test]
fn an_alert_ends_the_handshake_and_is_not_answered() {
    for case in cases() {
        for (place, due) in case.sequence().iter().enumerate() {
            let alert = Outgoing::Sealed(ContentType::ALERT, vec![2, 40]);
            let outcome = case.run_with(place, &alert);
            let Outcome::Failed(error) = outcome else { panic!("{case:?} {due:?} {outcome:?}") };
            // A server has handshake keys once it has sent its ServerHello. RFC 9846 6
            let plain = case.tested == Side::Client && case.tls13() && !case.retry;
            let expected = if plain && due.kind().is_none() {
                PeerError::UnexpectedRecord.into()
            } else {
                Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)
            };
            assert_eq!(error, expected, "{case:?} {:?}", due.kind());
        }
    }
}
