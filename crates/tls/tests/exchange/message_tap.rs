//! The tap of a connection's protocol messages, and the values that it collects.

use std::sync::{Arc, Mutex};

use tercel::message_tap::{Direction, HandshakeValues, MessageTap};
use tercel::wire::{AlertDescription, ContentType, HandshakeType, ProtocolVersion};
use tercel::{ClientConfig, Handshake, ServerConfig, ServerName};

use crate::fixtures::{NAME, client, server};
use crate::pair::{Delivery, Ends, Failure, Pair};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;

type Message = (Direction, ContentType, Vec<u8>);

/// Collects messages, and the values in them.
#[derive(Default)]
struct Collector(Mutex<(Vec<Message>, HandshakeValues)>);

impl MessageTap for Collector {
    fn message(&self, direction: Direction, content_type: ContentType, content: &[u8]) {
        let mut collected = self.0.lock().unwrap();
        collected.1.see(direction, content_type, content);
        collected.0.push((direction, content_type, content.to_vec()));
    }
}

impl Collector {
    fn take(&self) -> Vec<Message> {
        core::mem::take(&mut self.0.lock().unwrap().0)
    }

    fn values(&self) -> HandshakeValues {
        self.0.lock().unwrap().1.clone()
    }
}

/// Connects with a tap on each side.
fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> (Result<Ends, Failure>, [Arc<Collector>; 2]) {
    let taps = [(); 2].map(|()| Arc::new(Collector::default()));
    let mut ours =
        Handshake::client(Arc::clone(client), ServerName::try_from(NAME.to_owned()).unwrap());
    let mut theirs = Handshake::server(Arc::clone(server));
    ours.set_message_tap(taps[0].clone());
    theirs.set_message_tap(taps[1].clone());
    (Pair::of(ours, theirs).delivery(Delivery::Pieces(3)).connect(), taps)
}

/// The messages of one direction.
fn only(messages: &[Message], wanted: Direction) -> Vec<(ContentType, Vec<u8>)> {
    let fitting = messages.iter().filter(|(direction, ..)| *direction == wanted);
    fitting.map(|(_, content_type, content)| (*content_type, content.clone())).collect()
}

/// The types of the handshake messages.
fn kinds(messages: &[Message]) -> Vec<HandshakeType> {
    let handshake =
        messages.iter().filter(|(_, content_type, _)| *content_type == ContentType::HANDSHAKE);
    handshake.map(|(.., content)| HandshakeType(content[0])).collect()
}

#[test]
fn each_side_sees_what_the_other_sends() {
    for version in [TLS13, TLS12] {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().build().unwrap();
        for resumed in [false, true] {
            let (ends, taps) = connect(&client, &server);
            let mut ends = ends.unwrap();
            ends.talk();
            assert_eq!(ends.client.connection.info.resumed, resumed);
            let [mut ours, mut theirs] = taps.map(|tap| tap.take());
            // In TLS 1.3 a received change_cipher_spec has no meaning, and is not seen.
            if version == TLS13 {
                let is_seen = |message: &Message| message.1 != ContentType::CHANGE_CIPHER_SPEC;
                ours.retain(is_seen);
                theirs.retain(is_seen);
            }
            assert_eq!(only(&ours, Direction::Sent), only(&theirs, Direction::Received));
            assert_eq!(only(&theirs, Direction::Sent), only(&ours, Direction::Received));
            let kinds = kinds(&ours);
            assert_eq!(kinds[..2], [HandshakeType::CLIENT_HELLO, HandshakeType::SERVER_HELLO]);
            assert_eq!(kinds.contains(&HandshakeType::CERTIFICATE), !resumed);
            let finished = kinds.iter().filter(|kind| **kind == HandshakeType::FINISHED);
            assert_eq!(finished.count(), 2);
            if version == TLS13 {
                let last = kinds.last().copied();
                assert_eq!(last, Some(HandshakeType::NEW_SESSION_TICKET));
            }
        }
    }
}

