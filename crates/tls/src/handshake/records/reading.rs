//! What a peer's records hold, one after the other, and what may not stand there.
//!
//! Must not know: what is sent. Next: [`super`], `record/opener.rs`, `record/joiner.rs`.

use tercel_wire::{AlertDescription, ContentType, ProtocolVersion};

use super::super::flow::Wanted;
use super::Records;
use crate::connection::buffer::Received;
use crate::connection::post_handshake;
use crate::error::{Error, Peer};
use crate::record::joiner::Message;
use crate::record::limits;

/// What [`Records::feed`] got.
pub(crate) enum Fed {
    Message(Message),
    ChangeCipherSpec,
    EarlyData(Vec<u8>),
    NotYet,
}

impl Records {
    /// Gets what the coroutine waits for out of the records received.
    pub(crate) fn feed(
        &mut self,
        wanted: Option<Wanted>,
        received: &mut Received,
    ) -> Result<Fed, Error> {
        loop {
            if wanted == Some(Wanted::Message) {
                if let Some(message) = self.joiner.next()? {
                    return Ok(Fed::Message(message));
                }
            } else if !self.joiner.is_empty() {
                return Err(Peer::ExcessHandshakeData.into());
            }
            let Some(frame) = self.opener.frame(received.unread())? else { return Ok(Fed::NotYet) };
            let record = received.take(frame.total);
            let Some(opened) = self.opener.open(frame, record)? else {
                // Also a record that is passed over may not split a message. RFC 9846 5.1
                if !self.joiner.is_empty() {
                    return Err(Peer::InterruptedHandshakeMessage.into());
                }
                continue;
            };
            let content = record.get(opened.plaintext).unwrap_or_default();
            match opened.content_type {
                // Where a change_cipher_spec must come, no message may. RFC 5246 7.1
                ContentType::HANDSHAKE
                    if wanted != Some(Wanted::Message) && !content.is_empty() =>
                {
                    return Err(Peer::UnexpectedRecord.into());
                }
                ContentType::HANDSHAKE => {
                    // Only what carries something ends a row of warnings.
                    if !content.is_empty() {
                        self.warnings_in_a_row = 0;
                    }
                    if let Some(message) = self.joiner.pass_short(content)? {
                        return Ok(Fed::Message(message));
                    }
                    self.joiner.push(content);
                }
                ContentType::ALERT => self.received_alert(content)?,
                ContentType::CHANGE_CIPHER_SPEC => {
                    if self.received_change_cipher_spec(wanted, content)? {
                        return Ok(Fed::ChangeCipherSpec);
                    }
                }
                ContentType::APPLICATION_DATA if self.early_data_left.is_some() => {
                    let bytes = content.to_vec();
                    if let Some(bytes) = self.received_early_data(bytes)? {
                        return Ok(Fed::EarlyData(bytes));
                    }
                }
                _ => return Err(Peer::UnexpectedRecord.into()),
            }
        }
    }

    /// Early data is counted; more than was allowed is an error. RFC 9846 4.3.10
    fn received_early_data(&mut self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        if !self.joiner.is_empty() {
            return Err(Peer::InterruptedHandshakeMessage.into());
        }
        let left = self.early_data_left.unwrap_or_default().checked_sub(bytes.len());
        self.early_data_left = Some(left.ok_or(Peer::TooMuchEarlyData)?);
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    fn received_alert(&mut self, content: &[u8]) -> Result<(), Error> {
        let version = self.version.unwrap_or(ProtocolVersion::TLS1_2);
        let (level, description) = post_handshake::read_alert(content, version)?;
        if description == AlertDescription::CLOSE_NOTIFY {
            return Err(Error::ClosedInHandshake);
        }
        post_handshake::ignorable(level, description, version, &mut self.warnings_in_a_row)
            .inspect_err(|_| self.forget_session())?;
        // What ends nothing may not split a message either. RFC 9846 5.1
        if self.joiner.is_empty() { Ok(()) } else { Err(Peer::InterruptedHandshakeMessage.into()) }
    }

    /// `true` if a TLS 1.2 handshake waited for it; the ones of TLS 1.3 mean nothing. RFC 9846 5
    fn received_change_cipher_spec(
        &mut self,
        wanted: Option<Wanted>,
        content: &[u8],
    ) -> Result<bool, Error> {
        if content != [1] {
            return Err(Peer::BadChangeCipherSpec.into());
        }
        if !self.joiner.is_empty() {
            return Err(Peer::InterruptedHandshakeMessage.into());
        }
        if wanted == Some(Wanted::ChangeCipherSpec) {
            return Ok(true);
        }
        if self.version != Some(ProtocolVersion::TLS1_3) {
            return Err(Peer::UnexpectedRecord.into());
        }
        self.change_cipher_specs = self.change_cipher_specs.saturating_add(1);
        if self.change_cipher_specs > limits::MAX_CHANGE_CIPHER_SPECS {
            return Err(Peer::TooManyChangeCipherSpecs.into());
        }
        Ok(false)
    }
}
