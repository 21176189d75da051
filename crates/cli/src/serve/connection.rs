//! One connection of the server: handshake, content, graceful close, and a log line.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{
    ConnectionInfo, EarlyData, Handshake, ServerConfig,
    server::{ClientAuth, ClientCertificate},
};

use super::files::DocumentRoot;
use super::handshake::{self, TlsStream};
use super::http::{self, Response, Status};
use super::page;
use crate::explain;
use crate::negotiated::{peer_subject, printable, subject, version_name};
use crate::transport::Transport;

/// The settings and credentials that all connections share.
pub(crate) struct ConnectionHandler {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) content: Content,
    /// Whether clients are asked for a certificate before their first response.
    pub(crate) post_handshake_auth: bool,
    pub(crate) timeout: Duration,
    /// Whether the keys of both directions are updated before the first response.
    pub(crate) update_key: bool,
}

/// The content that the server sends.
pub(crate) enum Content {
    /// The received data, as an echo.
    Echo,
    /// A page with the negotiated parameters.
    Page,
    /// The files of a directory.
    Files(DocumentRoot),
}

impl ConnectionHandler {
    /// Serves the connection to its end, and returns the log line.
    pub(crate) fn run(&self, socket: TcpStream) -> String {
        let transport = match Transport::new(socket, self.timeout) {
            Ok(transport) => transport,
            Err(error) => return explain::io_error(&error),
        };
        let line = self.serve_tls(&transport);
        transport.close_gracefully();
        line
    }

    fn serve_tls(&self, transport: &Transport) -> String {
        transport.set_deadline(Instant::now() + self.timeout);
        let mut handshake = Handshake::server(Arc::clone(&self.config));
        let echo = matches!(self.content, Content::Echo);
        let (mut stream, early) = match handshake::complete(&mut handshake, transport, echo) {
            Ok(completed) => completed,
            Err(error) => return explain::handshake(&error, &handshake),
        };
        drop(handshake);
        let mut line = summary(&stream.connection().info, early.length);
        let mut client = PostHandshakeClient::default();
        let ended = transport
            .clear_deadline()
            .and_then(|()| self.answer(&mut stream, early.unanswered, &mut client));
        if let Some(subject) = &client.subject {
            line.push_str(&format!(" client={subject}"));
        }
        match ended {
            Ok(()) => line,
            Err(error) => format!("{line}  {}", explain::connection(&error)),
        }
    }

    /// Serves the content; `received` is early data with the first requests.
    fn answer(
        &self,
        stream: &mut TlsStream<'_>,
        received: Vec<u8>,
        client: &mut PostHandshakeClient,
    ) -> io::Result<()> {
        if self.update_key && stream.connection().info.version == ProtocolVersion::TLS1_3 {
            stream.update_key(true)?;
        }
        match &self.content {
            Content::Echo => self.echo(stream, client)?,
            Content::Page => http::serve(stream, received, self.timeout, |stream, path| {
                self.with_client(stream, client, |stream, client| {
                    let info = &stream.connection().info;
                    page::answer(path, || page::render(info, client.subject.as_deref()))
                })
            })?,
            Content::Files(root) => http::serve(stream, received, self.timeout, |stream, path| {
                self.with_client(stream, client, |_, _| root.answer(path))
            })?,
        }
        stream.close()
    }

    /// Returns the response, after authenticating the client if that is required. Clients that do
    /// not support authentication after the handshake get status 403.
    fn with_client(
        &self,
        stream: &mut TlsStream<'_>,
        client: &mut PostHandshakeClient,
        answer: impl FnOnce(&TlsStream<'_>, &PostHandshakeClient) -> Response,
    ) -> io::Result<Response> {
        if self.post_handshake_auth && client.subject.is_none() {
            match stream.authenticate_client(ClientAuth::Required) {
                Ok(certificate) => client.set(&certificate),
                Err(error) if cannot_be_asked(&error) => {
                    return Ok(Response::status(Status::Forbidden));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answer(stream, client))
    }

    fn echo(&self, stream: &mut TlsStream<'_>, client: &mut PostHandshakeClient) -> io::Result<()> {
        let mut buffer = vec![0; ECHO_BUFFER];
        let mut asked = !self.post_handshake_auth;
        loop {
            let count = stream.read(&mut buffer)?;
            stream.take_client_certificates().iter().for_each(|answer| client.set(answer));
            if count == 0 {
                return Ok(());
            }
            if !asked {
                asked = true;
                if let Err(error) = stream.request_certificate(ClientAuth::Required) {
                    return Err(refuse(stream, error));
                }
            }
            stream.write_all(buffer.get(..count).unwrap_or_default())?;
        }
    }
}

/// Whether the error means that the client did not offer post-handshake authentication, or that the
/// version does not have it.
fn cannot_be_asked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

/// Sends an alert to a client that does not support post-handshake authentication. Returns the
/// error to log.
fn refuse(stream: &mut TlsStream<'_>, error: io::Error) -> io::Error {
    if !cannot_be_asked(&error) {
        return error;
    }
    let mut alert = Vec::new();
    let sender = &mut stream.connection_mut().sender;
    let sealed = sender.abort(AlertDescription::ACCESS_DENIED, &mut alert);
    let mut transport: &Transport = stream.transport();
    // A failure to send the alert is not reported, because the first error is more useful.
    let _ = sealed.map(|()| transport.write_all(&alert));
    io::Error::other("client does not support post-handshake authentication")
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

/// The log line of an established connection.
fn summary(info: &ConnectionInfo, early: usize) -> String {
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
    match info.early_data {
        EarlyData::Accepted => line.push_str(&format!(" early-data={early}")),
        EarlyData::Rejected => line.push_str(" early-data=rejected"),
        _ => {}
    }
    if info.peer_raw_public_key.is_some() {
        line.push_str(" client=raw-public-key");
    }
    if let Some(name) = &info.server_name {
        line.push_str(&format!(" name={}", printable(name)));
    }
    if let Some(name) = info.pre_shared_key() {
        line.push_str(&format!(" psk={}", printable(name)));
    }
    if let Some(subject) = peer_subject(info) {
        line.push_str(&format!(" client={subject}"));
    }
    line
}

/// The length of the echo buffer: one record.
const ECHO_BUFFER: usize = 1 << 14;
