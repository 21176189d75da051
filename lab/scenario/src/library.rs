//! The interface of a TLS library that is benchmarked.
//!
//! Timed and untimed work are separate methods, so that the transport is not timed.

use std::error::Error;
use std::fmt;

use crate::accounting::Program;
use crate::files::Files;
use crate::loading::{LoadedObject, Material};
use crate::protocol::About;
use crate::row::{Group, Row, Scheme, Suite, Transport, Version};

/// A result, or any error of a library.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// A function that receives plaintext from the library's own buffer.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]);

/// A library, configured for a row. All threads share it.
pub trait Library: Sized + Send + Sync {
    /// The client's end of a connection.
    type Client: Endpoint;
    /// The server's end of a connection.
    type Server: Endpoint;

    /// The program that the worker follows in published accounting; `None` if the library has none.
    const PROGRAM: Option<Program> = None;

    /// The transport of the connections.
    const TRANSPORT: Transport = Transport::Tcp;

    /// Whether the worker supports Encrypted ClientHello on both sides.
    const ECH: bool = false;

    /// The description of the library.
    fn about() -> About;

    /// Creates the configurations of both sides.
    ///
    /// # Errors
    /// [`PrepareError::Unsupported`] if the library does not support the row.
    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError>;

    /// Timed: creates a client connection, ready for [`Endpoint::advance`].
    ///
    /// # Errors
    /// Any error of the library.
    fn client(&self) -> Result<Self::Client>;

    /// Timed: creates a server connection.
    ///
    /// # Errors
    /// Any error of the library.
    fn server(&self) -> Result<Self::Server>;

    /// Timed: loads the object of a row of loading. A new configuration replaces the configuration
    /// of its side. The configuration of the other side is shared with `self`.
    ///
    /// # Errors
    /// [`PrepareError::Unsupported`] if the library has no call for it.
    fn load(
        &self,
        row: &Row,
        material: &Material,
    ) -> std::result::Result<LoadedObject<Self>, PrepareError> {
        let _ = (row, material);
        Err(PrepareError::unsupported("the worker does not support loading"))
    }
}

/// One end of a connection.
pub trait Endpoint {
    /// Buffers that belong to the application and are reused by its connections.
    type Buffers;

    /// Not timed: allocates buffers for connections of this row, with room for `capacity` bytes.
    fn buffers(row: &Row, capacity: usize) -> Self::Buffers;

    /// Not timed: passes bytes from the transport and returns how many were taken. The rest is
    /// passed again after the next [`Self::advance`] or [`Self::receive`].
    ///
    /// # Errors
    /// Any error of the library.
    fn deliver(&mut self, buffers: &mut Self::Buffers, bytes: &[u8]) -> Result<usize>;

    /// Timed: continues the handshake as far as possible, including tickets after it. Received
    /// early data is read and counted.
    ///
    /// # Errors
    /// Any error of the library.
    fn advance(&mut self, buffers: &mut Self::Buffers) -> Result<()>;

    /// Not timed: appends bytes for the transport to `wire`. The caller repeats the call until
    /// nothing is appended.
    ///
    /// # Errors
    /// Any error of the library.
    fn collect(&mut self, buffers: &mut Self::Buffers, wire: &mut Vec<u8>) -> Result<()>;

    /// Timed, client, after the first [`Self::advance`]: sends early data.
    ///
    /// # Errors
    /// If the session does not allow early data, and any error of the library.
    fn send_early(&mut self, buffers: &mut Self::Buffers, data: &[u8]) -> Result<()>;

    /// Not timed: the negotiated parameters.
    ///
    /// # Errors
    /// If the handshake has not ended, or if a parameter is unknown to the lab.
    fn outcome(&self) -> Result<Outcome>;

    /// Not timed: whether the handshake used an encrypted ClientHello.
    fn ech_accepted(&self) -> bool {
        false
    }

    /// Timed: encrypts one write completely.
    ///
    /// # Errors
    /// Any error of the library.
    fn send(&mut self, buffers: &mut Self::Buffers, data: &[u8]) -> Result<()>;

    /// Timed: decrypts all complete records and passes their plaintext to `sink`.
    ///
    /// # Errors
    /// Any error of the library.
    fn receive(&mut self, buffers: &mut Self::Buffers, sink: Sink<'_>) -> Result<()>;

    /// Not timed: releases memory that an idle connection does not need. Returns false if the
    /// library has no call for it.
    ///
    /// # Errors
    /// Any error of the library.
    fn park(&mut self) -> Result<bool> {
        Ok(false)
    }
}

/// The negotiated parameters as one side reports them. An option is `None` if the library does not
/// report the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The protocol version.
    pub version: Version,
    /// The cipher suite.
    pub suite: Suite,
    /// The key exchange group.
    pub group: Option<Group>,
    /// The signature scheme of the server.
    pub scheme: Option<Scheme>,
    /// Whether a session was resumed.
    pub resumed: bool,
    /// Server: whether the client sent certificates.
    pub client_certificate: Option<bool>,
    /// The number of tickets received by a client, or sent by a server.
    pub tickets: Option<u32>,
    /// Server: bytes of early data that were accepted and read.
    pub early_data: usize,
}

/// The reason why a row could not be prepared.
#[derive(Debug)]
pub enum PrepareError {
    /// The library does not support the row.
    Unsupported(String),
    /// The preparation failed.
    Failed(Box<dyn Error + Send + Sync>),
}

impl PrepareError {
    /// An error of a library that does not support the row.
    pub fn unsupported(why: impl Into<String>) -> Self {
        Self::Unsupported(why.into())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for PrepareError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(why) => f.write_str(why),
            Self::Failed(error) => error.fmt(f),
        }
    }
}
