//! Connections.

use core::ffi::c_char;
use core::ptr;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tercel::client::CertificateRequested;
use tercel::server::{CertificateRequester, ClientAuth as CoreClientAuth, ClientCertificate};
use tercel::wire::AlertDescription;
use tercel::{
    Connection as CoreConnection, Error, Exporter, Filled, Opened, ReceiveBuffer, Receiver, Sender,
};
use zeroize::Zeroizing;

use crate::config::codes::{
    ClientAuth, Side, TERCEL_CLIENT_AUTH_OPTIONAL, TERCEL_CLIENT_AUTH_REQUIRED,
};
use crate::credential::Credential;
use crate::entry::bytes::Bytes;
use crate::entry::owned::{self, Owned, with};
use crate::entry::pointers::{Memory, Place};
use crate::entry::{Result, entry, shared, text, value};
use crate::fact::{Fact, Facts};
use crate::input::Input;
use crate::output::Output;
use crate::sessions::{GivenSessions, NewSession};
use crate::status::codes::{
    TERCEL_MISUSE_INVALID_ARGUMENT, TERCEL_MISUSE_KEY_NOT_LOCAL,
    TERCEL_MISUSE_NO_CERTIFICATE_REQUEST, TERCEL_MISUSE_UNKNOWN_NUMBER, TERCEL_MISUSE_WRONG_HALF,
};
use crate::status::{self, Status};

/// An established connection, or one half of it.
pub struct Connection(Owned<State, Arc<Facts>>);

owned_handle!(Connection, State, Arc<Facts>);

/// The parts of a connection that are in this half.
pub struct State {
    sending: Option<Sending>,
    receiving: Option<Receiving>,
    error: String,
}

/// The sending half.
struct Sending {
    sender: Sender,
    exporter: Exporter,
    early_exporter: Option<Box<Exporter>>,
    requester: Option<CertificateRequester>,
    requests: Requests,
    /// Sessions for a server's application to store, last first.
    stored: Vec<StoredSession>,
    taken: Option<StoredSession>,
}

/// Requests that a client has not answered, in the order of their events. The receiving half adds
/// them, the sending one answers them.
#[derive(Clone, Default)]
struct Requests(Arc<Mutex<VecDeque<CertificateRequested>>>);

impl Requests {
    fn open(&self) -> MutexGuard<'_, VecDeque<CertificateRequested>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first request if it can be answered with this credential.
    fn take_for(&self, credential: Option<&tercel::Credential>) -> Result<CertificateRequested> {
        let mut requests = self.open();
        let request = requests.front().ok_or(TERCEL_MISUSE_NO_CERTIFICATE_REQUEST)?;
        if let Some(credential) = credential {
            if credential.is_remote() {
                return Err(TERCEL_MISUSE_KEY_NOT_LOCAL);
            }
            if request.request().scheme_for(credential).is_none() {
                return Err(TERCEL_MISUSE_INVALID_ARGUMENT);
            }
        }
        requests.pop_front().ok_or(TERCEL_MISUSE_NO_CERTIFICATE_REQUEST)
    }
}

/// A session for a server's application, which is wiped when it is dropped.
struct StoredSession {
    id: Vec<u8>,
    new: NewSession,
}

impl From<tercel::session::NewSession> for StoredSession {
    fn from(stored: tercel::session::NewSession) -> Self {
        let session = Zeroizing::new(stored.session);
        Self { id: stored.id, new: NewSession { session, expires: stored.expires.as_secs() } }
    }
}

/// The receiving half.
struct Receiving {
    receiver: Receiver,
    sessions: Option<Arc<GivenSessions>>,
    /// The session that was taken last.
    taken: Option<NewSession>,
    /// The rest of a record that did not fit in the caller's memory.
    rest: Rest,
    requests: Requests,
    client_certificate: Option<ClientCertificate>,
}

