//! One connection with the runner: handshake, checks, echo, end.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use tercel::ech::ConfigList;
use tercel::wire::AlertDescription;
use tercel::{Connection, Error, Exporter, Filled, Handshake, Next, Opened, ReceiveBuffer};

use crate::config::Setup;
use crate::expect::SessionCounts;
use crate::options::{Options, Unsupported};
use crate::sessions::Sessions;
use crate::transport::Transport;
use crate::{ech, error_token, expect, quic};

/// The reason why a connection failed its test.
pub(crate) enum Failure {
    /// The handshake or the connection failed; the token is BoringSSL's name of the error.
    Tls {
        token: String,
        error: Error,
    },
    /// The connection succeeded with an unexpected result.
    Unexpected(String),
    Transport(io::Error),
    /// The test needs a feature that is not supported.
    Unsupported(Unsupported),
}

/// One of the connections of a test.
pub(crate) struct TestConnection<'a> {
    pub(crate) options: &'a Options,
    /// The options after the handshake, if early data is to be rejected.
    pub(crate) after_rejection: Option<&'a Options>,
    /// Whether the session of an earlier connection is to be resumed.
    pub(crate) resumes: bool,
    pub(crate) sessions: &'a Arc<Sessions>,
}

impl TestConnection<'_> {
    /// The options after the handshake.
    pub(crate) fn final_options(&self) -> &Options {
        self.after_rejection.unwrap_or(self.options)
    }
}

/// Makes the connection.
pub(crate) fn connection(test: &TestConnection<'_>) -> Result<(), Failure> {
    let setup = Setup::new(test.options, test.final_options(), test.sessions)?;
    if test.resumes && !test.options.server && test.sessions.client_store.session().is_none() {
        return Err(Failure::Unexpected("there is no session to offer".to_owned()));
    }
    if test.options.quic {
        return quic::connection(test, &setup);
    }
    if test.options.quic_parameters.is_some() {
        let what = "transport parameters over TCP".to_owned();
        return Err(Unsupported::Unimplemented(what).into());
    }
    let mut exchange = Exchange {
        test,
        options: test.options,
        before: SessionCounts::new(test.sessions),
        initial_writes: test.options.initial_writes().into(),
        transport: Transport::connect(test.options)?,
        received: ReceiveBuffer::new(),
        out: Vec::new(),
    };
    let result = exchange.run(&setup);
    exchange.transport.finish();
    result
}

/// A connection with its transport and buffers.
pub(crate) struct Exchange<'a> {
    pub(crate) test: &'a TestConnection<'a>,
    pub(crate) options: &'a Options,
    before: SessionCounts,
    /// The initial writes that are still to be sent, some of them as early data.
    pub(crate) initial_writes: VecDeque<Vec<u8>>,
    pub(crate) transport: Transport,
    received: ReceiveBuffer,
    pub(crate) out: Vec<u8>,
}

