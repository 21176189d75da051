//! The server configuration for the options of the command line.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tercel::pki_types::UnixTime;
use tercel::{
    Policy, ServerConfig,
    server::ServerConfigBuilder,
    session::{ReplayGuard, ServerMemoryStore},
};

use super::identity::Identity;
use super::options::{ClientAuthMode, Options, Sessions};
use crate::{credential_files, explain};

/// The configuration for TCP.
pub(crate) fn config(options: &Options, identity: &Identity) -> Result<Arc<ServerConfig>> {
    let builder = builder(options, identity)?;
    let builder = match &options.tls.alpn {
        Some(protocols) => builder.alpn(&protocols.0),
        None if options.echo => builder,
        None => builder.alpn(options.protocols()),
    };
    let config = builder.build()?;
    if config.omits_authorities() {
        explain::warn(format_args!(
            "--client-ca: the names of the authorities exceed 63 KiB, so that none is sent to \
             clients, and each client chooses a certificate without them"
        ));
    }
    Ok(config)
}

/// The configuration for HTTP/3. It is separate, because over TCP no client may choose HTTP/3, and
/// no other protocol over QUIC.
#[cfg(feature = "http3")]
pub(crate) fn http3_config(options: &Options, identity: &Identity) -> Result<Arc<ServerConfig>> {
    let builder = builder(options, identity)?.alpn(&[crate::http3::PROTOCOL]);
    Ok(builder.quic_early_data_context(crate::http3::EARLY_DATA_CONTEXT).build()?)
}

fn builder(options: &Options, identity: &Identity) -> Result<ServerConfigBuilder> {
    let mut builder = crate::options::apply!(&options.tls, ServerConfig::builder());
    for credential in &identity.credentials {
        builder = builder.credential(credential.clone());
    }
    if options.keys.is_set() {
        builder = builder.pre_shared_keys(options.keys.keys()?);
    }
    if let Some(ech) = &identity.ech {
        builder = builder.ech(Arc::clone(&ech.keys));
    }
    if options.require_known_name {
        builder = builder.require_known_name();
    }
    if options.client_auth != ClientAuthMode::None {
        let demand = options.client_auth.into();
        if let Some(file) = &options.client_keys {
            builder = builder.client_raw_keys(demand, credential_files::public_keys(file)?);
        }
        if let Some(roots) = &identity.client_roots {
            builder = builder.client_auth(demand, roots.clone());
        }
    }
    Ok(resumption(options, builder))
}

fn resumption(options: &Options, builder: ServerConfigBuilder) -> ServerConfigBuilder {
    let builder = match options.sessions {
        // Session IDs for TLS 1.2 clients without ticket support are the default of the library.
        Sessions::Both => builder,
        Sessions::Tickets => builder.without_session_ids(),
        Sessions::Memory => {
            let store = Arc::new(ServerMemoryStore::default());
            builder.without_tickets().session_store(Policy::Here(store))
        }
        Sessions::None => builder.without_tickets(),
    };
    match options.early_data {
        Some(bytes) => {
            // Ticket keys and stores are created together with this guard, so the guard has an
            // entry for all early data that was accepted with them.
            let beginning = UnixTime::since_unix_epoch(Duration::ZERO);
            let guard = ReplayGuard::new(REPLAY_GUARD_CAPACITY, beginning);
            builder.early_data(bytes, Policy::Here(Arc::new(guard)))
        }
        None => builder,
    }
}

/// The capacity of the replay guard, in connections with early data; entries last two minutes.
const REPLAY_GUARD_CAPACITY: usize = 1 << 16;
