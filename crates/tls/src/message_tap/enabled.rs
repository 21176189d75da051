//! The tap with the feature `message-tap`.

use std::sync::{Arc, OnceLock};

use tercel_wire::{AlertDescription, AlertLevel, ContentType};

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// This side sent the message.
    Sent,
    /// The peer sent the message.
    Received,
}

/// A receiver of a connection's protocol messages.
///
/// A message is seen when it is written to the output, or before it is processed. So a received
/// message may be one that is then refused, and a sent message may be one that the caller does
/// not send, because of a later error.
pub trait MessageTap: Send + Sync {
    /// Sees one message in plaintext.
    ///
    /// For [`ContentType::HANDSHAKE`], `content` is one message with its header, however many
    /// records contain it; for [`ContentType::ALERT`], it is the level and the description; for
    /// [`ContentType::CHANGE_CIPHER_SPEC`], one byte. A change_cipher_spec that is received in
    /// TLS 1.3 is not seen. Messages may contain secrets, such as a session's ticket.
    fn message(&self, direction: Direction, content_type: ContentType, content: &[u8]);
}

/// The tap of a connection, if there is one.
#[derive(Clone, Default)]
pub(crate) struct TapCell(OnceLock<Arc<dyn MessageTap>>);

impl TapCell {
    /// Sets the tap. Only the first call has an effect.
    pub(crate) fn set(&self, tap: Arc<dyn MessageTap>) {
        _ = self.0.set(tap);
    }

    pub(crate) fn sent(&self, content_type: ContentType, content: &[u8]) {
        self.see(Direction::Sent, content_type, content);
    }

    pub(crate) fn received(&self, content_type: ContentType, content: &[u8]) {
        self.see(Direction::Received, content_type, content);
    }

    pub(crate) fn sent_alert(&self, level: AlertLevel, description: AlertDescription) {
        self.sent(ContentType::ALERT, &[level.0, description.0]);
    }

    /// Sees messages that were sent at once.
    pub(crate) fn sent_messages(&self, mut messages: &[u8]) {
        while let Some([_, a, b, c]) = messages.first_chunk() {
            let length = usize::try_from(u32::from_be_bytes([0, *a, *b, *c])).unwrap_or(0);
            let end = length.saturating_add(4);
            let Some((message, rest)) = messages.split_at_checked(end) else { return };
            self.sent(ContentType::HANDSHAKE, message);
            messages = rest;
        }
    }

    fn see(&self, direction: Direction, content_type: ContentType, content: &[u8]) {
        if let Some(tap) = self.0.get() {
            tap.message(direction, content_type, content);
        }
    }
}
