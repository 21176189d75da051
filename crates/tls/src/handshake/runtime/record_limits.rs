//! Record size limits, from record_size_limit and the configuration. RFC 8449 4

use crate::config::common::Common;
use crate::error::{Error, PeerError};
use crate::record::limits;

/// The record size limits of the receiver and of the sender. `None` leaves the limit unchanged.
#[derive(Clone, Copy)]
pub(crate) struct RecordLimits {
    pub(crate) read: Option<u16>,
    pub(crate) write: u16,
}

/// Returns the limits in TLS 1.3, which include the content type. `theirs` limits sent records,
/// `ours` limits received records.
pub(crate) fn tls13(common: &Common, theirs: Option<u16>, ours: Option<u16>) -> RecordLimits {
    let plaintext = |limit: u16| limit.saturating_sub(1);
    tls12(common, theirs.map(plaintext), ours.map(plaintext))
}

/// Returns the limits in TLS 1.2, which count plaintext only.
pub(crate) fn tls12(common: &Common, theirs: Option<u16>, ours: Option<u16>) -> RecordLimits {
    let write = theirs.map_or(common.max_fragment, |limit| limit.min(common.max_fragment));
    RecordLimits { read: ours, write }
}

/// Refuses a limit below 64. A limit above the version's maximum is not an error. RFC 8449 4
pub(crate) fn check(limit: Option<u16>) -> Result<(), Error> {
    if limit.is_some_and(|limit| limit < limits::MIN_RECORD_SIZE_LIMIT) {
        return Err(PeerError::IllegalParameter.into());
    }
    Ok(())
}

/// Returns the configuration's limit for sent records, which applies from the first record on. The
/// peer's limit is only known once the peer's extensions arrive.
pub(crate) fn first_limit(common: &Common) -> RecordLimits {
    RecordLimits { read: None, write: common.max_fragment }
}
