//! Questions answered by asynchronous functions.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tercel::certificates::AcceptAnyPeer;
use tercel::crypto::{HashAlgorithm, SigningKey};
use tercel::pki_types::UnixTime;
use tercel::server::ClientAuth;
use tercel::session::{RotatingTickets, TicketSealer};
use tercel::{ClientConfig, Credential, Policy, ServerConfig, psk::PreSharedKey};
use tercel_tokio::{Acceptor, Answers, Connector};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::sleep;

use crate::support::{VERSIONS, client, credential, name, private_key, server};

async fn yield_briefly() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test]
async fn every_question_may_wait() {
    let credential = Arc::new(credential());
    let sessions: Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>> = Arc::default();
    let [found, claimed, kept] = [(); 3].map(|()| Arc::clone(&sessions));
    let inner = ServerConfig::builder()
        .credentials(Policy::Ask)
        .session_store(Policy::Ask)
        // If credentials come from answers, sessions are resumed only under an equal context.
        .session_context(b"answers")
        .build()
        .unwrap();
    let outer = server().choose_config(Policy::Ask).build().unwrap();
    let answers = Answers::new()
        .choose_config(move |question| {
            let inner = inner.clone();
            async move {
                yield_briefly().await;
                (!question.client_hello().cipher_suites.is_empty()).then_some(inner)
            }
        })
        .select_credential(move |question| {
            let credential = credential.clone();
            async move {
                yield_briefly().await;
                question.answer(Some(credential))
            }
        })
        .find_session(move |question| {
            let found = found.clone();
            async move {
                yield_briefly().await;
                found.lock().unwrap().get(question.identity()).cloned()
            }
        })
        .claim_session(move |question| {
            let claimed = claimed.clone();
            async move {
                yield_briefly().await;
                claimed.lock().unwrap().remove(question.identity()).is_some()
            }
        })
        .store_session(move |new| {
            let kept = kept.clone();
            async move {
                yield_briefly().await;
                kept.lock().unwrap().insert(new.id, new.session);
            }
        });
    let acceptor = Acceptor::new(outer).answers(answers);
    for version in VERSIONS {
        let client = client().versions(&[version]).verifier(Policy::Ask).build().unwrap();
        let judge = Answers::new().verify_peer(|question| async move {
            yield_briefly().await;
            assert_eq!(question.identity().chain.len(), 1);
            Ok(())
        });
        let connector = Connector::new(client).answers(judge);
        for resumed in [false, true] {
            let (near, far) = duplex(1 << 16);
            let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
            let (mut near, mut far) = (near.unwrap(), far.unwrap());
            assert_eq!((near.info().resumed, far.info().resumed), (resumed, resumed));
            far.write_all(b"x").await.unwrap();
            near.read_exact(&mut [0]).await.unwrap();
        }
    }
}

/// Both sides have their keys elsewhere.
#[tokio::test]
async fn another_thread_may_sign() {
    let signer = Arc::new(SigningKey::from_der(&private_key()).unwrap());
    let answers = Answers::new().sign(move |question| {
        let signer = Arc::clone(&signer);
        async move {
            let signing = move || question.sign(&*signer).ok();
            tokio::task::spawn_blocking(signing).await.unwrap()
        }
    });
    let remote = || Credential::remote(credential().chain().to_vec()).unwrap();
    let anyone = Policy::Here(Arc::new(AcceptAnyPeer) as _);
    let server = ServerConfig::builder().credential(remote());
    let server = server.client_verifier(ClientAuth::Required, anyone).build().unwrap();
    let acceptor = Acceptor::new(server).answers(answers.clone());
    for version in VERSIONS {
        let client = client().credential(remote()).versions(&[version]).build().unwrap();
        let connector = Connector::new(client).answers(answers.clone());
        let (near, far) = duplex(1 << 16);
        let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
        near.unwrap();
        assert_eq!(far.unwrap().info().peer_chain(), credential().chain());
    }
}

#[tokio::test]
async fn tickets_may_be_sealed_and_opened_asynchronously() {
    let sealer = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let (opens, seals) = (Arc::clone(&sealer), Arc::clone(&sealer));
    let answers = Answers::new()
        .open_ticket(move |question| {
            let sealer = Arc::clone(&opens);
            async move {
                yield_briefly().await;
                question.resolve(&*sealer)
            }
        })
        .seal_ticket(move |question| {
            let sealer = Arc::clone(&seals);
            async move {
                yield_briefly().await;
                sealer.seal(question.session(), question.now())
            }
        });
    let server = server().ask_for_tickets(sealer.lifetime()).build().unwrap();
    let acceptor = Acceptor::new(server).answers(answers);
    for version in VERSIONS {
        let connector = Connector::new(client().versions(&[version]).build().unwrap());
        for resumed in [false, true] {
            let (near, far) = duplex(1 << 16);
            let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
            let (mut near, mut far) = (near.unwrap(), far.unwrap());
            assert_eq!((near.info().resumed, far.info().resumed), (resumed, resumed));
            far.write_all(b"x").await.unwrap();
            near.read_exact(&mut [0]).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_pre_shared_key_may_be_found_asynchronously() {
    let key = || PreSharedKey::external(b"name", &[7; 32], HashAlgorithm::Sha256).unwrap();
    let server = ServerConfig::builder().find_pre_shared_key(Policy::Ask).build().unwrap();
    let answers = Answers::new().find_pre_shared_key(move |question| async move {
        yield_briefly().await;
        let offered = question.request().fits(&key());
        offered.then(|| Arc::new(key()))
    });
    let acceptor = Acceptor::new(server).answers(answers);
    let client = ClientConfig::builder().pre_shared_keys([key()]).build().unwrap();
    let (near, far) = duplex(1 << 16);
    let connector = Connector::new(client);
    let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
    assert_eq!(near.unwrap().info().pre_shared_key(), Some(&b"name"[..]));
    assert_eq!(far.unwrap().info().pre_shared_key(), Some(&b"name"[..]));
}

/// RFC 6066 3
#[tokio::test]
async fn a_server_name_may_be_unknown() {
    for (is_unknown, alert) in [(true, "unrecognized_name"), (false, "handshake_failure")] {
        let answers = Answers::new().select_credential(move |question| async move {
            yield_briefly().await;
            if is_unknown { question.answer_unknown_name() } else { question.answer(None) }
        });
        let server = ServerConfig::builder().credentials(Policy::Ask).build().unwrap();
        let acceptor = Acceptor::new(server).answers(answers);
        let connector = Connector::new(client().build().unwrap());
        let (near, far) = duplex(1 << 16);
        let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
        far.unwrap_err();
        let error = near.unwrap_err().to_string();
        assert!(error.contains(alert), "{error}");
    }
}

#[tokio::test]
async fn a_question_without_an_answer_ends_the_handshake() {
    let server = ServerConfig::builder().credentials(Policy::Ask).build().unwrap();
    let (near, far) = duplex(1 << 16);
    let connector = Connector::new(client().build().unwrap());
    let acceptor = Acceptor::new(server);
    let (near, far) = tokio::join!(connector.connect(name(), near), acceptor.accept(far));
    let error = far.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("SelectCredential"), "{error}");
    // The client need not guess.
    let error = near.unwrap_err();
    assert!(error.to_string().contains("internal_error"), "{error}");
}
