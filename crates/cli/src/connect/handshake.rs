//! The handshake of `tercel connect`, with early data.

use std::io::{self, Read, Write};

use tercel::{Connection, EarlyData, Error, Handshake, Next, ReceiveBuffer, Sender};

use crate::explain::FirstBytes;
use crate::transport::Transport;

/// A connection, the bytes that were received after its handshake, and the data that was not sent
/// as early data.
pub(crate) struct Completed {
    pub(crate) connection: Connection,
    pub(crate) received: ReceiveBuffer,
    pub(crate) unsent: Vec<u8>,
}

/// Runs the handshake, and sends as much of `early_data` as early data as the session permits.
pub(crate) fn complete(
    handshake: &mut Handshake,
    transport: &Transport,
    early_data: Vec<u8>,
) -> io::Result<Completed> {
    let mut first = FirstBytes::default();
    exchange(handshake, transport, early_data, &mut first).map_err(|error| first.explain(error))
}

fn exchange(
    handshake: &mut Handshake,
    mut transport: &Transport,
    mut early_data: Vec<u8>,
    first: &mut FirstBytes,
) -> io::Result<Completed> {
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let mut sent_early = 0;
    loop {
        let step = handshake.advance(&mut received, &mut out);
        let sent = transport.write_all(&out);
        out.clear();
        let next = step.map_err(io::Error::other)?;
        sent?;
        match next {
            Next::Receive => {
                if let Some(sender) = handshake.early_sender().filter(|_| sent_early == 0) {
                    sent_early =
                        send_early_data(sender, &early_data, &mut out).map_err(io::Error::other)?;
                    transport.write_all(&out)?;
                    out.clear();
                }
                let count = transport.read(received.spare())?;
                first.record(received.spare().get(..count).unwrap_or_default());
                received.filled(count);
                if count == 0 {
                    handshake.end_of_input().map_err(io::Error::other)?;
                }
            }
            Next::Connected(connection) => {
                // Rejected early data is sent again as part of `unsent`.
                if connection.info.early_data == EarlyData::Accepted {
                    early_data.drain(..sent_early);
                }
                return Ok(Completed { connection: *connection, received, unsent: early_data });
            }
            // The configurations of this program ask no questions, and only servers receive early
            // data.
            _ => return Err(io::Error::other("unexpected question in the handshake")),
        }
    }
}

fn send_early_data(
    sender: &mut Sender,
    early_data: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, Error> {
    let room = sender.early_data_left().unwrap_or_default().min(MAX_EARLY_DATA);
    let now = early_data.get(..room).unwrap_or(early_data);
    sender.seal_to(now, out)?;
    Ok(now.len())
}

/// Nothing is read while early data is written, so it must fit into the socket buffers even if the
/// server echoes it.
const MAX_EARLY_DATA: usize = 64 << 10;
