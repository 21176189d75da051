//! Libraries that make handshakes over QUIC, and leave the protection of packets to their users.

use lab_scenario::{Endpoint, Outcome, PrepareError, Result, Row, Sink, Task};

use crate::messages::Seen;
use crate::units::{self, Kind, Units};

/// One end of a handshake.
pub trait QuicHandshake {
    /// Whether it is the client.
    const CLIENT: bool;

    /// Timed: begins the handshake of a client.
    ///
    /// # Errors
    /// Any error of the library.
    fn start(&mut self) -> Result<()>;

    /// Timed: passes CRYPTO data to the library, and continues the handshake.
    ///
    /// # Errors
    /// Any error of the library.
    fn receive(&mut self, kind: Kind, data: &[u8]) -> Result<()>;

    /// Takes the CRYPTO data to send.
    fn take_sent(&mut self) -> Vec<(Kind, Vec<u8>)>;

    /// Whether a session was resumed.
    ///
    /// # Errors
    /// If the handshake is not complete, or keys or transport parameters are missing.
    fn is_resumed(&self) -> Result<bool>;
}

/// Appends CRYPTO data to what is to be sent. Data of one level is sent together.
pub fn append(sent: &mut Vec<(Kind, Vec<u8>)>, kind: Kind, data: &[u8]) {
    match sent.last_mut() {
        Some((last, bytes)) if *last == kind => bytes.extend_from_slice(data),
        _ => sent.push((kind, data.to_vec())),
    }
}

/// Checks that handshakes without packets are enough for the row.
///
/// # Errors
/// [`PrepareError::Unsupported`] if they are not.
pub fn can(row: &Row) -> std::result::Result<(), PrepareError> {
    match row.task {
        Task::Bulk | Task::Memory => Err(PrepareError::unsupported("its users protect packets")),
        _ if row.early_data > 0 => Err(PrepareError::unsupported("its users protect early data")),
        _ => Ok(()),
    }
}

/// The endpoint of such a library.
pub struct HandshakeOnly<H> {
    handshake: H,
    seen: Seen,
}

impl<H> HandshakeOnly<H> {
    /// An endpoint that has neither sent nor received.
    pub fn new(handshake: H) -> Self {
        Self { handshake, seen: Seen::default() }
    }
}

impl<H: QuicHandshake> Endpoint for HandshakeOnly<H> {
    /// The received units.
    type Buffers = Vec<u8>;

    fn buffers(_: &Row, capacity: usize) -> Vec<u8> {
        Vec::with_capacity(capacity)
    }

    fn deliver(&mut self, received: &mut Vec<u8>, bytes: &[u8]) -> Result<usize> {
        received.extend_from_slice(bytes);
        if H::CLIENT {
            for unit in Units(bytes) {
                let (kind, content) = unit?;
                self.seen.read(kind, content)?;
            }
        }
        Ok(bytes.len())
    }

    fn advance(&mut self, received: &mut Vec<u8>) -> Result<()> {
        if received.is_empty() {
            return self.handshake.start();
        }
        for unit in Units(received) {
            let (kind, data) = unit?;
            self.handshake.receive(kind, data)?;
        }
        received.clear();
        Ok(())
    }

    fn collect(&mut self, _: &mut Vec<u8>, wire: &mut Vec<u8>) -> Result<()> {
        for (kind, data) in self.handshake.take_sent() {
            if !H::CLIENT {
                self.seen.read(kind, &data)?;
            }
            units::write(wire, kind, &data)?;
        }
        Ok(())
    }

    fn send_early(&mut self, _: &mut Vec<u8>, _: &[u8]) -> Result<()> {
        Err("it does not protect packets".into())
    }

    fn outcome(&self) -> Result<Outcome> {
        let resumed = self.handshake.is_resumed()?;
        let outcome = self.seen.outcome(0)?;
        if outcome.resumed != resumed {
            return Err("the library and its messages differ about the resumption".into());
        }
        Ok(outcome)
    }

    fn send(&mut self, _: &mut Vec<u8>, _: &[u8]) -> Result<()> {
        Err("it does not protect packets".into())
    }

    fn receive(&mut self, _: &mut Vec<u8>, _: Sink<'_>) -> Result<()> {
        Err("it does not protect packets".into())
    }
}
