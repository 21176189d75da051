//! The setters that the builders of client and server share.

/// Adds the shared setters to a builder that has a field `common: Common`.
macro_rules! common_setters {
    ($builder:ident) => {
        impl $builder {
            /// Sets the protocol versions to use; their order has no effect. Default: TLS 1.3 and
            /// TLS 1.2. A version without an enabled cipher suite is not used.
            #[must_use]
            pub fn versions(mut self, versions: &[ProtocolVersion]) -> Self {
                self.common.versions = versions.to_vec();
                self
            }

            /// Sets the cipher suites to use, most preferred first, in one list for both versions.
            /// Default: all implemented suites.
            #[must_use]
            pub fn cipher_suites(mut self, suites: &[CipherSuite]) -> Self {
                self.common.set_suites(suites);
                self
            }

            /// Sets the key exchange groups to use, most preferred first. Default: X25519MLKEM768,
            /// X25519, the NIST curves, the NIST hybrids. ML-KEM-768 and ML-KEM-1024 without a
            /// curve are used only if this list names them.
            #[must_use]
            pub fn groups(mut self, groups: &[NamedGroup]) -> Self {
                self.common.groups = groups.to_vec();
                self
            }

            /// Sets the signature schemes that are accepted from the peer, most preferred first.
            #[must_use]
            pub fn signature_schemes(mut self, schemes: &[SignatureScheme]) -> Self {
                self.common.signature_schemes = schemes.to_vec();
                self
            }

            /// Sets the algorithms that compress the certificates of this side for peers that
            /// accept them (TLS 1.3), most preferred first. Peers may compress their certificates
            /// with the same algorithms, if [offered](Self::offer_certificate_compression). A
            /// certificate is compressed once for each algorithm. RFC 8879
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
                self.common.certificate_decompression.clone_from(&algorithms);
                self.common.certificate_compression = algorithms;
                self
            }

            /// Sets whether peers may compress their certificates with the algorithms of
            /// `certificate_compression`. Default: off. Compression saves a few hundred bytes of a
            /// chain, and costs as much time as a key exchange.
            #[must_use]
            pub fn offer_certificate_compression(mut self, offer: bool) -> Self {
                self.common.offer_certificate_compression = offer;
                self
            }

            /// Sets the signature schemes announced for the peer's certificates, most preferred
            /// first, so that a peer with several chains sends one that can be verified. The
            /// verifier decides which certificates are accepted. Default: not sent; then the peer
            /// applies `signature_schemes` to certificates too. RFC 9846 4.3.3
            #[must_use]
            pub fn certificate_signature_schemes(mut self, schemes: &[SignatureScheme]) -> Self {
                self.common.certificate_signature_schemes = Some(schemes.to_vec());
                self
            }

            /// Sets the application protocols, most preferred first. Default: none. RFC 7301
            #[must_use]
            pub fn alpn<P: AsRef<[u8]>>(mut self, protocols: &[P]) -> Self {
                let names = protocols.iter().map(|p| p.as_ref().to_vec());
                self.common.alpn = Protocols::new(names.collect());
                self
            }

            /// Sets the maximum size of a received record in plaintext bytes, 64 to 16385. In TLS
            /// 1.3 the content type counts as one byte. Default: the extension is not sent.
            /// RFC 8449
            #[must_use]
            pub fn record_size_limit(mut self, bytes: u16) -> Self {
                self.common.record_size_limit = Some(bytes);
                self
            }

            /// Sets the maximum number of plaintext bytes in a sent record, 64 to 16384. Default:
            /// 16384.
            #[must_use]
            pub fn max_fragment(mut self, bytes: u16) -> Self {
                self.common.max_fragment = bytes;
                self
            }

            /// Sets the padding of protected records (TLS 1.3). Default: none. RFC 9846 5.4
            #[must_use]
            pub fn padding(mut self, padding: Padding) -> Self {
                self.common.padding = padding;
                self
            }

            /// Sets whether TLS 1.2 peers that do not support the extended main secret are refused.
            /// Default: off. RFC 7627
            #[must_use]
            pub fn require_extended_main_secret(mut self, required: bool) -> Self {
                self.common.require_extended_main_secret = required;
                self
            }

            /// Sets whether an end of input without close_notify counts as a regular end. Default:
            /// off, because an attacker can truncate the data by closing the transport.
            #[must_use]
            pub fn tolerate_truncation(mut self, tolerate: bool) -> Self {
                self.common.tolerate_truncation = tolerate;
                self
            }

            /// Sets the log to which every secret of the connections is written. For debugging
            /// only.
            #[must_use]
            pub fn key_log(mut self, log: Arc<dyn KeyLog>) -> Self {
                self.common.key_log = Some(log);
                self
            }

            /// Sets the source of time. Default: the clock of the operating system.
            #[must_use]
            pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
                self.common.clock = clock;
                self
            }
        }
    };
}

pub(crate) use common_setters;
