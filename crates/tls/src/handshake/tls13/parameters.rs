//! The parameters that a server chooses from a ClientHello: suite, group and external key.
//! RFC 9846 4.2.1

use std::sync::Arc;

use tercel_wire::{ClientHello, CompressionMethod, List, NamedGroup, ProtocolVersion};

use crate::config::server::ServerConfig;
use crate::error::{Error, PeerError};
use crate::handshake::negotiate::KnownSuites;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::{negotiate, pre_shared_key};
use crate::keys::suite::Suite;
use crate::psk::PreSharedKey;
use crate::record::joiner::Message;

/// The parameters that are negotiated before the key exchange.
pub(super) struct Parameters {
    pub(super) suite: &'static Suite,
    pub(super) group: NamedGroup,
    /// The external key to use, whose binder is not checked yet.
    pub(super) external: Option<Arc<PreSharedKey>>,
}

impl Parameters {
    /// Chooses suite and group. RFC 9846 4.2.1
    pub(super) async fn negotiate(
        flow: &mut Flow,
        config: &Arc<ServerConfig>,
        message: &Message,
        hello: &ClientHello<'_>,
    ) -> Result<Self, Error> {
        check_hello(hello)?;
        // RFC 9001 8.4
        if config.common.is_for_quic() && !hello.session_id.is_empty() {
            return Err(PeerError::SessionIdOverQuic.into());
        }
        let parameters = hello.extensions.quic_transport_parameters;
        flow.receive_transport_parameters(parameters, PeerError::MissingExtension)?;
        let suites = KnownSuites::of(hello);
        let external = pre_shared_key::find(flow, config, hello, &suites, message).await?;
        let hash = external.as_ref().map(|key| key.hash());
        let suite = negotiate::suite13(&suites, config, hash)?;
        let group = negotiate::group13(hello, config)?;
        Ok(Self { suite, group, external })
    }

    /// Whether the ClientHello has a share for the group; if not, a retry is needed.
    pub(super) fn has_share(&self, hello: &ClientHello<'_>) -> bool {
        let shares = hello.extensions.key_share;
        shares.is_some_and(|shares| shares.iter().any(|share| share.group == self.group))
    }
}

/// Checks that apply to each ClientHello of TLS 1.3. RFC 9846 4.2.1, 9.2
pub(super) fn check_hello(hello: &ClientHello<'_>) -> Result<(), Error> {
    // In TLS 1.3 legacy_version has a fixed value. RFC 9846 4.2.2
    if hello.legacy_version != ProtocolVersion::TLS1_2 {
        return Err(PeerError::UnsupportedVersion.into());
    }
    if hello.compression_methods != List::new(&[CompressionMethod::NULL]) {
        return Err(PeerError::Compression.into());
    }
    let extensions = &hello.extensions;
    if extensions.pre_shared_key.is_some() && extensions.psk_key_exchange_modes.is_none() {
        return Err(PeerError::MissingExtension.into());
    }
    if extensions.supported_groups.is_some() != extensions.key_share.is_some() {
        return Err(PeerError::MissingExtension.into());
    }
    // Only a client that offers a pre-shared key may omit signature_algorithms. RFC 9846 9.2
    if extensions.signature_algorithms.is_none() && extensions.pre_shared_key.is_none() {
        return Err(PeerError::MissingExtension.into());
    }
    // Each share must be for a listed group. The order of the shares is not checked: servers need
    // not check it, and clients that remember a group from an earlier retry send shares in another
    // order. RFC 9846 4.3.8
    if extensions.unlisted_key_share().is_some() {
        return Err(PeerError::IllegalParameter.into());
    }
    Ok(())
}
