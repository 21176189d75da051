//! The wire format of an alert: two bytes.
//!
//! The connection decides when an alert is sent, and whether it ends the connection.

use crate::code_points::{AlertDescription, AlertLevel};
use crate::error::DecodeError;
use crate::reader::Reader;

/// An alert. RFC 9846 6
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The severity: warning or fatal. TLS 1.3 ignores the severity and uses only the description.
    pub level: AlertLevel,
    /// The reason for the alert.
    pub description: AlertDescription,
}

impl Alert {
    /// A fatal alert.
    #[must_use]
    pub const fn fatal(description: AlertDescription) -> Self {
        Self { level: AlertLevel::FATAL, description }
    }

    /// A warning, the level of close_notify and user_canceled.
    #[must_use]
    pub const fn warning(description: AlertDescription) -> Self {
        Self { level: AlertLevel::WARNING, description }
    }

    /// Parses the whole of an alert record: alerts are neither fragmented nor coalesced.
    /// RFC 9846 5.1
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::parse_all(bytes, |reader| {
            Ok(Self {
                level: AlertLevel(reader.u8()?),
                description: AlertDescription(reader.u8()?),
            })
        })
    }

    /// The alert as bytes.
    #[must_use]
    pub const fn encode(self) -> [u8; 2] {
        [self.level.0, self.description.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_two_bytes_both_ways() {
        let alert = Alert::parse(&[2, 117]).unwrap();
        assert_eq!(alert, Alert::fatal(AlertDescription::GENERAL_ERROR));
        assert_eq!(alert.encode(), [2, 117]);
        assert_eq!(Alert::warning(AlertDescription::CLOSE_NOTIFY).encode(), [1, 0]);
    }

    #[test]
    fn an_alert_of_another_length_is_refused() {
        assert_eq!(Alert::parse(&[2]), Err(DecodeError::Truncated));
        assert_eq!(Alert::parse(&[2, 40, 2]), Err(DecodeError::TrailingData));
    }
}
