//! A client and a server in one thread, connected in memory.
//!
//! [`Pair`] runs two handshakes against each other, with any division of the bytes and with a tap
//! on each direction. [`Ends`] transfers data afterwards.

use std::sync::Arc;

use tercel::{
    Answer, ClientConfig, Connection, Error, Handshake, Next, Opened, Question, ReceiveBuffer,
    ServerConfig, ServerName, Side,
};

/// The initial capacity of the buffers, in bytes.
const BUFFER: usize = 8192;

/// The number of bytes that are delivered at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Delivery {
    /// All bytes that were sent.
    Whole,
    /// One byte.
    Bytes,
    /// A pseudo-random number of bytes from this seed.
    Pieces(u64),
}

/// A function that is called with the bytes that one side sends. It may change them.
type Tap<'t> = Box<dyn FnMut(&mut Vec<u8>) + 't>;
type Resolve<'t> = Box<dyn FnMut(Side, Question) -> Answer + 't>;
/// A function that is called with each call of `advance`, and makes this call. It may measure it.
type Meter<'t> = Box<dyn FnMut(Side, &mut dyn FnMut()) + 't>;

/// Two handshakes before their start.
pub(crate) struct Pair<'t> {
    client: Handshake,
    server: Handshake,
    delivery: Delivery,
    to_server: Tap<'t>,
    to_client: Tap<'t>,
    resolve: Resolve<'t>,
    meter: Meter<'t>,
}

/// Both ends of a connection.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) client: End,
    pub(crate) server: End,
}

/// One end, with received bytes that were not read.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) connection: Connection,
    pub(crate) received: ReceiveBuffer,
}

/// The failure of a handshake, with the error of each side that reports one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) client: Option<Error>,
    pub(crate) server: Option<Error>,
}

impl<'t> Pair<'t> {
    pub(crate) fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, name: &str) -> Self {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let client = Handshake::client(Arc::clone(client), name);
        Self::of(client, Handshake::server(Arc::clone(server)))
    }

    /// Two handshakes that the caller has created.
    pub(crate) fn of(client: Handshake, server: Handshake) -> Self {
        Self {
            client,
            server,
            delivery: Delivery::Whole,
            to_server: Box::new(|_| {}),
            to_client: Box::new(|_| {}),
            resolve: Box::new(|side, question| panic!("{side:?} asks {question:?}")),
            meter: Box::new(|_, advance| advance()),
        }
    }

    /// Two handshakes, whose client distinguishes servers by port.
    pub(crate) fn at(
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
        name: &str,
        port: u16,
    ) -> Self {
        let to = ServerName::try_from(name.to_owned()).unwrap();
        let client = Handshake::client_with_port(Arc::clone(client), to, port);
        Self::of(client, Handshake::server(Arc::clone(server)))
    }

    pub(crate) fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    pub(crate) fn tap_to_server(mut self, tap: impl FnMut(&mut Vec<u8>) + 't) -> Self {
        self.to_server = Box::new(tap);
        self
    }

    pub(crate) fn tap_to_client(mut self, tap: impl FnMut(&mut Vec<u8>) + 't) -> Self {
        self.to_client = Box::new(tap);
        self
    }

    pub(crate) fn answering(mut self, resolve: impl FnMut(Side, Question) -> Answer + 't) -> Self {
        self.resolve = Box::new(resolve);
        self
    }

    /// Only the measuring examples set a meter.
    #[allow(dead_code)]
    pub(crate) fn metered(mut self, meter: impl FnMut(Side, &mut dyn FnMut()) + 't) -> Self {
        self.meter = Box::new(meter);
        self
    }

    /// Runs both handshakes to completion.
    pub(crate) fn connect(self) -> Result<Ends, Failure> {
        let Self { client, server, delivery, .. } = self;
        let Self { mut to_server, mut to_client, mut resolve, mut meter, .. } = self;
        let mut client = Party::new(Side::Client, client, delivery);
        let mut server = Party::new(Side::Server, server, delivery);
        loop {
            let sent = client.step(&mut resolve, &mut meter, &mut to_server);
            server.wire.extend(&sent);
            let arrived = server.receive();
            let answered = server.step(&mut resolve, &mut meter, &mut to_client);
            client.wire.extend(&answered);
            let arrived = client.receive() | arrived;
            let over = client.over() && server.over();
            if !arrived && sent.is_empty() && answered.is_empty() && (over || client.stuck()) {
                break;
            }
        }
        match (client.result, server.result) {
            (Some(Ok(connection)), Some(Ok(answering))) => Ok(Ends {
                client: End { connection, received: client.received },
                server: End { connection: answering, received: server.received },
            }),
            (client, server) => Err(Failure {
                client: client.and_then(Result::err),
                server: server.and_then(Result::err),
            }),
        }
    }
}

