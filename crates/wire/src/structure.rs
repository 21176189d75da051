//! Structures of the presentation language: each is a table of its fields and their encodings,
//! from which both reading and writing follow. RFC 9846 3

use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::writer::Writer;

/// An encoding of values of the type `T`.
pub(crate) trait Encoding<'a, T> {
    /// Reads one value and advances the reader past it.
    fn read(reader: &mut Reader<'a>) -> Result<T, DecodeError>;

    /// Writes one value.
    fn write(value: &T, w: &mut Writer<'_>);
}

/// An element of a list has one encoding, which needs no name in a table.
impl<'a, T: Element<'a>> Encoding<'a, T> for T {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<T, DecodeError> {
        <T as Element<'a>>::read(reader)
    }

    #[inline]
    fn write(value: &T, w: &mut Writer<'_>) {
        Element::write(value, w);
    }
}

/// A vector with a length of `WIDTH` bytes and at least `MINIMUM` bytes of contents. The minimum of
/// a list is 0, or 1 if it must not be empty. RFC 9846 3
pub(crate) struct Vector<const WIDTH: usize, const MINIMUM: usize>;

impl<'a, const WIDTH: usize, const MINIMUM: usize> Encoding<'a, &'a [u8]>
    for Vector<WIDTH, MINIMUM>
{
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        let bytes = reader.opaque(WIDTH)?;
        if bytes.len() < MINIMUM { Err(DecodeError::InvalidLength) } else { Ok(bytes) }
    }

    #[inline]
    fn write(bytes: &&'a [u8], w: &mut Writer<'_>) {
        w.prefixed(WIDTH, |w| w.bytes(bytes));
    }
}

impl<'a, T: Element<'a>, const WIDTH: usize, const MINIMUM: usize> Encoding<'a, List<'a, T>>
    for Vector<WIDTH, MINIMUM>
{
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<List<'a, T>, DecodeError> {
        let list = List::from_bytes(reader.opaque(WIDTH)?)?;
        if MINIMUM > 0 { list.not_empty() } else { Ok(list) }
    }

    #[inline]
    fn write(list: &List<'a, T>, w: &mut Writer<'_>) {
        w.prefixed(WIDTH, |w| list.write(w));
    }
}

/// An integer of three bytes.
pub(crate) struct U24;

impl Encoding<'_, u32> for U24 {
    fn read(reader: &mut Reader<'_>) -> Result<u32, DecodeError> {
        reader.u24()
    }

    fn write(value: &u32, w: &mut Writer<'_>) {
        w.u24(*value);
    }
}

/// Nothing: an extension that is only present or absent.
pub(crate) struct Empty;

impl Encoding<'_, ()> for Empty {
    fn read(_: &mut Reader<'_>) -> Result<(), DecodeError> {
        Ok(()) // the caller refuses trailing bytes
    }

    fn write((): &(), _: &mut Writer<'_>) {}
}

/// All bytes to the end of the message or extension.
pub(crate) struct Rest;

impl<'a> Encoding<'a, &'a [u8]> for Rest {
    fn read(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        Ok(reader.rest())
    }

    fn write(bytes: &&'a [u8], w: &mut Writer<'_>) {
        w.bytes(bytes);
    }
}

/// Defines a structure with the lifetime `'a` from a table of `field: Type as Encoding`, where an
/// element needs no encoding. A structure of one field without a name is written
/// `Structure(Type as Encoding)`.
macro_rules! structure {
    ($(#[$meta:meta])* $Structure:ident { $(
        $(#[$doc:meta])* $field:ident: $Type:ty $(as $Encoding:ty)?,
    )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Structure<'a> {
            $($(#[$doc])* pub $field: $Type,)*
        }

        impl<'a> $crate::Element<'a> for $Structure<'a> {
            #[inline]
            fn read(reader: &mut $crate::Reader<'a>) -> Result<Self, $crate::DecodeError> {
                Ok(Self {
                    $($field: $crate::structure::encoding!(read, $Type $(, $Encoding)?)(reader)?,)*
                })
            }

            fn write(&self, w: &mut $crate::Writer<'_>) {
                $($crate::structure::encoding!(write, $Type $(, $Encoding)?)(&self.$field, w);)*
            }
        }
    };
    ($(#[$meta:meta])* $Structure:ident($Type:ty as $Encoding:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Structure<'a>(pub $Type);

        impl<'a> $crate::Element<'a> for $Structure<'a> {
            fn read(reader: &mut $crate::Reader<'a>) -> Result<Self, $crate::DecodeError> {
                $crate::structure::encoding!(read, $Type, $Encoding)(reader).map(Self)
            }

            fn write(&self, w: &mut $crate::Writer<'_>) {
                $crate::structure::encoding!(write, $Type, $Encoding)(&self.0, w);
            }
        }
    };
}
pub(crate) use structure;

/// The function `read` or `write` of a type's encoding: the named one, else the type's own.
macro_rules! encoding {
    ($function:ident, $Type:ty) => {
        <$Type as $crate::structure::Encoding<'_, $Type>>::$function
    };
    ($function:ident, $Type:ty, $Encoding:ty) => {
        <$Encoding as $crate::structure::Encoding<'_, $Type>>::$function
    };
}
pub(crate) use encoding;