/// Plaintext that the caller has not read yet.
#[derive(Default)]
struct Rest {
    data: Zeroizing<Vec<u8>>,
    read: usize,
}

impl Rest {
    /// Copies as much as fits. Returns the number of bytes.
    fn read(&mut self, out: &mut [u8]) -> usize {
        let rest = &self.data[self.read..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        if self.read == self.data.len() {
            *self = Self::default();
        }
        count
    }
}

impl Connection {
    /// Creates the handle of a new connection.
    pub(crate) fn handle(
        connection: CoreConnection,
        side: Side,
        sessions: Option<Arc<GivenSessions>>,
    ) -> *mut Self {
        let CoreConnection { sender, receiver, mut info, exporter, early_exporter, requester } =
            connection;
        let stored = info.take_new_sessions().into_iter().rev().map(Into::into).collect();
        let requests = Requests::default();
        let state = State {
            sending: Some(Sending {
                sender,
                exporter,
                early_exporter,
                requester,
                requests: requests.clone(),
                stored,
                taken: None,
            }),
            receiving: Some(Receiving {
                receiver,
                sessions,
                taken: None,
                rest: Rest::default(),
                requests,
                client_certificate: None,
            }),
            error: String::new(),
        };
        owned::with_fixed(state, Arc::new(Facts::new(info, side)))
    }
}

impl State {
    /// Calls `body` with the sending half.
    fn send<R>(
        &mut self,
        body: impl FnOnce(&mut Sending) -> core::result::Result<R, Error>,
    ) -> Result<R> {
        let sending = self.sending.as_mut().ok_or(TERCEL_MISUSE_WRONG_HALF)?;
        body(sending).map_err(|error| self.fail(error))
    }

    fn sending(&mut self) -> Result<&mut Sending> {
        self.sending.as_mut().ok_or(TERCEL_MISUSE_WRONG_HALF)
    }

    fn receiving(&mut self) -> Result<&mut Receiving> {
        self.receiving.as_mut().ok_or(TERCEL_MISUSE_WRONG_HALF)
    }

    /// Remembers the text of an error, and returns its code.
    fn fail(&mut self, error: Error) -> Status {
        let refusal = self.receiving.as_ref().and_then(|half| half.receiver.refusal());
        self.error = match refusal {
            Some(refusal) if matches!(error, Error::Refused(_)) => refusal.to_string(),
            _ => error.to_string(),
        };
        status::of(error)
    }
}

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

/// Frees a connection, or one half. NULL has no effect. Without tercel_connection_close before, the
/// peer cannot distinguish the end from an attack.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_free(connection: *mut Connection) {
    // SAFETY: the caller's duty.
    _ = entry(|| unsafe { owned::free(connection) });
}

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
        Memory::separate(&[out, taken.memory(), written.memory()], &[data])?;
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
                let places = [filled.memory(), event.memory()];
                Memory::separate(
                    &[out, places[0], places[1]],
                    &[Memory::range(input.memory()), kept],
                )?;
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
                let places = [data.memory(), event.memory()];
                Memory::separate(&places, &[Memory::range(input.memory())])?;
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

/// Fills memory with keying material for this label and context. Both may be NULL and 0; in TLS 1.2
/// an absent context differs from an empty one, which is a pointer and 0. RFC 9846 7.5, RFC 5705
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_export(
    connection: *const Connection,
    label: *const u8,
    label_len: usize,
    context: *const u8,
    context_len: usize,
    out: *mut u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let label = Memory::or_empty(label, label_len)?;
        let absent = context.is_null();
        let context = Memory::or_empty(context, context_len)?;
        let out = Memory::new(out, len)?;
        Memory::separate(&[out], &[label, context])?;
        with(connection, |state| {
            let context = Some(context.read()).filter(|_| !absent);
            state.send(|half| half.exporter.export(label.read(), context, out.write()))
        })
    })
}

