//! The ends of connections: closed, truncated, failed or aborted.
//!
//! The tests check what each side may still send, and what the other side receives.

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    Error, Opened, Side,
    error::{InternalError, PeerError},
};

use crate::fixtures::{NAME, client, connect, server};
use crate::pair::{Delivery, End, Pair};

const TLS12: ProtocolVersion = ProtocolVersion::TLS1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS1_3;
const BOTH_VERSIONS: [ProtocolVersion; 2] = [TLS13, TLS12];
const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];

#[test]
fn close_notify_ends_reading() {
    for version in BOTH_VERSIONS {
        for side in BOTH_SIDES {
            let mut ends = connect(version);
            let (from, to) = ends.both(side);
            let mut wire = Vec::new();
            from.connection.sender.seal_to(b"last data", &mut wire).unwrap();
            from.connection.sender.close(&mut wire).unwrap();
            let length = wire.len();
            from.connection.sender.close(&mut wire).unwrap();
            assert_eq!(wire.len(), length, "a second close sends nothing");
            let refused = from.connection.sender.seal_to(b"more", &mut wire);
            assert_eq!(refused, Err(InternalError::Closed.into()));
            let refused = from.connection.sender.seal(b"more", &mut [0; 100]);
            assert_eq!(refused, Err(InternalError::Closed.into()));

            assert_eq!(to.read(&wire, Delivery::Whole).unwrap(), b"last data");
            assert_eq!(to.connection.receiver.open(&mut to.received), Ok(Opened::Closed));
            assert_eq!(to.connection.receiver.end_of_input(), Ok(()));
            let mut answer = Vec::new();
            if version == TLS13 {
                // Only one direction has ended. RFC 9846 6.1
                to.connection.sender.seal_to(b"answer", &mut answer).unwrap();
                assert_eq!(from.read(&answer, Delivery::Whole).unwrap(), b"answer");
            } else {
                // The peer must answer with a close_notify. RFC 5246 7.2.1
                to.connection.sender.control(&mut answer).unwrap();
                from.read(&answer, Delivery::Whole).unwrap();
                assert_eq!(from.connection.receiver.open(&mut from.received), Ok(Opened::Closed));
                assert!(to.connection.sender.seal_to(b"answer", &mut answer).is_err());
                assert!(to.connection.sender.seal(b"answer", &mut [0; 100]).is_err());
            }
        }
    }
}

#[test]
fn an_end_without_close_notify_is_a_truncation() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        ends.client.connection.sender.seal_to(b"cut short", &mut wire).unwrap();
        wire.pop();
        let end = &mut ends.server;
        assert_eq!(end.read(&wire, Delivery::Whole).unwrap(), b"");
        assert_eq!(end.connection.receiver.end_of_input(), Err(Error::Truncated));
        assert_eq!(end.connection.receiver.open(&mut end.received), Err(Error::Truncated));

        let tolerant = server().tolerate_truncation(true).build().unwrap();
        let client = client().versions(&[version]).build().unwrap();
        let mut ends = Pair::new(&client, &tolerant, NAME).connect().unwrap();
        let end = &mut ends.server;
        assert_eq!(end.connection.receiver.end_of_input(), Ok(()));
        assert_eq!(end.connection.receiver.open(&mut end.received), Ok(Opened::Closed));
    }
}

#[test]
fn a_record_that_does_not_open_ends_the_connection_with_an_alert() {
    for version in BOTH_VERSIONS {
        for side in BOTH_SIDES {
            let mut ends = connect(version);
            let (from, to) = ends.both(side);
            let mut wire = Vec::new();
            from.connection.sender.seal_to(b"data", &mut wire).unwrap();
            *wire.last_mut().unwrap() ^= 1;
            let failed = Error::from(PeerError::BadRecordMac);
            assert_eq!(to.read(&wire, Delivery::Whole), Err(failed));
            assert_eq!(to.connection.receiver.open(&mut to.received), Err(failed));
            let mut answer = Vec::new();
            to.connection.sender.control(&mut answer).unwrap();
            let reported = Error::AlertReceived(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(from.read(&answer, Delivery::Whole), Err(reported));
            let refused = to.connection.sender.seal_to(b"more", &mut answer);
            assert_eq!(refused, Err(InternalError::Failed.into()));
        }
    }
}

/// A non-error alert is sent as a warning before a close_notify. RFC 5246 7.2, RFC 9846 6.1
#[test]
fn a_non_error_alert_is_a_warning_before_close_notify() {
    for version in BOTH_VERSIONS {
        for alert in [
            AlertDescription::CLOSE_NOTIFY,
            AlertDescription::USER_CANCELED,
            AlertDescription::NO_RENEGOTIATION,
        ] {
            if version == TLS13 && alert == AlertDescription::NO_RENEGOTIATION {
                // TLS 1.3 does not have this alert.
                continue;
            }
            let mut ends = connect(version);
            let mut wire = Vec::new();
            ends.server.connection.sender.abort(alert, &mut wire).unwrap();
            assert!(ends.server.connection.sender.seal(b"more", &mut [0; 100]).is_err());
            assert_eq!(ends.client.read(&wire, Delivery::Whole), Ok(Vec::new()), "{alert:?}");
            let End { connection, received } = &mut ends.client;
            assert_eq!(connection.receiver.open(received), Ok(Opened::Closed), "{alert:?}");
        }
    }
}

#[test]
fn the_application_chooses_the_alert() {
    for version in BOTH_VERSIONS {
        let mut ends = connect(version);
        let mut wire = Vec::new();
        ends.server.connection.sender.abort(AlertDescription::INTERNAL_ERROR, &mut wire).unwrap();
        let refused = ends.server.connection.sender.seal(b"more", &mut [0; 100]);
        assert_eq!(refused, Err(InternalError::Closed.into()));
        let reported = Error::AlertReceived(AlertDescription::INTERNAL_ERROR);
        assert_eq!(ends.client.read(&wire, Delivery::Whole), Err(reported));
        // A fatal alert is not answered. RFC 9846 6.2
        wire.clear();
        ends.client.connection.sender.control(&mut wire).unwrap();
        assert!(wire.is_empty());
    }
}