#[test]
fn messages_after_the_handshake_are_seen() {
    let (client, server) = (client().build().unwrap(), server().build().unwrap());
    let (ends, [ours, theirs]) = connect(&client, &server);
    let mut ends = ends.unwrap();
    ends.talk();
    for tap in [&ours, &theirs] {
        tap.take();
    }
    let mut wire = Vec::new();
    ends.client.connection.sender.update_key(false, &mut wire).unwrap();
    ends.client.connection.sender.close(&mut wire).unwrap();
    ends.server.read(&wire, Delivery::Whole).unwrap();
    let expected = [
        (ContentType::HANDSHAKE, vec![HandshakeType::KEY_UPDATE.0, 0, 0, 1, 0]),
        (ContentType::ALERT, vec![1, AlertDescription::CLOSE_NOTIFY.0]),
    ];
    assert_eq!(only(&ours.take(), Direction::Sent), expected);
    assert_eq!(only(&theirs.take(), Direction::Received), expected);
}

#[test]
fn the_alert_of_a_failed_handshake_is_seen() {
    let client = client().alpn(&["a"]).build().unwrap();
    let server = server().alpn(&["b"]).build().unwrap();
    let (ends, [ours, theirs]) = connect(&client, &server);
    ends.unwrap_err();
    let alert = (ContentType::ALERT, vec![2, AlertDescription::NO_APPLICATION_PROTOCOL.0]);
    assert_eq!(only(&theirs.take(), Direction::Sent), core::slice::from_ref(&alert));
    assert_eq!(only(&ours.take(), Direction::Received), [alert]);
}

#[test]
fn both_sides_collect_the_same_values() {
    for (version, length) in [(TLS13, 32), (TLS12, 12)] {
        let client = client()
            .versions(&[version])
            .cipher_suites(&[
                tercel::wire::CipherSuite::TLS_AES_128_GCM_SHA256,
                tercel::wire::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            ])
            .build()
            .unwrap();
        let server = server().build().unwrap();
        for resumed in [false, true] {
            let (ends, taps) = connect(&client, &server);
            ends.unwrap().talk();
            let [ours, theirs] = taps.map(|tap| tap.values());
            assert!(ours.client_random().is_some() && ours.server_random().is_some());
            assert_ne!(ours.client_random(), ours.server_random());
            assert_eq!(ours.client_random(), theirs.client_random());
            assert_eq!(ours.server_random(), theirs.server_random());
            let sent = ours.finished(Direction::Sent).unwrap();
            let received = ours.finished(Direction::Received).unwrap();
            assert_eq!(sent.len(), length);
            assert_eq!(Some(sent), theirs.finished(Direction::Received));
            assert_eq!(Some(received), theirs.finished(Direction::Sent));
            // The first Finished: the client's, and in a resumption the server's. RFC 5929 3.1
            let first = if resumed { received } else { sent };
            // It is not defined in TLS 1.3. RFC 9266 3
            assert_eq!(ours.tls_unique(), (version == TLS12).then_some(first));
            assert_eq!(theirs.tls_unique(), ours.tls_unique());
        }
    }
}

/// Without the extended main secret, two connections may have the same Finished. RFC 7627 5.4
#[test]
fn without_the_extended_main_secret_there_is_no_channel_binding() {
    let mut values = HandshakeValues::default();
    let finished = [vec![HandshakeType::FINISHED.0, 0, 0, 12], vec![7; 12]].concat();
    let hello = |extensions: &[u8]| {
        let body = [&[3, 3][..], &[9; 32], &[0, 0xc0, 0x2b, 0], extensions].concat();
        [&[HandshakeType::SERVER_HELLO.0, 0, 0, body.len().try_into().unwrap()], &body[..]].concat()
    };
    for (extensions, is_bound) in [(&[0, 4, 0, 23, 0, 0][..], true), (&[], false)] {
        values.see(Direction::Received, ContentType::HANDSHAKE, &hello(extensions));
        values.see(Direction::Sent, ContentType::HANDSHAKE, &finished);
        assert_eq!(values.server_random(), Some(&[9; 32]));
        assert_eq!(values.tls_unique().is_some(), is_bound);
    }
}