/// As tercel_connection_export, with the secret of early data, if early data was accepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_export_early(
    connection: *const Connection,
    label: *const u8,
    label_len: usize,
    context: *const u8,
    context_len: usize,
    out: *mut u8,
    len: usize,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let label = Memory::or_empty(label, label_len)?;
        let context = Memory::or_empty(context, context_len)?;
        let out = Memory::new(out, len)?;
        Memory::separate(&[out], &[label, context])?;
        with(connection, |state| {
            state.send(|half| match &half.early_exporter {
                Some(exporter) => exporter.export(label.read(), Some(context.read()), out.write()),
                None => Err(tercel::error::Misuse::InvalidArgument.into()),
            })
        })
    })
}

/// Returns a fact that is a number; 0 if it is absent. Both halves have all facts, and any thread
/// can read them, also while another one uses the connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_fact(connection: *const Connection, fact: Fact) -> u64 {
    // SAFETY: the caller's duty.
    value(|| unsafe { owned::with_fixed_part(connection, |facts| Ok(facts.number(fact))) })
}

/// Returns a fact that consists of bytes; data is NULL if it is absent, or has no value at this
/// index. Facts with one value have it at index 0. They are valid until this handle is freed. Any
/// thread can read them, as tercel_connection_fact.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_fact_bytes(
    connection: *const Connection,
    fact: Fact,
    index: usize,
) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe { owned::with_fixed_part(connection, |facts| Ok(facts.bytes(fact, index))) })
}

/// Client: takes a session that a later connection can offer with tercel_handshake_offer_session,
/// and stores the time at which it expires, in seconds since 1970. Data is NULL if there is none
/// now; a TLS 1.3 server sends sessions after the handshake, so ask again after
/// tercel_connection_open.
///
/// The bytes are valid until the next call of this function. They contain secrets. Offer each
/// session once, and remove those of a TLS 1.2 connection that fails. The configuration needs
/// TERCEL_SESSIONS_GIVEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_take_session(
    connection: *mut Connection,
    session: *mut Bytes,
    expires: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let (mut place, mut expires) = (Place::new(session, Bytes::NONE)?, Place::new(expires, 0)?);
        with(connection, |state| {
            let half = state.receiving()?;
            half.taken = half.sessions.as_ref().and_then(|sessions| sessions.take_new());
            if let Some(new) = &half.taken {
                place.set(Bytes::some(&new.session));
                expires.set(new.expires);
            }
            Ok(())
        })
    })
}

/// Server: takes a session that the caller has to store under its identity, for the answer to
/// TERCEL_QUESTION_FIND_SESSION, and stores the time at which it expires, in seconds since 1970.
/// Data is NULL if there is none.
///
/// The bytes are valid until the next call of this function. They contain secrets. Remove the
/// session of a TLS 1.2 connection that fails. The configuration needs TERCEL_ASK_FIND_SESSION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_take_stored_session(
    connection: *mut Connection,
    identity: *mut Bytes,
    session: *mut Bytes,
    expires: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut identity = Place::new(identity, Bytes::NONE)?;
        let (mut place, mut expires) = (Place::new(session, Bytes::NONE)?, Place::new(expires, 0)?);
        with(connection, |state| {
            let half = state.sending()?;
            half.taken = half.stored.pop();
            if let Some(StoredSession { id, new }) = &half.taken {
                identity.set(Bytes::some(id));
                place.set(Bytes::some(&new.session));
                expires.set(new.expires);
            }
            Ok(())
        })
    })
}

/// Client: answers TERCEL_EVENT_CERTIFICATE_REQUESTED with a credential, whose key is in the
/// library, or declines with NULL. Appends the messages to the output. After a split, it is a
/// function of the sending half. Several requests are answered in the order of their events. After
/// an error of the class TERCEL_CLASS_MISUSE, the request remains to be answered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_authenticate(
    connection: *mut Connection,
    credential: *const Credential,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let credential = if credential.is_null() { None } else { Some(shared::get(credential)?) };
        with(connection, |state| {
            with(output, |output| {
                let credential = credential.as_ref().map(|credential| &credential.0);
                let request = state.sending()?.requests.take_for(credential.map(Arc::as_ref))?;
                state.send(|half| half.sender.authenticate(request, credential, output.bytes()))
            })
        })
    })
}

