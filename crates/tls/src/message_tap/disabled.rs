//! No tap, without the feature `message-tap`: an empty type, whose functions are compiled to
//! nothing.

use tercel_wire::{AlertDescription, AlertLevel, ContentType};

/// The tap of a connection, which does not exist.
#[derive(Clone, Default)]
pub(crate) struct TapCell;

#[allow(clippy::unused_self, reason = "the functions of the other implementation use it")]
impl TapCell {
    #[inline(always)]
    pub(crate) fn sent(&self, _: ContentType, _: &[u8]) {}

    #[inline(always)]
    pub(crate) fn received(&self, _: ContentType, _: &[u8]) {}

    #[inline(always)]
    pub(crate) fn sent_alert(&self, _: AlertLevel, _: AlertDescription) {}

    #[inline(always)]
    pub(crate) fn sent_messages(&self, _: &[u8]) {}
}
