//! A limit for the frames that h3 collects in memory.
//!
//! h3 0.0.8 collects each frame except DATA until it is complete, whatever length the peer states.

use std::fmt;

/// The position in a stream of frames. RFC 9114 6.2, 7.1
#[derive(Debug)]
pub(super) struct FrameLimit {
    part: Part,
    varint: Varint,
    /// The parts in which the current frame was received, if it is not DATA.
    parts: usize,
}

#[derive(Debug)]
enum Part {
    /// The type of a unidirectional stream.
    StreamType,
    FrameType,
    Length {
        is_data: bool,
    },
    /// This number of bytes of a frame.
    Payload {
        left: u64,
        is_data: bool,
    },
    /// A stream without frames.
    Unframed,
}

/// A frame is longer than the limit, or was received in too many parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl FrameLimit {
    /// A stream for a request and its response.
    pub(super) fn bidirectional() -> Self {
        Self { part: Part::FrameType, varint: Varint::default(), parts: 0 }
    }

    pub(super) fn unidirectional() -> Self {
        Self { part: Part::StreamType, varint: Varint::default(), parts: 0 }
    }

    /// Whether the next byte belongs to the content of a DATA frame, or to a stream without frames:
    /// h3 does not collect these.
    pub(super) fn is_passed_on(&self) -> bool {
        matches!(self.part, Part::Unframed | Part::Payload { is_data: true, .. })
    }

    /// Checks the next bytes of the stream, which were received together.
    pub(super) fn check(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        if !self.is_passed_on() {
            self.parts += 1;
            if self.parts > MAX_PARTS {
                return Err(TooLong);
            }
        }
        while !bytes.is_empty() {
            match &mut self.part {
                Part::Unframed => return Ok(()),
                Part::Payload { left, .. } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= here as u64;
                    bytes = bytes.get(here..).unwrap_or_default();
                    if *left == 0 {
                        self.end_of_frame();
                    }
                }
                Part::StreamType | Part::FrameType | Part::Length { .. } => {
                    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
                    bytes = rest;
                    if let Some(value) = self.varint.push(*first) {
                        self.number(value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Continues after a complete number.
    fn number(&mut self, value: u64) -> Result<(), TooLong> {
        match self.part {
            Part::StreamType if value == CONTROL => self.part = Part::FrameType,
            Part::StreamType | Part::Unframed => self.part = Part::Unframed,
            Part::FrameType => self.part = Part::Length { is_data: value == DATA },
            Part::Length { is_data } if value > MAX_FRAME && !is_data => return Err(TooLong),
            Part::Length { .. } | Part::Payload { .. } if value == 0 => self.end_of_frame(),
            Part::Length { is_data } | Part::Payload { is_data, .. } => {
                self.part = Part::Payload { left: value, is_data };
            }
        }
        Ok(())
    }

    fn end_of_frame(&mut self) {
        self.part = Part::FrameType;
        self.parts = 0;
    }
}

/// A variable-length integer that is received in parts. RFC 9000 16
#[derive(Debug, Default)]
struct Varint {
    value: u64,
    /// The number of bytes that follow.
    left: u32,
}

impl Varint {
    /// Adds a byte. Returns the value if the integer is complete.
    fn push(&mut self, byte: u8) -> Option<u64> {
        if self.left == 0 {
            self.left = (1 << (byte >> 6)) - 1;
            self.value = u64::from(byte & 0x3f);
        } else {
            self.left -= 1;
            self.value = self.value << 8 | u64::from(byte);
        }
        (self.left == 0).then_some(self.value)
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the peer sent an HTTP/3 frame of more than {MAX_FRAME} bytes or in more than {MAX_PARTS} parts"
        )
    }
}

impl std::error::Error for TooLong {}

/// The type of control streams. RFC 9114 6.2.1
const CONTROL: u64 = 0;

/// The type of DATA frames, which h3 passes on in parts. RFC 9114 7.2.1
const DATA: u64 = 0;

/// The longest frame other than DATA. The encoded form of the largest head is not much longer than
/// the head.
const MAX_FRAME: u64 = 64 << 10;

/// The number of parts in which such a frame may be received. For each part, h3 adds up the lengths
/// of all parts before it. A packet of the smallest size for QUIC has 1,200 bytes, so 64 KiB come
/// in 60 parts. RFC 9000 14
const MAX_PARTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 16, A.1
    #[test]
    fn integers_are_read_byte_by_byte() {
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ] {
            let mut varint = Varint::default();
            let read: Vec<_> = bytes.iter().map(|byte| varint.push(*byte)).collect();
            let (last, others) = read.split_last().unwrap();
            assert_eq!((*last, others.iter().flatten().count()), (Some(value), 0));
        }
    }

    /// Checks a stream at once, and byte by byte or in 128 parts.
    fn check(limit: fn() -> FrameLimit, bytes: &[u8]) -> Result<(), TooLong> {
        let at_once = limit().check(bytes);
        let mut in_parts = limit();
        let size = bytes.len().div_ceil(128);
        assert_eq!(bytes.chunks(size).try_for_each(|part| in_parts.check(part)), at_once);
        at_once
    }

    /// RFC 9114 7.1, 7.2.1
    #[test]
    fn only_data_may_be_long() {
        let long = [0x80, 0x01, 0x00, 0x01]; // 65,537
        let most = [0x80, 0x01, 0x00, 0x00]; // 65,536
        let bidirectional = FrameLimit::bidirectional;
        assert_eq!(check(bidirectional, &[&[1][..], &long].concat()), Err(TooLong));
        assert_eq!(check(bidirectional, &[&[0x21][..], &long].concat()), Err(TooLong));
        assert_eq!(check(bidirectional, &[&[0][..], &long].concat()), Ok(()));
        let payload = vec![1; 65_536];
        assert_eq!(check(bidirectional, &[&[1][..], &most, &payload].concat()), Ok(()));
        // The next frame is found after each kind.
        let frames = [&[1, 3, 9, 9, 9][..], &[0, 0], &[0x40, 0x21, 1, 9], &[0, 2, 1, 1], &[1]];
        assert_eq!(check(bidirectional, &[&frames.concat()[..], &long].concat()), Err(TooLong));
        assert_eq!(check(bidirectional, &[&frames.concat()[..], &most].concat()), Ok(()));
    }

    /// RFC 9000 14
    #[test]
    fn only_data_may_come_in_many_parts() {
        // The longest frame, in packets of 1,200 bytes.
        let mut limit = FrameLimit::bidirectional();
        let longest = [&[1, 0x80, 1, 0, 0][..], &[9; 65_536]].concat();
        assert_eq!(longest.chunks(1100).try_for_each(|part| limit.check(part)), Ok(()));
        let parts = |kind: u8, count: usize| {
            let mut limit = FrameLimit::bidirectional();
            limit.check(&[kind, 0x80, 0, 0xff, 0xff])?;
            (1..count).try_for_each(|_| limit.check(&[9]))
        };
        assert_eq!(parts(1, MAX_PARTS), Ok(()));
        assert_eq!(parts(1, MAX_PARTS + 1), Err(TooLong));
        assert_eq!(parts(0x21, MAX_PARTS + 1), Err(TooLong));
        assert_eq!(parts(0, 10 * MAX_PARTS), Ok(()));
        // Each frame has parts of its own.
        let mut limit = FrameLimit::bidirectional();
        let frame = [0x21, 2, 9, 9];
        assert_eq!(
            frame.repeat(MAX_PARTS).chunks(1).try_for_each(|part| limit.check(part)),
            Ok(())
        );
    }

    /// RFC 9114 6.2
    #[test]
    fn only_control_streams_have_frames() {
        let frames = [4, 0, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let of_type = |stream: &[u8]| [stream, &frames].concat();
        assert_eq!(check(FrameLimit::unidirectional, &of_type(&[0])), Err(TooLong));
        assert_eq!(check(FrameLimit::unidirectional, &of_type(&[2])), Ok(()));
        assert_eq!(check(FrameLimit::unidirectional, &of_type(&[0x40, 0x54])), Ok(()));
    }
}
