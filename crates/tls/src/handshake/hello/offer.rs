//! What a client offers, and offers again after a HelloRetryRequest. RFC 9846 4.2.1, 4.2.2
//!
//! Must not know: what the server makes of it. Next: `tls13/client.rs`.

use pki_types::ServerName;
use tercel_crypto::{KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_wire::{
    CertificateStatusRequest, CipherSuite, ClientExtensions, ClientHello, ClientHelloEncoding,
    CompressionMethod, EcPointFormat, ExtensionType, Grease, HandshakeMessage, HostName,
    KeyShareEntry, List, NamedGroup, ProtocolName, ProtocolVersion, ServerNameOffer,
};

use super::{certificate_type, group, negotiate};
use crate::config::client::ClientConfig;
use crate::error::{Error, Local, Peer};
use crate::handshake::compression;
use crate::handshake::flow::Flow;

/// A client's offer: what was said, and the private halves of it.
pub(crate) struct Offer {
    /// The ClientHello as it was sent, header included.
    pub(crate) message: Vec<u8>,
    pub(crate) random: [u8; 32],
    pub(crate) session_id: Vec<u8>,
    pub(crate) server_name: ServerName<'static>,
    exchanges: Vec<KeyExchange>,
    /// Decides the order of extensions and the reserved values, the same in both hellos.
    seed: u64,
}

impl Offer {
    pub(crate) fn new(
        config: &ClientConfig,
        server_name: ServerName<'static>,
    ) -> Result<Self, Error> {
        // One call for all public values.
        let mut fresh = [0_u8; 32 + 32 + 8];
        tercel_crypto::fill_random(&mut fresh)?;
        let (random, rest) = fresh.split_first_chunk::<32>().ok_or(Local::Encode)?;
        let (session_id, seed) = rest.split_first_chunk::<32>().ok_or(Local::Encode)?;
        let seed = seed.first_chunk().copied().map_or(0, u64::from_be_bytes);
        let tls13 = config.common.has_version(ProtocolVersion::TLS1_3);
        let session_id =
            if tls13 && config.middlebox_compatibility { &session_id[..] } else { &[] };
        let exchanges = if tls13 { exchanges(config)? } else { Vec::new() };
        Ok(Self {
            message: Vec::new(),
            random: *random,
            session_id: session_id.to_vec(),
            server_name,
            exchanges,
            seed,
        })
    }

    /// Writes and sends the first ClientHello.
    pub(crate) fn send(&mut self, flow: &mut Flow, config: &ClientConfig) -> Result<(), Error> {
        let shares = self.shares(config);
        self.send_with(flow, config, &shares, None, false)
    }

    /// Writes and sends the second ClientHello, as a HelloRetryRequest asked for it. RFC 9846 4.2.2
    pub(crate) fn send_again(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        group: Option<NamedGroup>,
        cookie: Option<&[u8]>,
    ) -> Result<(), Error> {
        let shares = match group {
            None => self.shares(config),
            Some(group) => {
                let algorithm = group::algorithm(group).ok_or(Peer::WrongGroup)?;
                self.exchanges = vec![KeyExchange::generate(algorithm)?];
                let share = |exchange: &KeyExchange| (group, exchange.public_share().to_vec());
                self.exchanges.iter().map(share).collect()
            }
        };
        self.send_with(flow, config, &shares, cookie, true)
    }

    /// Whether a share for this group was sent.
    pub(crate) fn has_share(&self, config: &ClientConfig, group: NamedGroup) -> bool {
        self.shares(config).iter().any(|(sent, _)| *sent == group)
    }

    /// The secret that our share and the server's for this group make.
    pub(crate) fn agree(
        &mut self,
        config: &ClientConfig,
        group: NamedGroup,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        let algorithm = group::algorithm(group).ok_or(Peer::WrongGroup)?;
        let whole = |exchange: &KeyExchange| exchange.algorithm() == algorithm;
        let exchanges = core::mem::take(&mut self.exchanges);
        let mut half = None;
        for exchange in exchanges {
            if whole(&exchange) {
                return exchange.agree(server_share).map_err(bad_share);
            }
            let classic = exchange.classic().is_some_and(|(classic, _)| classic == algorithm);
            if classic && config.common.groups.contains(&group) {
                half = Some(exchange);
            }
        }
        let exchange = half.ok_or(Peer::WrongGroup)?;
        exchange.agree_classic(server_share).map_err(bad_share)
    }

    /// Group and share of each exchange; the classic half of a hybrid stands for its group too.
    fn shares(&self, config: &ClientConfig) -> Vec<(NamedGroup, Vec<u8>)> {
        let mut shares: Vec<(NamedGroup, Vec<u8>)> = Vec::new();
        for exchange in &self.exchanges {
            let Some(group) = group::code_point(exchange.algorithm()) else { continue };
            shares.push((group, exchange.public_share().to_vec()));
        }
        if config.key_shares.is_none() && self.exchanges.len() == 1 {
            for exchange in &self.exchanges {
                let Some((algorithm, share)) = exchange.classic() else { continue };
                let Some(group) = group::code_point(algorithm) else { continue };
                if config.common.groups.contains(&group) {
                    shares.push((group, share.to_vec()));
                }
            }
        }
        // Shares come in the order of the groups. RFC 9846 4.3.8
        let place = |group: &NamedGroup| config.common.groups.iter().position(|ours| ours == group);
        shares.sort_by_key(|(group, _)| place(group));
        shares
    }

    fn send_with(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        shares: &[(NamedGroup, Vec<u8>)],
        cookie: Option<&[u8]>,
        second: bool,
    ) -> Result<(), Error> {
        let common = &config.common;
        let tls13 = common.has_version(ProtocolVersion::TLS1_3);
        let tls12 = common.has_version(ProtocolVersion::TLS1_2);
        let mut suites: Vec<CipherSuite> = common.usable_suites().map(|suite| suite.code).collect();
        if config.fallback_scsv {
            suites.push(CipherSuite::TLS_FALLBACK_SCSV);
        }
        let groups: Vec<NamedGroup> = common
            .groups
            .iter()
            .copied()
            .filter(|group| tls13 || !negotiate::is_hybrid(*group))
            .collect();
        let entries: Vec<KeyShareEntry<'_>> = shares
            .iter()
            .map(|(group, share)| KeyShareEntry { group: *group, key_exchange: share })
            .collect();
        let protocols: Vec<ProtocolName<'_>> =
            common.alpn.iter().map(|name| ProtocolName(name)).collect();
        let host = match &self.server_name {
            ServerName::DnsName(name) if config.send_server_name => {
                Some(HostName::new(name.as_ref().as_bytes())?)
            }
            _ => None,
        };
        let versions: Vec<ProtocolVersion> = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2]
            .into_iter()
            .filter(|version| common.has_version(*version))
            .collect();
        let highest = versions.first().copied().unwrap_or(ProtocolVersion::TLS1_2);
        let schemes = common.schemes_for(highest);
        let compressions = compression::codes(common.offered_compression());
        let extensions = ClientExtensions {
            server_name: host.map(ServerNameOffer::HostName),
            status_request: config.request_ocsp.then_some(CertificateStatusRequest::OCSP),
            supported_groups: Some(List::of(&groups)),
            ec_point_formats: tls12.then_some(List::of(&[EcPointFormat::UNCOMPRESSED])),
            signature_algorithms: Some(List::of(&schemes)),
            alpn: (!protocols.is_empty()).then_some(List::of(&protocols)),
            signed_certificate_timestamp: config.request_timestamps.then_some(()),
            compress_certificate: (tls13 && !compressions.is_empty())
                .then_some(List::of(&compressions)),
            server_certificate_type: certificate_type::offer(&config.server_certificate_types),
            client_certificate_type: certificate_type::offer(&config.client_certificate_types),
            extended_master_secret: tls12.then_some(()),
            record_size_limit: common.record_size_limit,
            supported_versions: tls13.then_some(List::of(&versions)),
            cookie,
            key_share: tls13.then_some(List::of(&entries)),
            renegotiation_info: tls12.then_some(&[]),
            ..Default::default()
        };
        let hello = ClientHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &self.random,
            session_id: &self.session_id,
            cipher_suites: List::of(&suites),
            compression_methods: List::of(&[CompressionMethod::NULL]),
            extensions_present: true,
            extensions,
        };
        let [a, b, c, d, e, ..] = self.seed.to_be_bytes();
        let mut grease = Grease::from_random([a, b, c, d, e]);
        grease.key_share = !second;
        let encoding = ClientHelloEncoding {
            order: config.shuffle_extensions.then_some(self.seed),
            grease: config.grease.then_some(grease),
        };
        let message = &mut self.message;
        message.clear();
        flow.send_with(
            |out| hello.encode_with(&encoding, out),
            |bytes| message.extend_from_slice(bytes),
        )
    }

    /// Whether the hello that was sent has this extension, reserved ones included.
    pub(crate) fn offered(&self, kind: ExtensionType) -> bool {
        let hello = ClientHello::parse(self.message.get(4..).unwrap_or_default());
        hello.is_ok_and(|hello| hello.extensions.types().any(|sent| sent == kind))
    }
}

fn bad_share(error: tercel_crypto::CryptoError) -> Error {
    crate::handshake::tls13::server::bad_share(error)
}

/// The key exchanges to begin with.
fn exchanges(config: &ClientConfig) -> Result<Vec<KeyExchange>, Error> {
    let generate = |group: &NamedGroup| {
        let algorithm: KeyExchangeAlgorithm = group::algorithm(*group).ok_or(Local::Encode)?;
        KeyExchange::generate(algorithm).map_err(Error::from)
    };
    match &config.key_shares {
        Some(groups) => groups.iter().map(generate).collect(),
        None => config.common.groups.iter().take(1).map(generate).collect(),
    }
}
