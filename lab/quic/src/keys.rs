//! The keys of a connection, and short packets that they protect.

use bytes::{Bytes, BytesMut};
use lab_scenario::Result;
use lab_scenario::rows::{PACKET, PACKET_HEADER, PACKET_TAG};
use quinn_proto::crypto::{HeaderKey, KeyPair, Keys, PacketKey};

/// The most bytes of frames in a packet.
pub(crate) const FRAMES: usize = PACKET - PACKET_HEADER - PACKET_TAG;

/// The position of the packet number, after the first byte and the connection ID.
const NUMBER_AT: usize = 9;

/// The keys of one direction.
pub(crate) type Direction = (Box<dyn HeaderKey>, Box<dyn PacketKey>);

/// The keys that quinn holds for a connection.
#[derive(Default)]
pub(crate) struct Keyring {
    pub(crate) initial: Option<Keys>,
    pub(crate) early: Option<Direction>,
    pub(crate) handshake: Option<Keys>,
    pub(crate) application: Option<Keys>,
    /// The keys of the next key phase.
    pub(crate) next: Option<KeyPair<Box<dyn PacketKey>>>,
}

/// Writes a packet without protection, with room for the tag.
pub(crate) fn write(packet: &mut Vec<u8>, number: u64, frames: &[u8]) {
    packet.clear();
    // A short header with a packet number of two bytes. RFC 9000 17.3.1
    packet.push(0x41);
    packet.extend_from_slice(&[0xc1; NUMBER_AT - 1]);
    let [.., high, low] = number.to_be_bytes();
    packet.extend_from_slice(&[high, low]);
    packet.extend_from_slice(frames);
    packet.resize(packet.len() + PACKET_TAG, 0);
}

/// Seals a packet.
pub(crate) fn seal(header: &dyn HeaderKey, key: &dyn PacketKey, number: u64, packet: &mut [u8]) {
    key.encrypt(number, packet, PACKET_HEADER);
    header.encrypt(NUMBER_AT, packet);
}

/// Removes the protection of a packet's header.
pub(crate) fn open_header(header: &dyn HeaderKey, packet: &mut BytesMut) {
    header.decrypt(NUMBER_AT, packet);
}

/// Splits a packet with a clear header, as quinn does, into the header and the rest.
pub(crate) fn split(mut packet: BytesMut) -> (Bytes, BytesMut) {
    let header = packet.split_to(PACKET_HEADER);
    (header.freeze(), packet)
}

/// Whether the header is that of a packet with this number.
pub(crate) fn has_number(header: &[u8], number: u64) -> bool {
    let [.., high, low] = number.to_be_bytes();
    header.get(NUMBER_AT..) == Some(&[high, low])
}

/// Opens a packet of a connection and returns its frames.
pub(crate) fn open(
    header: &dyn HeaderKey,
    key: &dyn PacketKey,
    number: u64,
    packet: &[u8],
) -> Result<BytesMut> {
    let mut packet = BytesMut::from(packet);
    open_header(header, &mut packet);
    let (header, mut payload) = split(packet);
    if !has_number(&header, number) {
        return Err("another packet number".into());
    }
    key.decrypt(number, &header, &mut payload).map_err(|_| "a packet is not authentic")?;
    Ok(payload)
}
