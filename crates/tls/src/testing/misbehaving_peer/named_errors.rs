//! Tests of errors that no other test asserts by name. The changed messages of a scripted peer
//! provoke each of them.
//!
//! `tests/structure/peer_errors.rs` checks that each error is asserted in a test.

use std::sync::Arc;

use pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tercel_wire::{
    Certificate, CipherSuite, ClientHello, CompressionMethod, ContentType, EncryptedExtensions,
    ExtensionType, HandshakeMessage, HandshakeType as Type, KeyShareEntry, List, NamedGroup,
    NewSessionTicket, NewSessionTicketExtensions, ProtocolName, ProtocolVersion, ServerHello,
    ServerKeyExchange, ServerKeyShare, UnknownExtensions,
};

use super::cases::{Case, cases, credential, name};
use super::message_content::{
    alter_client_hello, alter_server_hello, case, changed, encoded, run_with_changed,
};
use super::scripted_peer::{Outcome, Outgoing, ScriptedPeer};
use crate::auth::credential::Credential;
use crate::auth::server_identity::ServerIdentity;
use crate::auth::verifier::AcceptAnyPeer;
use crate::config::client::ClientConfig;
use crate::config::server::ServerConfig;
use crate::connection::buffer::ReceiveBuffer;
use crate::error::{Error, PeerError};
use crate::handshake::task::Task;
use crate::handshake::{Handshake, Next};
use crate::policy::Policy;
use crate::resumption::client_memory_store::ClientMemoryStore;
use crate::resumption::replay_guard::AdmitEarlyData;
use crate::resumption::session::client_session::ClientSession;
use crate::resumption::session::client_store::{ClientSessionKey, ClientSessionStore};
use crate::side::Side;

/// The cases in which only the server has a certificate, and each side sends one hello.
fn plain_cases(tested: Side) -> impl Iterator<Item = Case> {
    cases().filter(move |case| {
        case.tested == tested && !case.client_auth && !case.retry && !case.pre_shared_key
    })
}

/// RFC 9846 5: a record of an unknown type leads to an unexpected_message alert.
#[test]
fn a_record_of_an_unknown_type_is_refused() {
    for case in cases() {
        let outcome = case.run_with(0, &Outgoing::Raw(vec![99, 3, 3, 0, 1, 0]));
        assert_error(&outcome, PeerError::UnknownContentType, case);
    }
}

/// RFC 9846 5.1, RFC 5246 6.2.1
#[test]
fn a_record_has_major_version_three_and_in_tls12_the_negotiated_one() {
    for case in cases() {
        let outcome = case.run_with(0, &Outgoing::Raw(vec![22, 2, 0, 0, 1, 1]));
        assert_error(&outcome, PeerError::WrongRecordVersion, case);
        if !case.tls13() {
            let last = case.sequence().len() - 1;
            let outcome = case.run_with(last, &Outgoing::Raw(vec![22, 3, 1, 0, 1, 1]));
            assert_error(&outcome, PeerError::WrongRecordVersion, case);
        }
    }
}

/// RFC 9846 5.1, 5.2, RFC 5246 6.2.1, 6.2.3
#[test]
fn a_record_has_a_maximum_length() {
    for case in cases() {
        let last = case.sequence().len() - 1;
        let (kind, maximum): (u8, u16) =
            if case.tls13() { (23, (1 << 14) + 256) } else { (22, (1 << 14) + 2048) };
        for (place, kind, maximum) in [(0, 22, 1 << 14), (last, kind, maximum)] {
            let [high, low] = (maximum + 1).to_be_bytes();
            let outcome = case.run_with(place, &Outgoing::Raw(vec![kind, 3, 3, high, low]));
            assert_error(&outcome, PeerError::RecordTooLong, case);
        }
    }
}

/// The beginning of a plain HTTP request is recognized, so that a server can name the mistake.
#[test]
fn plain_http_has_an_error_of_its_own() {
    for case in cases() {
        let outcome = case.run_with(0, &Outgoing::Raw(b"GET / HTTP/1.1\r\n\r\n".to_vec()));
        assert_error(&outcome, PeerError::PlainHttp, case);
    }
}

