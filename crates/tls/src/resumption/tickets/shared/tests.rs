//! Processes that share keys: validity of tickets, forged tickets, forks, exhausted subkeys, new
//! keys under load.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::thread::ScopedJoinHandle;

use super::*;
use crate::resumption::tickets::sealing::NONCE;

const LIFETIME: u64 = 1000;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

/// A key whose `not_before` is `number` times [`LIFETIME`].
fn key(number: u8) -> TicketKey {
    TicketKey::new([number; NAME], &[number; 32], at(u64::from(number) * LIFETIME))
}

fn set(current: u8) -> TicketKeySet {
    TicketKeySet::new(key(current), Some(key(current + 1)), Some(key(current - 1))).unwrap()
}

fn process_with(set: &TicketKeySet) -> SharedTickets {
    SharedTickets::new(set, Duration::from_secs(LIFETIME))
}

fn limited(limit: u64) -> SharedTickets {
    SharedTickets::with_limit(&set(2), Duration::from_secs(LIFETIME), limit)
}

fn id(ticket: &[u8]) -> &[u8] {
    &ticket[..ID]
}

const NOW: u64 = 2 * LIFETIME;

#[test]
fn each_process_opens_what_another_sealed() {
    let [a, b] = [0, 1].map(|_| process_with(&set(2)));
    let sealed = a.seal(b"a session", at(NOW)).unwrap();
    assert_eq!(sealed.len(), 16 + 16 + 12 + 9 + 16);
    for process in [&a, &b] {
        for _ in 0..2 {
            assert_eq!(process.open(&sealed, at(NOW)).unwrap(), b"a session");
        }
        assert_eq!(process.state.load().keys.opening.len(), 1);
    }
}

#[test]
fn seals_since_returns_not_before_of_the_sealing_key() {
    let tickets = process_with(&set(2));
    assert_eq!(tickets.seals_since(at(LIFETIME - 1)), None);
    assert_eq!(tickets.seals_since(at(NOW - 1)), Some(at(LIFETIME)));
    assert_eq!(tickets.seals_since(at(NOW + 7)), Some(at(NOW)));
    tickets.set_keys(&set(4));
    assert_eq!(tickets.seals_since(at(5 * LIFETIME)), Some(at(5 * LIFETIME)));
}

#[test]
fn no_two_processes_seal_under_the_same_subkey() {
    let sealed = [0, 1].map(|_| process_with(&set(2)).seal(b"s", at(NOW)).unwrap());
    assert_eq!(sealed[0][..NAME], sealed[1][..NAME]);
    assert_ne!(id(&sealed[0]), id(&sealed[1]));
}

#[test]
fn every_changed_bit_and_every_other_length_is_refused_and_caches_no_subkey() {
    let [a, b] = [0, 1].map(|_| process_with(&set(2)));
    let ticket = a.seal(b"a session", at(NOW)).unwrap();
    for round in 0..2 {
        for bit in 0..ticket.len() * 8 {
            let mut forged = ticket.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(b.open(&forged, at(NOW)), None, "bit {bit}");
        }
        for length in 0..ticket.len() {
            assert_eq!(b.open(&ticket[..length], at(NOW)), None, "length {length}");
        }
        let mut longer = ticket.clone();
        longer.push(0);
        assert_eq!(b.open(&longer, at(NOW)), None);
        // The subkey is computed in the first round, and cached in the second.
        assert_eq!(b.state.load().keys.opening.len(), round);
        assert!(b.open(&ticket, at(NOW)).is_some());
    }
}

#[test]
fn a_ticket_of_a_rotating_server_is_refused() {
    let own = crate::resumption::tickets::rotating::RotatingTickets::new(at(NOW)).unwrap();
    let ticket = own.seal(&[0; 64], at(NOW)).unwrap();
    assert_eq!(process_with(&set(2)).open(&ticket, at(NOW)), None);
}

#[test]
fn an_equal_name_with_another_secret_opens_nothing() {
    let ticket = process_with(&set(2)).seal(b"s", at(NOW)).unwrap();
    let other = TicketKey::new([2; NAME], &[9; 32], at(NOW));
    let other = process_with(&TicketKeySet::new(other, None, None).unwrap());
    assert_eq!(other.open(&ticket, at(NOW)), None);
}

