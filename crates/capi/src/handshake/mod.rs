//! Handshakes.

pub mod progress;
pub mod question_codes;
mod view;

use core::ffi::c_char;
use core::ptr;
use std::sync::Arc;

use tercel::ServerName;

use crate::config::Config;
use crate::config::codes::{TERCEL_CLIENT, TERCEL_SERVER};
use crate::connection::Connection;
use crate::entry::bytes::Bytes;
use crate::entry::owned::{self, Owned, with};
use crate::entry::pointers::{self, Memory, Place};
use crate::entry::{entry, shared, text, value};
use crate::fact::{self, Fact};
use crate::input::Input;
use crate::output::Output;
use crate::sessions::GivenSessions;
use crate::status::codes::{
    TERCEL_CONFIG_BAD_SERVER_NAME, TERCEL_MISUSE_NO_CONNECTION, TERCEL_MISUSE_SESSIONS_NOT_GIVEN,
    TERCEL_MISUSE_WRONG_SIDE,
};
use crate::status::{self, Status};
use progress::Progress;

/// A handshake in progress.
pub struct Handshake(Owned<Progress>);

owned_handle!(Handshake, Progress);

/// What the caller has to do next.
pub type Next = u32;

/// Receive more bytes, append them to the input, and advance again. At the end of the transport's
/// input, call tercel_handshake_end_of_input.
pub const TERCEL_NEXT_RECEIVE: Next = 0;
/// Answer the question tercel_handshake_question, then advance again.
pub const TERCEL_NEXT_ANSWER: Next = 1;
/// Server: process a piece of early data, tercel_handshake_early_data, and advance again. It may be
/// a replay. RFC 9846 8
pub const TERCEL_NEXT_EARLY_DATA: Next = 2;
/// The handshake is complete: call tercel_handshake_take_connection.
pub const TERCEL_NEXT_CONNECTED: Next = 3;

/// Creates the handshake of a client with the server of this name, a DNS name or an IP address. The
/// port distinguishes stored sessions; 0 if it is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_client(
    config: *const Config,
    name: *const c_char,
    name_len: usize,
    port: u16,
    handshake: *mut *mut Handshake,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(handshake, ptr::null_mut())?;
        let config = shared::get(config)?;
        let name = pointers::slice(name.cast::<u8>(), name_len)?;
        place.separate(&[Memory::of(name)])?;
        let name = server_name(name)?;
        let Config::Client(config, given) = &*config else { return Err(TERCEL_MISUSE_WRONG_SIDE) };
        let sessions = given.then(Arc::<GivenSessions>::default);
        let config = match &sessions {
            Some(sessions) => config.with_session_store(Arc::clone(sessions) as _),
            None => Arc::clone(config),
        };
        let handshake = match port {
            0 => tercel::Handshake::client(config, name),
            port => tercel::Handshake::client_with_port(config, name, port),
        };
        place.set(owned::new(Progress::new(handshake, TERCEL_CLIENT, sessions)));
        Ok(())
    })
}

fn server_name(text: &[u8]) -> Result<ServerName<'static>, Status> {
    let text = core::str::from_utf8(text).map_err(|_| TERCEL_CONFIG_BAD_SERVER_NAME)?;
    let name = ServerName::try_from(text).map_err(|_| TERCEL_CONFIG_BAD_SERVER_NAME)?;
    Ok(name.to_owned())
}

/// Creates the handshake of a server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_server(
    config: *const Config,
    handshake: *mut *mut Handshake,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(handshake, ptr::null_mut())?;
        let config = shared::get(config)?;
        let handshake = tercel::Handshake::server(config.server()?);
        let mut progress = Progress::new(handshake, TERCEL_SERVER, None);
        progress.claims = config.claims();
        place.set(owned::new(progress));
        Ok(())
    })
}

/// Frees a handshake, also after its connection was taken. NULL has no effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_free(handshake: *mut Handshake) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { owned::free(handshake) });
}

/// Client: sets the session to offer, before the handshake begins. It is one that
/// tercel_connection_take_session returned. A session that cannot be used is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_offer_session(
    handshake: *mut Handshake,
    session: *const u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let session = pointers::slice(session, len)?;
        with(handshake, |progress| {
            let sessions = progress.sessions.as_ref().filter(|_| !progress.begun);
            sessions.ok_or(TERCEL_MISUSE_SESSIONS_NOT_GIVEN)?.offer(session);
            Ok(())
        })
    })
}

