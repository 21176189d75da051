//! Servers that choose a reserved value, which a client offers so that servers learn to ignore it. RFC 8701 3.1
//!
//! What it is for: such a choice ends the handshake wherever a server can make one. All sixteen values are tried,
//! so that the one which the client offered is among them. Next: [`super::content`].

use tercel_wire::{
    AlertDescription as Alert, Certificate, CertificateEntry, CertificateVerify, CipherSuite,
    ContentType, EncryptedExtensions, ExtensionType, HandshakeMessage, HandshakeType as Type,
    KeyShareEntry, List, NamedGroup, ProtocolName, ProtocolVersion, ServerHello, ServerKeyExchange,
    ServerKeyShare, SignatureScheme, UnknownExtensions,
};

use super::cast::{Scene, name};
use super::content::{assert_alert, encoded, scene};
use super::puppet::{Outcome, Say};
use crate::config::policy::Side;
use crate::handshake::Handshake;

/// The sixteen values of two bytes. RFC 8701 2
fn values() -> impl Iterator<Item = u16> {
    (0..16).map(|high| 0x0a0a + 0x1010 * high)
}

/// Plays against a client that sends reserved values, with the nth message of this kind changed.
fn bend(scene: Scene, kind: Type, nth: usize, edit: impl Fn(&[u8]) -> Vec<u8>) -> Outcome {
    let mut seen = 0;
    let script = |_, due: Say| {
        seen += usize::from(due.kind() == Some(kind));
        match due {
            Say::Sealed(ContentType::HANDSHAKE, message)
                if message.first() == Some(&kind.0) && seen == nth =>
            {
                vec![Say::Sealed(ContentType::HANDSHAKE, edit(&message))]
            }
            due => vec![due],
        }
    };
    let client = scene.client_builder().grease(true).alpn(&[b"h2"]).build().unwrap();
    let outcome = scene.puppet(Box::new(script)).play(Handshake::client(client, name()));
    assert!(seen >= nth, "{scene:?} has no {kind:?} number {nth}");
    outcome
}

fn refused(
    scene: Scene,
    kind: Type,
    nth: usize,
    alert: Alert,
    edit: impl Fn(&[u8], u16) -> Vec<u8>,
) {
    for value in values() {
        let outcome = bend(scene, kind, nth, |message| edit(message, value));
        assert_alert(&outcome, alert, usize::from(value));
    }
}

type EditHello = fn(&mut ServerHello<'_>, u16);

/// Every edit of a ServerHello, or of a HelloRetryRequest.
fn hellos_refused(scene: Scene, edits: &[EditHello]) {
    for edit in edits {
        refused(scene, Type::SERVER_HELLO, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
            let mut hello = ServerHello::parse(&message[4..]).unwrap();
            edit(&mut hello, value);
            encoded(&hello)
        });
    }
    // It was offered, but there is no such answer to it. RFC 9846 4.3
    refused(scene, Type::SERVER_HELLO, 1, Alert::UNSUPPORTED_EXTENSION, |message, value| {
        let mut hello = ServerHello::parse(&message[4..]).unwrap();
        let more = [(ExtensionType(value), &[][..])];
        hello.extensions.unknown = UnknownExtensions::of(&more);
        encoded(&hello)
    });
}

fn client(fits: impl Fn(&Scene) -> bool) -> Scene {
    scene(Side::Client, |scene| !scene.client_auth && !scene.pre_shared_key && fits(scene))
}

const SUITE: EditHello = |hello, value| hello.cipher_suite = CipherSuite(value);
const VERSION: EditHello =
    |hello, value| hello.extensions.supported_versions = Some(ProtocolVersion(value));

#[test]
fn a_client_that_sends_reserved_values_connects() {
    for scene in [client(Scene::tls13), client(|scene| scene.retry), client(|scene| !scene.tls13())]
    {
        let outcome = bend(scene, Type::SERVER_HELLO, 1, <[u8]>::to_vec);
        assert!(matches!(outcome, Outcome::Connected(_)), "{scene:?} {outcome:?}");
    }
}

#[test]
fn a_server_hello_chooses_no_reserved_value() {
    let share: EditHello = |hello, value| {
        let entry = KeyShareEntry { group: NamedGroup(value), key_exchange: &[0] };
        hello.extensions.key_share = Some(ServerKeyShare::Entry(entry));
    };
    let scene = client(|scene| scene.tls13() && !scene.retry);
    hellos_refused(scene, &[SUITE, VERSION, share]);
}

#[test]
fn a_retry_asks_for_no_reserved_value() {
    let group: EditHello = |hello, value| {
        let group = ServerKeyShare::SelectedGroup(NamedGroup(value));
        hello.extensions.key_share = Some(group);
    };
    hellos_refused(client(|scene| scene.retry), &[SUITE, VERSION, group]);
}

#[test]
fn a_tls12_server_chooses_no_reserved_value() {
    let scene = client(|scene| !scene.tls13());
    let protocol: EditHello = |hello, value| {
        let name: &'static [u8; 2] = &NAMES[usize::from(value >> 12)];
        hello.extensions.alpn = Some(ProtocolName(name));
    };
    hellos_refused(scene, &[SUITE, VERSION, protocol]);
    let kind = Type::SERVER_KEY_EXCHANGE;
    refused(scene, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
        exchange.params.named_curve = NamedGroup(value);
        encoded(&exchange)
    });
    refused(scene, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
        exchange.algorithm = SignatureScheme(value);
        encoded(&exchange)
    });
}

/// The reserved names of protocols, in the order of [`values`].
const NAMES: [[u8; 2]; 16] = [
    [0x0a; 2], [0x1a; 2], [0x2a; 2], [0x3a; 2], [0x4a; 2], [0x5a; 2], [0x6a; 2], [0x7a; 2],
    [0x8a; 2], [0x9a; 2], [0xaa; 2], [0xba; 2], [0xca; 2], [0xda; 2], [0xea; 2], [0xfa; 2],
];

#[test]
fn protected_messages_choose_no_reserved_value() {
    let scene = client(|scene| scene.tls13() && !scene.retry);
    let kind = Type::ENCRYPTED_EXTENSIONS;
    refused(scene, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut extensions = EncryptedExtensions::parse(&message[4..]).unwrap();
        let name = value.to_be_bytes();
        extensions.alpn = Some(ProtocolName(&name));
        encoded(&extensions)
    });
    refused(scene, kind, 1, Alert::UNSUPPORTED_EXTENSION, |message, value| {
        let mut extensions = EncryptedExtensions::parse(&message[4..]).unwrap();
        let more = [(ExtensionType(value), &[][..])];
        extensions.unknown = UnknownExtensions::of(&more);
        encoded(&extensions)
    });
    refused(scene, Type::CERTIFICATE, 1, Alert::UNSUPPORTED_EXTENSION, |message, value| {
        let certificate = Certificate::parse(&message[4..]).unwrap();
        let mut entries: Vec<CertificateEntry<'_>> = certificate.certificate_list.iter().collect();
        let more = [(ExtensionType(value), &[][..])];
        entries[0].extensions.unknown = UnknownExtensions::of(&more);
        encoded(&Certificate { certificate_list: List::of(&entries), ..certificate })
    });
    let kind = Type::CERTIFICATE_VERIFY;
    refused(scene, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut verify = CertificateVerify::parse(&message[4..]).unwrap();
        verify.algorithm = SignatureScheme(value);
        encoded(&verify)
    });
}
