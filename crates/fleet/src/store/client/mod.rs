//! The client of the store: the crate `redis`, or nothing if this crate is built without it.
//!
//! Both variants have the same names, so that the rest of the crate does not depend on the feature.
//! Without `redis`, settings with a store are refused, and a connection is a type without values.

#[cfg(not(feature = "redis"))]
mod absent;
#[cfg(feature = "redis")]
mod bounded;
#[cfg(feature = "redis")]
pub(crate) mod connect;
#[cfg(feature = "redis")]
mod reply;

#[cfg(not(feature = "redis"))]
pub use absent::StoreTls;
#[cfg(not(feature = "redis"))]
pub(crate) use absent::{
    Cmd, FromRedisValue, MultiplexedConnection, Pipeline, RedisError, StoreAddress, cmd, code,
    codes, makes_store_unusable, pipe, reason,
};
#[cfg(feature = "redis")]
pub(crate) use connect::StoreAddress;
#[cfg(feature = "redis")]
pub use connect::StoreTls;
#[cfg(feature = "redis")]
pub(crate) use redis::{
    Cmd, FromRedisValue, Pipeline, RedisError, aio::MultiplexedConnection, cmd, pipe,
};
#[cfg(feature = "redis")]
pub(crate) use reply::{code, codes, makes_store_unusable, reason};
