//! Rotation at its boundaries, forged tickets, forks, and concurrent rotation.

use std::collections::HashSet;
use std::sync::RwLock;

use super::*;

const START: u64 = 1_800_000_000;
const PERIOD: u64 = RotatingTickets::PERIOD as u64;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn after(seconds: u64) -> UnixTime {
    at(START + seconds)
}

fn tickets() -> RotatingTickets {
    RotatingTickets::new(after(0)).unwrap()
}

fn limited(limit: u64) -> RotatingTickets {
    RotatingTickets::with_limit(RotatingTickets::PERIOD, limit, 1, after(0)).unwrap()
}

fn name(ticket: &[u8]) -> &[u8] {
    &ticket[..NAME]
}

#[test]
fn a_ticket_returns_its_session() {
    let tickets = tickets();
    for length in [0, 1, 112, 5000] {
        let session = vec![5; length];
        let ticket = tickets.seal(&session, after(0)).unwrap();
        assert_eq!(ticket.len(), 16 + 12 + length + 16);
        assert_eq!(tickets.open(&ticket, after(0)).unwrap(), session);
    }
}

/// RFC 5077 4
#[test]
fn every_changed_bit_and_every_other_length_is_refused() {
    let tickets = tickets();
    let ticket = tickets.seal(b"a session", after(0)).unwrap();
    for bit in 0..ticket.len() * 8 {
        let mut forged = ticket.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(tickets.open(&forged, after(0)), None, "bit {bit}");
    }
    for length in 0..ticket.len() {
        assert_eq!(tickets.open(&ticket[..length], after(0)), None, "length {length}");
    }
    let mut longer = ticket.clone();
    longer.push(0);
    assert_eq!(tickets.open(&longer, after(0)), None);
    longer.resize(1 << 17, 0);
    assert_eq!(tickets.open(&longer, after(0)), None);
    assert!(tickets.open(&ticket, after(0)).is_some());
}

#[test]
fn seals_since_returns_when_the_current_key_was_generated() {
    let tickets = tickets();
    assert_eq!(tickets.seals_since(), after(0));
    tickets.seal(b"s", after(PERIOD - 1)).unwrap();
    assert_eq!(tickets.seals_since(), after(0));
    tickets.seal(b"s", after(PERIOD + 5)).unwrap();
    assert_eq!(tickets.seals_since(), after(PERIOD + 5));
}

#[test]
fn a_ticket_of_another_server_is_refused() {
    let ticket = tickets().seal(b"a session", after(0)).unwrap();
    assert_eq!(tickets().open(&ticket, after(0)), None);
}

#[test]
fn a_key_seals_for_one_period_and_opens_for_one_more() {
    let tickets = tickets();
    let first = tickets.seal(b"1", after(0)).unwrap();
    let last = tickets.seal(b"2", after(PERIOD - 1)).unwrap();
    assert_eq!(name(&first), name(&last));

    let second = tickets.seal(b"3", after(PERIOD)).unwrap();
    assert_ne!(name(&first), name(&second));
    for ticket in [&first, &last, &second] {
        assert!(tickets.open(ticket, after(2 * PERIOD - 1)).is_some());
    }
    for old in [&first, &last] {
        assert_eq!(tickets.open(old, after(2 * PERIOD)), None);
    }
    assert!(tickets.open(&second, after(2 * PERIOD)).is_some());
}

#[test]
fn every_ticket_is_accepted_for_its_lifetime() {
    let tickets = tickets();
    let lifetime = tickets.lifetime().as_secs();
    for sealed in (0..5 * PERIOD).step_by(997) {
        let ticket = tickets.seal(b"s", after(sealed)).unwrap();
        let late = after(sealed + lifetime - 1);
        assert!(tickets.open(&ticket, late).is_some(), "sealed after {sealed} s");
    }
}

