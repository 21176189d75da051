//! One connection with the runner: handshake, what the test wants to see, echo, end.
//!
//! Must not know: what flags are called. Next: [`crate::early`] for what is said before the handshake is
//! complete, [`crate::expect`] for what is checked, [`crate::transport`] for the socket.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use tercel::wire::AlertDescription;
use tercel::{Connection, Error, Filled, Handshake, Next, Opened, Received};

use crate::config::Setup;
use crate::expect::Before;
use crate::options::{Options, Unfit};
use crate::sessions::Sessions;
use crate::transport::Transport;
use crate::{error_token, expect};

/// Why a connection did not go as the runner wants it.
pub(crate) enum Failure {
    /// The handshake or the connection failed; a token names the error in BoringSSL's words.
    Tls {
        token: String,
        error: Error,
    },
    /// It went well, but not as expected.
    Unexpected(String),
    Transport(io::Error),
    /// The test needs what is not there.
    Unfit(Unfit),
}

/// One of the connections of a test.
pub(crate) struct Round<'a> {
    pub(crate) options: &'a Options,
    /// What holds from the end of the handshake on if early data is to be rejected.
    pub(crate) after_rejection: Option<&'a Options>,
    /// Whether there was a connection before, whose session is to be resumed.
    pub(crate) resumes: bool,
    pub(crate) sessions: &'a Arc<Sessions>,
}

impl Round<'_> {
    /// What holds from the end of the handshake on.
    pub(crate) fn settled(&self) -> &Options {
        self.after_rejection.unwrap_or(self.options)
    }
}

/// Makes the connection and goes through with it.
pub(crate) fn connection(round: &Round<'_>) -> Result<(), Failure> {
    let setup = Setup::new(round.options, round.settled(), round.sessions)?;
    if round.resumes && !round.options.server && round.sessions.shelf.session().is_none() {
        return Err(Failure::Unexpected("there is no session to offer".to_owned()));
    }
    let mut talk = Talk {
        round,
        options: round.options,
        before: Before::new(round.sessions),
        words: round.options.first_words().into(),
        transport: Transport::connect(round.options)?,
        received: Received::new(),
        out: Vec::new(),
    };
    let result = talk.through(&setup);
    talk.transport.finish();
    result
}

/// The two ends of a connection's bytes.
pub(crate) struct Talk<'a> {
    pub(crate) round: &'a Round<'a>,
    pub(crate) options: &'a Options,
    before: Before,
    /// What is still to be said first, some of it as early data.
    pub(crate) words: VecDeque<Vec<u8>>,
    pub(crate) transport: Transport,
    received: Received,
    pub(crate) out: Vec<u8>,
}

