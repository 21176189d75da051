//! Relays standard input to the peer and data from the peer to standard output, concurrently.
//!
//! The halves of a connection are independent values, so no lock is needed: this thread owns the
//! receiver, a second thread owns the sender, and a third one reads standard input. The sender's
//! thread waits on a channel for data from standard input, and for wake-ups by the receiver when a
//! protocol message may have to be sent.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver as EventReceiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use tercel::{
    Connection, Error, Opened, ReceiveBuffer, Receiver, Sender, client::CertificateRequested,
    error::InternalError,
};

use crate::explain;
use crate::negotiated::subject;
use crate::output::write_error;

/// Options of the relay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelayOptions {
    /// How long to wait for the peer's response.
    pub(crate) timeout: Duration,
    /// Whether the server may still request a certificate. A certificate cannot be sent after
    /// close_notify.
    pub(crate) awaits_request: bool,
    /// Whether certificate requests are answered without a report.
    pub(crate) quiet: bool,
}

/// Runs until the peer closes. `first` is sent before anything else.
pub(crate) fn run(
    socket: TcpStream,
    connection: Connection,
    received: ReceiveBuffer,
    first: Vec<u8>,
    options: RelayOptions,
) -> Result<()> {
    let socket = Arc::new(socket);
    let (events, event_receiver) = mpsc::sync_channel(EVENT_CAPACITY);
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
        options,
    };
    thread::Builder::new().name("sender".to_owned()).spawn(move || {
        let shared = Arc::clone(&outgoing.shared);
        let result = outgoing.run(&event_receiver);
        // This is set after a failure too, because nothing more will be sent to the peer.
        shared.closed.get_or_init(Instant::now);
        // If the receiver of the outcome is gone, the program is exiting.
        let _ = ended.send(result);
    })?;

    let mut incoming =
        Incoming { receiver: connection.receiver, received, socket, events, shared, options };
    let read = incoming.run();
    // The sender has to send close_notify, or an alert if reading failed. The wait is limited,
    // because the sender may be blocked in a write that the peer no longer reads.
    incoming.shared.reading_ended.get_or_init(Instant::now);
    incoming.wake_sender();
    let written = outcome.recv_timeout(CLOSE_TIMEOUT);
    read?;
    match written {
        Ok(Err(error)) => Err(error),
        _ => Ok(()),
    }
}

/// Events for the sender's thread.
enum Event {
    /// Bytes from standard input.
    Data(Vec<u8>),
    /// Standard input has ended or failed.
    End(io::Result<()>),
    /// The receiver may have caused a message to be sent.
    Wake,
}

/// The time at which each direction ended, and the certificate requests.
#[derive(Default)]
struct Shared {
    /// The time at which close_notify was sent, or sending failed.
    closed: OnceLock<Instant>,
    /// The time at which the peer closed, or reading failed.
    reading_ended: OnceLock<Instant>,
    /// Certificate requests for the sender; the library limits their number.
    requests: Mutex<Vec<CertificateRequested>>,
}

