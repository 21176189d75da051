//! Events with the feature `tracing`. Those of handshakes have the level DEBUG, because a peer can
//! cause any number of them, and because the application gets every error and chooses its level.

use core::sync::atomic::{AtomicBool, Ordering};

use tercel_pki::{Refusal, ServerName};
use tercel_wire::AlertDescription;
use tracing::Level;

use crate::connection::info::{ConnectionInfo, EarlyData, EarlyDataRejection};
use crate::error::Error;
use crate::side::Side;

/// The targets, by which a subscriber filters.
const HANDSHAKE: &str = "tercel::handshake";
const EARLY_DATA: &str = "tercel::early_data";
const SELF_TEST: &str = "tercel::self_test";

/// The events of one handshake.
pub(crate) struct Events {
    side: &'static str,
    /// Client: the server's name, if events were enabled when the handshake started.
    server_name: Option<Box<str>>,
    /// Whether the event about accepted early data was emitted.
    accepted_early_data: bool,
}

impl Events {
    pub(crate) fn new(side: Side) -> Self {
        let side = match side {
            Side::Client => "client",
            Side::Server => "server",
        };
        report_failed_self_tests();
        Self { side, server_name: None, accepted_early_data: false }
    }

    /// Client: stores the server's name for later events.
    pub(crate) fn client_started(&mut self, server: &ServerName<'_>) {
        if tracing::enabled!(target: HANDSHAKE, Level::DEBUG) {
            self.server_name = Some(server.to_str().into());
        }
    }

    /// A server calls this with each piece of early data, because the application gets it before
    /// the handshake is complete. Only the first call emits an event.
    pub(crate) fn early_data_accepted(&mut self) {
        if !self.accepted_early_data {
            self.accepted_early_data = true;
            let server_name = self.server_name.as_deref();
            tracing::debug!(target: EARLY_DATA, side = self.side, server_name, "early data accepted");
        }
    }

    /// The handshake is complete.
    pub(crate) fn done(&mut self, info: &ConnectionInfo) {
        match info.early_data {
            EarlyData::NotOffered => {}
            EarlyData::Accepted => self.early_data_accepted(),
            EarlyData::Rejected => {
                tracing::debug!(
                    target: EARLY_DATA,
                    side = self.side,
                    server_name = self.server_name(info),
                    reason = info.early_data_rejection.map(rejection),
                    "early data rejected"
                );
            }
        }
        tracing::debug!(
            target: HANDSHAKE,
            side = self.side,
            server_name = self.server_name(info),
            version = %info.version,
            cipher_suite = %info.cipher_suite,
            group = info.group.map(tracing::field::display),
            alpn = info.alpn.as_deref().map(|name| tracing::field::display(name.escape_ascii())),
            resumed = info.resumed,
            early_data = match info.early_data {
                EarlyData::NotOffered => "not offered",
                EarlyData::Accepted => "accepted",
                EarlyData::Rejected => "rejected",
            },
            "handshake done"
        );
    }

    /// The handshake failed with this error. `refusal` has the details if the error is about the
    /// peer's certificate.
    pub(crate) fn refused(&self, error: Error, refusal: Option<&Refusal>) {
        let (sent, received) = match error {
            Error::AlertReceived(alert) => (None, Some(alert)),
            // `Driver::fail` answers with a close_notify.
            Error::ClosedInHandshake => {
                (Some(AlertDescription::CLOSE_NOTIFY), Some(AlertDescription::CLOSE_NOTIFY))
            }
            error => (error.alert(), None),
        };
        tracing::debug!(
            target: HANDSHAKE,
            side = self.side,
            server_name = self.server_name.as_deref(),
            reason = %error,
            certificate = refusal.map(tracing::field::display),
            alert_sent = sent.map(tracing::field::display),
            alert_received = received.map(tracing::field::display),
            "handshake refused"
        );
    }

    /// The name that the client connects to, or that the server's client requested.
    fn server_name<'a>(&'a self, info: &'a ConnectionInfo) -> Option<&'a str> {
        self.server_name.as_deref().or(info.server_name.as_deref())
    }
}

/// Reports each primitive that has failed its self-test, once in the process. The test runs before
/// the first use, so that one of the next handshakes reports it.
fn report_failed_self_tests() {
    const COUNT: usize = 5;
    static REPORTED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    let tests: [_; COUNT] = tercel_crypto::self_tests();
    for ((primitive, has_failed), reported) in tests.into_iter().zip(&REPORTED) {
        if has_failed && !reported.swap(true, Ordering::Relaxed) {
            tracing::error!(target: SELF_TEST, primitive, "self-test failed; AWS-LC is used instead");
        }
    }
}

fn rejection(reason: EarlyDataRejection) -> &'static str {
    match reason {
        EarlyDataRejection::HelloRetryRequest => "the server sent a HelloRetryRequest",
        EarlyDataRejection::NotResumed => "the session was not resumed",
        EarlyDataRejection::NotAllowed => "the server or the session allows no early data",
        EarlyDataRejection::ParametersChanged => {
            "the cipher suite or the application protocol differs from the session's"
        }
        EarlyDataRejection::NotFresh => "the age of the ticket is outside the freshness window",
        EarlyDataRejection::NotAdmitted => "the replay guard did not admit it",
        EarlyDataRejection::ByServer => "the server gave no reason",
    }
}
