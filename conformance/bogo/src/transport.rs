//! The socket to the runner.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};

use tercel::ReceiveBuffer;
use tercel_wire::{ContentType, HandshakeType};

use crate::options::Options;

/// A connection to the runner that delivers input in parts as small as the test requires.
pub(crate) struct Transport {
    socket: TcpStream,
    /// With `-async`, input is delivered byte by byte.
    byte_by_byte: bool,
    /// Bytes that were read from the socket and not delivered.
    waiting: Vec<u8>,
    arrived: usize,
    /// The content types of the complete records delivered byte by byte, and the incomplete record.
    records: Vec<u8>,
    begun: Vec<u8>,
    /// Bytes that are withheld from the socket.
    withheld: Vec<u8>,
}

impl Transport {
    pub(crate) fn connect(options: &Options) -> io::Result<Self> {
        Ok(Self {
            socket: connect(options)?,
            byte_by_byte: options.asynchronous,
            waiting: Vec::new(),
            arrived: 0,
            records: Vec::new(),
            begun: Vec::new(),
            withheld: Vec::new(),
        })
    }

    /// Receives some bytes. Returns `false` at the end of input.
    pub(crate) fn receive(&mut self, received: &mut ReceiveBuffer) -> io::Result<bool> {
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

    /// Whether the handshake message of this type was delivered. This works for a TLS 1.3 server
    /// that puts each message in its own record. The first message is in plaintext, the second in
    /// the first protected record.
    pub(crate) fn passed(&self, message: u8) -> bool {
        match HandshakeType(message) {
            HandshakeType::SERVER_HELLO => self.records.contains(&ContentType::HANDSHAKE.0),
            HandshakeType::ENCRYPTED_EXTENSIONS => {
                self.records.contains(&ContentType::APPLICATION_DATA.0)
            }
            _ => false,
        }
    }

    /// Sends the withheld bytes and `out`, and empties `out`.
    pub(crate) fn send(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let withheld = std::mem::take(&mut self.withheld);
        let sent = self.socket.write_all(&withheld).and_then(|()| self.socket.write_all(out));
        out.clear();
        sent
    }

    /// Sends one byte of `out`, and withholds the rest until the next call.
    pub(crate) fn send_one_byte(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.withheld = out.split_off(out.len().min(1));
        let sent = self.socket.write_all(out);
        out.clear();
        sent
    }

    pub(crate) fn finish(self) {
        finish(self.socket);
    }
}

/// Connects: the shim is the TCP client in both roles, and sends its ID first.
pub(crate) fn connect(options: &Options) -> io::Result<TcpStream> {
    let address: SocketAddr = if options.ipv6 {
        (Ipv6Addr::LOCALHOST, options.port).into()
    } else {
        (Ipv4Addr::LOCALHOST, options.port).into()
    };
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    socket.write_all(&options.shim_id.to_le_bytes())?;
    Ok(socket)
}

/// Closes the connection so that the runner receives all bytes. Closing a socket with unread input
/// would discard bytes in transit, such as an alert.
pub(crate) fn finish(mut socket: TcpStream) {
    let mut rest = [0; CHUNK];
    // The connection has ended in any case, so errors are ignored.
    let _ = socket.shutdown(Shutdown::Write);
    while matches!(socket.read(&mut rest), Ok(count) if count > 0) {}
}

const CHUNK: usize = 4096;
