//! supported_versions: the client's versions, the server's choice. RFC 9846 4.3.1
//!
//! Which are acceptable is for the protocol. Next: [`crate::ServerHello`].

/// What a client can do, best first.
pub(super) mod client {
    use crate::{DecodeError, List, ProtocolVersion, Reader, Writer};

    pub(in crate::extension) fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<List<'a, ProtocolVersion>, DecodeError> {
        List::read8(reader)?.not_empty()
    }

    pub(in crate::extension) fn write(versions: &List<'_, ProtocolVersion>, w: &mut Writer<'_>) {
        versions.write8(w);
    }
}

/// What the server chose.
pub(super) mod server {
    use crate::{DecodeError, Element, ProtocolVersion, Reader, Writer};

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
        assert_eq!(Reader::all(&[0], super::client::read), Err(DecodeError::EmptyList));
        assert_eq!(Reader::all(&[1, 3], super::client::read), Err(DecodeError::Truncated));
        assert_eq!(Reader::all(&[3, 4], super::server::read), Ok(ProtocolVersion::TLS1_3));
        assert_eq!(Reader::all(&[3, 4, 0], super::server::read), Err(DecodeError::TrailingData));
    }
}
