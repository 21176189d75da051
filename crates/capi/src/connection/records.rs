//! Application data, alerts and key updates.

use tercel::client::CertificateRequested;
use tercel::server::ClientCertificate;
use tercel::wire::AlertDescription;
use tercel::{Error, Filled, Opened, ReceiveBuffer};
use zeroize::Zeroizing;

use super::Connection;
use super::state::Receiving;
use crate::entry::bytes::Bytes;
use crate::entry::owned::with;
use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{entry, value};
use crate::input::Input;
use crate::output::Output;
use crate::status::Status;
use crate::status::codes::TERCEL_MISUSE_INVALID_ARGUMENT;

/// What tercel_connection_open found.
pub type Event = u32;

/// The input has no complete record: receive more bytes. At the end of the transport's input, call
/// tercel_connection_end_of_input.
pub const TERCEL_EVENT_RECEIVE: Event = 0;
/// Application data.
pub const TERCEL_EVENT_DATA: Event = 1;
/// The peer sent close_notify: no more data follows.
pub const TERCEL_EVENT_CLOSED: Event = 2;
/// Client: the server requests a certificate: call tercel_connection_authenticate.
pub const TERCEL_EVENT_CERTIFICATE_REQUESTED: Event = 3;
/// Server: the client answered a request: tercel_connection_client_certificate.
pub const TERCEL_EVENT_CLIENT_CERTIFICATE: Event = 4;

/// Encrypts data into memory of the caller, in one pass. Stores the number of bytes of data that
/// were taken, and the number of bytes that were written; send these, and continue with the rest of
/// the data. With tercel_connection_sealed_size bytes of room, all data is taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_seal(
    connection: *mut Connection,
    data: *const u8,
    len: usize,
    out: *mut u8,
    room: usize,
    taken: *mut usize,
    written: *mut usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let (mut taken, mut written) = (Place::new(taken, 0)?, Place::new(written, 0)?);
        let (data, out) = (Memory::new(data, len)?, Memory::new(out, room)?);
        pointers::separate(&[&taken, &written], &[out], &[data])?;
        with(connection, |state| {
            let sealed = state.send(|half| half.sender.seal(data.read(), out.write()))?;
            taken.set(sealed.consumed);
            written.set(sealed.written);
            Ok(())
        })
    })
}

/// Encrypts all data, and appends the records to the output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_seal_to(
    connection: *mut Connection,
    data: *const u8,
    len: usize,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let data = Memory::new(data, len)?;
        with(connection, |state| {
            with(output, |output| {
                Memory::separate(&[output.memory()], &[data])?;
                state.send(|half| half.sender.seal_to(data.read(), output.bytes()))
            })
        })
    })
}

/// Returns the size of memory in which tercel_connection_seal takes this many bytes of data at
/// once. 0 after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_sealed_size(
    connection: *const Connection,
    len: usize,
) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(connection, |state| Ok(state.sending()?.sender.sealed_length(len))) })
}

/// Decrypts the next record into memory of the caller. For TERCEL_EVENT_DATA, stores the number of
/// bytes. Data that does not fit is kept for the next call; with 16640 bytes of room, no data is
/// copied twice.
///
/// If the status is not TERCEL_OK, the connection has failed, unless the class is
/// TERCEL_CLASS_MISUSE; tercel_connection_flush then writes the alert to send. Call it now and then
/// in any case, since the peer may have asked for a message that is sent with the next data
/// otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_open(
    connection: *mut Connection,
    input: *mut Input,
    out: *mut u8,
    room: usize,
    filled: *mut usize,
    event: *mut Event,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let (mut filled, mut event) =
            (Place::new(filled, 0)?, Place::new(event, TERCEL_EVENT_RECEIVE)?);
        let out = Memory::new(out, room)?;
        with(connection, |state| {
            with(input, |input| {
                let half = state.receiving()?;
                let kept = Memory::of(&half.rest.data);
                let read = [Memory::range(input.memory()), kept];
                pointers::separate(&[&filled, &event], &[out], &read)?;
                let opened = open(half, input, out.write());
                let (found, count) = opened.map_err(|error| state.fail(error))?;
                filled.set(count);
                event.set(found);
                Ok(())
            })
        })
    })
}

