//! Endpoints of quinn on tokio, in place of quinn's functions that need rustls.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
use tercel::crypto::CryptoError;
use tercel::quic;

use crate::{QuicClientConfig, QuicServerConfig, ResetKey, TokenKey};

/// Returns the default configuration of endpoints, with a random key for stateless resets, and with
/// the versions that this crate supports.
///
/// # Errors
/// If the random generator fails.
pub fn endpoint_config() -> Result<EndpointConfig, CryptoError> {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(quic::ResetKey::random()?)));
    config.supported_versions(vec![quic::Version::V1.number()]);
    Ok(config)
}

/// Returns the default configuration of clients, with these settings for TLS.
#[must_use]
pub fn client_config(crypto: QuicClientConfig) -> ClientConfig {
    ClientConfig::new(Arc::new(crypto))
}

/// Returns the default configuration of servers, with these settings for TLS and a random secret
/// for address validation tokens.
///
/// # Errors
/// If the random generator fails.
pub fn server_config(crypto: QuicServerConfig) -> Result<ServerConfig, CryptoError> {
    let key = TokenKey(quic::TokenKey::random()?);
    Ok(ServerConfig::new(Arc::new(crypto), Arc::new(key)))
}

/// Creates an endpoint for clients at this address, such as `[::]:0`. It has to be called within a
/// tokio runtime. Pass a [`client_config`] to `Endpoint::set_default_client_config` or to
/// `Endpoint::connect_with`.
///
/// # Errors
/// If no socket can be bound to the address, or the random generator fails.
pub fn client_endpoint(address: SocketAddr) -> io::Result<Endpoint> {
    endpoint(None, address)
}

/// Creates an endpoint for servers at this address, which can also connect. It has to be called
/// within a tokio runtime. `config` is a [`server_config`], perhaps with changes.
///
/// # Errors
/// As for [`client_endpoint`].
pub fn server_endpoint(config: ServerConfig, address: SocketAddr) -> io::Result<Endpoint> {
    endpoint(Some(config), address)
}

fn endpoint(server: Option<ServerConfig>, address: SocketAddr) -> io::Result<Endpoint> {
    let config = endpoint_config().map_err(io::Error::other)?;
    Endpoint::new(config, server, UdpSocket::bind(address)?, Arc::new(TokioRuntime))
}
