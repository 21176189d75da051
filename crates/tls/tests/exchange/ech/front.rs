//! The client-facing server of split mode, between a client and a backend server. RFC 9849 3.1

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tercel::ech::{Front, FrontStep, Key, Keys, Retry};
use tercel::error::PeerError;
use tercel::pki_types::UnixTime;
use tercel::session::RotatingTickets;
use tercel::wire::NamedGroup;
use tercel::{Connection, EarlyData, Ech, Error, Handshake, Next, ReceiveBuffer, ServerConfig};

use super::{PUBLIC, SECRET, contains, keys, offer, pair, server, test_key, without_keys};
use crate::early_data::guard;
use crate::fixtures::client;
use crate::pair::{Ends, first_message, records};

/// A client-facing server, which receives bytes in pieces.
pub(crate) struct Between {
    front: RefCell<Front>,
    received: RefCell<Vec<u8>>,
    piece: usize,
    is_open: Cell<bool>,
    names: RefCell<[Option<String>; 2]>,
    error: Cell<Option<Error>>,
}

impl Between {
    pub(crate) fn new(keys: Arc<Keys>) -> Self {
        Self {
            front: RefCell::new(Front::new(keys)),
            received: RefCell::default(),
            piece: usize::MAX,
            is_open: Cell::new(false),
            names: RefCell::default(),
            error: Cell::new(None),
        }
    }

    pub(crate) fn error(&self) -> Option<Error> {
        self.error.get()
    }

    /// Replaces bytes of the client by those that the backend server receives.
    pub(crate) fn to_backend(&self, bytes: &mut Vec<u8>) {
        let received = std::mem::take(bytes);
        for piece in received.chunks(self.piece.min(received.len()).max(1)) {
            if let Err(error) = self.receive(piece, bytes) {
                self.error.set(Some(error));
                bytes.clear();
                return;
            }
        }
    }

