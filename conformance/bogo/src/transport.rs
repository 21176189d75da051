//! The socket to the runner.
//!
//! Must not know: TLS. Next: [`crate::run`], which moves records over it.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};

use tercel::Received;
use tercel::wire::{ContentType, HandshakeType};

use crate::options::Options;

/// A connection to the runner, read in pieces as small as the test wants.
pub(crate) struct Transport {
    socket: TcpStream,
    /// With `-async`: every byte arrives alone.
    byte_by_byte: bool,
    /// Bytes read from the socket that have not arrived yet.
    waiting: Vec<u8>,
    arrived: usize,
    /// The content types of the whole records that arrived byte by byte, and the record that has begun.
    records: Vec<u8>,
    begun: Vec<u8>,
    /// Bytes that the transport has not accepted yet.
    withheld: Vec<u8>,
}

impl Transport {
    /// Connects: the shim is the TCP client whichever side it plays, and says who it is.
    pub(crate) fn connect(options: &Options) -> io::Result<Self> {
        let address: SocketAddr = if options.ipv6 {
            (Ipv6Addr::LOCALHOST, options.port).into()
        } else {
            (Ipv4Addr::LOCALHOST, options.port).into()
        };
        let mut socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.write_all(&options.shim_id.to_le_bytes())?;
        Ok(Self {
            socket,
            byte_by_byte: options.asynchronous,
            waiting: Vec::new(),
            arrived: 0,
            records: Vec::new(),
            begun: Vec::new(),
            withheld: Vec::new(),
        })
    }

    /// Receives something; `false` at the end of input.
    pub(crate) fn receive(&mut self, received: &mut Received) -> io::Result<bool> {
        if !self.byte_by_byte {
            return Ok(received.read_from(&mut self.socket)? > 0);
        }
        if self.arrived == self.waiting.len() {
            self.waiting.resize(CHUNK, 0);
            let count = self.socket.read(&mut self.waiting)?;
            self.waiting.truncate(count);
            self.arrived = 0;
        }
        let Some(byte) = self.waiting.get(self.arrived) else { return Ok(false) };
        received.extend(&[*byte]);
        self.begun.push(*byte);
        if let [kind, _, _, high, low, content @ ..] = self.begun.as_slice() {
            if content.len() == usize::from(u16::from_be_bytes([*high, *low])) {
                self.records.push(*kind);
                self.begun.clear();
            }
        }
        self.arrived += 1;
        Ok(true)
    }

    /// Whether the handshake message of this type has arrived from a server of TLS 1.3 that puts each in a
    /// record of its own: the first is in clear, the second in the first protected record.
    pub(crate) fn passed(&self, message: u8) -> bool {
        match HandshakeType(message) {
            HandshakeType::SERVER_HELLO => self.records.contains(&ContentType::HANDSHAKE.0),
            HandshakeType::ENCRYPTED_EXTENSIONS => {
                self.records.contains(&ContentType::APPLICATION_DATA.0)
            }
            _ => false,
        }
    }

    /// Sends and empties `out`, behind what was withheld before.
    pub(crate) fn send(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let withheld = std::mem::take(&mut self.withheld);
        let sent = self.socket.write_all(&withheld).and_then(|()| self.socket.write_all(out));
        out.clear();
        sent
    }

    /// Sends one byte of `out` only; the rest leaves ahead of whatever is sent next.
    pub(crate) fn send_one_byte(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.withheld = out.split_off(out.len().min(1));
        let sent = self.socket.write_all(out);
        out.clear();
        sent
    }

    /// Ends the connection so that the runner sees everything sent: closing a socket with unread input
    /// would destroy what is on its way, an alert first of all.
    pub(crate) fn finish(mut self) {
        let mut rest = [0; CHUNK];
        // The connection is over either way; there is nobody to tell of an error.
        let _ = self.socket.shutdown(Shutdown::Write);
        while matches!(self.socket.read(&mut rest), Ok(count) if count > 0) {}
    }
}

const CHUNK: usize = 4096;
