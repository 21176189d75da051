//! Messages at the right time with forbidden content. The tests cover the checks of the peer's
//! selections, changes and proofs, each with its alert.

use tercel_wire::{
    AlertDescription as Alert, Certificate, CertificateRequest, CertificateVerify, CipherSuite,
    ClientHello, ClientKeyExchange, CompressionMethod, ContentType, ExtensionType,
    HandshakeMessage, HandshakeType as Type, KeyShareEntry, List, NamedGroup, ProtocolVersion,
    ServerHello, ServerKeyExchange, ServerKeyShare, SignatureScheme, UnknownExtensions,
};

use super::cases::{Case, cases};
use super::scripted_peer::{Outcome, Outgoing};
use crate::error::Error;
use crate::side::Side;

#[test]
fn a_server_hello_must_select_from_the_offer() {
    type Edit = fn(&mut ServerHello<'_>);
    let cases: &[(Alert, Edit)] = &[
        (Alert::PROTOCOL_VERSION, |hello| hello.legacy_version = ProtocolVersion::TLS1_0),
        (Alert::PROTOCOL_VERSION, |hello| hello.legacy_version = ProtocolVersion::TLS1_3),
        (Alert::ILLEGAL_PARAMETER, |hello| hello.session_id_echo = &[9; 32]),
        (Alert::ILLEGAL_PARAMETER, |hello| hello.session_id_echo = &[]),
        (Alert::ILLEGAL_PARAMETER, |hello| hello.cipher_suite = CipherSuite(0x1305)),
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.cipher_suite = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        }),
        (Alert::ILLEGAL_PARAMETER, |hello| hello.compression_method = CompressionMethod(1)),
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.extensions.supported_versions = Some(ProtocolVersion::TLS1_2);
        }),
        // Without the extension, the message is a ServerHello of TLS 1.2, which was not offered.
        // RFC 9846 4.2.3
        (Alert::PROTOCOL_VERSION, |hello| hello.extensions.supported_versions = None),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::SECP384R1, &[4; 97])),
        // An offered group for which the client sent no share.
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::SECP256R1, &[4; 65])),
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::X25519, &[9; 31])),
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::X25519, &[0; 32])),
        // The answer to an extension that was not offered. RFC 9846 4.3
        (Alert::UNSUPPORTED_EXTENSION, |hello| hello.extensions.pre_shared_key = Some(0)),
    ];
    let case = case(Side::Client, |case| case.tls13() && !case.client_auth && !case.retry);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = alter_server_hello(case, 1, edit);
        assert_alert(&outcome, *alert, number);
    }
}

#[test]
fn a_retry_must_request_a_change_and_be_consistent() {
    type Edit = fn(&mut ServerHello<'_>);
    let cases: &[(usize, Alert, Edit)] = &[
        (1, Alert::ILLEGAL_PARAMETER, |retry| group(retry, NamedGroup::X25519)),
        (1, Alert::ILLEGAL_PARAMETER, |retry| group(retry, NamedGroup::SECP521R1)),
        (1, Alert::ILLEGAL_PARAMETER, |retry| retry.extensions.key_share = None),
        (1, Alert::MISSING_EXTENSION, |retry| retry.extensions.supported_versions = None),
        (1, Alert::ILLEGAL_PARAMETER, |retry| retry.session_id_echo = &[9; 32]),
        (2, Alert::ILLEGAL_PARAMETER, |hello| {
            hello.cipher_suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
        }),
        (2, Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::X25519, &[9; 32])),
        // Without a share there is no secret to derive keys from. RFC 9846 4.3.8
        (2, Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
        (2, Alert::ILLEGAL_PARAMETER, |hello| {
            hello.extensions.supported_versions = Some(ProtocolVersion::TLS1_2);
        }),
        (2, Alert::UNEXPECTED_MESSAGE, |hello| {
            hello.random = &ServerHello::RETRY_RANDOM;
            group(hello, NamedGroup::SECP256R1);
        }),
    ];
    let case = case(Side::Client, |case| case.retry);
    for (number, (nth, alert, edit)) in cases.iter().enumerate() {
        let outcome = alter_server_hello(case, *nth, edit);
        assert_alert(&outcome, *alert, number);
    }
}

/// RFC 9846 9.2
#[test]
fn a_client_hello_must_have_the_extensions_of_tls13() {
    type Edit = fn(&mut ClientHello<'_>);
    let cases: &[(Alert, Edit)] = &[
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.supported_groups = None),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.signature_algorithms = None),
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.compression_methods = List::new(&[CompressionMethod::NULL, CompressionMethod(1)]);
        }),
        // A share for an unlisted group.
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.extensions.supported_groups = Some(List::new(&[NamedGroup::SECP256R1]));
        }),
        (Alert::HANDSHAKE_FAILURE, |hello| {
            hello.cipher_suites = List::new(&[CipherSuite(0x1305)]);
        }),
        (Alert::HANDSHAKE_FAILURE, |hello| {
            let schemes = List::new(&[SignatureScheme::RSA_PSS_RSAE_SHA256]);
            hello.extensions.signature_algorithms = Some(schemes);
        }),
        (Alert::PROTOCOL_VERSION, |hello| {
            hello.extensions.supported_versions = Some(List::new(&[ProtocolVersion::TLS1_2]));
        }),
    ];
    let case = case(Side::Server, |case| case.tls13() && !case.client_auth && !case.retry);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = alter_client_hello(case, 1, edit);
        assert_alert(&outcome, *alert, number);
    }
}

