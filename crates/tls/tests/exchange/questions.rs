//! Every decision as a question that the application answers, and wrong uses of answers.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tercel::crypto::SigningKey;
use tercel::questions::{
    AdmitEarlyDataQuestion, ChooseConfigQuestion, SelectCredentialQuestion, SignQuestion,
};
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Answer, Credential, Error, Handshake, Next, Policy, Question, ReceiveBuffer, ServerConfig,
    ServerName, Side,
    certificates::{AcceptAnyPeer, ChainPolicy, CredentialRequest, Credentials, SelectCredential},
    error::{InternalError, Misuse},
    server::ClientAuth,
};

use crate::fixtures::{Kind, NAME, client, credential, leaf, plain, roots, server};
use crate::pair::{Delivery, Pair};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

#[test]
fn every_policy_can_be_a_question() {
    for version in BOTH_VERSIONS {
        for delivery in [Delivery::Whole, Delivery::Bytes] {
            let (chain, key) = leaf(Kind::P256, &[NAME]);
            let signer = SigningKey::from_der(&key).unwrap();
            let credential = Arc::new(Credential::remote(chain).unwrap());
            let settled = ServerConfig::builder()
                .credentials(Policy::Ask)
                .client_verifier(ClientAuth::Required, Policy::Ask)
                .build()
                .unwrap();
            let undecided = ServerConfig::builder().choose_config(Policy::Ask).build().unwrap();
            let client = tercel::ClientConfig::builder()
                .versions(&[version])
                .verifier(Policy::Ask)
                .credentials(Policy::Ask)
                .build()
                .unwrap();
            let verifier = ChainPolicy::new(roots()).unwrap();
            let asked = RefCell::new(Vec::new());
            let mut ends = Pair::new(&client, &undecided, NAME)
                .delivery(delivery)
                .answering(|side, question| {
                    asked.borrow_mut().push((side, format!("{question:?}")));
                    match question {
                        Question::ChooseConfig(question) => {
                            let hello = question.client_hello();
                            assert!(hello.extensions.server_name.is_some());
                            question.answer(Some(settled.clone()))
                        }
                        Question::SelectCredential(question) => {
                            let request = question.request();
                            assert_eq!((request.side, request.version), (side, version));
                            assert!(request.scheme_for(&credential).is_some());
                            question.answer(Some(credential.clone()))
                        }
                        Question::Sign(question) => {
                            assert_eq!(question.credential().chain(), credential.chain());
                            question.resolve(&signer)
                        }
                        Question::VerifyPeer(question) => {
                            assert_ne!(question.identity().side, side);
                            question.resolve(&verifier)
                        }
                        other => panic!("{other:?}"),
                    }
                })
                .connect()
                .unwrap();
            ends.talk();
            let of = |side: Side| {
                let asked = asked.borrow();
                let names: Vec<String> =
                    asked.iter().filter(|line| line.0 == side).map(|line| line.1.clone()).collect();
                names
            };
            assert_eq!(of(Side::Client), ["VerifyPeer", "SelectCredential", "Sign"]);
            let servers = ["ChooseConfig", "SelectCredential", "Sign", "VerifyPeer"];
            assert_eq!(of(Side::Server), servers);
        }
    }
}

#[test]
fn every_question_can_be_answered_with_a_refusal() {
    for version in BOTH_VERSIONS {
        let ours = client().versions(&[version]).build().unwrap();
        let refuse = |server: &Arc<ServerConfig>, answer: fn() -> Answer| {
            let failure =
                Pair::new(&ours, server, NAME).answering(|_, _| answer()).connect().unwrap_err();
            let heard = failure.server.and_then(Error::alert).map(Error::AlertReceived);
            assert_eq!(failure.client, heard);
            failure.server.unwrap()
        };
        let undecided = ServerConfig::builder().choose_config(Policy::Ask).build().unwrap();
        let error = refuse(&undecided, || ChooseConfigQuestion::answer_from(None));
        assert_eq!(error, InternalError::RefusedByApplication.into());

        let asking = ServerConfig::builder().credentials(Policy::Ask).build().unwrap();
        let error = refuse(&asking, || SelectCredentialQuestion::answer_from(None));
        assert_eq!(error, InternalError::NoCredentialSelected.into());
        assert_eq!(error.alert(), Some(AlertDescription::HANDSHAKE_FAILURE));

        let (chain, _) = leaf(Kind::P256, &[NAME]);
        let remote = Credential::remote(chain).unwrap();
        assert!(remote.is_remote() && !credential(Kind::P256).is_remote());
        let remote = ServerConfig::builder().credential(remote).build().unwrap();
        let error = refuse(&remote, || SignQuestion::answer_from(None));
        assert_eq!(error, InternalError::SigningFailed.into());
    }
}

