//! Connections over the runner's mock of QUIC. The shim takes the place of the transport.
//!
//! The configurations, the application and the checks are those of connections over TCP.

mod secrets;
mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

use tercel::quic::{Connection, Ended, Handshake, Level, Next};
use tercel::wire::{AlertDescription, CipherSuite};
use tercel::{ConnectionInfo, EarlyData, Side};
use tercel_wire::{HandshakeMessage, HandshakeType, ServerHello};

use crate::config::Setup;
use crate::expect::SessionCounts;
use crate::options::{Options, Unsupported};
use crate::run::{Failure, READ_SIZE, TestConnection, shim_failure};
use crate::{early, expect};

pub(crate) use secrets::Secrets;
use wire::{MockKeys, MockTransport, Record, WireLevel};

/// Makes the connection.
pub(crate) fn connection(test: &TestConnection<'_>, setup: &Setup) -> Result<(), Failure> {
    check_flags(test.options)?;
    let side = if test.options.server { Side::Server } else { Side::Client };
    let mut exchange = Exchange {
        test,
        options: test.options,
        side,
        before: SessionCounts::new(test.sessions),
        initial_writes: test.options.initial_writes().into(),
        transport: MockTransport::connect(test.options)?,
        secrets: Arc::clone(&setup.application.secrets),
        offered_suite: test.sessions.client_store.suite(),
        server_flight: Vec::new(),
        pieces: VecDeque::new(),
        sends_early: false,
    };
    let result = exchange.run(setup);
    exchange.transport.finish();
    result
}

/// Flags that have no meaning for [`tercel::quic`].
fn check_flags(options: &Options) -> Result<(), Unsupported> {
    let unimplemented = |what: &str| Err(Unsupported::Unimplemented(what.to_owned()));
    if options.quic_draft_code_point {
        return unimplemented("the extension of drafts for transport parameters");
    }
    if options.send_alert {
        return unimplemented("an alert of the application over QUIC");
    }
    Ok(())
}

/// A connection with its transport.
struct Exchange<'a> {
    test: &'a TestConnection<'a>,
    options: &'a Options,
    side: Side,
    before: SessionCounts,
    /// The initial writes that are still to be sent, some of them as early data.
    initial_writes: VecDeque<Vec<u8>>,
    transport: MockTransport,
    secrets: Arc<Secrets>,
    /// Client: the suite of the session that is offered.
    offered_suite: Option<CipherSuite>,
    /// What the server sent in Initial packets, which names the suite.
    server_flight: Vec<u8>,
    /// Received CRYPTO data that the handshake does not have yet; with `-async` single bytes.
    pieces: VecDeque<(Level, Vec<u8>)>,
    /// Client: whether early data may be sent.
    sends_early: bool,
}

