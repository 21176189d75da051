//! Encoding of a ClientHello: its extensions and binders. RFC 9846 4.2.2, 4.3.11.2

use tercel_pki::ServerName;
use tercel_wire::{
    CertificateStatusRequest, CipherSuite, ClientExtensions, ClientHello, ClientHelloEncoding,
    CompressionMethod, DistinguishedName, EcPointFormat, Grease, HostName, KeyShareEntry, List,
    NamedGroup, OfferedPsks, ProtocolName, ProtocolVersion, PskBinder, PskIdentity,
    PskKeyExchangeMode, ServerNameOffer, SignatureScheme,
};

use super::Offer;
use crate::auth::compressed_certificate;
use crate::config::client::ClientConfig;
use crate::error::Error;
use crate::handshake::certificate_type_negotiation::offer;
use crate::handshake::client_hello::offered_key::OfferedKey;
use crate::handshake::ech::Written;
use crate::handshake::ech::client::ClientEch;
use crate::handshake::negotiate;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;

impl Offer {
    /// Writes and sends a ClientHello with these shares.
    pub(super) fn send_with(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        shares: &[KeyShareEntry<'_>],
        cookie: Option<&[u8]>,
        before: Option<&Transcript>,
    ) -> Result<(), Error> {
        let mut ech = core::mem::take(&mut self.ech);
        let common = &config.common;
        let tls13 = common.has_version(ProtocolVersion::TLS1_3);
        let tls12 = common.has_version(ProtocolVersion::TLS1_2);
        let (suites, groups, versions) = (suites(config), groups(config), versions(config));
        let protocols = common.alpn.iter().map(|name| ProtocolName(name));
        let protocols = ShortList::<_, 8>::of(ProtocolName(&[]), protocols);
        let host = self.host_name(config)?;
        let resumes = config.resumption.store.is_some();
        // The time is needed only for TLS 1.3 sessions, which are offered with their age.
        let now = self.session13().map(|_| common.clock.now());
        let keys = || self.offered_keys(config, now);
        let identities = ShortList::<_, 4>::of(NO_IDENTITY, keys().map(|key| key.identity));
        let zeros = [0_u8; 64];
        let place = |key: &OfferedKey<'_>| zeros.get(..key.binder_length()).unwrap_or_default();
        let binders =
            ShortList::<_, 4>::of(PskBinder(&[]), keys().map(|key| PskBinder(place(&key))));
        let ticket = self.session12().filter(|session| session.by_ticket);
        // A client that accepts only pre-shared keys sends no extensions for certificates.
        // RFC 9846 9.2
        let verifies = !config.only_pre_shared_keys;
        let highest = versions.first().copied().unwrap_or(ProtocolVersion::TLS1_2);
        let schemes = ShortList::<_, 32>::of(SignatureScheme::ED25519, common.schemes_for(highest));
        let authorities = config.certificate_authorities.iter().map(|name| DistinguishedName(name));
        let authorities = ShortList::<_, 4>::of(DistinguishedName(&[]), authorities);
        let compressions = compressed_certificate::codes(common.offered_compression());
        let server_padding = config.server_padding.map(u16::to_be_bytes);
        let transport_parameters = flow.transport_parameters();
        let extensions = ClientExtensions {
            session_ticket: (tls12 && resumes && config.resumption.tickets_tls12)
                .then(|| ticket.map_or(&[][..], |session| &session.identity)),
            psk_key_exchange_modes: (tls13 && (resumes || !config.pre_shared_keys.is_empty()))
                .then_some(List::new(&[PskKeyExchangeMode::PSK_DHE_KE])),
            early_data: self.early_data.then_some(()),
            pre_shared_key: (!identities.is_empty()).then(|| OfferedPsks {
                identities: List::new(&identities),
                binders: List::new(&binders),
            }),
            server_name: host.map(ServerNameOffer::HostName),
            status_request: (verifies && config.common.request_ocsp)
                .then_some(CertificateStatusRequest::OCSP),
            supported_groups: Some(List::new(&groups)),
            ec_point_formats: tls12.then_some(List::new(&[EcPointFormat::UNCOMPRESSED])),
            signature_algorithms: verifies.then_some(List::new(&schemes)),
            signature_algorithms_cert: common
                .certificate_signature_schemes
                .as_deref()
                .filter(|_| verifies)
                .map(List::new),
            alpn: (!protocols.is_empty()).then_some(List::new(&protocols)),
            signed_certificate_timestamp: (verifies && config.common.request_timestamps)
                .then_some(()),
            server_padding: server_padding.as_ref().filter(|_| tls13).map(<[u8; 2]>::as_slice),
            compress_certificate: (tls13 && verifies && !compressions.is_empty())
                .then_some(List::new(&compressions)),
            certificate_authorities: (tls13 && verifies && !authorities.is_empty())
                .then_some(List::new(&authorities)),
            server_certificate_type: offer(&config.server_certificate_types).filter(|_| verifies),
            client_certificate_type: offer(&config.client_certificate_types).filter(|_| verifies),
            extended_master_secret: tls12.then_some(()),
            record_size_limit: common.record_size_limit,
            post_handshake_auth: (tls13 && config.post_handshake_auth).then_some(()),
            supported_versions: tls13.then_some(List::new(&versions)),
            cookie,
            key_share: tls13.then_some(List::new(shares)),
            renegotiation_info: tls12.then_some(&[]),
            quic_transport_parameters: transport_parameters.as_deref(),
            ..Default::default()
        };
        let hello = ClientHello {
            legacy_version: ProtocolVersion::TLS1_2,
            random: &self.random,
            session_id: &self.session_id,
            cipher_suites: List::new(&suites),
            compression_methods: List::new(&[CompressionMethod::NULL]),
            extensions_present: true,
            extensions,
        };
        let (encoding, capacity) = (self.encoding(config), estimated_length(&hello));
        let written = ech.write(&hello, &encoding, capacity, |hello, message| {
            write_binders(hello, message, keys, before)
        })?;
        self.send_written(flow, written, ech, before.is_none())
    }

    fn send_written(
        &mut self,
        flow: &mut Flow,
        written: Written,
        ech: ClientEch,
        is_first: bool,
    ) -> Result<(), Error> {
        let Written { message, sent, transcript } = written;
        (self.ech, self.message) = (ech, message);
        self.transcript = transcript.filter(|_| is_first);
        flow.send_as_flight(sent.as_ref().unwrap_or(&self.message))
    }

    /// Returns the name to send in server_name. RFC 6066 3
    fn host_name(&self, config: &ClientConfig) -> Result<Option<HostName<'_>>, Error> {
        Ok(match self.server.handshake_name() {
            ServerName::DnsName(name) if config.send_server_name => {
                Some(HostName::new(name.as_ref().as_bytes())?)
            }
            _ => None,
        })
    }

