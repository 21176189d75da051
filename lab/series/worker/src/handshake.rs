//! Connections in memory, from their making to their end, both sides in one thread.
//!
//! As `s_time` has it against `s_server`: a client that resumes offers the same session each time, no tickets are
//! read but those of the handshake that the session comes from, and connections end without a word.
//! Must not know: configurations. Next: `contexts.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lab_scenario::series::CONNECTION;
use lab_scenario::{Measurement, Meter, Prepared, Result, Wire};

use crate::contexts::{Context, Contexts};
use crate::ffi;
use crate::library::{check, failure, some};
use crate::transport;

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// More exchanges than any handshake needs.
const MAX_TURNS: usize = 8;

/// More than any flight.
const FLIGHT: usize = 32 << 10;

/// For so long connections are made before any is measured.
const WARM_UP: Duration = Duration::from_millis(20);

/// One thread's connections.
pub(crate) fn prepare(contexts: Arc<Contexts>) -> Result<Box<dyn Prepared>> {
    let mut connections = Connections {
        contexts,
        session: None,
        meter: Meter::new(),
        wires: [Wire::new(FLIGHT), Wire::new(FLIGHT)],
        between: Vec::with_capacity(FLIGHT),
        done: BTreeMap::new(),
    };
    if connections.contexts.asked.resumed {
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
    /// What a client resumes.
    session: Option<Session>,
    meter: Meter<2>,
    wires: [Wire; 2],
    between: Vec<u8>,
    done: BTreeMap<String, String>,
}

impl Prepared for Connections {
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
    /// One connection of the kind asked, checked on both sides.
    fn connect(&mut self) -> Result<()> {
        let (client, server) = self.handshake(false)?;
        if self.wires.iter().any(Wire::has_more) {
            return Err("something was not read".into());
        }
        let resumed = self.session.is_some();
        // SAFETY: both live and have ended their handshakes.
        unsafe {
            self.done = self.contexts.seen(client.ssl, resumed)?;
            self.contexts.seen(server.ssl, resumed)?;
        }
        self.meter.time::<CLIENT, _>(|| drop(client));
        self.meter.time::<SERVER, _>(|| drop(server));
        Ok(())
    }

    /// Makes a first connection and keeps its session, once a ticket has come.
    fn find_session(&mut self) -> Result<()> {
        let (client, _server) = self.handshake(true)?;
        let mut byte = 0_u8;
        // In TLS 1.2 there is nothing more to read, which is no harm.
        // SAFETY: the buffer has the length that is told, and the session is ours.
        let session = unsafe {
            transport::lend(client.bio, &mut self.wires[CLIENT], || {
                ffi::SSL_read(client.ssl, (&raw mut byte).cast(), 1)
            });
            ffi::SSL_get1_session(client.ssl)
        };
        self.session = Some(Session(some("SSL_get1_session", session)?));
        Ok(())
    }

    /// Both ends, connected. Tickets that come after the handshake wait in the wire, if they are wanted.
    fn handshake(&mut self, tickets: bool) -> Result<(End, End)> {
        let Self { contexts, session, meter, wires: [to_client, to_server], between, .. } = self;
        let mut client =
            meter.time::<CLIENT, _>(|| End::client(&contexts.client, session.as_ref()))?;
        let mut server = meter.time::<SERVER, _>(|| End::server(&contexts.server))?;
        for _ in 0..MAX_TURNS {
            meter.time::<CLIENT, _>(|| client.advance(to_client))?;
            pass(to_client, to_server, between)?;
            meter.time::<SERVER, _>(|| server.advance(to_server))?;
            // What comes after the client's end of the handshake are tickets.
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
        Err("the two sides never finish".into())
    }
}

/// Moves what one side sent to the other.
fn pass(from: &mut Wire, to: &mut Wire, between: &mut Vec<u8>) -> Result<()> {
    between.clear();
    from.collect(between);
    if to.deliver(between) < between.len() { Err("a flight too long".into()) } else { Ok(()) }
}

/// A session that a client resumes.
struct Session(*mut ffi::SSL_SESSION);

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the reference is ours.
        unsafe { ffi::SSL_SESSION_free(self.0) };
    }
}

/// One end of a connection.
struct End {
    ssl: *mut ffi::SSL,
    /// The connection's, which frees it.
    bio: *mut ffi::BIO,
    connected: bool,
}

impl End {
    fn client(context: &Context, session: Option<&Session>) -> Result<Self> {
        let end = Self::new(context)?;
        // SAFETY: the connection is ours, and takes a reference to the session.
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
        // SAFETY: the connection is ours.
        unsafe { ffi::SSL_set_accept_state(end.ssl) };
        Ok(end)
    }

    fn new(context: &Context) -> Result<Self> {
        // SAFETY: the context lives, and the connection is freed when dropped.
        let ssl = some("SSL_new", unsafe { ffi::SSL_new(context.0) })?;
        let mut end = Self { ssl, bio: std::ptr::null_mut(), connected: false };
        end.bio = transport::new()?;
        // SAFETY: the connection takes the BIO.
        unsafe { ffi::SSL_set_bio(end.ssl, end.bio, end.bio) };
        Ok(end)
    }

    /// Goes on with the handshake as far as possible.
    fn advance(&mut self, wire: &mut Wire) -> Result<()> {
        if self.connected {
            return Ok(());
        }
        let ssl = self.ssl;
        // SAFETY: the connection is ours.
        let result = transport::lend(self.bio, wire, || unsafe { ffi::SSL_do_handshake(ssl) });
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
        // Or OpenSSL takes the connection for broken and forgets its session. SSL_clear(3)
        // SAFETY: the connection is ours.
        unsafe {
            ffi::SSL_set_shutdown(self.ssl, ffi::SSL_SENT_SHUTDOWN | ffi::SSL_RECEIVED_SHUTDOWN);
            ffi::SSL_free(self.ssl);
        }
    }
}
