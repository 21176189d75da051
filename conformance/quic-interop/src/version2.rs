//! A client of QUIC version 2 (RFC 9369), which quinn does not have: on `tercel::quic` directly.
//!
//! It makes one handshake and one exchange over loopback, so it has neither loss recovery nor flow
//! control. Its packets are those of RFC 9000 17, with the types of RFC 9369 3.2.

mod frames;
mod packets;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tercel_quinn::tercel::quic::{self, Handshake, Keys, Level, Next, Version};
use tercel_quinn::tercel::{ServerName, Side};

use crate::facts::Facts;
use crate::options::Options;
use crate::stacks;
use frames::Frame;
use packets::{Header, Received};

/// Makes the connection, and prints its facts.
pub(crate) fn connect(options: &Options) -> Result<()> {
    let mut facts = Facts::default();
    facts.set("version", "2");
    match exchange(options) {
        Ok(()) => facts.set("exchanges", 1),
        Err(error) => {
            eprintln!("{error:#}");
            facts.set("failed", format!("{error:#}").replace(char::is_whitespace, "_"));
        }
    }
    println!("{facts}");
    Ok(())
}

fn exchange(options: &Options) -> Result<()> {
    let config = stacks::tercel_client(options)?;
    let name = ServerName::try_from("localhost")?;
    let mut connection = Connection::new(options.port)?;
    let parameters = frames::transport_parameters(&connection.header.source);
    let mut handshake = Handshake::client(&config, name, VERSION, parameters)?;
    loop {
        match handshake.advance()? {
            Next::Send(level, data) => connection.send_crypto(level, &data)?,
            Next::HandshakeKeys(keys) => connection.spaces[1].keys = Some(*keys),
            Next::ApplicationKeys(keys, _) => connection.spaces[2].keys = Some(*keys),
            Next::Receive => {
                let level = handshake.read_level();
                let data = connection.receive_crypto(level)?;
                handshake.receive(level, &data)?;
            }
            Next::Connected(_) => break,
            other => bail!("{other:?}"),
        }
    }
    connection.send(2, &frames::stream(WORD))?;
    while !(connection.handshake_is_done && connection.stream_has_ended) {
        connection.receive()?;
    }
    ensure!(connection.stream == WORD, "received {} other bytes", connection.stream.len());
    connection.send(2, &frames::close())
}

const WORD: &[u8] = b"bytes over version 2";

const VERSION: Version = Version::V2;

/// A packet number space. RFC 9000 12.3
#[derive(Default)]
struct Space {
    keys: Option<Keys>,
    sent: u64,
    /// The numbers of received packets that were not acknowledged.
    unacknowledged: Vec<u64>,
    largest: Option<u64>,
    crypto_sent: u64,
    crypto_received: u64,
    /// CRYPTO data by offset.
    crypto: BTreeMap<u64, Vec<u8>>,
}

struct Connection {
    socket: UdpSocket,
    header: Header,
    /// Initial, Handshake, and 1-RTT packets.
    spaces: [Space; 3],
    handshake_is_done: bool,
    stream: Vec<u8>,
    stream_has_ended: bool,
}

impl Connection {
    fn new(port: u16) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        // Constant connection IDs suffice for a single connection.
        let header = Header { version: VERSION, destination: vec![0xd5; 8], source: vec![0x5c; 8] };
        let mut spaces: [Space; 3] = Default::default();
        spaces[0].keys = Some(quic::initial_keys(VERSION, &header.destination, Side::Client)?);
        let (handshake_is_done, stream_has_ended) = (false, false);
        Ok(Self { socket, header, spaces, handshake_is_done, stream: Vec::new(), stream_has_ended })
    }

    /// Sends one packet with these frames, and an acknowledgement.
    fn send(&mut self, space: usize, frames: &[u8]) -> Result<()> {
        let state = &mut self.spaces[space];
        let mut payload = frames::acknowledge(&std::mem::take(&mut state.unacknowledged));
        payload.extend_from_slice(frames);
        // Datagrams with Initial packets have at least 1,200 bytes. RFC 9000 14.1
        payload.resize(payload.len().max(if space == 0 { 1160 } else { 4 }), 0);
        let keys = state.keys.as_ref().context("no keys")?;
        let packet = self.header.seal(space, state.sent, &payload, &keys.local)?;
        state.sent += 1;
        self.socket.send(&packet)?;
        Ok(())
    }

    fn send_crypto(&mut self, level: Level, data: &[u8]) -> Result<()> {
        let space = space_of(level);
        for piece in data.chunks(1000) {
            let offset = self.spaces[space].crypto_sent;
            self.spaces[space].crypto_sent += piece.len() as u64;
            self.send(space, &frames::crypto(offset, piece))?;
        }
        Ok(())
    }

    /// The next CRYPTO data of this level.
    fn receive_crypto(&mut self, level: Level) -> Result<Vec<u8>> {
        loop {
            let space = &mut self.spaces[space_of(level)];
            if let Some(data) = space.crypto.remove(&space.crypto_received) {
                space.crypto_received += data.len() as u64;
                return Ok(data);
            }
            self.receive()?;
        }
    }

    /// Receives a datagram, and acknowledges its packets.
    fn receive(&mut self) -> Result<()> {
        let mut datagram = vec![0; 65_536];
        let length = self.socket.recv(&mut datagram).context("nothing received")?;
        datagram.truncate(length);
        while !datagram.is_empty() {
            let Some(received) = self.header.split(&mut datagram)? else { break };
            self.packet(received)?;
        }
        for space in 0..3 {
            if !self.spaces[space].unacknowledged.is_empty() {
                self.send(space, &[])?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, received: Received) -> Result<()> {
        let space = received.space;
        let state = &mut self.spaces[space];
        // A packet may overtake the one with the data from which its keys are derived. It is
        // repeated by the server.
        let Some(keys) = &state.keys else { return Ok(()) };
        let Some(opened) = received.open(&keys.remote, state.largest)? else { return Ok(()) };
        let is_new = state.largest.is_none_or(|largest| opened.number > largest);
        state.largest = if is_new { Some(opened.number) } else { state.largest };
        if let Some(source) = opened.source {
            // The server chooses the ID of later packets. RFC 9000 7.2
            self.header.destination = source;
        }
        let mut elicits = false;
        for frame in frames::parse(&opened.payload)? {
            elicits |= frame.elicits_acknowledgement();
            match frame {
                Frame::Crypto(offset, data) => {
                    self.spaces[space].crypto.insert(offset, data);
                }
                Frame::Stream(data, is_end) => {
                    self.stream.extend(data);
                    self.stream_has_ended |= is_end;
                }
                Frame::HandshakeDone => self.handshake_is_done = true,
                Frame::Close(code) => bail!("closed with code {code:#06x}"),
                Frame::Acknowledgement | Frame::Other => {}
            }
        }
        if elicits {
            self.spaces[space].unacknowledged.push(opened.number);
        }
        Ok(())
    }
}

fn space_of(level: Level) -> usize {
    match level {
        Level::Initial => 0,
        Level::Handshake => 1,
        Level::Application => 2,
    }
}
