//! Records cut, joined and bent in ways that the protocol forbids, or has to bear.
//!
//! What it is for: the rules of RFC 9846 5.1 and 5.2 and of RFC 5246 6.2 in the middle of a handshake.
//! Must not know: which message matters; every place of every scene is tried.
//! Next: [`super::order`] for whole messages.

use tercel_wire::{AlertDescription, ContentType, HandshakeType};

use super::cast::{Scene, scenes};
use super::puppet::{Outcome, Say};
use crate::connection::buffer::Received;
use crate::connection::receiver::Opened;
use crate::error::{Error, Peer};

#[test]
fn messages_in_pieces_of_one_byte_are_put_together() {
    for scene in scenes() {
        let outcome = scene.play(|_, due| pieces(&due, 1));
        assert!(matches!(outcome, Outcome::Connected(_)), "{scene:?}: {outcome:?}");
    }
}

#[test]
fn no_message_may_lie_across_a_change_of_keys() {
    for scene in scenes() {
        let sequence = scene.sequence();
        for (place, due) in sequence.iter().enumerate() {
            if !before_new_keys(scene, due, sequence.get(place + 1)) {
                continue;
            }
            // The beginning of a next message, and a whole one.
            for next in [&[8_u8][..], &[8, 0, 0, 2, 0, 0]] {
                let outcome = scene.play(|at, due| match due {
                    Say::Sealed(kind, content) if at == place => {
                        vec![Say::Sealed(kind, [&content, next].concat())]
                    }
                    due => vec![due],
                });
                assert!(
                    matches!(outcome, Outcome::Failed(Error::Peer(Peer::ExcessHandshakeData))),
                    "{scene:?} {:?} and {next:?}: {outcome:?}",
                    due.kind()
                );
            }
        }
    }
}

#[test]
fn a_key_update_is_the_last_of_its_record() {
    for scene in scenes().filter(Scene::tls13) {
        let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = puppet.play(scene.victim()) else {
            panic!("{scene:?} does not connect");
        };
        let (mut received, mut out) = (Received::new(), Vec::new());
        let update = vec![HandshakeType::KEY_UPDATE.0, 0, 0, 1, 0, HandshakeType::KEY_UPDATE.0];
        puppet.write(&Say::Sealed(ContentType::HANDSHAKE, update), &mut out);
        received.extend(&out);
        let error = connection.receiver.open(&mut received).unwrap_err();
        assert_eq!(error, Peer::ExcessHandshakeData.into(), "{scene:?}");
    }
}

#[test]
fn no_other_record_may_interrupt_a_message() {
    for scene in scenes() {
        for (place, due) in scene.sequence().iter().enumerate() {
            if due.kind().is_none() {
                continue;
            }
            let outcome = scene.play(|at, due| {
                if at != place {
                    return vec![due];
                }
                let mut pieces = pieces(&due, 3);
                pieces.insert(1, Say::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![1]));
                pieces
            });
            // Under keys of TLS 1.2 a change_cipher_spec in the clear does not even open.
            let unexpected = Some(AlertDescription::UNEXPECTED_MESSAGE);
            let sealed12 = !scene.tls13() && due.kind() == Some(HandshakeType::FINISHED);
            let expected =
                if sealed12 { Some(AlertDescription::BAD_RECORD_MAC) } else { unexpected };
            assert_eq!(alert_of(&outcome), expected, "{scene:?} {:?}: {outcome:?}", due.kind());
        }
    }
}

#[test]
fn no_alert_that_ends_nothing_may_interrupt_a_message() {
    let user_canceled = Say::Sealed(ContentType::ALERT, vec![1, 90]);
    for scene in scenes() {
        for (place, due) in scene.sequence().iter().enumerate() {
            if due.kind().is_none() {
                continue;
            }
            let outcome = scene.play(|at, due| {
                let mut pieces = pieces(&due, 3);
                if at == place {
                    pieces.insert(1, user_canceled.clone());
                }
                pieces
            });
            let interrupted = Error::Peer(Peer::InterruptedHandshakeMessage);
            let what = (scene, due.kind());
            assert!(
                matches!(outcome, Outcome::Failed(error) if error == interrupted),
                "{what:?}: {outcome:?}"
            );
        }
    }
}

#[test]
fn handshake_and_alert_records_carry_something() {
    for scene in scenes() {
        for place in 0..scene.sequence().len() {
            let tls13 = scene.tls13() && place > 0;
            let outcome = scene.play_with(place, &Say::Empty(ContentType::HANDSHAKE, 0));
            if tls13 {
                let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
                assert_eq!(alert_of(&outcome), expected, "{scene:?} {place}: {outcome:?}");
            } else {
                // Before TLS 1.3 an empty piece of a message is still a piece. RFC 5246 6.2.1
                assert!(matches!(outcome, Outcome::Connected(_)), "{scene:?} {place}: {outcome:?}");
            }
            let outcome = scene.play_with(place, &Say::Empty(ContentType::ALERT, 0));
            let expected = if tls13 {
                AlertDescription::UNEXPECTED_MESSAGE
            } else {
                AlertDescription::DECODE_ERROR
            };
            assert_eq!(alert_of(&outcome), Some(expected), "{scene:?} {place}: {outcome:?}");
        }
    }
}

