//! The handshake of `tercel serve`, with early data.

use std::io;

use tercel::{Connection, Handshake, Next, ReceiveBuffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection, the bytes that were received after its handshake, and its early data.
pub(crate) struct Completed {
    pub(crate) connection: Connection,
    pub(crate) received: ReceiveBuffer,
    pub(crate) early: ReceivedEarlyData,
}

/// The accepted early data of a client.
#[derive(Debug, Default)]
pub(crate) struct ReceivedEarlyData {
    /// The length of all accepted early data.
    pub(crate) length: usize,
    /// The part that has not been answered yet.
    pub(crate) unanswered: Vec<u8>,
}

/// Runs the handshake. In echo mode early data is answered at once. Otherwise it is answered when
/// the handshake is complete, so that a replay by an attacker gets no answer.
pub(crate) async fn complete(
    handshake: &mut Handshake,
    socket: &mut TcpStream,
    echo: bool,
) -> io::Result<Completed> {
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let mut early = ReceivedEarlyData::default();
    loop {
        let step = handshake.advance(&mut received, &mut out);
        let sent = socket.write_all(&out).await;
        out.clear();
        match step.map_err(io::Error::other)? {
            Next::Receive => {
                sent?;
                let count = socket.read(received.spare()).await?;
                received.filled(count);
                if count == 0 {
                    handshake.end_of_input().map_err(io::Error::other)?;
                }
            }
            Next::EarlyData(data) => {
                early.length = early.length.saturating_add(data.len());
                match handshake.half_rtt_sender().filter(|_| echo) {
                    // The answer is sent after the next step.
                    Some(sender) => sender.seal_to(&data, &mut out).map_err(io::Error::other)?,
                    None => early.unanswered.extend_from_slice(&data),
                }
            }
            // A failure to send the last tickets is ignored: the client may still send data.
            Next::Connected(connection) => {
                return Ok(Completed { connection: *connection, received, early });
            }
            // The configurations of this program ask no questions.
            _ => return Err(io::Error::other("unexpected question in the handshake")),
        }
    }
}
