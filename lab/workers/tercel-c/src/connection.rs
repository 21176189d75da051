//! Ends of connections.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;

use lab_scenario::{
    Endpoint, Group, Outcome, Result, Row, Scheme, SendBuffer, Sink, Suite, Version,
};

use crate::configuration::Config;
use crate::ffi;
use crate::status::{done, failed, slice};

/// Buffers that a thread uses for all its connections.
pub(crate) struct Buffers {
    received: *mut ffi::Input,
    /// Output of the handshake.
    flight: *mut ffi::Output,
    /// Encrypted application data, and its length.
    sealed: SendBuffer,
    /// Decrypted application data.
    opened: Vec<u8>,
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the handles are valid and not used again.
        unsafe {
            ffi::tercel_input_free(self.received);
            ffi::tercel_output_free(self.flight);
        }
    }
}

/// Space for the content of a record and its type.
const OPENED_LENGTH: usize = 17 << 10;

/// One end of a connection.
pub(crate) struct Side<const CLIENT: bool> {
    /// Null after the handshake.
    handshake: *mut ffi::Handshake,
    /// Null before the handshake is complete.
    connection: *mut ffi::Connection,
    early_data: usize,
    /// A server's configuration, with what its application remembers.
    config: Option<Arc<Config>>,
}

impl<const CLIENT: bool> Drop for Side<CLIENT> {
    fn drop(&mut self) {
        // SAFETY: the handles are valid or null, and not used again.
        unsafe {
            ffi::tercel_handshake_free(self.handshake);
            ffi::tercel_connection_free(self.connection);
        }
    }
}

impl Side<true> {
    pub(crate) fn client(config: &Config, name: &str) -> Result<Self> {
        let mut handshake = ptr::null_mut();
        let (name, length) = (name.as_ptr().cast::<c_char>(), name.len());
        // SAFETY: the configuration is valid, and the name has this length.
        done(unsafe {
            ffi::tercel_handshake_client(config.as_ptr(), name, length, 0, &mut handshake)
        })?;
        Ok(Self { handshake, connection: ptr::null_mut(), early_data: 0, config: None })
    }
}

impl Side<false> {
    pub(crate) fn server(config: &Arc<Config>) -> Result<Self> {
        let mut handshake = ptr::null_mut();
        // SAFETY: the configuration is valid.
        done(unsafe { ffi::tercel_handshake_server(config.as_ptr(), &mut handshake) })?;
        let config = Some(Arc::clone(config));
        Ok(Self { handshake, connection: ptr::null_mut(), early_data: 0, config })
    }
}

impl<const CLIENT: bool> Side<CLIENT> {
    fn configuration(&self) -> Result<&Config> {
        self.config.as_deref().ok_or_else(|| "a client has no questions".into())
    }

    /// Answers the open question.
    fn answer(&mut self) -> Result<()> {
        // SAFETY: the handshake is valid.
        match unsafe { ffi::tercel_handshake_question(self.handshake) } {
            ffi::QUESTION_FIND_SESSION => self.find_session(),
            ffi::QUESTION_ADMIT_EARLY_DATA => self.admit_early_data(),
            other => Err(format!("question {other}").into()),
        }
    }

    fn find_session(&mut self) -> Result<()> {
        let mut single_use = 0;
        // SAFETY: the handshake is valid. The identity is not used after the answer.
        let identity = unsafe {
            let field = ffi::FIELD_SINGLE_USE;
            done(ffi::tercel_question_number(self.handshake, field, 0, &mut single_use))?;
            slice(ffi::tercel_question_bytes(self.handshake, ffi::FIELD_IDENTITY, 0))
        };
        let sessions = &mut self.configuration()?.application().sessions;
        let session = match single_use {
            1 => sessions.remove(identity),
            _ => sessions.get(identity).cloned(),
        };
        let (data, length) =
            session.as_ref().map_or((ptr::null(), 0), |session| (session.as_ptr(), session.len()));
        // SAFETY: the session has this length.
        done(unsafe { ffi::tercel_answer_session(self.handshake, data, length) })
    }

