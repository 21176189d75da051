//! A client's offer: its ClientHello, and the second one after a HelloRetryRequest.
//! RFC 9846 4.2.1, 4.2.2

mod encrypted;
mod shares;
mod writing;

use std::sync::Arc;

use pki_types::UnixTime;
use tercel_crypto::{HashAlgorithm, KeyExchange};
use tercel_wire::{ClientHello, ExtensionBlock, HandshakeMessage, NamedGroup, ProtocolVersion};

use super::offered_key::OfferedKey;
use crate::auth::server_identity::ServerIdentity;
use crate::config::client::ClientConfig;
use crate::error::{Error, InternalError, PeerError};
use crate::handshake::ech::client::ClientEch;
use crate::handshake::runtime::command::Command;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::secret_log::SecretLog;
use crate::handshake::short_list::ShortList;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EarlySecret;
use crate::psk::PreSharedKey;
use crate::resumption::session::Session;
use shares::{MAX_INLINE_SHARES, NO_SHARE, first_groups};

/// A client's offer: the ClientHello, and the private values that belong to it.
pub(crate) struct Offer {
    /// The ClientHello as it was sent, header included.
    pub(crate) message: Vec<u8>,
    /// The transcript of the first ClientHello, with the hash of the first offered pre-shared key.
    /// `None` if no key is offered.
    transcript: Option<Box<Transcript>>,
    pub(crate) random: [u8; 32],
    pub(crate) session_id: ShortList<u8, 32>,
    pub(crate) server: ServerIdentity,
    /// The session that is offered for resumption.
    pub(crate) session: Option<OfferedSession>,
    /// The external keys that are offered, after a TLS 1.3 session.
    pub(crate) pre_shared_keys: Vec<Arc<PreSharedKey>>,
    /// Whether the last ClientHello offered early data.
    pub(crate) early_data: bool,
    /// The key exchange of the first share. If several shares are configured, the others are in
    /// `further_exchanges`. Key exchanges are used in place, since moving one would leave a copy of
    /// its secret in memory.
    exchange: Option<KeyExchange>,
    further_exchanges: Vec<KeyExchange>,
    /// Determines the order of extensions and the GREASE values, which are the same in both
    /// ClientHellos.
    seed: u64,
    /// Whether the last ClientHello contains only the share that a HelloRetryRequest requested.
    replaces_shares: bool,
    pub(crate) ech: ClientEch,
}

/// A session that is offered for resumption.
#[allow(clippy::large_enum_variant, reason = "one exists for each client, and is not copied")]
pub(crate) enum OfferedSession {
    Tls12(Box<Session>),
    /// The early secret is derived from the session's pre-shared key. RFC 9846 7.1
    Tls13(Box<Session>, EarlySecret),
}

impl OfferedSession {
    fn new(session: Box<Session>) -> Self {
        if session.version == ProtocolVersion::TLS1_2 {
            return Self::Tls12(session);
        }
        let early_secret = EarlySecret::new(session.suite, Some(session.secret.as_bytes()));
        Self::Tls13(session, early_secret)
    }
}

impl Offer {
    pub(crate) fn new(
        config: &ClientConfig,
        server: ServerIdentity,
        session: Option<Box<Session>>,
        ech: ClientEch,
    ) -> Result<Self, Error> {
        // An encrypted ClientHello must not offer a session of TLS 1.2. RFC 9849 6.1
        let only_tls13 = ech.requires_tls13();
        let session = session.filter(|session| {
            session.version == ProtocolVersion::TLS1_3
                || !only_tls13 && (config.resumption.tickets_tls12 || !session.by_ticket)
        });
        // All public random values are generated in one call, since each call of the generator has
        // a cost.
        let mut randoms = [0_u8; 32 + 32 + 8];
        tercel_crypto::fill_random(&mut randoms)?;
        let (random, rest) = randoms.split_first_chunk::<32>().ok_or(InternalError::Internal)?;
        let (session_id, seed) = rest.split_first_chunk::<32>().ok_or(InternalError::Internal)?;
        let seed = seed.first_chunk().copied().map_or(0, u64::from_be_bytes);
        let tls13 = config.common.has_version(ProtocolVersion::TLS1_3);
        let session12 =
            session.as_deref().filter(|session| session.version == ProtocolVersion::TLS1_2);
        let session_id: &[u8] = match session12 {
            Some(session) if !session.by_ticket => &session.identity,
            // A server that accepts the ticket echoes this value. RFC 5077 3.4
            Some(_) => session_id,
            None if tls13 && config.middlebox_compatibility => session_id,
            None => &[],
        };
        let pre_shared_keys = if tls13 { config.pre_shared_keys.clone() } else { Vec::new() };
        Ok(Self {
            message: Vec::new(),
            transcript: None,
            random: *random,
            session_id: ShortList::joined(0, &[session_id]),
            server,
            session: session.map(OfferedSession::new),
            pre_shared_keys,
            early_data: false,
            exchange: None,
            further_exchanges: Vec::new(),
            seed,
            replaces_shares: false,
            ech,
        })
    }

