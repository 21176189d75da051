//! A session of TLS 1.2 whose connection ended with a fatal alert: neither side resumes it.
//! RFC 5246 7.2.2
//!
//! The tests use the stores of both sides, for values and for bytes.

use std::sync::{Arc, Mutex};

use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ClientConfig, Connection, Error, Policy, ServerConfig, Side,
    error::PeerError,
    session::{
        ClientMemoryStore, ClientSession, ClientSessionKey, ClientSessionStore, ServerMemoryStore,
        ServerSession, ServerSessionStore,
    },
};

use crate::fixtures::{NAME, client, server};
use crate::pair::{Delivery, Ends, Pair, records};
use crate::resumption::visit;

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// This side's application sends a fatal alert, which the other side receives.
    Abort(Side),
    /// This side receives a record that it cannot open, and sends an alert.
    Damage(Side),
    Close,
    Cut,
}

impl Ending {
    const WITH_ALERT: [Self; 4] = [
        Self::Abort(Side::Client),
        Self::Abort(Side::Server),
        Self::Damage(Side::Client),
        Self::Damage(Side::Server),
    ];

    fn apply(self, mut ends: Ends) {
        let mut wire = Vec::new();
        match self {
            Self::Abort(side) => {
                let (from, to) = ends.both(side);
                let alert = AlertDescription::INTERNAL_ERROR;
                from.connection.sender.abort(alert, &mut wire).unwrap();
                let received = to.read(&wire, Delivery::Whole);
                assert_eq!(received, Err(Error::AlertReceived(alert)));
            }
            Self::Damage(side) => {
                let (to, from) = ends.both(side);
                from.connection.sender.seal_to(b"data", &mut wire).unwrap();
                *wire.last_mut().unwrap() ^= 1;
                assert_eq!(to.read(&wire, Delivery::Whole), Err(PeerError::BadRecordMac.into()));
                wire.clear();
                to.connection.sender.control(&mut wire).unwrap();
                let alert = AlertDescription::BAD_RECORD_MAC;
                let received = from.read(&wire, Delivery::Whole);
                assert_eq!(received, Err(Error::AlertReceived(alert)));
            }
            Self::Close => {
                let (from, to) = ends.both(Side::Client);
                from.connection.sender.close(&mut wire).unwrap();
                to.read(&wire, Delivery::Whole).unwrap();
                to.connection.receiver.end_of_input().unwrap();
            }
            Self::Cut => {
                for side in [Side::Client, Side::Server] {
                    let (end, _) = ends.both(side);
                    assert_eq!(end.connection.receiver.end_of_input(), Err(Error::Truncated));
                }
            }
        }
    }
}

/// Connects and ends the connection. Returns whether the session was resumed, and whether it can be
/// resumed afterwards.
fn end(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, ending: Ending) -> (bool, bool) {
    let mut ends = Pair::new(client, server, NAME).connect().unwrap();
    ends.talk();
    let resumed = ends.client.connection.info.resumed;
    ending.apply(ends);
    (resumed, visit(client, server))
}

/// A view of the sessions of another store. Sessions to discard are reported to this view only.
struct StoreView {
    sessions: Arc<ClientMemoryStore>,
    keys: Mutex<Vec<ClientSessionKey>>,
}

impl StoreView {
    fn of(sessions: &Arc<ClientMemoryStore>) -> Arc<Self> {
        Arc::new(Self { sessions: Arc::clone(sessions), keys: Mutex::default() })
    }
}

impl ClientSessionStore for StoreView {
    fn put(&self, _: &ClientSessionKey, _: Vec<u8>, _: UnixTime) {
        panic!("values only");
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        panic!("values only");
    }

    fn remove(&self, key: &ClientSessionKey) {
        self.sessions.remove(key);
    }

    fn put_session(&self, key: &ClientSessionKey, session: ClientSession, expires: UnixTime) {
        self.keys.lock().unwrap().push(key.clone());
        self.sessions.put_session(key, session, expires);
    }

    fn take_session(&self, key: &ClientSessionKey, now: UnixTime) -> Option<ClientSession> {
        self.sessions.take_session(key, now)
    }
}

