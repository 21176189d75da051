//! What `record_size_limit` and the configuration make of the record sizes. RFC 8449 4
//!
//! Must not know: which message carried the extension. Next: `record/sealer.rs`, `record/opener.rs`.

use super::flow::Command;
use crate::config::common::Common;
use crate::error::{Error, Peer};
use crate::record::limits;

/// The receiver's and the sender's limits; `None` leaves what there is.
#[derive(Clone, Copy)]
pub(crate) struct RecordLimits {
    pub(crate) read: Option<u16>,
    pub(crate) write: Option<u16>,
}

impl From<RecordLimits> for Command {
    fn from(limits: RecordLimits) -> Self {
        Self::RecordLimits(limits)
    }
}

/// TLS 1.3: the limits count the content type. `theirs` bounds what we send, `ours` what they send.
pub(crate) fn tls13(common: &Common, theirs: Option<u16>, ours: Option<u16>) -> RecordLimits {
    let write = theirs
        .map_or(common.max_fragment, |limit| limit.saturating_sub(1).min(common.max_fragment));
    RecordLimits { read: ours.map(|limit| limit.saturating_sub(1)), write: Some(write) }
}

/// TLS 1.2: the limits count plaintext only.
pub(crate) fn tls12(common: &Common, theirs: Option<u16>, ours: Option<u16>) -> RecordLimits {
    let write = theirs.map_or(common.max_fragment, |limit| limit.min(common.max_fragment));
    RecordLimits { read: ours, write: Some(write) }
}

/// A limit below 64 is refused; one above what the version allows is no error. RFC 8449 4
pub(crate) fn check(limit: Option<u16>) -> Result<(), Error> {
    if limit.is_some_and(|limit| limit < limits::MIN_RECORD_SIZE_LIMIT) {
        return Err(Peer::IllegalParameter.into());
    }
    Ok(())
}
