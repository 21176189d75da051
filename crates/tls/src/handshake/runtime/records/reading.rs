//! Reads received records one by one, and refuses those that are not allowed in a handshake.

use tercel_wire::{AlertDescription, ContentType, ProtocolVersion};

use super::Records;
use crate::connection::buffer::ReceiveBuffer;
use crate::connection::post_handshake;
use crate::error::{Error, PeerError};
use crate::handshake::runtime::command::Wanted;
use crate::record::joiner::Message;
use crate::record::limits;

/// The result of [`Records::feed`].
pub(crate) enum Input {
    Message(Message),
    ChangeCipherSpec,
    EarlyData(Vec<u8>),
    Incomplete,
}

impl Records {
    /// Reads records until the awaited input is complete.
    pub(crate) fn feed(
        &mut self,
        wanted: Option<Wanted>,
        received: &mut ReceiveBuffer,
    ) -> Result<Input, Error> {
        loop {
            if wanted == Some(Wanted::Message) {
                if let Some(message) = self.joiner.next()? {
                    return Ok(self.received_message(message));
                }
            } else if !self.joiner.is_empty() {
                return Err(PeerError::ExcessHandshakeData.into());
            }
            let Some(frame) = self.opener.frame(received.unread())? else {
                return Ok(Input::Incomplete);
            };
            let record = received.take(frame.total);
            let Some(opened) = self.opener.open(frame, record)? else {
                // A skipped record must not interrupt a message, either. RFC 9846 5.1
                if !self.joiner.is_empty() {
                    return Err(PeerError::InterruptedHandshakeMessage.into());
                }
                continue;
            };
            self.has_opened_protected |= self.opener.is_protected();
            let content = record.get(opened.plaintext).unwrap_or_default();
            match opened.content_type {
                // No message may precede an expected change_cipher_spec. RFC 5246 7.1
                ContentType::HANDSHAKE
                    if wanted != Some(Wanted::Message) && !content.is_empty() =>
                {
                    return Err(PeerError::UnexpectedRecord.into());
                }
                ContentType::HANDSHAKE => {
                    // Only records with content end a sequence of warning alerts.
                    if !content.is_empty() {
                        self.warnings_in_a_row = 0;
                    }
                    if let Some(message) = self.joiner.short_message(content)? {
                        return Ok(self.received_message(message));
                    }
                    self.joiner.push(content);
                }
                ContentType::ALERT => self.received_alert(content)?,
                ContentType::CHANGE_CIPHER_SPEC => {
                    if self.received_change_cipher_spec(wanted, content)? {
                        return Ok(Input::ChangeCipherSpec);
                    }
                }
                ContentType::APPLICATION_DATA if self.early_data_left.is_some() => {
                    let bytes = content.to_vec();
                    if let Some(bytes) = self.received_early_data(bytes)? {
                        return Ok(Input::EarlyData(bytes));
                    }
                }
                _ => return Err(PeerError::UnexpectedRecord.into()),
            }
        }
    }

    /// Returns a message, which the tap sees before the coroutine.
    #[inline(always)]
    fn received_message(&self, message: Message) -> Input {
        self.tap(|tap| tap.received(ContentType::HANDSHAKE, message.bytes()));
        Input::Message(message)
    }

    /// Counts early data. More early data than allowed is an error. RFC 9846 4.3.10
    fn received_early_data(&mut self, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        if !self.joiner.is_empty() {
            return Err(PeerError::InterruptedHandshakeMessage.into());
        }
        let left = self.early_data_left.unwrap_or_default().checked_sub(bytes.len());
        self.early_data_left = Some(left.ok_or(PeerError::TooMuchEarlyData)?);
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    fn received_alert(&mut self, content: &[u8]) -> Result<(), Error> {
        self.tap(|tap| tap.received(ContentType::ALERT, content));
        let version = self.version.unwrap_or(ProtocolVersion::TLS1_2);
        let (level, description) = post_handshake::read_alert(content, version)?;
        if description == AlertDescription::CLOSE_NOTIFY {
            return Err(Error::ClosedInHandshake);
        }
        let warnings = &mut self.warnings_in_a_row;
        post_handshake::check_ignorable(level, description, version, warnings)
            .inspect_err(|_| self.invalidate_session())?;
        // A warning alert must not interrupt a message, either. RFC 9846 5.1
        if self.joiner.is_empty() {
            Ok(())
        } else {
            Err(PeerError::InterruptedHandshakeMessage.into())
        }
    }

    /// Handles a change_cipher_spec, which is ignored in TLS 1.3. Returns whether a TLS 1.2
    /// handshake waits for it. RFC 9846 5
    fn received_change_cipher_spec(
        &mut self,
        wanted: Option<Wanted>,
        content: &[u8],
    ) -> Result<bool, Error> {
        if content != [1] {
            return Err(PeerError::BadChangeCipherSpec.into());
        }
        if !self.joiner.is_empty() {
            return Err(PeerError::InterruptedHandshakeMessage.into());
        }
        if wanted == Some(Wanted::ChangeCipherSpec) {
            self.tap(|tap| tap.received(ContentType::CHANGE_CIPHER_SPEC, content));
            return Ok(true);
        }
        if self.version != Some(ProtocolVersion::TLS1_3) {
            return Err(PeerError::UnexpectedRecord.into());
        }
        self.change_cipher_specs = self.change_cipher_specs.saturating_add(1);
        if self.change_cipher_specs > limits::MAX_CHANGE_CIPHER_SPECS {
            return Err(PeerError::TooManyChangeCipherSpecs.into());
        }
        Ok(false)
    }
}