#[test]
fn opening_alone_removes_old_keys() {
    let tickets = tickets();
    let ticket = tickets.seal(b"s", after(0)).unwrap();
    assert!(tickets.open(&ticket, after(PERIOD)).is_some());
    assert_eq!(tickets.keys.load().older.len(), 1);
    assert_eq!(tickets.open(&ticket, after(3 * PERIOD)), None);
    assert!(tickets.keys.load().newest_first().all(|key| key.name != *name(&ticket)));
}

#[test]
fn a_key_from_the_future_is_replaced_when_the_clock_is_set_back() {
    let tickets = RotatingTickets::new(after(100 * PERIOD)).unwrap();
    let wrong = tickets.seal(b"s", after(100 * PERIOD)).unwrap();
    let right = tickets.seal(b"s", after(0)).unwrap();
    assert_ne!(name(&wrong), name(&right));
    assert_eq!(tickets.open(&wrong, after(0)), None);
    for (ahead, replaced) in [(2 * PERIOD, true), (2 * PERIOD - 1, false)] {
        let tickets = RotatingTickets::new(after(ahead)).unwrap();
        let first = tickets.keys.load().current.name;
        let ticket = tickets.seal(b"s", after(0)).unwrap();
        assert_eq!(*name(&ticket) != first, replaced, "{ahead} s ahead");
    }
    // A clock that goes back a little, which is common, does not replace the key.
    let ticket = tickets.seal(b"s", at(START - 60)).unwrap();
    assert_eq!(name(&ticket), name(&right));
}

#[test]
fn periods_are_limited() {
    let lifetime = |seconds| {
        let period = Duration::from_secs(seconds);
        RotatingTickets::with_period(period, after(0)).unwrap().lifetime().as_secs()
    };
    assert_eq!(lifetime(0), 60);
    assert_eq!(lifetime(3600), 3600);
    assert_eq!(lifetime(u64::MAX), 604_800);
}

#[test]
fn no_time_overflows() {
    let tickets = tickets();
    for seconds in [0, u64::MAX] {
        let ticket = tickets.seal(b"s", at(seconds)).unwrap();
        assert!(tickets.open(&ticket, at(seconds)).is_some());
    }
}

#[test]
fn an_exhausted_key_is_replaced_and_its_tickets_still_open() {
    let tickets = limited(2);
    let sealed: Vec<_> = (0..6).map(|_| tickets.seal_in(1, b"s", after(0)).unwrap()).collect();
    let names: HashSet<_> = sealed.iter().map(|ticket| name(ticket)).collect();
    assert_eq!(names.len(), 3);
    assert!(sealed.iter().all(|ticket| tickets.open(ticket, after(0)).is_some()));
}

#[test]
fn the_number_of_older_keys_is_limited() {
    let tickets = limited(1);
    for _ in 0..20 {
        tickets.seal_in(1, b"s", after(0)).unwrap();
    }
    assert_eq!(tickets.keys.load().older.len(), MAX_OLDER);
}

#[test]
fn a_forked_process_seals_under_a_key_of_its_own() {
    let tickets = limited(100);
    let parent = tickets.seal_in(1, b"s", after(0)).unwrap();
    let child = tickets.seal_in(2, b"s", after(0)).unwrap();
    assert_ne!(name(&parent), name(&child));
    assert_eq!(name(&child), name(&tickets.seal_in(2, b"s", after(0)).unwrap()));
    assert!(tickets.open(&parent, after(0)).is_some());
}

#[test]
fn a_session_too_long_for_a_ticket_causes_no_rotation() {
    let tickets = tickets();
    let before = tickets.seal(b"s", after(0)).unwrap();
    assert_eq!(tickets.seal(&vec![0; 0x10000], after(PERIOD)), None);
    assert_eq!(*name(&before), tickets.keys.load().current.name);
}

#[test]
fn debug_shows_no_key() {
    assert_eq!(format!("{:?}", tickets()), "RotatingTickets { period: 21600, .. }");
}

