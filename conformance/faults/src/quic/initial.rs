//! Connections that begin with Initial packets, and do not continue.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tercel::quic::{DirectionKeys, Handshake, Level, Next, PacketKey, Version, initial_keys};
use tercel::{ClientConfig, ServerName, Side};

/// The CRYPTO data of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A ClientHello.
    Hello,
    /// Frames that overlap and leave holes, never with the first byte.
    Holes,
    /// Frames farther from the start than any handshake is long.
    BeyondLimit,
    /// A ClientHello with a ticket of thousands of bytes, which the server cannot decrypt.
    HugeTicket,
}

/// The shortest datagram with an Initial packet. RFC 9000 14.1
const DATAGRAM: usize = 1200;

/// The length of the packet number, of connection IDs, and of the ticket.
const NUMBER: usize = 4;
const ID: usize = 8;
const TICKET: usize = 12_000;

/// The most bytes of CRYPTO data in a packet.
const DATA: usize = 1000;

/// Frames of a connection with holes, and the last byte at which one may begin.
const FRAMES: usize = 40;
const LAST_OFFSET: u64 = 15_000;

/// Connections between two pauses, so that the server's socket does not lose all of them.
const BURST: usize = 50;

/// Sends this number of connections.
pub(super) fn send(
    shape: Shape,
    connections: usize,
    server: SocketAddr,
    tls: &Arc<ClientConfig>,
) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let hello = client_hello(tls)?;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for connection in 0..connections {
        let id = random.next().to_be_bytes();
        let keys = initial_keys(Version::V1, &id, Side::Client)?.local;
        for (number, (offset, data)) in (0..).zip(frames(shape, &hello, &mut random)) {
            let datagram = datagram(&keys, id, number, offset, &data)?;
            // A full buffer loses packets, as networks do.
            _ = socket.send_to(&datagram, server);
        }
        if connection % BURST == 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

/// The CRYPTO frames of a connection: the offset and the data of each.
fn frames(shape: Shape, hello: &[u8], random: &mut Random) -> Vec<(u64, Vec<u8>)> {
    match shape {
        Shape::Hello => in_order(hello),
        Shape::HugeTicket => in_order(&with_huge_ticket(hello)),
        Shape::BeyondLimit => vec![(1 << 20, vec![0; DATA])],
        Shape::Holes => {
            let mut frame = || {
                let length = 1 + random.next() % 64;
                (1 + random.next() % LAST_OFFSET, vec![1; usize::try_from(length).unwrap_or(1)])
            };
            (0..FRAMES).map(|_| frame()).collect()
        }
    }
}

fn in_order(data: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let chunks = data.chunks(DATA).enumerate();
    chunks.map(|(index, chunk)| ((index * DATA) as u64, chunk.to_vec())).collect()
}

fn client_hello(tls: &Arc<ClientConfig>) -> Result<Vec<u8>> {
    let name = ServerName::try_from(super::NAME)?.to_owned();
    // initial_source_connection_id is mandatory. RFC 9000 7.3
    let parameters = [&[0x0f, 8][..], &SOURCE_ID].concat();
    let mut handshake = Handshake::client(tls, name, Version::V1, parameters)?;
    loop {
        match handshake.advance()? {
            Next::Send(Level::Initial, data) => return Ok(data),
            Next::Receive => anyhow::bail!("no ClientHello"),
            _ => {}
        }
    }
}

const SOURCE_ID: [u8; ID] = [0x5c; ID];

/// Adds the extension pre_shared_key, which is the last, with one identity. RFC 9846 4.2.11
fn with_huge_ticket(hello: &[u8]) -> Vec<u8> {
    let two = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    let identity = [&two(TICKET)[..], &vec![0x74; TICKET], &[0; 4]].concat();
    let binders = [&[0, 33, 32][..], &[0xbb; 32]].concat();
    let body = [&two(identity.len())[..], &identity, &binders].concat();
    let extension = [&[0, 41][..], &two(body.len()), &body].concat();
    let mut longer = [hello, &extension].concat();
    // The length of the message, and that of the extensions, which follow version, random value,
    // session ID, suites and compression methods.
    let length = u32::try_from(longer.len() - 4).unwrap_or(u32::MAX).to_be_bytes();
    longer[1..4].copy_from_slice(&length[1..]);
    let mut at = 4 + 2 + 32;
    at += 1 + usize::from(longer[at]);
    at += 2 + usize::from(u16::from_be_bytes([longer[at], longer[at + 1]]));
    at += 1 + usize::from(longer[at]);
    let extensions = two(longer.len() - at - 2);
    longer[at..at + 2].copy_from_slice(&extensions);
    longer
}

/// A datagram with one Initial packet that has one CRYPTO frame. RFC 9000 17.2.2, 19.6
fn datagram(
    keys: &DirectionKeys,
    id: [u8; ID],
    number: u32,
    offset: u64,
    data: &[u8],
) -> Result<Vec<u8>> {
    let mut packet = vec![0xc0 | 3, 0, 0, 0, 1, 8];
    packet.extend_from_slice(&id);
    packet.push(8);
    packet.extend_from_slice(&SOURCE_ID);
    // No token.
    packet.push(0);
    let rest = DATAGRAM.checked_sub(packet.len() + 2).context("a long header")?;
    packet.extend_from_slice(&(0x4000 | u16::try_from(rest)?).to_be_bytes());
    let number_at = packet.len();
    packet.extend_from_slice(&number.to_be_bytes());
    let header = packet.clone();
    packet.push(0x06);
    packet.extend_from_slice(&(0x8000_0000 | u32::try_from(offset)?).to_be_bytes());
    packet.extend_from_slice(&(0x4000 | u16::try_from(data.len())?).to_be_bytes());
    packet.extend_from_slice(data);
    // Padding, and room for the tag.
    packet.resize(DATAGRAM, 0);
    let payload = packet.get_mut(number_at + NUMBER..).context("no payload")?;
    keys.packet.seal(number.into(), &header, payload)?;
    anyhow::ensure!(
        payload.len() > PacketKey::TAG_LEN && keys.header.protect(number_at, &mut packet)
    );
    Ok(packet)
}

/// Numbers that are the same in each run: xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_opened_by_a_server() {
        let keys = |side| initial_keys(Version::V1, &[7; ID], side).unwrap();
        let sent = datagram(&keys(Side::Client).local, [7; ID], 5, 9, b"data").unwrap();
        assert_eq!(sent.len(), DATAGRAM);
        let (mut received, keys) = (sent, keys(Side::Server).remote);
        let number_at = 6 + ID + 1 + ID + 1 + 2;
        assert!(keys.header.unprotect(number_at, &mut received));
        let (header, payload) = received.split_at_mut(number_at + NUMBER);
        assert_eq!(header[number_at..], [0, 0, 0, 5]);
        let length = keys.packet.open(5, header, payload).unwrap();
        assert_eq!(payload[..11], [6, 0x80, 0, 0, 9, 0x40, 4, b'd', b'a', b't', b'a']);
        assert!(payload[11..length].iter().all(|byte| *byte == 0));
    }
}