#[test]
fn the_newest_key_whose_time_has_come_seals() {
    let process = process_with(&set(2));
    let name = |seconds| process.seal(b"s", at(seconds)).map(|ticket| ticket[0]);
    assert_eq!(name(LIFETIME - 1), None);
    assert_eq!(name(LIFETIME), Some(1));
    assert_eq!(name(2 * LIFETIME - 1), Some(1));
    assert_eq!(name(2 * LIFETIME), Some(2));
    assert_eq!(name(3 * LIFETIME - 1), Some(2));
    assert_eq!(name(3 * LIFETIME), Some(3));
}

#[test]
fn a_thread_whose_time_is_slightly_behind_uses_the_newer_key() {
    let process = process_with(&set(2));
    let first = process.seal(b"s", at(3 * LIFETIME)).unwrap();
    let behind = process.seal(b"s", at(3 * LIFETIME - 1)).unwrap();
    assert_eq!(id(&first), id(&behind));
    assert!(process.open(&behind, at(3 * LIFETIME - 1)).is_some());
}

#[test]
fn a_key_opens_for_one_lifetime_after_it_was_replaced() {
    let process = process_with(&set(2));
    let sealed = [1, 2, 3].map(|key| process.seal(b"s", at(key * LIFETIME)).unwrap());
    let opens =
        |seconds| [0, 1, 2].map(|key: usize| process.open(&sealed[key], at(seconds)).is_some());
    // A process with a fast clock may already have sealed under the next key.
    assert_eq!(opens(0), [true, true, true]);
    assert_eq!(opens(3 * LIFETIME - 1), [true, true, true]);
    assert_eq!(opens(3 * LIFETIME), [false, true, true]);
    assert_eq!(opens(4 * LIFETIME - 1), [false, true, true]);
    assert_eq!(opens(4 * LIFETIME), [false, false, true]);
    assert_eq!(opens(u64::MAX - 1), [false, false, true]);
}

#[test]
fn new_keys_are_used_at_once_and_removed_keys_do_not_open() {
    let process = process_with(&set(2));
    let old = process.seal(b"s", at(LIFETIME)).unwrap();
    let kept = process.seal(b"s", at(NOW)).unwrap();
    assert!(process.open(&old, at(NOW)).is_some());
    process.set_keys(&set(3));
    assert_eq!(process.state.load().keys.opening.len(), 0, "subkeys of old keys were not removed");
    assert_eq!(process.open(&old, at(NOW)), None);
    assert!(process.open(&kept, at(NOW)).is_some());
    assert_eq!(process.seal(b"s", at(4 * LIFETIME)).unwrap()[0], 4);
}

#[test]
fn a_forked_process_seals_under_a_salt_of_its_own() {
    let process = limited(100);
    let parent = process.seal_in(1, b"s", at(NOW)).unwrap();
    let child = process.seal_in(2, b"s", at(NOW)).unwrap();
    assert_ne!(id(&parent), id(&child));
    assert_eq!(id(&child), id(&process.seal_in(2, b"s", at(NOW)).unwrap()));
    assert!(process.open(&parent, at(NOW)).is_some() && process.open(&child, at(NOW)).is_some());
}

#[test]
fn an_exhausted_subkey_is_replaced() {
    let process = limited(2);
    let sealed: Vec<_> = (0..6).map(|_| process.seal_in(1, b"s", at(NOW)).unwrap()).collect();
    assert_eq!(sealed.iter().map(|ticket| id(ticket)).collect::<HashSet<_>>().len(), 3);
    assert!(sealed.iter().all(|ticket| process.open(ticket, at(NOW)).is_some()));
}

#[test]
fn invented_salts_neither_grow_nor_evict_the_cache() {
    let [a, b] = [0, 1].map(|_| process_with(&set(2)));
    let ticket = a.seal(b"s", at(NOW)).unwrap();
    assert!(b.open(&ticket, at(NOW)).is_some());
    for salt in 0..2 * MAX_CACHED_SUBKEYS {
        let mut hostile = ticket.clone();
        hostile[NAME..NAME + 8].copy_from_slice(&salt.to_be_bytes());
        assert_eq!(b.open(&hostile, at(NOW)), None);
    }
    let keys = &b.state.load().keys;
    assert_eq!(keys.opening.len(), 1);
    assert!(keys.opening.find(id(&ticket).try_into().unwrap()).is_some());
}

