//! `tercel connect`: a TLS client that reports what was negotiated and then relays standard input
//! and output.

pub(crate) mod handshake;
pub(crate) mod options;
pub(crate) mod relay;
pub(crate) mod report;
pub(crate) mod session_file;

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use tercel::error::Misuse;
use tercel::{ClientConfig, Connection, Handshake};

use crate::transport::Transport;
use crate::{credential_files, explain};
use handshake::Completed;
pub(crate) use options::Options;
use report::Timings;
use session_file::SessionFile;

/// Connects, reports, and relays bytes until the peer closes.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.client.warn();
    // All steps that can fail without the server come before the connection is made.
    let sessions = options.session_file.as_deref().map(SessionFile::open).transpose()?;
    let config = config(options, sessions.as_ref())?;
    let early_data = options.early_data.as_deref().map(credential_files::read).transpose()?;
    let outcome = run_connection(options, config, early_data.unwrap_or_default());
    let saved = sessions.map_or(Ok(()), |sessions| sessions.save());
    outcome.and(saved)
}

/// Sends `early_data`, then standard input.
fn run_connection(options: &Options, config: Arc<ClientConfig>, early_data: Vec<u8>) -> Result<()> {
    let name = options.client.server_name(&options.target.host)?;
    let start = Instant::now();
    let socket = options.target.connect(options.timeout)?;
    let tcp_connect = start.elapsed();
    let peer = socket.peer_addr().context("connection lost")?;

    let transport = Transport::new(socket, options.timeout)?;
    let mut handshake = Handshake::client(config, name);
    let start = Instant::now();
    transport.set_deadline(start + options.timeout);
    let completed = handshake::complete(&mut handshake, &transport, early_data);
    let timings = Timings { tcp_connect, handshake: start.elapsed() };
    let Completed { mut connection, received, unsent } = match completed {
        Ok(completed) => completed,
        Err(error) => {
            let why = explain::handshake(&error, &handshake);
            // The alert, if any, must reach the peer.
            transport.close_gracefully();
            return Err(anyhow!(why));
        }
    };
    if !options.quiet {
        report::print(peer, &mut connection.info, timings);
    }
    let first = first_records(options, &mut connection, &unsent)?;
    let options = relay::RelayOptions {
        timeout: options.timeout,
        awaits_request: connection.info.post_handshake_auth,
        quiet: options.quiet,
    };
    relay::run(transport.into_socket()?, connection, received, first, options)
}

fn config(options: &Options, sessions: Option<&SessionFile>) -> Result<Arc<ClientConfig>> {
    let client = &options.client;
    let mut builder = client.builder()?.post_handshake_auth(options.post_handshake_auth);
    if let Some(sessions) = sessions {
        builder = builder
            .session_store(Arc::clone(&sessions.store) as _)
            .session_context(&client.session_context()?)
            .early_data(options.early_data.is_some());
    }
    Ok(builder.build()?)
}

/// The records to be sent before the first byte of standard input.
fn first_records(options: &Options, connection: &mut Connection, unsent: &[u8]) -> Result<Vec<u8>> {
    let mut first = Vec::new();
    if options.update_key {
        match connection.sender.update_key(true, &mut first) {
            Err(tercel::Error::Misuse(Misuse::WrongVersion)) => {
                return Err(anyhow!("--update-key needs TLS 1.3, but TLS 1.2 was negotiated"));
            }
            other => other?,
        }
    }
    connection.sender.seal_to(unsent, &mut first)?;
    Ok(first)
}
