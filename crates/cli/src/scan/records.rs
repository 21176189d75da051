//! Records and handshake messages of a server, read with limits on their sizes and their number.

use std::io::{self, Read};

use tercel_wire::{
    Alert, AlertDescription, AlertLevel, ContentType, HandshakeType, MessageHeader, RecordHeader,
};

use super::keys::ServerKeys;
use crate::explain;

/// The next part of a server's answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Message(HandshakeType, Vec<u8>),
    Alert(AlertDescription),
    /// The end of the stream, or close_notify.
    Closed,
    /// The transport was reset.
    Reset,
    /// The bytes break the rules of TLS, for this reason.
    Invalid(String),
    /// The answer exceeds this limit of the reader.
    TooLong(String),
    /// The transport failed, or the time limit passed, for this reason.
    Failed(String),
}

/// A reader of a server's handshake messages.
#[derive(Debug)]
pub(crate) struct Records<R> {
    transport: R,
    received: Vec<u8>,
    messages: Vec<u8>,
    total: usize,
    records: usize,
    /// The keys that protect the server's flight in TLS 1.3.
    keys: Option<ServerKeys>,
}

impl<R: Read> Records<R> {
    pub(crate) fn new(transport: R) -> Self {
        let (received, messages) = (Vec::new(), Vec::new());
        Self { transport, received, messages, total: 0, records: 0, keys: None }
    }

    /// Sets the keys of all following records. Bytes of a message that were not protected must not
    /// precede them. RFC 9846 5.1
    pub(crate) fn set_keys(&mut self, keys: ServerKeys) -> Result<(), String> {
        if !self.messages.is_empty() {
            return Err("the server sent unprotected messages after its ServerHello".to_owned());
        }
        self.keys = Some(keys);
        Ok(())
    }

