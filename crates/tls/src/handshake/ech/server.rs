//! A server's Encrypted ClientHello: in shared mode, and as a backend of split mode. RFC 9849 7
//!
//! [`open`] is called before a configuration is chosen, so that all policies see the inner
//! ClientHello. Its result accompanies the handshake.

use tercel_crypto::fill_random;
use tercel_wire::{
    ClientHello, EncryptedClientHello, ExtensionType, HandshakeMessage, OuterEncryptedClientHello,
    ServerHello,
};

use super::confirmation;
use crate::config::server::ServerConfig;
use crate::connection::info::{ConnectionInfo, Ech};
use crate::ech::{ConfigList, KeySet, Opening, extension};
use crate::error::{Error, PeerError};
use crate::handshake::negotiate::parse_hello;
use crate::handshake::runtime::flow::Flow;
use crate::handshake::transcript::Transcript;
use crate::keys::tls13::EchConfirmation;
use crate::record::joiner::Message;

/// The state of Encrypted ClientHello in a server's handshake. `None` if it is not used.
#[derive(Default)]
pub(crate) struct ServerEch(Option<Box<State>>);

enum State {
    /// The handshake continues with the inner ClientHello.
    Accepted(Accepted),
    /// The inner ClientHello was received from a client-facing server.
    Backend,
    /// No key opened the payload: the client's configuration is out of date, or the extension has
    /// random contents. The handshake continues with the outer ClientHello.
    Rejected(ConfigList),
}

struct Accepted {
    opening: Opening,
    outer_server_name: Option<String>,
}

/// Returns the ClientHello to continue with: the inner ClientHello if the configuration has the key
/// for it, otherwise the received one. RFC 9849 7, 7.1
pub(crate) fn open(config: &ServerConfig, hello: Message) -> Result<(Message, ServerEch), Error> {
    if config.ech.is_none() && !config.ech_backend {
        return Ok((hello, ServerEch(None)));
    }
    let Some(extension) = find(&hello)? else { return Ok((hello, ServerEch(None))) };
    match (extension, &config.ech) {
        (EncryptedClientHello::Inner, _) if config.ech_backend => {
            Ok((hello, ServerEch(Some(Box::new(State::Backend)))))
        }
        // A server in shared mode receives this form only from a wrong peer. RFC 9849 7
        (EncryptedClientHello::Inner, _) => Err(PeerError::UnexpectedInnerHello.into()),
        // A client-facing server forwards the ClientHellos that it cannot open, too, among which
        // are those of clients that send random contents.
        (EncryptedClientHello::Outer(_), None) => Ok((hello, ServerEch(None))),
        (EncryptedClientHello::Outer(outer), Some(keys)) => {
            let keys = keys.current();
            if keys.is_empty() {
                return Ok((hello, ServerEch(None)));
            }
            let (inner, state) = open_outer(&keys, &outer, &hello)?;
            Ok((inner.unwrap_or(hello), ServerEch(Some(Box::new(state)))))
        }
    }
}

/// Returns the extension of a ClientHello, which is checked completely if it has the extension.
fn find(hello: &Message) -> Result<Option<EncryptedClientHello<'_>>, Error> {
    // A malformed ClientHello is refused later, where it is parsed.
    let Ok(block) = ClientHello::extension_block(hello.body()) else { return Ok(None) };
    if !block.contains(ExtensionType::ENCRYPTED_CLIENT_HELLO) {
        return Ok(None);
    }
    extension(&parse_hello(hello)?)
}

/// Tries the keys with the identifier that the client sent.
fn open_outer(
    keys: &KeySet,
    outer: &OuterEncryptedClientHello<'_>,
    hello: &Message,
) -> Result<(Option<Message>, State), Error> {
    let Some((opening, inner)) = Opening::first(keys, outer, hello)? else {
        return Ok((None, State::Rejected(keys.retry_configs.clone())));
    };
    let outer_server_name = parse_hello(hello)?.host_name().map(str::to_owned);
    Ok((Some(inner), State::Accepted(Accepted { opening, outer_server_name })))
}

impl ServerEch {
    /// Sets the fields of a TLS 1.3 connection.
    pub(crate) fn report(&self, info: &mut ConnectionInfo) {
        info.ech = match self.0.as_deref() {
            None => Ech::NotOffered,
            Some(State::Accepted(accepted)) => {
                info.set_outer_server_name(accepted.outer_server_name.clone());
                Ech::Accepted
            }
            Some(State::Backend) => Ech::Backend,
            Some(State::Rejected(_)) => Ech::Rejected,
        };
    }

    /// Sends a HelloRetryRequest or ServerHello, with the confirmation if the inner ClientHello is
    /// used. RFC 9849 7.2, 7.2.1
    pub(crate) fn send(
        &self,
        flow: &mut Flow,
        message: &ServerHello<'_>,
        transcript: &mut Transcript,
        client_random: &[u8; 32],
    ) -> Result<(), Error> {
        let Some(state) = self.0.as_deref() else { return flow.send(message, transcript) };
        let mut message = *message;
        let mut placeholder = [0; ServerHello::CONFIRMATION_LENGTH];
        let is_confirmed = matches!(state, State::Accepted(_) | State::Backend);
        let kind = if message.is_hello_retry_request() {
            // Random contents are indistinguishable from a confirmation, so that an observer does
            // not see whether the server accepts. RFC 9849 7.1
            if !is_confirmed {
                fill_random(&mut placeholder)?;
            }
            message.extensions.encrypted_client_hello = Some(&placeholder);
            EchConfirmation::HelloRetryRequest
        } else {
            EchConfirmation::ServerHello
        };
        let mut bytes = Vec::new();
        message.encode(&mut bytes)?;
        if is_confirmed {
            confirmation::insert(&mut bytes, kind, client_random, transcript);
        }
        let write = |out: &mut Vec<u8>| {
            out.extend_from_slice(&bytes);
            Ok::<(), Error>(())
        };
        flow.send_with(write, |bytes| transcript.add(bytes))
    }

    /// Returns the second ClientHello to continue with. RFC 9849 7.1.1
    pub(crate) fn open_second(&mut self, second: Message) -> Result<Message, Error> {
        let accepted = match self.0.as_deref_mut() {
            Some(State::Accepted(accepted)) => accepted,
            // A client does not change the extension. RFC 9849 6.1.5
            Some(State::Backend) if find(&second)? != Some(EncryptedClientHello::Inner) => {
                return Err(PeerError::InvalidInnerHello.into());
            }
            _ => return Ok(second),
        };
        let extension = find(&second)?;
        if extension.is_none() {
            parse_hello(&second)?;
        }
        accepted.opening.second(extension, &second)
    }

    /// Returns the configurations to send to a client whose ClientHello was not opened.
    /// RFC 9849 7.1
    pub(crate) fn retry_configs(&self) -> Option<&[u8]> {
        match self.0.as_deref() {
            Some(State::Rejected(configs)) => Some(configs.as_bytes()),
            _ => None,
        }
    }
}

/// Sets the fields of a TLS 1.2 connection, which never uses an inner ClientHello.
pub(crate) fn report_tls12(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    info: &mut ConnectionInfo,
) {
    if config.ech.is_some() && hello.extensions.encrypted_client_hello.is_some() {
        info.ech = Ech::Rejected;
    }
}
