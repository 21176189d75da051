//! Certificate of TLS 1.2: a chain. RFC 5246 7.4.2
//!
//! Certificates are DER and are not parsed here.

use crate::code_points::HandshakeType;
use crate::error::{DecodeError, EncodeError};
use crate::handshake::HandshakeMessage;
use crate::list::{Element, List};
use crate::reader::{Reader, not_empty};
use crate::writer::Writer;

/// A chain of certificates, the end-entity certificate first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateTls12<'a> {
    /// The chain; empty if a client has no certificate.
    pub certificate_list: List<'a, Asn1Cert<'a>>,
}

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

impl<'a> HandshakeMessage<'a> for CertificateTls12<'a> {
    const TYPE: HandshakeType = HandshakeType::CERTIFICATE;

    fn read_body(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { certificate_list: List::read24(reader)? })
    }

    fn write_body(&self, w: &mut Writer<'_>) {
        self.certificate_list.write24(w);
    }
}

/// A certificate in DER; never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asn1Cert<'a>(pub &'a [u8]);

impl<'a> Element<'a> for Asn1Cert<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(not_empty(reader.opaque24()?)?))
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.opaque24(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