    /// Returns the offered TLS 1.3 session and its early secret.
    fn session13(&self) -> Option<(&Session, &EarlySecret)> {
        match &self.session {
            Some(OfferedSession::Tls13(session, early_secret)) => Some((session, early_secret)),
            Some(OfferedSession::Tls12(_)) | None => None,
        }
    }

    /// Returns the offered TLS 1.2 session.
    fn session12(&self) -> Option<&Session> {
        match &self.session {
            Some(OfferedSession::Tls12(session)) => Some(session),
            Some(OfferedSession::Tls13(..)) | None => None,
        }
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

    /// Whether early data can be sent. Early data uses the parameters of the session, which the
    /// client must still offer. RFC 9846 4.3.10
    fn may_send_early(&self, config: &ClientConfig) -> bool {
        let Some((session, _)) = self.session13() else { return false };
        // A server that selected no protocol may select none again, whatever is offered.
        let alpn_fits =
            session.alpn.as_ref().is_none_or(|protocol| config.common.alpn.contains(protocol));
        config.resumption.early_data
            && session.max_early_data > 0
            && alpn_fits
            && config.common.has_early_data_context_of(session)
    }

    fn begin_early_data(&self, flow: &mut Flow, config: &ClientConfig) -> Result<(), Error> {
        let Some((session, secret)) = self.session13() else { return Ok(()) };
        // In middlebox compatibility mode, this record precedes the first protected record.
        // RFC 9846 E.4
        if !self.session_id.is_empty() {
            flow.execute(Command::SendChangeCipherSpec)?;
        }
        let limit = session.max_early_data;
        let mut transcript = self.transcript(session.suite.hash);
        let (secret, exporter) = secret.early_secrets(&transcript.digest());
        let log = SecretLog::new(config.common.key_log.clone(), &self.random);
        log.log("EARLY_EXPORTER_SECRET", exporter.as_bytes());
        log.log("CLIENT_EARLY_TRAFFIC_SECRET", secret.as_bytes());
        flow.remember_transport_parameters(session)?;
        flow.execute(Command::WriteEarlyData { secret, limit })
    }

    /// Returns the transcript of the first ClientHello, before a second one is sent.
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

    /// Writes and sends the second ClientHello, as a HelloRetryRequest requires. RFC 9846 4.2.2
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
        // The server has selected a suite, and cannot choose a key with another hash than the
        // suite's. RFC 9846 4.2.2
        if self.session13().is_some_and(|(session, _)| session.suite.hash != before.algorithm()) {
            self.session = None;
        }
        self.pre_shared_keys.retain(|key| key.hash() == before.algorithm());
        // The second ClientHello would offer nothing that the server could accept.
        if config.only_pre_shared_keys && self.session.is_none() && self.pre_shared_keys.is_empty()
        {
            return Err(PeerError::PreSharedKeyDeclined.into());
        }
        if let Some(group) = group {
            return self.send_shares(flow, config, &[group], cookie, Some(before));
        }
        // No new share is requested, so the second ClientHello repeats the shares of the first
        // ClientHello.
        let first = core::mem::take(&mut self.message);
        let hello = ClientHello::parse(first.get(4..).unwrap_or_default())?;
        let sent = hello.extensions.key_share.into_iter().flat_map(|shares| shares.iter());
        let sent = sent.filter(|share| self.has_share(config, share.group));
        let shares = ShortList::<_, MAX_INLINE_SHARES>::of(NO_SHARE, sent);
        self.send_with(flow, config, &shares, cookie, Some(before))
    }

    /// Returns the pre-shared keys to offer. The key of the session is the first, as early data
    /// requires. RFC 9846 4.3.10
    fn offered_keys<'o>(
        &'o self,
        config: &'o ClientConfig,
        now: Option<UnixTime>,
    ) -> impl Iterator<Item = OfferedKey<'o>> {
        let session = self.session13().zip(now);
        let session =
            session.map(|((session, early), now)| OfferedKey::of_session(session, early, now));
        let external = self.pre_shared_keys.iter();
        let external = external.filter_map(|key| OfferedKey::external(key, &config.common));
        session.into_iter().chain(external)
    }

    /// Returns the extensions of the last ClientHello.
    pub(crate) fn offered(&self) -> ExtensionBlock<'_> {
        let body = self.message.get(4..).unwrap_or_default();
        ClientHello::extension_block(body).unwrap_or_default()
    }
}