/// A thread may be suspended between reading the clock and sealing a ticket.
#[test]
fn a_thread_whose_time_is_far_behind_invalidates_no_ticket() {
    let tickets = tickets();
    let ticket = tickets.seal(b"s", after(10 * PERIOD)).unwrap();
    let behind = tickets.seal(b"s", after(PERIOD)).unwrap();
    assert!(tickets.open(&behind, after(PERIOD)).is_some());
    for late in [0, 1, PERIOD - 1] {
        assert!(tickets.open(&ticket, after(10 * PERIOD + late)).is_some(), "{late} s later");
        assert!(tickets.seal(b"s", after(10 * PERIOD + late)).is_some());
    }
}

/// Runs `work` on this many threads.
fn on_threads(count: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(&work);
        }
    });
}

#[test]
fn sealing_and_opening_change_the_keys_once_per_rotation() {
    let tickets = tickets();
    let use_them = |now| {
        on_threads(8, || {
            for _ in 0..200 {
                let ticket = tickets.seal(b"s", now).unwrap();
                assert!(tickets.open(&ticket, now).is_some());
            }
        });
    };
    use_them(after(0));
    assert_eq!(tickets.keys.changes(), (0, 0));
    for rotation in 1..=20 {
        let (tried, _) = tickets.keys.changes();
        let now = after(u64::try_from(rotation).unwrap() * PERIOD);
        use_them(now);
        let (tried, made) = (tickets.keys.changes().0 - tried, tickets.keys.changes().1);
        assert_eq!(made, rotation, "changes after {rotation} rotations");
        assert!((1..=8).contains(&tried), "more than one attempt per thread: {tried}");
        let before = tickets.keys.changes();
        use_them(now);
        assert_eq!(tickets.keys.changes(), before, "a change without a rotation");
    }
}

/// With a lock, a suspended reader would block the next rotation, which would block all other
/// readers.
#[test]
fn suspended_readers_do_not_block_rotations() {
    let tickets = tickets();
    // The number of readers exceeds the number of slots that `arc-swap` has for each thread.
    let held: Vec<_> = (0..100).map(|_| tickets.keys.load()).collect();
    let name = held[0].current.name;
    for rotation in 1..=20 {
        on_threads(4, || {
            let now = after(rotation * PERIOD);
            let ticket = tickets.seal(b"s", now).unwrap();
            assert!(tickets.open(&ticket, now).is_some());
        });
    }
    assert_eq!(tickets.keys.changes().1, 20);
    assert!(held.iter().all(|keys| keys.current.name == name));
}

/// Threads seal and open while the keys rotate a hundred times: tickets within their lifetime open,
/// and each period has exactly one key.
#[test]
fn no_ticket_is_lost_at_concurrent_rotations() {
    const STEPS: u64 = 200;
    const STEP: u64 = PERIOD / 2;
    let tickets = tickets();
    // The lock is part of the test only. It keeps the time from changing while a thread is
    // suspended.
    let clock = RwLock::new(0);
    let work = || {
        let mut names = HashSet::new();
        let mut held: Option<(u64, Vec<u8>)> = None;
        loop {
            let now = clock.read().unwrap();
            if let Some((sealed, ticket)) = held {
                let opened = tickets.open(&ticket, after(*now)).is_some();
                assert!(opened || *now >= sealed + PERIOD, "a ticket was lost");
            }
            let ticket = tickets.seal(b"s", after(*now)).unwrap();
            names.insert(name(&ticket).to_vec());
            held = Some((*now, ticket));
            if *now >= STEPS * STEP {
                return names;
            }
        }
    };
    let mut names = HashSet::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for step in 1..=STEPS {
            std::thread::sleep(Duration::from_micros(200));
            *clock.write().unwrap() = step * STEP;
            // A ticket is also sealed here at every step, so each period has a key.
            let ticket = tickets.seal(b"s", after(step * STEP)).unwrap();
            names.insert(name(&ticket).to_vec());
        }
        threads.into_iter().for_each(|thread| names.extend(thread.join().unwrap()));
    });
    let periods = usize::try_from(STEPS * STEP / PERIOD).unwrap();
    // The first period's key may have sealed no ticket.
    assert!((periods..=periods + 1).contains(&names.len()), "{} keys", names.len());
}
