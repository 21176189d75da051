//! The handshake of `tercel serve`, and what clients say early in it.
//!
//! Must not know: what is answered after the handshake. Next: [`super::session`].

use std::io::{self, Write};

use tercel::{Handshake, Next, Received, Sender, Stream};

use super::session::Tls;
use crate::transport::Transport;

/// A client's early data, as far as it was accepted.
#[derive(Debug, Default)]
pub(crate) struct Early {
    /// How much there was.
    pub(crate) length: usize,
    /// What has not been answered yet.
    pub(crate) unanswered: Vec<u8>,
}

/// Runs the handshake. An echo answers early data at once; for others it waits until the client has
/// shown that it is there, which whoever replays a recording cannot.
pub(crate) fn complete<'a>(
    handshake: &mut Handshake,
    mut transport: &'a Transport,
    echo: bool,
) -> io::Result<(Tls<'a>, Early)> {
    let (mut received, mut out) = (Received::new(), Vec::new());
    let mut early = Early::default();
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
            // That the last tickets cannot be sent is no reason to hear nobody out.
            Next::Connected(connection) => {
                return Ok((Stream::new(transport, *connection, received), early));
            }
            // None of this program's configurations asks.
            _ => return Err(io::Error::other("the handshake has a question")),
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