/// RFC 9846 6, RFC 5246 7.2
#[test]
fn an_alert_has_two_bytes_and_a_level_that_exists() {
    for case in cases() {
        for content in [&[2][..], &[2, 40, 0]] {
            let outcome = case.run_with(0, &Outgoing::Sealed(ContentType::ALERT, content.to_vec()));
            assert_error(&outcome, PeerError::BadAlert, case);
        }
        let outcome = case.run_with(0, &Outgoing::Sealed(ContentType::ALERT, vec![3, 40]));
        assert_error(&outcome, PeerError::IllegalAlertLevel, case);
    }
}

/// RFC 9846 5, RFC 5246 7.1
#[test]
fn a_change_cipher_spec_of_another_value_is_refused() {
    for case in cases() {
        let sequence = case.sequence();
        let Some(place) = sequence.iter().position(|due| due.kind().is_none()) else { continue };
        let outcome =
            case.run_with(place, &Outgoing::Sealed(ContentType::CHANGE_CIPHER_SPEC, vec![2]));
        assert_error(&outcome, PeerError::BadChangeCipherSpec, case);
    }
}

/// RFC 9846 4.2.3, 4.3.1
#[test]
fn a_server_hello_names_an_offered_version() {
    for case in plain_cases(Side::Client) {
        // In `supported_versions` only TLS 1.3 may be chosen.
        let wrong = if case.tls13() { ProtocolVersion::TLS1_2 } else { ProtocolVersion::TLS1_3 };
        let outcome =
            alter_server_hello(case, 1, |hello| hello.extensions.supported_versions = Some(wrong));
        assert_error(&outcome, PeerError::WrongVersionChosen, case);
    }
}

/// RFC 9846 4.2.3, E.4, RFC 5246 7.4.1.3
#[test]
fn a_server_hello_echoes_the_session_id() {
    for case in cases().filter(|case| case.tested == Side::Client && case.tls13()) {
        let outcome = alter_server_hello(case, 1, |hello| hello.session_id_echo = &[9; 32]);
        assert_error(&outcome, PeerError::SessionIdNotEchoed, case);
    }
}

/// RFC 9846 4.3: an answer must not have an extension that the request does not have.
#[test]
fn a_server_hello_answers_extensions_that_were_sent() {
    const UNKNOWN: [(ExtensionType, &[u8]); 1] = [(ExtensionType(0x3374), &[])];
    for case in plain_cases(Side::Client) {
        let outcome = alter_server_hello(case, 1, |hello| {
            hello.extensions.unknown = UnknownExtensions::new(&UNKNOWN);
        });
        assert_error(&outcome, PeerError::UnexpectedExtension, case);
    }
}

/// RFC 9846 4.2.3, 4.3.8, RFC 8422 5.4
#[test]
fn a_server_uses_a_group_that_was_offered() {
    for case in plain_cases(Side::Client) {
        let group = NamedGroup::SECP384R1;
        let outcome = if case.tls13() {
            alter_server_hello(case, 1, |hello| {
                let entry = KeyShareEntry { group, key_exchange: &[4; 97] };
                hello.extensions.key_share = Some(ServerKeyShare::Entry(entry));
            })
        } else {
            run_with_changed(case, Type::SERVER_KEY_EXCHANGE, 1, |message| {
                let mut exchange = ServerKeyExchange::parse(&message[4..]).unwrap();
                exchange.params.named_curve = group;
                encoded(&exchange)
            })
        };
        assert_error(&outcome, PeerError::WrongGroup, case);
    }
}

/// RFC 9846 4.2.1, RFC 5246 7.4.1.3, RFC 8422 4
#[test]
fn a_client_hello_has_a_suite_and_a_group_in_common() {
    for case in plain_cases(Side::Server) {
        let outcome = alter_client_hello(case, 1, |hello| {
            hello.cipher_suites = List::new(&[CipherSuite(0x1305), CipherSuite(0xc0ac)]);
        });
        assert_error(&outcome, PeerError::NoSharedCipherSuite, case);
        let outcome = alter_client_hello(case, 1, |hello| {
            hello.extensions.supported_groups = Some(List::new(&[NamedGroup::SECP521R1]));
            hello.extensions.key_share = hello.extensions.key_share.map(|_| List::new(&[]));
        });
        assert_error(&outcome, PeerError::NoSharedGroup, case);
    }
}

/// A TLS 1.2 client without signature_algorithms accepts only signatures with SHA-1, which the
/// library does not make. RFC 5246 7.4.1.4.1
#[test]
fn a_client_without_signature_algorithms_is_refused_in_tls12() {
    for case in plain_cases(Side::Server).filter(|case| !case.tls13()) {
        let outcome = alter_client_hello(case, 1, |hello| {
            hello.extensions.signature_algorithms = None;
        });
        assert_error(&outcome, PeerError::NoCommonSignatureScheme, case);
    }
}

