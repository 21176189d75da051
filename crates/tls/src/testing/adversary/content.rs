//! Messages at the right moment that say what they must not.
//!
//! What it is for: the checks on what the other side chose, changed or proved, each with its alert.
//! Must not know: forms; what does not parse is the wire crate's to test. Next: [`super::order`].

use tercel_wire::{
    AlertDescription as Alert, Certificate, CertificateRequest, CertificateVerify, CipherSuite,
    ClientHello, ClientKeyExchange, CompressionMethod, ContentType, ExtensionType,
    HandshakeMessage, HandshakeType as Type, KeyShareEntry, List, NamedGroup, ProtocolVersion,
    ServerHello, ServerKeyExchange, ServerKeyShare, SignatureScheme, UnknownExtensions,
};

use super::cast::{Scene, scenes};
use super::puppet::{Outcome, Say};
use crate::config::policy::Side;
use crate::error::Error;

#[test]
fn a_server_hello_chooses_from_the_offer() {
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
        // Without the extension it is a hello of TLS 1.2, which was not offered. RFC 9846 4.2.3
        (Alert::PROTOCOL_VERSION, |hello| hello.extensions.supported_versions = None),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::SECP384R1, &[4; 97])),
        // A group that was offered, but without a share of ours.
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::SECP256R1, &[4; 65])),
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::X25519, &[9; 31])),
        (Alert::ILLEGAL_PARAMETER, |hello| share(hello, NamedGroup::X25519, &[0; 32])),
        // An answer to what was not asked. RFC 9846 4.3
        (Alert::UNSUPPORTED_EXTENSION, |hello| hello.extensions.pre_shared_key = Some(0)),
    ];
    let scene = scene(Side::Client, |scene| scene.tls13() && !scene.client_auth && !scene.retry);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = bend(scene, Type::SERVER_HELLO, 1, |message| {
            let mut hello = ServerHello::parse(&message[4..]).unwrap();
            edit(&mut hello);
            encoded(&hello)
        });
        assert_alert(&outcome, *alert, number);
    }
}

#[test]
fn a_retry_asks_for_something_new_and_is_kept_to() {
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
        (2, Alert::ILLEGAL_PARAMETER, |hello| {
            hello.extensions.supported_versions = Some(ProtocolVersion::TLS1_2);
        }),
        (2, Alert::UNEXPECTED_MESSAGE, |hello| {
            hello.random = &ServerHello::RETRY_RANDOM;
            group(hello, NamedGroup::SECP256R1);
        }),
    ];
    let scene = scene(Side::Client, |scene| scene.retry);
    for (number, (nth, alert, edit)) in cases.iter().enumerate() {
        let outcome = bend(scene, Type::SERVER_HELLO, *nth, |message| {
            let mut hello = ServerHello::parse(&message[4..]).unwrap();
            edit(&mut hello);
            encoded(&hello)
        });
        assert_alert(&outcome, *alert, number);
    }
}

#[test]
fn a_client_hello_has_what_tls13_needs() {
    type Edit = fn(&mut ClientHello<'_>);
    let cases: &[(Alert, Edit)] = &[
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.supported_groups = None),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.signature_algorithms = None),
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.compression_methods = List::of(&[CompressionMethod::NULL, CompressionMethod(1)]);
        }),
        // A share for a group that is not listed.
        (Alert::ILLEGAL_PARAMETER, |hello| {
            hello.extensions.supported_groups = Some(List::of(&[NamedGroup::SECP256R1]));
        }),
        (Alert::HANDSHAKE_FAILURE, |hello| {
            hello.cipher_suites = List::of(&[CipherSuite(0x1305)]);
        }),
        (Alert::HANDSHAKE_FAILURE, |hello| {
            let schemes = List::of(&[SignatureScheme::RSA_PSS_RSAE_SHA256]);
            hello.extensions.signature_algorithms = Some(schemes);
        }),
        (Alert::PROTOCOL_VERSION, |hello| {
            hello.extensions.supported_versions = Some(List::of(&[ProtocolVersion::TLS1_2]));
        }),
    ];
    let scene = scene(Side::Server, |scene| scene.tls13() && !scene.client_auth && !scene.retry);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = bend(scene, Type::CLIENT_HELLO, 1, |message| {
            let mut hello = ClientHello::parse(&message[4..]).unwrap();
            edit(&mut hello);
            encoded(&hello)
        });
        assert_alert(&outcome, *alert, number);
    }
}

