//! Sessions of TLS 1.2 whose connection ended with a fatal alert: neither side resumes them. RFC 5246 7.2.2
//!
//! For: both sides' stores, of values and of bytes alone. Must not know: how a store is told. Next: `endings.rs`.

use std::sync::{Arc, Mutex};

use tercel::pki_types::UnixTime;
use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ClientConfig, ClientMemoryStore, ClientSession, ClientSessionKey, ClientSessionStore,
    Connection, Error, MemoryStore, Peer, Policy, ServerConfig, ServerSession, SessionStore, Side,
};

use crate::identity::{NAME, client, server};
use crate::pair::{Delivery, Ends, Pair, records};
use crate::resumption::visit;

/// How a connection comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// This side's application has a fatal alert sent, which the other side receives.
    Abort(Side),
    /// This side receives a record that it cannot open, and says so.
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

    fn come(self, mut ends: Ends) {
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
                assert_eq!(to.read(&wire, Delivery::Whole), Err(Peer::BadRecordMac.into()));
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

/// Connects, comes to that end, and says whether the session was resumed then, and whether it is afterwards.
fn end(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, ending: Ending) -> (bool, bool) {
    let mut ends = Pair::new(client, server, NAME).connect().unwrap();
    ends.talk();
    let resumed = ends.client.connection.facts.resumed;
    ending.come(ends);
    (resumed, visit(client, server))
}

/// The sessions of another store, as if they were its own. It is told alone of what is to be forgotten.
struct View {
    sessions: Arc<ClientMemoryStore>,
    keys: Mutex<Vec<ClientSessionKey>>,
}

impl View {
    fn of(sessions: &Arc<ClientMemoryStore>) -> Arc<Self> {
        Arc::new(Self { sessions: Arc::clone(sessions), keys: Mutex::default() })
    }
}

impl ClientSessionStore for View {
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

/// One connection ends while another one of its session, made by way of another store, is in its handshake.
#[test]
fn a_session_that_is_forgotten_in_one_store_is_not_put_back_into_another() {
    let server = server().build().unwrap();
    let sessions = Arc::new(ClientMemoryStore::default());
    let [one, two] = [(); 2].map(|()| tls12(View::of(&sessions)));
    assert!(!visit(&one, &server));
    let mut fails = Pair::new(&one, &server, NAME).connect().unwrap();
    assert!(fails.client.connection.facts.resumed);
    let fail = |_: &mut Vec<u8>| {
        let alert = AlertDescription::INTERNAL_ERROR;
        fails.client.connection.sender.abort(alert, &mut Vec::new()).unwrap();
    };
    // It has been taken out when the server answers.
    let goes_on = Pair::new(&two, &server, NAME).tap_to_client(fail).connect().unwrap();
    assert!(goes_on.client.connection.facts.resumed);
    assert!(!visit(&one, &server), "it came back");
}

#[test]
fn a_session_that_was_moved_to_another_store_is_forgotten_there_too() {
    let server = server().build().unwrap();
    let [here, there] = [(); 2].map(|()| Arc::new(ClientMemoryStore::default()));
    let view = View::of(&here);
    let [one, two] = [tls12(view.clone()), tls12(there.clone())];
    let mut ends = Pair::new(&one, &server, NAME).connect().unwrap();
    let key = view.keys.lock().unwrap()[0].clone();
    let now = UnixTime::now();
    let (later, alert) = (now.as_secs() + 100, AlertDescription::INTERNAL_ERROR);
    let later = UnixTime::since_unix_epoch(std::time::Duration::from_secs(later));
    there.put_session(&key, here.take_session(&key, now).unwrap(), later);
    assert!(visit(&two, &server), "it is resumed there");
    ends.client.connection.sender.abort(alert, &mut Vec::new()).unwrap();
    assert!(!visit(&two, &server), "it was forgotten");
}

/// What an application copies by way of bytes, it has to look after.
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

/// Puts what it is given into both stores, and tells the first one only what to forget.
struct Both([Arc<MemoryStore>; 2]);

impl SessionStore for Both {
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
fn a_server_s_session_in_two_stores_is_forgotten_in_both() {
    let stores = [(); 2].map(|()| Arc::new(MemoryStore::new(10)));
    let first = with_store(Arc::new(Both(stores.clone())));
    let second = with_store(stores[1].clone());
    for forgets in [false, true] {
        let client = stubborn();
        let mut ends = Pair::new(&client, &first, NAME).connect().unwrap();
        if forgets {
            let alert = AlertDescription::INTERNAL_ERROR;
            ends.server.connection.sender.abort(alert, &mut Vec::new()).unwrap();
        }
        assert_eq!(visit(&client, &second), !forgets);
    }
}

/// A client that comes back with its one session whatever became of it.
fn stubborn() -> Arc<ClientConfig> {
    tls12(Arc::new(Stubborn::default()))
}

fn tls12(store: Arc<dyn ClientSessionStore>) -> Arc<ClientConfig> {
    let builder = client().versions(&[ProtocolVersion::TLS1_2]);
    builder.session_store(store).build().unwrap()
}

fn with_store(store: Arc<dyn SessionStore>) -> Arc<ServerConfig> {
    server().without_tickets().session_store(Policy::Here(store)).build().unwrap()
}

#[test]
fn a_server_forgets_a_session_whose_connection_ended_with_an_alert() {
    for ending in Ending::WITH_ALERT {
        let stores: [Arc<dyn SessionStore>; 2] =
            [Arc::new(MemoryStore::new(10)), Arc::new(BytesAlone(MemoryStore::new(10)))];
        for server in stores.map(with_store) {
            let client = stubborn();
            assert_eq!(end(&client, &server, ending), (false, false), "{ending:?}");
            // The second visit was another session, which is resumed here.
            assert_eq!(end(&client, &server, ending), (true, false), "{ending:?}");
        }
    }
}

#[test]
fn a_client_forgets_a_session_whose_connection_ended_with_an_alert() {
    for ending in Ending::WITH_ALERT {
        let stores: [Arc<dyn ClientSessionStore>; 2] =
            [Arc::new(ClientMemoryStore::default()), Arc::new(BytesAlone(Default::default()))];
        for client in stores.map(tls12) {
            for server in [server().build().unwrap(), with_store(Arc::new(Unforgetting::new()))] {
                assert_eq!(end(&client, &server, ending), (false, false), "{ending:?}");
                assert_eq!(end(&client, &server, ending), (true, false), "{ending:?}");
            }
        }
    }
}

#[test]
fn an_end_without_alert_leaves_the_session() {
    for ending in [Ending::Close, Ending::Cut] {
        let server = with_store(Arc::new(MemoryStore::new(10)));
        for client in [stubborn(), tls12(Arc::new(ClientMemoryStore::default()))] {
            assert_eq!(end(&client, &server, ending), (false, true), "{ending:?}");
            assert_eq!(end(&client, &server, ending), (true, true), "{ending:?}");
        }
    }
}

#[test]
fn only_the_session_of_the_connection_is_forgotten() {
    let server = with_store(Arc::new(MemoryStore::new(10)));
    let (one, another) = (stubborn(), stubborn());
    assert!(!visit(&one, &server) && !visit(&another, &server));
    assert_eq!(end(&one, &server, Ending::Abort(Side::Client)), (true, false));
    assert!(visit(&another, &server));
}

#[test]
fn a_store_that_stands_in_front_of_another_may_be_replaced() {
    let behind = Arc::new(MemoryStore::new(10));
    let client = stubborn();
    assert!(!visit(&client, &with_store(Arc::new(InFront(behind.clone())))));
    let server = with_store(Arc::new(InFront(behind)));
    assert_eq!(end(&client, &server, Ending::Damage(Side::Server)), (true, false));
}

#[test]
fn a_resumption_that_fails_with_an_alert_was_the_last() {
    let store = Arc::new(MemoryStore::new(10));
    let server = with_store(store);
    let client = stubborn();
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
    assert_eq!(failure.server, Some(Peer::BadRecordMac.into()));
    assert!(!visit(&client, &server));
    assert!(visit(&client, &server));
    // The same if it is the client that gives up.
    let alert = [21, 3, 3, 0, 2, 2, AlertDescription::HANDSHAKE_FAILURE.0];
    let mut flights = 0;
    let pair = Pair::new(&client, &server, NAME).tap_to_server(|bytes| {
        flights += 1;
        if flights == 2 {
            *bytes = alert.to_vec();
        }
    });
    assert!(pair.connect().is_err());
    assert!(!visit(&client, &server));
}

#[test]
fn a_handshake_that_fails_in_the_end_leaves_no_session() {
    let counting = Arc::new(Counting::default());
    let server = with_store(counting.clone());
    let drawer = Arc::new(Stubborn::default());
    let client = tls12(drawer.clone());
    // The server's Finished does not open. What else its record may hold is tried where the keys are at hand.
    let mut flights = 0;
    let pair = Pair::new(&client, &server, NAME).tap_to_client(|bytes| {
        flights += 1;
        if flights == 2 {
            assert_eq!(records(bytes).len(), 2, "change_cipher_spec and Finished");
            *bytes.last_mut().unwrap() ^= 1;
        }
    });
    assert_eq!(pair.connect().unwrap_err().client, Some(Peer::BadRecordMac.into()));
    assert!(drawer.0.lock().unwrap().is_none(), "kept before the handshake was complete");
    // The same with the client's Finished, and the server's store.
    counting.0.lock().unwrap().clear();
    let mut flights = 0;
    let pair = Pair::new(&client, &server, NAME).tap_to_server(|bytes| {
        flights += 1;
        if flights == 2 {
            *bytes.last_mut().unwrap() ^= 1;
        }
    });
    assert_eq!(pair.connect().unwrap_err().server, Some(Peer::BadRecordMac.into()));
    assert!(counting.0.lock().unwrap().is_empty());
}

#[test]
fn who_sends_an_alert_forgets_at_once_whatever_becomes_of_the_other_half() {
    for (side, receiver_goes_first) in
        [(Side::Client, false), (Side::Client, true), (Side::Server, false), (Side::Server, true)]
    {
        let (client, server) = match side {
            Side::Client => (
                tls12(Arc::new(ClientMemoryStore::default())),
                with_store(Arc::new(Unforgetting::new())),
            ),
            Side::Server => (stubborn(), with_store(Arc::new(MemoryStore::new(10)))),
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
fn a_client_does_not_put_back_what_was_forgotten_meanwhile() {
    let client = tls12(Arc::new(ClientMemoryStore::default()));
    let server = with_store(Arc::new(Unforgetting::new()));
    let mut first = Some(Pair::new(&client, &server, NAME).connect().unwrap());
    let second = Pair::new(&client, &server, NAME)
        .tap_to_server(|_| {
            if let Some(first) = first.take() {
                Ending::Damage(Side::Client).come(first);
            }
        })
        .connect()
        .unwrap();
    assert!(second.client.connection.facts.resumed, "it was taken before");
    assert!(!visit(&client, &server));
}

/// A client's store that hands out the last session again and again.
#[derive(Default)]
struct Stubborn(Mutex<Option<Vec<u8>>>);

impl ClientSessionStore for Stubborn {
    fn put(&self, _: &ClientSessionKey, session: Vec<u8>, _: UnixTime) {
        *self.0.lock().unwrap() = Some(session);
    }

    fn take(&self, _: &ClientSessionKey, _: UnixTime) -> Option<Vec<u8>> {
        self.0.lock().unwrap().clone()
    }
}

/// A store that knows nothing of values.
#[derive(Default)]
struct BytesAlone<T>(T);

impl SessionStore for BytesAlone<MemoryStore> {
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

impl ClientSessionStore for BytesAlone<ClientMemoryStore> {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.0.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(key, now)
    }
}

/// A server's store that hands everything on, values too.
struct InFront(Arc<MemoryStore>);

impl SessionStore for InFront {
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

    fn put_session(&self, id: &[u8], session: tercel::ServerSession, expires: UnixTime) {
        self.0.put_session(id, session, expires);
    }

    fn get_session(&self, id: &[u8], now: UnixTime) -> Option<tercel::ServerSession> {
        self.0.get_session(id, now)
    }
}

/// A server's store that does not let itself be told.
struct Unforgetting(BytesAlone<MemoryStore>);

impl Unforgetting {
    fn new() -> Self {
        Self(BytesAlone(MemoryStore::new(10)))
    }
}

impl SessionStore for Unforgetting {
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

/// A server's store that notes what it is given.
#[derive(Default)]
struct Counting(Mutex<Vec<Vec<u8>>>);

impl SessionStore for Counting {
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
