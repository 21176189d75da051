//! Frames. RFC 9000 19

use anyhow::{Context, Result, bail};

pub(super) enum Frame {
    Acknowledgement,
    Crypto(u64, Vec<u8>),
    /// Data of the only stream, and whether it is the last.
    Stream(Vec<u8>, bool),
    HandshakeDone,
    Close(u64),
    /// Other frames that have to be acknowledged.
    Other,
}

impl Frame {
    pub(super) fn elicits_acknowledgement(&self) -> bool {
        !matches!(self, Self::Acknowledgement | Self::Close(_))
    }
}

pub(super) fn parse(payload: &[u8]) -> Result<Vec<Frame>> {
    let mut reader = Reader::new(payload);
    let mut frames = Vec::new();
    while !reader.rest().is_empty() {
        let kind = reader.number()?;
        let frame = match kind {
            0x00 => continue,
            0x02 | 0x03 => {
                reader.numbers(2)?;
                let ranges = reader.number()?;
                reader.numbers(1 + 2 * ranges + if kind == 0x03 { 3 } else { 0 })?;
                Frame::Acknowledgement
            }
            0x06 => {
                let (offset, length) = (reader.number()?, reader.number()?);
                Frame::Crypto(offset, reader.take(length.try_into()?)?.to_vec())
            }
            0x08..=0x0f => {
                reader.numbers(1 + u64::from(kind & 4 != 0))?;
                let length = match kind & 2 {
                    0 => reader.rest().len(),
                    _ => reader.number()?.try_into()?,
                };
                Frame::Stream(reader.take(length)?.to_vec(), kind & 1 != 0)
            }
            0x1e => Frame::HandshakeDone,
            0x1c | 0x1d => {
                let code = reader.number()?;
                reader.take(reader.rest().len())?;
                Frame::Close(code)
            }
            0x18 => {
                reader.numbers(2)?;
                let length = reader.byte()?;
                reader.take(usize::from(length) + 16)?;
                Frame::Other
            }
            0x07 => {
                let length = reader.number()?;
                reader.take(length.try_into()?)?;
                Frame::Other
            }
            0x1a | 0x1b => {
                reader.take(8)?;
                Frame::Other
            }
            0x01 => Frame::Other,
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => {
                reader.numbers(1)?;
                Frame::Other
            }
            0x04 => {
                reader.numbers(3)?;
                Frame::Other
            }
            0x05 | 0x11 | 0x15 => {
                reader.numbers(2)?;
                Frame::Other
            }
            other => bail!("a frame of type {other:#x}"),
        };
        frames.push(frame);
    }
    Ok(frames)
}

pub(super) fn crypto(offset: u64, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x06];
    put(&mut frame, offset);
    put(&mut frame, data.len() as u64);
    frame.extend_from_slice(data);
    frame
}

/// All data of the client's first stream.
pub(super) fn stream(data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x0b, 0];
    put(&mut frame, data.len() as u64);
    frame.extend_from_slice(data);
    frame
}

/// The end of the connection by the application, with code 0.
pub(super) fn close() -> Vec<u8> {
    vec![0x1d, 0, 0]
}

/// An acknowledgement of these packets; nothing, if there are none.
pub(super) fn acknowledge(numbers: &[u64]) -> Vec<u8> {
    let mut frames = Vec::new();
    for number in numbers {
        // The packet, a delay of 0, no further ranges, no further packets in the range.
        frames.push(0x02);
        put(&mut frames, *number);
        frames.extend([0, 0, 0]);
    }
    frames
}

/// The client's transport parameters. RFC 9000 18.2
pub(super) fn transport_parameters(source: &[u8]) -> Vec<u8> {
    let mut parameters = Vec::new();
    // Limits of data on the connection and on each kind of stream, and of streams.
    for id in [0x04, 0x05, 0x06, 0x07, 0x08, 0x09] {
        parameters.extend([id, 4]);
        parameters.extend((0x8000_0000_u32 | 1000).to_be_bytes());
    }
    // initial_source_connection_id
    parameters.extend([0x0f, u8::try_from(source.len()).unwrap_or_default()]);
    parameters.extend_from_slice(source);
    parameters
}

/// Appends a number of two, four or eight bytes. RFC 9000 16
fn put(bytes: &mut Vec<u8>, number: u64) {
    match u16::try_from(number) {
        Ok(number) if number < 0x4000 => bytes.extend((number | 0x4000).to_be_bytes()),
        _ => bytes.extend((number | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Reads numbers and bytes.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).context("too short")?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// A number of variable length. RFC 9000 16
    pub(super) fn number(&mut self) -> Result<u64> {
        let first = self.byte()?;
        let more = self.take((1 << (first >> 6)) - 1)?;
        Ok(more.iter().fold(u64::from(first & 0x3f), |number, byte| number << 8 | u64::from(*byte)))
    }

    fn numbers(&mut self, count: u64) -> Result<()> {
        (0..count).try_for_each(|_| self.number().map(|_| ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 A.1
    #[test]
    fn numbers_of_each_length_are_read() {
        let number = |bytes: &[u8]| Reader::new(bytes).number().unwrap();
        assert_eq!(
            number(&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            151_288_809_941_952_652
        );
        assert_eq!(number(&[0x9d, 0x7f, 0x3e, 0x7d]), 494_878_333);
        assert_eq!(
            (number(&[0x7b, 0xbd]), number(&[0x25]), number(&[0x40, 0x25])),
            (15_293, 37, 37)
        );
        for value in [0, 0x3fff, 0x4000, 1 << 40] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(number(&bytes), value);
        }
    }

    #[test]
    fn frames_are_parsed() {
        let payload =
            [acknowledge(&[7]), crypto(3, b"data"), stream(b"x"), vec![0x1e, 0, 0]].concat();
        let frames = parse(&payload).unwrap();
        assert!(matches!(&frames[..], [
            Frame::Acknowledgement,
            Frame::Crypto(3, data),
            Frame::Stream(word, true),
            Frame::HandshakeDone,
        ] if data == b"data" && word == b"x"));
        assert!(parse(&[0x06, 0x00, 0x05, 1]).is_err());
    }
}
