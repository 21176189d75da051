//! The handshake of `tercel serve`, with early data.

use std::io::{self, Write};

use tercel::{Handshake, Next, ReceiveBuffer, Sender, Stream};

use crate::transport::Transport;

/// A TLS stream over a borrowed transport, which can then be closed gracefully.
pub(crate) type TlsStream<'a> = Stream<&'a Transport>;

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
pub(crate) fn complete<'a>(
    handshake: &mut Handshake,
    mut transport: &'a Transport,
    echo: bool,
) -> io::Result<(TlsStream<'a>, ReceivedEarlyData)> {
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let mut early = ReceivedEarlyData::default();
    loop {
        let step = handshake.advance(&mut received, &mut out);
        let sent = transport.write_all(&out);
        out.clear();
        match step.map_err(io::Error::other)? {
            Next::Receive => {
                sent?;
                if received.read_from(&mut transport)? == 0 {
                    handshake.end_of_input().map_err(io::Error::other)?;
                }
            }
            Next::EarlyData(data) => {
                early.length = early.length.saturating_add(data.len());
                match handshake.half_rtt_sender().filter(|_| echo) {
                    Some(sender) => answer(sender, &data, &mut out, transport)?,
                    None => early.unanswered.extend_from_slice(&data),
                }
            }
            // A failure to send the last tickets is ignored: the client may still send data.
            Next::Connected(connection) => {
                return Ok((Stream::new(transport, *connection, received), early));
            }
            // The configurations of this program ask no questions.
            _ => return Err(io::Error::other("unexpected question in the handshake")),
        }
    }
}

fn answer(
    sender: &mut Sender,
    data: &[u8],
    out: &mut Vec<u8>,
    mut transport: &Transport,
) -> io::Result<()> {
    sender.seal_to(data, out).map_err(io::Error::other)?;
    let sent = transport.write_all(out);
    out.clear();
    sent
}
