//! Performs a whole handshake over a blocking transport.

use core::mem;
use std::io::{self, Read, Write};

use tercel_wire::{AlertDescription, ProtocolVersion};

use super::stream::{Stream, is_temporary, send_all, to_io};
use crate::connection::Connection;
use crate::error::Misuse;
use crate::handshake::{Handshake, Next, Transfer};
use crate::side::Side;

impl Handshake {
    /// Runs the handshake over a blocking transport. This method cannot answer questions: with a
    /// configuration that asks a [`Question`](crate::Question), use [`Self::advance`]. A server
    /// rejects early data, as [`Self::without_early_data`].
    ///
    /// If the transport would block or times out, its error is returned. The next call continues
    /// the handshake. It must use the same byte stream, but may pass a different value as
    /// `transport`, such as another reference `&TcpStream`. If the handshake fails, the alert is
    /// sent before the error is returned, unless the transport does not accept it.
    ///
    /// # Errors
    /// The errors of the transport; [`Error`](crate::Error) as the inner error of an [`io::Error`].
    /// [`Misuse::QuestionOpen`] if the configuration asks a question.
    pub fn complete<T: Read + Write>(&mut self, transport: T) -> io::Result<Stream<T>> {
        self.reject_early_data();
        let mut transfer = self.interrupted.take().unwrap_or_default();
        let result = self.complete_from(&mut transfer, transport);
        if result.as_ref().is_err_and(is_temporary) {
            self.interrupted = Some(transfer);
        }
        result
    }

    fn complete_from<T: Read + Write>(
        &mut self,
        transfer: &mut Transfer,
        mut transport: T,
    ) -> io::Result<Stream<T>> {
        loop {
            let Transfer { received, out, unflushed, step } = &mut *transfer;
            let next = match step.take() {
                Some(interrupted) => interrupted,
                None => self.advance(received, out),
            };
            let next = match next {
                // The last messages of a TLS 1.3 server are tickets. The handshake succeeds even if
                // they cannot be sent now.
                Ok(Next::Connected(connection)) if ends_with_tickets(self.side, &connection) => {
                    let (received, out) = (mem::take(received), mem::take(out));
                    return Ok(Stream::with_unsent(transport, *connection, received, out));
                }
                next => next,
            };
            *unflushed |= !out.is_empty();
            let sent = match unflushed {
                true => send_all(&mut transport, out).and_then(|()| transport.flush()),
                false => Ok(()),
            };
            if let Err(error) = sent {
                if is_temporary(&error) {
                    *step = Some(next);
                    return Err(error);
                }
                // The error of the handshake is more useful than an error in sending the alert.
                return Err(next.map_err(to_io).err().unwrap_or(error));
            }
            *unflushed = false;
            match next.map_err(to_io)? {
                Next::Receive => match received.read_from(&mut transport) {
                    Ok(0) => self.end_of_input().map_err(to_io)?,
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                },
                Next::Connected(connection) => {
                    return Ok(Stream::new(transport, *connection, mem::take(received)));
                }
                Next::Answer(_) | Next::EarlyData(_) => {
                    let mut alert = Vec::new();
                    self.abort(AlertDescription::INTERNAL_ERROR, &mut alert);
                    // The misuse is reported whether or not the alert could be sent.
                    let _ = transport.write_all(&alert).and_then(|()| transport.flush());
                    return Err(to_io(Misuse::QuestionOpen.into()));
                }
            }
        }
    }
}

fn ends_with_tickets(side: Side, connection: &Connection) -> bool {
    side == Side::Server && connection.info.version == ProtocolVersion::TLS1_3
}
