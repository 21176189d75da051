//! The time limit of one step of a connection.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

/// A time limit for each step of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit(pub(crate) Duration);

impl TimeLimit {
    pub(crate) async fn within<T>(
        self,
        step: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        timeout(self.0, step).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}
