//! A client's Encrypted ClientHello: the offer, GREASE, and the server's decision. RFC 9849 6

use tercel_crypto::{AeadAlgorithm, HpkeKey, HpkeSender, fill_random};
use tercel_wire::{
    ClientHello, ClientHelloEncoding, DecodeError, HpkeSymmetricCipherSuite,
    InnerClientHelloEncoding, List, OfferedPsks, OuterEncryptedClientHello, ProtocolVersion,
    ServerHello,
};

use super::outer_hello::{self, GreasePsks};
use super::{RequestedOffer, Written, confirmation};
use crate::config::client::ClientConfig;
use crate::connection::info::{ConnectionInfo, Ech};
use crate::ech::{ConfigList, INFO, MANDATORY, Offer, Selected};
use crate::error::{Error, InternalError, PeerError};
use crate::handshake::runtime::flow::Flow;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EchConfirmation;

/// The state of Encrypted ClientHello in a client's handshake. `None` if nothing is offered.
#[derive(Default)]
pub(crate) struct ClientEch(Option<Box<State>>);

enum State {
    /// An encrypted ClientHello is offered, and the server may still decide.
    Offered(Offered),
    /// The handshake continues with the inner ClientHello.
    Accepted { public_name: String },
    /// The handshake continues with the outer ClientHello, which has this extension.
    Rejected { public_name: String, extension: Vec<u8> },
    /// The extension has random contents. Empty until the first ClientHello is written.
    Grease(Vec<u8>),
}

struct Offered {
    sender: HpkeSender,
    encapsulated: [u8; HpkeKey::LEN],
    config_id: u8,
    cipher_suite: HpkeSymmetricCipherSuite,
    maximum_name_length: u8,
    public_name: String,
    outer_random: [u8; 32],
    /// The last outer ClientHello, and its extension.
    outer_message: Vec<u8>,
    extension: Vec<u8>,
    /// Whether a HelloRetryRequest has confirmed the inner ClientHello.
    is_confirmed: bool,
}

/// The outer ClientHello that takes the place of the inner one.
pub(crate) struct OuterHello {
    pub(crate) message: Vec<u8>,
    pub(crate) random: [u8; 32],
    pub(crate) public_name: String,
}

/// The ClientHello with which a handshake continues.
pub(crate) enum Settled {
    /// The ClientHello of which the transcript consists so far.
    Unchanged,
    /// The outer ClientHello, because the server rejected the inner one.
    Outer(OuterHello),
}

impl ClientEch {
    /// Decides what is offered, and encapsulates a key. RFC 9849 6.1, 6.2
    pub(crate) fn new(
        flow: &mut Flow,
        requested: RequestedOffer,
        config: &ClientConfig,
    ) -> Result<Self, Error> {
        let requested = requested.or_else(|| flow.take_ech_offer());
        // Both need TLS 1.3. RFC 9849 6.1
        if !config.common.has_version(ProtocolVersion::TLS1_3) {
            return Ok(Self(None));
        }
        let by_config = || config.ech_grease.then(|| State::Grease(Vec::new()));
        // HPKE is outside of the module.
        if config.common.fips && !matches!(requested.as_deref(), None | Some(Offer::None)) {
            return Err(InternalError::NotFips.into());
        }
        Ok(Self(
            match requested.as_deref() {
                Some(Offer::Configs(list)) => match list.select() {
                    Some(selected) => Some(State::Offered(Offered::new(&selected)?)),
                    None => by_config(),
                },
                Some(Offer::Grease) => Some(State::Grease(Vec::new())),
                Some(Offer::None) => None,
                None => by_config(),
            }
            .map(Box::new),
        ))
    }

    /// Whether only sessions of TLS 1.3 may be offered. RFC 9849 6.1
    pub(crate) fn requires_tls13(&self) -> bool {
        matches!(self.0.as_deref(), Some(State::Offered(_)))
    }

