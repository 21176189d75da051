//! Packets: headers and protection. RFC 9000 17, RFC 9001 5, RFC 9369 3.2

use anyhow::{Context, Result, ensure};
use tercel_quinn::tercel::quic::{DirectionKeys, PacketKey, Version};

use super::frames::Reader;

/// What the headers of a connection have in common.
pub(super) struct Header {
    pub(super) version: Version,
    pub(super) destination: Vec<u8>,
    pub(super) source: Vec<u8>,
}

/// A received packet that is still protected.
pub(super) struct Received {
    pub(super) space: usize,
    bytes: Vec<u8>,
    /// The position of the packet number.
    number_at: usize,
    source: Option<Vec<u8>>,
}

pub(super) struct Opened {
    pub(super) number: u64,
    pub(super) payload: Vec<u8>,
    /// The sender's connection ID, in a long header.
    pub(super) source: Option<Vec<u8>>,
}

/// The types of Initial and Handshake packets in version 2.
const TYPES: [u8; 2] = [1, 3];

impl Header {
    /// Protects a packet, whose number has four bytes.
    pub(super) fn seal(
        &self,
        space: usize,
        number: u64,
        payload: &[u8],
        keys: &DirectionKeys,
    ) -> Result<Vec<u8>> {
        let mut packet = Vec::new();
        match TYPES.get(space) {
            None => {
                packet.push(0x43);
                packet.extend_from_slice(&self.destination);
            }
            Some(kind) => {
                packet.push(0xc3 | kind << 4);
                packet.extend(self.version.number().to_be_bytes());
                for id in [&self.destination, &self.source] {
                    packet.push(u8::try_from(id.len())?);
                    packet.extend_from_slice(id);
                }
                if space == 0 {
                    // No token.
                    packet.push(0);
                }
                let length = u16::try_from(4 + payload.len() + PacketKey::TAG_LEN)?;
                packet.extend((0x4000 | length).to_be_bytes());
            }
        }
        let number_at = packet.len();
        packet.extend(u32::try_from(number)?.to_be_bytes());
        let mut protected = payload.to_vec();
        protected.resize(payload.len() + PacketKey::TAG_LEN, 0);
        keys.packet.seal(number, &packet, &mut protected)?;
        packet.extend(protected);
        ensure!(keys.header.protect(number_at, &mut packet), "a packet without a sample");
        Ok(packet)
    }

    /// Takes the first packet of a datagram. Returns `None` for padding after the packets.
    pub(super) fn split(&self, datagram: &mut Vec<u8>) -> Result<Option<Received>> {
        let first = *datagram.first().context("no packet")?;
        if first & 0x40 == 0 {
            return Ok(None);
        }
        if first & 0x80 == 0 {
            let bytes = std::mem::take(datagram);
            let number_at = 1 + self.source.len();
            return Ok(Some(Received { space: 2, bytes, number_at, source: None }));
        }
        let mut reader = Reader::new(&datagram[1..]);
        ensure!(reader.take(4)? == self.version.number().to_be_bytes(), "another version");
        let length = reader.byte()?.into();
        reader.take(length)?;
        let length = reader.byte()?.into();
        let source = reader.take(length)?.to_vec();
        let kind = first >> 4 & 3;
        let space = TYPES.iter().position(|known| *known == kind).context("another type")?;
        if space == 0 {
            let token = reader.number()?;
            reader.take(token.try_into()?)?;
        }
        let length: usize = reader.number()?.try_into()?;
        let number_at = datagram.len() - reader.rest().len();
        let end = number_at + length;
        ensure!(end <= datagram.len(), "a packet is longer than its datagram");
        let rest = datagram.split_off(end);
        let bytes = std::mem::replace(datagram, rest);
        Ok(Some(Received { space, bytes, number_at, source: Some(source) }))
    }
}

impl Received {
    /// Opens the packet. Returns `None` if it is not authentic.
    pub(super) fn open(
        mut self,
        keys: &DirectionKeys,
        largest: Option<u64>,
    ) -> Result<Option<Opened>> {
        if !keys.header.unprotect(self.number_at, &mut self.bytes) {
            return Ok(None);
        }
        let length = usize::from(self.bytes[0] & 3) + 1;
        let payload_at = self.number_at + length;
        let truncated = self.bytes[self.number_at..payload_at]
            .iter()
            .fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
        let number = decode(truncated, length, largest);
        let mut payload = self.bytes.split_off(payload_at);
        let Ok(length) = keys.packet.open(number, &self.bytes, &mut payload) else {
            return Ok(None);
        };
        payload.truncate(length);
        Ok(Some(Opened { number, payload, source: self.source }))
    }
}

/// The packet number that is closest to the expected one. RFC 9000 A.3
fn decode(truncated: u64, length: usize, largest: Option<u64>) -> u64 {
    let window = 1 << (8 * length);
    let expected = largest.map_or(0, |largest| largest + 1);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tercel_quinn::tercel::{Side, quic};

    /// RFC 9000 A.3
    #[test]
    fn packet_numbers_are_decoded() {
        assert_eq!(decode(0x9b32, 2, Some(0xa82f_30ea)), 0xa82f_9b32);
        assert_eq!(decode(0, 1, None), 0);
        assert_eq!(decode(0, 1, Some(255)), 256);
    }

    #[test]
    fn a_packet_is_opened_by_the_other_side() {
        let (version, id) = (Version::V2, vec![7; 8]);
        let header = Header { version, destination: id.clone(), source: id.clone() };
        let client = quic::initial_keys(version, &id, Side::Client).unwrap();
        let server = quic::initial_keys(version, &id, Side::Server).unwrap();
        for space in [0, 1, 2] {
            let mut packet = header.seal(space, 5, b"frames", &client.local).unwrap();
            let received = header.split(&mut packet).unwrap().unwrap();
            assert_eq!((received.space, packet.len()), (space, 0));
            let opened = received.open(&server.remote, None).unwrap().unwrap();
            assert_eq!((opened.number, &opened.payload[..]), (5, &b"frames"[..]));
        }
    }
}
