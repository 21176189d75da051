//! A strict DER reader for the fields of certificates and OCSP responses.
//!
//! The reader borrows, never allocates and never panics. It refuses indefinite lengths and lengths
//! with leading zeros, which DER forbids. Two strict readers cannot disagree about the position of
//! a field, which is why a key found here is the key that path building saw.
//!
//! The reader interprets only tags and lengths; [`crate::certificate`] and [`crate::ocsp`]
//! interpret the fields.

/// The bytes are not DER, or not the expected element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// One element: its tag, its content, and the whole encoding with tag and length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Reads consecutive elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next element, of any tag.
    pub(crate) fn element(&mut self) -> Result<Element<'a>, Malformed> {
        let (&tag, after_tag) = self.rest.split_first().ok_or(Malformed)?;
        if tag & HIGH_TAG_NUMBER == HIGH_TAG_NUMBER {
            return Err(Malformed);
        }
        let (length, after_length) = read_length(after_tag)?;
        let (content, rest) = after_length.split_at_checked(length).ok_or(Malformed)?;
        let whole_length = self.rest.len().saturating_sub(rest.len());
        let whole = self.rest.get(..whole_length).ok_or(Malformed)?;
        self.rest = rest;
        Ok(Element { tag, content, whole })
    }

    /// The content of the next element, which must have this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<&'a [u8], Malformed> {
        let element = self.element()?;
        if element.tag != tag {
            return Err(Malformed);
        }
        Ok(element.content)
    }

    /// The content of the next element, an INTEGER in its shortest form, so that equal numbers have
    /// equal contents. X.690 8.3.2
    pub(crate) fn integer(&mut self) -> Result<&'a [u8], Malformed> {
        match self.expect(INTEGER)? {
            [] | [0, 0..=0x7f, ..] | [0xff, 0x80..=0xff, ..] => Err(Malformed),
            number => Ok(number),
        }
    }

    /// The content of the next element if it has this tag; otherwise nothing is consumed.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() != Some(&tag) {
            return Ok(None);
        }
        self.expect(tag).map(Some)
    }

    /// The remaining elements, up to the first that is malformed.
    pub(crate) fn elements(mut self) -> impl Iterator<Item = Element<'a>> {
        std::iter::from_fn(move || self.element().ok())
    }

    /// Checks that everything was read.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

/// The content of `bytes`, which must be a single element.
pub(crate) fn single(bytes: &[u8], tag: u8) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(bytes);
    let content = reader.expect(tag)?;
    reader.finish()?;
    Ok(content)
}

/// Reads a length, which must be definite and in its shortest form. Four bytes are for revocation
/// lists: some have more than 16 MB. X.690 10.1
fn read_length(bytes: &[u8]) -> Result<(usize, &[u8]), Malformed> {
    let (&first, rest) = bytes.split_first().ok_or(Malformed)?;
    if first < 0x80 {
        return Ok((usize::from(first), rest));
    }
    let count = usize::from(first & 0x7f);
    if count == 0 || count > 4 {
        return Err(Malformed);
    }
    let (digits, rest) = rest.split_at_checked(count).ok_or(Malformed)?;
    let length = digits.iter().fold(0usize, |length, &digit| (length << 8) | usize::from(digit));
    let shortest = match count {
        1 => length >= 0x80,
        2 => length >= 0x100,
        3 => length >= 0x1_0000,
        _ => length >= 0x100_0000,
    };
    if shortest { Ok((length, rest)) } else { Err(Malformed) }
}

const HIGH_TAG_NUMBER: u8 = 0x1f;

pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const NULL: u8 = 0x05;
pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const NUMERIC_STRING: u8 = 0x12;
pub(crate) const PRINTABLE_STRING: u8 = 0x13;
pub(crate) const TELETEX_STRING: u8 = 0x14;
pub(crate) const IA5_STRING: u8 = 0x16;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const VISIBLE_STRING: u8 = 0x1a;
pub(crate) const UNIVERSAL_STRING: u8 = 0x1c;
pub(crate) const BMP_STRING: u8 = 0x1e;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// `[number]`, primitive.
pub(crate) const fn context(number: u8) -> u8 {
    0x80 | number
}

