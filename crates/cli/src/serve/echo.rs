//! Echo mode: received data is sent back, record by record.
//!
//! The connection is used without a stream, because a TLS 1.2 client may close after its last data:
//! that data can be answered only before the close_notify is opened. RFC 5246 7.2.1

use std::io;

use tercel::server::{ClientAuth, ClientCertificate};
use tercel::wire::AlertDescription;
use tercel::{Connection, Error, Opened, ReceiveBuffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::handshake::Completed;
use super::time_limit::TimeLimit;

/// The result of one record.
enum Step {
    /// Data was sealed.
    Echoed,
    Authenticated(ClientCertificate),
    /// There is no complete record.
    Incomplete,
    Closed,
}

/// Runs until the client closes. If `asks`, the client's certificate is requested after the first
/// data; `authenticated` receives the answer.
pub(crate) async fn run(
    socket: &mut TcpStream,
    completed: Completed,
    mut asks: bool,
    limit: TimeLimit,
    mut authenticated: impl FnMut(&ClientCertificate),
) -> io::Result<()> {
    let Completed { mut connection, mut received, early } = completed;
    let mut out = Vec::new();
    connection.sender.seal_to(&early.unanswered, &mut out).map_err(io::Error::other)?;
    loop {
        let mut step = next(&mut connection, &mut received, &mut out).map_err(io::Error::other);
        if asks && matches!(step, Ok(Step::Echoed)) {
            asks = false;
            step = ask(&mut connection, &mut out).map(|()| Step::Echoed);
        }
        // An alert is sent even if the step failed.
        let sent = limit.within(socket.write_all(&out)).await;
        out.clear();
        match step? {
            Step::Echoed => sent?,
            Step::Authenticated(certificate) => authenticated(&certificate),
            Step::Incomplete => {
                sent?;
                let count = limit.within(socket.read(received.spare())).await?;
                received.filled(count);
                if count == 0 {
                    connection.receiver.end_of_input().map_err(io::Error::other)?;
                    return Ok(());
                }
            }
            Step::Closed => return sent,
        }
    }
}

/// Opens one record, and appends the answer to `out`.
fn next(
    connection: &mut Connection,
    received: &mut ReceiveBuffer,
    out: &mut Vec<u8>,
) -> Result<Step, Error> {
    let Connection { sender, receiver, .. } = connection;
    match receiver.open(received) {
        Ok(Opened::Data(data)) => sender.seal_to(data, out).map(|()| Step::Echoed),
        Ok(Opened::ClientCertificate(certificate)) => Ok(Step::Authenticated(certificate)),
        Ok(Opened::Closed) => sender.close(out).map(|()| Step::Closed),
        Ok(_) => sender.control(out).map(|()| Step::Incomplete),
        Err(error) => sender.control(out).and(Err(error)),
    }
}

/// Requests a certificate. A client that does not support post-handshake authentication gets an
/// alert.
fn ask(connection: &mut Connection, out: &mut Vec<u8>) -> io::Result<()> {
    match connection.request_certificate(ClientAuth::Required, out) {
        Ok(_) => Ok(()),
        Err(Error::Misuse(_)) => {
            connection
                .sender
                .abort(AlertDescription::ACCESS_DENIED, out)
                .map_err(io::Error::other)?;
            Err(io::Error::other("client does not support post-handshake authentication"))
        }
        Err(error) => Err(io::Error::other(error)),
    }
}
