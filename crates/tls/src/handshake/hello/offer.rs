//! What a client offers, and offers again after a HelloRetryRequest. RFC 9846 4.2.1, 4.2.2
//!
//! Must not know: what the server makes of it. Next: `tls13/client.rs`.

use std::sync::Arc;

use pki_types::{ServerName, UnixTime};
use tercel_crypto::{HashAlgorithm, KeyExchange, KeyExchangeAlgorithm, SharedSecret};
use tercel_wire::{
    CertificateStatusRequest, CipherSuite, ClientExtensions, ClientHello, ClientHelloEncoding,
    CompressionMethod, DistinguishedName, EcPointFormat, ExtensionBlock, ExtensionType, Grease,
    HandshakeMessage, HostName, KeyShareEntry, List, NamedGroup, OfferedPsks, ProtocolName,
    ProtocolVersion, PskBinder, PskIdentity, PskKeyExchangeMode, ServerNameOffer, SignatureScheme,
};

use super::offered_key::OfferedKey;
use super::{certificate_type, group, negotiate};
use crate::config::client::ClientConfig;
use crate::config::pre_shared_key::PreSharedKey;
use crate::connection::authentication::compression;
use crate::error::{Error, Local, Peer};
use crate::handshake::few::Few;
use crate::handshake::flow::{Command, Flow};
use crate::handshake::log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EarlySecret;
use crate::session::client_store::ClientSessionKey;
use crate::session::state::Session;

/// A client's offer: what was said, and the private halves of it.
pub(crate) struct Offer {
    /// The ClientHello as it was sent, header included.
    pub(crate) message: Vec<u8>,
    /// Up to the first hello, in the hash of the first key that it offers; `None` if it offers none.
    transcript: Option<Box<Transcript>>,
    pub(crate) random: [u8; 32],
    pub(crate) session_id: Few<u8, 32>,
    pub(crate) to: ClientSessionKey,
    /// The session that is offered for resumption.
    pub(crate) session: Option<Box<Session>>,
    /// The early secret of the session, if that is of TLS 1.3.
    pub(crate) early_secret: Option<EarlySecret>,
    /// The external keys that are offered, behind a session of TLS 1.3.
    pub(crate) pre_shared_keys: Vec<Arc<PreSharedKey>>,
    /// Whether the last hello offered early data.
    pub(crate) early_data: bool,
    /// Those after the first are what only a configuration with wishes of its own has.
    exchange: Option<KeyExchange>,
    further_exchanges: Vec<KeyExchange>,
    /// Decides the order of extensions and the reserved values, the same in both hellos.
    seed: u64,
    /// Whether the last hello has the one share that a retry asked for.
    replaces_shares: bool,
}

impl Offer {
    pub(crate) fn new(
        config: &ClientConfig,
        to: ClientSessionKey,
        session: Option<Box<Session>>,
    ) -> Result<Self, Error> {
        // One call for all public values.
        let mut fresh = [0_u8; 32 + 32 + 8];
        tercel_crypto::fill_random(&mut fresh)?;
        let (random, rest) = fresh.split_first_chunk::<32>().ok_or(Local::Encode)?;
        let (session_id, seed) = rest.split_first_chunk::<32>().ok_or(Local::Encode)?;
        let seed = seed.first_chunk().copied().map_or(0, u64::from_be_bytes);
        let tls13 = config.common.has_version(ProtocolVersion::TLS1_3);
        let session12 =
            session.as_deref().filter(|session| session.version == ProtocolVersion::TLS1_2);
        let session_id: &[u8] = match session12 {
            Some(session) if !session.by_ticket => &session.identity,
            // A server that takes the ticket says so by giving this value back. RFC 5077 3.4
            Some(_) => session_id,
            None if tls13 && config.middlebox_compatibility => session_id,
            None => &[],
        };
        let early_secret = session
            .as_deref()
            .filter(|session| session.version == ProtocolVersion::TLS1_3)
            .map(|session| EarlySecret::new(session.suite, Some(session.secret.as_bytes())));
        let pre_shared_keys = if tls13 { config.pre_shared_keys.clone() } else { Vec::new() };
        Ok(Self {
            message: Vec::new(),
            transcript: None,
            random: *random,
            session_id: Few::joined(0, &[session_id]),
            to,
            session,
            early_secret,
            pre_shared_keys,
            early_data: false,
            exchange: None,
            further_exchanges: Vec::new(),
            seed,
            replaces_shares: false,
        })
    }

    /// The session of TLS 1.3 that is offered.
    pub(crate) fn session13(&self) -> Option<&Session> {
        self.session.as_deref().filter(|session| session.version == ProtocolVersion::TLS1_3)
    }

    /// The session of TLS 1.2 that is offered.
    pub(crate) fn session12(&self) -> Option<&Session> {
        self.session.as_deref().filter(|session| session.version == ProtocolVersion::TLS1_2)
    }

