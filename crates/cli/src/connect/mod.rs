//! `tercel connect`: a TLS client that reports what was negotiated and then carries bytes.
//!
//! Must not know: how the bytes are carried. Next: [`target`] for reaching the server, [`report`] for what
//! is said about it, [`early`] for what is said before there is a connection, [`pump`] for the bytes.

pub(crate) mod early;
pub(crate) mod options;
pub(crate) mod pump;
pub(crate) mod report;
pub(crate) mod sessions;
pub(crate) mod target;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use tercel::Misuse;
use tercel::{ClientConfig, Connection, Handshake};

use crate::transport::Transport;
use crate::{explain, material};
use early::Completed;
pub(crate) use options::Options;
use report::Timings;
use sessions::SessionFile;

/// Connects, reports, and carries bytes until the peer closes.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.client.warn();
    // Whatever can go wrong without the server goes wrong before it is bothered.
    let sessions = options.session_file.as_deref().map(SessionFile::open).transpose()?;
    let config = config(options, sessions.as_ref())?;
    let words = options.early_data.as_deref().map(material::read).transpose()?;
    let outcome = converse(options, config, words.unwrap_or_default());
    let saved = sessions.map_or(Ok(()), |sessions| sessions.save());
    outcome.and(saved)
}

/// Says `words` and then what comes from standard input.
fn converse(options: &Options, config: Arc<ClientConfig>, words: Vec<u8>) -> Result<()> {
    let name = options.client.server_name(&options.target.host);
    let start = Instant::now();
    let socket = options.target.connect(options.timeout)?;
    let tcp_connect = start.elapsed();
    let peer = socket.peer_addr().context("the connection is gone")?;

    let transport = Transport::new(socket, options.timeout)?;
    let mut handshake = Handshake::client(config, name);
    let start = Instant::now();
    transport.limit_all_until(start + options.timeout);
    let completed = early::complete(&mut handshake, &transport, words);
    let timings = Timings { tcp_connect, handshake: start.elapsed() };
    let Completed { mut connection, received, unsaid } = match completed {
        Ok(completed) => completed,
        Err(error) => {
            let why = explain::handshake(&error, &handshake);
            // The peer is to get our alert, if there is one.
            transport.end();
            return Err(anyhow!(why));
        }
    };
    if !options.quiet {
        report::print(peer, &mut connection.facts, timings);
    }
    let first = first_words(options, &mut connection, &unsaid)?;
    let terms = pump::Terms {
        patience: options.timeout,
        awaits_request: connection.facts.post_handshake_auth,
        quiet: options.quiet,
    };
    pump::run(transport.into_socket()?, connection, received, first, terms)
}

fn config(options: &Options, sessions: Option<&SessionFile>) -> Result<Arc<ClientConfig>> {
    let client = &options.client;
    let mut builder = client.builder()?.post_handshake_auth(options.post_handshake_auth);
    if let Some(sessions) = sessions {
        builder = builder
            .session_store(Arc::clone(&sessions.store) as _)
            .session_context(&client.label()?)
            .early_data(options.early_data.is_some());
    }
    Ok(builder.build()?)
}

/// What is sent before the first byte of standard input.
fn first_words(options: &Options, connection: &mut Connection, unsaid: &[u8]) -> Result<Vec<u8>> {
    let mut first = Vec::new();
    if options.update_key {
        match connection.sender.update_key(true, &mut first) {
            Err(tercel::Error::Misuse(Misuse::WrongVersion)) => {
                return Err(anyhow!("--update-key needs TLS 1.3, and this is TLS 1.2"));
            }
            other => other?,
        }
    }
    connection.sender.seal_to(unsaid, &mut first)?;
    Ok(first)
}