/// A signature that the caller passes on, and the error of a signer with another key.
#[test]
fn a_question_signs_with_a_signer_of_the_caller() {
    for version in BOTH_VERSIONS {
        let (chain, key) = leaf(Kind::P256, &[NAME]);
        let right = SigningKey::from_der(&key).unwrap();
        let wrong = SigningKey::from_der(&leaf(Kind::Rsa2048, &[NAME]).1).unwrap();
        let remote = Credential::remote(chain).unwrap();
        let server = ServerConfig::builder().credential(remote).build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        Pair::new(&client, &server, NAME)
            .answering(|_, question| {
                let Question::Sign(question) = question else { panic!("{question:?}") };
                let refused = question.sign(&wrong);
                assert_eq!(refused, Err(InternalError::SigningFailed.into()));
                SignQuestion::answer_from(question.sign(&right).ok())
            })
            .connect()
            .unwrap();
    }
}

/// A server that knows no certificates, and may know no name.
struct Nothing {
    is_unknown_name: bool,
}

impl SelectCredential for Nothing {
    fn select_credential(&self, _: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        None
    }

    fn is_unknown_name(&self, _: &CredentialRequest<'_>) -> bool {
        self.is_unknown_name
    }
}

/// RFC 6066 3
#[test]
fn a_server_may_answer_that_the_name_is_unknown() {
    for version in BOTH_VERSIONS {
        let ask = || Policy::Ask;
        let here = |is_unknown_name| Policy::Here(Arc::new(Nothing { is_unknown_name }) as _);
        for (policy, is_unknown_name) in
            [(here(false), false), (here(true), true), (ask(), false), (ask(), true)]
        {
            let server = ServerConfig::builder().credentials(policy).build().unwrap();
            for sends_name in [true, false] {
                let ours = client().versions(&[version]).send_server_name(sends_name);
                let failure = Pair::new(&ours.build().unwrap(), &server, NAME)
                    .answering(|_, question| match question {
                        Question::SelectCredential(question) => {
                            question.resolve(&Nothing { is_unknown_name })
                        }
                        other => panic!("{other:?}"),
                    })
                    .connect()
                    .unwrap_err();
                let (error, alert) = match is_unknown_name && sends_name {
                    true => {
                        (InternalError::NoCredentialForName, AlertDescription::UNRECOGNIZED_NAME)
                    }
                    false => {
                        (InternalError::NoCredentialSelected, AlertDescription::HANDSHAKE_FAILURE)
                    }
                };
                assert_eq!(failure.server, Some(error.into()));
                assert_eq!(failure.client, Some(Error::AlertReceived(alert)));
            }
        }
    }
}

/// A server with a certificate until its name is removed.
struct Removable {
    credential: Arc<Credential>,
    is_removed: AtomicBool,
}

impl SelectCredential for Removable {
    fn select_credential(&self, _: &CredentialRequest<'_>) -> Option<Arc<Credential>> {
        (!self.is_removed.load(Ordering::Relaxed)).then(|| Arc::clone(&self.credential))
    }

    fn is_unknown_name(&self, _: &CredentialRequest<'_>) -> bool {
        true
    }
}

/// A session does not outlive the server name: a full handshake would be refused. RFC 6066 3
#[test]
fn a_session_of_a_removed_name_is_not_resumed() {
    for version in BOTH_VERSIONS {
        let credential = Arc::new(credential(Kind::P256));
        let names = Arc::new(Removable { credential, is_removed: AtomicBool::new(false) });
        let server = ServerConfig::builder()
            .credentials(Policy::Here(Arc::clone(&names) as _))
            .session_context(b"all names")
            .build()
            .unwrap();
        let client = client().versions(&[version]).build().unwrap();
        let connect = || Pair::new(&client, &server, NAME).connect();
        for is_resumed in [false, true] {
            let mut ends = connect().unwrap();
            ends.talk();
            assert_eq!(ends.client.connection.info.resumed, is_resumed);
        }
        names.is_removed.store(true, Ordering::Relaxed);
        let failure = connect().unwrap_err();
        assert_eq!(failure.server, Some(InternalError::NoCredentialForName.into()));
    }
}

#[test]
fn a_client_may_answer_without_a_certificate() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).credentials(Policy::Ask).build().unwrap();
        let server = server().client_auth(ClientAuth::Optional, roots()).build().unwrap();
        let ends = Pair::new(&client, &server, NAME)
            .answering(|_, _| SelectCredentialQuestion::answer_from(None))
            .connect()
            .unwrap();
        assert!(ends.server.connection.info.peer_chain().is_empty());
    }
}