#[test]
fn a_second_client_hello_changes_nothing_else() {
    type Edit = fn(&mut ClientHello<'_>);
    let illegal = Alert::ILLEGAL_PARAMETER;
    let cases: &[(Alert, Edit)] = &[
        (illegal, |hello| hello.random = &[9; 32]),
        (illegal, |hello| hello.session_id = &[9; 32]),
        (illegal, |hello| {
            hello.cipher_suites = List::of(&[CipherSuite::TLS_AES_128_GCM_SHA256]);
        }),
        (illegal, |hello| hello.extensions.record_size_limit = Some(4096)),
        (illegal, |hello| hello.extensions.server_name = None),
        (illegal, |hello| hello.extensions.early_data = Some(())),
        (illegal, |hello| {
            let groups = List::of(&[NamedGroup::SECP256R1, NamedGroup::X25519]);
            hello.extensions.supported_groups = Some(groups);
        }),
        (illegal, |hello| {
            hello.extensions.key_share = Some(List::of(&[KeyShareEntry {
                group: NamedGroup::X25519,
                key_exchange: &[9; 32],
            }]));
        }),
        (illegal, |hello| {
            hello.extensions.key_share = Some(List::of(&[
                KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[9; 32] },
                KeyShareEntry { group: NamedGroup::SECP256R1, key_exchange: &[4; 65] },
            ]));
        }),
        (illegal, |hello| hello.extensions.key_share = Some(List::of(&[]))),
        (Alert::MISSING_EXTENSION, |hello| hello.extensions.key_share = None),
    ];
    let scene = scene(Side::Server, |scene| scene.retry);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = bend(scene, Type::CLIENT_HELLO, 2, |message| {
            let mut hello = ClientHello::parse(&message[4..]).unwrap();
            edit(&mut hello);
            encoded(&hello)
        });
        assert_alert(&outcome, *alert, number);
    }
}

/// An encrypted ClientHello is another one after a retry, RFC 9849 6.1.5, and reserved values may be too.
#[test]
fn a_second_client_hello_may_change_what_a_server_ignores() {
    let scene = scene(Side::Server, |scene| scene.retry);
    let unknown =
        [ExtensionType::ENCRYPTED_CLIENT_HELLO, ExtensionType(0x0a0a), ExtensionType(0x3374)];
    for kind in unknown {
        let outcome = bend(scene, Type::CLIENT_HELLO, 2, |message| {
            let mut hello = ClientHello::parse(&message[4..]).unwrap();
            hello.extensions.encrypted_client_hello = None;
            let extensions = [(kind, &[7; 9][..])];
            hello.extensions.unknown = UnknownExtensions::of(&extensions);
            encoded(&hello)
        });
        // The puppet knows another transcript, so it cannot read what the server answers.
        let refused = matches!(&outcome, Outcome::Failed(Error::Peer(_)));
        assert!(!refused, "{kind}: {outcome:?}");
    }
}

#[test]
fn who_does_not_prove_its_key_or_its_transcript_is_refused() {
    for scene in scenes() {
        let proofs = [Type::CERTIFICATE_VERIFY, Type::FINISHED, Type::SERVER_KEY_EXCHANGE];
        for (place, due) in scene.sequence().iter().enumerate() {
            if !due.kind().is_some_and(|kind| proofs.contains(&kind)) {
                continue;
            }
            let outcome = scene.play(|at, due| match due {
                Say::Sealed(kind, mut message) if at == place => {
                    *message.last_mut().unwrap() ^= 1;
                    vec![Say::Sealed(kind, message)]
                }
                due => vec![due],
            });
            assert_alert(&outcome, Alert::DECRYPT_ERROR, place);
        }
    }
}

#[test]
fn signatures_are_by_schemes_that_were_offered_and_fit() {
    for scene in scenes().filter(Scene::tls13) {
        if scene.pre_shared_key || scene.victim == Side::Server && !scene.client_auth {
            continue;
        }
        // Not offered; not for this key; not for TLS 1.3 at all.
        for wrong in [0x0203, 0x0804, 0x0503, 0x0401] {
            let outcome = bend(scene, Type::CERTIFICATE_VERIFY, 1, |message| {
                let verify = CertificateVerify::parse(&message[4..]).unwrap();
                encoded(&CertificateVerify { algorithm: SignatureScheme(wrong), ..verify })
            });
            assert_alert(&outcome, Alert::ILLEGAL_PARAMETER, wrong.into());
        }
    }
}

#[test]
fn a_server_shows_a_certificate() {
    for scene in scenes().filter(|scene| scene.victim == Side::Client && !scene.pre_shared_key) {
        let outcome = bend(scene, Type::CERTIFICATE, 1, |_| {
            if scene.tls13() {
                let certificate_list = List::of(&[]);
                encoded(&Certificate { certificate_request_context: &[], certificate_list })
            } else {
                vec![Type::CERTIFICATE.0, 0, 0, 3, 0, 0, 0]
            }
        });
        assert_alert(&outcome, Alert::DECODE_ERROR, 0);
    }
}

