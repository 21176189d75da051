//! One side of a connection from its first byte to its end, with checks of all invariants.
//!
//! Randomness restarts with the same seed at every call, so that a flight recorded in one run is
//! valid in another.

use tercel::questions::AdmitEarlyDataQuestion;
use tercel::{
    Connection, EarlyData, Error, Filled, Handshake, Next, Opened, ReceiveBuffer, Side,
    error::Misuse,
};
use tercel_crypto::deterministic::with_seed;

use crate::configs;
use crate::two_sided::keys;

/// The length of the largest record. A peer that waits for more input holds less than that.
const MAX_RECORD: usize = 5 + (1 << 14) + 2048;

/// The limit of questions in a handshake, which asks each kind once or twice.
const MAX_QUESTIONS: usize = 16;

/// The length of early data. It is less than half of the limit, so that it can be sent twice.
const EARLY_LENGTH: usize = 40;

/// A client or a server.
pub(crate) struct Peer {
    side: Side,
    config: usize,
    handshake: Handshake,
    pub(crate) connection: Option<Box<Connection>>,
    received: ReceiveBuffer,
    /// The output.
    pub(crate) out: Vec<u8>,
    /// The error that ended the connection, if any.
    pub(crate) error: Option<Error>,
    /// Whether no more data will arrive: the peer closed, or its transport ended and truncation is
    /// tolerated.
    pub(crate) closed: bool,
    /// Whether the peer sent close_notify.
    pub(crate) heard_close: bool,
    /// The size of the buffer into which data is opened; 0 opens in place.
    pub(crate) room: usize,
    buffer: Vec<u8>,
    /// Whether answers to received messages wait for the next data.
    pub(crate) is_lazy: bool,
    /// The number of bytes of application data that were sent.
    pub(crate) sent: usize,
    /// The number of bytes of application data that arrived.
    pub(crate) arrived: usize,
    /// The number of bytes that arrived before the handshake was complete.
    early: usize,
    /// Whether every byte that arrived was the next byte of the other side.
    pub(crate) intact: bool,
}

impl Peer {
    /// A side before its start, with one of the configurations.
    pub(crate) fn new(side: Side, config: usize) -> Self {
        let handshake = with_seed(seed(side), || match side {
            Side::Client => configs::client(config),
            Side::Server => configs::server(config),
        });
        Self {
            side,
            config,
            handshake,
            connection: None,
            received: ReceiveBuffer::new(),
            out: Vec::new(),
            error: None,
            closed: false,
            heard_close: false,
            room: 0,
            buffer: Vec::new(),
            is_lazy: false,
            sent: 0,
            arrived: 0,
            early: 0,
            intact: true,
        }
    }

