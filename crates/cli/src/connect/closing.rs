//! The end of a connection over which nothing is relayed.

use std::io::Write;
use std::time::{Duration, Instant};

use tercel::{Connection, Error, Opened, ReceiveBuffer};

use crate::transport::Transport;

/// Sends close_notify and reads until the server closes, at most for a second. Sessions that arrive
/// meanwhile are stored. Returns the alert with which the server refused the client, which in
/// TLS 1.3 follows the client's handshake. Other errors are ignored, because the connection has
/// served its purpose.
pub(crate) fn close(
    mut transport: &Transport,
    mut connection: Connection,
    mut received: ReceiveBuffer,
) -> Option<Error> {
    transport.set_deadline(Instant::now() + LIMIT);
    let mut out = Vec::new();
    connection.sender.close(&mut out).ok()?;
    // A server that refused the client may have closed already; its alert can still be read.
    let _ = transport.write_all(&out);
    loop {
        match connection.receiver.open(&mut received) {
            Ok(Opened::Data(_)) => {}
            Ok(Opened::More) => {
                if !matches!(received.read_from(&mut transport), Ok(1..)) {
                    return None;
                }
            }
            Err(error @ Error::AlertReceived(_)) => return Some(error),
            _ => return None,
        }
    }
}

const LIMIT: Duration = Duration::from_secs(1);
