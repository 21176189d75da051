//! Bad clients: what each kind does to a server.
//!
//! Must not know: how many there are, or what the server counts. Next: `kinds.rs`, what has to
//! become of them; `partial.rs` for those that stop in the middle of a handshake; `phase.rs`, which sends them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tercel::ClientConfig;
use tercel::pki_types::ServerName;
use tercel_harness::good::connect;
use tercel_harness::http;
use tercel_tokio::{Connector, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::kinds::{Kind, Version};
use crate::partial;
use crate::setting::{self, IDLE};

/// What a bad client has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// It went by itself.
    Left,
    /// The server ended it.
    Ended,
    /// The server has not done what it had to, in time.
    Wrong(&'static str),
}

/// What all bad clients share.
pub(crate) struct Means {
    pub(crate) target: SocketAddr,
    pub(crate) tls12: Arc<ClientConfig>,
    pub(crate) tls13: Arc<ClientConfig>,
    /// Bytes that a client sends in a whole handshake.
    pub(crate) length12: usize,
    pub(crate) length13: usize,
}

impl Means {
    /// The same against another terminator.
    pub(crate) fn at(&self, target: SocketAddr) -> Self {
        Self { target, tls12: self.tls12.clone(), tls13: self.tls13.clone(), ..*self }
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

    /// Client number `number` of this kind, from this address.
    pub(crate) async fn send(&self, kind: Kind, number: usize, source: IpAddr) -> io::Result<Seen> {
        match kind {
            Kind::HalfOpen => until_ended(&mut connect(self.target, Some(source)).await?).await,
            Kind::SlowLoris(version) => {
                let mut tcp = self.cut(version, number, source).await?;
                until_ended(&mut tcp).await
            }
            Kind::Resets(version) => {
                let tcp = self.cut(version, number, source).await?;
                tcp.set_zero_linger()?;
                Ok(Seen::Left)
            }
            Kind::Closes(version) => {
                let mut tcp = self.cut(version, number, source).await?;
                tcp.shutdown().await?;
                until_ended(&mut tcp).await
            }
            Kind::Garbage => self.say(source, &garbage(number)).await,
            Kind::LargeRecord => {
                let record = [&[22, 3, 1, 0xff, 0xff], &[0; 0xffff][..]].concat();
                self.say(source, &record).await
            }
            Kind::EndlessHello => self.say(source, &endless_hello()).await,
            Kind::OldVersion => self.say(source, &OLD_HELLO).await,
            Kind::PlainHttp => self.say(source, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await,
            Kind::ResetsOnceConnected => {
                let stream = self.handshake(source, setting::GOOD).await?;
                stream.transport().set_zero_linger()?;
                Ok(Seen::Left)
            }
            Kind::ResetsInAnswer => {
                let mut stream = self.ask(source, setting::GOOD, LARGE).await?;
                stream.read_exact(&mut vec![0; 1000]).await?;
                stream.transport().set_zero_linger()?;
                Ok(Seen::Left)
            }
            Kind::LeavesAtOnce => {
                let mut stream = self.ask(source, setting::GOOD, LARGE).await?;
                stream.shutdown().await?;
                Ok(Seen::Left)
            }
            Kind::NeverReads => self.never_read(source).await,
            Kind::BackendDown => self.expect_nothing(source, setting::DOWN, true).await,
            Kind::BackendCloses => self.expect_nothing(source, setting::CLOSES, true).await,
            Kind::BackendResets => self.expect_nothing(source, setting::RESETS, false).await,
            Kind::BackendSilent => self.expect_nothing(source, setting::SILENT, false).await,
            Kind::BackendSlow => {
                let mut stream = self.ask(source, setting::SLOW, "/").await?;
                match timeout(PATIENCE, http::answer(&mut stream)).await {
                    Ok(Ok(answer)) if answer.status == 200 => Ok(Seen::Left),
                    _ => Ok(Seen::Wrong("no answer of a slow backend")),
                }
            }
        }
    }

    async fn cut(&self, version: Version, number: usize, source: IpAddr) -> io::Result<TcpStream> {
        let stop_after = number % self.length(version);
        let server = name(setting::GOOD);
        let config = self.config(version);
        let (tcp, _) = partial::handshake(self.target, source, config, server, stop_after).await?;
        Ok(tcp)
    }

    /// Sends something that is no handshake.
    async fn say(&self, source: IpAddr, bytes: &[u8]) -> io::Result<Seen> {
        let mut tcp = connect(self.target, Some(source)).await?;
        // The server may have had enough before it has all.
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

    async fn ask(
        &self,
        source: IpAddr,
        server: &'static str,
        path: &str,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut stream = self.handshake(source, server).await?;
        stream.write_all(&http::request(path, false)).await?;
        Ok(stream)
    }

    /// The backend does not answer, so the server has to end the connection; `orderly` if with a
    /// close_notify.
    async fn expect_nothing(
        &self,
        source: IpAddr,
        server: &'static str,
        orderly: bool,
    ) -> io::Result<Seen> {
        let mut stream = self.handshake(source, server).await?;
        // It may know already that nobody will answer.
        let _ = stream.write_all(&http::request("/", false)).await;
        match timeout(PATIENCE, stream.read(&mut [0; 16])).await {
            Ok(Ok(0)) => Ok(Seen::Ended),
            Ok(Ok(_)) => Ok(Seen::Wrong("an answer from nobody")),
            Ok(Err(_)) if orderly => Ok(Seen::Wrong("cut off without close_notify")),
            Ok(Err(_)) => Ok(Seen::Ended),
            Err(_) => Ok(Seen::Wrong("left hanging")),
        }
    }

    /// Whoever does not read is given up: of what was asked for, not all comes any more.
    async fn never_read(&self, source: IpAddr) -> io::Result<Seen> {
        let mut stream = self.ask(source, setting::GOOD, LARGE).await?;
        // Until all buffers on the way are full, something moves.
        sleep(IDLE + Duration::from_secs(4)).await;
        let all = timeout(PATIENCE, http::answer(&mut stream)).await;
        match all {
            Ok(Err(_)) => Ok(Seen::Ended),
            Ok(Ok(_)) => Ok(Seen::Wrong("still served after it read nothing")),
            Err(_) => Ok(Seen::Wrong("left hanging")),
        }
    }
}

/// How long a server may take for what it has to do, beyond its own time limits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// More than all the buffers on the way hold.
const LARGE: &str = "/bytes/30000000";

/// Reads until the server ends the connection, which has to happen.
async fn until_ended(tcp: &mut TcpStream) -> io::Result<Seen> {
    let mut buffer = vec![0; 4096];
    let reading = async { while let Ok(1..) = tcp.read(&mut buffer).await {} };
    match timeout(setting::HANDSHAKE + PATIENCE, reading).await {
        Ok(()) => Ok(Seen::Ended),
        Err(_) => Ok(Seen::Wrong("left hanging")),
    }
}

fn name(server: &'static str) -> ServerName<'static> {
    // Constants of ours.
    ServerName::try_from(server)
        .unwrap_or(ServerName::IpAddress(IpAddr::from([127, 0, 0, 1]).into()))
}

/// Bytes that look like nothing; different for each number.
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

/// A handshake message that says it has 16 MiB, as far as a mebibyte.
fn endless_hello() -> Vec<u8> {
    let mut bytes = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff, 3, 3];
    bytes.resize(5 + 0x4000, 0);
    for _ in 0..63 {
        bytes.extend([22, 3, 1, 0x40, 0]);
        bytes.resize(bytes.len() + 0x4000, 0);
    }
    bytes
}

/// TLS 1.0 with one suite of its time, no extension.
#[rustfmt::skip]
const OLD_HELLO: [u8; 50] = [
    22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 1,
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    0, 0, 2, 0xc0, 0x13, 1, 0,
];