#[test]
fn a_session_too_long_for_a_ticket_is_refused() {
    let process = process_with(&set(2));
    let longest = 0xffff - ID - NONCE - AeadAlgorithm::TAG_LEN;
    assert!(process.seal(&vec![0; longest], at(NOW)).is_some());
    assert_eq!(process.seal(&vec![0; longest + 1], at(NOW)), None);
}

#[test]
fn lifetimes_are_at_most_seven_days() {
    let lifetime =
        |seconds| SharedTickets::new(&set(2), Duration::from_secs(seconds)).lifetime().as_secs();
    assert_eq!(lifetime(3600), 3600);
    assert_eq!(lifetime(u64::MAX), 604_800);
}

#[test]
fn debug_shows_no_key() {
    let shown = format!("{:?}", process_with(&set(2)));
    assert_eq!(shown, "SharedTickets { lifetime: 1000, .. }");
}

/// Counts the changes that threads make by sealing, and by opening tickets of another process.
#[test]
fn sealing_and_opening_change_the_state_once_for_new_keys() {
    let [a, b] = [0, 1].map(|_| process_with(&set(2)));
    for number in 2..=20 {
        let now = at(u64::from(number) * LIFETIME);
        let fleet = [&a, &b];
        fleet.iter().for_each(|process| process.set_keys(&set(number)));
        let use_them = || {
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let (own, other) = (fleet[thread % 2], fleet[1 - thread % 2]);
                    scope.spawn(move || {
                        for _ in 0..100 {
                            let ticket = own.seal(b"s", now).unwrap();
                            assert!(other.open(&ticket, now).is_some());
                        }
                    });
                }
            });
        };
        let changes = || fleet.map(|it| (it.state.changes(), it.state.load().keys.opening.len()));
        let before = changes();
        use_them();
        let after = changes();
        for (((tried, made), _), ((tries, makes), kept)) in before.into_iter().zip(after) {
            // The state changes once for the new salt, and once for the other process's subkey.
            assert_eq!((makes - made, kept), (1, 1));
            assert!((1..=8).contains(&(tries - tried)), "more than one attempt per thread");
        }
        let subkeys = || fleet.map(|it| it.state.load().keys.opening.changes());
        let (before, kept) = (changes(), subkeys());
        use_them();
        assert_eq!((changes(), subkeys()), (before, kept), "a change without new keys");
    }
}

#[test]
fn suspended_readers_do_not_block_new_keys() {
    let process = process_with(&set(2));
    let held: Vec<_> = (0..100).map(|_| process.state.load()).collect();
    for number in 3..=20 {
        let now = at(u64::from(number) * LIFETIME);
        std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                process.set_keys(&set(number));
                let ticket = process.seal(b"s", now).unwrap();
                process.open(&ticket, now).is_some()
            });
            assert!(work.join().unwrap());
        });
    }
    assert!(held.iter().all(|state| Arc::ptr_eq(state, &held[0])));
}

/// Threads of two processes seal and open tickets while both processes get new keys a hundred
/// times. Each ticket is sealed, and can be opened while its key is in both sets.
#[test]
fn no_ticket_is_lost_while_keys_are_set() {
    const LAST: u8 = 102;
    let fleet = [0, 1].map(|_| process_with(&set(2)));
    let current = AtomicU8::new(2);
    let opened = AtomicU32::new(0);
    let work = |own: usize| {
        loop {
            // Both processes have the keys up to `before`; one process may already have the next.
            let before = current.load(Ordering::SeqCst);
            let now = at(u64::from(before) * LIFETIME);
            let ticket = fleet[own].seal(b"s", now);
            let session = ticket.and_then(|ticket| fleet[1 - own].open(&ticket, now));
            opened.fetch_add(u32::from(session.is_some()), Ordering::SeqCst);
            let after = current.load(Ordering::SeqCst);
            assert!(session.is_some() || after > before, "a ticket was lost");
            if after == LAST {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || work(n % 2))).collect();
        for number in 3..=LAST {
            // The loop ends early only if a thread has panicked because it lost a ticket.
            let goal = opened.load(Ordering::SeqCst) + 20;
            while opened.load(Ordering::SeqCst) < goal
                && !threads.iter().any(ScopedJoinHandle::is_finished)
            {
                std::thread::yield_now();
            }
            fleet.iter().for_each(|process| process.set_keys(&set(number)));
            current.store(number, Ordering::SeqCst);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert!(opened.into_inner() >= 20 * 100);
}
