//! CertificateRequest of TLS 1.2. RFC 5246 7.4.4

use super::message;
use crate::code_points::{ClientCertificateType, SignatureScheme};
use crate::extension::DistinguishedName;
use crate::list::List;
use crate::structure::{Vector, structure};

structure! {
    /// A request for the client's certificate.
    CertificateRequestTls12 {
        /// The accepted certificate types; at least one.
        certificate_types: List<'a, ClientCertificateType> as Vector<1, 1>,
        /// The accepted signature schemes; at least one.
        supported_signature_algorithms: List<'a, SignatureScheme> as Vector<2, 1>,
        /// The accepted authorities; an empty list accepts any.
        certificate_authorities: List<'a, DistinguishedName<'a>> as Vector<2, 0>,
    }
}
message! { CertificateRequestTls12<'a> = CERTIFICATE_REQUEST }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DecodeError, HandshakeMessage};

    #[test]
    fn types_and_algorithms_are_required_and_authorities_are_optional() {
        assert!(CertificateRequestTls12::parse(&[1, 64, 0, 2, 4, 3, 0, 0]).is_ok());
        for (body, error) in [
            (&[0, 0, 2, 4, 3, 0, 0][..], DecodeError::EmptyList),
            (&[1, 64, 0, 0, 0, 0], DecodeError::EmptyList),
            (&[1, 64, 0, 1, 4, 0, 0], DecodeError::Truncated),
            (&[1, 64, 0, 2, 4, 3, 0, 2, 0, 0], DecodeError::InvalidLength),
        ] {
            assert_eq!(CertificateRequestTls12::parse(body), Err(error));
        }
    }
}