#[test]
fn a_change_cipher_spec_is_unexpected_when_sealed_and_after_the_finished() {
    let wrong = Say::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![1]);
    for scene in scenes() {
        if scene.tls13() {
            let last = scene.sequence().len() - 1;
            let outcome = scene.play_with(last, &Say::Empty(ContentType::CHANGE_CIPHER_SPEC, 0));
            let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
            assert_eq!(alert_of(&outcome), expected, "{scene:?}: {outcome:?}");
        }
        let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = puppet.play(scene.victim()) else {
            panic!("{scene:?} does not connect");
        };
        let (mut received, mut out) = (Received::new(), Vec::new());
        puppet.write(&wrong, &mut out);
        received.extend(&out);
        let error = connection.receiver.open(&mut received).unwrap_err();
        // In TLS 1.2 nothing is in the clear any more, so it fails to open.
        let expected = if scene.tls13() { Peer::UnexpectedRecord } else { Peer::BadRecordMac };
        assert_eq!(error, expected.into(), "{scene:?}");
    }
}

#[test]
fn data_records_without_data_come_to_an_end() {
    for scene in scenes() {
        let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = puppet.play(scene.victim()) else {
            panic!("{scene:?} does not connect");
        };
        let (mut received, mut borne) = (Received::new(), 0);
        let error = loop {
            let mut out = Vec::new();
            puppet.write(&Say::Empty(ContentType::APPLICATION_DATA, borne), &mut out);
            received.extend(&out);
            match connection.receiver.open(&mut received) {
                Ok(opened) => assert_eq!(opened, Opened::More),
                Err(error) => break error,
            }
            borne += 1;
        };
        assert_eq!(error, Peer::TooManyEmptyRecords.into(), "{scene:?}");
        assert!((1..100).contains(&borne), "{borne}");
    }
}

#[test]
fn a_record_of_nothing_but_padding_is_unexpected() {
    for scene in scenes().filter(Scene::tls13) {
        let last = scene.sequence().len() - 1;
        // Type zero is what a record of zeros has: none.
        let outcome = scene.play_with(last, &Say::Empty(ContentType(0), 40));
        assert!(
            matches!(outcome, Outcome::Failed(Error::Peer(Peer::MissingContentType))),
            "{scene:?} {outcome:?}"
        );
    }
}

#[test]
fn a_record_that_is_too_long_overflows() {
    for scene in scenes() {
        let last = scene.sequence().len() - 1;
        for place in [0, last] {
            let longest: u16 = match (place, scene.tls13()) {
                (0, _) => 1 << 14,
                (_, true) => (1 << 14) + 256,
                (_, false) => (1 << 14) + 2048,
            };
            let kind = if scene.tls13() && place > 0 { 23 } else { 22 };
            let [high, low] = (longest + 1).to_be_bytes();
            // The header alone is enough.
            let outcome = scene.play_with(place, &Say::Raw(vec![kind, 3, 3, high, low]));
            let expected = Some(AlertDescription::RECORD_OVERFLOW);
            assert_eq!(alert_of(&outcome), expected, "{scene:?} {place}: {outcome:?}");
        }
    }
}

#[test]
fn a_sealed_record_with_any_bit_changed_does_not_open() {
    for scene in scenes() {
        let last = scene.sequence().len() - 1;
        // Finished of 12 or 32 bytes, its header, and what sealing adds.
        let length = if scene.tls13() { 5 + 4 + 32 + 17 } else { 5 + 4 + 12 + 24 };
        for byte in 5..length {
            let outcome = scene.play(|place, due| match due {
                Say::Sealed(kind, content) if place == last => {
                    vec![Say::Bent(kind, content, byte)]
                }
                due => vec![due],
            });
            let expected = Some(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(alert_of(&outcome), expected, "{scene:?} byte {byte}: {outcome:?}");
        }
    }
}

#[test]
fn a_change_cipher_spec_says_one_and_nothing_else() {
    for scene in scenes() {
        for (place, _) in
            scene.sequence().iter().enumerate().filter(|(_, due)| due.kind().is_none())
        {
            for content in [&[0_u8][..], &[2], &[1, 1]] {
                let wrong = Say::Sealed(ContentType::CHANGE_CIPHER_SPEC, content.to_vec());
                let outcome = scene.play_with(place, &wrong);
                let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
                assert_eq!(alert_of(&outcome), expected, "{scene:?} {content:?}: {outcome:?}");
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

fn pieces(due: &Say, length: usize) -> Vec<Say> {
    let Say::Sealed(kind, content) = due else { return vec![due.clone()] };
    content.chunks(length).map(|piece| Say::Sealed(*kind, piece.to_vec())).collect()
}

/// Whether the victim reads under other keys after this message, or has nothing more to read.
fn before_new_keys(scene: Scene, due: &Say, next: Option<&Say>) -> bool {
    match due.kind() {
        None => false,
        Some(HandshakeType::FINISHED) => true,
        Some(kind) if scene.tls13() => {
            kind == HandshakeType::CLIENT_HELLO || kind == HandshakeType::SERVER_HELLO
        }
        Some(_) => next.is_some_and(|next| next.kind().is_none()),
    }
}
