//! The handshake of `tercel connect`, and what is said early in it.
//!
//! Must not know: where the bytes come from. Next: [`super`].

use std::io::{self, Write};

use tercel::{Connection, EarlyData, Error, Handshake, Next, Received, Sender};

use crate::transport::Transport;

/// A connection, what was received beyond its handshake, and what is still to be said.
pub(crate) struct Completed {
    pub(crate) connection: Connection,
    pub(crate) received: Received,
    pub(crate) unsaid: Vec<u8>,
}

/// Runs the handshake and says `words` as early as the session allows.
pub(crate) fn complete(
    handshake: &mut Handshake,
    mut transport: &Transport,
    mut words: Vec<u8>,
) -> io::Result<Completed> {
    let (mut received, mut out) = (Received::new(), Vec::new());
    let mut said = 0;
    loop {
        let step = handshake.advance(&mut received, &mut out);
        let sent = transport.write_all(&out);
        out.clear();
        let next = step.map_err(io::Error::other)?;
        sent?;
        match next {
            Next::Receive => {
                if let Some(sender) = handshake.early_sender().filter(|_| said == 0) {
                    said = say(sender, &words, &mut out).map_err(io::Error::other)?;
                    transport.write_all(&out)?;
                    out.clear();
                }
                if received.read_from(&mut transport)? == 0 {
                    handshake.end_of_input().map_err(io::Error::other)?;
                }
            }
            Next::Connected(connection) => {
                // What was rejected is as good as never said.
                if connection.facts.early_data == EarlyData::Accepted {
                    words.drain(..said);
                }
                return Ok(Completed { connection: *connection, received, unsaid: words });
            }
            // None of this program's configurations asks, and only a server gets early data.
            _ => return Err(io::Error::other("the handshake has a question")),
        }
    }
}

fn say(sender: &mut Sender, words: &[u8], out: &mut Vec<u8>) -> Result<usize, Error> {
    let room = sender.early_data_left().unwrap_or_default().min(MOST_EARLY);
    let now = words.get(..room).unwrap_or(words);
    sender.seal_to(now, out)?;
    Ok(now.len())
}

/// Nothing is read while early data is written, so it has to fit into what lies between two programs
/// even if the server answers each byte with another.
const MOST_EARLY: usize = 64 << 10;
