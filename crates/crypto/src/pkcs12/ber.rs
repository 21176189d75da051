//! BER elements, as PKCS#12 files contain them. X.690 8.1

use std::borrow::Cow;

use crate::der::append;

/// An element with a tag of one byte.
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: Content<'a>,
}

pub(super) enum Content<'a> {
    Primitive(Cow<'a, [u8]>),
    Constructed(Vec<Element<'a>>),
}

/// The number of elements that may contain each other. Files of programs have about ten.
const MAX_DEPTH: usize = 32;
/// The number of elements that are read together. An element of two bytes takes forty in memory,
/// and the MAC of the file was not verified yet. A certificate has about ten.
const MAX_ELEMENTS: usize = 1 << 16;

impl<'a> Element<'a> {
    /// Reads elements up to the end. `None` if they are malformed or too many, or have a tag of
    /// several bytes.
    pub(super) fn read_all(mut input: &'a [u8]) -> Option<Vec<Self>> {
        let mut elements = Vec::new();
        let mut left = MAX_ELEMENTS;
        while !input.is_empty() {
            elements.push(Self::read(&mut input, MAX_DEPTH, &mut left)?);
        }
        Some(elements)
    }

    /// Reads the first element. `left` is the number of elements that may still be read.
    fn read(input: &mut &'a [u8], depth: usize, left: &mut usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        *left = left.checked_sub(1)?;
        let (&[tag, length], rest) = input.split_first_chunk()?;
        if tag & LONG_TAG == LONG_TAG {
            return None;
        }
        let is_constructed = tag & CONSTRUCTED != 0;
        if length == INDEFINITE {
            *input = rest;
            return is_constructed.then(|| Self::read_indefinite(tag, input, depth, left))?;
        }
        let (mut content, rest) = crate::der::contents(input)?;
        *input = rest;
        if !is_constructed {
            return Some(Self { tag, content: Content::Primitive(content.into()) });
        }
        let mut elements = Vec::new();
        while !content.is_empty() {
            elements.push(Self::read(&mut content, depth, left)?);
        }
        Some(Self { tag, content: Content::Constructed(elements) })
    }

    /// Reads elements up to the end-of-contents. X.690 8.1.3.6
    fn read_indefinite(
        tag: u8,
        input: &mut &'a [u8],
        depth: usize,
        left: &mut usize,
    ) -> Option<Self> {
        let mut elements = Vec::new();
        loop {
            if let Some(rest) = input.strip_prefix(&END_OF_CONTENTS) {
                *input = rest;
                return Some(Self { tag, content: Content::Constructed(elements) });
            }
            elements.push(Self::read(input, depth, left)?);
        }
    }

    /// An element without other elements in it.
    pub(super) fn primitive(tag: u8, content: Vec<u8>) -> Self {
        Self { tag, content: Content::Primitive(content.into()) }
    }

    /// The elements in a constructed one with this tag.
    pub(super) fn elements(&self, tag: u8) -> Option<&[Self]> {
        match &self.content {
            Content::Constructed(elements) if self.tag == tag => Some(elements),
            _ => None,
        }
    }

    /// The content of a primitive element with this tag.
    pub(super) fn bytes(&self, tag: u8) -> Option<&[u8]> {
        match &self.content {
            Content::Primitive(bytes) if self.tag == tag => Some(bytes),
            _ => None,
        }
    }

    /// The bytes of an OCTET STRING, which may consist of parts. X.690 8.7
    pub(super) fn octets(&self) -> Option<Vec<u8>> {
        match &self.content {
            Content::Primitive(bytes) if self.tag == OCTET_STRING => Some(bytes.to_vec()),
            Content::Constructed(parts) if self.tag == OCTET_STRING | CONSTRUCTED => {
                let parts: Option<Vec<_>> = parts.iter().map(Self::octets).collect();
                Some(parts?.concat())
            }
            _ => None,
        }
    }

    /// Appends the element, with a definite length.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match &self.content {
            Content::Primitive(bytes) => append(out, self.tag, bytes),
            Content::Constructed(elements) => append(out, self.tag, &Self::written(elements)),
        }
    }

    /// The encoding of several elements.
    pub(super) fn written(elements: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        elements.iter().for_each(|element| element.write(&mut out));
        out
    }
}

const CONSTRUCTED: u8 = 0x20;
/// The bits of a tag whose number is in further bytes.
const LONG_TAG: u8 = 0x1f;
const INDEFINITE: u8 = 0x80;
const END_OF_CONTENTS: [u8; 2] = [0, 0];

pub(super) const INTEGER: u8 = 2;
pub(super) const OCTET_STRING: u8 = 4;
pub(super) const NULL: u8 = 5;
pub(super) const OBJECT_IDENTIFIER: u8 = 6;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const CONTEXT_0: u8 = 0xa0;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// X.690 8.1.3
    #[test]
    fn lengths_become_definite() {
        let indefinite = [0x30, 0x80, 0x24, 0x80, 4, 1, 7, 4, 2, 8, 9, 0, 0, 2, 1, 3, 0, 0];
        let read = Element::read_all(&indefinite).unwrap();
        let written = Element::written(&read);
        assert_eq!(written, [0x30, 12, 0x24, 7, 4, 1, 7, 4, 2, 8, 9, 2, 1, 3]);
        assert_eq!(Element::written(&Element::read_all(&written).unwrap()), written);
        let [string, number] = read[0].elements(SEQUENCE).unwrap() else { panic!() };
        assert_eq!(string.octets().unwrap(), [7, 8, 9]);
        assert_eq!(number.bytes(INTEGER).unwrap(), [3]);
    }

    #[test]
    fn malformed_elements_are_refused() {
        for malformed in [
            &[0x30][..],
            &[0x30, 1],
            &[0x30, 0x80],
            &[0x30, 0x80, 0],
            &[0x30, 2, 4, 1],
            &[4, 0x80, 0, 0],
            &[0x3f, 0x21, 0],
            &[0x30, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        ] {
            assert!(Element::read_all(malformed).is_none(), "{malformed:?}");
        }
        assert!(Element::read_all(&[0x30, 0x80].repeat(1 << 20)).is_none());
        assert!(Element::read_all(&[5, 0].repeat(MAX_ELEMENTS)).is_some());
        assert!(Element::read_all(&[5, 0].repeat(MAX_ELEMENTS + 1)).is_none());
        let within = [&[0x30, 0x80], &[5, 0].repeat(MAX_ELEMENTS)[..], &[0, 0]].concat();
        assert!(Element::read_all(&within).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_written_is_read_again(
            bytes in vec(prop_oneof![Just(0_u8), Just(0x30), Just(0x24), Just(0x80), 0_u8..8], ..40),
        ) {
            if let Some(read) = Element::read_all(&bytes) {
                let written = Element::written(&read);
                prop_assert_eq!(Element::written(&Element::read_all(&written).unwrap()), written);
            }
        }
    }
}
