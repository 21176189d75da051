//! The runner's mock of QUIC: CRYPTO data and application data in records over TCP.
//!
//! ```text
//! content type 1 | level 1 | cipher suite 2 | length 4 | secret | data
//! ```
//!
//! A record is not encrypted. Suite and secret show that both sides would use the same keys.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use tercel::wire::AlertDescription;
use tercel_wire::ContentType;

use crate::options::Options;
use crate::run::Failure;
use crate::transport;

/// The level of a record. Data of 0-RTT packets has a level of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireLevel {
    Initial = 0,
    EarlyData = 1,
    Handshake = 2,
    Application = 3,
}

impl WireLevel {
    fn from_code(code: u8) -> Option<Self> {
        let all = [Self::Initial, Self::EarlyData, Self::Handshake, Self::Application];
        all.into_iter().find(|level| *level as u8 == code)
    }
}

/// What stands for the keys of a level in one direction.
#[derive(Default)]
pub(super) struct MockKeys {
    pub(super) suite: u16,
    pub(super) secret: Vec<u8>,
}

/// A received record.
pub(super) enum Record {
    Crypto(WireLevel, Vec<u8>),
    Data(WireLevel, Vec<u8>),
}

/// A connection to the runner.
pub(super) struct MockTransport {
    socket: TcpStream,
    /// The keys by level. Initial packets have keys that do not depend on the handshake.
    read_keys: [Option<MockKeys>; 4],
    write_keys: [Option<MockKeys>; 4],
    /// The highest level at which this side sends CRYPTO data.
    write_level: WireLevel,
}

impl MockTransport {
    pub(super) fn connect(options: &Options) -> io::Result<Self> {
        let initial = || [Some(MockKeys::default()), None, None, None];
        Ok(Self {
            socket: transport::connect(options)?,
            read_keys: initial(),
            write_keys: initial(),
            write_level: WireLevel::Initial,
        })
    }

    pub(super) fn set_read_keys(&mut self, level: WireLevel, keys: MockKeys) {
        self.read_keys[level as usize] = Some(keys);
    }

    pub(super) fn set_write_keys(&mut self, level: WireLevel, keys: MockKeys) {
        self.write_keys[level as usize] = Some(keys);
        if level != WireLevel::EarlyData {
            self.write_level = level;
        }
    }

    /// Receives the next record. Returns `None` at the end of input.
    pub(super) fn receive(&mut self) -> Result<Option<Record>, Failure> {
        loop {
            let mut header = [0; 8];
            match self.socket.read_exact(&mut header) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                read => read?,
            }
            let [kind, level, suite_high, suite_low, length @ ..] = header;
            let mut content = vec![0; u32::from_be_bytes(length) as usize];
            self.socket.read_exact(&mut content)?;
            let level = WireLevel::from_code(level).ok_or_else(|| fault("level", &level))?;
            let Some(keys) = &self.read_keys[level as usize] else {
                // A server that rejected early data does not read it.
                if level == WireLevel::EarlyData {
                    continue;
                }
                return Err(fault("level before its keys", &level));
            };
            let suite = u16::from_be_bytes([suite_high, suite_low]);
            if suite != keys.suite {
                return Err(fault("cipher suite", &suite));
            }
            let Some(data) = content.strip_prefix(keys.secret.as_slice()) else {
                return Err(fault("secret at level", &level));
            };
            return match ContentType(kind) {
                ContentType::HANDSHAKE => Ok(Some(Record::Crypto(level, data.to_vec()))),
                ContentType::APPLICATION_DATA => Ok(Some(Record::Data(level, data.to_vec()))),
                other => Err(fault("content type", &other)),
            };
        }
    }

    pub(super) fn send_crypto(&mut self, level: WireLevel, data: &[u8]) -> Result<(), Failure> {
        self.send(ContentType::HANDSHAKE, level, data)
    }

    pub(super) fn send_data(&mut self, level: WireLevel, data: &[u8]) -> Result<(), Failure> {
        self.send(ContentType::APPLICATION_DATA, level, data)
    }

    /// Sends the alert of an error, for which the mock has records instead of frames.
    pub(super) fn send_alert(&mut self, alert: AlertDescription) -> Result<(), Failure> {
        self.send(ContentType::ALERT, self.write_level, &[2, alert.0])
    }

    fn send(&mut self, kind: ContentType, level: WireLevel, data: &[u8]) -> Result<(), Failure> {
        let keys = self.write_keys[level as usize].as_ref();
        let keys = keys.ok_or_else(|| fault("level without keys for sending", &level))?;
        let length = u32::try_from(keys.secret.len() + data.len()).unwrap_or(u32::MAX);
        let mut record = vec![kind.0, level as u8];
        record.extend(keys.suite.to_be_bytes());
        record.extend(length.to_be_bytes());
        record.extend_from_slice(&keys.secret);
        record.extend_from_slice(data);
        Ok(self.socket.write_all(&record)?)
    }

    pub(super) fn finish(self) {
        transport::finish(self.socket);
    }
}

fn fault(what: &str, found: &impl std::fmt::Debug) -> Failure {
    Failure::Unexpected(format!("unexpected {what} in a record: {found:?}"))
}