impl Talk<'_> {
    fn through(&mut self, setup: &Setup) -> Result<(), Failure> {
        let mut connection = self.handshake(setup)?;
        self.round.sessions.keep(connection.facts.take_new_sessions());
        self.settle(&connection.facts)?;
        expect::check(self.round, &connection.facts, &setup.judge)?;
        expect::check_sessions(self.round, &connection.facts, &self.before)?;
        self.exports(&mut connection)?;
        if self.options.send_alert {
            let alert = AlertDescription::DECOMPRESSION_FAILURE;
            connection.sender.abort(alert, &mut self.out)?;
            self.transport.send(&mut self.out)?;
            return Ok(());
        }
        while let Some(word) = self.words.pop_front() {
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
        expect::check_tickets(self.round, &connection.facts, &self.before, setup)?;
        self.close(&mut connection)
    }

    fn handshake(&mut self, setup: &Setup) -> Result<Connection, Failure> {
        let mut handshake: Handshake = setup.handshake()?;
        loop {
            let step = handshake.advance(&mut self.received, &mut self.out);
            // Whatever is said is sent, also after an error: an alert may be in it.
            let sent = self.transport.send(&mut self.out);
            let next = step.map_err(|error| own_doing(setup, error))?;
            sent?;
            match next {
                Next::Receive => {
                    if let Some(sender) = handshake.early_sender() {
                        self.say_early(sender)?;
                    }
                    if !self.transport.receive(&mut self.received)? {
                        handshake.end_of_input()?;
                    }
                }
                Next::Answer(question) => {
                    let answer = setup.answer(&question);
                    let kind = || Unfit::Unimplemented(format!("the question {question:?}"));
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

    /// Says what was exported, for the runner to compare.
    fn exports(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if self.options.export_keying_material > 0 {
            let mut material = vec![0; self.options.export_keying_material];
            let context = self.options.export_context.as_slice();
            let context = Some(context).filter(|_| self.options.use_export_context);
            connection.exporter.export(&self.options.export_label, context, &mut material)?;
            self.say(connection, &material)?;
        }
        if self.options.export_traffic_secrets {
            let (read, write) = connection.traffic_secrets()?;
            let length = u16::try_from(read.len()).unwrap_or_default();
            self.say(connection, &length.to_le_bytes())?;
            self.say(connection, &read)?;
            self.say(connection, &write)?;
        }
        Ok(())
    }

    fn say(&mut self, connection: &mut Connection, data: &[u8]) -> Result<(), Failure> {
        connection.sender.seal_to(data, &mut self.out)?;
        Ok(self.transport.send(&mut self.out)?)
    }

    /// Sends everything back with its bits turned over, until the peer ends.
    fn echo(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        while let Some(mut data) = self.hear(connection)? {
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

    /// The next data; `None` at the end.
    fn hear(&mut self, connection: &mut Connection) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            let heard = self.open(connection);
            // After an error the alert that tells of it; what else is pending leaves with the next data.
            if let Err(error) = heard {
                connection.sender.control(&mut self.out)?;
                let _ = self.transport.send(&mut self.out);
                return Err(error.into());
            }
            match heard? {
                Heard::Data(data) => return Ok(Some(data)),
                Heard::End => return Ok(None),
                Heard::Nothing => {
                    if !self.transport.receive(&mut self.received)? {
                        connection.receiver.end_of_input()?;
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Opens one record: in place, or with `-async` into another buffer.
    fn open(&mut self, connection: &mut Connection) -> Result<Heard, Error> {
        if self.options.asynchronous {
            let mut data = vec![0; connection.receiver.max_opened_length()];
            return Ok(match connection.receiver.open_into(&mut self.received, &mut data)? {
                Filled::Data(length) => {
                    data.truncate(length);
                    Heard::Data(data)
                }
                Filled::Closed => Heard::End,
                _ => Heard::Nothing,
            });
        }
        Ok(match connection.receiver.open(&mut self.received)? {
            Opened::Data(data) => Heard::Data(data.to_vec()),
            Opened::Closed => Heard::End,
            _ => Heard::Nothing,
        })
    }

    /// With `-check-close-notify` says goodbye, and when that comes first waits for the peer's.
    fn close(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if !self.options.check_close_notify {
            return Ok(());
        }
        connection.sender.close(&mut self.out)?;
        self.transport.send(&mut self.out)?;
        if self.options.shim_shuts_down && self.hear(connection)?.is_some() {
            let token = ":APPLICATION_DATA_ON_SHUTDOWN:";
            return Err(Failure::Unexpected(format!("{token} data after our close_notify")));
        }
        Ok(())
    }
}

enum Heard {
    Data(Vec<u8>),
    Nothing,
    End,
}

/// An error that the shim itself brought about has the word of what it stands for.
fn own_doing(setup: &Setup, error: Error) -> Failure {
    let token = setup.judge.seen().token.map(str::to_owned);
    Failure::Tls { token: token.unwrap_or_else(|| error_token::of(error)), error }
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

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

/// As much as BoringSSL's shim reads and echoes at a time.
pub(crate) const READ_SIZE: usize = 512;