    /// Returns the order of extensions, and the GREASE values. RFC 8701
    fn encoding(&self, config: &ClientConfig) -> ClientHelloEncoding {
        let mut grease = Grease::from_random(self.seed.to_be_bytes());
        // The GREASE share is repeated, unless a HelloRetryRequest requested a single share.
        // RFC 9846 4.2.2
        grease.key_share = !self.replaces_shares;
        ClientHelloEncoding {
            order: config.shuffle_extensions.then_some(self.seed),
            grease: config.grease.then_some(grease),
        }
    }
}

fn suites(config: &ClientConfig) -> ShortList<CipherSuite, 16> {
    let suites = config.common.usable_suites().map(|suite| suite.code);
    let mut suites = ShortList::of(CipherSuite::TLS_FALLBACK_SCSV, suites);
    if config.fallback_scsv {
        suites.push(CipherSuite::TLS_FALLBACK_SCSV);
    }
    suites
}

fn versions(config: &ClientConfig) -> ShortList<ProtocolVersion, 2> {
    let versions = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2].into_iter();
    let versions = versions.filter(|version| config.common.has_version(*version));
    ShortList::of(ProtocolVersion::TLS1_2, versions)
}

fn groups(config: &ClientConfig) -> ShortList<NamedGroup, 16> {
    let tls13 = config.common.has_version(ProtocolVersion::TLS1_3);
    let groups = config.common.groups.iter().copied();
    let groups = groups.filter(|group| tls13 || !negotiate::is_post_quantum(*group));
    ShortList::of(NamedGroup::X25519, groups)
}

/// Replaces the zeros at the positions of the binders. Returns the transcript of the whole
/// ClientHello, if keys are offered. RFC 9846 4.3.11.2
fn write_binders<'k, K: Iterator<Item = OfferedKey<'k>>>(
    hello: &ClientHello<'_>,
    message: &mut Vec<u8>,
    keys: impl Fn() -> K,
    before: Option<&Transcript>,
) -> Result<Option<Box<Transcript>>, Error> {
    let Some(first) = keys().next() else { return Ok(None) };
    let partial = hello.without_binders(message).unwrap_or_default();
    let partial_length = partial.len();
    let mut transcript = Box::new(first.transcript(before));
    transcript.add(partial);
    let of_first = first.binder(&mut transcript, partial);
    let rest: Vec<_> = keys().skip(1).map(|key| key.binder(&mut transcript, partial)).collect();
    let made = core::iter::once(&of_first).chain(&rest).map(|binder| PskBinder(binder));
    let binders = ShortList::<_, 4>::of(PskBinder(&[]), made);
    hello.replace_binders(message, List::new(&binders))?;
    transcript.add(message.get(partial_length..).unwrap_or_default());
    Ok(Some(transcript))
}

/// Estimates the length of a ClientHello. The estimate may be too large, but is not too small.
fn estimated_length(hello: &ClientHello<'_>) -> usize {
    let extensions = &hello.extensions;
    let shares = extensions.key_share.into_iter().flat_map(|shares| shares.iter());
    let keys = extensions.pre_shared_key.into_iter().flat_map(|offered| offered.identities.iter());
    let protocols = extensions.alpn.into_iter().flat_map(|names| names.iter());
    let authorities = extensions.certificate_authorities.into_iter().flat_map(|all| all.iter());
    let host = extensions.server_name.and_then(|name| name.host_name());
    let alone = [
        host.map_or(0, |host| host.as_str().len()),
        extensions.session_ticket.map_or(0, <[u8]>::len),
        extensions.quic_transport_parameters.map_or(0, <[u8]>::len),
        extensions.cookie.map_or(0, <[u8]>::len),
        // This number is an upper bound for all other fields.
        256,
    ];
    let all = alone.into_iter();
    let all = all.chain(shares.map(|share| share.key_exchange.len()));
    // Each key has two binders: the final ones are appended before they replace the zeros.
    let all = all.chain(keys.map(|key| key.identity.len().saturating_add(2 * 64)));
    let all = all.chain(protocols.map(|name| name.0.len()));
    all.chain(authorities.map(|name| name.0.len())).fold(0, usize::saturating_add)
}

const NO_IDENTITY: PskIdentity<'_> = PskIdentity { identity: &[], obfuscated_ticket_age: 0 };
