//! Certificate of TLS 1.2: a chain. RFC 5246 7.4.2
//!
//! Certificates are DER and are not parsed here.

use super::message;
use crate::error::EncodeError;
use crate::handshake::HandshakeMessage;
use crate::list::List;
use crate::structure::{Vector, structure};
use crate::writer::Writer;

structure! {
    /// A chain of certificates, the end-entity certificate first.
    CertificateTls12 {
        /// The chain; empty if a client has no certificate.
        certificate_list: List<'a, Asn1Cert<'a>> as Vector<3, 0>,
    }
}
message! { CertificateTls12<'a> = CERTIFICATE }

impl<'a> CertificateTls12<'a> {
    /// The certificates in DER, none of them empty.
    pub fn certificates(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.certificate_list.iter().map(|certificate| certificate.0)
    }

    /// Appends the message for this chain.
    pub fn encode_chain(chain: &[impl AsRef<[u8]>], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let mut w = Writer::new(out);
        w.handshake(Self::TYPE, |w| {
            w.vec24(|w| chain.iter().for_each(|certificate| w.opaque24(certificate.as_ref())));
        });
        w.finish()
    }
}

structure! {
    /// A certificate in DER; never empty.
    Asn1Cert(&'a [u8] as Vector<3, 1>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DecodeError;

    #[test]
    fn a_chain_may_be_empty_but_no_certificate_is() {
        assert!(CertificateTls12::parse(&[0, 0, 0]).unwrap().certificate_list.is_empty());
        assert_eq!(CertificateTls12::parse(&[0, 0, 3, 0, 0, 0]), Err(DecodeError::InvalidLength));
    }

    #[test]
    fn a_chain_is_written_in_order() {
        let mut out = Vec::new();
        CertificateTls12::encode_chain(&[b"leaf".to_vec(), b"ca".to_vec()], &mut out).unwrap();
        assert!(
            CertificateTls12::parse(&out[4..]).unwrap().certificates().eq([&b"leaf"[..], b"ca"])
        );
    }
}
