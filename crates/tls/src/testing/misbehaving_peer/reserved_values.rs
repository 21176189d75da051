//! Tests of servers that select a reserved value (GREASE). A client offers such values so that
//! servers keep ignoring unknown values. RFC 8701 3.1
//!
//! Every such selection ends the handshake. The tests try all sixteen values, one of which was
//! offered.

use tercel_wire::{
    AlertDescription as Alert, Certificate, CertificateEntry, CertificateVerify, CipherSuite,
    EncryptedExtensions, ExtensionType, HandshakeMessage, HandshakeType as Type, KeyShareEntry,
    List, NamedGroup, ProtocolName, ProtocolVersion, ServerHello, ServerKeyExchange,
    ServerKeyShare, SignatureScheme, UnknownExtensions,
};

use super::cases::{Case, name};
use super::message_content::{assert_alert, case, changed, encoded};
use super::scripted_peer::{Outcome, Outgoing};
use crate::handshake::Handshake;
use crate::side::Side;

/// The sixteen values of two bytes. RFC 8701 2
fn values() -> impl Iterator<Item = u16> {
    (0..16).map(|high| 0x0a0a + 0x1010 * high)
}

/// Runs a client that sends reserved values, with the nth message of this type changed.
fn run_with_changed(
    case: Case,
    kind: Type,
    nth: usize,
    edit: impl Fn(&[u8]) -> Vec<u8>,
) -> Outcome {
    let mut seen = 0;
    let script = |_, due: Outgoing| vec![changed(due, kind, nth, &mut seen, &edit)];
    let client = case.client_builder().grease(true).alpn(&[b"h2"]).build().unwrap();
    let outcome = case.peer(Box::new(script)).run(Handshake::client(client, name()));
    assert!(seen >= nth, "{case:?} has no {kind:?} number {nth}");
    outcome
}

fn refused(case: Case, kind: Type, nth: usize, alert: Alert, edit: impl Fn(&[u8], u16) -> Vec<u8>) {
    for value in values() {
        let outcome = run_with_changed(case, kind, nth, |message| edit(message, value));
        assert_alert(&outcome, alert, usize::from(value));
    }
}

type EditHello = fn(&mut ServerHello<'_>, u16);

/// Tests each edit of a ServerHello, or of a HelloRetryRequest.
fn hellos_refused(case: Case, edits: &[EditHello]) {
    for edit in edits {
        refused(case, Type::SERVER_HELLO, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
            let mut hello = ServerHello::parse(&message[4..]).unwrap();
            edit(&mut hello, value);
            encoded(&hello)
        });
    }
    // The extension was offered, but a ServerHello must not contain it. RFC 9846 4.3
    refused(case, Type::SERVER_HELLO, 1, Alert::UNSUPPORTED_EXTENSION, |message, value| {
        let mut hello = ServerHello::parse(&message[4..]).unwrap();
        let more = [(ExtensionType(value), &[][..])];
        hello.extensions.unknown = UnknownExtensions::new(&more);
        encoded(&hello)
    });
}

fn client(fits: impl Fn(&Case) -> bool) -> Case {
    case(Side::Client, |case| !case.client_auth && !case.pre_shared_key && fits(case))
}

const SUITE: EditHello = |hello, value| hello.cipher_suite = CipherSuite(value);
const VERSION: EditHello =
    |hello, value| hello.extensions.supported_versions = Some(ProtocolVersion(value));

#[test]
fn a_client_that_sends_reserved_values_connects() {
    for case in [client(Case::tls13), client(|case| case.retry), client(|case| !case.tls13())] {
        let outcome = run_with_changed(case, Type::SERVER_HELLO, 1, <[u8]>::to_vec);
        assert!(matches!(outcome, Outcome::Connected(_)), "{case:?} {outcome:?}");
    }
}

#[test]
fn a_server_hello_must_not_select_a_reserved_value() {
    let share: EditHello = |hello, value| {
        let entry = KeyShareEntry { group: NamedGroup(value), key_exchange: &[0] };
        hello.extensions.key_share = Some(ServerKeyShare::Entry(entry));
    };
    let case = client(|case| case.tls13() && !case.retry);
    hellos_refused(case, &[SUITE, VERSION, share]);
}

#[test]
fn a_retry_must_not_request_a_reserved_value() {
    let group: EditHello = |hello, value| {
        let group = ServerKeyShare::SelectedGroup(NamedGroup(value));
        hello.extensions.key_share = Some(group);
    };
    hellos_refused(client(|case| case.retry), &[SUITE, VERSION, group]);
}

#[test]
fn a_tls12_server_must_not_select_a_reserved_value() {
    let case = client(|case| !case.tls13());
    let protocol: EditHello = |hello, value| {
        let name: &'static [u8; 2] = &NAMES[usize::from(value >> 12)];
        hello.extensions.alpn = Some(ProtocolName(name));
    };
    hellos_refused(case, &[SUITE, VERSION, protocol]);
    let kind = Type::SERVER_KEY_EXCHANGE;
    refused(case, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
        exchange.params.named_curve = NamedGroup(value);
        encoded(&exchange)
    });
    refused(case, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
        exchange.algorithm = SignatureScheme(value);
        encoded(&exchange)
    });
}

/// The reserved protocol names, in the order of [`values`].
const NAMES: [[u8; 2]; 16] = [
    [0x0a; 2], [0x1a; 2], [0x2a; 2], [0x3a; 2], [0x4a; 2], [0x5a; 2], [0x6a; 2], [0x7a; 2],
    [0x8a; 2], [0x9a; 2], [0xaa; 2], [0xba; 2], [0xca; 2], [0xda; 2], [0xea; 2], [0xfa; 2],
];

#[test]
fn protected_messages_must_not_select_a_reserved_value() {
    let case = client(|case| case.tls13() && !case.retry);
    let kind = Type::ENCRYPTED_EXTENSIONS;
    refused(case, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut extensions = EncryptedExtensions::parse(&message[4..]).unwrap();
        let name = value.to_be_bytes();
        extensions.alpn = Some(ProtocolName(&name));
        encoded(&extensions)
    });
    refused(case, kind, 1, Alert::UNSUPPORTED_EXTENSION, |message, value| {
        let mut extensions = EncryptedExtensions::parse(&message[4..]).unwrap();
        let more = [(ExtensionType(value), &[][..])];
        extensions.unknown = UnknownExtensions::new(&more);
        encoded(&extensions)
    });
    refused(case, Type::CERTIFICATE, 1, Alert::UNSUPPORTED_EXTENSION, |message, value| {
        let certificate = Certificate::parse(&message[4..]).unwrap();
        let mut entries: Vec<CertificateEntry<'_>> = certificate.certificate_list.iter().collect();
        let more = [(ExtensionType(value), &[][..])];
        entries[0].extensions.unknown = UnknownExtensions::new(&more);
        encoded(&Certificate { certificate_list: List::new(&entries), ..certificate })
    });
    let kind = Type::CERTIFICATE_VERIFY;
    refused(case, kind, 1, Alert::ILLEGAL_PARAMETER, |message, value| {
        let mut verify = CertificateVerify::parse(&message[4..]).unwrap();
        verify.algorithm = SignatureScheme(value);
        encoded(&verify)
    });
}