impl Exchange<'_> {
    fn run(&mut self, setup: &Setup) -> Result<(), Failure> {
        let mut connection = self.handshake(setup)?;
        self.test.sessions.keep(connection.info.take_new_sessions());
        self.apply_rejection(&connection.info)?;
        self.check_parameters(&connection)?;
        expect::check(self.test, &connection.info, &setup.application)?;
        expect::check_sessions(self.test, &connection.info, &self.before)?;
        self.export(&connection)?;
        while let Some(word) = self.initial_writes.pop_front() {
            self.transport.send_data(WireLevel::Application, &word)?;
        }
        if !self.options.shim_shuts_down {
            self.echo(&mut connection)?;
        }
        expect::check_tickets(self.test, &connection.info, &self.before, setup)
    }

    fn handshake(&mut self, setup: &Setup) -> Result<Connection, Failure> {
        let mut handshake = setup.quic_handshake()?;
        loop {
            let next = match handshake.advance() {
                Ok(next) => next,
                Err(ended) => {
                    self.send_alert(ended);
                    return Err(shim_failure(setup, ended.error, handshake.ech_retry_configs()));
                }
            };
            match next {
                Next::Receive => self.wait(setup, &mut handshake)?,
                Next::Send(level, data) => self.send(level, &data)?,
                Next::EarlyKeys(_) => self.add_early_keys(&handshake)?,
                Next::EarlyDataRejected => self.sends_early = false,
                Next::HandshakeKeys(_) => self.add_keys(WireLevel::Handshake)?,
                Next::ApplicationKeys(..) => self.add_keys(WireLevel::Application)?,
                Next::Answer(question) => {
                    let answer = setup.answer(&question);
                    let kind = || Unsupported::Unimplemented(format!("the question {question:?}"));
                    let answered = handshake.answer(answer.ok_or_else(kind)?);
                    answered.map_err(|error| self.close(setup, error.into()))?;
                }
                Next::Connected(connection) => return Ok(*connection),
                other => return Err(Failure::Unexpected(format!("{other:?} in a handshake"))),
            }
        }
    }

    /// Passes the next CRYPTO data to the handshake. A client sends early data before it waits, and
    /// a server answers early data.
    fn wait(&mut self, setup: &Setup, handshake: &mut Handshake) -> Result<(), Failure> {
        if self.sends_early {
            early::check_exporter(self.options)?;
            for word in self.initial_writes.drain(..) {
                self.transport.send_data(WireLevel::EarlyData, &word)?;
            }
        }
        if let Some((level, data)) = self.pieces.pop_front() {
            return handshake.receive(level, &data).map_err(|ended| self.close(setup, ended));
        }
        match self.transport.receive()? {
            None => {
                let token = ":HANDSHAKE_CLOSED:";
                Err(Failure::Unexpected(format!("{token} the runner closed in the handshake")))
            }
            Some(Record::Crypto(level, data)) => {
                if level == WireLevel::Initial && self.side == Side::Client {
                    self.server_flight.extend_from_slice(&data);
                }
                self.add_pieces(level, &data)
            }
            Some(Record::Data(WireLevel::EarlyData, data)) => self.answer_early(data),
            // RFC 9001 5.7
            Some(Record::Data(level, _)) => {
                Err(Failure::Unexpected(format!("data at level {level:?} in the handshake")))
            }
        }
    }

    /// Splits CRYPTO data into the pieces that are delivered.
    fn add_pieces(&mut self, level: WireLevel, data: &[u8]) -> Result<(), Failure> {
        let level = match level {
            WireLevel::Initial => Level::Initial,
            WireLevel::Handshake => Level::Handshake,
            WireLevel::Application => Level::Application,
            // 0-RTT packets have no CRYPTO frames, which a transport refuses. RFC 9000 12.4
            WireLevel::EarlyData => {
                let token = ":WRONG_ENCRYPTION_LEVEL_RECEIVED:";
                return Err(Failure::Unexpected(format!("{token} CRYPTO data in 0-RTT packets")));
            }
        };
        let length = if self.options.asynchronous { 1 } else { data.len().max(1) };
        self.pieces.extend(data.chunks(length).map(|piece| (level, piece.to_vec())));
        Ok(())
    }

    fn send(&mut self, level: Level, data: &[u8]) -> Result<(), Failure> {
        let level = match level {
            Level::Initial => WireLevel::Initial,
            Level::Handshake => WireLevel::Handshake,
            Level::Application => WireLevel::Application,
        };
        if level == WireLevel::Initial && self.side == Side::Server {
            self.server_flight.extend_from_slice(data);
        }
        self.transport.send_crypto(level, data)
    }

    /// Takes the keys of 0-RTT packets, which a client sends and a server receives.
    fn add_early_keys(&mut self, handshake: &Handshake) -> Result<(), Failure> {
        let level = WireLevel::EarlyData;
        match self.side {
            Side::Client => {
                let keys = self.keys(Side::Client, level, self.offered_suite)?;
                self.transport.set_write_keys(level, keys);
                self.sends_early = true;
            }
            Side::Server => {
                let suite = handshake.early_info().map(|info| info.cipher_suite);
                let keys = self.keys(Side::Client, level, suite)?;
                self.transport.set_read_keys(level, keys);
            }
        }
        Ok(())
    }

    /// Takes the keys of both directions.
    fn add_keys(&mut self, level: WireLevel) -> Result<(), Failure> {
        let (ours, theirs) = match self.side {
            Side::Client => (Side::Client, Side::Server),
            Side::Server => (Side::Server, Side::Client),
        };
        let suite = selected_suite(&self.server_flight);
        let (write, read) = (self.keys(ours, level, suite)?, self.keys(theirs, level, suite)?);
        self.transport.set_write_keys(level, write);
        self.transport.set_read_keys(level, read);
        Ok(())
    }

    fn keys(
        &self,
        sender: Side,
        level: WireLevel,
        suite: Option<CipherSuite>,
    ) -> Result<MockKeys, Failure> {
        let missing = |what| Failure::Unexpected(format!("no {what} for the level {level:?}"));
        let secret = self.secrets.find(sender, level).ok_or_else(|| missing("secret"))?;
        Ok(MockKeys { suite: suite.ok_or_else(|| missing("suite"))?.0, secret })
    }

    /// Server: sends the initial writes and early data with inverted bits, before the client's
    /// Finished.
    fn answer_early(&mut self, data: Vec<u8>) -> Result<(), Failure> {
        for word in self.initial_writes.drain(..) {
            self.transport.send_data(WireLevel::Application, &word)?;
        }
        self.send_inverted(data)
    }

    /// After a rejection the initial writes are sent again, and the options for retries apply.
    fn apply_rejection(&mut self, info: &ConnectionInfo) -> Result<(), Failure> {
        let rejected = self.side == Side::Client && info.early_data == EarlyData::Rejected;
        if rejected != self.test.after_rejection.is_some() {
            return Err(Failure::Unexpected(format!("early data: {:?}", info.early_data)));
        }
        if let Some(options) = self.test.after_rejection {
            self.options = options;
            self.initial_writes = options.initial_writes().into();
        }
        Ok(())
    }

    fn check_parameters(&self, connection: &Connection) -> Result<(), Failure> {
        let expected = &self.options.expect.quic_parameters;
        if expected.is_empty() || *expected == connection.peer_parameters {
            return Ok(());
        }
        let found = &connection.peer_parameters;
        Err(Failure::Unexpected(format!("unexpected transport parameters: {found:?}")))
    }

    /// Sends the exported keying material, for the runner to compare.
    fn export(&mut self, connection: &Connection) -> Result<(), Failure> {
        match crate::run::exported(self.options, &connection.exporter)? {
            Some(material) => self.transport.send_data(WireLevel::Application, &material),
            None => Ok(()),
        }
    }

    /// Sends all received data back with inverted bits, until the peer closes.
    fn echo(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        loop {
            match self.transport.receive()? {
                None => return Ok(()),
                Some(Record::Data(_, data)) => self.send_inverted(data)?,
                Some(Record::Crypto(level, data)) => self.add_pieces(level, &data)?,
            }
            while let Some((level, data)) = self.pieces.pop_front() {
                if level != Level::Application {
                    let token = ":WRONG_ENCRYPTION_LEVEL_RECEIVED:";
                    let what = "CRYPTO data of the handshake after it";
                    return Err(Failure::Unexpected(format!("{token} {what}")));
                }
                let received = connection.incoming.receive(&data);
                received.map_err(|ended| {
                    self.send_alert(ended);
                    Failure::from(ended.error)
                })?;
            }
        }
    }

    fn send_inverted(&mut self, mut data: Vec<u8>) -> Result<(), Failure> {
        data.iter_mut().for_each(|byte| *byte ^= 0xff);
        for piece in data.chunks(self.options.read_size.unwrap_or(READ_SIZE).max(1)) {
            self.transport.send_data(WireLevel::Application, piece)?;
        }
        Ok(())
    }

    /// Closes the connection after an error of the handshake.
    fn close(&mut self, setup: &Setup, ended: Ended) -> Failure {
        self.send_alert(ended);
        shim_failure(setup, ended.error, None)
    }

    /// Sends the alert that a code of the connection contains. For the codes of transport errors,
    /// which the mock cannot express, it is the alert that the error has over TCP.
    fn send_alert(&mut self, ended: Ended) {
        let in_code = ended.code.checked_sub(0x0100).and_then(|alert| u8::try_from(alert).ok());
        let alert = in_code.map(AlertDescription).or_else(|| ended.error.alert());
        if let Some(alert) = alert {
            // The connection has failed in any case, so this error is ignored.
            let _ = self.transport.send_alert(alert);
        }
    }
}

