//! A ClientHello as it is written: every extension of an offer, and the binders over them. RFC 9846 4.2.2, 4.3.11.2
//!
//! Must not know: why it says what it says. Next: `tercel_wire`'s `ClientHello`.

use pki_types::ServerName;
use tercel_wire::{
    CertificateStatusRequest, CipherSuite, ClientExtensions, ClientHello, ClientHelloEncoding,
    CompressionMethod, DistinguishedName, EcPointFormat, Grease, HostName, KeyShareEntry, List,
    NamedGroup, OfferedPsks, ProtocolName, ProtocolVersion, PskBinder, PskIdentity,
    PskKeyExchangeMode, ServerNameOffer, SignatureScheme,
};

use super::Offer;
use crate::config::client::ClientConfig;
use crate::connection::authentication::compression;
use crate::error::Error;
use crate::handshake::few::Few;
use crate::handshake::flow::Flow;
use crate::handshake::hello::offered_key::OfferedKey;
use crate::handshake::hello::{certificate_type, negotiate};
use crate::handshake::transcript::Transcript;

impl Offer {
    /// Writes and sends a hello with these shares.
    pub(super) fn send_with(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        shares: &[KeyShareEntry<'_>],
        cookie: Option<&[u8]>,
        before: Option<&Transcript>,
    ) -> Result<(), Error> {
        let common = &config.common;
        let tls13 = common.has_version(ProtocolVersion::TLS1_3);
        let tls12 = common.has_version(ProtocolVersion::TLS1_2);
        let suites = common.usable_suites().map(|suite| suite.code);
        let mut suites = Few::<_, 16>::of(CipherSuite::TLS_FALLBACK_SCSV, suites);
        if config.fallback_scsv {
            suites.push(CipherSuite::TLS_FALLBACK_SCSV);
        }
        let groups = common.groups.iter().copied();
        let groups = groups.filter(|group| tls13 || !negotiate::is_post_quantum(*group));
        let groups = Few::<_, 16>::of(NamedGroup::X25519, groups);
        let protocols = common.alpn.iter().map(|name| ProtocolName(name));
        let protocols = Few::<_, 8>::of(ProtocolName(&[]), protocols);
        let host = match &self.to.server_name {
            ServerName::DnsName(name) if config.send_server_name => {
                Some(HostName::new(name.as_ref().as_bytes())?)
            }
            _ => None,
        };
        let versions = [ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2].into_iter();
        let versions = versions.filter(|version| common.has_version(*version));
        let versions = Few::<_, 2>::of(ProtocolVersion::TLS1_2, versions);
        let resumes = config.resumption.store.is_some();
        // The age of a session goes with keys of TLS 1.3 alone.
        let now = self.early_secret.as_ref().map(|_| common.clock.now());
        let keys = || self.offered_keys(config, now);
        let identities = Few::<_, 4>::of(NO_IDENTITY, keys().map(|key| key.identity));
        let zeros = [0_u8; 64];
        let place = |key: &OfferedKey<'_>| zeros.get(..key.binder_length()).unwrap_or_default();
        let binders = Few::<_, 4>::of(PskBinder(&[]), keys().map(|key| PskBinder(place(&key))));
        let ticket = self.session12().filter(|session| session.by_ticket);
        // Who can judge no certificate asks for none. RFC 9846 9.2
        let judges = !config.only_pre_shared_keys;
        let highest = versions.first().copied().unwrap_or(ProtocolVersion::TLS1_2);
        let schemes = Few::<_, 32>::of(SignatureScheme::ED25519, common.schemes_for(highest));
        let authorities = config.certificate_authorities.iter().map(|name| DistinguishedName(name));
        let authorities = Few::<_, 4>::of(DistinguishedName(&[]), authorities);
        let compressions = compression::codes(common.offered_compression());
        let server_padding = config.server_padding.map(u16::to_be_bytes);
        let extensions = ClientExtensions {
            session_ticket: (tls12 && resumes)
                .then(|| ticket.map_or(&[][..], |session| &session.identity)),
            psk_key_exchange_modes: (tls13 && (resumes || !config.pre_shared_keys.is_empty()))
                .then_some(List::of(&[PskKeyExchangeMode::PSK_DHE_KE])),
            early_data: self.early_data.then_some(()),
            pre_shared_key: (!identities.is_empty()).then(|| OfferedPsks {
                identities: List::of(&identities),
                binders: List::of(&binders),
            }),
            server_name: host.map(ServerNameOffer::HostName),
            status_request: (judges && config.request_ocsp)
                .then_some(CertificateStatusRequest::OCSP),
            supported_groups: Some(List::of(&groups)),
            ec_point_formats: tls12.then_some(List::of(&[EcPointFormat::UNCOMPRESSED])),
            signature_algorithms: judges.then_some(List::of(&schemes)),
            signature_algorithms_cert: common
                .certificate_signature_schemes
                .as_deref()
                .filter(|_| judges)
                .map(List::of),
            alpn: (!protocols.is_empty()).then_some(List::of(&protocols)),
            signed_certificate_timestamp: (judges && config.request_timestamps).then_some(()),
            server_padding: server_padding.as_ref().filter(|_| tls13).map(<[u8; 2]>::as_slice),
            compress_certificate: (tls13 && judges && !compressions.is_empty())
                .then_some(List::of(&compressions)),
            certificate_authorities: (tls13 && judges && !authorities.is_empty())
                .then_some(List::of(&authorities)),
            server_certificate_type: certificate_type::offer(&config.server_certificate_types)
                .filter(|_| judges),
            client_certificate_type: certificate_type::offer(&config.client_certificate_types)
                .filter(|_| judges),
            extended_master_secret: tls12.then_some(()),
            record_size_limit: common.record_size_limit,
            post_handshake_auth: (tls13 && config.post_handshake_auth).then_some(()),
            supported_versions: tls13.then_some(List::of(&versions)),
            cookie,
            key_share: tls13.then_some(List::of(shares)),
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
        let mut grease = Grease::from_random(self.seed.to_be_bytes());
        // Its share stays, unless a retry asked for one share alone. RFC 9846 4.2.2
        grease.key_share = !self.replaces_shares;
        let encoding = ClientHelloEncoding {
            order: config.shuffle_extensions.then_some(self.seed),
            grease: config.grease.then_some(grease),
        };
        let mut message = Vec::with_capacity(room(&hello));
        hello.encode_with(&encoding, &mut message)?;
        let mut transcript = None;
        let first = keys().next();
        if let Some(first) = first {
            let partial = hello.without_binders(&message).unwrap_or_default();
            let bound = partial.len();
            let mut over = Box::new(first.transcript(before));
            over.add(partial);
            let of_first = first.binder(&mut over, partial);
            let rest: Vec<_> = keys().skip(1).map(|key| key.binder(&mut over, partial)).collect();
            let made = core::iter::once(&of_first).chain(&rest).map(|binder| PskBinder(binder));
            let binders = Few::<_, 4>::of(PskBinder(&[]), made);
            hello.replace_binders(&mut message, List::of(&binders))?;
            over.add(message.get(bound..).unwrap_or_default());
            transcript = Some(over);
        }
        self.message = message;
        self.transcript = transcript.filter(|_| before.is_none());
        flow.send_alone(&self.message)
    }
}

/// About as many bytes as a hello takes, rather more than less.
fn room(hello: &ClientHello<'_>) -> usize {
    let extensions = &hello.extensions;
    let shares = extensions.key_share.into_iter().flat_map(|shares| shares.iter());
    let keys = extensions.pre_shared_key.into_iter().flat_map(|offered| offered.identities.iter());
    let protocols = extensions.alpn.into_iter().flat_map(|names| names.iter());
    let authorities = extensions.certificate_authorities.into_iter().flat_map(|all| all.iter());
    let host = extensions.server_name.and_then(|name| name.host_name());
    let alone = [
        host.map_or(0, |host| host.as_str().len()),
        extensions.session_ticket.map_or(0, <[u8]>::len),
        extensions.cookie.map_or(0, <[u8]>::len),
        // Everything else.
        256,
    ];
    let all = alone.into_iter();
    let all = all.chain(shares.map(|share| share.key_exchange.len()));
    // Two binders for each: the real ones are written before they take their place.
    let all = all.chain(keys.map(|key| key.identity.len().saturating_add(2 * 64)));
    let all = all.chain(protocols.map(|name| name.0.len()));
    all.chain(authorities.map(|name| name.0.len())).fold(0, usize::saturating_add)
}

const NO_IDENTITY: PskIdentity<'_> = PskIdentity { identity: &[], obfuscated_ticket_age: 0 };