/// RFC 7301 3.2
#[test]
fn a_client_without_a_protocol_in_common_is_refused() {
    for case in plain_cases(Side::Server) {
        let client = case.client_builder().alpn(&["h2"]).build().unwrap();
        let server = ServerConfig::builder().credential(credential()).alpn(&["http/1.1"]);
        let identity = ServerIdentity::new(name(), None);
        let mut peer = ScriptedPeer::new(
            Task::client(client, identity, Default::default()),
            Box::new(|_, due| vec![due]),
        );
        let outcome = peer.run(Handshake::server(server.build().unwrap()));
        assert_error(&outcome, PeerError::NoApplicationProtocol, case);
    }
}

/// RFC 9846 4.2.4
#[test]
fn a_second_or_unnecessary_hello_retry_request_is_refused() {
    for case in cases().filter(|case| case.tested == Side::Client && case.retry) {
        let outcome = alter_server_hello(case, 1, |retry| retry.extensions.key_share = None);
        assert_error(&outcome, PeerError::UnnecessaryRetry, case);
        let outcome = alter_server_hello(case, 2, |hello| {
            hello.random = &ServerHello::RETRY_RANDOM;
            let group = ServerKeyShare::SelectedGroup(NamedGroup::SECP256R1);
            hello.extensions.key_share = Some(group);
            hello.extensions.pre_shared_key = None;
        });
        assert_error(&outcome, PeerError::SecondRetry, case);
        let outcome = alter_server_hello(case, 2, |hello| {
            hello.cipher_suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
        });
        assert_error(&outcome, PeerError::CipherSuiteChangedAfterRetry, case);
    }
}

/// RFC 9846 4.2.2
#[test]
fn a_second_client_hello_keeps_the_random() {
    let case = case(Side::Server, |case| case.retry);
    let outcome = alter_client_hello(case, 2, |hello| {
        hello.random = &[9; 32];
    });
    assert_error(&outcome, PeerError::SecondHelloChanged, case);
}

/// A client of TLS 1.3 offers null alone, and a server of each version chooses null.
/// RFC 9846 4.2.2, 4.2.3, RFC 5246 7.4.1.3
#[test]
fn null_is_the_only_compression() {
    for case in plain_cases(Side::Client) {
        let outcome =
            alter_server_hello(case, 1, |hello| hello.compression_method = CompressionMethod(1));
        assert_error(&outcome, PeerError::Compression, case);
    }
    let case = case(Side::Server, Case::tls13);
    let outcome = alter_client_hello(case, 1, |hello| {
        hello.compression_methods = List::new(&[CompressionMethod::NULL, CompressionMethod(1)]);
    });
    assert_error(&outcome, PeerError::Compression, case);
}

/// RFC 5746 3.2, 3.4, 3.6, 4.1
#[test]
fn renegotiation_info_is_present_and_empty() {
    for case in plain_cases(Side::Client).filter(|case| !case.tls13()) {
        let outcome =
            alter_server_hello(case, 1, |hello| hello.extensions.renegotiation_info = Some(&[7]));
        assert_error(&outcome, PeerError::RenegotiationMismatch, case);
        let outcome =
            alter_server_hello(case, 1, |hello| hello.extensions.renegotiation_info = None);
        assert_error(&outcome, PeerError::UnsafeLegacyRenegotiation, case);
    }
    for case in plain_cases(Side::Server).filter(|case| !case.tls13()) {
        let outcome = alter_client_hello(case, 1, |hello| {
            hello.extensions.renegotiation_info = Some(&[7]);
        });
        assert_error(&outcome, PeerError::RenegotiationMismatch, case);
    }
}