/// One connection ends while another connection is in its handshake. The other connection took the
/// same session from another store.
#[test]
fn a_session_discarded_in_one_store_is_not_put_back_into_another() {
    let server = server().build().unwrap();
    let sessions = Arc::new(ClientMemoryStore::default());
    let [one, two] = [(); 2].map(|()| tls12(StoreView::of(&sessions)));
    assert!(!visit(&one, &server));
    let mut fails = Pair::new(&one, &server, NAME).connect().unwrap();
    assert!(fails.client.connection.info.resumed);
    let fail = |_: &mut Vec<u8>| {
        let alert = AlertDescription::INTERNAL_ERROR;
        fails.client.connection.sender.abort(alert, &mut Vec::new()).unwrap();
    };
    // The session was removed from the store before the server answered, so it is not put back.
    let goes_on = Pair::new(&two, &server, NAME).tap_to_client(fail).connect().unwrap();
    assert!(goes_on.client.connection.info.resumed);
    assert!(!visit(&one, &server), "it was put back");
}

#[test]
fn a_session_moved_to_another_store_is_discarded_there() {
    let server = server().build().unwrap();
    let [here, there] = [(); 2].map(|()| Arc::new(ClientMemoryStore::default()));
    let view = StoreView::of(&here);
    let [one, two] = [tls12(view.clone()), tls12(there.clone())];
    let mut ends = Pair::new(&one, &server, NAME).connect().unwrap();
    let key = view.keys.lock().unwrap()[0].clone();
    let now = UnixTime::now();
    let (later, alert) = (now.as_secs() + 100, AlertDescription::INTERNAL_ERROR);
    let later = UnixTime::since_unix_epoch(std::time::Duration::from_secs(later));
    there.put_session(&key, here.take_session(&key, now).unwrap(), later);
    assert!(visit(&two, &server), "it is resumed from there");
    ends.client.connection.sender.abort(alert, &mut Vec::new()).unwrap();
    assert!(!visit(&two, &server), "it was discarded");
}

/// If an application copies a session as bytes, the copy is not discarded with the original.
#[test]
fn a_copy_in_bytes_is_another_session() {
    let server = server().build().unwrap();
    let [here, there] = [(); 2].map(|()| Arc::new(ClientMemoryStore::default()));
    let [one, two] = [tls12(here.clone()), tls12(there.clone())];
    let mut ends = Pair::new(&one, &server, NAME).connect().unwrap();
    let copy = ClientMemoryStore::from_bytes(&here.to_bytes(), 9, 9).unwrap();
    let copied = tls12(Arc::new(copy));
    ends.client.connection.sender.abort(AlertDescription::INTERNAL_ERROR, &mut Vec::new()).unwrap();
    assert!(visit(&copied, &server));
    assert!(!visit(&two, &server) && !visit(&one, &server));
}

/// A store that puts each session into both stores, and removes it only from the first store.
struct TwoStores([Arc<ServerMemoryStore>; 2]);

impl ServerSessionStore for TwoStores {
    fn put(&self, _: &[u8], _: Vec<u8>, _: UnixTime) {
        panic!("values only");
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0[0].take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0[0].get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.0[0].remove(id);
    }

    fn put_session(&self, id: &[u8], session: ServerSession, expires: UnixTime) {
        for store in &self.0 {
            store.put_session(id, session.clone(), expires);
        }
    }

    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<ServerSession> {
        self.0[0].get_session(id, now)
    }
}

#[test]
fn a_servers_session_in_two_stores_is_discarded_in_both() {
    let stores = [(); 2].map(|()| Arc::new(ServerMemoryStore::new(10)));
    let first = with_store(Arc::new(TwoStores(stores.clone())));
    let second = with_store(stores[1].clone());
    for forgets in [false, true] {
        let client = repeating_client();
        let mut ends = Pair::new(&client, &first, NAME).connect().unwrap();
        if forgets {
            let alert = AlertDescription::INTERNAL_ERROR;
            ends.server.connection.sender.abort(alert, &mut Vec::new()).unwrap();
        }
        assert_eq!(visit(&client, &second), !forgets);
    }
}

/// A client that always offers its one session again.
fn repeating_client() -> Arc<ClientConfig> {
    tls12(Arc::new(RepeatingStore::default()))
}

fn tls12(store: Arc<dyn ClientSessionStore>) -> Arc<ClientConfig> {
    let builder = client().versions(&[ProtocolVersion::TLS1_2]);
    builder.session_store(store).build().unwrap()
}

fn with_store(store: Arc<dyn ServerSessionStore>) -> Arc<ServerConfig> {
    server().without_tickets().session_store(Policy::Here(store)).build().unwrap()
}

