//! supported_versions: the client's versions and the server's selection. RFC 9846 4.3.1

/// The versions that a client supports, best first.
pub(super) mod client {
    use crate::code_points::ProtocolVersion;
    use crate::error::DecodeError;
    use crate::list::List;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<List<'a, ProtocolVersion>, DecodeError> {
        List::read8(reader)?.not_empty()
    }

    pub(in crate::extension) fn write(versions: &List<'_, ProtocolVersion>, w: &mut Writer<'_>) {
        versions.write8(w);
    }
}

/// The version that the server selected.
pub(super) mod server {
    use crate::code_points::ProtocolVersion;
    use crate::error::DecodeError;
    use crate::list::Element;
    use crate::reader::Reader;
    use crate::writer::Writer;

    pub(in crate::extension) fn read(
        reader: &mut Reader<'_>,
    ) -> Result<ProtocolVersion, DecodeError> {
        ProtocolVersion::read(reader)
    }

    pub(in crate::extension) fn write(selected_version: &ProtocolVersion, w: &mut Writer<'_>) {
        selected_version.write(w);
    }
}

#[cfg(test)]
mod tests {
    use crate::{DecodeError, ProtocolVersion, Reader};

    #[test]
    fn a_client_lists_versions_and_a_server_picks_one() {
        assert_eq!(Reader::parse_all(&[0], super::client::read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::parse_all(&[1, 3], super::client::read), Err(DecodeError::Truncated));
        assert_eq!(Reader::parse_all(&[3, 4], super::server::read), Ok(ProtocolVersion::TLS1_3));
        assert_eq!(
            Reader::parse_all(&[3, 4, 0], super::server::read),
            Err(DecodeError::TrailingData)
        );
    }
}
