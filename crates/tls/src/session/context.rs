//! What binds a server's session to the configurations that may resume it, without an allocation of its own.
//!
//! Must not know: what it stands for. Next: `config/resumption.rs`, which makes it.

use core::ops::Deref;

/// Up to [`Self::MOST`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    /// Zeros behind what there is.
    bytes: [u8; Self::MOST],
    length: u8,
}

impl Context {
    pub(crate) const MOST: usize = 48;

    pub(crate) const NONE: Self = Self { bytes: [0; Self::MOST], length: 0 };

    /// A digest, and what narrows it further.
    pub(crate) fn new(digest: &[u8; 16], narrower: Option<&[u8; 32]>) -> Self {
        let narrower = narrower.map_or(&[][..], <[u8; 32]>::as_slice);
        Self::filled(digest.len().saturating_add(narrower.len()), digest.iter().chain(narrower))
    }

    /// One that was written; `None` if it is too long.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        (bytes.len() <= Self::MOST).then(|| Self::filled(bytes.len(), bytes.iter()))
    }

    fn filled<'b>(length: usize, from: impl Iterator<Item = &'b u8>) -> Self {
        let mut bytes = [0; Self::MOST];
        bytes.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Self { bytes, length: u8::try_from(length).unwrap_or_default() }
    }
}

impl Deref for Context {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_equal_if_their_bytes_are() {
        let context = |length| Context::read(&vec![0; length]);
        for length in 0..=Context::MOST {
            let whole = context(length).unwrap();
            assert_eq!(*whole, *vec![0; length]);
            assert_eq!(Context::read(&whole), Some(whole));
            assert_eq!(whole == Context::NONE, length == 0, "zeros are no padding");
        }
        assert_eq!(context(Context::MOST + 1), None);
        let narrow = Context::new(&[1; 16], Some(&[2; 32]));
        assert_eq!(*narrow, *[&[1; 16][..], &[2; 32]].concat());
        assert_eq!(*Context::new(&[1; 16], None), [1; 16]);
    }
}
