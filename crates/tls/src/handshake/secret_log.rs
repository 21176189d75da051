//! Writes a connection's secrets to the application's key log.

use std::sync::Arc;

use crate::key_log::KeyLog;

/// The key log of one connection, if there is one.
pub(crate) struct SecretLog {
    log: Option<Arc<dyn KeyLog>>,
    client_random: [u8; 32],
}

impl SecretLog {
    pub(crate) fn new(log: Option<Arc<dyn KeyLog>>, client_random: &[u8; 32]) -> Self {
        Self { log, client_random: *client_random }
    }

    pub(crate) fn log(&self, label: &str, secret: &[u8]) {
        if let Some(log) = &self.log {
            log.log(label, &self.client_random, secret);
        }
    }
}
