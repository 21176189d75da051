//! One connection of the server: handshake, content, graceful close, and a log line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use tercel::wire::ProtocolVersion;
use tercel::{
    Connection, ConnectionInfo, EarlyData, Ech, Handshake, ServerConfig,
    server::{ClientAuth, ClientCertificate},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::echo;
use super::files::DocumentRoot;
use super::handshake::{self, Completed};
use super::http::{self, Limits, Response};
use super::options::HTTP2;
use super::page;
use super::time_limit::TimeLimit;
use crate::explain;
use crate::negotiated::{ech, peer_subject, printable, subject, version_name};

/// The settings and credentials that all connections share.
pub(crate) struct ConnectionHandler {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) content: Content,
    /// Whether clients are asked for a certificate before their first response.
    pub(crate) post_handshake_auth: bool,
    pub(crate) timeout: TimeLimit,
    /// Whether the keys of both directions are updated before the first response.
    pub(crate) update_key: bool,
    /// The announcement of HTTP/3, if that is served. RFC 7838 3
    pub(crate) alt_svc: Option<HeaderValue>,
    /// Whether the server ends.
    pub(crate) ending: watch::Receiver<bool>,
}

/// The content that the server sends.
pub(crate) enum Content {
    /// The received data, as an echo.
    Echo,
    /// A page with the negotiated parameters.
    Page,
    /// The files of a directory.
    Files(Arc<DocumentRoot>),
}

type TlsStream<'a> = tercel_tokio::TlsStream<&'a mut TcpStream>;

impl ConnectionHandler {
    /// Serves the connection to its end, and returns the log line.
    pub(crate) async fn run(&self, mut socket: TcpStream) -> String {
        // Records are written at once, so Nagle's algorithm would only delay them.
        if let Err(error) = socket.set_nodelay(true) {
            return explain::io_error(&error);
        }
        let line = self.serve_tls(&mut socket).await;
        linger(&mut socket).await;
        line
    }

    async fn serve_tls(&self, socket: &mut TcpStream) -> String {
        let mut handshake = Handshake::server(Arc::clone(&self.config));
        let echo = matches!(self.content, Content::Echo);
        let completing = handshake::complete(&mut handshake, socket, echo);
        let completed = match self.timeout.within(completing).await {
            Ok(completed) => completed,
            Err(error) => return explain::handshake_with_client(&error, &handshake),
        };
        drop(handshake);
        let mut line = summary(&completed.connection.info, Some(completed.early.length));
        let mut client = PostHandshakeClient::default();
        let ended = Box::pin(self.answer(socket, completed, &mut client)).await;
        if let Some(subject) = &client.subject {
            line.push_str(&format!(" client={subject}"));
        }
        match ended {
            Ok(()) => line,
            Err(error) => format!("{line}  {}", explain::connection_with_client(&error)),
        }
    }

    /// Serves the content.
    async fn answer(
        &self,
        socket: &mut TcpStream,
        mut completed: Completed,
        client: &mut PostHandshakeClient,
    ) -> io::Result<()> {
        let Connection { sender, info, .. } = &mut completed.connection;
        let mut update = Vec::new();
        if self.update_key && info.version == ProtocolVersion::TLS1_3 {
            sender.update_key(true, &mut update).map_err(io::Error::other)?;
            self.timeout.within(socket.write_all(&update)).await?;
        }
        if let Content::Echo = self.content {
            let (asks, set) = (self.post_handshake_auth, |answer: &_| client.set(answer));
            return echo::run(socket, completed, asks, self.timeout, set).await;
        }
        let Completed { connection, received, early } = completed;
        let mut stream = TlsStream::new(socket, connection, received);
        // A client that cannot be asked for a certificate gets status 403.
        let forbidden = self.post_handshake_auth && !stream.info().post_handshake_auth;
        if self.post_handshake_auth && !forbidden {
            let asking = stream.authenticate_client(ClientAuth::Required);
            client.set(&self.timeout.within(asking).await?);
        }
        let responder = match forbidden {
            true => Responder::Forbidden,
            false => self.content.responder(stream.info(), client.subject.as_deref()),
        };
        let answer = |path: String| responder.clone().answer(path);
        let is_http2 = stream.info().alpn.as_deref() == Some(HTTP2.as_bytes());
        let limits = Limits { timeout: self.timeout.0, ending: self.ending.clone() };
        let (read, write) = tokio::io::split(stream);
        // A TLS stream clears memory that it reads into: this buffer only once.
        let read = BufReader::with_capacity(READ_BUFFER, read);
        let io = tokio::io::join(io::Cursor::new(early.unanswered).chain(read), write);
        http::serve(io, is_http2, limits, self.alt_svc.as_ref(), answer).await
    }
}