    fn receive(&self, piece: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let mut front = self.front.borrow_mut();
        if self.is_open.get() {
            return front.receive_from_client(piece, out);
        }
        let mut received = self.received.borrow_mut();
        received.extend_from_slice(piece);
        match front.open(&received)? {
            FrontStep::Receive => {}
            FrontStep::Inner(inner) => {
                self.is_open.set(true);
                let names = [inner.server_name(), inner.outer_server_name()];
                self.names.replace(names.map(|name| name.map(str::to_owned)));
                out.extend_from_slice(inner.records());
                front.receive_from_client(&received[inner.consumed()..], out)?;
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    pub(crate) fn to_client(&self, bytes: &[u8]) {
        for piece in bytes.chunks(self.piece.min(bytes.len()).max(1)) {
            self.front.borrow_mut().receive_from_backend(piece);
        }
    }
}

fn check(ends: &mut Ends, between: &Between, retried: bool) {
    assert_eq!(ends.client.connection.info.ech, Ech::Accepted);
    assert_eq!(ends.server.connection.info.ech, Ech::Backend);
    assert_eq!(ends.server.connection.info.server_name.as_deref(), Some(SECRET));
    assert_eq!(ends.server.connection.info.retried, retried);
    let names = [SECRET, PUBLIC].map(|name| Some(name.to_owned()));
    assert_eq!(*between.names.borrow(), names);
    assert!(between.front.borrow().is_transparent());
    ends.talk();
}

/// RFC 9849 3.1, 7.1, 7.1.1
#[test]
fn inner_hellos_are_forwarded_to_the_backend() {
    for (group, retried) in [(NamedGroup::X25519MLKEM768, false), (NamedGroup::SECP384R1, true)] {
        let backend = without_keys().ech_backend(true).groups(&[group]).build().unwrap();
        let client = client().build().unwrap();
        for piece in [usize::MAX, 1, 3, 700] {
            let key = Key::generate(PUBLIC, 64).unwrap();
            let configs = key.config();
            let between = Between { piece, ..Between::new(keys(vec![key])) };
            let mut sent = Vec::new();
            // The session of the first connection is offered, with a binder of its own.
            let mut ends = pair(&client, &backend, &configs)
                .tap_to_server(|bytes| {
                    sent.extend_from_slice(bytes);
                    between.to_backend(bytes);
                })
                .tap_to_client(|bytes| between.to_client(bytes))
                .connect()
                .unwrap();
            check(&mut ends, &between, retried);
            assert_eq!(ends.server.connection.info.resumed, piece != usize::MAX);
            assert!(contains(&sent, PUBLIC.as_bytes()) && !contains(&sent, SECRET.as_bytes()));
        }
    }
}

/// RFC 9846 5.1, RFC 9849 7.1
#[test]
fn records_of_any_size_are_read_and_long_hellos_are_divided() {
    let key = test_key();
    let handshake = Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
    let mut handshake = handshake.with_ech(offer(&key.key().config()));
    let mut hello = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    let content = records(&hello).remove(0).1;
    let whole = {
        let step = Front::new(keys(vec![key.key()])).open(&hello).unwrap();
        let FrontStep::Inner(inner) = step else { panic!("{step:?}") };
        assert_eq!(inner.consumed(), hello.len());
        assert_eq!(inner.records()[..3], [22, 3, 1]);
        first_message(inner.records())
    };
    for size in [1, 2, 4, 5, 100] {
        let record = |content: &[u8]| {
            [&[22, 3, 1, 0, u8::try_from(content.len()).unwrap()], content].concat()
        };
        let bytes: Vec<u8> = content.chunks(size).flat_map(record).collect();
        let mut front = Front::new(keys(vec![key.key()]));
        for end in 0..bytes.len() {
            assert!(matches!(front.open(&bytes[..end]).unwrap(), FrontStep::Receive));
        }
        let FrontStep::Inner(inner) = front.open(&bytes).unwrap() else { panic!("{size}") };
        assert_eq!(first_message(inner.records()), whole);
        // The caller cannot open a connection twice.
        assert!(matches!(front.open(&bytes).unwrap(), FrontStep::Outer));
    }
}

/// Connects through a front, with early data after the first ClientHello.
fn with_early_data(
    client: &Arc<tercel::ClientConfig>,
    backend: &Arc<ServerConfig>,
    key: &Key,
    between: &Between,
) -> (Box<Connection>, Box<Connection>, Vec<u8>) {
    let ours = Handshake::client(Arc::clone(client), SECRET.try_into().unwrap());
    let mut ours = ours.with_ech(offer(&key.config()));
    let mut theirs = Handshake::server(Arc::clone(backend));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let (mut client_end, mut server_end, mut early) = (None, None, Vec::new());
    let mut is_first = true;
    for _ in 0..5 {
        let mut out = Vec::new();
        if client_end.is_none() {
            match ours.advance(&mut to_client, &mut out).unwrap() {
                Next::Connected(connection) => client_end = Some(connection),
                next => assert!(matches!(next, Next::Receive)),
            }
        }
        if std::mem::take(&mut is_first) {
            let sender = ours.early_sender().unwrap();
            for _ in 0..3 {
                sender.seal_to(b"early", &mut out).unwrap();
            }
        }
        between.to_backend(&mut out);
        to_server.extend(&out);
        out.clear();
        while server_end.is_none() {
            match theirs.advance(&mut to_server, &mut out).unwrap() {
                Next::Connected(connection) => server_end = Some(connection),
                Next::EarlyData(data) => early.extend(data),
                Next::Receive => break,
                next => panic!("{next:?}"),
            }
        }
        between.to_client(&out);
        to_client.extend(&out);
    }
    (client_end.unwrap(), server_end.unwrap(), early)
}

/// The backend server accepts early data, or skips it before the second ClientHello.
/// RFC 9849 7.1.1, RFC 9846 4.3.10
#[test]
fn early_data_is_forwarded() {
    let tickets = Arc::new(RotatingTickets::new(UnixTime::now()).unwrap());
    let backend = |groups: &[NamedGroup]| {
        let builder = without_keys().ech_backend(true).early_data(1000, guard());
        builder.tickets(Arc::clone(&tickets) as _).groups(groups).build().unwrap()
    };
    for piece in [usize::MAX, 1] {
        let key = test_key();
        let between = || Between { piece, ..Between::new(keys(vec![key.key()])) };
        let client = client().early_data(true).build().unwrap();
        let first = backend(&[NamedGroup::X25519MLKEM768]);
        let (one, two) = (between(), between());
        pair(&client, &first, &key.key().config())
            .tap_to_server(|bytes| one.to_backend(bytes))
            .tap_to_client(|bytes| one.to_client(bytes))
            .connect()
            .unwrap()
            .talk();
        let (ours, theirs, early) = with_early_data(&client, &first, &key.key(), &two);
        assert_eq!((ours.info.ech, theirs.info.ech), (Ech::Accepted, Ech::Backend));
        assert_eq!(ours.info.early_data, EarlyData::Accepted);
        assert_eq!(early, b"earlyearlyearly");
        let three = between();
        pair(&client, &first, &key.key().config())
            .tap_to_server(|bytes| three.to_backend(bytes))
            .tap_to_client(|bytes| three.to_client(bytes))
            .connect()
            .unwrap()
            .talk();
        let (retrying, four) = (backend(&[NamedGroup::SECP384R1]), between());
        let (ours, theirs, early) = with_early_data(&client, &retrying, &key.key(), &four);
        assert_eq!((ours.info.ech, theirs.info.ech), (Ech::Accepted, Ech::Backend));
        assert_eq!(ours.info.early_data, EarlyData::Rejected);
        assert!(ours.info.retried && early.is_empty());
    }
}

/// A ClientHello that no key opens is left to a handshake, which sends retry configurations.
/// RFC 9849 7.1
#[test]
fn other_hellos_are_not_forwarded() {
    let [old, new] = [(); 2].map(|()| test_key());
    let keys = || keys(vec![new.key()]);
    let hello = |handshake: Handshake| {
        let (mut handshake, mut hello) = (handshake, Vec::new());
        handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
        hello
    };
    let plain = || Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
    let outdated = hello(plain().with_ech(offer(&old.key().config())));
    let grease = hello(plain().with_ech(tercel::ech::Offer::Grease));
    let valid = hello(plain().with_ech(offer(&new.key().config())));
    let mut inner = Vec::new();
    let step = Front::new(keys()).open(&valid).unwrap();
    if let FrontStep::Inner(found) = step {
        inner.extend_from_slice(found.records());
    }
    let mut malformed = valid.clone();
    malformed[44] ^= 0x40;
    for bytes in [
        hello(plain()),
        outdated,
        grease,
        // An inner ClientHello in the clear.
        inner,
        malformed,
        [&[22, 3, 1, 0, 0][..], &valid].concat(),
        [&[21, 3, 3, 0, 2, 1, 90][..], &valid].concat(),
        vec![22, 3, 1, 0, 4, 2, 0, 0, 0],
        b"GET / HTTP/1.1\r\n".to_vec(),
    ] {
        let step = Front::new(keys()).open(&bytes).unwrap();
        assert!(matches!(step, FrontStep::Outer), "{step:?} {:?}", &bytes[..10]);
    }
    // The same bytes reach a server with the keys, from which the client recovers.
    let server = without_keys().ech(keys()).build().unwrap();
    let mut rejected = plain().with_ech(offer(&old.key().config()));
    let (mut to_client, mut to_server) = (ReceiveBuffer::new(), ReceiveBuffer::new());
    let mut theirs = Handshake::server(server);
    let mut out = Vec::new();
    rejected.advance(&mut to_client, &mut out).unwrap();
    assert!(matches!(Front::new(keys()).open(&out).unwrap(), FrontStep::Outer));
    to_server.extend(&out);
    out.clear();
    theirs.advance(&mut to_server, &mut out).unwrap();
    to_client.extend(&out);
    let error = rejected.advance(&mut to_client, &mut Vec::new()).unwrap_err();
    assert_eq!(error, Error::EchRejected);
    let retry_configs = rejected.ech_retry_configs().unwrap().clone();
    let backend = without_keys().ech_backend(true).build().unwrap();
    let between = Between::new(keys());
    let mut ends = pair(&client().build().unwrap(), &backend, &retry_configs)
        .tap_to_server(|bytes| between.to_backend(bytes))
        .tap_to_client(|bytes| between.to_client(bytes))
        .connect()
        .unwrap();
    check(&mut ends, &between, false);
}

/// A front whose inner ClientHello was forwarded, and the client's handshake.
fn opened() -> (Front, Handshake, Vec<u8>) {
    let key = test_key();
    let handshake = Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
    let mut handshake = handshake.with_ech(offer(&key.key().config()));
    let mut hello = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    let mut front = Front::new(keys(vec![key.key()]));
    let step = front.open(&hello).unwrap();
    let FrontStep::Inner(inner) = step else { panic!("{step:?}") };
    (front, handshake, inner.records().to_vec())
}

/// The beginning of a HelloRetryRequest.
fn retry() -> Vec<u8> {
    let random = tercel_wire::ServerHello::RETRY_RANDOM;
    [&[22, 3, 3, 0, 80, 2, 0, 0, 76, 3, 3], &random[..]].concat()
}

/// RFC 9846 5.1, RFC 9849 7.1.1
#[test]
fn misplaced_records_of_the_client_are_refused() {
    let refused = |is_retried: bool, bytes: &[u8]| {
        let (mut front, ..) = opened();
        if is_retried {
            front.receive_from_backend(&retry());
        }
        let mut out = Vec::new();
        let result = bytes
            .iter()
            .try_for_each(|byte| front.receive_from_client(std::slice::from_ref(byte), &mut out));
        (result.err(), out)
    };
    let ccs = [20, 3, 3, 0, 1, 1];
    // Without a HelloRetryRequest, all handshake messages of the client are encrypted.
    let unexpected = Some(Error::Peer(PeerError::UnexpectedMessage));
    assert_eq!(refused(false, &[&ccs[..], &[22]].concat()), (unexpected, ccs.to_vec()));
    assert_eq!(refused(true, &[22, 3, 3, 0, 4, 20, 0, 0, 0]).0, unexpected);
    let interrupted = Some(Error::Peer(PeerError::InterruptedHandshakeMessage));
    assert_eq!(refused(true, &[&[22, 3, 3, 0, 1, 1][..], &ccs].concat()).0, interrupted);
    let excess = Some(Error::Peer(PeerError::ExcessHandshakeData));
    assert_eq!(refused(true, &[22, 3, 3, 0, 5, 1, 0, 0, 0, 1]).0, excess);
    let long = Some(Error::Peer(PeerError::MessageTooLong));
    assert_eq!(refused(true, &[22, 3, 3, 0, 4, 1, 2, 0, 0]).0, long);
    let record = Some(Error::Peer(PeerError::RecordTooLong));
    assert_eq!(refused(true, &[22, 3, 3, 0x40, 1]).0, record);
    let empty = Some(Error::Peer(PeerError::TooManyEmptyRecords));
    assert_eq!(refused(true, &[22, 3, 3, 0, 0].repeat(40)).0, empty);
    // An alert of the client, and early data, are forwarded without waiting for their end.
    let data = [&[23, 3, 3, 1, 0][..], &[22; 256], &ccs, &[21, 3, 3, 0, 2, 2]].concat();
    for is_retried in [false, true] {
        assert_eq!(refused(is_retried, &data), (None, data.clone()));
    }
    // A second message in the record of the first ClientHello.
    let (.., records) = opened();
    assert_eq!(records[0], 22);
    let key = test_key();
    let handshake = Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
    let mut handshake = handshake.with_ech(offer(&key.key().config()));
    let mut hello = Vec::new();
    handshake.advance(&mut ReceiveBuffer::new(), &mut hello).unwrap();
    hello.push(1);
    let length = u16::try_from(hello.len() - 5).unwrap().to_be_bytes();
    hello[3..5].copy_from_slice(&length);
    let mut front = Front::new(keys(vec![key.key()]));
    assert_eq!(front.open(&hello).unwrap_err(), PeerError::ExcessHandshakeData.into());
    // It stays failed.
    assert_eq!(front.open(&hello).unwrap_err(), PeerError::ExcessHandshakeData.into());
    let mut out = Vec::new();
    assert_eq!(front.receive_from_client(&hello, &mut out).err(), excess);
    front.receive_from_backend(&retry());
    assert!(out.is_empty() && !front.is_transparent());
    let (mut front, ..) = opened();
    assert_eq!(front.receive_from_client(&[22], &mut out).err(), unexpected);
    assert_eq!(front.receive_from_client(&data, &mut out).err(), unexpected);
    assert!(out.is_empty());
}

/// The keys may be replaced between both ClientHellos.
#[test]
fn a_second_hello_is_opened_with_the_key_of_the_first() {
    let key = test_key();
    let shared = keys(vec![key.key()]);
    let backend = without_keys().ech_backend(true).groups(&[NamedGroup::SECP384R1]);
    let backend = backend.build().unwrap();
    let between = Between::new(Arc::clone(&shared));
    let mut ends = pair(&client().build().unwrap(), &backend, &key.key().config())
        .tap_to_server(|bytes| {
            between.to_backend(bytes);
            let other = Key::generate(PUBLIC, 64).unwrap();
            shared.replace(vec![(other, Retry::Send)]).unwrap();
        })
        .tap_to_client(|bytes| between.to_client(bytes))
        .connect()
        .unwrap();
    check(&mut ends, &between, true);
}

/// A backend server without `ech_backend` refuses an inner ClientHello, or ignores its mark, and
/// the client refuses the server.
#[test]
fn a_backend_without_the_setting_is_not_accepted() {
    let key = test_key();
    let between = Between::new(keys(vec![key.key()]));
    let backends = [without_keys().build().unwrap(), server(test_key().key()).build().unwrap()];
    for (index, backend) in backends.iter().enumerate() {
        let between = if index == 0 { &between } else { &Between::new(keys(vec![key.key()])) };
        let result = pair(&client().build().unwrap(), backend, &key.key().config())
            .tap_to_server(|bytes| between.to_backend(bytes))
            .tap_to_client(|bytes| between.to_client(bytes))
            .connect();
        assert!(result.is_err(), "{index}");
    }
}
