//! Answers of another kind than the question: each is a misuse, and has no effect.

use std::sync::Arc;

use tercel::certificates::ChainPolicy;
use tercel::crypto::{HashAlgorithm, SigningKey};
use tercel::error::Misuse;
use tercel::pki_types::UnixTime;
use tercel::psk::PreSharedKey;
use tercel::questions::{
    AdmitAnonymousQuestion, AdmitEarlyDataQuestion, ChooseConfigQuestion, ClaimSessionQuestion,
    FindClientSessionQuestion, FindPreSharedKeyQuestion, FindSessionQuestion, OpenTicketQuestion,
    SealTicketQuestion, SelectCredentialQuestion, SignQuestion, VerifyPeerQuestion,
};
use tercel::server::ClientAuth;
use tercel::session::{ClientMemoryStore, ClientSessionStore, NewSession, RotatingTickets};
use tercel::wire::ProtocolVersion;
use tercel::{
    Answer, ClientConfig, Connection, Credential, Error, Handshake, Next, Opened, Policy, Question,
    ReceiveBuffer, ServerConfig,
};

use crate::fixtures::{KINDS, NAME, client, credential, leaf, plain, roots, server};

const BOTH_VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];

const WRONG: Error = Error::Misuse(Misuse::WrongAnswer);

/// An answer of each kind, under the name of its question.
fn answers() -> [(&'static str, Answer); 12] {
    [
        ("ChooseConfig", ChooseConfigQuestion::answer_from(Some(plain().1))),
        ("FindSession", FindSessionQuestion::answer_from(Some(vec![1; 40]))),
        ("ClaimSession", ClaimSessionQuestion::answer_from(true)),
        ("OpenTicket", OpenTicketQuestion::answer_from(Some(vec![3; 40]))),
        ("SealTicket", SealTicketQuestion::answer_from(Some(vec![4; 40]))),
        ("FindPreSharedKey", FindPreSharedKeyQuestion::answer_from(Some(Arc::new(key())))),
        ("AdmitEarlyData", AdmitEarlyDataQuestion::answer_from(true)),
        ("FindClientSession", FindClientSessionQuestion::answer_from(None)),
        (
            "SelectCredential",
            SelectCredentialQuestion::answer_from(Some(Arc::new(credential(KINDS[4])))),
        ),
        ("Sign", SignQuestion::answer_from(Some(vec![2; 64]))),
        ("VerifyPeer", VerifyPeerQuestion::answer_from(Ok(()))),
        ("AdmitAnonymous", AdmitAnonymousQuestion::answer_from(true)),
    ]
}

fn key() -> PreSharedKey {
    PreSharedKey::external(b"key", &[7; 32], HashAlgorithm::Sha256).unwrap()
}

/// Answers an open question of a handshake with every other kind of answer, and then with the right
/// one.
fn answer(handshake: &mut Handshake, asked: &str, right: Answer) {
    for (kind, answer) in answers() {
        if kind != asked {
            assert_eq!(handshake.answer(answer), Err(WRONG), "{kind} to {asked}");
        }
    }
    // The question is still unanswered.
    let open = handshake.advance(&mut ReceiveBuffer::new(), &mut Vec::new());
    assert_eq!(open.unwrap_err(), Error::Misuse(Misuse::QuestionOpen));
    handshake.answer(right).unwrap();
    // The question is answered now, so a second answer of any kind is an error.
    for (_, answer) in answers() {
        assert_eq!(handshake.answer(answer), Err(WRONG));
    }
}

/// Runs both handshakes and transfers data. Returns the questions and both connections.
fn connect(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    mut resolve: impl FnMut(&Question) -> Answer,
) -> (Vec<String>, [Box<Connection>; 2]) {
    let mut handshakes = [
        Handshake::client(client.clone(), NAME.try_into().unwrap()),
        Handshake::server(server.clone()),
    ];
    let mut received = [ReceiveBuffer::new(), ReceiveBuffer::new()];
    let mut connections = [None, None];
    let mut asked = Vec::new();
    let mut turn = 0;
    while connections.iter().any(Option::is_none) {
        assert!(turn < 20);
        let (at, mut out) = (turn % 2, Vec::new());
        turn += 1;
        while connections[at].is_none() {
            match handshakes[at].advance(&mut received[at], &mut out).unwrap() {
                Next::Receive => break,
                Next::Answer(question) => {
                    let (kind, right) = (format!("{question:?}"), resolve(&question));
                    answer(&mut handshakes[at], &kind, right);
                    asked.push(kind);
                }
                Next::EarlyData(_) => asked.push("early data".to_owned()),
                Next::Connected(connection) => connections[at] = Some(connection),
                other => panic!("{other:?}"),
            }
        }
        if at == 0 && turn == 1 {
            if let Some(sender) = handshakes[0].early_sender() {
                sender.seal_to(b"early", &mut out).unwrap();
            }
        }
        received[1 - at].extend(&out);
    }
    // No question is open any more.
    for handshake in &mut handshakes {
        for (_, answer) in answers() {
            let ended = Err(Error::Misuse(Misuse::HandshakeEnded));
            assert_eq!(handshake.answer(answer), ended);
        }
    }
    let mut connections = connections.map(Option::unwrap);
    let mut out = Vec::new();
    connections[1].sender.seal_to(b"data", &mut out).unwrap();
    received[0].extend(&out);
    let opened = connections[0].receiver.open(&mut received[0]);
    assert!(matches!(opened, Ok(Opened::Data(data)) if data == b"data"));
    asked.sort_unstable();
    asked.dedup();
    (asked, connections)
}

#[test]
fn no_answer_is_expected_before_a_question() {
    let (client, server) = plain();
    for mut handshake in
        [Handshake::client(client, NAME.try_into().unwrap()), Handshake::server(server)]
    {
        for (_, answer) in answers() {
            assert_eq!(handshake.answer(answer), Err(WRONG));
        }
        assert!(handshake.advance(&mut ReceiveBuffer::new(), &mut Vec::new()).is_ok());
        for (_, answer) in answers() {
            assert_eq!(handshake.answer(answer), Err(WRONG));
        }
    }
}

#[test]
fn answers_of_another_kind_do_no_harm_to_authentication() {
    for version in BOTH_VERSIONS {
        let (chain, key) = leaf(KINDS[1], &[NAME]);
        let signer = SigningKey::from_der(&key).unwrap();
        let credential = Arc::new(Credential::remote(chain).unwrap());
        let verifier = ChainPolicy::new(roots()).unwrap();
        let chosen = ServerConfig::builder()
            .credentials(Policy::Ask)
            .client_verifier(ClientAuth::Required, Policy::Ask)
            .build()
            .unwrap();
        let server = ServerConfig::builder().choose_config(Policy::Ask).build().unwrap();
        let client = ClientConfig::builder()
            .versions(&[version])
            .verifier(Policy::Ask)
            .credentials(Policy::Ask)
            .build()
            .unwrap();
        let (asked, [client, server]) = connect(&client, &server, |question| match question {
            Question::ChooseConfig(question) => question.answer(Some(chosen.clone())),
            Question::SelectCredential(question) => question.answer(Some(credential.clone())),
            Question::Sign(question) => question.resolve(&signer),
            Question::VerifyPeer(question) => question.resolve(&verifier),
            other => panic!("{other:?}"),
        });
        assert_eq!(asked, ["ChooseConfig", "SelectCredential", "Sign", "VerifyPeer"]);
        // The right answers were used. The wrong answers before and after them had no effect.
        for connection in [client, server] {
            assert_eq!(connection.info.peer_chain(), credential.chain());
            assert_eq!(connection.info.version, version);
        }
    }
}

#[test]
fn answers_of_another_kind_do_no_harm_to_anonymous_clients() {
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().client_auth(ClientAuth::Ask, roots()).build().unwrap();
        let (asked, _) = connect(&client, &server, |question| match question {
            Question::AdmitAnonymous(question) => question.answer(true),
            other => panic!("{other:?}"),
        });
        assert_eq!(asked, ["AdmitAnonymous"]);
    }
}