    /// Receives these bytes, and does everything that they make possible.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.error.is_some() || self.closed {
            return;
        }
        self.received.extend(bytes);
        self.act(|peer| {
            if peer.connection.is_none() {
                peer.advance_handshake();
            }
            if peer.connection.is_some() {
                peer.read();
            }
        });
    }

    /// Calls `action` with the connection, if there is one. A misuse that is refused is not a
    /// fault.
    pub(crate) fn act_connected(
        &mut self,
        action: impl FnOnce(&mut Connection, &mut Vec<u8>) -> Result<(), Error>,
    ) {
        self.act(|peer| {
            let Some(connection) = &mut peer.connection else { return };
            if let Err(error) = action(connection, &mut peer.out) {
                assert!(
                    matches!(error, Error::Misuse(_) | Error::Internal(_)),
                    "sending fails with a local error only: {error:?}"
                );
            }
        });
    }

    /// Sends the next `length` bytes of this side's data.
    pub(crate) fn send(&mut self, length: usize) {
        let data: Vec<u8> =
            (self.sent..self.sent + length).map(|at| byte_at(self.side, at)).collect();
        let mut consumed = 0;
        self.act_connected(|connection, out| {
            connection.sender.seal_to(&data, out)?;
            consumed = length;
            Ok(())
        });
        self.sent += consumed;
    }

    /// Sends data as `send` does, in a slice of `room` bytes, which may be too small.
    pub(crate) fn send_through(&mut self, length: usize, room: usize) {
        let data: Vec<u8> =
            (self.sent..self.sent + length).map(|at| byte_at(self.side, at)).collect();
        let mut consumed = 0;
        self.act_connected(|connection, out| {
            let mut buffer = vec![0; room];
            let sealed = connection.sender.seal(&data, &mut buffer)?;
            assert!(sealed.consumed <= length && sealed.written <= room);
            out.extend_from_slice(&buffer[..sealed.written]);
            consumed = sealed.consumed;
            Ok(())
        });
        self.sent += consumed;
    }

    /// Sends data as `send` does, in a slice of `sealed_length` bytes, which is sufficient.
    pub(crate) fn send_at_once(&mut self, length: usize) {
        let Some(connection) = &self.connection else { return };
        let room = connection.sender.sealed_length(length);
        let sent = self.sent;
        let written = self.out.len();
        self.send_through(length, room);
        if self.out.len() == written || self.sent == sent + length {
            return;
        }
        // Pending output, such as the answer to a close_notify, may be the last bytes that are
        // sent.
        let Some(connection) = &mut self.connection else { return };
        let refused = connection.sender.seal(b"more", &mut [0; 100]);
        assert!(matches!(refused, Err(Error::Internal(_))), "the slice was too small");
    }

    /// Saves and restores the connection, which must have no other effect.
    pub(crate) fn renew(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        self.connection = Some(Box::new(match connection.save() {
            Ok(bytes) => match self.side {
                Side::Client => {
                    Connection::restore_client(&bytes, &configs::client_config(self.config))
                }
                Side::Server => {
                    Connection::restore_server(&bytes, &configs::server_config(self.config))
                }
            }
            .expect("a saved connection is restored"),
            Err(refused) => {
                assert!(self.error.is_some(), "only a failed connection cannot be saved");
                *refused.connection
            }
        }));
    }

    /// Ends the transport.
    pub(crate) fn end(&mut self) {
        let ended = match &mut self.connection {
            Some(connection) => connection.receiver.end_of_input(),
            None => self.handshake.end_of_input(),
        };
        if let Err(error) = ended {
            self.error.get_or_insert(error);
        } else {
            self.closed = true;
        }
        self.check_final();
    }

    /// Whether this side connected and has not failed since.
    pub(crate) fn is_connected(&self) -> bool {
        self.connection.is_some() && self.error.is_none()
    }

    /// The number of bytes of early data that arrived.
    #[cfg(test)]
    pub(crate) fn early_received(&self) -> usize {
        self.early
    }

    fn act(&mut self, action: impl FnOnce(&mut Self)) {
        keys::log_for(self.side, || with_seed(seed(self.side), || action(self)));
    }

    fn advance_handshake(&mut self) {
        for _ in 0..MAX_QUESTIONS {
            match self.handshake.advance(&mut self.received, &mut self.out) {
                Ok(Next::Receive) => {
                    self.send_early();
                    return self.check_waiting();
                }
                Ok(Next::EarlyData(data)) => {
                    assert_eq!(self.side, Side::Server, "only a server reads early data");
                    self.early += data.len();
                    assert!(
                        self.early <= configs::EARLY_DATA as usize,
                        "more early data than allowed"
                    );
                    self.arrive(&data);
                }
                Ok(Next::Answer(question)) => {
                    let misuse = self.handshake.advance(&mut self.received, &mut self.out);
                    assert_eq!(misuse.err(), Some(Misuse::QuestionOpen.into()));
                    let misuse = self.handshake.answer(configs::wrong_answer(&question));
                    assert_eq!(misuse, Err(Misuse::WrongAnswer.into()));
                    let answered = self.handshake.answer(configs::answer(&question));
                    assert_eq!(answered, Ok(()));
                }
                Ok(Next::Connected(connection)) => {
                    // The client has to send rejected early data again.
                    let rejected = connection.info.early_data == EarlyData::Rejected;
                    if rejected && self.side == Side::Client {
                        self.sent = 0;
                    }
                    self.connection = Some(connection);
                    self.check_handshake_ended();
                    return;
                }
                Ok(next) => panic!("unexpected {next:?}"),
                Err(error) => {
                    assert!(!matches!(error, Error::Misuse(_)), "{error:?} is not a misuse");
                    self.error = Some(error);
                    self.check_handshake_ended();
                    return;
                }
            }
        }
        panic!("the handshake does not stop asking");
    }

    /// Sends a little early data if possible: a client in its first flight, a server after its
    /// Finished.
    fn send_early(&mut self) {
        let sender = match self.side {
            Side::Client => self.handshake.early_sender(),
            Side::Server => self.handshake.half_rtt_sender(),
        };
        let Some(sender) = sender.filter(|_| self.sent == 0) else { return };
        let data: Vec<u8> = (0..EARLY_LENGTH).map(|at| byte_at(self.side, at)).collect();
        match sender.seal_to(&data, &mut self.out) {
            Ok(_) => self.sent = EARLY_LENGTH,
            Err(error) => {
                assert!(matches!(error, Error::Misuse(_) | Error::Internal(_)), "{error:?}");
            }
        }
    }

    /// Checks that a handshake that has ended reads and writes nothing.
    fn check_handshake_ended(&mut self) {
        let (unread, written) = (self.received.unread().len(), self.out.len());
        let over = Some(Error::from(Misuse::HandshakeEnded));
        assert_eq!(self.handshake.advance(&mut self.received, &mut self.out).err(), over);
        assert_eq!(self.handshake.answer(AdmitEarlyDataQuestion::answer_from(true)).err(), over);
        assert_eq!(self.handshake.end_of_input().err(), over);
        assert_eq!((self.received.unread().len(), self.out.len()), (unread, written));
    }

    fn read(&mut self) {
        // Each call consumes at least one record, and a record has five bytes.
        let calls = self.received.unread().len() / 5 + 2;
        for _ in 0..calls {
            match self.read_once() {
                Ok(true) => {}
                Ok(false) => {
                    self.check_waiting();
                    if !self.is_lazy {
                        self.send_control();
                    }
                    return;
                }
                Err(error) => {
                    assert!(!matches!(error, Error::Misuse(_)), "{error:?} is not a misuse");
                    self.error = Some(error);
                    self.send_control();
                    self.check_final();
                    return;
                }
            }
        }
        panic!("reading does not end");
    }

    /// Checks that a waiting side holds less than a record, in memory for two records: a partial
    /// record and the previous one.
    fn check_waiting(&mut self) {
        let unread = self.received.unread().len();
        assert!(unread < MAX_RECORD || self.closed, "a complete record was not read");
        let memory = unread + self.received.spare().len();
        assert!(memory <= 2 * MAX_RECORD, "{memory} bytes of memory");
    }

    /// Reads one record. Returns whether there may be more.
    fn read_once(&mut self) -> Result<bool, Error> {
        let Some(connection) = &mut self.connection else { return Ok(false) };
        let mut filled = Filled::TooSmall;
        if self.room > 0 {
            self.buffer.resize(self.room, 0);
            filled = connection.receiver.open_into(&mut self.received, &mut self.buffer)?;
        }
        match filled {
            Filled::Data(length) => {
                let data = self.buffer[..length].to_vec();
                self.arrive(&data);
            }
            Filled::TooSmall => match connection.receiver.open(&mut self.received)? {
                Opened::Data(data) => {
                    let data = data.to_vec();
                    self.arrive(&data);
                }
                Opened::Closed => self.heard_close = true,
                _ => return Ok(false),
            },
            Filled::Closed => self.heard_close = true,
            _ => return Ok(false),
        }
        self.closed = self.heard_close;
        Ok(!self.closed)
    }

    fn arrive(&mut self, data: &[u8]) {
        assert!(!data.is_empty(), "an event without data");
        let other = match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let mut expected = (self.arrived..).map(|at| byte_at(other, at));
        self.intact &= data.iter().all(|byte| Some(*byte) == expected.next());
        self.arrived += data.len();
    }

    fn send_control(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        if let Err(error) = connection.sender.control(&mut self.out) {
            assert!(matches!(error, Error::Internal(_)), "{error:?}");
        }
    }

    /// Checks that a receiver that failed or was closed remains in that state, and that a failure
    /// stops the sender.
    fn check_final(&mut self) {
        let Some(connection) = &mut self.connection else { return self.check_handshake_ended() };
        let mut room = [0; 64];
        let unread = self.received.unread().len();
        let again = connection.receiver.open(&mut self.received).map(|opened| match opened {
            Opened::Closed => {}
            _ => panic!("a receiver continued after its end"),
        });
        let into = connection.receiver.open_into(&mut self.received, &mut room);
        assert_eq!(again.err(), self.error);
        assert_eq!(into.err(), self.error);
        assert_eq!(self.received.unread().len(), unread);
        if !matches!(self.error, None | Some(Error::Truncated)) {
            let written = self.out.len();
            let refused = connection.sender.seal_to(b"more", &mut self.out);
            assert!(matches!(refused, Err(Error::Internal(_))), "{refused:?}");
            assert_eq!(self.out.len(), written);
        }
    }
}

/// The byte that a side sends at this position.
fn byte_at(side: Side, at: usize) -> u8 {
    let [.., byte, _, _] = (at as u64).wrapping_mul(0x9e37_79b1).to_be_bytes();
    byte ^ if side == Side::Client { 0x55 } else { 0 }
}

fn seed(side: Side) -> u64 {
    if side == Side::Client { 1 } else { 2 }
}
