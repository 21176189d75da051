//! `tercel connect`: a TLS client that reports what was negotiated and then relays standard input
//! and output.

pub(crate) mod attempt;
pub(crate) mod closing;
pub(crate) mod ech;
pub(crate) mod failure;
pub(crate) mod handshake;
pub(crate) mod http;
#[cfg(feature = "http3")]
pub(crate) mod http3;
pub(crate) mod options;
pub(crate) mod relay;
pub(crate) mod report;
pub(crate) mod session_file;

use std::sync::Arc;

use anyhow::{Result, anyhow};
use tercel::error::Misuse;
use tercel::{ClientConfig, Connection};

use crate::certificates::describe_chain;
use crate::credential_files;
use crate::ech_offer::EchSource;
use attempt::{Attempt, Established};
use ech::EchPlan;
use failure::Failure;
use handshake::Completed;
use http::HttpRequest;
pub(crate) use options::Options;
use report::Report;
use session_file::SessionFile;

/// Connects, reports, and relays bytes until the peer closes.
pub(crate) fn run(options: &Options) -> Result<()> {
    let outcome = run_with_sessions(options);
    if let (Err(error), true) = (&outcome, options.json) {
        failure::print_json(error);
    }
    outcome
}

fn run_with_sessions(options: &Options) -> Result<()> {
    options.method()?;
    options.client.warn();
    // All steps that can fail without the server come before the connection is made.
    let sessions = options.session_file.as_deref().map(SessionFile::open).transpose()?;
    let config = config(options, sessions.as_ref())?;
    #[cfg(feature = "http3")]
    if options.http3 {
        let outcome = http3::run(options, &config, sessions.as_ref());
        let saved = sessions.map_or(Ok(()), |sessions| sessions.save());
        return outcome.and(saved);
    }
    let early_data = options.early_data.as_deref().map(credential_files::read).transpose()?;
    let outcome = run_connection(options, config, early_data.unwrap_or_default());
    let saved = sessions.map_or(Ok(()), |sessions| sessions.save());
    outcome.and(saved)
}

/// Sends `early_data`, then standard input.
fn run_connection(options: &Options, config: Arc<ClientConfig>, early_data: Vec<u8>) -> Result<()> {
    let (target, method) = (options.target()?, options.method()?);
    let name = options.client.server_name(&target.host)?;
    let EchPlan { offer, endpoint } = ech::plan(options, &target)?;
    let endpoint = endpoint.unwrap_or_else(|| target.clone());
    let attempt = Attempt { options, config, name, target, endpoint, early_data };
    let established = match attempt.run(&offer) {
        Ok(established) => established,
        Err(error) => return refused(options, error),
    };
    let Established { transport, peer, timings, completed, ech_retried } = established;
    let Completed { mut connection, received, unsent } = completed;
    let mut report = Report::new(peer, &connection.info, timings);
    report.add_ech(&attempt.name, ech_retried, &connection.info);
    drop(connection.info.take_peer_chain());
    if options.json || options.show_certs {
        let alert = closing::close(&transport, connection, received);
        return print_only(options, &report, alert);
    }
    if !options.quiet {
        report.print(true);
    }
    if let Some(method) = method {
        let (address, timeout, quiet) = (&options.address, options.timeout, options.quiet);
        let request = HttpRequest { method, address, timeout, quiet };
        return request.run(transport.into_socket()?, connection, received);
    }
    let first = first_records(options, &mut connection, &unsent)?;
    let options = relay::RelayOptions {
        timeout: options.timeout,
        awaits_request: connection.info.post_handshake_auth,
        quiet: options.quiet,
    };
    relay::run(transport.into_socket()?, connection, received, first, options)
}

/// Prints the refused chain if it is to be shown, and returns the failure.
fn refused(options: &Options, error: anyhow::Error) -> Result<()> {
    let refusal = error.downcast_ref::<Failure>().and_then(|failure| failure.refusal.as_ref());
    if let Some(refusal) = refusal.filter(|_| options.show_certs) {
        report::print_pem(&describe_chain(&refusal.chain))?;
    }
    Err(error)
}

/// Prints the report of a connection over which nothing is sent. `alert` is the alert with which
/// the server refused the client afterwards.
fn print_only(options: &Options, report: &Report, alert: Option<tercel::Error>) -> Result<()> {
    if options.json && alert.is_none() {
        report.print_json()?;
    } else if !options.json && !options.quiet {
        report.print(false);
    }
    if options.show_certs {
        report.print_pem()?;
    }
    alert.map_or(Ok(()), |error| Err(Failure::of_alert(error).into()))
}

fn config(options: &Options, sessions: Option<&SessionFile>) -> Result<Arc<ClientConfig>> {
    let client = &options.client;
    let mut builder = client.builder()?.post_handshake_auth(options.post_handshake_auth);
    builder = builder.ech_grease(options.ech != EchSource::Off && !client.tls.fips);
    if (options.get || options.head) && client.tls.alpn.is_none() {
        builder = builder.alpn(&["h2", "http/1.1"]);
    }
    #[cfg(feature = "http3")]
    if options.http3 {
        builder = builder.alpn(&[crate::http3::PROTOCOL]);
        builder = builder.quic_early_data_context(crate::http3::EARLY_DATA_CONTEXT);
    }
    if let Some(sessions) = sessions {
        builder = builder
            .session_store(Arc::clone(&sessions.store) as _)
            .session_context(&client.session_context()?)
            .early_data(options.early_data.is_some() || options.early_request);
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
