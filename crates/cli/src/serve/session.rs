//! One connection of the server: handshake, answers, an orderly end, and a line that says how it went.
//!
//! Must not know: other connections. Next: [`super::http`] for what is answered.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tercel::wire::{AlertDescription, ProtocolVersion};
use tercel::{ClientAuth, ClientCertificate, EarlyData, Facts, Handshake, ServerConfig, Stream};

use super::files::Root;
use super::http::{Response, Status};
use super::{early, http, page};
use crate::explain;
use crate::negotiated::{peer_subject, printable, subject};
use crate::options::version_name;
use crate::transport::Transport;

/// What every connection shares.
pub(crate) struct Session {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) answers: Answers,
    /// Whether clients are asked for a certificate before their first answer.
    pub(crate) asks_later: bool,
    pub(crate) patience: Duration,
    /// Whether the keys of both directions are changed before anything is answered.
    pub(crate) update_key: bool,
}

/// What the server says.
pub(crate) enum Answers {
    /// Whatever it hears.
    Echo,
    /// What was negotiated.
    Page,
    /// The files of a folder.
    Files(Root),
}

/// A TLS stream over a borrowed transport, so that the transport outlives it and ends in order.
pub(crate) type Tls<'a> = Stream<&'a Transport>;

impl Session {
    /// Serves this connection to its end; the line to print about it.
    pub(crate) fn run(&self, socket: TcpStream) -> String {
        let transport = match Transport::new(socket, self.patience) {
            Ok(transport) => transport,
            Err(error) => return explain::input_output(&error),
        };
        let line = self.converse(&transport);
        transport.end();
        line
    }

    fn converse(&self, transport: &Transport) -> String {
        transport.limit_all_until(Instant::now() + self.patience);
        let mut handshake = Handshake::server(Arc::clone(&self.config));
        let echo = matches!(self.answers, Answers::Echo);
        let (mut stream, early) = match early::complete(&mut handshake, transport, echo) {
            Ok(completed) => completed,
            Err(error) => return explain::handshake(&error, &handshake),
        };
        drop(handshake);
        let mut line = agreed(&stream.connection().facts, early.length);
        let mut late = Late::default();
        let ended = transport
            .limit_each_wait()
            .and_then(|()| self.answer(&mut stream, early.unanswered, &mut late));
        if let Some(client) = &late.client {
            line.push_str(&format!(" client={client}"));
        }
        match ended {
            Ok(()) => line,
            Err(error) => format!("{line}  {}", explain::connection(&error)),
        }
    }

    /// Answers what is asked, `asked` first.
    fn answer(&self, stream: &mut Tls<'_>, asked: Vec<u8>, late: &mut Late) -> io::Result<()> {
        if self.update_key && stream.connection().facts.version == ProtocolVersion::TLS1_3 {
            stream.update_key(true)?;
        }
        match &self.answers {
            Answers::Echo => self.echo(stream, late)?,
            Answers::Page => http::serve(stream, asked, self.patience, |stream, path| {
                self.known(stream, late, |stream, late| {
                    let facts = &stream.connection().facts;
                    page::answer(path, || page::render(facts, late.client.as_deref()))
                })
            })?,
            Answers::Files(root) => http::serve(stream, asked, self.patience, |stream, path| {
                self.known(stream, late, |_, _| root.answer(path))
            })?,
        }
        stream.close()
    }

    /// The answer, once the client is known, if it has to be; who cannot be asked gets no other.
    fn known(
        &self,
        stream: &mut Tls<'_>,
        late: &mut Late,
        answer: impl FnOnce(&Tls<'_>, &Late) -> Response,
    ) -> io::Result<Response> {
        if self.asks_later && late.client.is_none() {
            match stream.authenticate_client(ClientAuth::Required) {
                Ok(certificate) => late.know(&certificate),
                Err(error) if cannot_be_asked(&error) => {
                    return Ok(Response::status(Status::Forbidden));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answer(stream, late))
    }

    fn echo(&self, stream: &mut Tls<'_>, late: &mut Late) -> io::Result<()> {
        let mut buffer = vec![0; ECHO_BUFFER];
        let mut asked = !self.asks_later;
        loop {
            let count = stream.read(&mut buffer)?;
            stream.take_client_certificates().iter().for_each(|answer| late.know(answer));
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

/// Whether the client did not offer to be asked, or speaks a version without that.
fn cannot_be_asked(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidInput
}

/// Tells a client that cannot be asked why it is not served; what to say about it.
fn refuse(stream: &mut Tls<'_>, error: io::Error) -> io::Error {
    if !cannot_be_asked(&error) {
        return error;
    }
    let mut alert = Vec::new();
    let sender = &mut stream.connection_mut().sender;
    let sealed = sender.abort(AlertDescription::ACCESS_DENIED, &mut alert);
    let mut transport: &Transport = stream.transport();
    // Whoever does not get it has no more to learn.
    let _ = sealed.map(|()| transport.write_all(&alert));
    io::Error::other("the client cannot be asked for a certificate after the handshake")
}

/// What is known of the client since the handshake.
#[derive(Default)]
struct Late {
    /// Whom its certificate speaks of.
    client: Option<String>,
}

impl Late {
    fn know(&mut self, certificate: &ClientCertificate) {
        let leaf = certificate.identity().and_then(|identity| identity.chain.first());
        self.client = leaf.map(subject);
    }
}

/// What the server's line says of a connection that came about.
fn agreed(facts: &Facts, early: usize) -> String {
    let mut line = format!("{} {}", version_name(facts.version), facts.cipher_suite);
    if let Some(group) = facts.group {
        line.push_str(&format!(" {group}"));
    }
    if facts.retried {
        line.push_str(" retried");
    }
    if facts.resumed {
        line.push_str(" resumed");
    }
    match facts.early_data {
        EarlyData::Accepted => line.push_str(&format!(" early-data={early}")),
        EarlyData::Rejected => line.push_str(" early-data=rejected"),
        _ => {}
    }
    if facts.peer_raw_public_key.is_some() {
        line.push_str(" client=raw-public-key");
    }
    if let Some(name) = &facts.server_name {
        line.push_str(&format!(" name={}", printable(name)));
    }
    if let Some(name) = facts.pre_shared_key() {
        line.push_str(&format!(" psk={}", printable(name)));
    }
    if let Some(subject) = peer_subject(facts) {
        line.push_str(&format!(" client={subject}"));
    }
    line
}

/// Room for one record.
const ECHO_BUFFER: usize = 1 << 14;