#[test]
fn a_server_discards_the_session_of_a_connection_that_ended_with_an_alert() {
    for ending in Ending::WITH_ALERT {
        let stores: [Arc<dyn ServerSessionStore>; 2] =
            [Arc::new(ServerMemoryStore::new(10)), Arc::new(ByteStore(ServerMemoryStore::new(10)))];
        for server in stores.map(with_store) {
            let client = repeating_client();
            assert_eq!(end(&client, &server, ending), (false, false), "{ending:?}");
            // The second connection had a session of its own, which is resumed here.
            assert_eq!(end(&client, &server, ending), (true, false), "{ending:?}");
        }
    }
}

#[test]
fn a_client_discards_the_session_of_a_connection_that_ended_with_an_alert() {
    for ending in Ending::WITH_ALERT {
        let stores: [Arc<dyn ClientSessionStore>; 2] =
            [Arc::new(ClientMemoryStore::default()), Arc::new(ByteStore(Default::default()))];
        for client in stores.map(tls12) {
            for server in [server().build().unwrap(), with_store(Arc::new(NonRemovingStore::new()))]
            {
                assert_eq!(end(&client, &server, ending), (false, false), "{ending:?}");
                assert_eq!(end(&client, &server, ending), (true, false), "{ending:?}");
            }
        }
    }
}

#[test]
fn an_end_without_alert_keeps_the_session() {
    for ending in [Ending::Close, Ending::Cut] {
        let server = with_store(Arc::new(ServerMemoryStore::new(10)));
        for client in [repeating_client(), tls12(Arc::new(ClientMemoryStore::default()))] {
            assert_eq!(end(&client, &server, ending), (false, true), "{ending:?}");
            assert_eq!(end(&client, &server, ending), (true, true), "{ending:?}");
        }
    }
}

#[test]
fn only_the_session_of_the_connection_is_discarded() {
    let server = with_store(Arc::new(ServerMemoryStore::new(10)));
    let (one, another) = (repeating_client(), repeating_client());
    assert!(!visit(&one, &server) && !visit(&another, &server));
    assert_eq!(end(&one, &server, Ending::Abort(Side::Client)), (true, false));
    assert!(visit(&another, &server));
}

#[test]
fn a_store_that_forwards_to_another_may_be_replaced() {
    let behind = Arc::new(ServerMemoryStore::new(10));
    let client = repeating_client();
    assert!(!visit(&client, &with_store(Arc::new(ForwardingStore(behind.clone())))));
    let server = with_store(Arc::new(ForwardingStore(behind)));
    assert_eq!(end(&client, &server, Ending::Damage(Side::Server)), (true, false));
}

/// Any client that has seen the session ID can make such a resumption fail.
/// `clients_without_key.rs` has more cases.
#[test]
fn a_session_stays_if_its_resumption_fails_before_the_client_has_proved_its_key() {
    let server = with_store(Arc::new(ServerMemoryStore::new(10)));
    let client = repeating_client();
    assert!(!visit(&client, &server));
    let mut flights = 0;
    let failure = Pair::new(&client, &server, NAME)
        .tap_to_server(|bytes| {
            flights += 1;
            if flights == 2 {
                *bytes.last_mut().unwrap() ^= 1;
            }
        })
        .connect()
        .unwrap_err();
    assert_eq!(failure.server, Some(PeerError::BadRecordMac.into()));
    assert!(visit(&client, &server));
    let alert = [21, 3, 3, 0, 2, 2, AlertDescription::HANDSHAKE_FAILURE.0];
    let mut flights = 0;
    let pair = Pair::new(&client, &server, NAME).tap_to_server(|bytes| {
        flights += 1;
        if flights == 2 {
            *bytes = alert.to_vec();
        }
    });
    assert!(pair.connect().is_err());
    assert!(visit(&client, &server));
}

#[test]
fn a_handshake_that_fails_at_finished_stores_no_session() {
    let counting = Arc::new(RecordingStore::default());
    let server = with_store(counting.clone());
    let client_store = Arc::new(RepeatingStore::default());
    let client = tls12(client_store.clone());
    // The server's Finished is damaged and cannot be opened. The record tests cover other contents.
    let mut flights = 0;
    let pair = Pair::new(&client, &server, NAME).tap_to_client(|bytes| {
        flights += 1;
        if flights == 2 {
            assert_eq!(records(bytes).len(), 2, "change_cipher_spec and Finished");
            *bytes.last_mut().unwrap() ^= 1;
        }
    });
    assert_eq!(pair.connect().unwrap_err().client, Some(PeerError::BadRecordMac.into()));
    assert!(client_store.0.lock().unwrap().is_none(), "stored before the handshake was complete");
    // The same test for the client's Finished and the server's store.
    counting.0.lock().unwrap().clear();
    let mut flights = 0;
    let pair = Pair::new(&client, &server, NAME).tap_to_server(|bytes| {
        flights += 1;
        if flights == 2 {
            *bytes.last_mut().unwrap() ^= 1;
        }
    });
    assert_eq!(pair.connect().unwrap_err().server, Some(PeerError::BadRecordMac.into()));
    assert!(counting.0.lock().unwrap().is_empty());
}

