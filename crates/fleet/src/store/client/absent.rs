//! The client of a store in a build without `redis`: it refuses every address.
//!
//! The types of connections and errors have no values (`Infallible`), so the compiler can check
//! that no request is ever sent.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::error::FleetError;
use crate::settings::StoreSettings;

/// The address of a store, a type without values.
pub(crate) struct StoreAddress(Infallible);

impl StoreAddress {
    pub(crate) fn of(_: &StoreSettings) -> Result<Self, FleetError> {
        Err(refused())
    }

    pub(crate) fn use_tls(&self, _: StoreTls) {
        match self.0 {}
    }

    pub(crate) fn tls_changes(&self) -> watch::Receiver<StoreTls> {
        match self.0 {}
    }

    pub(crate) async fn connect(&self, _: &Arc<Notify>) -> Result<MultiplexedConnection, String> {
        match self.0 {}
    }
}

/// The TLS configuration of a node's connections to its store. In a build without the feature
/// `redis`, it has no values.
#[derive(Clone)]
pub struct StoreTls(Infallible);

impl StoreTls {
    /// Refuses all settings.
    ///
    /// # Errors
    /// [`FleetError::Setting`].
    pub fn read(_: &StoreSettings) -> Result<Self, FleetError> {
        Err(refused())
    }
}

impl std::fmt::Debug for StoreTls {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {}
    }
}

fn refused() -> FleetError {
    let why = "a store cannot be used: this program was built without the feature `redis`";
    FleetError::Setting("store.url", why)
}

/// A connection to a store, a type without values.
#[derive(Clone)]
pub(crate) struct MultiplexedConnection(Infallible);

/// An error of a store, a type without values.
pub(crate) struct RedisError(Infallible);

/// A type that a reply can be converted to.
pub(crate) trait FromRedisValue {}

impl<T> FromRedisValue for T {}

/// A command, whose arguments are dropped.
pub(crate) struct Cmd;

/// Several commands, whose arguments are dropped.
pub(crate) struct Pipeline;

pub(crate) fn cmd(_: &str) -> Cmd {
    Cmd
}

pub(crate) fn pipe() -> Pipeline {
    Pipeline
}

impl Cmd {
    pub(crate) fn get<T>(_: T) -> Self {
        Self
    }

    pub(crate) fn pexpire<T>(_: T, _: i64) -> Self {
        Self
    }

    pub(crate) fn arg<T>(&mut self, _: T) -> &mut Self {
        self
    }

    pub(crate) async fn query_async<T>(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<T, RedisError> {
        match connection.0 {}
    }
}

impl Pipeline {
    pub(crate) fn cmd(&mut self, _: &str) -> &mut Self {
        self
    }

    pub(crate) fn arg<T>(&mut self, _: T) -> &mut Self {
        self
    }

    pub(crate) fn ignore(&mut self) -> &mut Self {
        self
    }

    pub(crate) async fn query_async<T>(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<T, RedisError> {
        match connection.0 {}
    }
}

pub(crate) fn reason(error: &RedisError) -> String {
    match error.0 {}
}

pub(crate) fn makes_store_unusable(error: &RedisError) -> bool {
    match error.0 {}
}

pub(crate) fn code(error: &RedisError) -> String {
    match error.0 {}
}

pub(crate) fn codes(error: &RedisError) -> Vec<String> {
    match error.0 {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_refused() {
        let refused = StoreAddress::of(&StoreSettings::new("redis://127.0.0.1", "")).err().unwrap();
        assert!(refused.to_string().contains("without the feature `redis`"), "{refused}");
        assert!(StoreTls::read(&StoreSettings::new("rediss://127.0.0.1", "")).is_err());
    }
}
