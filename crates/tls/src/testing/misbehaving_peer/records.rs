//! Tests of records that are divided, joined or changed, in ways that the protocol forbids or that
//! a receiver must accept. The tests cover the rules of RFC 9846 5.1 and 5.2 and of RFC 5246 6.2
//! during a handshake.

use tercel_wire::{AlertDescription, ContentType, HandshakeType};

use super::cases::{Case, cases};
use super::scripted_peer::{Outcome, Outgoing};
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::receiver::Opened;
use crate::error::{Error, PeerError};

#[test]
fn messages_in_single_bytes_are_joined() {
    for case in cases() {
        let outcome = case.run(|_, due| pieces(&due, 1));
        assert!(matches!(outcome, Outcome::Connected(_)), "{case:?}: {outcome:?}");
    }
}

#[test]
fn no_message_may_span_a_change_of_keys() {
    for case in cases() {
        let sequence = case.sequence();
        for (place, due) in sequence.iter().enumerate() {
            if !before_new_keys(case, due, sequence.get(place + 1)) {
                continue;
            }
            // The record ends with the beginning of the next message, or with the complete next
            // message.
            for next in [&[8_u8][..], &[8, 0, 0, 2, 0, 0]] {
                let outcome = case.run(|at, due| match due {
                    Outgoing::Sealed(kind, content) if at == place => {
                        vec![Outgoing::Sealed(kind, [&content, next].concat())]
                    }
                    due => vec![due],
                });
                assert!(
                    matches!(outcome, Outcome::Failed(Error::Peer(PeerError::ExcessHandshakeData))),
                    "{case:?} {:?} and {next:?}: {outcome:?}",
                    due.kind()
                );
            }
        }
    }
}

#[test]
fn a_key_update_must_be_the_last_message_of_its_record() {
    for case in cases().filter(Case::tls13) {
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
            panic!("{case:?} does not connect");
        };
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        let update = vec![HandshakeType::KEY_UPDATE.0, 0, 0, 1, 0, HandshakeType::KEY_UPDATE.0];
        peer.write(&Outgoing::Sealed(ContentType::HANDSHAKE, update), &mut out);
        received.extend(&out);
        let error = connection.receiver.open(&mut received).unwrap_err();
        assert_eq!(error, PeerError::ExcessHandshakeData.into(), "{case:?}");
    }
}

#[test]
fn no_other_record_may_interrupt_a_message() {
    for case in cases() {
        for (place, due) in case.sequence().iter().enumerate() {
            if due.kind().is_none() {
                continue;
            }
            let outcome = case.run(|at, due| {
                if at != place {
                    return vec![due];
                }
                let mut pieces = pieces(&due, 3);
                pieces.insert(1, Outgoing::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![1]));
                pieces
            });
            // With keys of TLS 1.2, a plaintext change_cipher_spec cannot be opened.
            let unexpected = Some(AlertDescription::UNEXPECTED_MESSAGE);
            let sealed12 = !case.tls13() && due.kind() == Some(HandshakeType::FINISHED);
            let expected =
                if sealed12 { Some(AlertDescription::BAD_RECORD_MAC) } else { unexpected };
            assert_eq!(alert_of(&outcome), expected, "{case:?} {:?}: {outcome:?}", due.kind());
        }
    }
}

#[test]
fn no_warning_may_interrupt_a_message() {
    let user_canceled = Outgoing::Sealed(ContentType::ALERT, vec![1, 90]);
    for case in cases() {
        for (place, due) in case.sequence().iter().enumerate() {
            if due.kind().is_none() {
                continue;
            }
            let outcome = case.run(|at, due| {
                let mut pieces = pieces(&due, 3);
                if at == place {
                    pieces.insert(1, user_canceled.clone());
                }
                pieces
            });
            let interrupted = Error::Peer(PeerError::InterruptedHandshakeMessage);
            let what = (case, due.kind());
            assert!(
                matches!(outcome, Outcome::Failed(error) if error == interrupted),
                "{what:?}: {outcome:?}"
            );
        }
    }
}

#[test]
fn handshake_and_alert_records_must_not_be_empty() {
    for case in cases() {
        for place in 0..case.sequence().len() {
            let tls13 = case.tls13() && place > 0;
            let outcome = case.run_with(place, &Outgoing::Empty(ContentType::HANDSHAKE, 0));
            if tls13 {
                let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
                assert_eq!(alert_of(&outcome), expected, "{case:?} {place}: {outcome:?}");
            } else {
                // Before TLS 1.3 a fragment of a message may be empty. RFC 5246 6.2.1
                assert!(matches!(outcome, Outcome::Connected(_)), "{case:?} {place}: {outcome:?}");
            }
            let outcome = case.run_with(place, &Outgoing::Empty(ContentType::ALERT, 0));
            let expected = if tls13 {
                AlertDescription::UNEXPECTED_MESSAGE
            } else {
                AlertDescription::DECODE_ERROR
            };
            assert_eq!(alert_of(&outcome), Some(expected), "{case:?} {place}: {outcome:?}");
        }
    }
}

