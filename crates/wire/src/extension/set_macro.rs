//! Generates the struct of a message's extensions, with a field for each, and its encoding.
//!
//! A table for each message lists the message's extensions, and the encoding of each of them.

/// Defines the struct for one message's extensions from a table of `field: Type = EXTENSION_TYPE as
/// Encoding`, where an element needs no encoding, as in `structure!`.
macro_rules! extension_set {
    ($(#[$meta:meta])* $Set:ident { $(
        $(#[$doc:meta])* $field:ident: $Body:ty = $TYPE:ident $(as $Encoding:ty)?;
    )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $Set<'a> {
            $($(#[$doc])* pub $field: Option<$Body>,)*
            /// The extensions for which there is no field.
            pub unknown: UnknownExtensions<'a>,
            /// All extensions of a received message, in order. Empty if the message is to be sent:
            /// the encoder does not write this field.
            pub received: ExtensionBlock<'a>,
        }

        impl<'a> $Set<'a> {
            /// The types that have a field, in the order of encoding.
            pub(crate) const KNOWN: &'static [ExtensionType] = &[$(ExtensionType::$TYPE),*];

            /// Parses every known extension of a block (without the block's length).
            pub fn parse_block(bytes: &'a [u8]) -> Result<Self, DecodeError> {
                let mut set = Self::default();
                set.fill(bytes)?;
                Ok(set)
            }

            /// Parses a block into this empty set. The set is filled in place, because it is large
            /// and a return value would be copied.
            pub(crate) fn fill(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
                let received = ExtensionBlock::parse(bytes)?;
                self.unknown = UnknownExtensions::received(received, Self::KNOWN);
                self.received = received;
                for (extension_type, body) in received.iter() {
                    match extension_type {
                        $(ExtensionType::$TYPE => {
                            let read = encoding!(read, $Body $(, $Encoding)?);
                            self.$field = Some(Reader::parse_all(body, read)?);
                        })*
                        _ => {}
                    }
                }
                Ok(())
            }

            /// The types received, in order.
            pub fn types(&self) -> impl Iterator<Item = ExtensionType> + Clone + use<'a> {
                self.received.types()
            }

            /// Whether there is no extension to write.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                $(self.$field.is_none() &&)* self.unknown.is_empty()
            }

            /// Which types of [`Self::KNOWN`] are present: one bit each, the lowest for the first.
            #[allow(dead_code, reason = "for messages that have an order of their own")]
            pub(crate) fn present(&self) -> u64 {
                let there = [$(self.$field.is_some()),*];
                there.iter().rev().fold(0, |bits, there| bits << 1 | u64::from(*there))
            }

            /// Which types of [`Self::KNOWN`] are present and equal in both sets: one bit each, the
            /// lowest for the first.
            #[allow(dead_code, reason = "for messages of which there are two forms")]
            pub(crate) fn equal(&self, other: &Self) -> u64 {
                let equal = [$(self.$field.is_some() && self.$field == other.$field),*];
                equal.iter().rev().fold(0, |bits, equal| bits << 1 | u64::from(*equal))
            }

            /// Writes one known extension, if it is present.
            #[allow(dead_code, reason = "for messages that have an order of their own")]
            pub(crate) fn write_one(&self, extension_type: ExtensionType, w: &mut Writer<'_>) {
                match extension_type {
                    $(ExtensionType::$TYPE => {
                        if let Some(body) = &self.$field {
                            let write = encoding!(write, $Body $(, $Encoding)?);
                            w.extension(extension_type, |w| write(body, w));
                        }
                    })*
                    _ => {}
                }
            }
        }

        /// A block with its length; the known extensions are written in the order of the table,
        /// before the others.
        impl<'a> Element<'a> for $Set<'a> {
            fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Self::parse_block(reader.opaque16()?)
            }

            fn write(&self, w: &mut Writer<'_>) {
                w.vec16(|w| {
                    $(if let Some(body) = &self.$field {
                        let write = encoding!(write, $Body $(, $Encoding)?);
                        w.extension(ExtensionType::$TYPE, |w| write(body, w));
                    })*
                    self.unknown.write(w);
                });
            }
        }

        /// Sets are equal if their contents are equal; the order of receipt does not matter.
        impl PartialEq for $Set<'_> {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field &&)* self.unknown == other.unknown
            }
        }

        impl Eq for $Set<'_> {}
    };
}
pub(super) use extension_set;
