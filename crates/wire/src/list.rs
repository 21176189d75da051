//! Lists of one kind of entry, borrowed, checked once, then read without errors.
//!
//! It knows no entry: each type says itself how it is read and written ([`Element`]).
//! Next: the extensions, most of which are lists.

use std::fmt;

use crate::{DecodeError, Reader, Writer};

/// Something that stands in a list.
pub trait Element<'a>: Copy {
    /// Reads one entry and leaves the reader behind it.
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Writes one entry.
    fn write(&self, w: &mut Writer<'_>);
}

/// A borrowed list: either received bytes that were found well-formed, or a slice that is to be sent.
///
/// Both read alike, so that a message has one type whether it was parsed or is being built.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Form<'a, T>);

#[derive(Clone, Copy)]
enum Form<'a, T> {
    /// Every entry in here has been read once, so reading it again cannot fail.
    Received(&'a [u8]),
    Built(&'a [T]),
}

impl<'a, T> List<'a, T> {
    /// The list of these entries.
    #[must_use]
    pub const fn of(entries: &'a [T]) -> Self {
        Self(Form::Built(entries))
    }

    /// Whether there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self.0 {
            Form::Received(bytes) => bytes.is_empty(),
            Form::Built(entries) => entries.is_empty(),
        }
    }
}

impl<'a, T: Element<'a>> List<'a, T> {
    /// Reads `bytes` to their end as entries; what is not one is refused here, not later.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            T::read(&mut reader)?;
        }
        Ok(Self(Form::Received(bytes)))
    }

    /// A list after its length in one byte.
    pub fn read8(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::from_bytes(reader.opaque8()?)
    }

    /// A list after its length in two bytes.
    pub fn read16(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::from_bytes(reader.opaque16()?)
    }

    /// A list after its length in three bytes.
    pub fn read24(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::from_bytes(reader.opaque24()?)
    }

    /// Refuses the empty list.
    pub const fn not_empty(self) -> Result<Self, DecodeError> {
        if self.is_empty() { Err(DecodeError::EmptyList) } else { Ok(self) }
    }

    /// The entries, in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'a, T> {
        Iter(match self.0 {
            Form::Received(bytes) => Cursor::Received(Reader::new(bytes)),
            Form::Built(entries) => Cursor::Built(entries.iter()),
        })
    }

    /// How many entries there are; received entries are walked to count them.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.0 {
            Form::Received(_) => self.iter().count(),
            Form::Built(entries) => entries.len(),
        }
    }

    /// The first entry.
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

    /// Writes the entries without a length.
    pub fn write(&self, w: &mut Writer<'_>) {
        match self.0 {
            Form::Received(bytes) => w.bytes(bytes),
            Form::Built(entries) => entries.iter().for_each(|entry| entry.write(w)),
        }
    }

    /// Writes the list after its length in one byte.
    pub fn write8(&self, w: &mut Writer<'_>) {
        w.vec8(|w| self.write(w));
    }

    /// Writes the list after its length in two bytes.
    pub fn write16(&self, w: &mut Writer<'_>) {
        w.vec16(|w| self.write(w));
    }

    /// Writes the list after its length in three bytes.
    pub fn write24(&self, w: &mut Writer<'_>) {
        w.vec24(|w| self.write(w));
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self::of(&[])
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

/// The entries of a [`List`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T>(Cursor<'a, T>);

#[derive(Clone, Debug)]
enum Cursor<'a, T> {
    Received(Reader<'a>),
    Built(std::slice::Iter<'a, T>),
}

impl<'a, T: Element<'a>> Iterator for Iter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            // An error here is the end: `from_bytes` has read every entry.
            Cursor::Received(reader) => T::read(reader).ok(),
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
        assert_eq!(received, List::of(&built));
        assert_eq!(received.len(), 2);
        assert_eq!(received.first(), Some(NamedGroup::X25519));
        assert!(received.contains(NamedGroup::SECP256R1));
        assert!(!received.contains(NamedGroup::X448));
    }

    #[test]
    fn half_an_entry_is_refused_at_once() {
        assert_eq!(List::<NamedGroup>::from_bytes(&[0, 0x1d, 0]), Err(DecodeError::Truncated));
    }

    #[test]
    fn emptiness_is_refused_only_where_asked() {
        let empty = List::<NamedGroup>::from_bytes(&[]).unwrap();
        assert!(empty.is_empty());
        assert_eq!(empty.not_empty(), Err(DecodeError::EmptyList));
    }
}