/// Continues the handshake with the bytes in the input, and appends bytes to send to the output.
/// Send them before anything else, also after an error, since they may contain an alert.
///
/// If the status is not TERCEL_OK, the handshake has failed, unless its class is
/// TERCEL_CLASS_MISUSE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_advance(
    handshake: *mut Handshake,
    input: *mut Input,
    output: *mut Output,
    next: *mut Next,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(next, TERCEL_NEXT_RECEIVE)?;
        with(handshake, |progress| {
            let step = with(input, |input| {
                with(output, |output| {
                    let buffers = [Memory::range(input.memory()), output.memory()];
                    place.separate(&buffers)?;
                    Ok(progress.advance(input, output.bytes()))
                })
            })?;
            progress.begun = true;
            place.set(match step.map_err(|error| progress.fail(error))? {
                tercel::Next::Answer(question) => {
                    progress.question = Some(question);
                    progress.view = None;
                    progress.verdict = None;
                    TERCEL_NEXT_ANSWER
                }
                tercel::Next::EarlyData(data) => {
                    progress.early_data = data;
                    TERCEL_NEXT_EARLY_DATA
                }
                tercel::Next::Connected(connection) => {
                    progress.connection = Some(connection);
                    TERCEL_NEXT_CONNECTED
                }
                _ => TERCEL_NEXT_RECEIVE,
            });
            Ok(())
        })
    })
}

/// Reports the end of the transport's input, which ends the handshake. Always returns a status
/// other than TERCEL_OK, usually TERCEL_TRUNCATED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_end_of_input(handshake: *mut Handshake) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(handshake, |progress| {
            let ended = progress.handshake.end_of_input();
            ended.map_err(|error| progress.fail(error))
        })
    })
}

/// Encrypts data before the handshake is complete: early data of a client that offers a session
/// which allows it, or data of a server whose client is not yet authenticated. Appends the records
/// to the output. The number of bytes that were taken is less than the length if early data is
/// limited.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_seal_early(
    handshake: *mut Handshake,
    data: *const u8,
    len: usize,
    output: *mut Output,
    taken: *mut usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut taken = Place::new(taken, 0)?;
        let data = Memory::new(data, len)?;
        with(handshake, |progress| {
            let sender = progress.early_sender()?;
            let now = sender.early_data_left().unwrap_or(len).min(len);
            with(output, |output| {
                pointers::separate(&[&taken], &[output.memory()], &[data])?;
                let sealed = sender.seal_to(&data.read()[..now], output.bytes());
                sealed.map_err(status::of)
            })?;
            taken.set(now);
            Ok(())
        })
    })
}

/// Returns how many bytes of early data tercel_handshake_seal_early can take: 0 if none, SIZE_MAX
/// if there is no limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_early_data_left(handshake: *const Handshake) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(handshake, |progress| {
            Ok(progress.early_sender()?.early_data_left().unwrap_or(usize::MAX))
        })
    })
}

/// Server: returns the early data of the last TERCEL_NEXT_EARLY_DATA.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_early_data(handshake: *const Handshake) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(handshake, |progress| Ok(Bytes::some(&progress.early_data))) })
}

/// Server: returns a fact that is a number, while the client sends early data; 0 otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_fact(handshake: *const Handshake, fact: Fact) -> u64 {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(handshake, |progress| {
            Ok(progress.handshake.early_info().map_or(0, |info| fact::number(info, fact)))
        })
    })
}

/// Server: returns a fact that consists of bytes, while the client sends early data; none
/// otherwise. They are valid until the handshake is advanced or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_fact_bytes(
    handshake: *const Handshake,
    fact: Fact,
    index: usize,
) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(handshake, |progress| {
            let info = progress.handshake.early_info();
            Ok(info.map_or(Bytes::NONE, |info| fact::bytes(info, fact, index)))
        })
    })
}

/// Writes the reason why the handshake failed, for people, and a NUL, at most size bytes. After a
/// refused certificate, it has the names and the certificate in question. Returns the length of the
/// whole text, 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_error(
    handshake: *const Handshake,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(handshake, |progress| text::write(&progress.error, text, size)) })
}

/// Takes the connection after TERCEL_NEXT_CONNECTED. The handshake has to be freed nevertheless.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_handshake_take_connection(
    handshake: *mut Handshake,
    connection: *mut *mut Connection,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(connection, ptr::null_mut())?;
        with(handshake, |progress| {
            let taken = progress.connection.take().ok_or(TERCEL_MISUSE_NO_CONNECTION)?;
            place.set(Connection::handle(*taken, progress.side, progress.sessions.take()));
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../../wire/tests/material/host_names.txt");

    /// The table is shared by all places that take host names.
    #[test]
    fn each_name_of_the_table() {
        for row in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (text, expected) = row.split_once('\t').unwrap();
            let name = server_name(text.as_bytes()).map(|name| name.to_str().into_owned());
            let expected = match expected {
                "" => Err(TERCEL_CONFIG_BAD_SERVER_NAME),
                name => Ok(name.to_owned()),
            };
            assert_eq!(name, expected, "{text}");
        }
        assert_eq!(server_name(&[0xff]), Err(TERCEL_CONFIG_BAD_SERVER_NAME));
    }
}
