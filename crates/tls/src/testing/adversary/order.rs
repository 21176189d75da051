//! Every message at every wrong moment: added, left out, or said twice.
//!
//! What it is for: showing that the order of the protocol's figures is the only one that leads
//! anywhere. RFC 9846 4, RFC 5246 7.3. Must not know: keys. Next: [`super::records`].

use tercel_wire::{AlertDescription, ContentType, HandshakeType};

use super::cast::{Scene, scenes};
use super::puppet::{Outcome, Puppet, Say};
use crate::config::policy::Side;
use crate::connection::Connection;
use crate::connection::buffer::Received;
use crate::connection::receiver::Opened;
use crate::error::{Error, Peer};

const UNEXPECTED: Option<AlertDescription> = Some(AlertDescription::UNEXPECTED_MESSAGE);

#[test]
fn without_a_script_every_scene_ends_well() {
    for scene in scenes() {
        let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
        let outcome = puppet.play(scene.victim());
        assert!(matches!(outcome, Outcome::Connected(_)), "{scene:?}: {outcome:?}");
        assert_eq!(puppet.alerts, []);
    }
}

#[test]
fn a_message_at_a_wrong_moment_is_unexpected() {
    let mut tried = 0;
    for scene in scenes() {
        for (place, due) in scene.sequence().iter().enumerate() {
            for wrong in every_message() {
                if may_stand_before(scene, wrong.kind(), due) {
                    continue;
                }
                let outcome = scene.play_with(place, &wrong);
                assert_alert(&outcome, UNEXPECTED, (scene, wrong.kind(), "before", due));
                tried += 1;
            }
        }
    }
    // 14 scenes of 3 to 9 steps, 20 kinds of message.
    assert!(tried > 900, "{tried}");
}

#[test]
fn a_message_left_out_is_missed() {
    for scene in scenes() {
        let sequence = scene.sequence();
        for (place, due) in sequence.iter().enumerate() {
            let outcome = scene.play(|at, due| if at == place { vec![] } else { vec![due] });
            let next = sequence.get(place + 1);
            match left_out(scene, due, next) {
                Missed::Unnoticed => {
                    assert!(
                        matches!(outcome, Outcome::Connected(_)),
                        "{scene:?} {due:?} {outcome:?}"
                    );
                }
                Missed::Awaited => {
                    assert!(matches!(outcome, Outcome::Waits), "{scene:?} {due:?} {outcome:?}");
                }
                Missed::Alert(alert) => {
                    assert_alert(&outcome, Some(alert), (scene, due.kind(), "left out", due));
                }
            }
        }
    }
}

#[test]
fn a_message_said_twice_is_unexpected() {
    for scene in scenes() {
        let sequence = scene.sequence();
        // What comes after the last one is not the handshake's any more.
        for (place, due) in sequence.iter().enumerate().take(sequence.len() - 1) {
            let outcome =
                scene.play(|at, due| if at == place { vec![due.clone(), due] } else { vec![due] });
            let change_cipher_spec = due.kind().is_none();
            if change_cipher_spec && scene.tls13() {
                // Dropped, however often within limits. RFC 9846 5
                assert!(matches!(outcome, Outcome::Connected(_)), "{scene:?}: {outcome:?}");
            } else if change_cipher_spec {
                // The second is read under the keys that the first one brought in.
                let alert = Some(AlertDescription::BAD_RECORD_MAC);
                assert_alert(&outcome, alert, (scene, None, "twice", due));
            } else if scene.retry && scene.victim == Side::Server && place == 0 {
                // A second hello is due, but one that does as it was told. RFC 9846 4.2.2
                let alert = Some(AlertDescription::ILLEGAL_PARAMETER);
                assert_alert(&outcome, alert, (scene, due.kind(), "twice", due));
            } else {
                assert_alert(&outcome, UNEXPECTED, (scene, due.kind(), "twice", due));
            }
        }
    }
}

#[test]
fn a_handshake_message_after_the_handshake_is_unexpected() {
    for scene in scenes() {
        for wrong in every_message() {
            let kind = wrong.kind().unwrap();
            let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
            let Outcome::Connected(mut connection) = puppet.play(scene.victim()) else {
                panic!("{scene:?} does not connect");
            };
            let expected = match (scene.tls13(), kind, scene.victim) {
                (true, HandshakeType::KEY_UPDATE, _) => continue,
                (true, HandshakeType::NEW_SESSION_TICKET, Side::Client) => continue,
                // This one ends nothing, see below.
                (false, HandshakeType::HELLO_REQUEST, Side::Client) => continue,
                // It would, if it had the form of one.
                (false, HandshakeType::CLIENT_HELLO, Side::Server) => {
                    AlertDescription::DECODE_ERROR
                }
                _ => AlertDescription::UNEXPECTED_MESSAGE,
            };
            let (mut received, mut out) = (Received::new(), Vec::new());
            puppet.write(&wrong, &mut out);
            received.extend(&out);
            let error = connection.receiver.open(&mut received).unwrap_err();
            assert_eq!(error.alert(), Some(expected), "{scene:?} {kind:?}");
            // The alert goes out by the other half, and then nothing more.
            let mut out = Vec::new();
            connection.sender.control(&mut out).unwrap();
            assert!(!out.is_empty());
            assert!(connection.sender.seal_to(b"more", &mut out).is_err());
        }
    }
}

