//! The encoding of sessions for `i2d_SSL_SESSION`: a DER sequence with an octet string.
//!
//! Programs store the bytes and give them back to the same library. The octet string has a format
//! of its own: OpenSSL refuses it, and the encoding of OpenSSL is refused here.
//!
//! ```text
//! format 1 | version 2 | suite 2 | time 8 | timeout 8 | verify_result 8
//! max_early_data 4 | hint 8 | flags 1
//! id 4.. | context 4.. | host name 4.. | protocol 4.. | data 4..
//! chain 4.. of certificate 4.. | core 4..
//! ```
//!
//! The number after a field is its length in bytes, and with `..` the length of its length prefix.

use zeroize::Zeroizing;

use super::Fields;
use crate::objects::id::Id;

const FORMAT: u8 = 2;
/// The length of the fields before the parts of variable length.
const FIXED: usize = 42;
const HAS_NAME: u8 = 1;
const HAS_TICKET: u8 = 2;

/// Encodes a session. The memory is large enough from the start, so that growing it leaves no copy
/// of the secret.
pub(crate) fn encode(fields: &Fields) -> Zeroizing<Vec<u8>> {
    let host_name = fields.host_name.as_deref().unwrap_or_default();
    let parts = [&fields.id[..], &fields.context, host_name, &fields.protocol, &fields.data];
    let prefixed = |part: &[u8]| part.len().saturating_add(4);
    let chain = fields.peer_chain.iter().map(|each| prefixed(each)).sum::<usize>();
    let lengths = parts.iter().map(|part| prefixed(part)).sum::<usize>();
    let length = FIXED
        .saturating_add(lengths)
        .saturating_add(chain.saturating_add(4))
        .saturating_add(prefixed(&fields.core));
    let outer = header(0x04, length).len().saturating_add(length);

    let mut out = Zeroizing::new(Vec::with_capacity(outer.saturating_add(16)));
    out.extend(header(0x30, outer));
    out.extend(header(0x04, length));
    out.push(FORMAT);
    out.extend(fields.version.to_be_bytes());
    out.extend(fields.suite.to_be_bytes());
    out.extend(fields.time.to_be_bytes());
    out.extend(fields.timeout.to_be_bytes());
    out.extend(fields.verify_result.to_be_bytes());
    out.extend(fields.max_early_data.to_be_bytes());
    out.extend(fields.lifetime_hint.to_be_bytes());
    let name = u8::from(fields.host_name.is_some()) * HAS_NAME;
    out.push(name | (u8::from(fields.has_ticket) * HAS_TICKET));
    parts.iter().for_each(|part| put(&mut out, part));
    out.extend(u32::try_from(chain).unwrap_or(u32::MAX).to_be_bytes());
    fields.peer_chain.iter().for_each(|certificate| put(&mut out, certificate));
    put(&mut out, &fields.core);
    out
}

/// Decodes a session at the beginning of `bytes`, and returns how many bytes it has. `None` if it
/// is not one of this library.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Fields, usize)> {
    let (sequence, rest) = open(0x30, bytes)?;
    let used = bytes.len().checked_sub(rest.len())?;
    let (content, after) = open(0x04, sequence)?;
    let mut reader = Reader(content);
    let [format] = reader.array()?;
    if format != FORMAT || !after.is_empty() {
        return None;
    }
    let mut fields = Fields {
        version: u16::from_be_bytes(reader.array()?),
        suite: u16::from_be_bytes(reader.array()?),
        time: i64::from_be_bytes(reader.array()?),
        timeout: i64::from_be_bytes(reader.array()?),
        verify_result: i64::from_be_bytes(reader.array()?),
        max_early_data: u32::from_be_bytes(reader.array()?),
        lifetime_hint: u64::from_be_bytes(reader.array()?),
        ..Fields::default()
    };
    let [flags] = reader.array()?;
    fields.has_ticket = flags & HAS_TICKET != 0;
    fields.id = Id::new(reader.part()?)?;
    fields.context = Id::new(reader.part()?)?;
    let host_name = reader.part()?.to_vec();
    fields.host_name = (flags & HAS_NAME != 0).then_some(host_name);
    fields.protocol = reader.part()?.to_vec();
    fields.data = reader.part()?.to_vec();
    let mut chain = Reader(reader.part()?);
    while !chain.0.is_empty() {
        fields.peer_chain.push(chain.part()?.to_vec());
    }
    fields.core = reader.part()?.to_vec().into();
    reader.0.is_empty().then_some((fields, used))
}

fn put(to: &mut Vec<u8>, part: &[u8]) {
    to.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    to.extend(part);
}

/// The tag and the length of a DER element.
fn header(tag: u8, length: usize) -> Vec<u8> {
    let mut out = vec![tag];
    match u8::try_from(length) {
        Ok(short @ ..0x80) => out.push(short),
        _ => {
            let digits = length.to_be_bytes().into_iter().skip_while(|digit| *digit == 0);
            let digits: Vec<u8> = digits.collect();
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
            out.extend(digits);
        }
    }
    out
}

/// The content of the DER element with this tag at the beginning, and the bytes after it.
fn open(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    if *found != tag {
        return None;
    }
    let (length, rest) = match first {
        ..0x80 => (usize::from(*first), rest),
        _ => {
            let count = usize::from(first & 0x7f);
            let (digits, rest) =
                rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
            let add = |sum: usize, digit: &u8| sum << 8 | usize::from(*digit);
            (digits.iter().fold(0, add), rest)
        }
    };
    rest.split_at_checked(length)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn part(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(u32::from_be_bytes(self.array()?)).ok()?;
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields {
        Fields {
            core: vec![7; 300].into(),
            id: Id::new(&[1; 32]).unwrap(),
            context: Id::new(b"ctx").unwrap(),
            version: 0x0304,
            suite: 0x1301,
            time: 1_700_000_000,
            timeout: 300,
            verify_result: 20,
            host_name: Some(b"example.test".to_vec()),
            protocol: b"h2".to_vec(),
            max_early_data: 5,
            lifetime_hint: 9,
            has_ticket: true,
            peer_chain: vec![vec![2; 1000], vec![3; 10]],
            data: b"data".to_vec(),
            ..Fields::default()
        }
    }

    #[test]
    fn a_session_is_decoded_as_it_was_encoded() {
        let mut bytes = encode(&fields());
        let length = bytes.len();
        // The memory did not grow.
        assert!(bytes.capacity() < length + 16);
        bytes.extend(b"something else");
        let (decoded, used) = decode(&bytes).unwrap();
        assert_eq!(used, length);
        assert_eq!(encode(&decoded)[..], bytes[..length]);
        assert_eq!(decoded.host_name, fields().host_name);
    }

    #[test]
    fn truncated_and_foreign_bytes_are_refused() {
        let bytes = encode(&fields());
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_none(), "{length}");
        }
        assert!(decode(&[0x30, 3, 2, 1, 1]).is_none());
    }
}
