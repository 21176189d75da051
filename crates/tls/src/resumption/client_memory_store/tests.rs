//! The client's memory store: order of sessions, single use, limits, saving and restoring.

use tercel_crypto::Secret;
use tercel_pki::ServerName;
use tercel_wire::CipherSuite;

use super::*;
use crate::keys::suite;
use crate::resumption::session::Session;
use crate::resumption::session::client_store::PIECE;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn key(name: &'static str) -> ClientSessionKey {
    ClientSessionKey::new(name.try_into().unwrap(), None, [7; 32])
}

fn filled(store: ClientMemoryStore, names: &[&'static str]) -> ClientMemoryStore {
    for name in names {
        store.put(&key(name), name.as_bytes().to_vec(), at(100));
    }
    store
}

/// RFC 9846 C.4
#[test]
fn the_newest_session_is_taken_first_and_each_once() {
    let store = ClientMemoryStore::default();
    for session in 0..3 {
        store.put(&key("a.example"), vec![session], at(100));
    }
    for session in (0..3).rev() {
        assert_eq!(store.take(&key("a.example"), at(1)), Some(vec![session]));
    }
    assert_eq!(store.take(&key("a.example"), at(1)), None);
    assert_eq!(
        *store.to_bytes(),
        *ClientMemoryStore::default().to_bytes(),
        "an empty server is saved"
    );
}

/// A server decides about the length of its chain and tickets, and may have any number of names.
#[test]
fn the_bytes_of_all_sessions_are_limited() {
    let store = ClientMemoryStore::default();
    let name = |number: u32| ServerName::try_from(format!("{number}.example")).unwrap();
    let key = |number| ClientSessionKey::new(name(number), None, [7; 32]);
    for number in 0..256 {
        for _ in 0..4 {
            store.put(&key(number), vec![7; 96 << 10], at(100));
        }
    }
    let saved = store.to_bytes().len();
    assert!((7 << 20..=8 << 20).contains(&saved), "{saved} bytes");
    assert!(store.take(&key(255), at(1)).is_some() && store.take(&key(0), at(1)).is_none());
    // Ordinary sessions of as many servers fit, also after those.
    for number in 1000..1256 {
        for _ in 0..4 {
            store.put(&key(number), vec![7; 7 << 10], at(100));
        }
    }
    for number in 1000..1256 {
        let taken = (0..5).map_while(|_| store.take(&key(number), at(1))).count();
        assert_eq!(taken, 4, "{number}");
    }
    // One server alone stays within the limit, and keeps its newest session.
    let store = ClientMemoryStore::new(1, 4);
    for session in 0..9 {
        store.put(&key(0), vec![session; 96 << 10], at(100));
    }
    assert!(store.to_bytes().len() <= 256 << 10);
    assert_eq!(store.take(&key(0), at(1)).unwrap()[0], 8);
    assert_eq!(store.take(&key(0), at(1)).unwrap()[0], 7);
    assert_eq!(store.take(&key(0), at(1)), None);
}

#[test]
fn another_name_port_or_configuration_is_another_server() {
    let server_name = || ServerName::try_from("a.example").unwrap();
    let keys = [
        key("a.example"),
        key("b.example"),
        key("192.0.2.1"),
        ClientSessionKey::new(server_name(), Some(443), [7; 32]),
        ClientSessionKey::new(server_name(), Some(8443), [7; 32]),
        ClientSessionKey::new(server_name(), None, [8; 32]),
    ];
    for mine in &keys {
        let store = ClientMemoryStore::default();
        store.put(mine, b"s".to_vec(), at(100));
        for other in keys.iter().filter(|other| *other != mine) {
            assert_eq!(
                store.take(other, at(1)),
                None,
                "{other:?} returned the session of {mine:?}"
            );
        }
        assert!(store.take(mine, at(1)).is_some());
    }
}

#[test]
fn equal_keys_have_equal_hashes_and_each_field_distinguishes_keys() {
    use std::hash::BuildHasher;
    let hasher = std::hash::RandomState::new();
    let key = |name: &str, port, configuration| {
        ClientSessionKey::new(name.to_owned().try_into().unwrap(), port, configuration)
    };
    let of_digest = |last| {
        let mut digest = [7; 32];
        digest[31] = last;
        digest
    };
    // The second name is longer than [`PIECE`].
    for name in ["a.example", &format!("{0}.{0}.example", "b".repeat(PIECE)), "127.0.0.1", "::1"] {
        let one = key(name, Some(443), of_digest(7));
        let same = key(&name.to_uppercase(), Some(443), of_digest(7));
        assert_eq!(one, same, "{name}");
        assert_eq!(hasher.hash_one(&one), hasher.hash_one(&same), "{name}");
        for other in [
            key("other.example", Some(443), of_digest(7)),
            key(name, Some(444), of_digest(7)),
            key(name, None, of_digest(7)),
            key(name, Some(443), of_digest(8)),
        ] {
            assert_ne!(one, other, "{name}");
        }
        assert_ne!(hasher.hash_one(&one), hasher.hash_one(key(name, None, of_digest(7))), "{name}");
        assert_ne!(hasher.hash_one(&one), hasher.hash_one(key(name, Some(443), [8; 32])), "{name}");
    }
}

/// RFC 4343 3
#[test]
fn a_name_is_the_same_in_either_case() {
    let store = filled(ClientMemoryStore::default(), &["A.example"]);
    assert!(store.take(&key("a.EXAMPLE"), at(1)).is_some());
}

#[test]
fn expired_sessions_are_skipped() {
    let store = ClientMemoryStore::default();
    store.put(&key("a.example"), vec![1], at(100));
    store.put(&key("a.example"), vec![2], at(50));
    assert_eq!(store.take(&key("a.example"), at(50)), Some(vec![1]));
    store.put(&key("a.example"), vec![3], at(100));
    assert_eq!(store.take(&key("a.example"), at(100)), None);
    assert_eq!(*store.to_bytes(), *ClientMemoryStore::default().to_bytes());
}

#[test]
fn the_oldest_sessions_of_a_server_are_evicted() {
    let store = ClientMemoryStore::new(1, 4);
    for session in 0..10 {
        store.put(&key("a.example"), vec![session], at(100));
    }
    let taken: Vec<_> = std::iter::from_fn(|| store.take(&key("a.example"), at(1))).collect();
    assert_eq!(taken, [[9], [8], [7], [6]]);
}

#[test]
fn the_server_longest_without_a_new_session_is_evicted() {
    let names = ["a.example", "b.example", "a.example", "c.example"];
    let store = filled(ClientMemoryStore::new(2, 4), &names);
    assert_eq!(store.take(&key("b.example"), at(1)), None);
    assert!(store.take(&key("a.example"), at(1)).is_some());
    assert!(store.take(&key("c.example"), at(1)).is_some());
}

#[test]
fn no_session_is_stored_without_capacity() {
    for (servers, sessions_each) in [(0, 4), (4, 0)] {
        let store = filled(ClientMemoryStore::new(servers, sessions_each), &["a.example"]);
        assert_eq!(store.take(&key("a.example"), at(1)), None);
    }
}

#[test]
fn a_session_too_long_to_be_saved_is_not_stored() {
    let store = ClientMemoryStore::default();
    store.put(&key("a.example"), vec![0; MAX_SESSION + 1], at(100));
    assert_eq!(store.take(&key("a.example"), at(1)), None);
}

fn varied() -> ClientMemoryStore {
    let store = filled(ClientMemoryStore::default(), &["a.example", "192.0.2.1", "2001:db8::1"]);
    let ported = ClientSessionKey::new("a.example".try_into().unwrap(), Some(443), [8; 32]);
    store.put(&ported, Vec::new(), at(u64::MAX));
    store.put(&ported, vec![1; 70_000], at(0));
    store
}

type Contents = Vec<(ClientSessionKey, Vec<(Vec<u8>, UnixTime)>)>;

fn contents(store: &ClientMemoryStore) -> Contents {
    let bytes = |kept: &StoreEntry<Encoding<ClientSession>>| {
        (kept.session.to_bytes().unwrap().to_vec(), kept.expires)
    };
    let sessions = |sessions: &Sessions| sessions.iter().map(bytes).collect();
    store.lock().iter().map(|(key, kept)| ((**key).clone(), sessions(kept))).collect()
}

#[test]
fn a_store_is_restored_from_its_bytes() {
    for store in [ClientMemoryStore::default(), varied()] {
        let bytes = store.to_bytes();
        let restored = ClientMemoryStore::from_bytes(&bytes, 256, 4).unwrap();
        assert_eq!(contents(&restored), contents(&store));
        assert_eq!(*restored.to_bytes(), *bytes);
    }
}

#[test]
fn saving_does_not_grow_the_buffer() {
    let store = varied();
    let reserved = store.to_bytes().capacity();
    // Two bytes are reserved for each port, and three sessions have none.
    assert_eq!(reserved, store.to_bytes().len() + 3 * 2);
}

#[test]
fn the_format_is_unchanged() {
    let store = ClientMemoryStore::default();
    let key = ClientSessionKey::new("a.b".try_into().unwrap(), Some(443), [7; 32]);
    store.put(&key, b"session".to_vec(), at(258));
    let mut expected = vec![0, 1, 3, b'a', b'.', b'b', 1, 1, 187];
    expected.extend([7; 32]);
    expected.extend([1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 7]);
    expected.extend(b"session");
    assert_eq!(*store.to_bytes(), expected);
}

/// A session as a handshake makes it.
fn session(lifetime: u32) -> ClientSession {
    let suite = suite::find(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256).unwrap();
    let mut session = Session::new(suite, 1, None);
    session.secret = Secret::new(&[5; 48]);
    session.lifetime = lifetime;
    ClientSession::new(Box::new(session))
}

#[test]
fn a_value_and_its_bytes_are_the_same_session() {
    let (a, bytes) = (key("a.example"), session(9).to_bytes().unwrap());
    let store = ClientMemoryStore::default();
    store.put_session(&a, session(9), at(100));
    store.put(&a, bytes.clone(), at(100));
    let saved = ClientMemoryStore::from_bytes(&store.to_bytes(), 9, 9).unwrap();
    for store in [store, saved] {
        assert_eq!(store.take_session(&a, at(1)).unwrap().to_bytes().unwrap(), bytes);
        assert_eq!(store.take(&a, at(1)).unwrap(), bytes);
        assert!(store.take_session(&a, at(1)).is_none());
        store.put_session(&a, session(8), at(100));
        store.put_session(&a, session(9), at(100));
        assert_eq!(store.take_session(&a, at(1)).unwrap().to_bytes().unwrap(), bytes);
        assert!(store.take_session(&a, at(100)).is_none(), "used when it had expired");
    }
    assert_eq!(format!("{:?}", session(9)), "ClientSession { .. }");
}

/// A store that implements only the methods for bytes.
struct BytesOnlyStore(ClientMemoryStore);

impl ClientSessionStore for BytesOnlyStore {
    fn put(&self, key: &ClientSessionKey, session: Vec<u8>, expires: UnixTime) {
        self.0.put(key, session, expires);
    }

    fn take(&self, key: &ClientSessionKey, now: UnixTime) -> Option<Vec<u8>> {
        self.0.take(key, now)
    }
}

#[test]
fn a_store_without_the_methods_for_values_gets_bytes() {
    let (a, bytes) = (key("a.example"), session(9).to_bytes().unwrap());
    let store = BytesOnlyStore(ClientMemoryStore::default());
    store.put_session(&a, session(9), at(100));
    assert_eq!(store.0.take(&a, at(1)), Some(bytes.clone()));
    store.put(&a, bytes.clone(), at(100));
    assert_eq!(store.take_session(&a, at(1)).unwrap().to_bytes(), Some(bytes.clone()));
    store.put(&a, bytes[1..].to_vec(), at(100));
    assert!(store.take_session(&a, at(1)).is_none(), "damaged");
}

#[test]
fn restoring_applies_the_new_limits() {
    let bytes = varied().to_bytes();
    let store = ClientMemoryStore::from_bytes(&bytes, 2, 1).unwrap();
    let kept = contents(&store);
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0].0, key("2001:db8::1"));
    assert_eq!(kept[1].1, [(vec![1; 70_000], at(0))]);
}

