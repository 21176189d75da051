//! Certificate of TLS 1.3: a chain with extensions for each certificate. RFC 9846 4.5.1
//!
//! Certificates are DER and are not parsed here.

use super::message;
use crate::error::EncodeError;
use crate::extension::CertificateEntryExtensions;
use crate::handshake::HandshakeMessage;
use crate::list::{Element, List};
use crate::structure::{Vector, structure};
use crate::writer::Writer;

structure! {
    /// A chain of certificates, the end-entity certificate first.
    Certificate {
        /// The context of the request; empty in a server's message.
        certificate_request_context: &'a [u8] as Vector<1, 0>,
        /// The chain; empty if a client has no certificate.
        certificate_list: List<'a, CertificateEntry<'a>> as Vector<3, 0>,
    }
}
message! { Certificate<'a> = CERTIFICATE }

impl<'a> Certificate<'a> {
    /// The certificates in DER, none of them empty.
    pub fn certificates(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.certificate_list.iter().map(|entry| entry.cert_data)
    }

    /// Appends a message with this chain, and these extensions on the chain's first certificate.
    pub fn encode_chain(
        certificate_request_context: &[u8],
        chain: &[impl AsRef<[u8]>],
        leaf_extensions: &CertificateEntryExtensions<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        w.handshake(Self::TYPE, |w| {
            w.opaque8(certificate_request_context);
            w.vec24(|w| {
                let mut extensions = *leaf_extensions;
                for certificate in chain {
                    CertificateEntry { cert_data: certificate.as_ref(), extensions }.write(w);
                    extensions = CertificateEntryExtensions::default();
                }
            });
        });
        w.finish()
    }
}

structure! {
    /// A certificate and its extensions.
    CertificateEntry {
        /// The certificate (or raw public key) in DER; never empty.
        cert_data: &'a [u8] as Vector<3, 1>,
        /// The extensions of this certificate.
        extensions: CertificateEntryExtensions<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DecodeError;
    use crate::{CertificateStatus, ExtensionType};

    #[test]
    fn a_chain_may_be_empty_but_no_certificate_is() {
        assert!(Certificate::parse(&[0, 0, 0, 0]).unwrap().certificate_list.is_empty());
        assert_eq!(
            Certificate::parse(&[0, 0, 0, 5, 0, 0, 0, 0, 0]),
            Err(DecodeError::InvalidLength)
        );
    }

    #[test]
    fn staples_go_to_the_first_certificate_only() {
        let staple = CertificateEntryExtensions {
            status_request: Some(CertificateStatus { ocsp_response: b"response" }),
            ..CertificateEntryExtensions::default()
        };
        let mut out = Vec::new();
        Certificate::encode_chain(b"ctx", &[b"leaf".to_vec(), b"ca".to_vec()], &staple, &mut out)
            .unwrap();
        let parsed = Certificate::parse(&out[4..]).unwrap();
        assert_eq!(parsed.certificate_request_context, b"ctx");
        assert!(parsed.certificates().eq([&b"leaf"[..], b"ca"]));
        let types: Vec<Vec<_>> =
            parsed.certificate_list.iter().map(|e| e.extensions.types().collect()).collect();
        assert_eq!(types, [vec![ExtensionType::STATUS_REQUEST], vec![]]);
    }

    #[test]
    fn a_wrong_extension_anywhere_in_the_chain_is_refused_at_once() {
        let good = [0, 0, 1, b'a', 0, 0];
        let twice = [0, 0, 1, b'b', 0, 8, 0, 99, 0, 0, 0, 99, 0, 0];
        let body = [&[0, 0, 0, 20][..], &good, &twice].concat();
        assert_eq!(
            Certificate::parse(&body),
            Err(DecodeError::DuplicateExtension(ExtensionType(99)))
        );
    }
}