#[test]
fn answers_of_another_kind_do_no_harm_to_sessions_and_keys() {
    let client = client()
        .versions(&[ProtocolVersion::TLS1_3])
        .early_data(true)
        .pre_shared_keys([key()])
        .build()
        .unwrap();
    let server = server()
        .session_store(Policy::Ask)
        .find_pre_shared_key(Policy::Ask)
        .early_data(1000, Policy::Ask)
        .build()
        .unwrap();
    let known = Arc::new(key());
    let visit = |stored: &[NewSession], key: Option<&Arc<PreSharedKey>>| {
        connect(&client, &server, |question| match question {
            Question::FindSession(question) => {
                let found = stored.iter().find(|session| session.id == question.identity());
                question.answer(found.map(|found| found.session.clone()))
            }
            Question::ClaimSession(question) => question.answer(true),
            Question::FindPreSharedKey(question) => question.answer(key.cloned()),
            Question::AdmitEarlyData(question) => question.answer(true),
            other => panic!("{other:?}"),
        })
    };
    let (asked, [_, mut server]) = visit(&[], None);
    assert_eq!(asked, ["FindPreSharedKey", "FindSession"]);
    let sessions = server.info.take_new_sessions();
    let (asked, [client, server]) = visit(&sessions, None);
    let claimed = ["AdmitEarlyData", "ClaimSession", "FindPreSharedKey", "FindSession"];
    assert_eq!(asked, [&claimed[..], &["early data"]].concat());
    assert!(client.info.resumed && server.info.resumed);
    let (asked, [client, _]) = visit(&[], Some(&known));
    assert_eq!(asked, ["FindPreSharedKey", "FindSession"]);
    assert_eq!(client.info.pre_shared_key(), Some(&b"key"[..]));
}

#[test]
fn answers_of_another_kind_do_no_harm_to_a_clients_session() {
    let store = Arc::new(ClientMemoryStore::default());
    let client = client().session_store(store.clone()).ask_for_session(true).build().unwrap();
    let server = server().build().unwrap();
    for resumed in [false, true] {
        let (asked, [client, server]) = connect(&client, &server, |question| match question {
            Question::FindClientSession(question) => {
                question.answer(store.take_session(question.key(), UnixTime::now()))
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(asked, ["FindClientSession"]);
        assert_eq!((client.info.resumed, server.info.resumed), (resumed, resumed));
    }
}

#[test]
fn answers_of_another_kind_do_no_harm_to_tickets() {
    let sealer = RotatingTickets::new(UnixTime::now()).unwrap();
    for version in BOTH_VERSIONS {
        let client = client().versions(&[version]).build().unwrap();
        let server = server().ask_for_tickets(std::time::Duration::from_secs(60)).build().unwrap();
        let both = if version == ProtocolVersion::TLS1_3 { 2 } else { 1 };
        for (resumed, expected) in [(false, 1), (true, both)] {
            let (asked, [client, server]) = connect(&client, &server, |question| match question {
                Question::OpenTicket(question) => question.resolve(&sealer),
                Question::SealTicket(question) => question.resolve(&sealer),
                other => panic!("{other:?}"),
            });
            assert_eq!(asked.len(), expected, "{asked:?}");
            assert_eq!((client.info.resumed, server.info.resumed), (resumed, resumed));
        }
    }
}
