//! Faulty clients: what each kind sends to a server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt::TcpMaxSeg};
use tercel::{ClientConfig, ServerName};
use tercel_harness::backend::Ended;
use tercel_harness::clients::connect;
use tercel_harness::http;
use tercel_tokio::{Connector, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::kinds::{Kind, Version};
use crate::partial;
use crate::setup;

/// How the connection of a faulty client ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Observed {
    /// The client closed the connection.
    ClientClosed,
    /// The server closed the connection.
    ServerClosed,
    /// The server did not meet a requirement, or not in time.
    Fault(&'static str),
}

/// The values that all faulty clients need.
pub(crate) struct ClientContext {
    pub(crate) target: SocketAddr,
    pub(crate) tls12: Arc<ClientConfig>,
    pub(crate) tls13: Arc<ClientConfig>,
    /// The number of bytes that a client sends in a complete handshake.
    pub(crate) length12: usize,
    pub(crate) length13: usize,
    /// Which connections to the working backend have ended.
    pub(crate) ended: Ended,
}

impl ClientContext {
    /// The same context for another terminator.
    pub(crate) fn at(&self, target: SocketAddr) -> Self {
        let (tls12, tls13) = (self.tls12.clone(), self.tls13.clone());
        Self { target, tls12, tls13, ended: self.ended.clone(), ..*self }
    }

    pub(crate) fn config(&self, version: Version) -> &Arc<ClientConfig> {
        match version {
            Version::Tls12 => &self.tls12,
            Version::Tls13 => &self.tls13,
        }
    }

    pub(crate) fn length(&self, version: Version) -> usize {
        match version {
            Version::Tls12 => self.length12,
            Version::Tls13 => self.length13,
        }
    }

    /// Runs client number `number` of this kind, from this address.
    pub(crate) async fn send(
        &self,
        kind: Kind,
        number: usize,
        source: IpAddr,
    ) -> io::Result<Observed> {
        match kind {
            Kind::HalfOpen => until_ended(&mut connect(self.target, Some(source)).await?).await,
            Kind::SlowLoris(version) => {
                let mut tcp = self.stop_within_handshake(version, number, source).await?;
                until_ended(&mut tcp).await
            }
            Kind::Resets(version) => {
                let tcp = self.stop_within_handshake(version, number, source).await?;
                tcp.set_zero_linger()?;
                Ok(Observed::ClientClosed)
            }
            Kind::Closes(version) => {
                let mut tcp = self.stop_within_handshake(version, number, source).await?;
                tcp.shutdown().await?;
                until_ended(&mut tcp).await
            }
            Kind::Garbage => self.send_bytes(source, &garbage(number)).await,
            Kind::LargeRecord => {
                let record = [&[22, 3, 1, 0xff, 0xff], &[0; 0xffff][..]].concat();
                self.send_bytes(source, &record).await
            }
            Kind::EndlessHello => self.send_bytes(source, &endless_hello()).await,
            Kind::OldVersion => self.send_bytes(source, &OLD_HELLO).await,
            Kind::PlainHttp => {
                self.send_bytes(source, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await
            }
            Kind::ResetsOnceConnected => {
                let stream = self.handshake(source, setup::WORKING).await?;
                stream.transport().set_zero_linger()?;
                Ok(Observed::ClientClosed)
            }
            Kind::ResetsInAnswer => {
                let mut stream = self.send_request(source, setup::WORKING, LARGE).await?;
                stream.read_exact(&mut vec![0; 1000]).await?;
                stream.transport().set_zero_linger()?;
                Ok(Observed::ClientClosed)
            }
            Kind::ClosesAfterRequest => {
                let mut stream = self.send_request(source, setup::WORKING, LARGE).await?;
                stream.shutdown().await?;
                Ok(Observed::ClientClosed)
            }
            Kind::NeverReads => self.never_read(source).await,
            Kind::BackendDown => self.expect_close(source, setup::DOWN, true).await,
            Kind::BackendCloses => self.expect_close(source, setup::CLOSES, true).await,
            Kind::BackendResets => self.expect_close(source, setup::RESETS, false).await,
            Kind::BackendSilent => self.expect_close(source, setup::SILENT, false).await,
            Kind::BackendSlow => {
                let mut stream = self.send_request(source, setup::SLOW, "/").await?;
                match timeout(TOLERANCE, http::answer(&mut stream)).await {
                    Ok(Ok(answer)) if answer.status == 200 => Ok(Observed::ClientClosed),
                    _ => Ok(Observed::Fault("no answer from a slow backend")),
                }
            }
        }
    }

    async fn stop_within_handshake(
        &self,
        version: Version,
        number: usize,
        source: IpAddr,
    ) -> io::Result<TcpStream> {
        let stop_after = number % self.length(version);
        let server = name(setup::WORKING);
        let config = self.config(version);
        let (tcp, _) = partial::handshake(self.target, source, config, server, stop_after).await?;
        Ok(tcp)
    }

    /// Sends bytes that are not a handshake.
    async fn send_bytes(&self, source: IpAddr, bytes: &[u8]) -> io::Result<Observed> {
        let mut tcp = connect(self.target, Some(source)).await?;
        // The server may close before it has received all bytes.
        let _ = tcp.write_all(bytes).await;
        until_ended(&mut tcp).await
    }

    async fn handshake(
        &self,
        source: IpAddr,
        server: &'static str,
    ) -> io::Result<TlsStream<TcpStream>> {
        let tcp = connect(self.target, Some(source)).await?;
        Connector::new(self.tls13.clone()).connect(name(server), tcp).await
    }

    async fn send_request(
        &self,
        source: IpAddr,
        server: &'static str,
        path: &str,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut stream = self.handshake(source, server).await?;
        stream.write_all(&http::request(path, false)).await?;
        Ok(stream)
    }

    /// The backend does not answer, so the server must close the connection; with close_notify if
    /// `orderly`.
    async fn expect_close(
        &self,
        source: IpAddr,
        server: &'static str,
        orderly: bool,
    ) -> io::Result<Observed> {
        let mut stream = self.handshake(source, server).await?;
        // The server may already have closed.
        let _ = stream.write_all(&http::request("/", false)).await;
        match timeout(TOLERANCE, stream.read(&mut [0; 16])).await {
            Ok(Ok(0)) => Ok(Observed::ServerClosed),
            Ok(Ok(_)) => Ok(Observed::Fault("an answer without a backend")),
            Ok(Err(_)) if orderly => Ok(Observed::Fault("closed without close_notify")),
            Ok(Err(_)) => Ok(Observed::ServerClosed),
            Err(_) => Ok(Observed::Fault("not closed in time")),
        }
    }

    /// The server must close the connection of a client that does not read, before the whole answer
    /// is sent. The client cannot see that, so it waits for the end of the backend's connection.
    async fn never_read(&self, source: IpAddr) -> io::Result<Observed> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let query = format!("client={}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let transport = self.connect_with_little_room(source).await?;
        let connector = Connector::new(self.tls13.clone());
        let mut stream = connector.connect(name(setup::WORKING), transport).await?;
        stream.write_all(&http::request(&format!("{LARGE}?{query}"), false)).await?;
        let ended = async {
            while !self.ended.has(&query) {
                sleep(Duration::from_millis(50)).await;
            }
        };
        if timeout(setup::IDLE + TOLERANCE, ended).await.is_err() {
            return Ok(Observed::Fault("not closed in time"));
        }
        match timeout(TOLERANCE, http::answer(&mut stream)).await {
            Ok(Err(_)) => Ok(Observed::ServerClosed),
            Ok(Ok(_)) => Ok(Observed::Fault("still served without reading")),
            Err(_) => Ok(Observed::Fault("no end after a close")),
        }
    }

    /// Connects so that the systems on both sides keep little of an answer that is not read:
    /// hundreds of such clients could exhaust the memory that the system has for TCP. The buffer of
    /// the server's system grows with the size of the segments.
    async fn connect_with_little_room(&self, source: IpAddr) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        socket.set_recv_buffer_size(16 * 1024)?;
        setsockopt(&socket, TcpMaxSeg, &1400)?;
        socket.connect(self.target).await
    }
}

/// The time that a server may need in addition to its own time limits.
pub(crate) const TOLERANCE: Duration = Duration::from_secs(60);

/// A path whose answer is larger than all buffers in between.
const LARGE: &str = "/bytes/30000000";

/// Reads until the server closes the connection, as it must.
async fn until_ended(tcp: &mut TcpStream) -> io::Result<Observed> {
    let mut buffer = vec![0; 4096];
    let reading = async { while let Ok(1..) = tcp.read(&mut buffer).await {} };
    match timeout(setup::HANDSHAKE + TOLERANCE, reading).await {
        Ok(()) => Ok(Observed::ServerClosed),
        Err(_) => Ok(Observed::Fault("not closed in time")),
    }
}

fn name(server: &'static str) -> ServerName<'static> {
    // The names are valid constants.
    ServerName::try_from(server).unwrap_or(ServerName::IpAddress(IpAddr::from([127, 0, 0, 1])))
}

/// Random bytes, which differ by `number`.
fn garbage(number: usize) -> Vec<u8> {
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let length = 1 + number * 7 % 3000;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// A handshake message with a length of 16 MiB, cut after one MiB.
fn endless_hello() -> Vec<u8> {
    let mut bytes = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff, 3, 3];
    bytes.resize(5 + 0x4000, 0);
    for _ in 0..63 {
        bytes.extend([22, 3, 1, 0x40, 0]);
        bytes.resize(bytes.len() + 0x4000, 0);
    }
    bytes
}

/// A ClientHello of TLS 1.0 with one suite and no extensions.
#[rustfmt::skip]
const OLD_HELLO: [u8; 50] = [
    22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 1,
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    0, 0, 2, 0xc0, 0x13, 1, 0,
];
