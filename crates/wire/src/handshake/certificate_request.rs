//! CertificateRequest of TLS 1.3: the server requests client authentication. RFC 9846 4.4.2

use super::message;
use crate::extension::CertificateRequestExtensions;
use crate::structure::{Vector, structure};

structure! {
    /// A request for the client's certificate.
    CertificateRequest {
        /// The context to echo; empty in the handshake, unique after it.
        certificate_request_context: &'a [u8] as Vector<1, 0>,
        /// The requirements on the certificate; signature_algorithms is mandatory.
        extensions: CertificateRequestExtensions<'a>,
    }
}
message! { CertificateRequest<'a> = CERTIFICATE_REQUEST }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    #[test]
    fn request_extensions_are_empty() {
        assert!(CertificateRequest::parse(&[0, 0, 4, 0, 5, 0, 0]).is_ok());
        assert_eq!(
            CertificateRequest::parse(&[0, 0, 5, 0, 5, 0, 1, 1]),
            Err(DecodeError::TrailingData)
        );
    }
}
