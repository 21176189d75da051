//! Codecs for extension bodies that need no file of their own: empty bodies, and bodies that are
//! not parsed.

/// An extension with an empty body.
pub(super) mod empty {
    use crate::error::DecodeError;
    use crate::reader::Reader;
    use crate::writer::Writer;

    #[allow(clippy::unnecessary_wraps, reason = "the signature of every codec")]
    pub(in crate::extension) const fn read(_: &mut Reader<'_>) -> Result<(), DecodeError> {
        Ok(()) // the caller refuses trailing bytes
    }

    pub(in crate::extension) const fn write((): &(), _: &mut Writer<'_>) {}
}

/// An extension whose body is not parsed here.
pub(super) mod raw {
    use crate::error::DecodeError;
    use crate::reader::Reader;
    use crate::writer::Writer;

    #[allow(clippy::unnecessary_wraps, reason = "the signature of every codec")]
    pub(in crate::extension) const fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<&'a [u8], DecodeError> {
        Ok(reader.rest())
    }

    pub(in crate::extension) fn write(bytes: &&[u8], w: &mut Writer<'_>) {
        w.bytes(bytes);
    }
}
