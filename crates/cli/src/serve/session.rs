//! One connection of the server: handshake, answers, an orderly end, and a line that says how it went.
//!
//! Must not know: other connections. Next: [`super::http`] for what is answered.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tercel::wire::ProtocolVersion;
use tercel::{EarlyData, Facts, Handshake, ServerConfig, Stream};

use super::files::Root;
use super::{early, http, page};
use crate::explain;
use crate::negotiated::{peer_subject, printable};
use crate::options::version_name;
use crate::transport::Transport;

/// What every connection shares.
pub(crate) struct Session {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) answers: Answers,
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
        let agreed = agreed(&stream.connection().facts, early.length);
        let ended =
            transport.limit_each_wait().and_then(|()| self.answer(&mut stream, early.unanswered));
        match ended {
            Ok(()) => agreed,
            Err(error) => format!("{agreed}  {}", explain::connection(&error)),
        }
    }

    /// Answers what is asked, `asked` first.
    fn answer(&self, stream: &mut Tls<'_>, asked: Vec<u8>) -> io::Result<()> {
        if self.update_key && stream.connection().facts.version == ProtocolVersion::TLS1_3 {
            stream.update_key(true)?;
        }
        match &self.answers {
            Answers::Echo => echo(stream)?,
            Answers::Page => {
                let page = page::render(&stream.connection().facts);
                http::serve(stream, asked, self.patience, |path| page::answer(path, &page))?;
            }
            Answers::Files(root) => {
                http::serve(stream, asked, self.patience, |path| root.answer(path))?;
            }
        }
        stream.close()
    }
}

fn echo(stream: &mut Tls<'_>) -> io::Result<()> {
    let mut buffer = vec![0; ECHO_BUFFER];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => stream.write_all(buffer.get(..count).unwrap_or_default())?,
        }
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
    if let Some(subject) = peer_subject(facts) {
        line.push_str(&format!(" client={subject}"));
    }
    line
}

/// Room for one record.
const ECHO_BUFFER: usize = 1 << 14;
