//! A worker for both transports.

use std::io::Cursor;
use std::marker::PhantomData;
use std::sync::Arc;

use lab_scenario::{
    About, Endpoint, Files, Library, LibraryWorker, PrepareError, PreparedTask, Result, Row, Task,
    Transport, Worker,
};
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side};

use crate::endpoint::End;
use crate::packets::Packets;

/// A library that implements quinn's traits.
pub trait Provider: Send + Sync + Sized + 'static {
    /// The description of the library.
    fn about() -> About;

    /// Creates the configurations of both sides, with the protocol [`ALPN`].
    ///
    /// # Errors
    /// [`PrepareError::Unsupported`] if the library does not support the row.
    fn configure(row: &Row, files: &Files) -> std::result::Result<Sides, PrepareError>;
}

/// The configurations of both sides.
pub struct Sides {
    /// The client's.
    pub client: Arc<dyn ClientConfig>,
    /// The server's.
    pub server: Arc<dyn ServerConfig>,
}

/// The protocol that both sides negotiate, which is mandatory over QUIC. RFC 9001 8.1
pub const ALPN: &str = "h3";

/// What both sides must have in common for early data, if the library asks for it.
pub const EARLY_DATA_CONTEXT: &[u8] = b"lab";

/// Version 1 of QUIC.
const VERSION: u32 = 1;

/// The first destination connection ID of a client, which determines the keys of Initial packets.
pub(crate) const FIRST_ID: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

/// Transport parameters of both sides: limits for data and streams, and the source connection ID.
/// RFC 9000 18.2
pub const PARAMETERS: &[u8] = &[
    0x04, 0x04, 0x80, 0x10, 0x00, 0x00, 0x05, 0x04, 0x80, 0x04, 0x00, 0x00, 0x08, 0x02, 0x40, 0x64,
    0x0f, 0x08, 1, 2, 3, 4, 5, 6, 7, 8,
];

/// A library, configured for a row.
struct Quic<P> {
    sides: Sides,
    name: String,
    parameters: TransportParameters,
    provider: PhantomData<P>,
}

impl<P: Provider> Library for Quic<P> {
    type Client = End;
    type Server = End;

    const TRANSPORT: Transport = Transport::Quic;

    fn about() -> About {
        P::about()
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Self, PrepareError> {
        let sides = P::configure(row, files)?;
        // A server reads what clients send. Both sides send the same.
        let parameters = TransportParameters::read(Side::Server, &mut Cursor::new(PARAMETERS))
            .map_err(|error| PrepareError::Failed(error.to_string().into()))?;
        let name = files.server_name().to_owned();
        Ok(Self { sides, name, parameters, provider: PhantomData })
    }

    fn client(&self) -> Result<End> {
        let config = Arc::clone(&self.sides.client);
        let session = config.start_session(VERSION, &self.name, &self.parameters)?;
        let keys = session.initial_keys(&ConnectionId::new(&FIRST_ID), Side::Client);
        Ok(End::new(session, keys, Side::Client))
    }

    fn server(&self) -> Result<End> {
        let config = Arc::clone(&self.sides.server);
        let keys = config.initial_keys(VERSION, &ConnectionId::new(&FIRST_ID));
        let keys = keys.map_err(|_| "the version is not supported")?;
        let session = config.start_session(VERSION, &self.parameters);
        Ok(End::new(session, keys, Side::Server))
    }
}

impl<P: Provider> Quic<P> {
    /// Makes a handshake.
    fn connect(&self, row: &Row) -> Result<(End, End)> {
        let (mut client, mut server) = (self.client()?, self.server()?);
        let [mut to_client, mut to_server] = [End::buffers(row, 0), End::buffers(row, 0)];
        client.advance(&mut to_client)?;
        let mut wire = Vec::new();
        loop {
            wire.clear();
            client.collect(&mut to_client, &mut wire)?;
            if wire.is_empty() {
                break;
            }
            server.deliver(&mut to_server, &wire)?;
            server.advance(&mut to_server)?;
            wire.clear();
            server.collect(&mut to_server, &mut wire)?;
            if !wire.is_empty() {
                client.deliver(&mut to_client, &wire)?;
                client.advance(&mut to_client)?;
            }
        }
        let suites = [client.outcome()?.suite, server.outcome()?.suite];
        if suites != [row.suite; 2] {
            return Err(format!("the suites are {suites:?}").into());
        }
        Ok((client, server))
    }
}

/// A worker for rows over QUIC.
pub struct QuicWorker<P>(LibraryWorker<Quic<P>>);

impl<P: Provider> QuicWorker<P> {
    /// A worker for this library.
    #[must_use]
    pub fn new() -> Self {
        Self(LibraryWorker::new())
    }
}

impl<P: Provider> Default for QuicWorker<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Provider> Worker for QuicWorker<P> {
    fn about(&self) -> About {
        self.0.about()
    }

    fn prepare(
        &mut self,
        row: &Row,
        files: &Files,
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
        match (row.task, row.transport) {
            (Task::Bulk, Transport::Quic) => {
                let library = Quic::<P>::configure(row, files)?;
                let (client, server) = library.connect(row).map_err(PrepareError::Failed)?;
                let packets = Packets::new(row, client, server);
                Ok(Box::new(packets.map_err(PrepareError::Failed)?))
            }
            _ => self.0.prepare(row, files),
        }
    }
}

/// A worker that has one worker for each transport.
pub struct EitherTransport<T, Q> {
    /// The worker of rows over TCP, which describes both.
    pub tcp: T,
    /// The worker of rows over QUIC.
    pub quic: Q,
}

impl<T: Worker, Q: Worker> Worker for EitherTransport<T, Q> {
    fn about(&self) -> About {
        self.tcp.about()
    }

    fn prepare(
        &mut self,
        row: &Row,
        files: &Files,
    ) -> std::result::Result<Box<dyn PreparedTask>, PrepareError> {
        match row.transport {
            Transport::Tcp => self.tcp.prepare(row, files),
            Transport::Quic => self.quic.prepare(row, files),
        }
    }
}
