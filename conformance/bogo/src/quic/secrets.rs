//! The secrets of a connection, from its key log. The runner compares them in every record.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tercel::Side;
use tercel::key_log::KeyLog;

use super::wire::WireLevel;

/// A key log that keeps the secrets of one connection.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<Vec<(String, Vec<u8>)>>);

impl Secrets {
    /// Returns the secret that protects what this side sends at a level.
    pub(super) fn find(&self, sender: Side, level: WireLevel) -> Option<Vec<u8>> {
        let label = match (level, sender) {
            (WireLevel::Initial, _) => return None,
            (WireLevel::EarlyData, _) => "CLIENT_EARLY_TRAFFIC_SECRET",
            (WireLevel::Handshake, Side::Client) => "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            (WireLevel::Handshake, Side::Server) => "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            (WireLevel::Application, Side::Client) => "CLIENT_TRAFFIC_SECRET_0",
            (WireLevel::Application, Side::Server) => "SERVER_TRAFFIC_SECRET_0",
        };
        let logged = self.logged();
        let found = logged.iter().rev().find(|(of, _)| of == label);
        found.map(|(_, secret)| secret.clone())
    }

    fn logged(&self) -> MutexGuard<'_, Vec<(String, Vec<u8>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        self.logged().push((label.to_owned(), secret.to_vec()));
    }
}
