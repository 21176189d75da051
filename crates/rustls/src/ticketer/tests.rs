//! Keys rotate by time and by number, and refuse what they did not make.

use super::*;

const NOW: u64 = 1_800_000_000;
const HALF: u64 = PERIOD as u64 / 2;

fn tickets() -> Tickets {
    Tickets::new(NOW, MAX_SEALS).unwrap()
}

fn name(ticket: &[u8]) -> [u8; NAME] {
    *ticket.first_chunk().unwrap()
}

#[test]
fn a_ticket_is_opened_for_one_to_two_periods() {
    let tickets = tickets();
    let ticket = tickets.seal(b"session", NOW).unwrap();
    assert_eq!(tickets.open(&ticket, NOW).unwrap(), b"session");
    let last = tickets.seal(b"last", NOW + 2 * HALF - 1).unwrap();
    assert_eq!(name(&last), name(&ticket));
    let next = tickets.seal(b"next", NOW + 2 * HALF).unwrap();
    assert_ne!(name(&next), name(&ticket));
    for (ticket, session) in [(&ticket, &b"session"[..]), (&last, b"last"), (&next, b"next")] {
        assert_eq!(tickets.open(ticket, NOW + 4 * HALF - 1).unwrap(), session);
    }
    // Opening rotates, too.
    assert_eq!(tickets.open(&ticket, NOW + 4 * HALF), None);
    assert_eq!(tickets.open(&last, NOW + 4 * HALF), None);
    assert_eq!(tickets.open(&next, NOW + 4 * HALF).unwrap(), b"next");
    assert_eq!(tickets.open(&next, NOW + 6 * HALF), None);
}

#[test]
fn after_a_long_pause_no_old_ticket_is_opened() {
    let tickets = tickets();
    let ticket = tickets.seal(b"session", NOW).unwrap();
    assert_eq!(tickets.open(&ticket, NOW + 4 * HALF), None);
    assert!(tickets.keys.load().previous.is_none());
}

/// A rotation shortly before the end of a key's life does not prolong it.
#[test]
fn a_late_rotation_prolongs_nothing() {
    let tickets = tickets();
    let ticket = tickets.seal(b"session", NOW).unwrap();
    assert_eq!(tickets.open(&ticket, NOW + 4 * HALF - 1).unwrap(), b"session");
    assert!(tickets.keys.load().previous.is_some());
    assert_eq!(tickets.open(&ticket, NOW + 4 * HALF), None);
}

#[test]
fn a_clock_set_back_by_more_than_a_period_rotates() {
    let tickets = tickets();
    let ticket = tickets.seal(b"session", NOW).unwrap();
    assert_eq!(tickets.open(&ticket, NOW - HALF).unwrap(), b"session");
    assert_ne!(name(&tickets.seal(b"session", NOW - 2 * HALF).unwrap()), name(&ticket));
}

#[test]
fn a_key_that_made_its_last_ticket_is_replaced() {
    let tickets = Tickets::new(NOW, 2).unwrap();
    let made: Vec<_> = (0..5).map(|_| tickets.seal(b"session", NOW).unwrap()).collect();
    let names: Vec<_> = made.iter().map(|ticket| name(ticket)).collect();
    assert_eq!(names[0], names[1]);
    assert_eq!(names[2], names[3]);
    assert!(names[1] != names[2] && names[3] != names[4]);
    // The key before the previous one is gone.
    let opened: Vec<_> = made.iter().map(|ticket| tickets.open(ticket, NOW).is_some()).collect();
    assert_eq!(opened, [false, false, true, true, true]);
    assert_eq!(Tickets::new(NOW, 0).unwrap().seal(b"session", NOW), None);
}

#[test]
fn threads_that_rotate_at_once_use_the_same_keys() {
    let tickets = tickets();
    let ticket = tickets.seal(b"session", NOW).unwrap();
    let names: Vec<_> = std::thread::scope(|scope| {
        let seal = || name(&tickets.seal(b"session", NOW + 2 * HALF).unwrap());
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(seal)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(names.iter().all(|one| *one == names[0]));
    assert_eq!(tickets.open(&ticket, NOW + 2 * HALF).unwrap(), b"session");
}

#[test]
fn nonces_differ() {
    let tickets = tickets();
    let nonce = |_| tickets.seal(b"session", NOW).unwrap()[NAME..NAME + NONCE].to_vec();
    let nonces: std::collections::HashSet<_> = (0..100).map(nonce).collect();
    assert_eq!(nonces.len(), 100);
}

/// Each changed, cut or foreign ticket is refused. RFC 9846 4.7.1
#[test]
fn what_was_not_made_here_is_refused() {
    let tickets = tickets();
    let ticket = tickets.seal(b"session", NOW).unwrap();
    assert_eq!(ticket.len(), NAME + NONCE + 7 + TAG);
    for at in 0..ticket.len() {
        let mut changed = ticket.clone();
        changed[at] ^= 1;
        assert_eq!(tickets.open(&changed, NOW), None, "byte {at}");
        assert_eq!(tickets.open(&ticket[..at], NOW), None, "length {at}");
    }
    assert_eq!(super::Tickets::new(NOW, 1).unwrap().open(&ticket, NOW), None);
    let longest = vec![1; 0xffff - NAME - NONCE - TAG];
    assert_eq!(tickets.seal(&longest, NOW).unwrap().len(), 0xffff);
    assert_eq!(tickets.seal(&[&longest[..], &[1]].concat(), NOW), None);
}

#[test]
fn the_interface_has_the_times_of_the_keys() {
    let tickets = Ticketer::new().unwrap();
    assert!(tickets.enabled());
    assert_eq!(tickets.lifetime(), 12 * 60 * 60);
    let ticket = tickets.encrypt(b"session").unwrap();
    assert_eq!(tickets.decrypt(&ticket).unwrap(), b"session");
    assert_eq!(format!("{tickets:?}"), "Tickets(..)");
}