#[test]
fn in_a_handshake_the_certificate_context_is_empty() {
    for scene in scenes().filter(Scene::tls13) {
        if scene.pre_shared_key || scene.victim == Side::Server && !scene.client_auth {
            continue;
        }
        let outcome = bend(scene, Type::CERTIFICATE, 1, |message| {
            let certificate = Certificate::parse(&message[4..]).unwrap();
            encoded(&Certificate { certificate_request_context: &[1], ..certificate })
        });
        assert_alert(&outcome, Alert::ILLEGAL_PARAMETER, 0);
    }
}

/// A client that does not implement oid_filters does not open it: what is wrong is the transcript, not the message.
#[test]
fn a_client_ignores_malformed_oid_filters() {
    let scene = scene(Side::Client, |scene| scene.tls13() && scene.client_auth);
    let filters = |body: &'static [u8]| {
        bend(scene, Type::CERTIFICATE_REQUEST, 1, |message| {
            let mut request = CertificateRequest::parse(&message[4..]).unwrap();
            request.extensions.oid_filters = Some(body);
            encoded(&request)
        })
    };
    assert_alert(&filters(&[0, 0]), Alert::DECRYPT_ERROR, 0);
    assert_alert(&filters(&[0xff]), Alert::DECRYPT_ERROR, 1);
}

#[test]
fn what_tls12_exchanges_has_to_lie_on_its_curve() {
    let client = scene(Side::Client, |scene| !scene.tls13() && !scene.client_auth);
    let shares: [(u16, &[u8]); 4] =
        [(29, &[0; 32]), (29, &[9; 31]), (24, &[4; 97]), (0x11ec, &[9])];
    for (curve, public) in shares {
        let outcome = bend(client, Type::SERVER_KEY_EXCHANGE, 1, |message| {
            let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
            exchange.params.named_curve = NamedGroup(curve);
            exchange.params.public = public;
            encoded(&exchange)
        });
        let Outcome::Failed(error) = &outcome else { panic!("{outcome:?}") };
        // The signature may be looked at first.
        let expected = [Some(Alert::ILLEGAL_PARAMETER), Some(Alert::DECRYPT_ERROR)];
        assert!(expected.contains(&error.alert()), "{curve} {outcome:?}");
    }
    let server = scene(Side::Server, |scene| !scene.tls13() && !scene.client_auth);
    for public in [&[0; 32][..], &[9; 31], &[9; 33]] {
        let outcome = bend(server, Type::CLIENT_KEY_EXCHANGE, 1, |_| {
            encoded(&ClientKeyExchange { ecdh_public: public })
        });
        assert_alert(&outcome, Alert::ILLEGAL_PARAMETER, public.len());
    }
}

#[test]
fn a_tls12_server_hello_chooses_from_the_offer() {
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
    let scene = scene(Side::Client, |scene| !scene.tls13() && !scene.client_auth);
    for (number, (alert, edit)) in cases.iter().enumerate() {
        let outcome = bend(scene, Type::SERVER_HELLO, 1, |message| {
            let mut hello = ServerHello::parse(&message[4..]).unwrap();
            edit(&mut hello);
            encoded(&hello)
        });
        assert_alert(&outcome, *alert, number);
    }
}

/// One that begins as the right one does, is not all of it, or goes on. RFC 9846 4.5.3, RFC 5246 7.4.9
#[test]
fn a_finished_of_another_length_is_refused() {
    for scene in scenes() {
        for length in [0, 1, 11, 13, 31, 33, 47, 49, 64] {
            let mut sent = 0;
            let outcome = scene.play(|_, due| match due {
                Say::Sealed(ContentType::HANDSHAKE, mut message)
                    if message.first() == Some(&Type::FINISHED.0) =>
                {
                    message.resize(4 + length, 0);
                    message[3] = u8::try_from(length).unwrap();
                    sent += 1;
                    vec![Say::Sealed(ContentType::HANDSHAKE, message)]
                }
                due => vec![due],
            });
            assert_eq!(sent, 1, "{scene:?}");
            // RFC 9846 6: the length of the message was incorrect.
            assert_alert(&outcome, Alert::DECODE_ERROR, length);
        }
    }
}

pub(super) fn scene(victim: Side, fits: impl Fn(&Scene) -> bool) -> Scene {
    scenes().find(|scene| scene.victim == victim && fits(scene)).unwrap()
}

/// Plays with the nth message of this kind changed.
pub(super) fn bend(
    scene: Scene,
    kind: Type,
    nth: usize,
    edit: impl Fn(&[u8]) -> Vec<u8>,
) -> Outcome {
    let mut seen = 0;
    let outcome = scene.play(|_, due| {
        seen += usize::from(due.kind() == Some(kind));
        match due {
            Say::Sealed(ContentType::HANDSHAKE, message)
                if message.first() == Some(&kind.0) && seen == nth =>
            {
                vec![Say::Sealed(ContentType::HANDSHAKE, edit(&message))]
            }
            due => vec![due],
        }
    });
    assert!(seen >= nth, "{scene:?} has no {kind:?} number {nth}");
    outcome
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