    /// Writes and sends the first ClientHello.
    pub(crate) fn send(&mut self, flow: &mut Flow, config: &ClientConfig) -> Result<(), Error> {
        self.early_data = self.may_send_early(config);
        if config.common.has_version(ProtocolVersion::TLS1_3) {
            let groups = first_groups(config);
            self.send_shares(flow, config, &groups, None, None)?;
        } else {
            self.send_with(flow, config, &[], None, None)?;
        }
        if self.early_data {
            self.begin_early_data(flow, config)?;
        }
        Ok(())
    }

    /// Early data goes with the parameters of the session: they must still be on offer. RFC 9846 4.3.10
    fn may_send_early(&self, config: &ClientConfig) -> bool {
        let Some(session) = self.session13() else { return false };
        // A server that chose no protocol may choose none again, whatever is on offer.
        let alpn_fits =
            session.alpn.as_ref().is_none_or(|protocol| config.common.alpn.contains(protocol));
        config.resumption.early_data && session.max_early_data > 0 && alpn_fits
    }

    fn begin_early_data(&self, flow: &mut Flow, config: &ClientConfig) -> Result<(), Error> {
        let (Some(session), Some(secret)) = (self.session13(), &self.early_secret) else {
            return Ok(());
        };
        // Middlebox compatibility: ahead of the first protected record. RFC 9846 E.4
        if !self.session_id.is_empty() {
            flow.order(Command::SendChangeCipherSpec)?;
        }
        let limit = session.max_early_data;
        let mut transcript = self.transcript(session.suite.hash);
        let (secret, exporter) = secret.early_secrets(&transcript.digest());
        let log = SecretLog::new(config.common.key_log.clone(), &self.random);
        log.log("EARLY_EXPORTER_SECRET", exporter.as_bytes());
        log.log("CLIENT_EARLY_TRAFFIC_SECRET", secret.as_bytes());
        flow.order(Command::WriteEarlyData { secret, limit })
    }

    /// A transcript up to the first hello, while there is no second.
    pub(crate) fn transcript(&self, algorithm: HashAlgorithm) -> Transcript {
        match &self.transcript {
            Some(transcript) if transcript.algorithm() == algorithm => (**transcript).clone(),
            _ => {
                let mut transcript = Transcript::new(algorithm);
                transcript.add(&self.message);
                transcript
            }
        }
    }

    /// Writes and sends the second ClientHello, as a HelloRetryRequest asked for it. RFC 9846 4.2.2
    pub(crate) fn send_again(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        group: Option<NamedGroup>,
        cookie: Option<&[u8]>,
        before: &Transcript,
    ) -> Result<(), Error> {
        self.early_data = false;
        self.replaces_shares = group.is_some();
        // A key whose hash is not the suite's cannot be chosen any more. RFC 9846 4.2.2
        self.session = self.session.take().filter(|session| {
            session.version != ProtocolVersion::TLS1_3 || session.suite.hash == before.algorithm()
        });
        self.pre_shared_keys.retain(|key| key.hash() == before.algorithm());
        // Nothing is left that the server could take.
        if config.only_pre_shared_keys && self.session.is_none() && self.pre_shared_keys.is_empty()
        {
            return Err(Peer::PreSharedKeyDeclined.into());
        }
        if let Some(group) = group {
            return self.send_shares(flow, config, &[group], cookie, Some(before));
        }
        // The shares are those of the first hello.
        let first = core::mem::take(&mut self.message);
        let hello = ClientHello::parse(first.get(4..).unwrap_or_default())?;
        let sent = hello.extensions.key_share.into_iter().flat_map(|shares| shares.iter());
        let sent = sent.filter(|share| self.has_share(config, share.group));
        let shares = Few::<_, MOST_SHARES>::of(NO_SHARE, sent);
        self.send_with(flow, config, &shares, cookie, Some(before))
    }

    /// Makes a key pair for each of these groups, and sends a hello with the shares.
    fn send_shares(
        &mut self,
        flow: &mut Flow,
        config: &ClientConfig,
        groups: &[NamedGroup],
        cookie: Option<&[u8]>,
        before: Option<&Transcript>,
    ) -> Result<(), Error> {
        self.exchange = None;
        self.further_exchanges.clear();
        let algorithms = groups.iter().filter_map(|group| group::algorithm(*group));
        let length = algorithms.clone().map(KeyExchangeAlgorithm::client_share_len).sum();
        // One share of any group has room on the stack.
        let mut on_stack = [0_u8; KeyExchangeAlgorithm::MAX_SHARE_LEN];
        let mut on_heap = Vec::new();
        let room = if length > on_stack.len() {
            on_heap.resize(length, 0);
            on_heap.as_mut_slice()
        } else {
            on_stack.as_mut_slice()
        };
        let mut rest = room;
        let mut shares = Few::<KeyShareEntry<'_>, MOST_SHARES>::of(NO_SHARE, []);
        for algorithm in algorithms {
            let (share, after) =
                rest.split_at_mut_checked(algorithm.client_share_len()).ok_or(Local::Encode)?;
            rest = after;
            let exchange = KeyExchange::generate_into(algorithm, share)?;
            let share = &*share;
            if let Some(group) = group::code_point(algorithm) {
                shares.push(KeyShareEntry { group, key_exchange: share });
            }
            if let (Some(group), Some((_, place)), None) =
                (offered_classic(config, algorithm, groups.len()), algorithm.classic(), before)
            {
                let key_exchange = share.get(place).unwrap_or_default();
                shares.push(KeyShareEntry { group, key_exchange });
            }
            if self.exchange.is_none() {
                self.exchange = Some(exchange);
            } else {
                self.further_exchanges.push(exchange);
            }
        }
        // Shares come in the order of the groups. RFC 9846 4.3.8
        let ours = &config.common.groups;
        let place = |share: &KeyShareEntry<'_>| ours.iter().position(|group| *group == share.group);
        shares.as_mut_slice().sort_by_key(place);
        self.send_with(flow, config, &shares, cookie, before)
    }