impl Exchange<'_> {
    fn run(&mut self, setup: &Setup) -> Result<(), Failure> {
        let mut connection = self.handshake(setup)?;
        self.test.sessions.keep(connection.info.take_new_sessions());
        self.apply_rejection(&connection.info)?;
        expect::check(self.test, &connection.info, &setup.application)?;
        expect::check_sessions(self.test, &connection.info, &self.before)?;
        self.exports(&mut connection)?;
        if self.options.send_alert {
            let alert = AlertDescription::DECOMPRESSION_FAILURE;
            connection.sender.abort(alert, &mut self.out)?;
            self.transport.send(&mut self.out)?;
            return Ok(());
        }
        while let Some(word) = self.initial_writes.pop_front() {
            connection.sender.seal_to(&word, &mut self.out)?;
            if self.options.read_with_unfinished_write {
                self.transport.send_one_byte(&mut self.out)?;
            } else {
                self.transport.send(&mut self.out)?;
            }
        }
        if !self.options.shim_shuts_down {
            self.echo(&mut connection)?;
        }
        expect::check_tickets(self.test, &connection.info, &self.before, setup)?;
        self.close(&mut connection)
    }

    fn handshake(&mut self, setup: &Setup) -> Result<Connection, Failure> {
        let mut handshake: Handshake = setup.handshake()?;
        loop {
            let step = handshake.advance(&mut self.received, &mut self.out);
            // Output is also sent after an error, since it may contain an alert.
            let sent = self.transport.send(&mut self.out);
            let configs = handshake.ech_retry_configs();
            let next = step.map_err(|error| shim_failure(setup, error, configs))?;
            sent?;
            match next {
                Next::Receive => {
                    if let Some(sender) = handshake.early_sender() {
                        self.send_early(sender)?;
                    }
                    if !self.transport.receive(&mut self.received)? {
                        handshake.end_of_input()?;
                    }
                }
                Next::Answer(question) => {
                    let answer = setup.answer(&question);
                    let kind = || Unsupported::Unimplemented(format!("the question {question:?}"));
                    handshake.answer(answer.ok_or_else(kind)?)?;
                }
                Next::EarlyData(mut data) => {
                    let sender = handshake.half_rtt_sender();
                    let missing = || Failure::Unexpected("no way to answer early data".to_owned());
                    self.answer_early(sender.ok_or_else(missing)?, &mut data)?;
                }
                Next::Connected(connection) => return Ok(*connection),
                other => return Err(Failure::Unexpected(format!("{other:?} in a handshake"))),
            }
        }
    }

    /// Sends the exported secrets, for the runner to compare.
    fn exports(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if let Some(material) = exported(self.options, &connection.exporter)? {
            self.write(connection, &material)?;
        }
        if self.options.export_traffic_secrets {
            let (read, write) = connection.traffic_secrets()?;
            let length = u16::try_from(read.len()).unwrap_or_default();
            self.write(connection, &length.to_le_bytes())?;
            self.write(connection, &read)?;
            self.write(connection, &write)?;
        }
        Ok(())
    }

    fn write(&mut self, connection: &mut Connection, data: &[u8]) -> Result<(), Failure> {
        connection.sender.seal_to(data, &mut self.out)?;
        Ok(self.transport.send(&mut self.out)?)
    }

    /// Sends all received data back with inverted bits, until the peer closes.
    fn echo(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        while let Some(mut data) = self.read(connection)? {
            data.iter_mut().for_each(|byte| *byte ^= 0xff);
            if self.options.key_update {
                connection.sender.update_key(false, &mut self.out)?;
            }
            for piece in data.chunks(self.options.read_size.unwrap_or(READ_SIZE).max(1)) {
                connection.sender.seal_to(piece, &mut self.out)?;
            }
            self.transport.send(&mut self.out)?;
        }
        Ok(())
    }

    /// Reads the next data; `None` at the end.
    fn read(&mut self, connection: &mut Connection) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            let heard = self.open(connection);
            // After an error the alert is sent at once; other pending output is sent with the next
            // data.
            if let Err(error) = heard {
                connection.sender.control(&mut self.out)?;
                let _ = self.transport.send(&mut self.out);
                return Err(error.into());
            }
            match heard? {
                ReadResult::Data(data) => return Ok(Some(data)),
                ReadResult::End => return Ok(None),
                ReadResult::Nothing => {
                    if !self.transport.receive(&mut self.received)? {
                        connection.receiver.end_of_input()?;
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Opens one record: in place, or with `-async` into another buffer.
    fn open(&mut self, connection: &mut Connection) -> Result<ReadResult, Error> {
        if self.options.asynchronous {
            let mut data = vec![0; connection.receiver.max_opened_length()];
            return Ok(match connection.receiver.open_into(&mut self.received, &mut data)? {
                Filled::Data(length) => {
                    data.truncate(length);
                    ReadResult::Data(data)
                }
                Filled::Closed => ReadResult::End,
                _ => ReadResult::Nothing,
            });
        }
        Ok(match connection.receiver.open(&mut self.received)? {
            Opened::Data(data) => ReadResult::Data(data.to_vec()),
            Opened::Closed => ReadResult::End,
            _ => ReadResult::Nothing,
        })
    }

    /// With `-check-close-notify`, sends close_notify; if the shim closes first, it waits for the
    /// peer's close_notify.
    fn close(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if !self.options.check_close_notify {
            return Ok(());
        }
        connection.sender.close(&mut self.out)?;
        self.transport.send(&mut self.out)?;
        if self.options.shim_shuts_down && self.read(connection)?.is_some() {
            let token = ":APPLICATION_DATA_ON_SHUTDOWN:";
            return Err(Failure::Unexpected(format!("{token} data after the close_notify")));
        }
        Ok(())
    }
}

enum ReadResult {
    Data(Vec<u8>),
    Nothing,
    End,
}

/// The keying material that a test exports.
pub(crate) fn exported(options: &Options, exporter: &Exporter) -> Result<Option<Vec<u8>>, Error> {
    if options.export_keying_material == 0 {
        return Ok(None);
    }
    let mut material = vec![0; options.export_keying_material];
    let context = Some(options.export_context.as_slice()).filter(|_| options.use_export_context);
    exporter.export(&options.export_label, context, &mut material)?;
    Ok(Some(material))
}

/// If the shim caused the error, the token is that of the cause.
pub(crate) fn shim_failure(setup: &Setup, error: Error, configs: Option<&ConfigList>) -> Failure {
    let options = &setup.application.options;
    let fault = ech::retry_fault(options, error, configs);
    let of_application = || setup.application.observed().faults.first().cloned();
    if let Some(fault) = fault.or_else(|| of_application().filter(|_| error == Error::EchRejected))
    {
        return Failure::Unexpected(fault);
    }
    let token = setup.application.observed().token.or_else(|| ech::token(options, error));
    let token = token.map_or_else(|| error_token::of(error), str::to_owned);
    Failure::Tls { token, error }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Tls { token: error_token::of(error), error }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Transport(error)
    }
}

impl From<Unsupported> for Failure {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

/// The number of bytes that BoringSSL's shim reads and echoes at a time.
pub(crate) const READ_SIZE: usize = 512;