/// The suite of the last ServerHello in the messages of Initial packets.
fn selected_suite(mut messages: &[u8]) -> Option<CipherSuite> {
    let mut suite = None;
    while let [kind, a, b, c, rest @ ..] = messages {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let (body, after) = rest.split_at_checked(length)?;
        if HandshakeType(*kind) == HandshakeType::SERVER_HELLO {
            suite = ServerHello::parse(body).ok().map(|hello| hello.cipher_suite);
        }
        messages = after;
    }
    suite
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ServerHello without extensions.
    fn server_hello(suite: u16) -> Vec<u8> {
        let body = [&[3, 3][..], &[7; 32], &[0], &suite.to_be_bytes(), &[0, 0, 0]].concat();
        [&[2, 0, 0, u8::try_from(body.len()).unwrap()][..], &body].concat()
    }

    #[test]
    fn the_suite_is_that_of_the_last_complete_server_hello() {
        let both = [server_hello(0x1301), server_hello(0x1302)].concat();
        assert_eq!(selected_suite(&both), Some(CipherSuite::TLS_AES_256_GCM_SHA384));
        let first = Some(CipherSuite::TLS_AES_128_GCM_SHA256);
        assert_eq!(selected_suite(&server_hello(0x1301)), first);
        assert_eq!(selected_suite(&both[..both.len() - 1]), None);
        assert_eq!(selected_suite(&[]), None);
    }

    #[test]
    fn secrets_are_found_by_sender_and_level() {
        use tercel::key_log::KeyLog;
        let secrets = Secrets::default();
        secrets.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &[0; 32], b"first");
        secrets.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &[0; 32], b"second");
        let handshake = WireLevel::Handshake;
        assert_eq!(secrets.find(Side::Client, handshake).as_deref(), Some(&b"second"[..]));
        assert_eq!(secrets.find(Side::Server, handshake), None);
        assert_eq!(secrets.find(Side::Client, WireLevel::Initial), None);
    }
}
