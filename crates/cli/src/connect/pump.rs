//! Carries standard input to the peer and the peer's data to standard output, both at once.
//!
//! The halves of a connection are independent values, so there is no lock: this thread owns the receiver,
//! a second one the sender, a third reads standard input. The sender's thread waits on a channel, on which
//! standard input puts its data and the receiver rings when a protocol message may have to be sent.
//! Must not know: how the connection came about. Next: [`crate::explain`].

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver as Inbox, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use tercel::{CertificateRequested, Connection, Error, Local, Opened, Received, Receiver, Sender};

use crate::explain;
use crate::negotiated::subject;

/// How bytes are carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// How long a peer that owes us something may be silent.
    pub(crate) patience: Duration,
    /// Whether the server may still ask for a certificate, which nobody can show who has closed.
    pub(crate) awaits_request: bool,
    /// Whether nothing is said about requests.
    pub(crate) quiet: bool,
}

/// Runs until the peer closes. `first` leaves before anything else.
pub(crate) fn run(
    socket: TcpStream,
    connection: Connection,
    received: Received,
    first: Vec<u8>,
    terms: Terms,
) -> Result<()> {
    let socket = Arc::new(socket);
    let (events, inbox) = mpsc::sync_channel(EVENTS);
    let shared = Arc::new(Shared::default());

    let stdin_events = events.clone();
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read_input(io::stdin().lock(), &stdin_events))?;

    let (ended, outcome) = mpsc::sync_channel(1);
    let outgoing = Outgoing {
        sender: connection.sender,
        socket: Arc::clone(&socket),
        sealed: first,
        shared: Arc::clone(&shared),
        terms,
    };
    thread::Builder::new().name("sender".to_owned()).spawn(move || {
        let shared = Arc::clone(&outgoing.shared);
        let result = outgoing.run(&inbox);
        // Also after a failure: nothing will be sent that could keep the peer talking.
        shared.closed.get_or_init(Instant::now);
        // If nobody waits for the outcome any more, the program is ending anyway.
        let _ = ended.send(result);
    })?;

    let mut incoming =
        Incoming { receiver: connection.receiver, received, socket, events, shared, terms };
    let read = incoming.run();
    // The sender may be stuck in a write that the peer no longer reads, so it is not waited for long. It
    // has an alert to send if reading failed, and close_notify if it did not.
    incoming.shared.reading_ended.get_or_init(Instant::now);
    incoming.ring();
    let written = outcome.recv_timeout(FAREWELL);
    read?;
    match written {
        Ok(Err(error)) => Err(error),
        _ => Ok(()),
    }
}

/// What the sender's thread is told.
enum Event {
    /// Bytes from standard input.
    Data(Vec<u8>),
    /// Standard input has ended, or failed.
    End(io::Result<()>),
    /// The receiver may have something for the sender to say.
    Ring,
}

/// When each direction ended, if it has.
#[derive(Default)]
struct Shared {
    /// We sent close_notify, or sending failed.
    closed: OnceLock<Instant>,
    /// The peer closed, or reading failed.
    reading_ended: OnceLock<Instant>,
    /// Requests for a certificate that wait for the sender; the library lets through a few only.
    requests: Mutex<Vec<CertificateRequested>>,
}