#[test]
fn a_second_client_hello_must_not_change_otherwise() {
    type Edit = fn(&mut ClientHello<'_>);
    let illegal = Alert::ILLEGAL_PARAMETER;
    let cases: &[(Alert, Edit)] = &[
        (illegal, |hello| hello.random = &[9; 32]),
        (illegal, |hello| hello.session_id = &[9; 32]),
        (illegal, |hello| {
            hello.cipher_suites = List::new(&[CipherSuite::TLS_AES_128_GCM_SHA256]);
        }),
        (illegal, |hello| hello.extensions.record_size_limit = Some(4096)),
        (illegal, |hello| hello.extensions.server_name = None),
        (illegal, |hello| hello.extensions.early_data = Some(())),
        // Another version: the session of a ticket for TLS 1.3 must not be resumed in TLS 1.2.
        (illegal, |hello| hello.extensions.supported_versions = None),
        (illegal, |hello| {
            hello.extensions.supported_versions = Some(List::new(&[ProtocolVersion::TLS1_2]));
        }),
        (illegal, |hello| {
            let groups = List::new(&[NamedGroup::SECP256R1, NamedGroup::X25519]);
            hello.extensions.supported_groups = Some(groups);
        }),
        (illegal, |hello| {
            hello.extensions.key_share = Some(List::new(&[KeyShareEntry {
                group: NamedGroup::X25519,
                key_exchange: &[9; 32],
            }]));
        }),
        (illegal, |hello| {
            hello.extensions.key_share = Some(List::new(&[
                KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[9; 32] },
                KeyShareEntry { group: NamedGroup::SECP256R1, key_exchange: &[4; 65] },
            ]));
        }),
        (illegal, |hello| hello.extensions.key_share = Some(List::new(&[]))),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
    ];
    let case = case(Side::Server, |case| case.retry);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = alter_client_hello(case, 2, edit);
        assert_alert(&outcome, *alert, number);
    }
}

/// encrypted_client_hello changes after a retry (RFC 9849 6.1.5), and reserved values may change
/// too.
#[test]
fn a_second_client_hello_may_change_ignored_extensions() {
    let case = case(Side::Server, |case| case.retry);
    let unknown =
        [ExtensionType::ENCRYPTED_CLIENT_HELLO, ExtensionType(0x0a0a), ExtensionType(0x3374)];
    for kind in unknown {
        let outcome = run_with_changed(case, Type::CLIENT_HELLO, 2, |message| {
            let mut hello = ClientHello::parse(&message[4..]).unwrap();
            hello.extensions.encrypted_client_hello = None;
            let extensions = [(kind, &[7; 9][..])];
            hello.extensions.unknown = UnknownExtensions::new(&extensions);
            encoded(&hello)
        });
        // The scripted peer has another transcript, so it cannot decrypt the server's answer.
        let refused = matches!(&outcome, Outcome::Failed(Error::Peer(_)));
        assert!(!refused, "{kind}: {outcome:?}");
    }
}

/// RFC 9846 4.5.2, RFC 5246 4.7, 7.4.8
#[test]
fn wrong_signatures_and_finished_messages_are_refused() {
    for case in cases() {
        let proofs = [Type::CERTIFICATE_VERIFY, Type::FINISHED, Type::SERVER_KEY_EXCHANGE];
        for (place, due) in case.sequence().iter().enumerate() {
            if !due.kind().is_some_and(|kind| proofs.contains(&kind)) {
                continue;
            }
            let outcome = case.run(|at, due| match due {
                Outgoing::Sealed(kind, mut message) if at == place => {
                    *message.last_mut().unwrap() ^= 1;
                    vec![Outgoing::Sealed(kind, message)]
                }
                due => vec![due],
            });
            assert_alert(&outcome, Alert::DECRYPT_ERROR, place);
        }
    }
}