impl Content {
    /// The source of the responses of a connection. `client` is the subject of the certificate
    /// with which the client was authenticated after the handshake.
    pub(super) fn responder(&self, info: &ConnectionInfo, client: Option<&str>) -> Responder {
        match self {
            Self::Files(root) => Responder::Files(Arc::clone(root)),
            Self::Page | Self::Echo => Responder::Page(page::render(info, client).into()),
        }
    }
}

/// The source of the responses of a connection.
#[derive(Clone)]
pub(super) enum Responder {
    Forbidden,
    Files(Arc<DocumentRoot>),
    Page(Bytes),
}

impl Responder {
    /// The response for a path.
    pub(super) async fn answer(self, path: String) -> Response {
        match self {
            Self::Forbidden => Response::status(StatusCode::FORBIDDEN),
            // Files are looked up in a thread that may block.
            Self::Files(root) => tokio::task::spawn_blocking(move || root.answer(&path))
                .await
                .unwrap_or_else(|_| Response::status(StatusCode::INTERNAL_SERVER_ERROR)),
            Self::Page(page) => page::answer(&path, page),
        }
    }
}

/// Closes the connection so that the peer receives everything that was sent. Closing with unread
/// bytes would reset the connection, and an alert or the end of an answer could be lost.
async fn linger(socket: &mut TcpStream) {
    let _ = socket.shutdown().await;
    let reading = async {
        let mut rest = vec![0; 4096];
        for _ in 0..LINGER_READS {
            if !matches!(socket.read(&mut rest).await, Ok(1..)) {
                return;
            }
        }
    };
    let _ = timeout(LINGER, reading).await;
}

/// A client that was authenticated after the handshake.
#[derive(Default)]
struct PostHandshakeClient {
    /// The subject of the client's certificate.
    subject: Option<String>,
}

impl PostHandshakeClient {
    fn set(&mut self, certificate: &ClientCertificate) {
        let leaf = certificate.identity().and_then(|identity| identity.chain.first());
        self.subject = leaf.map(subject);
    }
}

/// The log line of an established connection. `early` is the length of the early data, if known.
pub(super) fn summary(info: &ConnectionInfo, early: Option<usize>) -> String {
    let mut line = format!("{} {}", version_name(info.version), info.cipher_suite);
    if let Some(group) = info.group {
        line.push_str(&format!(" {group}"));
    }
    if info.retried {
        line.push_str(" retried");
    }
    if info.resumed {
        line.push_str(" resumed");
    }
    match (info.early_data, early) {
        (EarlyData::Accepted, Some(early)) => line.push_str(&format!(" early-data={early}")),
        (EarlyData::Accepted, None) => line.push_str(" early-data=accepted"),
        (EarlyData::Rejected, _) => line.push_str(" early-data=rejected"),
        _ => {}
    }
    if info.peer_raw_public_key.is_some() {
        line.push_str(" client=raw-public-key");
    }
    if let Some(name) = &info.server_name {
        line.push_str(&format!(" name={}", printable(name)));
    }
    if info.ech != Ech::NotOffered {
        line.push_str(&format!(" ech={}", ech(info.ech)));
    }
    if let Some(name) = info.outer_server_name() {
        line.push_str(&format!(" outer-name={}", printable(name)));
    }
    if let Some(name) = info.pre_shared_key() {
        line.push_str(&format!(" psk={}", printable(name)));
    }
    if let Some(subject) = peer_subject(info) {
        line.push_str(&format!(" client={subject}"));
    }
    line
}

/// The length of the buffer of requests: more than the largest read of hyper.
const READ_BUFFER: usize = 32 << 10;

/// The maximum time for which unread data of a closed connection is read.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_READS: usize = 64;
