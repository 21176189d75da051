//! Sessions of TLS 1.2 that an application keeps, which is asked for them, and connections that come back from bytes: both
//! hear of fatal alerts. RFC 5246 7.2.2
//!
//! Must not know: how an object inside a configuration is told. Next: `after_alerts.rs`, `saved.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Answer, ClientConfig, ClientMemoryStore, Connection, MemoryStore, Policy, Question,
    ServerConfig,
};

use crate::identity::{NAME, client, server};
use crate::pair::{Ends, Pair};

/// An application that keeps sessions.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>);

impl Keeper {
    fn config(&self) -> Arc<ServerConfig> {
        let kept = Arc::clone(&self.0);
        let forget = move |id: &[u8; 32]| {
            assert!(kept.lock().unwrap().remove(&id[..]).is_some(), "one that is there");
        };
        asking().forget_session(Arc::new(forget)).build().unwrap()
    }

    /// Once the handshake is complete; that nothing is forgotten earlier is asserted above.
    fn connect(&self, client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Ends {
        let mut ends = Pair::new(client, server, NAME)
            .answering(|_, question| match question {
                Question::FindSession(question) => {
                    Answer::Session(self.0.lock().unwrap().get(question.identity()).cloned())
                }
                other => panic!("{other:?}"),
            })
            .connect()
            .unwrap();
        for new in ends.server.connection.facts.take_new_sessions() {
            self.0.lock().unwrap().insert(new.id, new.session);
        }
        ends
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn asking() -> tercel::ServerConfigBuilder {
    server().without_tickets().session_store(Policy::Ask)
}

fn tls12() -> Arc<ClientConfig> {
    let store = Arc::new(ClientMemoryStore::default());
    client().versions(&[ProtocolVersion::TLS1_2]).session_store(store).build().unwrap()
}

/// Has this connection end with a fatal alert that it sends.
fn abort(mut connection: Connection) {
    let alert = AlertDescription::INTERNAL_ERROR;
    connection.sender.abort(alert, &mut Vec::new()).unwrap();
}

#[test]
fn an_application_hears_which_session_is_to_be_forgotten() {
    let (keeper, client) = (Keeper::default(), tls12());
    let server = keeper.config();
    for resumed in [false, true] {
        let ends = keeper.connect(&client, &server);
        assert_eq!((ends.server.connection.facts.resumed, keeper.len()), (false, 1));
        if resumed {
            let again = keeper.connect(&client, &server);
            assert!(again.server.connection.facts.resumed);
            abort(again.server.connection);
        } else {
            abort(ends.server.connection);
        }
        assert_eq!(keeper.len(), 0);
    }
}

#[test]
fn an_end_without_alert_is_not_told() {
    let (keeper, client) = (Keeper::default(), tls12());
    let server = keeper.config();
    for resumed in [false, true, true] {
        let mut ends = keeper.connect(&client, &server);
        assert_eq!(ends.server.connection.facts.resumed, resumed);
        ends.server.connection.sender.close(&mut Vec::new()).unwrap();
        drop(ends);
        assert_eq!(keeper.len(), 1);
    }
}

#[test]
fn an_application_that_is_not_told_finds_it_further_on() {
    let (keeper, client) = (Keeper::default(), tls12());
    let server = asking().build().unwrap();
    abort(keeper.connect(&client, &server).server.connection);
    assert!(keeper.connect(&client, &server).server.connection.facts.resumed);
}

#[test]
fn a_restored_server_has_its_session_forgotten_by_either_kind_of_store() {
    let (keeper, client) = (Keeper::default(), tls12());
    let store = Policy::Here(Arc::new(MemoryStore::new(10)) as _);
    let here = server().without_tickets().session_store(store).build().unwrap();
    for server in [keeper.config(), here] {
        for resumed in [false, true] {
            let ends = keeper.connect(&client, &server);
            assert_eq!(ends.server.connection.facts.resumed, resumed);
            let saved = ends.server.connection.save().unwrap();
            // Once more, so that it is the bytes that carry it on.
            let restored = Connection::restore_server(&saved, &server).unwrap();
            let restored = Connection::restore_server(&restored.save().unwrap(), &server).unwrap();
            if resumed {
                abort(restored);
            }
        }
        let after = keeper.connect(&client, &server);
        assert!(!after.server.connection.facts.resumed);
        // With a configuration that keeps nothing there is nothing to forget, and nobody complains.
        let saved = after.server.connection.save().unwrap();
        let nowhere = self::server().without_tickets().build().unwrap();
        abort(Connection::restore_server(&saved, &nowhere).unwrap());
        abort(after.client.connection);
    }
}

#[test]
fn a_restored_client_forgets_its_sessions() {
    let (keeper, client) = (Keeper::default(), tls12());
    let server = asking().build().unwrap();
    for resumed in [false, true] {
        let ends = keeper.connect(&client, &server);
        assert_eq!(ends.client.connection.facts.resumed, resumed);
        let saved = ends.client.connection.save().unwrap();
        let restored = Connection::restore_client(&saved, &client).unwrap();
        if resumed {
            abort(restored);
        }
    }
    assert!(!keeper.connect(&client, &server).client.connection.facts.resumed);
}
