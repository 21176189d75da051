//! Loom models of a thread that seals its first ticket while another sets new keys: `just loom`.

use loom::thread;

use super::*;
use crate::resumption::tickets::sealing::NONCE;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn set(number: u8) -> TicketKeySet {
    let key = TicketKey::new([number; NAME], &[number; 32], at(u64::from(number)));
    TicketKeySet::new(key, None, None).unwrap()
}

fn tickets(number: u8) -> SharedTickets {
    SharedTickets::new(&set(number), Duration::from_secs(1000))
}

/// A thread that generates a subkey of the old keys must not restore those keys.
#[test]
fn replaced_keys_are_not_restored() {
    loom::model(|| {
        let [old, new] = [1, 2].map(tickets);
        let shared = Arc::new(tickets(1));
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.seal(b"meanwhile", at(10)).unwrap()
        });
        shared.set_keys(&set(2));
        let sealed = shared.seal(b"afterwards", at(10)).unwrap();
        assert_eq!(new.open(&sealed, at(10)).unwrap(), b"afterwards");
        let meanwhile = other.join().unwrap();
        let opened = [&old, &new].map(|each| each.open(&meanwhile, at(10)).is_some());
        assert_eq!(opened.into_iter().filter(|opened| *opened).count(), 1);
        assert_eq!(shared.seals_since(at(10)), Some(at(2)));
        assert_eq!(old.open(&shared.seal(b"later", at(10)).unwrap(), at(10)), None);
    });
}

/// The second thread must use the subkey of the first. Otherwise there could be one subkey per
/// thread.
#[test]
fn concurrent_first_tickets_use_one_subkey() {
    loom::model(|| {
        let shared = Arc::new(tickets(1));
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.seal(b"theirs", at(10)).unwrap()
        });
        let ours = shared.seal(b"ours", at(10)).unwrap();
        let theirs = other.join().unwrap();
        assert_eq!(ours[..ID], theirs[..ID]);
        assert_ne!(ours[..ID + NONCE], theirs[..ID + NONCE], "a nonce twice under one key");
        assert_eq!(shared.state.changes().1, 1);
    });
}