#[test]
fn unknown_versions_and_truncated_bytes_are_refused() {
    let store = filled(ClientMemoryStore::default(), &["a.example", "b.example"]);
    let bytes = store.to_bytes().to_vec();
    let restore = |bytes: &[u8]| ClientMemoryStore::from_bytes(bytes, 9, 9).map(|s| contents(&s));
    let whole = [2, 2 + (bytes.len() - 2) / 2, bytes.len()];
    for length in 0..=bytes.len() {
        let malformed = restore(&bytes[..length]) == Err(SavedSessionsError::Malformed);
        assert_eq!(malformed, !whole.contains(&length), "length {length}");
    }
    for version in [0, 2, 0x0101] {
        let mut other = bytes.clone();
        other[..2].copy_from_slice(&u16::to_be_bytes(version));
        assert_eq!(restore(&other), Err(SavedSessionsError::UnknownVersion(version)));
    }
    for (place, value) in [(3, b' '), (3, 0xff), (12, 2)] {
        let mut other = bytes.clone();
        other[place] = value;
        assert_eq!(restore(&other), Err(SavedSessionsError::Malformed), "byte {place}");
    }
}

#[test]
fn no_changed_bit_causes_a_panic() {
    let bytes = filled(ClientMemoryStore::default(), &["a.example"]).to_bytes().to_vec();
    for bit in 0..bytes.len() * 8 {
        let mut other = bytes.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        // Most damaged bytes are refused. Others are decoded to a store, which can be saved and
        // restored again.
        if let Ok(store) = ClientMemoryStore::from_bytes(&other, 9, 9) {
            let again = ClientMemoryStore::from_bytes(&store.to_bytes(), 9, 9).unwrap();
            assert_eq!(contents(&again), contents(&store), "bit {bit}");
        }
    }
}

#[test]
fn debug_shows_no_session() {
    let shown = format!("{:?}", varied());
    assert_eq!(shown, "ClientMemoryStore { sessions_each: 4, .. }");
}
