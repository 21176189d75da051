//! The side of a connection: client or server.

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that opens the connection.
    Client,
    /// The side that accepts the connection.
    Server,
}
