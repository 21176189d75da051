//! ClientKeyExchange of TLS 1.2, with elliptic curves only. RFC 8422 5.7
//!
//! The key exchange checks whether the point is on the curve.

use super::message;
use crate::structure::{Vector, structure};

structure! {
    /// The client's public ECDHE point.
    ClientKeyExchange {
        /// The public point; never empty.
        ecdh_public: &'a [u8] as Vector<1, 1>,
    }
}
message! { ClientKeyExchange<'a> = CLIENT_KEY_EXCHANGE }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    /// RFC 8422 5.7
    #[test]
    fn an_empty_point_is_refused() {
        assert_eq!(ClientKeyExchange::parse(&[0]), Err(DecodeError::InvalidLength));
        assert_eq!(ClientKeyExchange::parse(&[1, 4, 4]), Err(DecodeError::TrailingData));
    }
}
