//! Loom models of threads that seal tickets while keys rotate: `just loom`.

use loom::thread;

use super::*;
use crate::resumption::tickets::sealing::NONCE;

fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

const PROCESS: u32 = 1;

fn tickets(limit: u64) -> Arc<RotatingTickets> {
    let tickets = RotatingTickets::with_limit(RotatingTickets::PERIOD, limit, PROCESS, at(0));
    Arc::new(tickets.unwrap())
}

/// Seals one ticket in each of two threads at once.
fn seal_concurrently(tickets: &Arc<RotatingTickets>, now: UnixTime) -> [Vec<u8>; 2] {
    let other = thread::spawn({
        let tickets = Arc::clone(tickets);
        move || tickets.seal_in(PROCESS, b"theirs", now).unwrap()
    });
    let ours = tickets.seal_in(PROCESS, b"ours", now).unwrap();
    [ours, other.join().unwrap()]
}

fn assert_open(tickets: &RotatingTickets, [ours, theirs]: &[Vec<u8>; 2], now: UnixTime) {
    let name_and_nonce = |ticket: &[u8]| ticket[..NAME + NONCE].to_vec();
    assert_ne!(name_and_nonce(ours), name_and_nonce(theirs), "a nonce twice under one key");
    assert_eq!(tickets.open(ours, now).unwrap(), b"ours");
    assert_eq!(tickets.open(theirs, now).unwrap(), b"theirs");
}

#[test]
fn threads_replace_a_due_key_once() {
    loom::model(|| {
        let tickets = tickets(sealing::MAX_SEALS);
        let before = tickets.seal_in(PROCESS, b"before", at(0)).unwrap();
        let now = at(u64::from(RotatingTickets::PERIOD));
        let sealed = seal_concurrently(&tickets, now);
        assert_open(&tickets, &sealed, now);
        assert_eq!(sealed[0][..NAME], sealed[1][..NAME]);
        assert_ne!(sealed[0][..NAME], before[..NAME]);
        assert_eq!(tickets.open(&before, now).unwrap(), b"before");
        let (_, made) = tickets.keys.changes();
        assert_eq!(made, 1);
    });
}

#[test]
fn threads_that_use_the_last_nonces_never_share_one() {
    // The key has one nonce left, or none.
    for sealed_before in [0, 1] {
        loom::model(move || {
            let tickets = tickets(1);
            for _ in 0..sealed_before {
                tickets.seal_in(PROCESS, b"before", at(0)).unwrap();
            }
            let sealed = seal_concurrently(&tickets, at(0));
            assert_open(&tickets, &sealed, at(0));
        });
    }
}
