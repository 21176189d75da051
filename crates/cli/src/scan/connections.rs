//! The connections of a scan: one at a time, paced, with a limit on their number, on the total time
//! and on consecutive failures.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::explain;
use crate::starttls::Protocol;
use crate::target::Target;
use crate::transport::Transport;

/// The limits of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    pub(crate) interval: Duration,
    pub(crate) max_connections: u32,
    pub(crate) max_time: Duration,
}

impl Limits {
    /// The time for the next connection, this long after the start of the scan.
    fn connection_time(&self, elapsed: Duration) -> Duration {
        self.timeout.min(self.max_time.saturating_sub(elapsed)).max(SHORTEST)
    }
}

/// The source of a scan's connections.
#[derive(Debug)]
pub(crate) struct Connections {
    address: SocketAddr,
    /// The protocol of --starttls, and the name of the server in its dialogue.
    starttls: Option<(Protocol, String)>,
    limits: Limits,
    start: Instant,
    last: Option<Instant>,
    /// The connection that was made to select the address, until it is used.
    ready: Option<TcpStream>,
    made: u32,
    failures: u32,
    /// Whether the server has sent a ServerHello.
    served: bool,
    stopped: Option<String>,
}

impl Connections {
    /// Resolves the target and selects the first address that accepts a connection, because the
    /// addresses of a name may belong to servers of different configurations.
    pub(crate) fn new(
        target: &Target,
        starttls: Option<(Protocol, String)>,
        limits: Limits,
    ) -> Result<Self> {
        let start = Instant::now();
        let addresses = target.addresses()?;
        let (mut last, mut made) = (None, 0);
        for address in addresses.iter().take(MAX_ADDRESSES) {
            match TcpStream::connect_timeout(address, limits.connection_time(start.elapsed())) {
                Ok(socket) => {
                    return Ok(Self {
                        address: *address,
                        starttls,
                        limits,
                        start,
                        last: None,
                        ready: Some(socket),
                        made,
                        failures: 0,
                        served: false,
                        stopped: None,
                    });
                }
                Err(error) => last = Some((address, error)),
            }
            made += 1;
        }
        let (address, error) =
            last.with_context(|| format!("no address found for {}", target.host))?;
        Err(anyhow!("cannot connect to {address}: {}", explain::io_error(&error)))
    }

    /// Opens the next connection. All its reads and writes have a common deadline.
    pub(crate) fn open(&mut self) -> Result<Transport, String> {
        self.begin()?;
        let connected = self.connect();
        self.last = Some(Instant::now());
        connected.inspect_err(|why| self.unanswered(why))
    }

    /// Checks the limits, waits for the pause, and counts the next connection.
    pub(crate) fn begin(&mut self) -> Result<(), String> {
        self.check_limits()?;
        if let Some(last) = self.last {
            let pause = self.limits.interval.saturating_sub(last.elapsed());
            thread::sleep(pause.min(self.time()));
            self.check_limits()?;
        }
        self.made += 1;
        self.last = Some(Instant::now());
        Ok(())
    }

    /// Records that the server answered the last connection.
    pub(crate) fn answered(&mut self) {
        self.failures = 0;
    }

    /// Records that the server answered the last connection with a ServerHello.
    pub(crate) fn served(&mut self) {
        self.served = true;
        self.answered();
    }

    /// Records that the server ended the last connection in this way, before it answered. Until a
    /// version is known, that may be its way to refuse a version.
    pub(crate) fn closed(&mut self, how: &str) {
        if self.served {
            self.unanswered(how);
        }
    }

    /// Records that the last connection failed without an answer. Several of these in a row end the
    /// scan, because the server is overloaded or blocks this client.
    pub(crate) fn unanswered(&mut self, why: &str) {
        self.failures += 1;
        if self.failures >= MAX_FAILURES && self.stopped.is_none() {
            self.stopped = Some(format!(
                "stopped after {MAX_FAILURES} connections in a row without an answer: {why}"
            ));
        }
    }

    /// The reason why the scan ended early, if it did.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// The address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections so far.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// The time since the start of the scan.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The time for a further step of the current connection.
    pub(crate) fn time(&self) -> Duration {
        self.limits.connection_time(self.elapsed())
    }

    fn check_limits(&mut self) -> Result<(), String> {
        let Limits { max_connections, max_time, .. } = self.limits;
        if self.stopped.is_none() && self.made >= max_connections {
            self.stopped =
                Some(format!("stopped after {max_connections} connections (--max-connections)"));
        }
        if self.stopped.is_none() && self.start.elapsed() >= max_time {
            let seconds = max_time.as_secs();
            self.stopped = Some(format!("stopped after {seconds} s (--max-time)"));
        }
        self.stopped.clone().map_or(Ok(()), Err)
    }

    /// Connects, and starts TLS if the protocol requires a command for it.
    fn connect(&mut self) -> Result<Transport, String> {
        let time = self.time();
        let deadline = Instant::now() + time;
        let socket = match self.ready.take() {
            Some(socket) => socket,
            None => TcpStream::connect_timeout(&self.address, time)
                .map_err(|error| cannot_connect(&error))?,
        };
        let transport = Transport::new(socket, time).map_err(|error| cannot_connect(&error))?;
        transport.set_deadline(deadline);
        if let Some((protocol, host)) = &self.starttls {
            protocol.begin(&mut &transport, host).map_err(|why| why.to_string())?;
        }
        Ok(transport)
    }
}

fn cannot_connect(error: &std::io::Error) -> String {
    format!("cannot connect: {}", explain::io_error(error))
}

/// The number of addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;

/// The number of consecutive connections without an answer that ends a scan.
const MAX_FAILURES: u32 = 4;

/// The shortest time limit of a connection, near the end of the total time.
const SHORTEST: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_time_limits_each_connection() {
        let seconds = Duration::from_secs;
        let limits = Limits {
            timeout: seconds(100),
            interval: seconds(600),
            max_connections: 1,
            max_time: seconds(5),
        };
        assert_eq!(limits.connection_time(Duration::ZERO), seconds(5));
        assert_eq!(limits.connection_time(seconds(4)), seconds(1));
        assert_eq!(limits.connection_time(seconds(9)), SHORTEST);
        // The pause before the second connection is longer than the whole scan may take.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target { host: "127.0.0.1".to_owned(), port };
        let limits = Limits { max_connections: 3, max_time: seconds(1), ..limits };
        let mut connections = Connections::new(&target, None, limits).unwrap();
        assert!(connections.open().is_ok());
        let (sender, ended) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let _ = connections.open();
            sender.send(())
        });
        ended.recv_timeout(seconds(60)).expect("the scan ends");
    }
}