    fn admit_early_data(&mut self) -> Result<()> {
        // SAFETY: the handshake is valid. The value is copied before the answer.
        let unique =
            unsafe { slice(ffi::tercel_question_bytes(self.handshake, ffi::FIELD_UNIQUE, 0)) };
        let admitted = self.configuration()?.application().admitted.insert(unique.to_vec());
        // SAFETY: the handshake is valid.
        done(unsafe { ffi::tercel_answer_early_data(self.handshake, admitted.into()) })
    }

    /// Stores the sessions of a new connection.
    fn store_sessions(&self) -> Result<()> {
        let none = ffi::Bytes { data: ptr::null(), len: 0 };
        loop {
            let (mut identity, mut session, mut expires) = (none, none, 0);
            // SAFETY: the connection and the places of results are valid. The bytes are copied
            // before the next call.
            let (identity, session) = unsafe {
                done(ffi::tercel_connection_take_stored_session(
                    self.connection,
                    &mut identity,
                    &mut session,
                    &mut expires,
                ))?;
                (slice(identity), slice(session))
            };
            if session.is_empty() {
                return Ok(());
            }
            let sessions = &mut self.configuration()?.application().sessions;
            sessions.insert(identity.to_vec(), session.to_vec());
        }
    }

    /// Reads records until the input is empty.
    fn read(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        loop {
            let (mut filled, mut event) = (0, 0);
            let (out, room) = (buffers.opened.as_mut_ptr(), buffers.opened.len());
            // SAFETY: the handles are valid, and the buffer has this length.
            done(unsafe {
                ffi::tercel_connection_open(
                    self.connection,
                    buffers.received,
                    out,
                    room,
                    &mut filled,
                    &mut event,
                )
            })?;
            match event {
                ffi::EVENT_DATA => sink(buffers.opened.get(..filled).unwrap_or_default()),
                ffi::EVENT_RECEIVE => return Ok(()),
                other => return Err(format!("event {other}").into()),
            }
        }
    }

    /// The reason of a failed handshake.
    fn refused(&self, status: ffi::Status) -> Result<()> {
        if status == ffi::OK {
            return Ok(());
        }
        let mut text = [0_u8; 300];
        let (place, size) = (text.as_mut_ptr().cast::<c_char>(), text.len());
        // SAFETY: the handshake is valid, and the buffer has this length.
        let length = unsafe { ffi::tercel_handshake_error(self.handshake, place, size) };
        match CStr::from_bytes_until_nul(&text) {
            Ok(text) if length > 0 => Err(text.to_string_lossy().into_owned().into()),
            _ => Err(failed(status)),
        }
    }

    fn fact(&self, fact: u32) -> Result<u16> {
        // SAFETY: the connection is valid.
        Ok(u16::try_from(unsafe { ffi::tercel_connection_fact(self.connection, fact) })?)
    }
}

impl<const CLIENT: bool> Endpoint for Side<CLIENT> {
    type Buffers = Buffers;

