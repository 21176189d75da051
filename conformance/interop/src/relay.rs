//! A TCP relay between a client and a server, which records the first bytes of each direction.
//!
//! The relay has three purposes. The client may start before the server listens, because the relay
//! retries its connection, so nothing has to probe the server's port. Neither program can block the
//! other, because the relay always reads. The recorded hellos show what was negotiated,
//! independently of the output of both programs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Result;

/// The number of recorded bytes: more than the plaintext part of any handshake.
const RECORDED: usize = 64 * 1024;

/// The first bytes of one direction.
pub(crate) type Recording = Arc<Mutex<Vec<u8>>>;

/// The recordings of both directions of a connection.
#[derive(Clone, Debug, Default)]
struct Wire {
    from_client: Recording,
    from_server: Recording,
}

/// A relay for successive connections. Dropping it stops waiting for more.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    stop: Arc<AtomicBool>,
    /// The connections that reached the server, in order.
    wires: Arc<Mutex<Vec<Wire>>>,
}

impl Relay {
    /// Listens on a free port of 127.0.0.1 and relays connections to these ports in turn.
    pub(crate) fn start(server_ports: Vec<u16>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let relay = Self {
            port: listener.local_addr()?.port(),
            stop: Arc::default(),
            wires: Arc::default(),
        };
        let (stop, wires) = (relay.stop.clone(), relay.wires.clone());
        thread::spawn(move || {
            for server_port in server_ports.into_iter().cycle() {
                let accept = || listener.accept().ok().map(|(client, _)| client);
                let Some(client) = until(&stop, accept) else { return };
                let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, server_port)).ok();
                let Some(server) = until(&stop, connect) else { return };
                let wire = Wire::default();
                wires.lock().unwrap_or_else(PoisonError::into_inner).push(wire.clone());
                join(client, server, wire);
            }
        });
        Ok(relay)
    }

    /// The port to which the client connects.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The number of connections that the server has accepted.
    pub(crate) fn connections(&self) -> usize {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The first bytes from the client of this connection, counted from 0.
    pub(crate) fn client_bytes(&self, connection: usize) -> Vec<u8> {
        self.recorded(connection, |wire| &wire.from_client)
    }

    /// The first bytes from the server of this connection.
    pub(crate) fn server_bytes(&self, connection: usize) -> Vec<u8> {
        self.recorded(connection, |wire| &wire.from_server)
    }

    fn recorded(&self, connection: usize, direction: impl Fn(&Wire) -> &Recording) -> Vec<u8> {
        let wires = self.wires.lock().unwrap_or_else(PoisonError::into_inner);
        let recording = wires.get(connection).map(direction);
        recording.map_or(Vec::new(), |recording| {
            recording.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn until<T>(stop: &AtomicBool, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(value) = attempt() {
            return Some(value);
        }
        thread::sleep(Duration::from_millis(5));
    }
    None
}

fn join(client: TcpStream, server: TcpStream, wire: Wire) {
    // The socket was accepted from a non-blocking listener; whether it inherits that mode depends
    // on the platform.
    let ready = client.set_nonblocking(false).is_ok();
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    if ready {
        carry(client, server, wire.from_client);
        carry(server_again, client_again, wire.from_server);
    }
}

/// Relays one direction: one thread always reads, another writes the bytes that were read.
fn carry(mut from: TcpStream, mut to: TcpStream, recording: Recording) {
    let (sender, receiver) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        // An error, such as a reset, ends the direction like an end of input.
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let bytes = &buffer[..count];
            let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            let room = RECORDED.saturating_sub(recording.len()).min(count);
            recording.extend_from_slice(&bytes[..room]);
            drop(recording);
            if sender.send(bytes.to_vec()).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for bytes in receiver {
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // The other end may already be closed.
        let _ = to.shutdown(Shutdown::Write);
    });
}