    /// Reads up to the end of a message, or an alert. Warnings are skipped, as are
    /// change_cipher_spec records.
    pub(crate) fn next(&mut self) -> Part {
        loop {
            match self.take_message() {
                Ok(Some((kind, body))) => return Part::Message(kind, body),
                Ok(None) => {}
                Err(why) => return Part::TooLong(why),
            }
            let (kind, fragment) = match self.record() {
                Ok(record) => record,
                Err(part) => return part,
            };
            self.records += 1;
            if self.records > MAX_RECORDS {
                return Part::TooLong(format!(
                    "sent more than {MAX_RECORDS} records in a handshake"
                ));
            }
            match kind {
                ContentType::HANDSHAKE => self.messages.extend_from_slice(&fragment),
                ContentType::CHANGE_CIPHER_SPEC => {}
                ContentType::ALERT => match Alert::parse(&fragment) {
                    Ok(alert) if alert.description == AlertDescription::CLOSE_NOTIFY => {
                        return Part::Closed;
                    }
                    // Servers send unrecognized_name as a warning. RFC 6066 3
                    Ok(alert) if alert.level == AlertLevel::WARNING && self.keys.is_none() => {}
                    Ok(alert) => return Part::Alert(alert.description),
                    Err(error) => return Part::Invalid(format!("sent a malformed alert: {error}")),
                },
                other => return Part::Invalid(format!("sent a record of type {other}")),
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<(HandshakeType, Vec<u8>)>, String> {
        let Some((header, rest)) = self.messages.split_first_chunk::<{ MessageHeader::LENGTH }>()
        else {
            return Ok(None);
        };
        let header = MessageHeader::parse(header);
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        if length > MAX_MESSAGE {
            let kind = header.handshake_type;
            return Err(format!(
                "sent a {kind} message of {length} bytes; at most {MAX_MESSAGE} are read"
            ));
        }
        let Some(body) = rest.get(..length).map(<[u8]>::to_vec) else { return Ok(None) };
        self.messages.drain(..MessageHeader::LENGTH + length);
        Ok(Some((header.handshake_type, body)))
    }

    /// The type and the plaintext of the next record.
    fn record(&mut self) -> Result<(ContentType, Vec<u8>), Part> {
        self.fill(RecordHeader::LENGTH)?;
        let header = self.received.first_chunk().map(RecordHeader::parse);
        let Some(header) = header.filter(|header| is_plausible(*header)) else {
            return Err(Part::Invalid(self.not_tls()));
        };
        let end = RecordHeader::LENGTH + usize::from(header.length);
        self.fill(end)?;
        let rest = self.received.split_off(end.min(self.received.len()));
        let record = std::mem::replace(&mut self.received, rest);
        let (_, fragment) = record.split_at(RecordHeader::LENGTH.min(record.len()));
        match (&mut self.keys, header.content_type) {
            (Some(keys), ContentType::APPLICATION_DATA) => {
                let failed =
                    || Part::Invalid("sent a protected record that cannot be decrypted".to_owned());
                keys.open(header, fragment).ok_or_else(failed)
            }
            // Only an alert may be unprotected, from a server that failed before it used its keys.
            // RFC 9846 5
            (Some(_), ContentType::HANDSHAKE) => {
                Err(Part::Invalid("sent an unprotected message after its ServerHello".to_owned()))
            }
            (_, kind) => Ok((kind, fragment.to_vec())),
        }
    }

    /// Reads until this number of bytes is available.
    fn fill(&mut self, needed: usize) -> Result<(), Part> {
        let mut buffer = [0; 4096];
        while self.received.len() < needed {
            let count = match self.transport.read(&mut buffer) {
                Ok(0) if self.records == 0 && !self.may_be_record() => {
                    return Err(Part::Invalid(self.not_tls()));
                }
                Ok(0) => return Err(Part::Closed),
                Ok(count) => count,
                Err(error) if is_reset(&error) => return Err(Part::Reset),
                Err(error) if explain::is_timeout(&error) && self.total == 0 => {
                    return Err(Part::Failed("no answer within the time limit".to_owned()));
                }
                Err(error) if explain::is_timeout(&error) => {
                    let total = self.total;
                    return Err(Part::Failed(format!(
                        "the time limit passed after {total} bytes of an incomplete answer"
                    )));
                }
                Err(error) => return Err(Part::Failed(explain::io_error(&error))),
            };
            self.total += count;
            if self.total > MAX_TOTAL {
                return Err(Part::TooLong(format!(
                    "sent more than {MAX_TOTAL} bytes in a handshake"
                )));
            }
            self.received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        Ok(())
    }

    /// Whether the received bytes are the start of a record, as far as they show it.
    fn may_be_record(&self) -> bool {
        let is_type = |kind: &u8| (20..=23).contains(kind);
        self.received.first().is_none_or(is_type) && self.received.get(1).is_none_or(|v| *v == 3)
    }

    /// The reason why the received bytes are not TLS. They are quoted, because many servers answer
    /// in plain text.
    fn not_tls(&self) -> String {
        let line = self.received.split(|byte| matches!(byte, b'\r' | b'\n')).next();
        let start: Vec<u8> = line.unwrap_or_default().iter().copied().take(QUOTED).collect();
        format!("does not answer with TLS, but with \"{}\"", start.escape_ascii())
    }
}

fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted)
}

/// Whether a record of this kind may occur, with a length that is allowed. RFC 9846 5.1, 5.2
fn is_plausible(header: RecordHeader) -> bool {
    (20..=23).contains(&header.content_type.0)
        && header.legacy_record_version.0 >> 8 == 3
        && usize::from(header.length) <= MAX_FRAGMENT
}

/// The length of the largest protected record of TLS 1.2. RFC 5246 6.2.3
const MAX_FRAGMENT: usize = (1 << 14) + 2048;

/// The largest handshake message that is read.
const MAX_MESSAGE: usize = 1 << 17;

/// The number of bytes that are read from a connection.
const MAX_TOTAL: usize = 1 << 18;

/// The number of records that are read from a connection. A server may send few bytes in each.
const MAX_RECORDS: usize = 1 << 12;

/// The number of bytes quoted from an answer that is not TLS.
const QUOTED: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(bytes: &[u8]) -> Vec<Part> {
        let mut records = Records::new(bytes);
        let mut parts = Vec::new();
        loop {
            parts.push(records.next());
            if !matches!(parts.last(), Some(Part::Message(..))) {
                return parts;
            }
        }
    }

    #[test]
    fn messages_are_joined_and_separated() {
        // A message of two records, and two messages of one record.
        let bytes = [
            &[22, 3, 3, 0, 5, 2, 0, 0, 2, 7][..],
            &[22, 3, 3, 0, 10, 8, 14, 0, 0, 0, 11, 0, 0, 1, 9],
            &[21, 3, 3, 0, 2, 1, 112],
            &[21, 3, 3, 0, 2, 2, 40],
        ];
        let expected = [
            Part::Message(HandshakeType::SERVER_HELLO, vec![7, 8]),
            Part::Message(HandshakeType::SERVER_HELLO_DONE, vec![]),
            Part::Message(HandshakeType::CERTIFICATE, vec![9]),
            Part::Alert(AlertDescription::HANDSHAKE_FAILURE),
        ];
        assert_eq!(parts(&bytes.concat()), expected);
    }

    #[test]
    fn plain_text_is_quoted() {
        for (answer, quoted) in
            [("HTTP/1.1 400 Bad\r\nServer: x", "HTTP/1.1 400 Bad"), ("no", "no")]
        {
            let [Part::Invalid(why)] = &parts(answer.as_bytes())[..] else { panic!("{answer}") };
            assert!(why.ends_with(&format!("\"{quoted}\"")), "{why}");
        }
        // The start of a record is not plain text.
        for start in [&b""[..], &[22], &[22, 3, 3], &[22, 3, 3, 0, 9, 2]] {
            assert_eq!(parts(start), [Part::Closed]);
        }
    }

    #[test]
    fn the_work_for_one_answer_is_limited() {
        let endless = |record: &[u8]| parts(&record.repeat(MAX_TOTAL / record.len() + 2));
        let last = |parts: Vec<Part>| match parts.into_iter().last() {
            Some(Part::TooLong(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(last(endless(&[22, 3, 3, 0, 0])).contains("more than 4096 records"));
        assert!(last(endless(&[22, 3, 3, 0, 4, 0, 0, 0, 0])).contains("more than 4096 records"));
        let large = [&[22, 3, 3, 0x40, 0][..], &[0; 1 << 14]].concat();
        assert!(last(endless(&large)).contains("more than 262144 bytes"));
        let why = last(parts(&[22, 3, 3, 0, 4, 11, 2, 0, 1]));
        assert!(why.contains("certificate message of 131073 bytes"), "{why}");
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            parts(&bytes);
        }

        #[test]
        fn any_records_end_without_a_panic(
            fragments in proptest::collection::vec(
                (20u8..24, proptest::collection::vec(any::<u8>(), 0..60)), 0..20,
            ),
        ) {
            let mut bytes = Vec::new();
            for (kind, fragment) in fragments {
                bytes.extend([kind, 3, 3, 0, u8::try_from(fragment.len()).unwrap()]);
                bytes.extend(fragment);
            }
            parts(&bytes);
        }
    }
}
