//! HTTP/3 over QUIC. RFC 9114, RFC 9000
//!
//! quinn is the transport, h3 the protocol, and TLS is that of `tercel`, through `tercel-quinn`.
//!
//! | module | holds |
//! |---|---|
//! | `frame_limit` | a limit for the frames that h3 collects in memory |
//! | `streams` | the connections and streams of quinn, as h3 uses them |
//! | `failure` | the reasons why connections and requests fail |
//! | `socket` | a UDP socket that reports when nothing listens at the other end |
//! | `client` | connections to a server |
//! | `sessions` | a session store that reports when a session arrives |

mod client;
mod failure;
mod frame_limit;
mod sessions;
mod socket;
mod streams;

pub(crate) use client::{
    Client, EarlyConnection, Established, Http, Opened, client_config, client_config_with_ech,
};
pub(crate) use failure::{
    Failure, alert_of, connection_error, handshake_result, http_error, request_error,
};
pub(crate) use sessions::ArrivingSessions;
pub(crate) use streams::{QuicBidiStream, QuicConnection, QuicOpener};

/// The application protocol. RFC 9114 3.1
pub(crate) const PROTOCOL: &str = "h3";

/// The context of early data. Clients remember a server's transport parameters with a session, and
/// h3 needs no settings of a server, so there is nothing else on which early data depends.
pub(crate) const EARLY_DATA_CONTEXT: &[u8] = b"tercel-cli h3";

/// The largest head of a request or response, as RFC 9114 4.2.2 counts it.
pub(crate) const MAX_HEAD: u64 = 16 << 10;

/// The code H3_NO_ERROR. RFC 9114 8.1
pub(crate) const NO_ERROR: quinn::VarInt = quinn::VarInt::from_u32(0x0100);

/// Ends a connection that has served its purpose.
pub(crate) fn close(connection: &quinn::Connection) {
    connection.close(NO_ERROR, b"");
}

/// The code of an error, as quinn sends it.
pub(crate) fn code(code: h3::error::Code) -> quinn::VarInt {
    quinn::VarInt::from_u64(code.value()).unwrap_or(quinn::VarInt::MAX)
}
