//! Rows over QUIC: quinn-proto's own implementation of its traits, on rustls.

use std::sync::Arc;

use lab_quic::{ALPN, Provider, Sides};
use lab_scenario::{About, Files, Library, PrepareError, Row};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};

use crate::configuration::cryptography::cipher_suite::TLS13_AES_128_GCM_SHA256;
use crate::configuration::{Configured, provider};

/// rustls as quinn uses it.
pub(crate) struct Rustls;

impl Provider for Rustls {
    fn about() -> About {
        super::Rustls::about()
    }

    fn configure(row: &Row, files: &Files) -> std::result::Result<Sides, PrepareError> {
        let Configured { client, server, .. } =
            Configured::new(row, files, &Arc::new(provider(row)?))?;
        let (mut client, mut server) = (Arc::unwrap_or_clone(client), Arc::unwrap_or_clone(server));
        client.alpn_protocols = vec![ALPN.into()];
        server.alpn_protocols = vec![ALPN.into()];
        // The only limit that QUIC allows. RFC 9001 4.6.1
        server.max_early_data_size = if row.early_data > 0 { u32::MAX } else { 0 };
        // The suite of Initial packets, which the row's provider may not have.
        let initial = || {
            let suite =
                TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
            suite.ok_or_else(|| PrepareError::unsupported("no suite for Initial packets"))
        };
        let client = QuicClientConfig::with_initial(Arc::new(client), initial()?)?;
        let server = QuicServerConfig::with_initial(Arc::new(server), initial()?)?;
        Ok(Sides { client: Arc::new(client), server: Arc::new(server) })
    }
}