/// RFC 7627 5.1, 5.2
#[test]
fn a_peer_without_the_extended_main_secret_is_refused_if_it_is_required() {
    let case = case(Side::Client, |case| !case.tls13() && !case.client_auth);
    let client = case.client_builder().require_extended_main_secret(true).build().unwrap();
    let outcome = run_client(&client, case.server(), |due| match due.kind() {
        Some(Type::SERVER_HELLO) => edited(due, |message| {
            let mut hello = ServerHello::parse(&message[4..]).unwrap();
            hello.extensions.extended_master_secret = None;
            encoded(&hello)
        }),
        _ => due,
    });
    assert_error(&outcome, PeerError::ExtendedMainSecretRequired, case);

    let server = ServerConfig::builder().credential(credential());
    let server = server.require_extended_main_secret(true).build().unwrap();
    let script = |_, due: Outgoing| match due.kind() {
        Some(Type::CLIENT_HELLO) => vec![edited(due, |message| {
            let mut hello = ClientHello::parse(&message[4..]).unwrap();
            hello.extensions.extended_master_secret = None;
            encoded(&hello)
        })],
        _ => vec![due],
    };
    let identity = ServerIdentity::new(name(), None);
    let mut peer = ScriptedPeer::new(
        Task::client(case.client(), identity, Default::default()),
        Box::new(script),
    );
    let outcome = peer.run(Handshake::server(server));
    assert_error(&outcome, PeerError::ExtendedMainSecretRequired, case);
}

/// RFC 7301 3.2
#[test]
fn a_server_chooses_a_protocol_that_was_offered() {
    for case in plain_cases(Side::Client) {
        let client = case.client_builder().alpn(&["h2"]).build().unwrap();
        let other = Some(ProtocolName(b"http/1.1"));
        let outcome = run_client(&client, case.server(), |due| match due.kind() {
            Some(Type::SERVER_HELLO) if !case.tls13() => edited(due, |message| {
                let mut hello = ServerHello::parse(&message[4..]).unwrap();
                hello.extensions.alpn = other;
                encoded(&hello)
            }),
            Some(Type::ENCRYPTED_EXTENSIONS) => edited(due, |message| {
                let mut extensions = EncryptedExtensions::parse(&message[4..]).unwrap();
                extensions.alpn = other;
                encoded(&extensions)
            }),
            _ => due,
        });
        assert_error(&outcome, PeerError::WrongApplicationProtocol, case);
    }
}

/// RFC 9846 4.5.1, 4.5.1.3, RFC 5246 7.4.2
#[test]
fn a_certificate_of_a_server_is_not_empty() {
    for case in plain_cases(Side::Client) {
        let outcome = run_with_changed(case, Type::CERTIFICATE, 1, |_| {
            if case.tls13() {
                let certificate_list = List::new(&[]);
                encoded(&Certificate { certificate_request_context: &[], certificate_list })
            } else {
                vec![Type::CERTIFICATE.0, 0, 0, 3, 0, 0, 0]
            }
        });
        assert_error(&outcome, PeerError::EmptyCertificate, case);
    }
}

/// RFC 5246 7.4.2
/// RFC 8422 2
#[test]
fn a_certificate_in_tls12_has_a_key_of_the_cipher_suites_kind() {
    let case = case(Side::Client, |case| !case.tls13() && !case.client_auth);
    let outcome = alter_server_hello(case, 1, |hello| {
        hello.cipher_suite = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
    });
    assert_error(&outcome, PeerError::WrongCertificateType, case);
}

/// RFC 8422 5.3
#[test]
fn a_certificate_in_tls12_is_on_a_curve_that_was_offered() {
    let case = case(Side::Client, |case| !case.tls13() && !case.client_auth);
    let groups = [NamedGroup::X25519];
    let client = case.client_builder().groups(&groups).key_shares(&groups).build().unwrap();
    // A server with an Ed25519 key answers this client. Its certificate is then replaced by one
    // with a P-256 key.
    let server = ServerConfig::builder().credential(ed25519_credential()).build().unwrap();
    let other = case_certificate(case);
    let outcome = run_client(&client, server, |due| match due.kind() {
        Some(Type::CERTIFICATE) => other.clone(),
        _ => due,
    });
    assert_error(&outcome, PeerError::WrongCertificateType, case);
}

/// RFC 9846 4.7.1
#[test]
fn a_ticket_lives_for_seven_days_at_most() {
    const SEVEN_DAYS: u32 = 7 * 24 * 60 * 60;
    for case in cases().filter(|case| case.tested == Side::Client && case.tls13()) {
        let mut peer = case.peer(Box::new(|_, due| vec![due]));
        let Outcome::Connected(mut connection) = peer.run(case.tested()) else {
            panic!("{case:?} does not connect");
        };
        let mut received = ReceiveBuffer::new();
        let mut send = |ticket_lifetime| {
            let ticket = NewSessionTicket {
                ticket_lifetime,
                ticket_age_add: 0,
                ticket_nonce: &[0],
                ticket: &[1],
                extensions: NewSessionTicketExtensions::default(),
            };
            let mut out = Vec::new();
            peer.write(&Outgoing::Sealed(ContentType::HANDSHAKE, encoded(&ticket)), &mut out);
            received.extend(&out);
            connection.receiver.open(&mut received).map(|_| ())
        };
        assert_eq!(send(SEVEN_DAYS), Ok(()));
        assert_eq!(send(SEVEN_DAYS + 1), Err(PeerError::BadTicketLifetime.into()), "{case:?}");
    }
}