#[test]
fn a_refused_peer_receives_the_alert() {
    let unrelated_peers = {
        let mut roots = tercel::pki::Roots::new();
        let unrelated = rcgen::generate_simple_self_signed(vec!["unrelated".to_owned()]).unwrap();
        roots.add_der(unrelated.cert.der()).unwrap();
        Arc::new(ChainPolicy::new(roots).unwrap())
    };
    for version in BOTH_VERSIONS {
        let client = tercel::ClientConfig::builder()
            .versions(&[version])
            .verifier(Policy::Ask)
            .build()
            .unwrap();
        let failure = Pair::new(&client, &plain().1, NAME)
            .answering(|_, question| match question {
                Question::VerifyPeer(question) => question.resolve(&*unrelated_peers),
                other => panic!("{other:?}"),
            })
            .connect()
            .unwrap_err();
        assert!(matches!(failure.client, Some(Error::Refused(_))), "{failure:?}");
        let reported = Error::AlertReceived(AlertDescription::UNKNOWN_CA);
        assert_eq!(failure.server, Some(reported));
    }
}

#[test]
fn the_refusal_keeps_the_details() {
    let (config, wrong) = (plain().0, "other.example");
    let mut client = Handshake::client(config, ServerName::try_from(wrong).unwrap());
    let mut server = Handshake::server(plain().1);
    assert!(client.refusal().is_none());
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let mut out = Vec::new();
    let error = loop {
        let step = client.advance(&mut to_client, &mut out);
        to_server.extend(&out);
        out.clear();
        if let Err(error) = step {
            break error;
        }
        server.advance(&mut to_server, &mut out).unwrap();
        to_client.extend(&out);
        out.clear();
    };
    assert!(matches!(error, Error::Refused(_)));
    let refusal = client.refusal().unwrap();
    assert_eq!(Error::Refused(refusal.reason), error);
    assert!(format!("{refusal}").contains(NAME), "{refusal}");
}

#[test]
fn an_answer_must_fit_the_open_question() {
    let server = ServerConfig::builder().choose_config(Policy::Ask).build().unwrap();
    let mut client = Handshake::client(plain().0, ServerName::try_from(NAME).unwrap());
    let mut server = Handshake::server(server);
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let wrong = Error::from(Misuse::WrongAnswer);
    assert_eq!(
        server.answer(AdmitEarlyDataQuestion::answer_from(true)),
        Err(wrong),
        "there is no question"
    );
    client.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
    received.extend(&out);
    out.clear();
    assert!(matches!(server.advance(&mut received, &mut out), Ok(Next::Answer(_))));
    let open = Error::from(Misuse::QuestionOpen);
    assert_eq!(server.advance(&mut received, &mut out).unwrap_err(), open);
    assert_eq!(server.answer(SignQuestion::answer_from(None)), Err(wrong));
    // These wrong answers do not affect the handshake.
    server.answer(ChooseConfigQuestion::answer_from(Some(plain().1))).unwrap();
    assert_eq!(server.answer(ChooseConfigQuestion::answer_from(None)), Err(wrong));
    assert!(matches!(server.advance(&mut received, &mut out), Ok(Next::Receive)));
    assert!(!out.is_empty());

    assert_eq!(server.end_of_input(), Err(Error::Truncated));
    let over = Error::from(Misuse::HandshakeEnded);
    assert_eq!(server.end_of_input(), Err(over));
    assert_eq!(server.advance(&mut received, &mut out).unwrap_err(), over);
    assert_eq!(server.answer(ChooseConfigQuestion::answer_from(None)), Err(over));
}

#[test]
fn a_policy_object_answers_without_a_question() {
    let set = Credentials::new(vec![credential(Kind::P256)]);
    let settled = plain().1;
    struct Always(Arc<ServerConfig>);
    impl tercel::server::ChooseConfig for Always {
        fn choose_config(&self, _: &tercel::wire::ClientHello<'_>) -> Option<Arc<ServerConfig>> {
            Some(self.0.clone())
        }
    }
    let server = ServerConfig::builder()
        .credentials(Policy::Here(Arc::new(set)))
        .choose_config(Policy::Here(Arc::new(Always(settled))))
        .build()
        .unwrap();
    let client = client().verifier(Policy::Here(Arc::new(AcceptAnyPeer))).build().unwrap();
    Pair::new(&client, &server, NAME).connect().unwrap().talk();
}
