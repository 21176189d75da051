//! Credentials from files, and watches that read files again when they change.
//!
//! [`credential`] reads a chain and its key, [`watch`] is for any files, and [`watcher`] keeps a
//! server's credential up to date.

pub(crate) mod credential;
pub(crate) mod error;
pub(crate) mod watch;
pub(crate) mod watcher;

#[cfg(test)]
mod testing;
