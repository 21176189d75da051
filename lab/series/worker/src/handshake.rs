//! Connections in memory with both sides in one thread, from creation to release.
//!
//! Connections are like those of `s_time` and `s_server`: a client that resumes offers the same
//! session each time, tickets are read only in the handshake that creates the session, and
//! connections end without close_notify.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lab_scenario::series::CONNECTION;
use lab_scenario::{Measurement, Meter, PreparedTask, Result, TransportBuffers};

use crate::contexts::{Context, Contexts};
use crate::ffi;
use crate::library::{check, failure, some};
use crate::transport;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// The maximum number of exchanges, which is more than any correct handshake needs.
const MAX_EXCHANGES: usize = 8;

/// The size of buffers, which exceeds any flight.
const MAX_FLIGHT: usize = 32 << 10;

/// The duration of the warm-up.
const WARM_UP: Duration = Duration::from_millis(20);

/// Prepares the connections of a thread.
pub(crate) fn prepare(contexts: Arc<Contexts>) -> Result<Box<dyn PreparedTask>> {
    let mut connections = Connections {
        contexts,
        session: None,
        meter: Meter::new(),
        wires: [TransportBuffers::new(MAX_FLIGHT), TransportBuffers::new(MAX_FLIGHT)],
        between: Vec::with_capacity(MAX_FLIGHT),
        done: BTreeMap::new(),
    };
    if connections.contexts.expected.resumed {
        connections.find_session()?;
    }
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        connections.connect()?;
    }
    Ok(Box::new(connections))
}

struct Connections {
    contexts: Arc<Contexts>,
    /// The session that clients resume.
    session: Option<Session>,
    meter: Meter<2>,
    wires: [TransportBuffers; 2],
    between: Vec<u8>,
    done: BTreeMap<String, String>,
}

impl PreparedTask for Connections {
    fn measure(&mut self, budget: Duration) -> Result<Measurement> {
        self.meter.reset();
        let (start, mut repetitions) = (Instant::now(), 0);
        while repetitions == 0 || start.elapsed() < budget {
            self.connect()?;
            repetitions += 1;
        }
        let [client, server] =
            [CLIENT, SERVER].map(|part| self.meter.nanoseconds(part, repetitions));
        Ok(Measurement {
            repetitions,
            sides: [(CONNECTION.to_owned(), client + server)].into(),
            parts: [("client".to_owned(), client), ("server".to_owned(), server)].into(),
            done: self.done.clone(),
            ..Measurement::default()
        })
    }
}

impl Connections {
    /// Makes one connection of the requested kind and checks both sides.
    fn connect(&mut self) -> Result<()> {
        let (client, server) = self.handshake(false)?;
        if self.wires.iter().any(TransportBuffers::has_unread) {
            return Err("unread data is left".into());
        }
        let resumed = self.session.is_some();
        // SAFETY: both are valid and have completed their handshakes.
        unsafe {
            self.done = self.contexts.negotiated(client.ssl, resumed)?;
            self.contexts.negotiated(server.ssl, resumed)?;
        }
        self.meter.time::<CLIENT, _>(|| drop(client));
        self.meter.time::<SERVER, _>(|| drop(server));
        Ok(())
    }

    /// Makes a first connection and stores its session, after a ticket has arrived.
    fn find_session(&mut self) -> Result<()> {
        let (client, _server) = self.handshake(true)?;
        let mut byte = 0_u8;
        // In TLS 1.2 there is nothing more to read, which is harmless.
        // SAFETY: the buffer has the given length, and the session is owned here.
        let session = unsafe {
            transport::with_buffers(client.bio, &mut self.wires[CLIENT], || {
                ffi::SSL_read(client.ssl, (&raw mut byte).cast(), 1)
            });
            ffi::SSL_get1_session(client.ssl)
        };
        self.session = Some(Session(some("SSL_get1_session", session)?));
        Ok(())
    }

