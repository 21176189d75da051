//! What a client offers, and offers again after a HelloRetryRequest. RFC 9846 4.2.1, 4.2.2
//!
//! Must not know: what the server makes of it. Next: [`shares`], [`writing`], then `tls13/client.rs`.

mod shares;
mod writing;

use std::sync::Arc;

use pki_types::UnixTime;
use tercel_crypto::{HashAlgorithm, KeyExchange};
use tercel_wire::{
    ClientHello, ExtensionBlock, ExtensionType, HandshakeMessage, NamedGroup, ProtocolVersion,
};

use super::offered_key::OfferedKey;
use crate::config::client::ClientConfig;
use crate::config::pre_shared_key::PreSharedKey;
use crate::error::{Error, Local, Peer};
use crate::handshake::few::Few;
use crate::handshake::flow::{Command, Flow};
use crate::handshake::log::SecretLog;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EarlySecret;
use crate::session::client_store::ClientSessionKey;
use crate::session::state::Session;
use shares::{MOST_SHARES, NO_SHARE, first_groups};

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
    /// Those after the first are what only a configuration with wishes of its own has. Used where they lie, see
    /// `Offer::agree`.
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
