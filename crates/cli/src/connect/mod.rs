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
use tercel::pki::{ChainVerifier, OcspPolicy, Roots};
use tercel::{
    AcceptAnyPeer, ChainPolicy, ClientConfig, ClientConfigBuilder, Connection, Handshake, Policy,
};

use crate::transport::Transport;
use crate::{explain, material};
use early::Completed;
pub(crate) use options::Options;
use report::Timings;
use sessions::SessionFile;

/// Connects, reports, and carries bytes until the peer closes.
pub(crate) fn run(options: &Options) -> Result<()> {
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
    let name = options.server_name();
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
    let mut builder = crate::options::apply!(&options.tls, ClientConfig::builder())?;
    if let Some(protocols) = &options.tls.alpn {
        builder = builder.alpn(&protocols.0);
    }
    if let (Some(certificates), Some(key)) = (&options.cert, &options.key) {
        builder = builder.credential(material::credential(certificates, key)?);
    }
    builder = builder.pre_shared_keys(options.keys.keys()?);
    builder = builder.post_handshake_auth(options.post_handshake_auth);
    if let Some(key) = &options.raw_key {
        builder = builder.credential(material::raw_public_key(key)?);
    }
    if let Some(sessions) = sessions {
        builder = builder
            .session_store(Arc::clone(&sessions.store) as _)
            .session_context(&sessions::label(options)?)
            .early_data(options.early_data.is_some());
    }
    Ok(trust(options, builder)?.build()?)
}

fn trust(options: &Options, builder: ClientConfigBuilder) -> Result<ClientConfigBuilder> {
    if options.insecure {
        explain::say(format_args!("warning: the server is not authenticated (--insecure)"));
        return Ok(builder.verifier(Policy::Here(Arc::new(AcceptAnyPeer))));
    }
    let builder = match &options.server_keys {
        Some(file) => builder.trusted_raw_keys(material::public_keys(file)?),
        None => builder,
    };
    let roots = match (&options.ca, &options.server_keys) {
        (Some(file), _) => material::roots(file)?,
        // Keys that were named are all that is trusted.
        (None, Some(_)) => return Ok(builder),
        // Who has a key needs no authority.
        (None, None) if options.keys.any() => return Ok(builder),
        (None, None) => Roots::native()?.roots,
    };
    if !options.require_ocsp {
        return Ok(builder.roots(roots));
    }
    let verifier = ChainVerifier::builder(Arc::new(roots)).ocsp_policy(OcspPolicy::Require).build();
    Ok(builder.verifier(Policy::Here(Arc::new(ChainPolicy::with_verifier(verifier?)))))
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