fn read_input(mut input: impl Read, events: &SyncSender<Event>) {
    loop {
        let mut buffer = vec![0; PIECE];
        let event = match input.read(&mut buffer) {
            Ok(0) => Event::End(Ok(())),
            Ok(count) => {
                buffer.truncate(count);
                Event::Data(buffer)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Event::End(Err(error)),
        };
        let last = matches!(event, Event::End(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}

/// The direction to the peer.
struct Outgoing {
    sender: Sender,
    socket: Arc<TcpStream>,
    sealed: Vec<u8>,
    shared: Arc<Shared>,
    terms: Terms,
}

impl Outgoing {
    fn run(mut self, inbox: &Inbox<Event>) -> Result<()> {
        self.send()?;
        let mut input = None;
        loop {
            let event = if input.is_some() && self.terms.awaits_request {
                inbox.recv_timeout(self.terms.patience)
            } else {
                inbox.recv().map_err(RecvTimeoutError::from)
            };
            if self.shared.reading_ended.get().is_some() {
                break;
            }
            self.answer_requests()?;
            match event {
                Ok(Event::Data(data)) => {
                    self.sender.seal_to(&data, &mut self.sealed)?;
                    self.send()?;
                }
                Ok(Event::End(result)) => input = Some(result),
                Ok(Event::Ring) => {
                    self.sender.control(&mut self.sealed)?;
                    self.send()?;
                }
                Err(RecvTimeoutError::Timeout) => self.terms.awaits_request = false,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if input.is_some() && !self.terms.awaits_request {
                self.close()?;
                self.shared.closed.get_or_init(Instant::now);
            }
        }
        self.close()?;
        input.unwrap_or(Ok(())).context("cannot read standard input")
    }

    /// Shows our certificate, or says that there is none that fits.
    fn answer_requests(&mut self) -> Result<()> {
        let requests = match self.shared.requests.lock() {
            Ok(mut requests) => std::mem::take(&mut *requests),
            Err(_) => return Err(anyhow!("the thread that reads has failed")),
        };
        for request in requests {
            let credential = request.select()?;
            match self.sender.authenticate(request, credential.as_ref(), &mut self.sealed) {
                // Too late: we have closed.
                Err(Error::Local(Local::Closed)) => continue,
                other => other?,
            }
            self.send()?;
            self.terms.awaits_request = false;
            if !self.terms.quiet {
                let leaf = credential.as_ref().and_then(|credential| credential.chain().first());
                let shown = leaf.map_or_else(|| "none".to_owned(), subject);
                explain::say(format_args!("certificate shown after the handshake: {shown}"));
            }
        }
        Ok(())
    }

    /// Sends close_notify unless it, or an alert, was sent before. The TCP connection stays open: not every
    /// peer goes on sending into one that is closed in the other direction.
    fn close(&mut self) -> Result<()> {
        self.sender.close(&mut self.sealed)?;
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        let sent = write_all(&self.socket, &self.sealed);
        self.sealed.clear();
        sent.map_err(|error| anyhow!("cannot send: {}", explain::input_output(&error)))
    }
}

/// Like the one of [`Write`], but waits as long as it takes: a slow reader is no error.
fn write_all(mut socket: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if explain::is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The direction from the peer.
struct Incoming {
    receiver: Receiver,
    received: Received,
    socket: Arc<TcpStream>,
    events: SyncSender<Event>,
    shared: Arc<Shared>,
    terms: Terms,
}

impl Incoming {
    fn run(&mut self) -> Result<()> {
        let mut output = io::stdout().lock();
        let mut last_heard = Instant::now();
        loop {
            let opened = self.receiver.open(&mut self.received);
            match opened.map_err(|error| anyhow!(explain::tls(error)))? {
                Opened::Data(data) => output.write_all(data).map_err(|error| unwritable(&error))?,
                Opened::CertificateRequested(request) => {
                    let requests = self.shared.requests.lock();
                    requests
                        .map_err(|_| anyhow!("the thread that sends has failed"))?
                        .push(request);
                }
                Opened::More => {
                    output.flush().map_err(|error| unwritable(&error))?;
                    // Whatever was opened may ask for an answer, a key update for example.
                    self.ring();
                    if self.receive(last_heard)? == 0 {
                        let end = self.receiver.end_of_input();
                        return end.map_err(|error| anyhow!(explain::tls(error)));
                    }
                    last_heard = Instant::now();
                }
                _ => return output.flush().map_err(|error| unwritable(&error)),
            }
        }
    }

    /// Waits for bytes: without end while we still may send, but once we have closed, a peer that says
    /// nothing and does not close either is not waited for.
    fn receive(&mut self, last_heard: Instant) -> Result<usize> {
        loop {
            let error = match self.received.read_from(&mut &*self.socket) {
                Ok(count) => return Ok(count),
                Err(error) => error,
            };
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if !explain::is_timeout(&error) {
                return Err(anyhow!(explain::input_output(&error)));
            }
            let quiet = self.shared.closed.get().map(|closed| closed.max(&last_heard).elapsed());
            if quiet.is_some_and(|quiet| quiet >= self.terms.patience) {
                return Err(anyhow!("timeout: the peer did not close the connection"));
            }
        }
    }

    /// A full channel needs no ring: what is in it makes the sender look.
    fn ring(&self) {
        let _ = self.events.try_send(Event::Ring);
    }
}

fn unwritable(error: &io::Error) -> anyhow::Error {
    anyhow!("cannot write to standard output: {}", explain::input_output(error))
}

/// One record's worth.
const PIECE: usize = 1 << 14;

/// How much of standard input may wait in memory, in pieces.
const EVENTS: usize = 8;

/// How long the last words may take after the peer has closed.
const FAREWELL: Duration = Duration::from_secs(2);