struct Party {
    side: Side,
    handshake: Handshake,
    delivery: Delivery,
    /// Bytes sent to this party and not yet delivered.
    wire: Vec<u8>,
    received: ReceiveBuffer,
    result: Option<Result<Connection, Error>>,
    idle: bool,
}

impl Party {
    fn new(side: Side, handshake: Handshake, delivery: Delivery) -> Self {
        let (wire, received) = (Vec::new(), ReceiveBuffer::with_capacity(BUFFER));
        Self { side, handshake, delivery, wire, received, result: None, idle: false }
    }

    /// Advances as far as possible, and returns the bytes to send.
    fn step(
        &mut self,
        resolve: &mut Resolve<'_>,
        meter: &mut Meter<'_>,
        tap: &mut Tap<'_>,
    ) -> Vec<u8> {
        // The buffers are large enough from the start, so that a meter counts no growth of them.
        let mut out = Vec::with_capacity(BUFFER);
        while self.result.is_none() {
            let mut next = Ok(Next::Receive);
            meter(self.side, &mut || {
                next = self.handshake.advance(&mut self.received, &mut out);
            });
            match next {
                Ok(Next::Receive) => break,
                Ok(Next::Answer(question)) => {
                    self.handshake.answer(resolve(self.side, question)).unwrap();
                }
                Ok(Next::Connected(connection)) => self.result = Some(Ok(*connection)),
                Ok(other) => panic!("{other:?}"),
                Err(error) => self.result = Some(Err(error)),
            }
        }
        if !out.is_empty() {
            tap(&mut out);
        }
        out
    }

    /// Delivers the next bytes. Returns `false` if there are no more bytes, or if this party has
    /// ended.
    fn receive(&mut self) -> bool {
        let count = self.delivery.next(self.wire.len());
        self.idle = count == 0;
        let piece: Vec<u8> = self.wire.drain(..count).collect();
        self.received.extend(&piece);
        count > 0
    }

    fn over(&self) -> bool {
        self.result.is_some()
    }

    fn stuck(&self) -> bool {
        self.idle
    }
}

impl Delivery {
    /// The number of available bytes that are delivered next.
    fn next(&mut self, available: usize) -> usize {
        match self {
            Self::Whole => available,
            Self::Bytes => available.min(1),
            Self::Pieces(state) => {
                // A linear congruential generator is random enough.
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let most = [1, 3, 17, 200, 5000][(*state >> 60) as usize % 5];
                available.min(1 + (*state >> 33) as usize % most)
            }
        }
    }
}

impl Ends {
    /// Sends `data` from one side and returns what the other side reads.
    pub(crate) fn transfer(&mut self, from: Side, data: &[u8], delivery: Delivery) -> Vec<u8> {
        let (from, to) = self.both(from);
        let mut wire = Vec::new();
        from.connection.sender.seal_to(data, &mut wire).unwrap();
        to.read(&wire, delivery).unwrap()
    }

    /// Both ends, with this side's first.
    pub(crate) fn both(&mut self, first: Side) -> (&mut End, &mut End) {
        match first {
            Side::Client => (&mut self.client, &mut self.server),
            Side::Server => (&mut self.server, &mut self.client),
        }
    }

    /// Transfers data in both directions.
    pub(crate) fn talk(&mut self) {
        assert_eq!(self.transfer(Side::Client, b"question", Delivery::Whole), b"question");
        assert_eq!(self.transfer(Side::Server, b"answer", Delivery::Whole), b"answer");
    }
}

impl End {
    /// Reads all data in `wire`, delivered in this way.
    pub(crate) fn read(
        &mut self,
        mut wire: &[u8],
        mut delivery: Delivery,
    ) -> Result<Vec<u8>, Error> {
        let mut data = Vec::new();
        loop {
            match self.connection.receiver.open(&mut self.received)? {
                Opened::Data(piece) => data.extend_from_slice(piece),
                Opened::More if !wire.is_empty() => {
                    let (now, later) = wire.split_at(delivery.next(wire.len()));
                    self.received.extend(now);
                    wire = later;
                }
                _ => return Ok(data),
            }
        }
    }
}

/// The records in these bytes: type and fragment.
pub(crate) fn records(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut records = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<5>() {
        let (fragment, rest) = rest.split_at(u16::from_be_bytes([header[3], header[4]]).into());
        records.push((header[0], fragment.to_vec()));
        bytes = rest;
    }
    records
}

/// The body of the handshake message at the start of these bytes.
pub(crate) fn first_message(bytes: &[u8]) -> Vec<u8> {
    let content: Vec<u8> = records(bytes).into_iter().flat_map(|(_, fragment)| fragment).collect();
    let length = usize::from(u16::from_be_bytes([content[2], content[3]]));
    content[4..4 + length].to_vec()
}