    /// Encodes a ClientHello. `bind` replaces the binders at the end of the message, and returns
    /// its transcript.
    pub(crate) fn write(
        &mut self,
        hello: &ClientHello<'_>,
        encoding: &ClientHelloEncoding,
        capacity: usize,
        bind: impl FnOnce(&ClientHello<'_>, &mut Vec<u8>) -> Result<Option<Box<Transcript>>, Error>,
    ) -> Result<Written, Error> {
        let mut message = Vec::with_capacity(capacity);
        let extension = match self.0.as_deref_mut() {
            None => {
                hello.encode_with(encoding, &mut message)?;
                let transcript = bind(hello, &mut message)?;
                return Ok(Written { message, sent: None, transcript });
            }
            Some(State::Offered(offered)) => return offered.write(hello, encoding, bind),
            // Only `Offered` is left before the second ClientHello.
            Some(State::Accepted { .. }) => &[][..],
            Some(State::Rejected { public_name, extension }) => {
                let outer = outer_hello::outer(hello, hello.random, public_name, extension, None)?;
                outer.encode_with(encoding, &mut message)?;
                return Ok(Written { message, sent: None, transcript: None });
            }
            Some(State::Grease(extension)) => {
                if extension.is_empty() {
                    *extension = grease(hello, encoding)?;
                }
                extension
            }
        };
        let mut hello = *hello;
        hello.extensions.encrypted_client_hello = Some(extension);
        hello.encode_with(encoding, &mut message)?;
        let transcript = bind(&hello, &mut message)?;
        Ok(Written { message, sent: None, transcript })
    }

    /// Finds out from a HelloRetryRequest whether the server uses the inner ClientHello.
    /// RFC 9849 6.1.4, 6.2
    pub(crate) fn settle_by_retry(
        &mut self,
        message: &[u8],
        hello: &ServerHello<'_>,
        inner_random: &[u8; 32],
        transcript: impl FnOnce() -> Option<Transcript>,
    ) -> Result<Settled, Error> {
        let Some(state) = self.0.as_deref_mut() else { return Ok(Settled::Unchanged) };
        let extension = hello.extensions.encrypted_client_hello;
        if extension.is_some_and(|body| body.len() != ServerHello::CONFIRMATION_LENGTH) {
            return Err(DecodeError::InvalidLength.into());
        }
        let State::Offered(offered) = state else { return Ok(Settled::Unchanged) };
        let kind = EchConfirmation::HelloRetryRequest;
        offered.is_confirmed = transcript().is_some_and(|transcript| {
            confirmation::is_in(message, kind, inner_random, &transcript)
        });
        if offered.is_confirmed { Ok(Settled::Unchanged) } else { Ok(self.reject()) }
    }

    /// Finds out from a ServerHello whether the server uses the inner ClientHello.
    /// RFC 9849 6.1.4, 6.1.5
    pub(crate) fn settle(
        &mut self,
        message: &[u8],
        inner_random: &[u8; 32],
        transcript: impl FnOnce() -> Option<Transcript>,
    ) -> Result<Settled, Error> {
        let Some(State::Offered(offered)) = self.0.as_deref_mut() else {
            return Ok(Settled::Unchanged);
        };
        let kind = EchConfirmation::ServerHello;
        let is_confirmed = transcript().is_some_and(|transcript| {
            confirmation::is_in(message, kind, inner_random, &transcript)
        });
        match (offered.is_confirmed, is_confirmed) {
            (_, true) => {
                let public_name = core::mem::take(&mut offered.public_name);
                self.0 = Some(Box::new(State::Accepted { public_name }));
                Ok(Settled::Unchanged)
            }
            // HelloRetryRequest and ServerHello must agree. RFC 9849 6.1.5
            (true, false) => Err(PeerError::InconsistentConfirmation.into()),
            (false, false) => Ok(self.reject()),
        }
    }

    /// Continues with the outer ClientHello, as also a ServerHello of TLS 1.2 requires.
    /// RFC 9849 6.1.4
    pub(crate) fn reject(&mut self) -> Settled {
        let offered = match self.0.take().map(|state| *state) {
            Some(State::Offered(offered)) => offered,
            other => {
                self.0 = other.map(Box::new);
                return Settled::Unchanged;
            }
        };
        let Offered { public_name, outer_random, outer_message, extension, .. } = offered;
        self.0 = Some(Box::new(State::Rejected { public_name: public_name.clone(), extension }));
        Settled::Outer(OuterHello { message: outer_message, random: outer_random, public_name })
    }

    /// Processes the extension in EncryptedExtensions. RFC 9849 5, 6.1.6, 6.2
    pub(crate) fn receive_retry_configs(
        &self,
        body: &[u8],
        info: &mut ConnectionInfo,
    ) -> Result<(), Error> {
        let parsed = ConfigList::parse(body);
        match self.0.as_deref() {
            Some(State::Rejected { .. }) => match parsed {
                Ok(list) => info.set_ech_retry_configs(list),
                Err(_) => return Err(PeerError::MalformedRetryConfigs.into()),
            },
            // The contents are checked and ignored.
            Some(State::Grease(_)) if parsed.is_err() => {
                return Err(PeerError::MalformedRetryConfigs.into());
            }
            Some(State::Grease(_)) => {}
            // The inner ClientHello did not request an answer.
            _ => return Err(PeerError::UnexpectedExtension.into()),
        }
        Ok(())
    }

    /// Sets the fields of the connection.
    pub(crate) fn report(&self, info: &mut ConnectionInfo) {
        info.ech = match self.0.as_deref() {
            None => Ech::NotOffered,
            Some(State::Accepted { public_name }) => {
                info.set_outer_server_name(Some(public_name.clone()));
                Ech::Accepted
            }
            Some(State::Grease(_)) => Ech::Grease,
            Some(State::Offered(_) | State::Rejected { .. }) => Ech::Rejected,
        };
    }
}

impl Offered {
    fn new(selected: &Selected<'_>) -> Result<Self, Error> {
        let info = [INFO, selected.encoded].concat();
        let public_key = selected.contents.public_key;
        let (sender, encapsulated) = HpkeSender::new(selected.suite, public_key, &info)?;
        let mut outer_random = [0; 32];
        fill_random(&mut outer_random)?;
        Ok(Self {
            sender,
            encapsulated,
            config_id: selected.contents.config_id,
            cipher_suite: selected.cipher_suite,
            maximum_name_length: selected.contents.maximum_name_length,
            public_name: selected.public_name.to_owned(),
            outer_random,
            outer_message: Vec::new(),
            extension: Vec::new(),
            is_confirmed: false,
        })
    }