    fn buffers(row: &Row, capacity: usize) -> Buffers {
        // SAFETY: the functions have no requirements. A null result leads to errors later.
        let (received, flight) =
            unsafe { (ffi::tercel_input_new(capacity), ffi::tercel_output_new()) };
        let (sealed, opened) = (SendBuffer::new(row, capacity), vec![0; OPENED_LENGTH]);
        Buffers { received, flight, sealed, opened }
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        // SAFETY: the input is valid, and the bytes have this length.
        done(unsafe { ffi::tercel_input_append(buffers.received, bytes.as_ptr(), bytes.len()) })?;
        Ok(bytes.len())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        while self.connection.is_null() {
            let mut next = 0;
            // SAFETY: the handles are valid.
            let status = unsafe {
                let (input, output) = (buffers.received, buffers.flight);
                ffi::tercel_handshake_advance(self.handshake, input, output, &mut next)
            };
            self.refused(status)?;
            match next {
                ffi::NEXT_RECEIVE => return Ok(()),
                ffi::NEXT_ANSWER => self.answer()?,
                // SAFETY: the handshake is valid.
                ffi::NEXT_EARLY_DATA => unsafe {
                    self.early_data += ffi::tercel_handshake_early_data(self.handshake).len;
                },
                ffi::NEXT_CONNECTED => {
                    let place = &mut self.connection;
                    // SAFETY: the handshake is valid, and not used again after it is freed.
                    unsafe {
                        done(ffi::tercel_handshake_take_connection(self.handshake, place))?;
                        ffi::tercel_handshake_free(self.handshake);
                    }
                    self.handshake = ptr::null_mut();
                    if self.config.as_ref().is_some_and(|config| config.stores) {
                        self.store_sessions()?;
                    }
                }
                other => return Err(format!("step {other}").into()),
            }
        }
        // After the handshake only tickets arrive.
        let mut data = false;
        self.read(buffers, &mut |_| data = true)?;
        if data { Err("data after a handshake".into()) } else { Ok(()) }
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        // SAFETY: the output is valid. The bytes are copied before it changes.
        unsafe {
            let bytes = slice(ffi::tercel_output_bytes(buffers.flight));
            wire.extend_from_slice(bytes);
            done(ffi::tercel_output_sent(buffers.flight, bytes.len()))?;
        }
        buffers.sealed.collect(wire);
        Ok(())
    }

    fn send_early(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let mut taken = 0;
        // SAFETY: the handles are valid, and the data has this length.
        done(unsafe {
            let (start, length, output) = (data.as_ptr(), data.len(), buffers.flight);
            ffi::tercel_handshake_seal_early(self.handshake, start, length, output, &mut taken)
        })?;
        if taken == data.len() { Ok(()) } else { Err("less early data is allowed".into()) }
    }

    fn outcome(&self) -> Result<Outcome> {
        if self.connection.is_null() {
            return Err("not connected".into());
        }
        let version = match self.fact(ffi::FACT_VERSION)? {
            0x0303 => Version::Tls12,
            _ => Version::Tls13,
        };
        let suite = Suite::of_number(self.fact(ffi::FACT_CIPHER_SUITE)?);
        let signed =
            if CLIENT { ffi::FACT_PEER_SIGNATURE_SCHEME } else { ffi::FACT_OWN_SIGNATURE_SCHEME };
        let certificate = ffi::FACT_CERTIFICATE;
        // SAFETY: the connection is valid.
        let leaf = unsafe { ffi::tercel_connection_fact_bytes(self.connection, certificate, 0) };
        Ok(Outcome {
            version,
            suite: suite.ok_or("an unknown suite")?,
            group: Group::of_number(self.fact(ffi::FACT_GROUP)?),
            scheme: Scheme::of_number(self.fact(signed)?),
            resumed: self.fact(ffi::FACT_RESUMED)? == 1,
            client_certificate: (!CLIENT).then_some(!leaf.data.is_null()),
            tickets: None,
            early_data: self.early_data,
        })
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        for piece in data.chunks(buffers.sealed.piece_size()) {
            // SAFETY: the connection is valid.
            let least = unsafe { ffi::tercel_connection_sealed_size(self.connection, piece.len()) };
            let room = buffers.sealed.space(least);
            let (mut taken, mut written) = (0, 0);
            // SAFETY: the connection is valid, and both buffers have these lengths.
            done(unsafe {
                ffi::tercel_connection_seal(
                    self.connection,
                    piece.as_ptr(),
                    piece.len(),
                    room.as_mut_ptr(),
                    room.len(),
                    &mut taken,
                    &mut written,
                )
            })?;
            if taken < piece.len() {
                return Err("a piece does not fit".into());
            }
            buffers.sealed.fill(written);
        }
        Ok(())
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        self.read(buffers, sink)
    }

    fn park(&mut self) -> Result<bool> {
        // SAFETY: the connection is valid.
        done(unsafe { ffi::tercel_connection_park(self.connection) })?;
        Ok(true)
    }
}