/// A replay guard that always admits early data.
struct Admit;

impl AdmitEarlyData for Admit {
    fn admit_early_data(&self, _: &[u8], _: UnixTime) -> bool {
        true
    }
}

/// RFC 9846 4.3.10
#[test]
fn early_data_beyond_the_tickets_limit_is_refused() {
    const LIMIT: u32 = 1000;
    let store = Arc::new(ClientMemoryStore::default());
    let client = ClientConfig::builder()
        .verifier(Policy::Here(Arc::new(AcceptAnyPeer)))
        .session_store(store.clone())
        .early_data(true)
        .build()
        .unwrap();
    let server = ServerConfig::builder()
        .credential(credential())
        .early_data(LIMIT, Policy::Here(Arc::new(Admit)))
        .build()
        .unwrap();
    assert_eq!(visit(&client, &server, &[]), None);

    // The client changes the limit that the ticket named.
    let key = ClientSessionKey::new(name(), None, client.resumption.context_digest);
    let now = client.common.clock.now();
    let mut session = store.take_session(&key, now).unwrap().into_inner();
    assert_eq!(session.max_early_data, LIMIT);
    session.max_early_data = 2 * LIMIT;
    let expires = session.expires();
    store.put_session(&key, ClientSession::new(session), expires);
    let error = visit(&client, &server, &[7; LIMIT as usize + 1]);
    assert_eq!(error, Some(PeerError::TooMuchEarlyData.into()));
}

/// Connects once, sends this early data if there is a session, and returns the server's error.
fn visit(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, early: &[u8]) -> Option<Error> {
    let mut client = Handshake::client(client.clone(), name());
    let mut server = Handshake::server(server.clone());
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let (mut out, mut connection) = (Vec::new(), None);
    for _ in 0..3 {
        if let Some(connection) = &mut connection {
            let connection: &mut Box<crate::connection::Connection> = connection;
            // Delivers the tickets.
            while !to_client.is_empty() {
                connection.receiver.open(&mut to_client).unwrap();
            }
        } else if let Next::Connected(new) = client.advance(&mut to_client, &mut out).unwrap() {
            connection = Some(new);
        } else if !early.is_empty() {
            client.early_sender().unwrap().seal_to(early, &mut out).unwrap();
        }
        to_server.extend(&core::mem::take(&mut out));
        while !to_server.is_empty() {
            match server.advance(&mut to_server, &mut out) {
                Ok(Next::Connected(_)) => break,
                Ok(_) => {}
                Err(error) => return Some(error),
            }
        }
        to_client.extend(&core::mem::take(&mut out));
    }
    None
}

/// Runs this client against a server whose messages are changed by `script`.
fn run_client(
    client: &Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    script: impl Fn(Outgoing) -> Outgoing,
) -> Outcome {
    let script = Box::new(|_, due| vec![script(due)]);
    ScriptedPeer::new(Task::server(server), script).run(Handshake::client(client.clone(), name()))
}

/// Returns this handshake message after an edit.
fn edited(due: Outgoing, edit: impl Fn(&[u8]) -> Vec<u8>) -> Outgoing {
    let kind = due.kind().unwrap();
    changed(due, kind, 1, &mut 0, edit)
}

/// The server's Certificate in this case.
fn case_certificate(case: Case) -> Outgoing {
    let is_certificate = |due: &Outgoing| due.kind() == Some(Type::CERTIFICATE);
    case.sequence().into_iter().find(is_certificate).unwrap()
}

fn ed25519_credential() -> Credential {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = parameters.self_signed(&key).unwrap().into();
    Credential::new(vec![certificate], &PrivateKeyDer::Pkcs8(key.serialize_der().into())).unwrap()
}

fn assert_error(outcome: &Outcome, expected: PeerError, case: Case) {
    let error = if let Outcome::Failed(error) = outcome { Some(*error) } else { None };
    assert_eq!(error, Some(expected.into()), "{case:?}: {outcome:?}");
}
