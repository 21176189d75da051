//! After a fatal alert a session of TLS 1.2 is discarded. This also holds if an application stores
//! sessions itself, and if the connection was restored from bytes. RFC 5246 7.2.2

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, Policy, Question, ServerConfig,
    session::{ClientMemoryStore, ServerMemoryStore},
};

use crate::fixtures::{NAME, client, server};
use crate::pair::{Ends, Pair};

/// An application that stores sessions itself.
#[derive(Clone, Default)]
struct ExternalStore(Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>);

impl ExternalStore {
    fn config(&self) -> Arc<ServerConfig> {
        let kept = Arc::clone(&self.0);
        let forget = move |id: &[u8; 32]| {
            assert!(kept.lock().unwrap().remove(&id[..]).is_some(), "a stored session");
        };
        server_with_questions().forget_session(Arc::new(forget)).build().unwrap()
    }

    /// Connects. The assertion above checks that no session is removed before the handshake is
    /// complete.
    fn connect(&self, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
        let mut ends = Pair::new(client, server, NAME)
            .answering(|_, question| match question {
                Question::FindSession(question) => {
                    question.answer(self.0.lock().unwrap().get(question.identity()).cloned())
                }
                other => panic!("{other:?}"),
            })
            .connect()
            .unwrap();
        for new in ends.server.connection.info.take_new_sessions() {
            self.0.lock().unwrap().insert(new.id, new.session);
        }
        ends
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn server_with_questions() -> tercel::server::ServerConfigBuilder {
    server().without_tickets().session_store(Policy::Ask)
}

fn tls12() -> Arc<ClientConfig> {
    let store = Arc::new(ClientMemoryStore::default());
    client().versions(&[ProtocolVersion::TLS1_2]).session_store(store).build().unwrap()
}

/// Makes this connection send a fatal alert.
fn abort(mut connection: Connection) {
    let alert = AlertDescription::INTERNAL_ERROR;
    connection.sender.abort(alert, &mut Vec::new()).unwrap();
}

#[test]
fn an_application_is_notified_which_session_to_discard() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = external.config();
    for resumed in [false, true] {
        let ends = external.connect(&client, &server);
        assert_eq!((ends.server.connection.info.resumed, external.len()), (false, 1));
        if resumed {
            let again = external.connect(&client, &server);
            assert!(again.server.connection.info.resumed);
            abort(again.server.connection);
        } else {
            abort(ends.server.connection);
        }
        assert_eq!(external.len(), 0);
    }
}

#[test]
fn an_end_without_alert_is_no_notification() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = external.config();
    for resumed in [false, true, true] {
        let mut ends = external.connect(&client, &server);
        assert_eq!(ends.server.connection.info.resumed, resumed);
        ends.server.connection.sender.close(&mut Vec::new()).unwrap();
        drop(ends);
        assert_eq!(external.len(), 1);
    }
}

#[test]
fn without_a_handler_an_aborted_session_is_still_resumed() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = server_with_questions().build().unwrap();
    abort(external.connect(&client, &server).server.connection);
    assert!(external.connect(&client, &server).server.connection.info.resumed);
}

#[test]
fn a_restored_server_discards_its_session_in_either_kind_of_store() {
    let (external, client) = (ExternalStore::default(), tls12());
    let store = Policy::Here(Arc::new(ServerMemoryStore::new(10)) as _);
    let here = server().without_tickets().session_store(store).build().unwrap();
    for server in [external.config(), here] {
        for resumed in [false, true] {
            let ends = external.connect(&client, &server);
            assert_eq!(ends.server.connection.info.resumed, resumed);
            let saved = ends.server.connection.save().unwrap();
            // The connection is restored again, because the session key must be part of the saved
            // bytes.
            let restored = Connection::restore_server(&saved, &server).unwrap();
            let restored = Connection::restore_server(&restored.save().unwrap(), &server).unwrap();
            if resumed {
                abort(restored);
            }
        }
        let after = external.connect(&client, &server);
        assert!(!after.server.connection.info.resumed);
        // A configuration without a store has no session to discard; this is not an error.
        let saved = after.server.connection.save().unwrap();
        let nowhere = self::server().without_tickets().build().unwrap();
        abort(Connection::restore_server(&saved, &nowhere).unwrap());
        abort(after.client.connection);
    }
}

#[test]
fn a_restored_client_discards_its_sessions() {
    let (external, client) = (ExternalStore::default(), tls12());
    let server = server_with_questions().build().unwrap();
    for resumed in [false, true] {
        let ends = external.connect(&client, &server);
        assert_eq!(ends.client.connection.info.resumed, resumed);
        let saved = ends.client.connection.save().unwrap();
        let restored = Connection::restore_client(&saved, &client).unwrap();
        if resumed {
            abort(restored);
        }
    }
    assert!(!external.connect(&client, &server).client.connection.info.resumed);
}
