//! The units in which both ends exchange data: CRYPTO data of a level, or a packet.

use lab_scenario::Result;

/// The kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// CRYPTO data of Initial packets.
    Initial,
    /// CRYPTO data of Handshake packets.
    Handshake,
    /// CRYPTO data of 1-RTT packets.
    Application,
    /// A 0-RTT packet.
    EarlyPacket,
    /// A 1-RTT packet with application data.
    Packet,
}

const KINDS: [Kind; 5] =
    [Kind::Initial, Kind::Handshake, Kind::Application, Kind::EarlyPacket, Kind::Packet];

/// Bytes before the content of a unit: its kind, and its length.
const PREFIX: usize = 5;

/// Writes a unit.
///
/// # Errors
/// If the content is longer than 4 GiB.
pub(crate) fn write(wire: &mut Vec<u8>, kind: Kind, content: &[u8]) -> Result<()> {
    wire.push(kind as u8);
    wire.extend_from_slice(&u32::try_from(content.len())?.to_be_bytes());
    wire.extend_from_slice(content);
    Ok(())
}

/// The units of received bytes.
pub(crate) struct Units<'b>(pub(crate) &'b [u8]);

impl<'b> Iterator for Units<'b> {
    type Item = Result<(Kind, &'b [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let unit = split(self.0);
        self.0 = unit.map(|(.., rest)| rest).unwrap_or_default();
        Some(unit.map(|(kind, content, _)| (kind, content)).ok_or_else(|| "a broken unit".into()))
    }
}

fn split(bytes: &[u8]) -> Option<(Kind, &[u8], &[u8])> {
    let (prefix, rest) = bytes.split_first_chunk::<PREFIX>()?;
    let [kind, a, b, c, d] = *prefix;
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()?;
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*KINDS.get(usize::from(kind))?, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_as_written_and_broken_ones_are_errors() {
        let mut wire = Vec::new();
        for (length, kind) in KINDS.into_iter().enumerate() {
            write(&mut wire, kind, &vec![7; length]).unwrap();
        }
        let read: Vec<_> = Units(&wire).map(|unit| unit.unwrap().0).collect();
        assert_eq!(read, KINDS);
        let short = &wire[..wire.len() - 1];
        assert_eq!(Units(short).filter(Result::is_err).count(), 1);
        assert!(Units(&[9, 0, 0, 0, 0]).next().unwrap().is_err());
    }
}
