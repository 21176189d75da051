//! `tercel serve`: a TLS server for tests.
//!
//! Each connection has a thread, and the number of connections is limited. No failure of a
//! connection ends the server.

pub(crate) mod announce;
pub(crate) mod authority;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod connection_limit;
pub(crate) mod files;
pub(crate) mod handshake;
pub(crate) mod http;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod page;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use tercel_tokio::AcceptBackoff;

use crate::explain;
use announce::Announcement;
use connection::{ConnectionHandler, Content};
use connection_limit::ConnectionLimit;
use files::DocumentRoot;
use identity::Identity;
use options::ClientAuthMode;
pub(crate) use options::Options;

/// Serves until the process ends.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check()?;
    let content = match &options.root {
        _ if options.echo => Content::Echo,
        Some(folder) => Content::Files(DocumentRoot::open(folder)?),
        None => Content::Page,
    };
    let listener = TcpListener::bind(options.listen)
        .with_context(|| format!("cannot listen on {}", options.listen))?;
    let address = listener.local_addr()?;
    let identity = Identity::new(options, address.ip())?;
    let announcement = Announcement::new(options, address, &identity);
    let handler = Arc::new(ConnectionHandler {
        config: config::config(options, identity)?,
        content,
        post_handshake_auth: options.client_auth == ClientAuthMode::Later,
        timeout: options.timeout,
        update_key: options.update_key,
    });
    announcement.print();
    accept(&listener, &handler, options.max_connections)
}

fn accept(listener: &TcpListener, handler: &Arc<ConnectionHandler>, limit: usize) -> Result<()> {
    let limit = ConnectionLimit::new(limit);
    let mut backoff = AcceptBackoff::new();
    loop {
        // At the limit, clients wait in the backlog of the operating system.
        let permit = limit.take();
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                // The error is logged once until `accept` succeeds.
                if !backoff.is_failing() {
                    explain::print_line(format_args!(
                        "cannot accept connection, retrying: {error}"
                    ));
                }
                // The server has probably no file descriptors left; closing connections free some.
                thread::sleep(backoff.after(&error));
                continue;
            }
        };
        backoff.reset();
        let handler = Arc::clone(handler);
        let spawned = thread::Builder::new().name(peer.to_string()).spawn(move || {
            let _permit = permit;
            let line = handler.run(socket);
            explain::print_line(format_args!("{peer}  {line}"));
        });
        if let Err(error) = spawned {
            explain::print_line(format_args!("{peer}  cannot start a thread: {error}"));
        }
    }
}
