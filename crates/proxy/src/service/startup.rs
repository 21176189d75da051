//! Startup steps: configuration warnings, open file limit, admin listener.

use std::io;
use std::net::TcpListener;

use anyhow::{Result, anyhow};
use tercel::crypto::{Kernel, kernel_state};

use crate::config::{Config, ConfigError};
use crate::system::file_limit;

pub(super) fn log_warnings(warnings: &[ConfigError]) {
    for warning in warnings {
        tracing::warn!(%warning, "configuration warning");
    }
}

pub(super) fn raise_file_limit(config: &Config) {
    match file_limit::raise_file_limit() {
        // Each connection needs one descriptor for the client and one for the backend.
        Ok(limit)
            if limit.soft / 2 < u64::try_from(config.limits.connections).unwrap_or(u64::MAX) =>
        {
            let (files, connections) = (limit.soft, config.limits.connections);
            tracing::warn!(files, connections, "open file limit is too low for limits.connections");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "cannot raise the open file limit"),
    }
}

/// Which kernels are in use, or the reason why not, for the log.
pub(super) fn kernel_states() -> String {
    let state = |kernel: &Kernel| format!("{kernel} {}", kernel_state(*kernel));
    Kernel::ALL.iter().map(state).collect::<Vec<_>>().join(", ")
}

pub(super) fn bind_admin(
    config: &Config,
    address: std::net::SocketAddr,
    inherited: &[TcpListener],
) -> Result<TcpListener> {
    let known = inherited.iter().find(|each| each.local_addr().is_ok_and(|own| own == address));
    let bound = match known {
        Some(known) => known.try_clone(),
        None => TcpListener::bind(address),
    };
    let bound = bound.and_then(|bound| bound.set_nonblocking(true).map(|()| bound));
    bound.map_err(|error| {
        anyhow!(config.location.error("admin.address", listen_error(address, &error)))
    })
}

/// Why an address cannot be listened on, and what to do.
pub(super) fn listen_error(address: std::net::SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{address}: the port is in use by another program; choose another port")
        }
        io::ErrorKind::PermissionDenied => format!(
            "{address}: permission denied; ports below 1024 need root, CAP_NET_BIND_SERVICE, or a \
             socket passed by systemd"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("{address}: this machine does not have that address")
        }
        _ => format!("{address}: {error}"),
    }
}