/// A request for renegotiation is answered by a warning, and the connection goes on. RFC 5246
/// 7.2.2
#[test]
fn renegotiation_is_refused_by_a_warning_that_ends_nothing() {
    for scene in scenes().filter(|scene| !scene.tls13()) {
        let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = puppet.play(scene.victim()) else {
            panic!("{scene:?} does not connect");
        };
        let request = match scene.victim {
            Side::Client => Say::message(HandshakeType::HELLO_REQUEST, &[]),
            Side::Server => puppet.said[0].clone(),
        };
        let mut received = Received::new();
        let mut say = |puppet: &mut Puppet<'_>, connection: &mut Connection, said: &Say| {
            let mut out = Vec::new();
            puppet.write(said, &mut out);
            received.extend(&out);
            connection.receiver.open(&mut received).map(|opened| match opened {
                Opened::Data(data) => data.to_vec(),
                Opened::More => Vec::new(),
                other => panic!("{other:?}"),
            })
        };
        let answer = |puppet: &mut Puppet<'_>, connection: &mut Connection| {
            let (mut out, mut to_puppet) = (Vec::new(), Received::new());
            connection.sender.control(&mut out).unwrap();
            to_puppet.extend(&out);
            puppet.hear(&mut to_puppet);
            core::mem::take(&mut puppet.alerts)
        };
        let data = Say::Sealed(ContentType::APPLICATION_DATA, b"data".to_vec());
        for _ in 0..10 {
            assert_eq!(say(&mut puppet, &mut connection, &request), Ok(Vec::new()), "{scene:?}");
            let told = answer(&mut puppet, &mut connection);
            assert_eq!(told, [AlertDescription::NO_RENEGOTIATION], "{scene:?}");
            assert_eq!(say(&mut puppet, &mut connection, &data), Ok(b"data".to_vec()));
        }
        // Without data between them there are few, and then an error that is no warning.
        let error = (0..10).find_map(|_| say(&mut puppet, &mut connection, &request).err());
        assert_eq!(error, Some(Peer::Renegotiation.into()), "{scene:?}");
        let told = answer(&mut puppet, &mut connection);
        assert_eq!(told, [AlertDescription::UNEXPECTED_MESSAGE], "{scene:?}");
        assert!(connection.sender.seal_to(b"more", &mut Vec::new()).is_err());
    }
}