/// Opens a record into `out`. Returns the event, and the length of the data.
fn open(
    half: &mut Receiving,
    input: &mut ReceiveBuffer,
    out: &mut [u8],
) -> core::result::Result<(Event, usize), Error> {
    let kept = half.rest.read(out);
    if kept > 0 {
        return Ok((TERCEL_EVENT_DATA, kept));
    }
    match half.receiver.open_into(input, out)? {
        Filled::Data(count) => return Ok((TERCEL_EVENT_DATA, count)),
        Filled::TooSmall => {}
        other => return Ok((half.event(other), 0)),
    }
    match half.receiver.open(input)? {
        Opened::Data(data) => {
            half.rest.data = Zeroizing::new(data.to_vec());
            Ok((TERCEL_EVENT_DATA, half.rest.read(out)))
        }
        other => Ok((half.opened_event(other), 0)),
    }
}

impl Receiving {
    fn event(&mut self, filled: Filled) -> Event {
        match filled {
            Filled::Closed => TERCEL_EVENT_CLOSED,
            Filled::CertificateRequested(request) => self.requested(request),
            Filled::ClientCertificate(certificate) => self.answered(certificate),
            _ => TERCEL_EVENT_RECEIVE,
        }
    }

    fn opened_event(&mut self, opened: Opened<'_>) -> Event {
        match opened {
            Opened::Closed => TERCEL_EVENT_CLOSED,
            Opened::CertificateRequested(request) => self.requested(request),
            Opened::ClientCertificate(certificate) => self.answered(certificate),
            _ => TERCEL_EVENT_RECEIVE,
        }
    }

    fn requested(&mut self, request: CertificateRequested) -> Event {
        self.requests.open().push_back(request);
        TERCEL_EVENT_CERTIFICATE_REQUESTED
    }

    fn answered(&mut self, certificate: ClientCertificate) -> Event {
        self.client_certificate = Some(certificate);
        TERCEL_EVENT_CLIENT_CERTIFICATE
    }
}

/// Decrypts the next record in place, without a copy. For TERCEL_EVENT_DATA, stores the data, which
/// is valid until the next function with this input or this connection that receives, parks or
/// frees: it is in the input, or in the connection if tercel_connection_open has kept it. The rules
/// of tercel_connection_open apply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_open_in_place(
    connection: *mut Connection,
    input: *mut Input,
    data: *mut Bytes,
    event: *mut Event,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let (mut data, mut event) =
            (Place::new(data, Bytes::NONE)?, Place::new(event, TERCEL_EVENT_RECEIVE)?);
        with(connection, |state| {
            with(input, |input| {
                let half = state.receiving()?;
                pointers::separate(&[&data, &event], &[], &[Memory::range(input.memory())])?;
                // Data that another call has kept comes first. It stays in the handle.
                if half.rest.read < half.rest.data.len() {
                    data.set(Bytes::some(&half.rest.data[half.rest.read..]));
                    half.rest.read = half.rest.data.len();
                    event.set(TERCEL_EVENT_DATA);
                    return Ok(());
                }
                let found = match half.receiver.open(input) {
                    Ok(Opened::Data(opened)) => {
                        data.set(Bytes::some(opened));
                        TERCEL_EVENT_DATA
                    }
                    Ok(other) => half.opened_event(other),
                    Err(error) => return Err(state.fail(error)),
                };
                event.set(found);
                Ok(())
            })
        })
    })
}

/// Appends pending messages to the output: an alert after an error, the answer to a request of the
/// peer. Without pending messages it does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_flush(
    connection: *mut Connection,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(connection, |state| {
            with(output, |output| state.send(|half| half.sender.control(output.bytes())))
        })
    })
}

/// Appends close_notify to the output. No data can be sent afterwards; data may still be received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_close(
    connection: *mut Connection,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(connection, |state| {
            with(output, |output| state.send(|half| half.sender.close(output.bytes())))
        })
    })
}

/// Appends an alert to the output, and closes the connection for sending.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_abort(
    connection: *mut Connection,
    alert: u8,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(connection, |state| {
            with(output, |output| {
                state.send(|half| half.sender.abort(AlertDescription(alert), output.bytes()))
            })
        })
    })
}

/// TLS 1.3: appends a KeyUpdate to the output, and changes to the next key. If request is 1, the
/// peer is asked to update its key too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_update_key(
    connection: *mut Connection,
    request: u32,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        if request > 1 {
            return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
        }
        with(connection, |state| {
            with(output, |output| {
                state.send(|half| half.sender.update_key(request == 1, output.bytes()))
            })
        })
    })
}

/// Reports the end of the transport's input. TERCEL_TRUNCATED if the peer sent no close_notify,
/// unless TERCEL_OPTION_TOLERATE_TRUNCATION is on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_end_of_input(connection: *mut Connection) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(connection, |state| {
            let ended = state.receiving()?.receiver.end_of_input();
            ended.map_err(|error| state.fail(error))
        })
    })
}
