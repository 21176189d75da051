//! The two bytes of an alert.
//!
//! It knows the form only: what an alert ends, and when one is sent, is for the connection.
//! Next: RFC 9846 6, [`crate::AlertDescription`].

use crate::{AlertDescription, AlertLevel, DecodeError, Reader};

/// An alert. RFC 9846 6
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alert {
    /// warning or fatal; TLS 1.3 goes by the description instead.
    pub level: AlertLevel,
    /// What happened.
    pub description: AlertDescription,
}

impl Alert {
    /// A fatal alert.
    #[must_use]
    pub const fn fatal(description: AlertDescription) -> Self {
        Self { level: AlertLevel::FATAL, description }
    }

    /// A warning: close_notify and user_canceled are sent as such.
    #[must_use]
    pub const fn warning(description: AlertDescription) -> Self {
        Self { level: AlertLevel::WARNING, description }
    }

    /// Reads the whole of an alert record: alerts are neither split nor joined. RFC 9846 5.1
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        Reader::all(bytes, |reader| {
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