/// Who has sent close_notify can send no warning any more.
#[test]
fn renegotiation_behind_our_close_notify_is_an_error() {
    for scene in scenes().filter(|scene| !scene.tls13()) {
        let mut puppet = scene.puppet(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = puppet.play(scene.victim()) else {
            panic!("{scene:?} does not connect");
        };
        connection.sender.close(&mut Vec::new()).unwrap();
        let request = match scene.victim {
            Side::Client => Say::message(HandshakeType::HELLO_REQUEST, &[]),
            Side::Server => puppet.said[0].clone(),
        };
        let (mut out, mut received) = (Vec::new(), Received::new());
        puppet.write(&request, &mut out);
        received.extend(&out);
        let error = connection.receiver.open(&mut received).unwrap_err();
        assert_eq!(error, Peer::Renegotiation.into(), "{scene:?}");
    }
}

/// RFC 5246 7.2.1, RFC 9846 6.1
#[test]
fn a_close_notify_in_the_handshake_is_answered() {
    let mut answered = 0;
    for scene in scenes() {
        for place in 0..scene.sequence().len() {
            let close = Say::Sealed(ContentType::ALERT, vec![1, 0]);
            // What was sent is compared where it is played.
            match scene.play_with(place, &close) {
                Outcome::Failed(Error::ClosedInHandshake) => answered += 1,
                // Behind the ServerHello of TLS 1.3 a plain alert is nobody's.
                Outcome::Failed(Error::Peer(Peer::UnexpectedRecord)) if scene.tls13() => {}
                other => panic!("{scene:?} {place}: {other:?}"),
            }
        }
    }
    assert!(answered > 40, "{answered}");
}

fn assert_alert(
    outcome: &Outcome,
    expected: Option<AlertDescription>,
    (scene, kind, how, due): (Scene, Option<HandshakeType>, &str, &Say),
) {
    let alert = match outcome {
        Outcome::Failed(error) => error.alert(),
        _ => None,
    };
    let due = due.kind();
    assert!(
        alert == expected && expected.is_some(),
        "{scene:?}: {kind:?} {how} {due:?} (None is change_cipher_spec)\n got {outcome:?}, not {expected:?}"
    );
}

/// A message of every type there is, and of some there are not. Whether its body makes sense is for
/// whoever expects it.
fn every_message() -> Vec<Say> {
    let kinds =
        [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 25, 67, 254, 255];
    kinds.into_iter().map(|kind| Say::message(HandshakeType(kind), &[])).collect()
}

/// Whether the victim may expect this kind where `due` comes.
fn may_stand_before(scene: Scene, wrong: Option<HandshakeType>, due: &Say) -> bool {
    let Some(kind) = wrong else { return false };
    let client = scene.victim == Side::Client;
    match due.kind() {
        Some(due) if due == kind => true,
        // The one message that a server may send or not.
        Some(HandshakeType::CERTIFICATE) if client && scene.tls13() => {
            kind == HandshakeType::CERTIFICATE_REQUEST && !scene.client_auth
        }
        Some(HandshakeType::SERVER_HELLO_DONE) if client => {
            kind == HandshakeType::CERTIFICATE_REQUEST && !scene.client_auth
        }
        Some(HandshakeType::CERTIFICATE_REQUEST) if scene.tls13() => {
            kind == HandshakeType::CERTIFICATE
        }
        Some(HandshakeType::CERTIFICATE_REQUEST) => kind == HandshakeType::SERVER_HELLO_DONE,
        // A change_cipher_spec of TLS 1.3 holds no place: what may come after it may come before it,
        // but for the keys. Only in a retry are they still the same.
        None if scene.tls13() && scene.retry => {
            kind == if client { HandshakeType::SERVER_HELLO } else { HandshakeType::CLIENT_HELLO }
        }
        _ => false,
    }
}

/// What comes of leaving something out.
enum Missed {
    Unnoticed,
    Awaited,
    Alert(AlertDescription),
}

fn left_out(scene: Scene, due: &Say, next: Option<&Say>) -> Missed {
    match due.kind() {
        // Nothing depends on it in TLS 1.3. RFC 9846 E.4
        None if scene.tls13() => Missed::Unnoticed,
        // Optional, but signed.
        Some(HandshakeType::CERTIFICATE_REQUEST) if scene.tls13() => {
            Missed::Alert(AlertDescription::DECRYPT_ERROR)
        }
        Some(HandshakeType::CERTIFICATE_REQUEST) => Missed::Awaited,
        // The last of a flight: the other side has nothing to complain about, only to wait.
        Some(HandshakeType::SERVER_HELLO_DONE | HandshakeType::FINISHED) => Missed::Awaited,
        Some(HandshakeType::CLIENT_HELLO) => Missed::Awaited,
        Some(HandshakeType::SERVER_HELLO) if next.is_none() => Missed::Awaited,
        _ => Missed::Alert(AlertDescription::UNEXPECTED_MESSAGE),
    }
}

#[test]
fn what_is_not_a_handshake_message_is_unexpected_too() {
    for scene in scenes() {
        for (place, due) in scene.sequence().iter().enumerate() {
            for kind in [ContentType::APPLICATION_DATA, ContentType::HEARTBEAT, ContentType(99)] {
                let wrong = Say::Sealed(kind, vec![1, 2, 3]);
                let outcome = scene.play_with(place, &wrong);
                // An outer type of application_data is what sealed records have. RFC 9846 5.2
                let sealed = kind == ContentType::APPLICATION_DATA && scene.tls13();
                let expected = if sealed && !scene.retry && due.kind().is_none() {
                    Some(AlertDescription::BAD_RECORD_MAC)
                } else {
                    UNEXPECTED
                };
                assert_alert(&outcome, expected, (scene, None, &format!("{kind:?} before"), due));
            }
        }
    }
}

#[test]
fn an_alert_ends_the_handshake_and_is_not_answered() {
    for scene in scenes() {
        for (place, due) in scene.sequence().iter().enumerate() {
            let alert = Say::Sealed(ContentType::ALERT, vec![2, 40]);
            let outcome = scene.play_with(place, &alert);
            let Outcome::Failed(error) = outcome else { panic!("{scene:?} {due:?} {outcome:?}") };
            // A server has keys as soon as its ServerHello is out. RFC 9846 6
            let plain = scene.victim == Side::Client && scene.tls13() && !scene.retry;
            let expected = if plain && due.kind().is_none() {
                Peer::UnexpectedRecord.into()
            } else {
                Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)
            };
            assert_eq!(error, expected, "{scene:?} {:?}", due.kind());
        }
    }
}
