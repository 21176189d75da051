//! The versions that a configuration enables.

use tercel::wire::ProtocolVersion;

use crate::error::{Kind, Result};
use crate::protocol::Protocol;

/// Returns the versions between a minimum and a maximum.
pub(crate) fn versions(
    min: Option<Protocol>,
    max: Option<Protocol>,
) -> Result<&'static [ProtocolVersion]> {
    const BOTH: &[ProtocolVersion] = &[ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2];
    match (min, max) {
        (_, Some(max @ (Protocol::Sslv3 | Protocol::Tlsv10 | Protocol::Tlsv11))) => {
            Err(Kind::TooOld(max).into())
        }
        (Some(min @ Protocol::Tlsv13), Some(max @ Protocol::Tlsv12)) => {
            Err(Kind::NoVersion { min, max }.into())
        }
        (Some(Protocol::Tlsv13), _) => Ok(&[ProtocolVersion::TLS1_3]),
        (_, Some(Protocol::Tlsv12)) => Ok(&[ProtocolVersion::TLS1_2]),
        (_, Some(Protocol::Tlsv13) | None) => Ok(BOTH),
    }
}
