//! Bodies that need no file of their own: nothing at all, and bytes that are not opened here.
//!
//! Next: `sets`, where they are used.

/// An extension that says everything by being there.
pub(super) mod empty {
    use crate::{DecodeError, Reader, Writer};

    #[allow(clippy::unnecessary_wraps, reason = "the shape of every codec")]
    pub(in crate::extension) const fn read(_: &mut Reader<'_>) -> Result<(), DecodeError> {
        Ok(()) // the caller refuses what is left over
    }

    pub(in crate::extension) const fn write((): &(), _: &mut Writer<'_>) {}
}

/// An extension whose body belongs to somebody else.
pub(super) mod raw {
    use crate::{DecodeError, Reader, Writer};

    #[allow(clippy::unnecessary_wraps, reason = "the shape of every codec")]
    pub(in crate::extension) const fn read<'a>(
        reader: &mut Reader<'a>,
    ) -> Result<&'a [u8], DecodeError> {
        Ok(reader.rest())
    }

    pub(in crate::extension) fn write(bytes: &&[u8], w: &mut Writer<'_>) {
        w.bytes(bytes);
    }
}
