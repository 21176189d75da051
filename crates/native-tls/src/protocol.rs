//! The names of protocol versions.

/// A protocol version.
///
/// Tercel implements TLS 1.2 and TLS 1.3. An older version has a meaning only as a minimum, where
/// it stands for TLS 1.2.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Protocol {
    /// SSL 3.0, which is insecure and not implemented. RFC 7568
    Sslv3,
    /// TLS 1.0, which is deprecated and not implemented. RFC 8996
    Tlsv10,
    /// TLS 1.1, which is deprecated and not implemented. RFC 8996
    Tlsv11,
    /// TLS 1.2.
    Tlsv12,
    /// TLS 1.3.
    Tlsv13,
}
