//! Decryption of both ClientHellos of a handshake, by a server in shared mode and by a
//! client-facing server. RFC 9849 7.1, 7.1.1

use tercel_crypto::HpkeRecipient;
use tercel_wire::{
    ClientHello, EncryptedClientHello, HpkeSymmetricCipherSuite, OuterEncryptedClientHello,
};

use super::inner_hello;
use super::keys::KeySet;
use crate::error::{Error, PeerError};
use crate::record::joiner::Message;

/// Returns the extension of a ClientHello.
pub(crate) fn extension<'a>(
    hello: &ClientHello<'a>,
) -> Result<Option<EncryptedClientHello<'a>>, Error> {
    Ok(hello.extensions.encrypted_client_hello.map(EncryptedClientHello::parse).transpose()?)
}

/// The state that is kept for a second ClientHello.
pub(crate) struct Opening {
    recipient: HpkeRecipient,
    cipher_suite: HpkeSymmetricCipherSuite,
    config_id: u8,
}

impl Opening {
    /// Returns the inner ClientHello if one of the keys opens the payload. All keys with the
    /// identifier that the client sent are tried; their number is limited. RFC 9849 7.1
    pub(crate) fn first(
        keys: &KeySet,
        outer: &OuterEncryptedClientHello<'_>,
        hello: &Message,
    ) -> Result<Option<(Self, Message)>, Error> {
        let mut candidates = keys.with_id(outer.config_id).peekable();
        if candidates.peek().is_none() {
            return Ok(None);
        }
        let associated_data = inner_hello::associated_data(hello)?;
        let opened = candidates.find_map(|key| key.open(outer, &associated_data));
        let Some((recipient, encoded)) = opened else { return Ok(None) };
        let inner = inner_hello::rebuild(&encoded, hello)?;
        let (cipher_suite, config_id) = (outer.cipher_suite, outer.config_id);
        Ok(Some((Self { recipient, cipher_suite, config_id }, inner)))
    }

    /// Returns the inner ClientHello of a second ClientHello with this extension. RFC 9849 7.1.1
    pub(crate) fn second(
        &mut self,
        extension: Option<EncryptedClientHello<'_>>,
        second: &Message,
    ) -> Result<Message, Error> {
        let outer = match extension {
            Some(EncryptedClientHello::Outer(outer)) => outer,
            Some(EncryptedClientHello::Inner) => {
                return Err(PeerError::EncryptionChangedAfterRetry.into());
            }
            None => return Err(PeerError::MissingExtension.into()),
        };
        if outer.cipher_suite != self.cipher_suite
            || outer.config_id != self.config_id
            || !outer.enc.is_empty()
        {
            return Err(PeerError::EncryptionChangedAfterRetry.into());
        }
        let associated_data = inner_hello::associated_data(second)?;
        let encoded = self.recipient.open(&associated_data, outer.payload);
        inner_hello::rebuild(&encoded.map_err(|_| PeerError::UndecryptableHello)?, second)
    }
}