/// `[number]`, constructed.
pub(crate) const fn context_constructed(number: u8) -> u8 {
    0xa0 | number
}

/// Encodes a SEQUENCE with this content. The fields of a trust anchor are stored without tag and
/// length.
pub(crate) fn sequence(content: &[u8]) -> Vec<u8> {
    encoded(SEQUENCE, content)
}

/// Encodes an element.
pub(crate) fn encoded(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let start = length.iter().take_while(|&&byte| byte == 0).count();
    let digits = length.get(start..).unwrap_or_default();
    let mut element = Vec::with_capacity(content.len() + 2 + digits.len());
    element.push(tag);
    match digits {
        [] => element.push(0),
        [short] if *short < 0x80 => element.push(*short),
        // The length has at most the eight bytes of a `usize`.
        #[expect(clippy::cast_possible_truncation)]
        long => {
            element.push(0x80 | long.len() as u8);
            element.extend_from_slice(long);
        }
    }
    element.extend_from_slice(content);
    element
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_elements_in_order() {
        let mut reader = Reader::new(&[0x02, 0x01, 0x05, 0x04, 0x02, 0xaa, 0xbb]);
        assert_eq!(reader.optional(OCTET_STRING), Ok(None));
        assert_eq!(reader.expect(INTEGER), Ok(&[5u8][..]));
        let element = reader.element().unwrap();
        assert_eq!(element.content, [0xaa, 0xbb]);
        assert_eq!(element.whole, [0x04, 0x02, 0xaa, 0xbb]);
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn refuses_what_der_refuses() {
        let long = [0u8; 0x80];
        let mut indefinite = vec![0x30, 0x80];
        indefinite.extend_from_slice(&[0, 0]);
        let mut padded_one = vec![0x04, 0x81, 0x7f];
        padded_one.extend_from_slice(&long[..0x7f]);
        let mut padded_two = vec![0x04, 0x82, 0x00, 0x80];
        padded_two.extend_from_slice(&long);
        let cases: [&[u8]; 10] = [
            &[],
            &[0x30],
            &[0x30, 0x01],
            &[0x1f, 0x01, 0x00],
            &[0x04, 0x84, 0, 0, 0, 1, 0],
            &[0x04, 0x84, 0xff, 0xff, 0xff, 0xff, 0],
            &[0x04, 0x85, 0, 0, 0, 0, 1, 0],
            &indefinite,
            &padded_one,
            &padded_two,
        ];
        for case in cases {
            assert!(Reader::new(case).element().is_err(), "{case:02x?}");
        }
    }

    /// X.690 8.3.2
    #[test]
    fn a_number_has_one_encoding() {
        for number in [&[0][..], &[0x7f], &[0, 0x80], &[0xff], &[0xff, 0x7f], &[0x80, 0]] {
            let length = u8::try_from(number.len()).unwrap();
            let element = [&[INTEGER, length], number].concat();
            assert_eq!(Reader::new(&element).integer(), Ok(number));
        }
        for element in
            [&[2, 0][..], &[2, 2, 0, 0], &[2, 2, 0, 0x7f], &[2, 2, 0xff, 0x80], &[4, 1, 0]]
        {
            assert_eq!(Reader::new(element).integer(), Err(Malformed), "{element:?}");
        }
    }

    #[test]
    fn a_long_length_in_its_shortest_form_is_read() {
        let mut bytes = vec![0x04, 0x81, 0x80];
        bytes.extend_from_slice(&[7; 0x80]);
        assert_eq!(single(&bytes, OCTET_STRING), Ok(&[7u8; 0x80][..]));
        bytes.push(0);
        assert_eq!(single(&bytes, OCTET_STRING), Err(Malformed));
    }

    /// The last length is that of a large revocation list.
    #[test]
    fn sequences_of_every_length_are_valid_der() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0x1234, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let content = vec![5; length];
            let element = sequence(&content);
            assert!(single(&element, SEQUENCE) == Ok(&content[..]), "{length}");
        }
    }
}
