//! One side of a connection, from its first byte to its end, with everything that must hold on the way.
//!
//! Randomness starts again from the same seed at every call, so that a flight recorded in one run fits another.
//! Must not know: what is on the other side. Next: [`crate::one_sided`], [`crate::two_sided`].

use tercel::crypto::deterministic::with_seed;
use tercel::{
    Answer, Connection, EarlyData, Error, Filled, Handshake, Misuse, Next, Opened, Received, Side,
};

use crate::configs;
use crate::two_sided::keys;

/// The largest record there is: a peer that waits for more holds less than that.
const MAX_RECORD: usize = 5 + (1 << 14) + 2048;

/// Questions one handshake may ask: each kind once or twice.
const MAX_QUESTIONS: usize = 16;

/// Less than a client may say early, so that it can say it twice.
const SAID_EARLY: usize = 40;

/// A client or a server.
pub(crate) struct Peer {
    side: Side,
    config: usize,
    handshake: Handshake,
    pub(crate) connection: Option<Box<Connection>>,
    received: Received,
    /// What is to be sent.
    pub(crate) out: Vec<u8>,
    /// Why it is over, once it is.
    pub(crate) error: Option<Error>,
    /// Nothing more will come: the peer said so, or its transport ended and that is tolerated.
    pub(crate) closed: bool,
    /// The peer said so.
    pub(crate) heard_close: bool,
    /// Data is opened into a buffer of this size; in place if it is 0.
    pub(crate) room: usize,
    buffer: Vec<u8>,
    /// Answers to what was read wait for the next data.
    pub(crate) is_lazy: bool,
    /// Bytes of application data that were sent.
    pub(crate) sent: usize,
    /// Bytes of application data that arrived.
    pub(crate) arrived: usize,
    /// Of those, bytes that arrived ahead of the handshake's end.
    early: usize,
    /// Every byte that arrived was the next of those the other side sends.
    pub(crate) intact: bool,
}

impl Peer {
    /// A side that has not said anything yet, by one of the configurations.
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
            received: Received::new(),
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

