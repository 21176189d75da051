//! No events, without the feature `tracing`: an empty type, whose functions are compiled to
//! nothing.

use tercel_pki::{Refusal, ServerName};

use crate::connection::info::ConnectionInfo;
use crate::error::Error;
use crate::side::Side;

/// The events of one handshake, of which none is emitted.
pub(crate) struct Events;

#[allow(clippy::unused_self, reason = "the functions of the other implementation use it")]
impl Events {
    pub(crate) fn new(_: Side) -> Self {
        Self
    }

    pub(crate) fn client_started(&mut self, _: &ServerName<'_>) {}

    pub(crate) fn early_data_accepted(&mut self) {}

    pub(crate) fn done(&mut self, _: &ConnectionInfo) {}

    pub(crate) fn refused(&self, _: Error, _: Option<&Refusal>) {}
}