    /// Encodes both ClientHellos and encrypts the inner one. The second time, the context is used
    /// again, and the encapsulated key is not sent again. RFC 9849 6.1, 6.1.1, 6.1.5
    fn write(
        &mut self,
        hello: &ClientHello<'_>,
        encoding: &ClientHelloEncoding,
        bind: impl FnOnce(&ClientHello<'_>, &mut Vec<u8>) -> Result<Option<Box<Transcript>>, Error>,
    ) -> Result<Written, Error> {
        let suites = outer_hello::tls13_suites(hello);
        let inner = outer_hello::inner(hello, hello.random, &suites);
        let grease_psks = GreasePsks::like(hello.extensions.pre_shared_key)?;
        let (identities, binders) = grease_psks.parts(hello.extensions.pre_shared_key);
        let pre_shared_key = (!identities.is_empty()).then(|| OfferedPsks {
            identities: List::new(&identities),
            binders: List::new(&binders),
        });
        let is_first = self.outer_message.is_empty();
        let parts = OuterEncryptedClientHello {
            cipher_suite: self.cipher_suite,
            config_id: self.config_id,
            enc: if is_first { &self.encapsulated } else { &[] },
            payload: &[],
        };
        // Which extensions are equal does not depend on the payload.
        let (random, name) = (&self.outer_random, &self.public_name);
        let outer = outer_hello::outer(hello, random, name, &[], pre_shared_key)?;
        let inner_encoding =
            InnerClientHelloEncoding::new(*encoding, &inner.extensions, &outer.extensions);
        let (mut message, mut encoded) = (Vec::new(), Vec::new());
        inner.encode_inner(&inner_encoding, &mut message)?;
        let transcript = bind(&inner, &mut message)?;
        inner.encode_for_encryption(&inner_encoding, &mut encoded)?;
        copy_binders(&inner, &message, &mut encoded);
        pad(&inner, self.maximum_name_length, &mut encoded);

        let mut payload = vec![0; encoded.len().saturating_add(AeadAlgorithm::TAG_LEN)];
        let with = |payload: &[u8]| {
            outer_hello::extension(&OuterEncryptedClientHello { payload, ..parts })
        };
        let extension = with(&payload);
        let outer = outer_hello::outer(hello, random, name, &extension, pre_shared_key)?;
        let mut sent = Vec::new();
        outer.encode_with(encoding, &mut sent)?;
        let body = sent.get(HEADER..).unwrap_or_default();
        let place = ClientHello::encrypted_payload(body)?.unwrap_or_default();
        self.sender.seal(body, &encoded, &mut payload)?;
        let place = place.start.saturating_add(HEADER)..place.end.saturating_add(HEADER);
        if let Some(place) = sent.get_mut(place) {
            place.copy_from_slice(&payload);
        }
        self.extension = with(&payload);
        self.outer_message.clone_from(&sent);
        Ok(Written { message, sent: Some(sent), transcript })
    }
}

/// The number of bytes of a handshake message before its body.
const HEADER: usize = 4;

/// Copies the binders from the end of the inner ClientHello to the end of its encoding.
fn copy_binders(inner: &ClientHello<'_>, message: &[u8], encoded: &mut [u8]) {
    let length = inner.extensions.pre_shared_key.map_or(0, |psks| psks.binders_length());
    let from = message.len().checked_sub(length).and_then(|start| message.get(start..));
    let to = encoded.len().checked_sub(length).and_then(|start| encoded.get_mut(start..));
    if let (Some(from), Some(to)) = (from, to) {
        to.copy_from_slice(from);
    }
}

/// Appends zeros so that the length does not reveal the server name. RFC 9849 6.1.3
fn pad(inner: &ClientHello<'_>, maximum_name_length: u8, encoded: &mut Vec<u8>) {
    let longest = usize::from(maximum_name_length);
    let name = inner.extensions.server_name.and_then(|offer| offer.host_name());
    let for_name = match name {
        Some(name) => longest.saturating_sub(name.as_str().len()),
        None => longest.saturating_add(9),
    };
    let length = encoded.len().saturating_add(for_name).next_multiple_of(32);
    encoded.resize(length, 0);
}

/// Creates an extension with random contents, of the length that an encrypted ClientHello would
/// have. RFC 9849 6.2
fn grease(hello: &ClientHello<'_>, encoding: &ClientHelloEncoding) -> Result<Vec<u8>, Error> {
    let suites = outer_hello::tls13_suites(hello);
    let inner = outer_hello::inner(hello, hello.random, &suites);
    let outer = outer_hello::outer(hello, hello.random, GREASE_NAME, &[], None)?;
    let inner_encoding =
        InnerClientHelloEncoding::new(*encoding, &inner.extensions, &outer.extensions);
    let mut encoded = Vec::new();
    inner.encode_for_encryption(&inner_encoding, &mut encoded)?;
    pad(&inner, GREASE_MAXIMUM_NAME_LENGTH, &mut encoded);
    let mut payload = vec![0; encoded.len().saturating_add(AeadAlgorithm::TAG_LEN)];
    fill_random(&mut payload)?;
    let mut config_id = [0];
    fill_random(&mut config_id)?;
    // A public key is a valid encapsulated key.
    let encapsulated = HpkeKey::generate()?.public_key()?;
    Ok(outer_hello::extension(&OuterEncryptedClientHello {
        cipher_suite: MANDATORY,
        config_id: config_id[0],
        enc: &encapsulated,
        payload: &payload,
    }))
}

/// Any name: the server name is never compressed, so its value has no effect on the length.
const GREASE_NAME: &str = "public.example";

/// The maximum name length of a configuration for which an extension with random contents has its
/// length.
const GREASE_MAXIMUM_NAME_LENGTH: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::wire::{AlertDescription, CipherSuite};

