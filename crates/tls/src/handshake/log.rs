//! Secrets on their way to the application's key log, if it wants one.
//!
//! Must not know: what the secrets are for. Next: `config/policy.rs`.

use std::sync::Arc;

use crate::config::policy::KeyLog;

/// One connection's key log.
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
