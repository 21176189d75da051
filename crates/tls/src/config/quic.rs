//! The configuration for QUIC, which is derived from the application's. RFC 9001 4, 8
//!
//! One configuration serves TCP and QUIC. The derived configuration leaves out what QUIC does not
//! have: older versions, session IDs, record options, post-handshake authentication.

use std::sync::Arc;

use tercel_crypto::PartsHash;
use tercel_wire::ProtocolVersion;

use super::client::ClientConfig;
use super::client_auth::ClientAuth;
use super::common::{Common, QuicOptions, QuicRules};
use super::server::ServerConfig;
use crate::error::config::ConfigError;
use crate::fips::FipsReason;
use crate::keys::quic::Version;
use crate::policy::Policy;
use crate::record::sealer::Padding;

impl ClientConfig {
    /// Returns the name of an option because of which a handshake may ask its caller a
    /// [`Question`](crate::Question). `None` if there is no such option. Transports that cannot
    /// wait for answers refuse such a configuration.
    #[cfg_attr(docsrs, doc(cfg(feature = "quic")))]
    #[must_use]
    pub fn option_that_asks(&self) -> Option<&'static str> {
        let options = [
            ("verifier", matches!(self.verifier, Policy::Ask)),
            ("credentials", matches!(self.credentials, Some(Policy::Ask))),
            ("credential", self.asks_for_signatures),
            ("ask_for_session", self.resumption.ask_for_session),
        ];
        first_set(&options)
    }

    /// Returns the configuration for this version of QUIC, which is derived once.
    pub(crate) fn for_quic(&self, version: Version) -> Result<Arc<Self>, ConfigError> {
        self.derived_for_quic.get_or_derive(version, || {
            let mut config = self.clone();
            config.common.restrict_to_quic(version, true)?;
            config.common.set_fips_status(Some(FipsReason::Quic))?;
            // RFC 9001 8.4
            config.middlebox_compatibility = false;
            // RFC 9001 4.4
            config.post_handshake_auth = false;
            config.server_padding = None;
            config.fallback_scsv = false;
            // Sessions of each version of QUIC are stored under other keys, so that connections
            // over TCP and in another version do not take them. RFC 9001 4.5, RFC 9369 5
            let mut hash = PartsHash::new();
            hash.add(b"QUIC");
            hash.add(&version.number().to_be_bytes());
            hash.add(&config.resumption.context_digest);
            config.resumption.context_digest = hash.finish();
            Ok(Arc::new(config))
        })
    }
}

impl ServerConfig {
    /// Returns the name of an option because of which a handshake may ask its caller a
    /// [`Question`](crate::Question). `None` if there is no such option. Transports that cannot
    /// wait for answers refuse such a configuration. A configuration that `choose_config` returns,
    /// or a credential that is replaced later, is not part of this.
    #[cfg_attr(docsrs, doc(cfg(feature = "quic")))]
    #[must_use]
    pub fn option_that_asks(&self) -> Option<&'static str> {
        let has_credential = !self.only_pre_shared_keys && self.choose_config.is_none();
        let asks_for_sessions = matches!(self.resumption.store, Some(Policy::Ask));
        let only_session_ids = self.resumption.only_session_ids;
        let options = [
            ("choose_config", matches!(self.choose_config, Some(Policy::Ask))),
            ("credentials", has_credential && matches!(self.credentials, Policy::Ask)),
            ("credential", self.credential_set.as_ref().is_some_and(|set| set.has_remote_key())),
            ("find_pre_shared_key", matches!(self.pre_shared_keys, Some(Policy::Ask))),
            ("client_verifier", matches!(self.client_verifier, Some(Policy::Ask))),
            ("ClientAuth::Ask", self.client_auth == ClientAuth::Ask),
            ("session_store", asks_for_sessions && !only_session_ids),
            ("session_ids", asks_for_sessions && only_session_ids),
            ("ask_for_tickets", self.resumption.asks_to_seal()),
            ("early_data", matches!(self.resumption.replay_guard, Some(Policy::Ask))),
        ];
        first_set(&options)
    }

    /// Returns the configuration for this version of QUIC, which is derived once.
    pub(crate) fn for_quic(&self, version: Version) -> Result<Arc<Self>, ConfigError> {
        self.derived_for_quic.get_or_derive(version, || {
            let mut config = self.clone();
            // If the configuration is chosen by the ClientHello, the chosen one has the protocols.
            config.common.restrict_to_quic(version, config.choose_config.is_none())?;
            config.common.set_fips_status(Some(FipsReason::Quic))?;
            config.server_padding = false;
            // Over QUIC, the transport limits early data, and early data needs an application
            // context. RFC 9001 4.6.1
            let resumption = &mut config.resumption;
            let rules = config.common.quic.as_ref();
            let has_context = rules.is_some_and(|rules| rules.early_data_context.is_some());
            let is_on = resumption.max_early_data > 0 && has_context;
            resumption.max_early_data = if is_on { u32::MAX } else { 0 };
            Ok(Arc::new(config))
        })
    }
}

fn first_set(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is_set)| *is_set).map(|(name, _)| *name)
}

impl Common {
    /// Leaves out what QUIC does not have. RFC 9001 4.2, 8.1
    fn restrict_to_quic(
        &mut self,
        version: Version,
        needs_protocol: bool,
    ) -> Result<(), ConfigError> {
        if !self.has_version(ProtocolVersion::TLS1_3) {
            return Err(ConfigError::QuicWithoutTls13);
        }
        let QuicOptions { early_data_context, alpn_by_other_means } = self.quic_options;
        if needs_protocol && self.alpn.is_empty() && !alpn_by_other_means {
            return Err(ConfigError::QuicWithoutAlpn);
        }
        self.versions = vec![ProtocolVersion::TLS1_3];
        self.suites.retain(|suite| suite.is_tls13());
        self.record_size_limit = None;
        self.padding = Padding::None;
        self.quic = Some(QuicRules {
            version: version.number(),
            requires_alpn: !alpn_by_other_means,
            early_data_context,
        });
        Ok(())
    }
}
