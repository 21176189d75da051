//! One end of a connection, with the calls of quinn.

use lab_scenario::{Endpoint, Outcome, Result, Row, Sink};
use quinn_proto::Side;
use quinn_proto::crypto::{Keys, Session};

use crate::keys::{self, FRAMES, Keyring};
use crate::messages::Seen;
use crate::units::{self, Kind, Units};

/// One end of a connection.
pub(crate) struct End {
    session: Box<dyn Session>,
    side: Side,
    /// The level of the CRYPTO data to send.
    level: Kind,
    keys: Keyring,
    /// Numbers of the next packet to send and to receive.
    sent: u64,
    received: u64,
    early_data: usize,
    has_parameters: bool,
    seen: Seen,
}

/// Data between the library and the transport.
pub(crate) struct Buffers {
    received: Vec<u8>,
    sent: Vec<(Kind, Vec<u8>)>,
}

impl End {
    pub(crate) fn new(session: Box<dyn Session>, initial: Keys, side: Side) -> Self {
        let keys = Keyring { initial: Some(initial), ..Keyring::default() };
        let (level, seen) = (Kind::Initial, Seen::default());
        let (sent, received, early_data, has_parameters) = (0, 0, 0, false);
        Self { session, side, level, keys, sent, received, early_data, has_parameters, seen }
    }

    pub(crate) fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// Takes CRYPTO data and keys until there are no more.
    fn write(&mut self, buffers: &mut Buffers) -> Result<()> {
        loop {
            let (level, mut data) = (self.level, Vec::new());
            match self.session.write_handshake(&mut data) {
                Some(keys) => self.take(keys)?,
                None if data.is_empty() => return Ok(()),
                None => {}
            }
            if !data.is_empty() {
                buffers.sent.push((level, data));
            }
        }
    }

    fn take(&mut self, keys: Keys) -> Result<()> {
        match self.level {
            Kind::Initial => (self.level, self.keys.handshake) = (Kind::Handshake, Some(keys)),
            _ => {
                (self.level, self.keys.application) = (Kind::Application, Some(keys));
                let next = self.session.next_1rtt_keys().ok_or("no keys of the next phase")?;
                self.keys.next = Some(next);
            }
        }
        Ok(())
    }

    fn read(&mut self, data: &[u8]) -> Result<()> {
        self.session.read_handshake(data)?;
        if self.side.is_server() && self.keys.early.is_none() {
            self.keys.early = self.session.early_crypto();
        }
        // A client learns them from the server's answer, a server from the first flight.
        if !self.has_parameters && (self.side.is_server() || !self.session.is_handshaking()) {
            self.has_parameters = self.session.transport_parameters()?.is_some();
        }
        if !self.session.is_handshaking() {
            // Quinn discards them when the handshake is confirmed.
            (self.keys.initial, self.keys.handshake) = (None, None);
        }
        Ok(())
    }

    fn early_packet(&mut self, packet: &[u8]) -> Result<()> {
        let (header, key) = self.keys.early.as_ref().ok_or("early data was rejected")?;
        let frames = keys::open(&**header, &**key, self.received, packet)?;
        self.early_data += frames.len();
        self.received += 1;
        Ok(())
    }
}

impl Endpoint for End {
    type Buffers = Buffers;

    fn buffers(_: &Row, capacity: usize) -> Buffers {
        Buffers { received: Vec::with_capacity(capacity), sent: Vec::with_capacity(8) }
    }

    fn deliver(&mut self, buffers: &mut Buffers, bytes: &[u8]) -> Result<usize> {
        buffers.received.extend_from_slice(bytes);
        if self.side.is_client() {
            for unit in Units(bytes) {
                let (kind, content) = unit?;
                self.seen.read(kind, content)?;
            }
        }
        Ok(bytes.len())
    }

    fn advance(&mut self, buffers: &mut Buffers) -> Result<()> {
        let received = std::mem::take(&mut buffers.received);
        for unit in Units(&received) {
            match unit? {
                (Kind::EarlyPacket, packet) => self.early_packet(packet)?,
                (Kind::Packet, _) => return Err("a packet in a handshake".into()),
                (_, data) => self.read(data)?,
            }
            self.write(buffers)?;
        }
        if received.is_empty() {
            self.write(buffers)?;
        }
        buffers.received = received;
        buffers.received.clear();
        Ok(())
    }

    fn collect(&mut self, buffers: &mut Buffers, wire: &mut Vec<u8>) -> Result<()> {
        for (kind, data) in buffers.sent.drain(..) {
            if self.side.is_server() {
                self.seen.read(kind, &data)?;
            }
            units::write(wire, kind, &data)?;
        }
        Ok(())
    }

    fn send_early(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let (header, key) = self.session.early_crypto().ok_or("early data is not allowed")?;
        // Quinn needs the parameters of the session for 0-RTT packets.
        self.session.transport_parameters()?.ok_or("no remembered transport parameters")?;
        for frames in data.chunks(FRAMES) {
            let mut packet = Vec::new();
            keys::write(&mut packet, self.sent, frames);
            keys::seal(&*header, &*key, self.sent, &mut packet);
            self.sent += 1;
            buffers.sent.push((Kind::EarlyPacket, packet));
        }
        self.keys.early = Some((header, key));
        Ok(())
    }

    fn outcome(&self) -> Result<Outcome> {
        if self.session.is_handshaking() || !self.has_parameters {
            return Err("not connected".into());
        }
        self.seen.outcome(self.early_data)
    }

    fn send(&mut self, buffers: &mut Buffers, data: &[u8]) -> Result<()> {
        let keys = self.keys.application.as_ref().ok_or("not connected")?;
        for frames in data.chunks(FRAMES) {
            let mut packet = Vec::new();
            keys::write(&mut packet, self.sent, frames);
            keys::seal(&*keys.header.local, &*keys.packet.local, self.sent, &mut packet);
            self.sent += 1;
            buffers.sent.push((Kind::Packet, packet));
        }
        Ok(())
    }

    fn receive(&mut self, buffers: &mut Buffers, sink: Sink<'_>) -> Result<()> {
        let keys = self.keys.application.as_ref().ok_or("not connected")?;
        for unit in Units(&buffers.received) {
            let (Kind::Packet, packet) = unit? else { return Err("no packet".into()) };
            let (header, key) = (&*keys.header.remote, &*keys.packet.remote);
            sink(&keys::open(header, key, self.received, packet)?);
            self.received += 1;
        }
        buffers.received.clear();
        Ok(())
    }
}
