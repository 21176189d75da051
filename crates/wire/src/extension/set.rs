//! How an extension block becomes a struct of options, and back.
//!
//! One table per message says which extensions it has and which file reads each. The table knows neither
//! the bodies nor the protocol. Next: `sets`, the tables.

/// Makes the struct for one message's extensions from a table of
/// `field: Type = EXTENSION_TYPE, codec`, where `codec` is a module with `read` and `write`.
macro_rules! extension_set {
    ($(#[$meta:meta])* $Set:ident { $(
        $(#[$doc:meta])* $field:ident: $Body:ty = $TYPE:ident, $($codec:ident)::+;
    )* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $Set<'a> {
            $($(#[$doc])* pub $field: Option<$Body>,)*
            /// The extensions that have no field here.
            pub unknown: UnknownExtensions<'a>,
            /// Everything as it was received, in order. Not written: a message that is built leaves it empty.
            pub received: ExtensionBlock<'a>,
        }

        impl<'a> $Set<'a> {
            /// The types that have a field, in the order in which they are written.
            pub(crate) const KNOWN: &'static [ExtensionType] = &[$(ExtensionType::$TYPE),*];

            /// Opens every known extension of a block (without the block's length).
            pub fn parse_block(bytes: &'a [u8]) -> Result<Self, DecodeError> {
                let mut set = Self::default();
                set.fill(bytes)?;
                Ok(set)
            }

            /// The same where the set lies, which was empty: it is large, and each return would copy it.
            pub(crate) fn fill(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
                let received = ExtensionBlock::parse(bytes)?;
                self.unknown = UnknownExtensions::received(received, Self::KNOWN);
                self.received = received;
                for (extension_type, body) in received.iter() {
                    match extension_type {
                        $(ExtensionType::$TYPE => {
                            self.$field = Some(Reader::all(body, super::$($codec)::+::read)?);
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

            /// Whether there is nothing to write.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                $(self.$field.is_none() &&)* self.unknown.is_empty()
            }

            /// Which types of [`Self::KNOWN`] are there: the first in the lowest bit.
            #[allow(dead_code, reason = "for messages that have an order of their own")]
            pub(crate) fn present(&self) -> u64 {
                let there = [$(self.$field.is_some()),*];
                there.iter().rev().fold(0, |bits, there| bits << 1 | u64::from(*there))
            }

            /// Writes one known extension, if it is there.
            #[allow(dead_code, reason = "for messages that have an order of their own")]
            pub(crate) fn write_one(&self, extension_type: ExtensionType, w: &mut Writer<'_>) {
                match extension_type {
                    $(ExtensionType::$TYPE => {
                        if let Some(body) = &self.$field {
                            w.extension(extension_type, |w| super::$($codec)::+::write(body, w));
                        }
                    })*
                    _ => {}
                }
            }

            /// Writes the block with its length: known extensions in the order of the table, then the others.
            #[allow(dead_code, reason = "a ClientHello has an order of its own")]
            pub(crate) fn write(&self, w: &mut Writer<'_>) {
                w.vec16(|w| {
                    $(if let Some(body) = &self.$field {
                        w.extension(ExtensionType::$TYPE, |w| super::$($codec)::+::write(body, w));
                    })*
                    self.unknown.write(w);
                });
            }
        }

        /// Equal if they say the same, in whatever order it was received.
        impl PartialEq for $Set<'_> {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field &&)* self.unknown == other.unknown
            }
        }

        impl Eq for $Set<'_> {}
    };
}
pub(super) use extension_set;