#[test]
fn a_protected_or_late_change_cipher_spec_is_unexpected() {
    let wrong = Outgoing::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![1]);
    for case in cases() {
        if case.tls13() {
            let last = case.sequence().len() - 1;
            let outcome = case.run_with(last, &Outgoing::Empty(ContentType::CHANGE_CIPHER_SPEC, 0));
            let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
            assert_eq!(alert_of(&outcome), expected, "{case:?}: {outcome:?}");
        }
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
            panic!("{case:?} does not connect");
        };
        let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
        peer.write(&wrong, &mut out);
        received.extend(&out);
        let error = connection.receiver.open(&mut received).unwrap_err();
        // In TLS 1.2 all records are protected at this point, so the plaintext record cannot be
        // opened.
        let expected =
            if case.tls13() { PeerError::UnexpectedRecord } else { PeerError::BadRecordMac };
        assert_eq!(error, expected.into(), "{case:?}");
    }
}

#[test]
fn data_records_without_data_are_limited() {
    for case in cases() {
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
            panic!("{case:?} does not connect");
        };
        let (mut received, mut borne) = (ReceiveBuffer::new(), 0);
        let error = loop {
            let mut out = Vec::new();
            peer.write(&Outgoing::Empty(ContentType::APPLICATION_DATA, borne), &mut out);
            received.extend(&out);
            match connection.receiver.open(&mut received) {
                Ok(opened) => assert_eq!(opened, Opened::More),
                Err(error) => break error,
            }
            borne += 1;
        };
        assert_eq!(error, PeerError::TooManyEmptyRecords.into(), "{case:?}");
        assert!((1..100).contains(&borne), "{borne}");
    }
}

/// RFC 9846 5.4
#[test]
fn a_record_with_only_padding_is_unexpected() {
    for case in cases().filter(Case::tls13) {
        let last = case.sequence().len() - 1;
        // A record of zeros only has no content type.
        let outcome = case.run_with(last, &Outgoing::Empty(ContentType(0), 40));
        assert!(
            matches!(outcome, Outcome::Failed(Error::Peer(PeerError::MissingContentType))),
            "{case:?} {outcome:?}"
        );
    }
}

#[test]
fn a_record_that_is_too_long_is_an_overflow() {
    for case in cases() {
        let last = case.sequence().len() - 1;
        for place in [0, last] {
            let longest: u16 = match (place, case.tls13()) {
                (0, _) => 1 << 14,
                (_, true) => (1 << 14) + 256,
                (_, false) => (1 << 14) + 2048,
            };
            let kind = if case.tls13() && place > 0 { 23 } else { 22 };
            let [high, low] = (longest + 1).to_be_bytes();
            // The record is refused as soon as its header has arrived.
            let outcome = case.run_with(place, &Outgoing::Raw(vec![kind, 3, 3, high, low]));
            let expected = Some(AlertDescription::RECORD_OVERFLOW);
            assert_eq!(alert_of(&outcome), expected, "{case:?} {place}: {outcome:?}");
        }
    }
}

#[test]
fn a_sealed_record_with_a_changed_bit_does_not_open() {
    for case in cases() {
        let last = case.sequence().len() - 1;
        // A Finished of 12 or 32 bytes, its header, and the overhead of protection.
        let length = if case.tls13() { 5 + 4 + 32 + 17 } else { 5 + 4 + 12 + 24 };
        for byte in 5..length {
            let outcome = case.run(|place, due| match due {
                Outgoing::Sealed(kind, content) if place == last => {
                    vec![Outgoing::Corrupted(kind, content, byte)]
                }
                due => vec![due],
            });
            let expected = Some(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(alert_of(&outcome), expected, "{case:?} byte {byte}: {outcome:?}");
        }
    }
}

#[test]
fn a_change_cipher_spec_must_contain_only_the_value_one() {
    for case in cases() {
        for (place, _) in case.sequence().iter().enumerate().filter(|(_, due)| due.kind().is_none())
        {
            for content in [&[0_u8][..], &[2], &[1, 1]] {
                let wrong = Outgoing::Sealed(ContentType::CHANGE_CIPHER_SPEC, content.to_vec());
                let outcome = case.run_with(place, &wrong);
                let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
                assert_eq!(alert_of(&outcome), expected, "{case:?} {content:?}: {outcome:?}");
            }
        }
    }
}

fn alert_of(outcome: &Outcome) -> Option<AlertDescription> {
    match outcome {
        Outcome::Failed(error) => error.alert(),
        Outcome::Connected(_) | Outcome::Waits => None,
    }
}

fn pieces(due: &Outgoing, length: usize) -> Vec<Outgoing> {
    let Outgoing::Sealed(kind, content) = due else { return vec![due.clone()] };
    content.chunks(length).map(|piece| Outgoing::Sealed(*kind, piece.to_vec())).collect()
}

/// Whether the tested side reads under new keys after this message, or reads no more messages.
fn before_new_keys(case: Case, due: &Outgoing, next: Option<&Outgoing>) -> bool {
    match due.kind() {
        None => false,
        Some(HandshakeType::FINISHED) => true,
        Some(kind) if case.tls13() => {
            kind == HandshakeType::CLIENT_HELLO || kind == HandshakeType::SERVER_HELLO
        }
        Some(_) => next.is_some_and(|next| next.kind().is_none()),
    }
}