fn read_input(mut input: impl Read, events: &SyncSender<Event>) {
    loop {
        let mut buffer = vec![0; CHUNK];
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
    options: RelayOptions,
}

impl Outgoing {
    fn run(mut self, event_receiver: &EventReceiver<Event>) -> Result<()> {
        self.send()?;
        let mut input = None;
        loop {
            let event = if input.is_some() && self.options.awaits_request {
                event_receiver.recv_timeout(self.options.timeout)
            } else {
                event_receiver.recv().map_err(RecvTimeoutError::from)
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
                Ok(Event::Wake) => {
                    self.sender.control(&mut self.sealed)?;
                    self.send()?;
                }
                Err(RecvTimeoutError::Timeout) => self.options.awaits_request = false,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if input.is_some() && !self.options.awaits_request {
                self.close()?;
                self.shared.closed.get_or_init(Instant::now);
            }
        }
        self.close()?;
        input.unwrap_or(Ok(())).context("cannot read standard input")
    }

    /// Answers certificate requests. Without a suitable certificate, the answer is an empty
    /// Certificate.
    fn answer_requests(&mut self) -> Result<()> {
        let requests = match self.shared.requests.lock() {
            Ok(mut requests) => std::mem::take(&mut *requests),
            Err(_) => return Err(anyhow!("the reading thread failed")),
        };
        for request in requests {
            let credential = request.select()?;
            match self.sender.authenticate(request, credential.as_ref(), &mut self.sealed) {
                // close_notify was sent already.
                Err(Error::Internal(InternalError::Closed)) => continue,
                other => other?,
            }
            self.send()?;
            self.options.awaits_request = false;
            if !self.options.quiet {
                let leaf = credential.as_ref().and_then(|credential| credential.chain().first());
                let subject_shown = leaf.map_or_else(|| "none".to_owned(), subject);
                explain::print_line(format_args!(
                    "certificate shown after the handshake: {subject_shown}"
                ));
            }
        }
        Ok(())
    }

    /// Sends close_notify, unless close_notify or an alert was sent before. The TCP connection
    /// stays open in both directions: some peers stop sending when this direction is closed.
    fn close(&mut self) -> Result<()> {
        self.sender.close(&mut self.sealed)?;
        self.send()
    }

    fn send(&mut self) -> Result<()> {
        let sent = write_all(&self.socket, &self.sealed);
        self.sealed.clear();
        sent.map_err(|error| anyhow!("cannot send: {}", explain::io_error(&error)))
    }
}

/// Like [`Write::write_all`], but without a time limit: a slow reader is not an error.
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
    received: ReceiveBuffer,
    socket: Arc<TcpStream>,
    events: SyncSender<Event>,
    shared: Arc<Shared>,
    options: RelayOptions,
}

impl Incoming {
    fn run(&mut self) -> Result<()> {
        let mut output = io::stdout().lock();
        let mut last_received = Instant::now();
        loop {
            let opened = self.receiver.open(&mut self.received);
            match opened.map_err(|error| anyhow!(explain::tls(error)))? {
                Opened::Data(data) => {
                    output.write_all(data).map_err(|error| write_error(&error))?;
                }
                Opened::CertificateRequested(request) => {
                    let requests = self.shared.requests.lock();
                    requests.map_err(|_| anyhow!("the sending thread failed"))?.push(request);
                }
                Opened::More => {
                    output.flush().map_err(|error| write_error(&error))?;
                    // Received records may require a reply, a key update for example.
                    self.wake_sender();
                    if self.receive(last_received)? == 0 {
                        let end = self.receiver.end_of_input();
                        return end.map_err(|error| anyhow!(explain::tls(error)));
                    }
                    last_received = Instant::now();
                }
                _ => return output.flush().map_err(|error| write_error(&error)),
            }
        }
    }

    /// Waits for bytes. The wait has no limit until close_notify was sent; after that, this fails
    /// if the peer neither sends nor closes within the time limit.
    fn receive(&mut self, last_received: Instant) -> Result<usize> {
        loop {
            let error = match self.received.read_from(&mut &*self.socket) {
                Ok(count) => return Ok(count),
                Err(error) => error,
            };
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if !explain::is_timeout(&error) {
                return Err(anyhow!(explain::io_error(&error)));
            }
            let quiet = self.shared.closed.get().map(|closed| closed.max(&last_received).elapsed());
            if quiet.is_some_and(|quiet| quiet >= self.options.timeout) {
                return Err(anyhow!("timed out waiting for the peer to close the connection"));
            }
        }
    }

    /// Wakes the sender. If the channel is full, the sender is awake already.
    fn wake_sender(&self) {
        let _ = self.events.try_send(Event::Wake);
    }
}

/// Size of reads from standard input: one record.
const CHUNK: usize = 1 << 14;

/// The number of chunks of standard input that may be queued.
const EVENT_CAPACITY: usize = 8;

/// Time limit for the last records after the peer has closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
