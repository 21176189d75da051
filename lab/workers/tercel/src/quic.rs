//! Rows over QUIC: `tercel-quinn`, which implements quinn's traits on `tercel::quic`.

use std::sync::Arc;

use lab_quic::{Provider, Sides};
use lab_scenario::{About, Files, Library, PrepareError, Row};
use tercel_quinn::{QuicClientConfig, QuicServerConfig};

/// Tercel as quinn uses it.
pub(crate) struct Tercel;

impl Provider for Tercel {
    fn about() -> About {
        super::Tercel::about()
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Sides, PrepareError> {
        let (client, server) = super::configurations(row, files)?;
        Ok(Sides {
            client: Arc::new(QuicClientConfig::try_from(client)?),
            server: Arc::new(QuicServerConfig::try_from(server)?),
        })
    }
}