    /// Whether a share for this group was sent.
    pub(crate) fn has_share(&self, config: &ClientConfig, group: NamedGroup) -> bool {
        let exchanges = || self.exchange.iter().chain(&self.further_exchanges);
        let count = exchanges().count();
        exchanges().any(|exchange| {
            let algorithm = exchange.algorithm();
            group::code_point(algorithm) == Some(group)
                || offered_classic(config, algorithm, count) == Some(group)
        })
    }

    /// The secret that our share and the server's for this group make.
    pub(crate) fn agree(
        &mut self,
        config: &ClientConfig,
        group: NamedGroup,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        // The answer is to a share that was sent. RFC 9846 4.3.8
        if !self.has_share(config, group) {
            return Err(Peer::WrongGroup.into());
        }
        let algorithm = group::algorithm(group).ok_or(Peer::WrongGroup)?;
        let whole = |exchange: &KeyExchange| exchange.algorithm() == algorithm;
        let first = self.exchange.take();
        let mut half = None;
        for exchange in first.into_iter().chain(core::mem::take(&mut self.further_exchanges)) {
            if whole(&exchange) {
                return exchange.agree(server_share).map_err(bad_share);
            }
            let classic = exchange.algorithm().classic();
            if classic.is_some_and(|(classic, _)| classic == algorithm)
                && config.common.groups.contains(&group)
            {
                half = Some(exchange);
            }
        }
        let exchange = half.ok_or(Peer::WrongGroup)?;
        exchange.agree_classic(server_share).map_err(bad_share)
    }

    fn send_with(
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
            server_padding: config.server_padding.filter(|_| tls13),
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
        let [a, b, c, d, e, ..] = self.seed.to_be_bytes();
        let mut grease = Grease::from_random([a, b, c, d, e]);
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

    /// The keys to offer: the session's first, because early data goes with the first. RFC 9846 4.3.10
    fn offered_keys<'o>(
        &'o self,
        config: &'o ClientConfig,
        now: Option<UnixTime>,
    ) -> impl Iterator<Item = OfferedKey<'o>> {
        let session = self.session13().zip(self.early_secret.as_ref()).zip(now);
        let session =
            session.map(|((session, early), now)| OfferedKey::of_session(session, early, now));
        let external = self.pre_shared_keys.iter();
        let external = external.filter_map(|key| OfferedKey::external(key, &config.common));
        session.into_iter().chain(external)
    }

    /// What the hello that was sent offers.
    pub(crate) fn offered(&self) -> Offered<'_> {
        let body = self.message.get(4..).unwrap_or_default();
        Offered(ClientHello::extension_block(body).unwrap_or_default())
    }
}

/// The extensions of a hello that was sent.
pub(crate) struct Offered<'a>(ExtensionBlock<'a>);

impl Offered<'_> {
    /// Whether this one is among them, reserved ones included.
    pub(crate) fn has(&self, kind: ExtensionType) -> bool {
        self.0.contains(kind)
    }
}

fn bad_share(error: tercel_crypto::CryptoError) -> Error {
    crate::handshake::tls13::server::bad_share(error)
}

/// The groups to send shares for at first.
fn first_groups(config: &ClientConfig) -> Few<NamedGroup, MOST_SHARES> {
    let filler = NamedGroup::X25519;
    let ours = config.common.groups.iter().copied();
    let mut predicted = ours.clone().filter(|group| config.server_groups.contains(group));
    match (predicted.next(), &config.key_shares) {
        (Some(predicted), _) => Few::of(filler, [predicted]),
        (None, Some(groups)) => Few::of(filler, groups.iter().copied()),
        (None, None) => Few::of(filler, ours.take(1)),
    }
}

/// The group of the classic half of a hybrid, if that is offered beside it: of one among so many exchanges.
fn offered_classic(
    config: &ClientConfig,
    algorithm: KeyExchangeAlgorithm,
    exchanges: usize,
) -> Option<NamedGroup> {
    let (classic, _) =
        algorithm.classic().filter(|_| config.key_shares.is_none() && exchanges == 1)?;
    group::code_point(classic).filter(|group| config.common.groups.contains(group))
}

/// Shares that are offered without an allocation.
const MOST_SHARES: usize = 4;

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

const NO_SHARE: KeyShareEntry<'_> = KeyShareEntry { group: NamedGroup::X25519, key_exchange: &[] };

const NO_IDENTITY: PskIdentity<'_> = PskIdentity { identity: &[], obfuscated_ticket_age: 0 };