    /// Takes these bytes and does everything they allow.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if self.error.is_some() || self.closed {
            return;
        }
        self.received.extend(bytes);
        self.act(|peer| {
            if peer.connection.is_none() {
                peer.shake_hands();
            }
            if peer.connection.is_some() {
                peer.read();
            }
        });
    }

    /// Lets `action` use the connection, if there is one; a misuse that is refused is no fault.
    pub(crate) fn act_connected(
        &mut self,
        action: impl FnOnce(&mut Connection, &mut Vec<u8>) -> Result<(), Error>,
    ) {
        self.act(|peer| {
            let Some(connection) = &mut peer.connection else { return };
            if let Err(error) = action(connection, &mut peer.out) {
                assert!(
                    matches!(error, Error::Misuse(_) | Error::Local(_)),
                    "sending fails for reasons of our own only: {error:?}"
                );
            }
        });
    }

    /// Sends the next `length` bytes of what this side has to say.
    pub(crate) fn send(&mut self, length: usize) {
        let data: Vec<u8> = (self.sent..self.sent + length).map(|at| said(self.side, at)).collect();
        let mut consumed = 0;
        self.act_connected(|connection, out| {
            connection.sender.seal_to(&data, out)?;
            consumed = length;
            Ok(())
        });
        self.sent += consumed;
    }

    /// The same by way of a slice of `room` bytes, which may be too small.
    pub(crate) fn send_through(&mut self, length: usize, room: usize) {
        let data: Vec<u8> = (self.sent..self.sent + length).map(|at| said(self.side, at)).collect();
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

    /// The same by way of a slice of the length that surely suffices.
    pub(crate) fn send_at_once(&mut self, length: usize) {
        let Some(connection) = &self.connection else { return };
        let room = connection.sender.sealed_length(length);
        let sent = self.sent;
        let written = self.out.len();
        self.send_through(length, room);
        if self.out.len() == written || self.sent == sent + length {
            return;
        }
        // What was pending, such as the answer to a closure, may be the last that is sent.
        let Some(connection) = &mut self.connection else { return };
        let refused = connection.sender.seal(b"more", &mut [0; 100]);
        assert!(matches!(refused, Err(Error::Local(_))), "the room did not suffice");
    }

    /// The connection goes on as another one, out of its bytes; nobody may notice.
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
            .expect("what was saved is restored"),
            Err(kept) => {
                assert!(self.error.is_some(), "only after a failure there is nothing to save");
                *kept.connection
            }
        }));
    }

    /// The transport has ended.
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

    /// Whether it was connected and has not failed since.
    pub(crate) fn is_well(&self) -> bool {
        self.connection.is_some() && self.error.is_none()
    }

    /// Bytes of application data that arrived before the handshake was complete.
    #[cfg(test)]
    pub(crate) fn heard_early(&self) -> usize {
        self.early
    }

    fn act(&mut self, action: impl FnOnce(&mut Self)) {
        keys::log_for(self.side, || with_seed(seed(self.side), || action(self)));
    }

    fn shake_hands(&mut self) {
        for _ in 0..MAX_QUESTIONS {
            match self.handshake.advance(&mut self.received, &mut self.out) {
                Ok(Next::Receive) => {
                    self.speak_early();
                    return self.check_waiting();
                }
                Ok(Next::EarlyData(data)) => {
                    assert_eq!(self.side, Side::Server, "only a server reads early");
                    self.early += data.len();
                    assert!(self.early <= configs::EARLY_DATA as usize, "more than was allowed");
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
                    // What was said early and not heard is to be said again.
                    let rejected = connection.facts.early_data == EarlyData::Rejected;
                    if rejected && self.side == Side::Client {
                        self.sent = 0;
                    }
                    self.connection = Some(connection);
                    self.check_handshake_over();
                    return;
                }
                Ok(next) => panic!("nobody agreed to {next:?}"),
                Err(error) => {
                    assert!(!matches!(error, Error::Misuse(_)), "{error:?} is not the caller's");
                    self.error = Some(error);
                    self.check_handshake_over();
                    return;
                }
            }
        }
        panic!("the handshake asks without end");
    }

    /// Says a little ahead of time where that is possible: a client in its first flight, a server after its
    /// Finished.
    fn speak_early(&mut self) {
        let sender = match self.side {
            Side::Client => self.handshake.early_sender(),
            Side::Server => self.handshake.half_rtt_sender(),
        };
        let Some(sender) = sender.filter(|_| self.sent == 0) else { return };
        let data: Vec<u8> = (0..SAID_EARLY).map(|at| said(self.side, at)).collect();
        match sender.seal_to(&data, &mut self.out) {
            Ok(_) => self.sent = SAID_EARLY,
            Err(error) => assert!(matches!(error, Error::Misuse(_) | Error::Local(_)), "{error:?}"),
        }
    }

    /// An end is final: nothing is read, nothing written, whatever is tried.
    fn check_handshake_over(&mut self) {
        let (unread, written) = (self.received.unread().len(), self.out.len());
        let over = Some(Error::from(Misuse::HandshakeOver));
        assert_eq!(self.handshake.advance(&mut self.received, &mut self.out).err(), over);
        assert_eq!(self.handshake.answer(Answer::EarlyData(true)).err(), over);
        assert_eq!(self.handshake.end_of_input().err(), over);
        assert_eq!((self.received.unread().len(), self.out.len()), (unread, written));
    }

    fn read(&mut self) {
        // Each call takes a record at least, and a record has five bytes.
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
                    assert!(!matches!(error, Error::Misuse(_)), "{error:?} is not the caller's");
                    self.error = Some(error);
                    self.send_control();
                    self.check_final();
                    return;
                }
            }
        }
        panic!("reading does not end");
    }

    /// Who waits has less than a record, in memory for two: the one that is there and the one that came.
    fn check_waiting(&mut self) {
        let unread = self.received.unread().len();
        assert!(unread < MAX_RECORD || self.closed, "a record was there");
        let memory = unread + self.received.spare().len();
        assert!(memory <= 2 * MAX_RECORD, "{memory} bytes of memory");
    }

    /// Whether there may be more.
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
        assert!(!data.is_empty(), "no data is no event");
        let other = match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let mut expected = (self.arrived..).map(|at| said(other, at));
        self.intact &= data.iter().all(|byte| Some(*byte) == expected.next());
        self.arrived += data.len();
    }

    fn send_control(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        if let Err(error) = connection.sender.control(&mut self.out) {
            assert!(matches!(error, Error::Local(_)), "{error:?}");
        }
    }

    /// A receiver that failed or was closed says so for ever, and a failure stops the sender.
    fn check_final(&mut self) {
        let Some(connection) = &mut self.connection else { return self.check_handshake_over() };
        let mut room = [0; 64];
        let unread = self.received.unread().len();
        let again = connection.receiver.open(&mut self.received).map(|opened| match opened {
            Opened::Closed => {}
            _ => panic!("a receiver came back to life"),
        });
        let into = connection.receiver.open_into(&mut self.received, &mut room);
        assert_eq!(again.err(), self.error);
        assert_eq!(into.err(), self.error);
        assert_eq!(self.received.unread().len(), unread);
        if !matches!(self.error, None | Some(Error::Truncated)) {
            let written = self.out.len();
            let refused = connection.sender.seal_to(b"more", &mut self.out);
            assert!(matches!(refused, Err(Error::Local(_))), "{refused:?}");
            assert_eq!(self.out.len(), written);
        }
    }
}

/// The byte that a side says at this place.
fn said(side: Side, at: usize) -> u8 {
    let [.., byte, _, _] = (at as u64).wrapping_mul(0x9e37_79b1).to_be_bytes();
    byte ^ if side == Side::Client { 0x55 } else { 0 }
}

fn seed(side: Side) -> u64 {
    if side == Side::Client { 1 } else { 2 }
}
