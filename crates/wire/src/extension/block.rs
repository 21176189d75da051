//! An extension block as a sequence of types and unparsed bodies.
//!
//! Duplicates are refused here, of known and unknown types alike, in linear time.

use std::fmt;

use crate::code_points::ExtensionType;
use crate::error::DecodeError;
use crate::list::{Element, List};
use crate::reader::Reader;
use crate::unique::first_duplicate;
use crate::writer::Writer;

/// One extension with its body unparsed.
pub(crate) type RawExtension<'a> = (ExtensionType, &'a [u8]);

impl<'a> Element<'a> for RawExtension<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok((ExtensionType(reader.u16()?), reader.opaque16()?))
    }

    fn write(&self, w: &mut Writer<'_>) {
        w.extension(self.0, |w| w.bytes(self.1));
    }
}

/// The extensions of a received message in the order received; empty for a message that is being
/// built.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ExtensionBlock<'a>(List<'a, RawExtension<'a>>);

impl<'a> ExtensionBlock<'a> {
    /// Parses a block and refuses duplicates. RFC 9846 4.3, RFC 5246 7.4.1.4
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::of(List::from_bytes(bytes)?)
    }

    /// Refuses duplicates.
    pub(crate) fn of(list: List<'a, RawExtension<'a>>) -> Result<Self, DecodeError> {
        match first_duplicate(list.iter().map(|(extension_type, _)| extension_type.0)) {
            Some(twice) => Err(DecodeError::DuplicateExtension(ExtensionType(twice))),
            None => Ok(Self(list)),
        }
    }

    /// Parses a block that this library built. Such a block has no duplicates.
    pub(crate) fn own(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        List::from_bytes(bytes).map(Self)
    }

    /// Types and bodies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ExtensionType, &'a [u8])> + Clone + use<'a> {
        self.0.iter()
    }

    /// The types, in order.
    pub fn types(&self) -> impl Iterator<Item = ExtensionType> + Clone + use<'a> {
        self.iter().map(|(extension_type, _)| extension_type)
    }

    /// Whether the block has an extension of this type.
    #[must_use]
    pub fn contains(&self, extension_type: ExtensionType) -> bool {
        self.types().any(|each| each == extension_type)
    }
}

impl fmt::Debug for ExtensionBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.types()).finish()
    }
}

/// Those extensions of a message that have no field in the message's struct.
#[derive(Clone, Copy, Default)]
pub struct UnknownExtensions<'a> {
    all: List<'a, RawExtension<'a>>,
    known: &'static [ExtensionType],
}

impl<'a> UnknownExtensions<'a> {
    /// Creates a list of additional extensions to send.
    #[must_use]
    pub const fn new(extensions: &'a [(ExtensionType, &'a [u8])]) -> Self {
        Self { all: List::new(extensions), known: &[] }
    }

    pub(crate) const fn received(
        block: ExtensionBlock<'a>,
        known: &'static [ExtensionType],
    ) -> Self {
        Self { all: block.0, known }
    }

    /// Types and bodies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ExtensionType, &'a [u8])> + Clone + use<'a> {
        let known = self.known;
        self.all.iter().filter(move |(extension_type, _)| !known.contains(extension_type))
    }

    /// The number of extensions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        self.iter().for_each(|extension| extension.write(w));
    }
}

impl PartialEq for UnknownExtensions<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for UnknownExtensions<'_> {}

impl fmt::Debug for UnknownExtensions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(extension_type, _)| extension_type)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(types: impl Iterator<Item = u16>) -> Vec<u8> {
        types.flat_map(|t| [t.to_be_bytes(), [0, 0]].concat()).collect()
    }

    /// RFC 5246 7.4.1.4
    #[test]
    fn a_type_may_appear_only_once_known_or_not() {
        for twice in [0, 43, 0x0a0a, 0x1234] {
            let bytes = block([twice, 5, twice].into_iter());
            assert_eq!(
                ExtensionBlock::parse(&bytes),
                Err(DecodeError::DuplicateExtension(ExtensionType(twice)))
            );
        }
    }

    #[test]
    fn sixteen_thousand_extensions_are_read_and_their_duplicate_found() {
        let distinct = block(1000..17000);
        assert_eq!(ExtensionBlock::parse(&distinct).unwrap().types().count(), 16000);
        let twice = block((1000..16999).chain([1000]));
        assert_eq!(
            ExtensionBlock::parse(&twice),
            Err(DecodeError::DuplicateExtension(ExtensionType(1000)))
        );
    }

    #[test]
    fn an_extension_that_reaches_beyond_the_block_is_refused() {
        assert_eq!(ExtensionBlock::parse(&[0, 1, 0, 1]), Err(DecodeError::Truncated));
    }
}