    /// Connects both ends. Tickets after the handshake stay in the wire if requested.
    fn handshake(&mut self, tickets: bool) -> Result<(End, End)> {
        let Self { contexts, session, meter, wires: [to_client, to_server], between, .. } = self;
        let mut client =
            meter.time::<CLIENT, _>(|| End::client(&contexts.client, session.as_ref()))?;
        let mut server = meter.time::<SERVER, _>(|| End::server(&contexts.server))?;
        for _ in 0..MAX_EXCHANGES {
            meter.time::<CLIENT, _>(|| client.advance(to_client))?;
            pass(to_client, to_server, between)?;
            meter.time::<SERVER, _>(|| server.advance(to_server))?;
            // Data that arrives after the client's handshake has ended consists of tickets.
            if client.connected && !tickets {
                between.clear();
                to_server.collect(between);
            } else {
                pass(to_server, to_client, between)?;
            }
            if client.connected && server.connected {
                return Ok((client, server));
            }
        }
        Err("the handshake does not complete".into())
    }
}

/// Moves the output of one side to the other.
fn pass(
    from: &mut TransportBuffers,
    to: &mut TransportBuffers,
    between: &mut Vec<u8>,
) -> Result<()> {
    between.clear();
    from.collect(between);
    if to.deliver(between) < between.len() { Err("the flight is too long".into()) } else { Ok(()) }
}

/// A session that a client resumes.
struct Session(*mut ffi::SSL_SESSION);

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the reference is owned here.
        unsafe { ffi::SSL_SESSION_free(self.0) };
    }
}

/// One end of a connection.
struct End {
    ssl: *mut ffi::SSL,
    /// The BIO, which the connection owns.
    bio: *mut ffi::BIO,
    connected: bool,
}

impl End {
    fn client(context: &Context, session: Option<&Session>) -> Result<Self> {
        let end = Self::new(context)?;
        // SAFETY: the connection is valid and takes a reference to the session.
        unsafe {
            ffi::SSL_set_connect_state(end.ssl);
            if let Some(session) = session {
                check("SSL_set_session", ffi::SSL_set_session(end.ssl, session.0))?;
            }
        }
        Ok(end)
    }

    fn server(context: &Context) -> Result<Self> {
        let end = Self::new(context)?;
        // SAFETY: the connection is valid.
        unsafe { ffi::SSL_set_accept_state(end.ssl) };
        Ok(end)
    }

    fn new(context: &Context) -> Result<Self> {
        // SAFETY: the context is valid, and the connection is freed when dropped.
        let ssl = some("SSL_new", unsafe { ffi::SSL_new(context.0) })?;
        let mut end = Self { ssl, bio: std::ptr::null_mut(), connected: false };
        end.bio = transport::new()?;
        // SAFETY: the connection takes ownership of the BIO.
        unsafe { ffi::SSL_set_bio(end.ssl, end.bio, end.bio) };
        Ok(end)
    }

    /// Continues the handshake as far as possible.
    fn advance(&mut self, wire: &mut TransportBuffers) -> Result<()> {
        if self.connected {
            return Ok(());
        }
        let ssl = self.ssl;
        // SAFETY: the connection is valid.
        let result =
            transport::with_buffers(self.bio, wire, || unsafe { ffi::SSL_do_handshake(ssl) });
        if result == 1 {
            self.connected = true;
            return Ok(());
        }
        // SAFETY: as above, and it is the result of the last call.
        match unsafe { ffi::SSL_get_error(ssl, result) } {
            ffi::SSL_ERROR_WANT_READ => Ok(()),
            code => Err(failure(&format!("SSL_get_error {code}"))),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // Without this, OpenSSL treats the connection as broken and removes its session.
        // SSL_clear(3)
        // SAFETY: the connection is valid.
        unsafe {
            ffi::SSL_set_shutdown(self.ssl, ffi::SSL_SENT_SHUTDOWN | ffi::SSL_RECEIVED_SHUTDOWN);
            ffi::SSL_free(self.ssl);
        }
    }
}
