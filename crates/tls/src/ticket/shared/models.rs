//! A thread that seals for the first time while another sets new keys, in every interleaving: `just loom`.

use loom::thread;

use super::*;

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

/// It draws its subkey of the old keys, and must not bring those back with it.
#[test]
fn keys_that_were_replaced_do_not_come_back() {
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

/// Whoever comes second seals under the subkey of whoever came first, or tickets would be of as many subkeys as threads.
#[test]
fn of_two_who_draw_a_subkey_one_is_followed() {
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