#[test]
fn a_signature_scheme_must_be_offered_and_fit_the_key() {
    for case in cases().filter(Case::tls13) {
        if case.pre_shared_key || case.tested == Side::Server && !case.client_auth {
            continue;
        }
        // A scheme that was not offered, one that does not fit the key, and two that TLS 1.3 does
        // not allow.
        for wrong in [0x0203, 0x0804, 0x0503, 0x0401] {
            let outcome = run_with_changed(case, Type::CERTIFICATE_VERIFY, 1, |message| {
                let verify = CertificateVerify::parse(&message[4..]).unwrap();
                encoded(&CertificateVerify { algorithm: SignatureScheme(wrong), ..verify })
            });
            assert_alert(&outcome, Alert::ILLEGAL_PARAMETER, wrong.into());
        }
    }
}

#[test]
fn a_server_must_send_a_certificate() {
    for case in cases().filter(|case| case.tested == Side::Client && !case.pre_shared_key) {
        let outcome = run_with_changed(case, Type::CERTIFICATE, 1, |_| {
            if case.tls13() {
                let certificate_list = List::new(&[]);
                encoded(&Certificate { certificate_request_context: &[], certificate_list })
            } else {
                vec![Type::CERTIFICATE.0, 0, 0, 3, 0, 0, 0]
            }
        });
        assert_alert(&outcome, Alert::DECODE_ERROR, 0);
    }
}

#[test]
fn in_a_handshake_the_certificate_context_must_be_empty() {
    for case in cases().filter(Case::tls13) {
        if case.pre_shared_key || case.tested == Side::Server && !case.client_auth {
            continue;
        }
        let outcome = run_with_changed(case, Type::CERTIFICATE, 1, |message| {
            let certificate = Certificate::parse(&message[4..]).unwrap();
            encoded(&Certificate { certificate_request_context: &[1], ..certificate })
        });
        assert_alert(&outcome, Alert::ILLEGAL_PARAMETER, 0);
    }
}

/// The client does not implement oid_filters and does not parse the extension, so the handshake
/// fails only because the transcripts differ. RFC 9846 4.3.5
#[test]
fn a_client_ignores_malformed_oid_filters() {
    let case = case(Side::Client, |case| case.tls13() && case.client_auth);
    let filters = |body: &'static [u8]| {
        run_with_changed(case, Type::CERTIFICATE_REQUEST, 1, |message| {
            let mut request = CertificateRequest::parse(&message[4..]).unwrap();
            request.extensions.oid_filters = Some(body);
            encoded(&request)
        })
    };
    assert_alert(&filters(&[0, 0]), Alert::DECRYPT_ERROR, 0);
    assert_alert(&filters(&[0xff]), Alert::DECRYPT_ERROR, 1);
}

/// RFC 5246 7.4.3, RFC 5246 7.4.7
#[test]
fn tls12_key_exchange_values_must_be_on_the_curve() {
    let client = case(Side::Client, |case| !case.tls13() && !case.client_auth);
    let shares: [(u16, &[u8]); 4] =
        [(29, &[0; 32]), (29, &[9; 31]), (24, &[4; 97]), (0x11ec, &[9])];
    for (curve, public) in shares {
        let outcome = run_with_changed(client, Type::SERVER_KEY_EXCHANGE, 1, |message| {
            let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
            exchange.params.named_curve = NamedGroup(curve);
            exchange.params.public = public;
            encoded(&exchange)
        });
        let Outcome::Failed(error) = &outcome else { panic!("{outcome:?}") };
        // The signature may be verified first.
        let expected = [Some(Alert::ILLEGAL_PARAMETER), Some(Alert::DECRYPT_ERROR)];
        assert!(expected.contains(&error.alert()), "{curve} {outcome:?}");
    }
    let server = case(Side::Server, |case| !case.tls13() && !case.client_auth);
    for public in [&[0; 32][..], &[9; 31], &[9; 33]] {
        let outcome = run_with_changed(server, Type::CLIENT_KEY_EXCHANGE, 1, |_| {
            encoded(&ClientKeyExchange { ecdh_public: public })
        });
        assert_alert(&outcome, Alert::ILLEGAL_PARAMETER, public.len());
    }
}