/// Server: requests a certificate of the client, TERCEL_CLIENT_AUTH_OPTIONAL or _REQUIRED. Appends
/// the message to the output. The answer is TERCEL_EVENT_CLIENT_CERTIFICATE. Not after a split.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_request_certificate(
    connection: *mut Connection,
    demand: ClientAuth,
    output: *mut Output,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let demand = match demand {
            TERCEL_CLIENT_AUTH_OPTIONAL => CoreClientAuth::Optional,
            TERCEL_CLIENT_AUTH_REQUIRED => CoreClientAuth::Required,
            _ => return Err(TERCEL_MISUSE_UNKNOWN_NUMBER),
        };
        with(connection, |state| {
            with(output, |output| {
                let State { sending: Some(sending), receiving: Some(receiving), .. } = state else {
                    return Err(TERCEL_MISUSE_WRONG_HALF);
                };
                let mut request = |sending: &mut Sending, receiving: &mut Receiving| {
                    let requester = sending.requester.as_ref();
                    let requester = requester.ok_or(tercel::error::Misuse::NoPostHandshakeAuth)?;
                    let sender = &mut sending.sender;
                    let pending = sender.request_certificate(requester, demand, output.bytes())?;
                    receiving.receiver.expect(pending)
                };
                request(sending, receiving).map_err(|error| state.fail(error))
            })
        })
    })
}

/// Server: returns a certificate (DER) of the last TERCEL_EVENT_CLIENT_CERTIFICATE, the leaf at
/// index 0. Data is NULL behind the last one, and if the client declined. It was verified.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_client_certificate(
    connection: *const Connection,
    index: usize,
) -> Bytes {
    // SAFETY: the caller's duty.
    value(|| unsafe {
        with(connection, |state| {
            let certificate = state.receiving()?.client_certificate.as_ref();
            let identity = certificate.and_then(ClientCertificate::identity);
            let der = identity.and_then(|identity| identity.chain.get(index));
            Ok(Bytes::optional(der.map(AsRef::as_ref)))
        })
    })
}

/// Frees memory of a connection that is idle. The next function with the connection restores it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_park(connection: *mut Connection) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        with(connection, |state| {
            if let Some(half) = &mut state.sending {
                half.sender.park();
            }
            if let Some(half) = &mut state.receiving {
                half.receiver.park();
            }
            Ok(())
        })
    })
}

/// Moves the receiving half of a connection to a handle of its own, so that one thread can send
/// while another receives. The first handle keeps the sending half and the exporter; both have the
/// facts. Both have to be freed. tercel_connection_flush is a function of the sending half: call it
/// when the receiving one returns an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_split(
    connection: *mut Connection,
    receiving: *mut *mut Connection,
) -> Status {
    // SAFETY: the caller's duty.
    entry(|| unsafe {
        let mut place = Place::new(receiving, ptr::null_mut())?;
        let facts = owned::with_fixed_part(connection, |facts| Ok(Arc::clone(facts)))?;
        with(connection, |state| {
            if state.sending.is_none() {
                return Err(TERCEL_MISUSE_WRONG_HALF);
            }
            let half = state.receiving.take().ok_or(TERCEL_MISUSE_WRONG_HALF)?;
            let state = State { sending: None, receiving: Some(half), error: String::new() };
            place.set(owned::with_fixed(state, facts));
            Ok(())
        })
    })
}

/// Writes the reason why the connection failed, for people, and a NUL, at most size bytes. Returns
/// the length of the whole text, 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tercel_connection_error(
    connection: *const Connection,
    text: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the caller's duty.
    value(|| unsafe { with(connection, |state| text::write(&state.error, text, size)) })
}
