//! `tercel serve`: a TLS server for tests.
//!
//! Each connection has a task, and the number of connections is limited. No failure of a connection
//! ends the server. A signal ends it after the responses in progress. With --http3, the server also
//! accepts connections over QUIC, which count in the same limit.

pub(crate) mod announce;
pub(crate) mod authority;
pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod echo;
pub(crate) mod files;
pub(crate) mod handshake;
pub(crate) mod http;
#[cfg(feature = "http3")]
pub(crate) mod http3;
pub(crate) mod identity;
pub(crate) mod options;
pub(crate) mod page;
pub(crate) mod sockets;
pub(crate) mod time_limit;

use std::sync::Arc;

use anyhow::{Context, Result};
use tercel_tokio::AcceptBackoff;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::explain;
use announce::Announcement;
use connection::{ConnectionHandler, Content};
use files::DocumentRoot;
use identity::Identity;
use options::ClientAuthMode;
pub(crate) use options::Options;
use sockets::Sockets;
use time_limit::TimeLimit;

/// Serves until a signal ends the process.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check()?;
    let content = match &options.root {
        _ if options.echo => Content::Echo,
        Some(folder) => Content::Files(Arc::new(DocumentRoot::open(folder)?)),
        None => Content::Page,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot create a runtime")?;
    let served = runtime.block_on(serve(options, content));
    // A read of a file may take long, and is not waited for.
    runtime.shutdown_background();
    served
}

async fn serve(options: &Options, content: Content) -> Result<()> {
    let Sockets { listener, udp } = sockets::bind(options.listen, options.http3).await?;
    let address = listener.local_addr()?;
    let identity = Identity::new(options, address.ip())?;
    let announcement = Announcement::new(options, address, &identity);
    let (end, ending) = watch::channel(false);
    let handler = Arc::new(ConnectionHandler {
        config: config::config(options, &identity)?,
        content,
        post_handshake_auth: options.client_auth == ClientAuthMode::Later,
        timeout: TimeLimit(options.timeout),
        update_key: options.update_key,
        alt_svc: udp.as_ref().map(|_| sockets::alt_svc(address)).transpose()?,
        ending,
    });
    let permits = Arc::new(Semaphore::new(options.max_connections));
    #[cfg(feature = "http3")]
    let quic = udp
        .map(|udp| {
            let tls = config::http3_config(options, &identity)?;
            let places = http3::Places::new(Arc::clone(&permits), options.max_connections);
            http3::QuicListener::start(udp, tls, Arc::clone(&handler), places)
        })
        .transpose()?;
    #[cfg(not(feature = "http3"))]
    drop(udp);
    let signal = end_signal()?;
    announcement.print();
    tokio::select! {
        () = accept(&listener, &handler, &permits) => {}
        () = signal => {}
    }
    drop(listener);
    end.send_replace(true);
    let all = u32::try_from(options.max_connections)?;
    #[cfg(feature = "http3")]
    quic.as_ref().inspect(|quic| quic.refuse_new());
    let _ = timeout(http::GRACE, permits.acquire_many(all)).await;
    #[cfg(feature = "http3")]
    if let Some(quic) = quic {
        quic.end().await;
    }
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    handler: &Arc<ConnectionHandler>,
    permits: &Arc<Semaphore>,
) {
    let mut backoff = AcceptBackoff::new();
    loop {
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // The error is logged once until `accept` succeeds.
                if !backoff.is_failing() {
                    explain::print_line(format_args!(
                        "cannot accept connection, retrying: {error}"
                    ));
                }
                // The server has probably no file descriptors left; closing connections free some.
                sleep(backoff.after(&error)).await;
                continue;
            }
        };
        backoff.reset();
        // At the limit, this client waits here, and others in the backlog of the operating system.
        let Ok(permit) = Arc::clone(permits).acquire_owned().await else { return };
        let handler = Arc::clone(handler);
        tokio::spawn(async move {
            let _permit = permit;
            let line = handler.run(socket).await;
            explain::print_line(format_args!("{peer}  {line}"));
        });
    }
}

/// A future that ends with the first signal to end the process.
fn end_signal() -> std::io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut terminate = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate())?
    };
    #[cfg(unix)]
    let terminated = async move { terminate.recv().await };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<Option<()>>();
    Ok(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminated => {}
        }
    })
}