/// RFC 5246 7.4.1
#[test]
fn a_tls12_server_hello_must_select_from_the_offer() {
    type Edit = fn(&mut ServerHello<'_>);
    let cases: &[(Alert, Edit)] = &[
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.cipher_suite = CipherSuite::TLS_AES_128_GCM_SHA256;
        }),
        (Alert::ILLEGAL_PARAMETER, |hello| hello.cipher_suite = CipherSuite(0x002f)),
        (Alert::ILLEGAL_PARAMETER, |hello| hello.compression_method = CompressionMethod(1)),
        (Alert::PROTOCOL_VERSION, |hello| hello.legacy_version = ProtocolVersion::TLS1_1),
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.extensions.supported_versions = Some(ProtocolVersion::TLS1_3);
        }),
        (Alert::HANDSHAKE_FAILURE, |hello| hello.extensions.renegotiation_info = None),
        (Alert::HANDSHAKE_FAILURE, |hello| hello.extensions.renegotiation_info = Some(&[7])),
        (Alert::UNSUPPORTED_EXTENSION, |hello| hello.extensions.record_size_limit = Some(100)),
    ];
    let case = case(Side::Client, |case| !case.tls13() && !case.client_auth);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = alter_server_hello(case, 1, edit);
        assert_alert(&outcome, *alert, number);
    }
}

/// The Finished is a prefix of the right one, or the right one with additional bytes.
/// RFC 9846 4.5.3, RFC 5246 7.4.9
#[test]
fn a_finished_of_another_length_is_refused() {
    for case in cases() {
        for length in [0, 1, 11, 13, 31, 33, 47, 49, 64] {
            let mut sent = 0;
            let outcome = case.run(|_, due| match due {
                Outgoing::Sealed(ContentType::HANDSHAKE, mut message)
                    if message.first() == Some(&Type::FINISHED.0) =>
                {
                    message.resize(4 + length, 0);
                    message[3] = u8::try_from(length).unwrap();
                    sent += 1;
                    vec![Outgoing::Sealed(ContentType::HANDSHAKE, message)]
                }
                due => vec![due],
            });
            assert_eq!(sent, 1, "{case:?}");
            // The message has an incorrect length, so the alert is decode_error. RFC 9846 6
            assert_alert(&outcome, Alert::DECODE_ERROR, length);
        }
    }
}

pub(super) fn case(tested: Side, fits: impl Fn(&Case) -> bool) -> Case {
    cases().find(|case| case.tested == tested && fits(case)).unwrap()
}

/// Runs the case with the nth message of this type changed.
pub(super) fn run_with_changed(
    case: Case,
    kind: Type,
    nth: usize,
    edit: impl Fn(&[u8]) -> Vec<u8>,
) -> Outcome {
    let mut seen = 0;
    let outcome = case.run(|_, due| vec![changed(due, kind, nth, &mut seen, &edit)]);
    assert!(seen >= nth, "{case:?} has no {kind:?} number {nth}");
    outcome
}

/// Runs the case with the nth ServerHello edited.
pub(super) fn alter_server_hello(
    case: Case,
    nth: usize,
    edit: impl Fn(&mut ServerHello<'_>),
) -> Outcome {
    run_with_changed(case, Type::SERVER_HELLO, nth, |message| {
        let mut hello = ServerHello::parse(&message[4..]).unwrap();
        edit(&mut hello);
        encoded(&hello)
    })
}

/// Runs the case with the nth ClientHello edited.
pub(super) fn alter_client_hello(
    case: Case,
    nth: usize,
    edit: impl Fn(&mut ClientHello<'_>),
) -> Outcome {
    run_with_changed(case, Type::CLIENT_HELLO, nth, |message| {
        let mut hello = ClientHello::parse(&message[4..]).unwrap();
        edit(&mut hello);
        encoded(&hello)
    })
}

/// Returns the message, edited if it is the nth of this type. `seen` counts the messages of this
/// type.
pub(super) fn changed(
    due: Outgoing,
    kind: Type,
    nth: usize,
    seen: &mut usize,
    edit: impl Fn(&[u8]) -> Vec<u8>,
) -> Outgoing {
    *seen += usize::from(due.kind() == Some(kind));
    match due {
        Outgoing::Sealed(ContentType::HANDSHAKE, message)
            if message.first() == Some(&kind.0) && *seen == nth =>
        {
            Outgoing::Sealed(ContentType::HANDSHAKE, edit(&message))
        }
        due => due,
    }
}

pub(super) fn encoded<'m>(message: &impl HandshakeMessage<'m>) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out).unwrap();
    out
}

fn share(hello: &mut ServerHello<'_>, group: NamedGroup, key_exchange: &'static [u8]) {
    let entry = KeyShareEntry { group, key_exchange };
    hello.extensions.key_share = Some(ServerKeyShare::Entry(entry));
}

fn group(hello: &mut ServerHello<'_>, group: NamedGroup) {
    hello.extensions.key_share = Some(ServerKeyShare::SelectedGroup(group));
}

pub(super) fn assert_alert(outcome: &Outcome, expected: Alert, number: usize) {
    let alert = match outcome {
        Outcome::Failed(error) => error.alert(),
        Outcome::Connected(_) | Outcome::Waits => None,
    };
    assert_eq!(alert, Some(expected), "case {number}: {outcome:?}");
}
