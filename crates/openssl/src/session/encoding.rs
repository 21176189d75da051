//! The encoding of sessions for `i2d_SSL_SESSION`: a DER sequence with an octet string.
//!
//! Programs store the bytes and give them back to the same library. The octet string has a format
//! of its own: OpenSSL refuses it, and the encoding of OpenSSL is refused here.
//!
//! ```text
//! format 1 | version 2 | suite 2 | time 8 | timeout 8 | verify_result 8
//! max_early_data 4 | hint 8 | flags 1
//! id 4.. | context 4.. | host name 4.. | protocol 4.. | chain 4.. of certificate 4.. | core 4..
//! ```
//!
//! The number after a field is its length in bytes, and with `..` the length of its length prefix.

use super::Fields;

const FORMAT: u8 = 1;
const HAS_NAME: u8 = 1;
const HAS_TICKET: u8 = 2;

/// Encodes a session.
pub(crate) fn encode(fields: &Fields) -> Vec<u8> {
    let mut content = vec![FORMAT];
    content.extend(fields.version.to_be_bytes());
    content.extend(fields.suite.to_be_bytes());
    content.extend(fields.time.to_be_bytes());
    content.extend(fields.timeout.to_be_bytes());
    content.extend(fields.verify_result.to_be_bytes());
    content.extend(fields.max_early_data.to_be_bytes());
    content.extend(fields.lifetime_hint.to_be_bytes());
    let name = u8::from(fields.host_name.is_some()) * HAS_NAME;
    content.push(name | (u8::from(fields.has_ticket) * HAS_TICKET));
    let host_name = fields.host_name.as_deref().unwrap_or_default();
    for part in [&fields.id[..], &fields.context, host_name, &fields.protocol] {
        put(&mut content, part);
    }
    let mut chain = Vec::new();
    fields.peer_chain.iter().for_each(|certificate| put(&mut chain, certificate));
    put(&mut content, &chain);
    put(&mut content, &fields.core);

    let octets = tlv(0x04, &content);
    zeroize::Zeroize::zeroize(&mut content);
    tlv(0x30, &octets)
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
    fields.id = reader.part()?.to_vec();
    fields.context = reader.part()?.to_vec();
    let host_name = reader.part()?.to_vec();
    fields.host_name = (flags & HAS_NAME != 0).then_some(host_name);
    fields.protocol = reader.part()?.to_vec();
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

/// A DER element with this tag.
fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let mut out = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short @ ..0x80) => out.push(short),
        _ => {
            let digits: Vec<u8> = length.into_iter().skip_while(|digit| *digit == 0).collect();
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or(8));
            out.extend(digits);
        }
    }
    out.extend(content);
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
            id: vec![1; 32],
            context: b"ctx".to_vec(),
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
        }
    }

    #[test]
    fn a_session_is_decoded_as_it_was_encoded() {
        let mut bytes = encode(&fields());
        let length = bytes.len();
        bytes.extend(b"something else");
        let (decoded, used) = decode(&bytes).unwrap();
        assert_eq!(used, length);
        assert_eq!(encode(&decoded), bytes[..length]);
        assert_eq!(decoded.host_name, fields().host_name);
    }

    #[test]
    fn truncated_and_foreign_bytes_are_refused() {
        let bytes = encode(&fields());
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_none(), "{length}");
        }
        assert!(decode(&tlv(0x30, &tlv(0x02, &[1]))).is_none());
    }
}
