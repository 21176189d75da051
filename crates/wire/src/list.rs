//! Borrowed lists of one element type, checked once when parsed, so that reading them cannot fail
//! later.

use std::fmt;

use crate::code_points::{
    AlertDescription, AlertLevel, CertificateCompressionAlgorithm, CertificateStatusType,
    CertificateType, CipherSuite, ClientCertificateType, CompressionMethod, ContentType,
    EcCurveType, EcPointFormat, ExtensionType, HandshakeType, HpkeKem, KdfIdentifier,
    KeyUpdateRequest, NamedGroup, ProtocolVersion, PskKeyExchangeMode, ServerNameType,
    SignatureScheme,
};
use crate::error::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

/// A value with one encoding, such as an element of a [`List`].
pub trait Element<'a>: Copy {
    /// Reads one value and advances the reader past it.
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Writes one value.
    fn write(&self, w: &mut Writer<'_>);
}

macro_rules! integer_elements {
    ($($int:ident),*) => {$(
        impl Element<'_> for $int {
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.$int()
            }

            fn write(&self, w: &mut Writer<'_>) {
                w.$int(*self);
            }
        }
    )*};
}
integer_elements!(u8, u16, u32);

macro_rules! code_point_elements {
    ($int:ident: $($Type:ident),*) => {$(
        impl Element<'_> for $Type {
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.$int().map(Self)
            }

            fn write(&self, w: &mut Writer<'_>) {
                w.$int(self.0);
            }
        }
    )*};
}
code_point_elements!(u8: AlertDescription, AlertLevel, CertificateStatusType, CertificateType);
code_point_elements!(u8: ClientCertificateType, CompressionMethod, ContentType, EcCurveType);
code_point_elements!(u8: EcPointFormat, HandshakeType, KeyUpdateRequest, PskKeyExchangeMode);
code_point_elements!(u8: ServerNameType);
code_point_elements!(u16: CertificateCompressionAlgorithm, CipherSuite, ExtensionType);
code_point_elements!(u16: HpkeKem, KdfIdentifier, NamedGroup, ProtocolVersion, SignatureScheme);

/// A borrowed list: received bytes that were checked, or a slice to be sent.
///
/// Both are read in the same way, so a message has the same type whether it was received or is
/// being built.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Repr<'a, T>);

#[derive(Clone, Copy)]
enum Repr<'a, T> {
    /// Every element was read once when the list was made, so reading it again cannot fail.
    ReceiveBuffer(&'a [u8]),
    Built(&'a [T]),
}

impl<'a, T> List<'a, T> {
    /// A list of these elements.
    #[must_use]
    pub const fn new(entries: &'a [T]) -> Self {
        Self(Repr::Built(entries))
    }

    /// Whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self.0 {
            Repr::ReceiveBuffer(bytes) => bytes.is_empty(),
            Repr::Built(entries) => entries.is_empty(),
        }
    }
}

impl<'a, T: Element<'a>> List<'a, T> {
    /// Reads `bytes` to their end as elements; a malformed element is refused here, not later.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            T::read(&mut reader)?;
        }
        Ok(Self(Repr::ReceiveBuffer(bytes)))
    }

    /// Reads a list with a one-byte length prefix.
    pub fn read8(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::from_bytes(reader.opaque8()?)
    }

    /// Reads a list with a two-byte length prefix.
    pub fn read16(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::from_bytes(reader.opaque16()?)
    }

    /// Reads a list with a three-byte length prefix.
    pub fn read24(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::from_bytes(reader.opaque24()?)
    }

    /// Refuses an empty list.
    pub const fn not_empty(self) -> Result<Self, DecodeError> {
        if self.is_empty() { Err(DecodeError::EmptyList) } else { Ok(self) }
    }

    /// The elements, in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'a, T> {
        Iter(match self.0 {
            Repr::ReceiveBuffer(bytes) => Cursor::ReceiveBuffer(Reader::new(bytes)),
            Repr::Built(entries) => Cursor::Built(entries.iter()),
        })
    }

    /// The number of elements; received elements are walked to count them.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            Repr::ReceiveBuffer(_) => self.iter().count(),
            Repr::Built(entries) => entries.len(),
        }
    }

    /// The first element.
    #[must_use]
    pub fn first(&self) -> Option<T> {
        self.iter().next()
    }

    /// Whether `entry` is in the list.
    #[must_use]
    pub fn contains(&self, entry: T) -> bool
    where
        T: PartialEq,
    {
        self.iter().any(|each| each == entry)
    }

    /// Writes the elements without a length prefix.
    pub fn write(&self, w: &mut Writer<'_>) {
        match self.0 {
            Repr::ReceiveBuffer(bytes) => w.bytes(bytes),
            Repr::Built(entries) => entries.iter().for_each(|entry| entry.write(w)),
        }
    }

    /// Writes the list with a one-byte length prefix.
    pub fn write8(&self, w: &mut Writer<'_>) {
        w.vec8(|w| self.write(w));
    }

    /// Writes the list with a two-byte length prefix.
    pub fn write16(&self, w: &mut Writer<'_>) {
        w.vec16(|w| self.write(w));
    }

    /// Writes the list with a three-byte length prefix.
    pub fn write24(&self, w: &mut Writer<'_>) {
        w.vec24(|w| self.write(w));
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl<'a, T: Element<'a> + PartialEq> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Element<'a> + Eq> Eq for List<'a, T> {}

impl<'a, T: Element<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Element<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element<'a>> IntoIterator for &List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// An iterator over the elements of a [`List`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T>(Cursor<'a, T>);

#[derive(Clone, Debug)]
enum Cursor<'a, T> {
    ReceiveBuffer(Reader<'a>),
    Built(std::slice::Iter<'a, T>),
}

impl<'a, T: Element<'a>> Iterator for Iter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            // `from_bytes` has read every element, so an error means the end of the list.
            Cursor::ReceiveBuffer(reader) => T::read(reader).ok(),
            Cursor::Built(entries) => entries.next().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedGroup;

    #[test]
    fn a_received_list_equals_the_built_one() {
        let built = [NamedGroup::X25519, NamedGroup::SECP256R1];
        let received = List::<NamedGroup>::from_bytes(&[0, 0x1d, 0, 0x17]).unwrap();
        assert_eq!(received, List::new(&built));
        assert_eq!(received.len(), 2);
        assert_eq!(received.first(), Some(NamedGroup::X25519));
        assert!(received.contains(NamedGroup::SECP256R1));
        assert!(!received.contains(NamedGroup::X448));
    }

    #[test]
    fn a_truncated_element_is_refused_when_parsed() {
        assert_eq!(List::<NamedGroup>::from_bytes(&[0, 0x1d, 0]), Err(DecodeError::Truncated));
    }

    #[test]
    fn not_empty_refuses_an_empty_list() {
        let empty = List::<NamedGroup>::from_bytes(&[]).unwrap();
        assert!(empty.is_empty());
        assert_eq!(empty.not_empty(), Err(DecodeError::EmptyList));
    }
}
