//! `tercel serve`: a TLS server to try clients against.
//!
//! One thread per connection, a limit on their number, and no way for one connection to end the server.
//! Must not know: HTTP, certificates. Next: [`session`] for one connection, [`authority`] for where
//! certificates come from without files.

pub(crate) mod announce;
pub(crate) mod authority;
pub(crate) mod early;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod options;
pub(crate) mod page;
pub(crate) mod session;
pub(crate) mod slots;

use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tercel::pki_types::UnixTime;
use tercel::{Credential, MemoryStore, Policy, ReplayGuard, ServerConfig, ServerConfigBuilder};
use tercel_tokio::AcceptBackoff;

use crate::{explain, material};
use announce::Announcement;
use authority::Authority;
use files::Root;
use options::Demand;
pub(crate) use options::{Options, Sessions};
use session::{Answers, Session};
use slots::Slots;

/// Serves until the process is ended.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.check();
    let answers = match &options.root {
        _ if options.echo => Answers::Echo,
        Some(folder) => Answers::Files(Root::open(folder)?),
        None => Answers::Page,
    };
    let listener = TcpListener::bind(options.listen)
        .with_context(|| format!("cannot listen on {}", options.listen))?;
    let address = listener.local_addr()?;
    let identity = Identity::new(options, address.ip())?;
    let announcement = Announcement::new(options, address, &identity);
    let session = Arc::new(Session {
        config: config(options, identity)?,
        answers,
        asks_later: options.client_auth == Demand::Later,
        patience: options.timeout,
        update_key: options.update_key,
    });
    announcement.print();
    accept(&listener, &session, options.max_connections)
}

/// Whom the server is, and whom it believes about clients.
pub(crate) struct Identity {
    pub(crate) credentials: Vec<Credential>,
    /// The folder and files of the embedded authority, when that made the credentials.
    pub(crate) authority: Option<Authority>,
    client_ca: Option<PathBuf>,
}

impl Identity {
    fn new(options: &Options, address: IpAddr) -> Result<Self> {
        let pairs = options.cert.iter().zip(&options.key);
        let mut credentials = pairs
            .map(|(certificates, key)| material::credential(certificates, key))
            .collect::<Result<Vec<_>>>()?;
        for (credential, file) in credentials.iter_mut().zip(&options.ocsp) {
            *credential = credential.with_ocsp_response(material::ocsp_response(file)?);
        }
        if let Some(key) = &options.raw_key {
            credentials.push(material::raw_public_key(key)?);
        }
        let mut authority = None;
        if credentials.is_empty() && !options.keys.any() {
            let (made, leaves) = authority::make(options.state_dir.as_deref(), address)?;
            authority = Some(made);
            credentials = leaves;
        }
        let own_ca = authority.as_ref().map(|authority| authority.ca.clone());
        Ok(Self { credentials, authority, client_ca: options.client_ca.clone().or(own_ca) })
    }
}

fn config(options: &Options, identity: Identity) -> Result<Arc<ServerConfig>> {
    let mut builder = crate::options::apply!(&options.tls, ServerConfig::builder())?;
    builder = match &options.tls.alpn {
        Some(protocols) => builder.alpn(&protocols.0),
        None if options.echo => builder,
        None => builder.alpn(&[options::PROTOCOL]),
    };
    for credential in identity.credentials {
        builder = builder.credential(credential);
    }
    if options.keys.any() {
        builder = builder.pre_shared_keys(options.keys.keys()?);
    }
    if options.require_known_name {
        builder = builder.require_known_name();
    }
    if options.client_auth != Demand::None {
        let demand = options.client_auth.into();
        if let Some(file) = &options.client_keys {
            builder = builder.client_raw_keys(demand, material::public_keys(file)?);
        }
        if let Some(file) = &identity.client_ca {
            builder = builder.client_auth(demand, material::roots(file)?);
        }
    }
    Ok(resumption(options, builder).build()?)
}

fn resumption(options: &Options, builder: ServerConfigBuilder) -> ServerConfigBuilder {
    let builder = match options.sessions {
        // The library's default: ids for those clients of TLS 1.2 that take no tickets.
        Sessions::Both => builder,
        Sessions::Tickets => builder.without_session_ids(),
        Sessions::Memory => {
            let store = Arc::new(MemoryStore::default());
            builder.without_tickets().session_store(Policy::Here(store))
        }
        Sessions::None => builder.without_tickets(),
    };
    match options.early_data {
        Some(bytes) => {
            // Keys and store are as young as this guard, so nothing was admitted that it has not seen.
            let beginning = UnixTime::since_unix_epoch(Duration::ZERO);
            let guard = ReplayGuard::new(REMEMBERED_EARLY_DATA, beginning);
            builder.early_data(bytes, Policy::Here(Arc::new(guard)))
        }
        None => builder,
    }
}

fn accept(listener: &TcpListener, session: &Arc<Session>, limit: usize) -> Result<()> {
    let slots = Slots::new(limit);
    let mut backoff = AcceptBackoff::new();
    loop {
        // At the limit, clients wait in the system's queue.
        let slot = slots.take();
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                // Said once, however long it lasts.
                if !backoff.is_failing() {
                    explain::say(format_args!("cannot accept, trying again: {error}"));
                }
                // Most likely out of descriptors: connections that end give some back.
                thread::sleep(backoff.after(&error));
                continue;
            }
        };
        backoff.reset();
        let session = Arc::clone(session);
        let spawned = thread::Builder::new().name(peer.to_string()).spawn(move || {
            let _slot = slot;
            let line = session.run(socket);
            explain::say(format_args!("{peer}  {line}"));
        });
        if let Err(error) = spawned {
            explain::say(format_args!("{peer}  no thread for it: {error}"));
        }
    }
}

/// How many connections with early data two minutes may bring.
const REMEMBERED_EARLY_DATA: usize = 1 << 16;