    /// RFC 9849 5, 6.1.6, 6.2
    #[test]
    fn the_syntax_of_retry_configs_is_checked() {
        let configs = crate::ech::Key::generate("a.example", 0).unwrap().config();
        let receive = |state, body: &[u8]| {
            let mut info =
                ConnectionInfo::new(ProtocolVersion::TLS1_3, CipherSuite::TLS_AES_128_GCM_SHA256);
            let ech = ClientEch(Some(Box::new(state)));
            let received = ech.receive_retry_configs(body, &mut info);
            received.map(|()| info.take_ech_retry_configs())
        };
        let rejected =
            || State::Rejected { public_name: "a.example".to_owned(), extension: Vec::new() };
        assert_eq!(receive(rejected(), configs.as_bytes()), Ok(configs.clone()));
        assert_eq!(receive(State::Grease(vec![1]), configs.as_bytes()), Ok(ConfigList::default()));
        let malformed = Error::from(PeerError::MalformedRetryConfigs);
        assert_eq!(malformed.alert(), Some(AlertDescription::DECODE_ERROR));
        for body in [&[0, 0][..], &[], &[0xba, 0xdd, 0xec, 0xcc]] {
            assert_eq!(receive(rejected(), body), Err(malformed));
            assert_eq!(receive(State::Grease(vec![1]), body), Err(malformed));
        }
        let accepted = State::Accepted { public_name: "a.example".to_owned() };
        let unexpected = PeerError::UnexpectedExtension.into();
        assert_eq!(receive(accepted, configs.as_bytes()), Err(unexpected));
    }
}
