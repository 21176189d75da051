//! client_certificate_type and server_certificate_type: X.509 or a raw public key. RFC 7250 3
//!
//! Which of them is acceptable is for the protocol. Next: the Certificate message.

/// What a client can give or check, best first.
pub(super) mod client {
    use crate::{CertificateType, DecodeError, List, Reader, Writer};

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<List<'a, CertificateType>, DecodeError> {
        List::read8(reader)?.not_empty()
    }

    pub(in crate::extension) fn write(types: &List<'_, CertificateType>, w: &mut Writer<'_>) {
        types.write8(w);
    }
}

/// What the server chose.
pub(super) mod server {
    use crate::{CertificateType, DecodeError, Element, Reader, Writer};

    pub(in crate::extension) fn read(
        reader: &mut Reader<'_>,
    ) -> Result<CertificateType, DecodeError> {
        CertificateType::read(reader)
    }

    pub(in crate::extension) fn write(chosen: &CertificateType, w: &mut Writer<'_>) {
        chosen.write(w);
    }
}

#[cfg(test)]
mod tests {
    use crate::{CertificateType, DecodeError, Reader};

    #[test]
    fn an_offer_is_a_list_and_an_answer_is_one() {
        assert_eq!(Reader::all(&[0], super::client::read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::all(&[2], super::server::read), Ok(CertificateType::RAW_PUBLIC_KEY));
        assert_eq!(Reader::all(&[1, 2], super::server::read), Err(DecodeError::TrailingData));
    }
}
