//! The setters that the builders of client and server share.

use std::sync::Arc;

use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

use super::client::ClientConfigBuilder;
use super::clock::Clock;
#[cfg(feature = "quic")]
use super::common::QuicOptions;
use super::protocols::Protocols;
use super::server::ServerConfigBuilder;
use crate::auth::compression::CompressCertificate;
use crate::key_log::KeyLog;
use crate::record::sealer::Padding;

/// Adds the shared setters to a builder that has a configuration in its field `config`.
macro_rules! common_setters {
    ($builder:ident) => {
        setters! {
            for $builder;

            /// Sets the protocol versions to use; their order has no effect. Default: TLS 1.3 and
            /// TLS 1.2. A version without an enabled cipher suite is not used.
            pub fn versions(versions: &[ProtocolVersion]) =>
                config.common.versions = versions.to_vec();

            /// Sets the key exchange groups to use, most preferred first. Default: X25519MLKEM768,
            /// X25519, the NIST curves, the NIST hybrids. ML-KEM-768 and ML-KEM-1024 without a
            /// curve are used only if this list names them.
            pub fn groups(groups: &[NamedGroup]) => config.common.groups = groups.to_vec();

            /// Sets the signature schemes that are accepted from the peer, most preferred first.
            pub fn signature_schemes(schemes: &[SignatureScheme]) =>
                config.common.signature_schemes = schemes.to_vec();

            /// Sets whether old RSA keys of peers verify handshakes: keys from 1024 bits, and
            /// those of certificates whose keyUsage does not allow signatures. Default: off. This
            /// is for programs that would otherwise not encrypt at all, such as mail servers
            /// without a policy. The feature `fips` refuses short keys.
            ///
            /// An attacker who factors a short key can impersonate its owner. So the verifier has
            /// to be [`Policy::Ask`](crate::Policy::Ask), and the caller decides about the leaf's
            /// key, too; otherwise the configuration cannot be built
            /// ([`LegacyPeerKeysWithoutAsk`](crate::error::ConfigError::LegacyPeerKeysWithoutAsk)).
            /// A [`ChainPolicy`](crate::certificates::ChainPolicy) alone must not answer the
            /// question: it checks the sizes of authorities' keys only.
            pub fn legacy_peer_keys(accept: bool) => config.common.legacy_peer_keys = accept;

            /// Sets whether peers may compress their certificates with the algorithms of
            /// `certificate_compression`. Default: off. Compression saves a few hundred bytes of a
            /// chain, and costs as much time as a key exchange.
            pub fn offer_certificate_compression(offer: bool) =>
                config.common.offer_certificate_compression = offer;

            /// Sets the signature schemes announced for the peer's certificates, most preferred
            /// first, so that a peer with several chains sends one that can be verified. The
            /// verifier decides which certificates are accepted. Default: not sent; then the peer
            /// applies `signature_schemes` to certificates too. RFC 9846 4.3.3
            pub fn certificate_signature_schemes(schemes: &[SignatureScheme]) =>
                config.common.certificate_signature_schemes = Some(schemes.to_vec());

            /// Sets the maximum size of a received record in plaintext bytes, 64 to 16385. In TLS
            /// 1.3 the content type counts as one byte. Default: the extension is not sent.
            /// RFC 8449
            pub fn record_size_limit(bytes: u16) => config.common.record_size_limit = Some(bytes);

            /// Sets the maximum number of plaintext bytes in a sent record, 64 to 16384. Default:
            /// 16384.
            pub fn max_fragment(bytes: u16) => config.common.max_fragment = bytes;

            /// Sets the padding of protected records (TLS 1.3). Default: none. RFC 9846 5.4
            pub fn padding(padding: Padding) => config.common.padding = padding;

            /// Sets whether TLS 1.2 peers that do not support the extended main secret are refused.
            /// Default: off. RFC 7627
            pub fn require_extended_main_secret(required: bool) =>
                config.common.require_extended_main_secret = required;

            /// Sets whether an end of input without close_notify counts as a regular end. Default:
            /// off, because an attacker can truncate the data by closing the transport.
            pub fn tolerate_truncation(tolerate: bool) =>
                config.common.tolerate_truncation = tolerate;

            /// Sets the log to which every secret of the connections is written. For debugging
            /// only.
            pub fn key_log(log: Arc<dyn KeyLog>) => config.common.key_log = Some(log);

            /// Sets the context of the application that early data over QUIC needs: values on which
            /// the meaning of early data depends, such as the server's transport parameters and
            /// the settings of the application protocol. Early data is offered and accepted only
            /// if the context is equal to that of the session. Default: none; then there is no
            /// early data over QUIC. No effect over TCP. RFC 9001 4.6.3
            #[cfg(feature = "quic")]
            #[cfg_attr(docsrs, doc(cfg(feature = "quic")))]
            pub fn quic_early_data_context(context: &[u8]) =>
                config.common.quic_options.early_data_context =
                    QuicOptions::context_digest(context);

            /// Sets whether the application protocol of QUIC connections is agreed by other means
            /// than ALPN. Default: off; then a handshake over QUIC without a common protocol
            /// fails. No effect over TCP. RFC 9001 8.1
            #[cfg(feature = "quic")]
            #[cfg_attr(docsrs, doc(cfg(feature = "quic")))]
            pub fn alpn_by_other_means(on: bool) =>
                config.common.quic_options.alpn_by_other_means = on;

            /// Sets whether the configuration uses approved cryptography of a validated module
            /// only, in the sense of FIPS 140-3: see [`crate::fips`]. Default: off. Requires the
            /// feature `fips`, which is off by default.
            ///
            /// The default cipher suites and groups are restricted to approved ones, and the
            /// extended main secret is required. If another option is not approved, the
            /// configuration cannot be built: the error is
            /// [`NotFips`](crate::error::ConfigError::NotFips) with the reason. In handshakes,
            /// credentials and configurations that the application selects are checked, and only
            /// sessions of configurations with this option are resumed.
            pub fn fips(on: bool) => config.common.fips = on;

            /// Sets the source of time. Default: the clock of the operating system.
            pub fn clock(clock: Arc<dyn Clock>) => config.common.clock = clock;
        }

        impl $builder {
            /// Sets the cipher suites to use, most preferred first, in one list for both versions.
            /// Default: all implemented suites.
            #[must_use]
            pub fn cipher_suites(mut self, suites: &[CipherSuite]) -> Self {
                self.config.common.set_suites(suites);
                self
            }

            /// Sets the algorithms that compress the certificates of this side for peers that
            /// accept them (TLS 1.3), most preferred first. Peers may compress their certificates
            /// with the same algorithms if that is [offered](Self::offer_certificate_compression).
            /// A certificate is compressed once for each algorithm. RFC 8879
            ///
            /// Default: the algorithms that are compiled in, brotli before zstd before zlib. By
            /// default, zlib is used only for the certificates of peers: some clients (Haskell's
            /// tls) compress the certificate again for their transcript, and fail with
            /// decrypt_error if the server's zlib chose another encoding of the same bytes. If zlib
            /// is named here, it is used.
            #[must_use]
            pub fn certificate_compression(
                mut self,
                algorithms: Vec<Arc<dyn CompressCertificate>>,
            ) -> Self {
                self.config.common.certificate_decompression.clone_from(&algorithms);
                self.config.common.certificate_compression = algorithms;
                self
            }

            /// Sets the application protocols, most preferred first. Default: none. RFC 7301
            #[must_use]
            pub fn alpn<P: AsRef<[u8]>>(mut self, protocols: &[P]) -> Self {
                let names = protocols.iter().map(|p| p.as_ref().to_vec());
                self.config.common.alpn = Protocols::new(names.collect());
                self
            }
        }
    };
}

common_setters!(ClientConfigBuilder);
common_setters!(ServerConfigBuilder);
