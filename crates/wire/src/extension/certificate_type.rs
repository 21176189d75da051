//! client_certificate_type and server_certificate_type: X.509 or a raw public key. RFC 7250 3

/// The types that a client can present or verify, best first.
pub(super) mod client {
    use crate::code_points::CertificateType;
    use crate::error::DecodeError;
    use crate::list::List;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<List<'a, CertificateType>, DecodeError> {
        List::read8(reader)?.not_empty()
    }

    pub(in crate::extension) fn write(types: &List<'_, CertificateType>, w: &mut Writer<'_>) {
        types.write8(w);
    }
}

/// The type that the server selected.
pub(super) mod server {
    use crate::code_points::CertificateType;
    use crate::error::DecodeError;
    use crate::list::Element;
    use crate::reader::Reader;
    use crate::writer::Writer;

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

    /// RFC 7250 3
    #[test]
    fn a_client_sends_a_list_and_a_server_one_type() {
        assert_eq!(Reader::parse_all(&[0], super::client::read), Err(DecodeError::EmptyList));
        assert_eq!(
            Reader::parse_all(&[2], super::server::read),
            Ok(CertificateType::RAW_PUBLIC_KEY)
        );
        assert_eq!(Reader::parse_all(&[1, 2], super::server::read), Err(DecodeError::TrailingData));
    }
}
