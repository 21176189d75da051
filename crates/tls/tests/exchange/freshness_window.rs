//! Freshness windows of other sizes: which early data is accepted, and for how long a new replay
//! guard rejects all early data. RFC 9846 8.3

use std::sync::Arc;
use std::time::Duration;

use tercel::{
    Policy,
    clock::Clock,
    error::ConfigError,
    pki_types::UnixTime,
    session::{AdmitEarlyData, ReplayGuard, ReplayGuardId},
};

use crate::fixtures::server;
use crate::replay::{Fleet, Outcome, Storage, guard, replay, visit};

const WINDOW: u32 = 5;

const BY_TICKET: [Storage; 2] = [Storage::OwnKeys, Storage::SharedKeys];

/// A guard that claims to know what others of its kind have admitted.
struct OldGuard(ReplayGuard);

impl AdmitEarlyData for OldGuard {
    fn admit_early_data(&self, unique: &[u8], now: UnixTime) -> bool {
        self.0.admit_early_data(unique, now)
    }

    fn id(&self) -> Option<ReplayGuardId> {
        Some([1; 16])
    }
}

impl Fleet {
    /// A server with this window and a new guard.
    fn with_new_guard(&self, window: u32) -> Arc<tercel::ServerConfig> {
        let guard = ReplayGuard::for_freshness_window(1000, self.clock.now(), seconds(window));
        (self.build)(Arc::new(guard), window)
    }

    /// A server with this window and a guard that has been running for a long time.
    fn with_old_guard(&self, window: u32) -> Arc<tercel::ServerConfig> {
        (self.build)(Arc::new(OldGuard(guard(self.clock.now()))), window)
    }
}

#[test]
fn the_blind_time_of_a_guard_depends_on_its_window() {
    for storage in BY_TICKET {
        let fleet = Fleet::guarded(storage);
        let old = fleet.with_old_guard(WINDOW);
        visit(&fleet.client, &old, b"");
        let (outcome, flight) = visit(&fleet.client, &old, b"pay once");
        assert_eq!(outcome, Outcome::read(b"pay once"), "{storage:?}");
        let restarted = fleet.with_new_guard(WINDOW);
        let blind = ReplayGuard::freshness_period(seconds(WINDOW));
        assert_eq!(blind, Duration::from_secs(11));
        for passed in 0..=2 * blind.as_secs() {
            let (replayed, ..) = replay(&restarted, &flight);
            assert_eq!(replayed.read, b"", "{storage:?}: after {passed} s");
            let (outcome, _) = visit(&fleet.client, &restarted, b"another");
            assert!(outcome.resumed);
            let is_read = passed > blind.as_secs();
            assert_eq!(!outcome.read.is_empty(), is_read, "{storage:?}: after {passed} s");
            fleet.clock.advance_by(1);
        }
    }
}

#[test]
fn flights_outside_the_window_are_refused_and_others_remembered() {
    let fleet = Fleet::guarded(Storage::SharedKeys);
    let (one, other) = (fleet.with_old_guard(WINDOW), fleet.with_old_guard(WINDOW));
    visit(&fleet.client, &one, b"");
    let (_, flight) = visit(&fleet.client, &one, b"pay once");
    // The other guard has no record of the flight. The flight is refused because of its age.
    fleet.clock.advance_by(u64::from(WINDOW) + 1);
    assert_eq!(replay(&other, &flight).0.read, b"");
    fleet.clock.set_back(1);
    assert_eq!(replay(&other, &flight).0, Outcome::read(b"pay once"));
    for _ in 0..4 * WINDOW {
        assert_eq!(replay(&other, &flight).0.read, b"");
        fleet.clock.advance_by(1);
    }
}

/// A guard that was just started refuses early data for the time of its own window only, but a
/// flight that was accepted under a larger window stays fresh for longer. So every server accepts
/// early data of a ticket only if its window is the window of the ticket.
#[test]
fn a_flight_accepted_under_one_window_is_rejected_under_another() {
    for storage in BY_TICKET {
        for (before, after) in [(60, WINDOW), (WINDOW, 60), (WINDOW, 2 * WINDOW)] {
            let fleet = Fleet::guarded(storage);
            let old = fleet.with_old_guard(before);
            visit(&fleet.client, &old, b"");
            let (outcome, flight) = visit(&fleet.client, &old, b"pay once");
            let new = fleet.with_old_guard(after);
            for passed in 0..150 {
                assert_eq!(replay(&new, &flight).0, Outcome::default(), "{before} s, {passed} s");
                fleet.clock.advance_by(1);
            }
            assert_eq!(outcome, Outcome::read(b"pay once"), "{storage:?}");
            // The client's early data is accepted again with a ticket of the new server.
            visit(&fleet.client, &new, b"");
            assert_eq!(visit(&fleet.client, &new, b"pay again").0, Outcome::read(b"pay again"));
        }
    }
}

/// Without early data the window does not matter, and a server with any window resumes the session.
#[test]
fn a_window_without_early_data_does_not_prevent_resumption() {
    let tickets = Arc::new(
        tercel::session::RotatingTickets::new(tercel::pki_types::UnixTime::now()).unwrap(),
    );
    let with = |window| {
        server().tickets(tickets.clone()).freshness_window(seconds(window)).build().unwrap()
    };
    let client = crate::fixtures::client()
        .versions(&[tercel::wire::ProtocolVersion::TLS1_3])
        .build()
        .unwrap();
    visit(&client, &with(60), b"");
    assert!(visit(&client, &with(WINDOW), b"").0.resumed);
}

#[test]
fn windows_that_a_guard_does_not_cover_are_refused() {
    struct Narrow;
    impl AdmitEarlyData for Narrow {
        fn admit_early_data(&self, _: &[u8], _: tercel::pki_types::UnixTime) -> bool {
            true
        }
        fn freshness_window(&self) -> Duration {
            seconds(WINDOW)
        }
    }
    let build = |window| {
        let guard = Policy::Here(Arc::new(Narrow) as Arc<dyn AdmitEarlyData>);
        server().early_data(1, guard).freshness_window(seconds(window)).build().map(drop)
    };
    for window in [0, 1, 61, u32::MAX] {
        assert_eq!(build(window), Err(ConfigError::BadFreshnessWindow), "{window}");
    }
    assert_eq!(build(WINDOW + 1), Err(ConfigError::ReplayGuardTooShort));
    assert!(build(2).is_ok() && build(WINDOW).is_ok());
    // With `Policy::Ask` the application checks the window, which the question contains.
    assert!(server().early_data(1, Policy::Ask).freshness_window(seconds(60)).build().is_ok());
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(count.into())
}
