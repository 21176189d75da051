//! Freshness windows of other widths: what is read late or early, and for how long a guard has to be blind. RFC 9846 8.3
//!
//! Must not know: how a guard remembers. Next: `replay.rs`, whose fleet this is.

use std::sync::Arc;
use std::time::Duration;

use tercel::{AdmitEarlyData, Clock, ConfigError, Policy, ReplayGuard};

use crate::identity::server;
use crate::replay::{Fleet, Kept, Outcome, guard, play, visit};

const WINDOW: u32 = 5;

const BY_TICKET: [Kept; 2] = [Kept::OwnKeys, Kept::SharedKeys];

impl Fleet {
    /// A server of this window, with a guard that begins now.
    fn begin(&self, window: u32) -> Arc<tercel::ServerConfig> {
        let guard = ReplayGuard::for_freshness_window(1000, self.dial.now(), window);
        (self.build)(Arc::new(guard), window)
    }

    /// The same with a guard that has been there for long.
    fn seeing(&self, window: u32) -> Arc<tercel::ServerConfig> {
        (self.build)(Arc::new(guard(self.dial.now())), window)
    }
}

#[test]
fn a_guard_is_blind_for_as_long_as_its_window_asks_for_and_no_longer() {
    for kept in BY_TICKET {
        let fleet = Fleet::guarded(kept);
        let old = fleet.seeing(WINDOW);
        visit(&fleet.client, &old, b"");
        let (outcome, flight) = visit(&fleet.client, &old, b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"), "{kept:?}");
        let restarted = fleet.begin(WINDOW);
        let blind = ReplayGuard::fresh_for(WINDOW);
        assert_eq!(blind, Duration::from_secs(11));
        for passed in 0..=2 * blind.as_secs() {
            let (replayed, ..) = play(&restarted, &flight);
            assert_eq!(replayed.read, b"", "{kept:?}: after {passed} s");
            let (outcome, _) = visit(&fleet.client, &restarted, b"another");
            assert!(outcome.resumed);
            let is_read = passed > blind.as_secs();
            assert_eq!(!outcome.read.is_empty(), is_read, "{kept:?}: after {passed} s");
            fleet.dial.turn(1);
        }
    }
}

#[test]
fn what_is_outside_the_window_is_refused_and_remembered_for_as_long_as_it_is_inside() {
    let fleet = Fleet::guarded(Kept::SharedKeys);
    let (one, other) = (fleet.seeing(WINDOW), fleet.seeing(WINDOW));
    visit(&fleet.client, &one, b"");
    let (_, flight) = visit(&fleet.client, &one, b"pay once");
    // Another guard has not seen it: what keeps it out is its age.
    fleet.dial.turn(u64::from(WINDOW) + 1);
    assert_eq!(play(&other, &flight).0.read, b"");
    fleet.dial.turn_back(1);
    assert_eq!(play(&other, &flight).0, Outcome::read(b"pay once"));
    for _ in 0..4 * WINDOW {
        assert_eq!(play(&other, &flight).0.read, b"");
        fleet.dial.turn(1);
    }
}

/// A guard's blind time is its own window's. What was admitted under a wider one stays fresh for longer, so a
/// ticket is for early data under one window only, whoever changes the window, on whichever server.
#[test]
fn a_flight_admitted_under_one_window_is_never_read_under_another() {
    for kept in BY_TICKET {
        for (before, after) in [(60, WINDOW), (WINDOW, 60), (WINDOW, 2 * WINDOW)] {
            let fleet = Fleet::guarded(kept);
            let old = fleet.seeing(before);
            visit(&fleet.client, &old, b"");
            let (outcome, flight) = visit(&fleet.client, &old, b"pay once");
            let new = fleet.seeing(after);
            for passed in 0..150 {
                assert_eq!(play(&new, &flight).0, Outcome::default(), "{before} s, {passed} s");
                fleet.dial.turn(1);
            }
            assert_eq!(outcome, Outcome::read(b"pay once"), "{kept:?}");
            // Its own early data is good again with a ticket of the new server's.
            visit(&fleet.client, &new, b"");
            assert_eq!(visit(&fleet.client, &new, b"pay again").0, Outcome::read(b"pay again"));
        }
    }
}

/// Without early data there is nothing to be fresh, and sessions are everybody's.
#[test]
fn a_window_without_early_data_keeps_nobody_from_resuming() {
    let tickets =
        Arc::new(tercel::RotatingTickets::new(tercel::pki_types::UnixTime::now()).unwrap());
    let with = |window| server().tickets(tickets.clone()).freshness_window(window).build().unwrap();
    let client = crate::identity::client()
        .versions(&[tercel::wire::ProtocolVersion::TLS1_3])
        .build()
        .unwrap();
    visit(&client, &with(60), b"");
    assert!(visit(&client, &with(WINDOW), b"").0.resumed);
}

#[test]
fn windows_that_no_guard_could_serve_are_refused() {
    struct Narrow;
    impl AdmitEarlyData for Narrow {
        fn admit_early_data(&self, _: &[u8], _: tercel::pki_types::UnixTime) -> bool {
            true
        }
        fn freshness_window(&self) -> u32 {
            WINDOW
        }
    }
    let build = |window| {
        let guard = Policy::Here(Arc::new(Narrow) as Arc<dyn AdmitEarlyData>);
        server().early_data(1, guard).freshness_window(window).build().map(drop)
    };
    for window in [0, 1, 61, u32::MAX] {
        assert_eq!(build(window), Err(ConfigError::BadFreshnessWindow), "{window}");
    }
    assert_eq!(build(WINDOW + 1), Err(ConfigError::ForgetfulGuard));
    assert!(build(2).is_ok() && build(WINDOW).is_ok());
    // A guard that is asked has to see to it: the question tells.
    assert!(server().early_data(1, Policy::Ask).freshness_window(60).build().is_ok());
}