#[test]
fn sending_an_alert_discards_the_session_even_if_the_other_half_remains() {
    for (side, receiver_goes_first) in
        [(Side::Client, false), (Side::Client, true), (Side::Server, false), (Side::Server, true)]
    {
        let (client, server) = match side {
            Side::Client => (
                tls12(Arc::new(ClientMemoryStore::default())),
                with_store(Arc::new(NonRemovingStore::new())),
            ),
            Side::Server => (repeating_client(), with_store(Arc::new(ServerMemoryStore::new(10)))),
        };
        let ends = Pair::new(&client, &server, NAME).connect().unwrap();
        let end = if side == Side::Client { ends.client } else { ends.server };
        let Connection { mut sender, receiver, .. } = end.connection;
        let kept = (!receiver_goes_first).then_some(receiver);
        sender.abort(AlertDescription::INTERNAL_ERROR, &mut Vec::new()).unwrap();
        assert!(!visit(&client, &server), "{side:?} {receiver_goes_first}");
        drop(kept);
    }
}

#[test]
fn a_client_does_not_put_back_a_session_discarded_meanwhile() {
    let client = tls12(Arc::new(ClientMemoryStore::default()));
    let server = with_store(Arc::new(NonRemovingStore::new()));
    let mut first = Some(Pair::new(&client, &server, NAME).connect().unwrap());
    let second = Pair::new(&client, &server, NAME)
        .tap_to_server(|_| {
            if let Some(first) = first.take() {
                Ending::Damage(Side::Client).apply(first);
            }
        })
        .connect()
        .unwrap();
    assert!(second.client.connection.info.resumed, "it was taken before");
    assert!(!visit(&client, &server));
}

/// A client's store that always returns the last session.
#[derive(Default)]
struct RepeatingStore(Mutex<Option<Vec<u8>>>);

impl ClientSessionStore for RepeatingStore {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }
}

/// A store that implements only the methods for bytes.
#[derive(Default)]
struct ByteStore<T>(T);

impl ServerSessionStore for ByteStore<ServerMemoryStore> {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.0.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.0.remove(id);
    }
}

impl ClientSessionStore for ByteStore<ClientMemoryStore> {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.0.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(key, now)
    }
}

/// A server's store that forwards all calls, including those for values.
struct ForwardingStore(Arc<ServerMemoryStore>);

impl ServerSessionStore for ForwardingStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.0.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.get(id, now)
    }

    fn remove(&self, id: &[u8]) {
        self.0.remove(id);
    }

    fn put_session(&self, id: &[u8], session: tercel::session::ServerSession, expires: UnixTime) {
        self.0.put_session(id, session, expires);
    }

    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<tercel::session::ServerSession> {
        self.0.get_session(id, now)
    }
}

/// A server's store that does not remove sessions.
struct NonRemovingStore(ByteStore<ServerMemoryStore>);

impl NonRemovingStore {
    fn new() -> Self {
        Self(ByteStore(ServerMemoryStore::new(10)))
    }
}

impl ServerSessionStore for NonRemovingStore {
    fn put(&self, id: &[u8], session: Vec<u8>, expires: UnixTime) {
        self.0.put(id, session, expires);
    }

    fn take(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(id, now)
    }

    fn get(&self, id: &[u8], now: UnixTime) -> Option<Vec<u8>> {
        self.0.get(id, now)
    }

    fn remove(&self, _: &[u8]) {}
}

/// A server's store that records the sessions that are put.
#[derive(Default)]
struct RecordingStore(Mutex<Vec<Vec<u8>>>);

impl ServerSessionStore for RecordingStore {
    fn put(&self, id: &[u8], _: Vec<u8>, _: UnixTime) {
        self.0.lock().unwrap().push(id.to_vec());
    }

    fn take(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn get(&self, _: &[u8], _: UnixTime) -> Option<Vec<u8>> {
        None
    }

    fn remove(&self, _: &[u8]) {}
}
