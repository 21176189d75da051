//! What a TLS library has to offer to be measured.
//!
//! Timed and untimed work are different methods, so that no library pays for the transport of another.
//! Must not know: clocks. Next: `handshake.rs` and `bulk.rs`, which call these methods and time them.

use std::error::Error;
use std::fmt;

use crate::accounting::Program;
use crate::files::Files;
use crate::loading::{Loaded, Material};
use crate::protocol::About;
use crate::row::{Group, Row, Scheme, Suite, Version};

/// Any error of a library.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Takes plaintext where the library left it.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]);

/// A library, configured for a row. Threads share it.
pub trait Library: Sized + Send + Sync {
    /// A client's end of a connection.
    type Client: Endpoint;
    /// A server's end.
    type Server: Endpoint;

    /// The program that published accounting follows; `None` if the library has none.
    const PROGRAM: Option<Program> = None;

    /// Who the library is.
    fn about() -> About;

    /// Both sides' configurations.
    ///
    /// # Errors
    /// [`Unable::Cannot`] if the library has no way to do what the row asks.
    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, Unable>;

    /// Timed: a client's end, ready for [`Endpoint::advance`].
    ///
    /// # Errors
    /// The library's.
    fn client(&self) -> Result<Self::Client>;

    /// Timed: a server's end.
    ///
    /// # Errors
    /// The library's.
    fn server(&self) -> Result<Self::Server>;

    /// Timed: makes anew what the row loads. A configuration takes the place of its side's; the other side's is
    /// shared with `self`.
    ///
    /// # Errors
    /// [`Unable::Cannot`] if the library has no call for it.
    fn load(&self, row: &Row, material: &Material) -> std::result::Result<Loaded<Self>, Unable> {
        let _ = (row, material);
        Err(Unable::cannot("this worker loads nothing by itself"))
    }
}

/// One end of a connection.
pub trait Endpoint {
    /// What belongs to the application and outlives connections: buffers that the library is lent.
    type Buffers;

    /// Not timed: the buffers for connections of this row, with room for all that will be in them at once.
    fn buffers(row: &Row, at_once: usize) -> Self::Buffers;

    /// Not timed: bytes from the transport. Returns how many were taken; what is left comes again after
    /// the next [`Self::advance`] or [`Self::receive`].
    ///
    /// # Errors
    /// The library's.
    fn deliver(&mut self, buffers: &mut Self::Buffers, bytes: &[u8]) -> Result<usize>;

    /// Timed: goes on with the handshake as far as possible, tickets after it included. Early data that
    /// arrives is read and counted.
    ///
    /// # Errors
    /// The library's.
    fn advance(&mut self, buffers: &mut Self::Buffers) -> Result<()>;

    /// Not timed: appends to `wire` what is to be sent. More may be left, for the next call; nothing appended
    /// means that nothing is.
    ///
    /// # Errors
    /// The library's.
    fn collect(&mut self, buffers: &mut Self::Buffers, wire: &mut Vec<u8>) -> Result<()>;

    /// Timed, client, after its first [`Self::advance`]: sends early data.
    ///
    /// # Errors
    /// The library's, and if the session admits none.
    fn send_early(&mut self, buffers: &mut Self::Buffers, data: &[u8]) -> Result<()>;

    /// Not timed: what was agreed. An error before the handshake has ended.
    ///
    /// # Errors
    /// If the handshake has not ended, or something unknown was agreed.
    fn outcome(&self) -> Result<Outcome>;

    /// Timed: seals one write, all of it.
    ///
    /// # Errors
    /// The library's.
    fn send(&mut self, buffers: &mut Self::Buffers, data: &[u8]) -> Result<()>;

    /// Timed: opens all records that have arrived whole and shows their plaintext to `sink`.
    ///
    /// # Errors
    /// The library's.
    fn receive(&mut self, buffers: &mut Self::Buffers, sink: Sink<'_>) -> Result<()>;

    /// Not timed: lets go of memory that an idle connection can do without. False if the library has no
    /// call for that.
    ///
    /// # Errors
    /// The library's.
    fn park(&mut self) -> Result<bool> {
        Ok(false)
    }
}

/// What was agreed, as one side sees it. `None` in the options: the library does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The protocol version.
    pub version: Version,
    /// The cipher suite.
    pub suite: Suite,
    /// The group of the key exchange.
    pub group: Option<Group>,
    /// The scheme of the server's signature.
    pub scheme: Option<Scheme>,
    /// Whether a session was resumed.
    pub resumed: bool,
    /// Server: whether the client showed certificates.
    pub client_certificate: Option<bool>,
    /// Tickets that arrived, if it is the client, or else that it issued.
    pub tickets: Option<u32>,
    /// Server: bytes of early data that were accepted and read.
    pub early_data: usize,
}

/// Why a row was not prepared.
#[derive(Debug)]
pub enum Unable {
    /// The library has no way to do it.
    Cannot(String),
    /// It should, but something went wrong.
    Failed(Box<dyn Error + Send + Sync>),
}

impl Unable {
    /// The library has no way to do it.
    pub fn cannot(why: impl Into<String>) -> Self {
        Self::Cannot(why.into())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Unable {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl fmt::Display for Unable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cannot(why) => f.write_str(why),
            Self::Failed(error) => error.fmt(f),
        }
    }
}
