//! Ticket keys from a file, in the format described at
//! [`TicketKeys::File`](crate::settings::TicketKeys::File).

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tercel::crypto::HashAlgorithm;
use tercel::pki_types::UnixTime;
use tercel::session::{TicketKey, TicketKeySet};
use tercel_crypto::Hash;
use tercel_crypto::lock::Mutex;
use tracing::{info, warn};
use zeroize::Zeroizing;

use super::FleetTicketSealer;
use crate::counters::Counters;
use crate::error::FleetError;
use crate::secrets::files::read_private;

/// A file of ticket keys, and the result of the last read.
pub(crate) struct TicketKeyFile {
    path: PathBuf,
    tickets: Arc<FleetTicketSealer>,
    /// Locked only while the file is read, never in a handshake.
    last: Mutex<LastRead>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct LastRead {
    /// The digest of the file whose keys are in use.
    taken: Option<Vec<u8>>,
    /// The last error, so that each one is logged once.
    refused: Option<String>,
}

impl TicketKeyFile {
    pub(crate) fn new(
        path: &Path,
        tickets: Arc<FleetTicketSealer>,
        counters: Arc<Counters>,
    ) -> Self {
        Self { path: path.to_owned(), tickets, last: Mutex::default(), counters }
    }

    /// Reads the file and uses its keys. A file that cannot be used changes nothing.
    ///
    /// # Errors
    /// If the file cannot be read or used.
    pub(crate) fn read(&self) -> Result<(), FleetError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.try_read(&mut last);
        match &outcome {
            Ok(()) => last.refused = None,
            Err(error) => {
                let reason = error.to_string();
                if last.refused.as_ref() != Some(&reason) {
                    warn!(reason, "ticket keys rejected; keeping the previous ones");
                    self.counters.ticket_keys_refused.add();
                    last.refused = Some(reason);
                }
            }
        }
        outcome
    }

    fn try_read(&self, last: &mut LastRead) -> Result<(), FleetError> {
        let content = read_private(&self.path)?;
        let digest = Hash::digest(HashAlgorithm::Sha256, &[&content]).to_vec();
        if last.taken.as_ref() == Some(&digest) {
            return Ok(());
        }
        let keys = parse(&content).map_err(|error| match error {
            ParseError::Text(why) => FleetError::Content(self.path.clone(), why),
            ParseError::Set(error) => FleetError::Keys(self.path.clone(), error),
        })?;
        self.tickets.set(&keys, u64::MAX);
        self.counters.ticket_keys_changed.add();
        info!(file = %self.path.display(), "ticket keys loaded from file");
        last.taken = Some(digest);
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum ParseError {
    Text(&'static str),
    Set(tercel::session::TicketKeyError),
}

/// Parses keys, as text or in the binary form.
pub(crate) fn parse(content: &[u8]) -> Result<TicketKeySet, ParseError> {
    // A file in text form never begins with a zero byte.
    if content.first() == Some(&0) {
        return TicketKeySet::from_bytes(content).map_err(ParseError::Set);
    }
    let text = std::str::from_utf8(content)
        .map_err(|_| ParseError::Text("neither text nor a binary key set"))?;
    let mut keys = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            keys.push(key(line).map_err(ParseError::Text)?);
        }
    }
    if keys.len() > MOST {
        return Err(ParseError::Text("contains more than three keys"));
    }
    keys.sort_by_key(TicketKey::not_before);
    // The times decide which key seals, not the order in the file, so the meaning of a file does
    // not depend on when it is read.
    let newest = keys.pop().ok_or(ParseError::Text("contains no key"))?;
    let (current, next) = match keys.pop() {
        None => (newest, None),
        Some(before) => (before, Some(newest)),
    };
    TicketKeySet::new(current, next, keys.pop()).map_err(ParseError::Set)
}

fn key(line: &str) -> Result<TicketKey, &'static str> {
    const FORM: &str = "invalid line; expected: seconds since 1970, a space, 96 hexadecimal digits";
    let (seconds, digits) = line.split_once(char::is_whitespace).ok_or(FORM)?;
    let not_before = Duration::from_secs(seconds.parse().map_err(|_| FORM)?);
    let bytes = from_hexadecimal(digits.trim()).ok_or(FORM)?;
    let (name, secret) = bytes.split_first_chunk::<16>().ok_or(FORM)?;
    let secret = secret.try_into().map_err(|_| FORM)?;
    Ok(TicketKey::new(*name, secret, UnixTime::since_unix_epoch(not_before)))
}

fn from_hexadecimal(digits: &str) -> Option<Zeroizing<Vec<u8>>> {
    if digits.len() != 2 * KEY || !digits.is_ascii() {
        return None;
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY));
    for pair in digits.as_bytes().chunks_exact(2) {
        let mut byte = 0_u8;
        for digit in pair {
            let value = u8::try_from(char::from(*digit).to_digit(16)?).ok()?;
            byte = byte << 4 | value;
        }
        bytes.push(byte);
    }
    Some(bytes)
}

/// The length of a key: name and secret.
const KEY: usize = 48;

/// The maximum number of keys in one file.
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use tercel::session::{SharedTickets, TicketSealer};

    use super::*;

    fn line(begins: u64, number: u8) -> String {
        format!("{begins} {}\n", crate::hex::encode(&[number; 48]))
    }

    /// The numbers of the current, next and previous key; 0 for none.
    fn numbers(text: &str) -> [u8; 3] {
        let set = parse(text.as_bytes()).unwrap();
        let number = |key: Option<&TicketKey>| key.map_or(0, |key| key.name()[0]);
        [number(Some(set.current())), number(set.next()), number(set.previous())]
    }

    #[test]
    fn keys_are_ordered_by_start_time() {
        let text =
            format!("# keys\n{}{}\n {} # last", line(300, 3), line(100, 1), line(200, 2).trim());
        assert_eq!(numbers(&text), [2, 3, 1]);
        assert_eq!(numbers(&(line(300, 3) + &line(200, 2))), [2, 3, 0]);
        assert_eq!(numbers(&line(100, 1)), [1, 0, 0]);
    }

    #[test]
    fn the_newest_key_that_has_begun_seals() {
        let set = parse((line(100, 1) + &line(200, 2) + &line(300, 3)).as_bytes()).unwrap();
        let tickets = SharedTickets::new(&set, Duration::from_secs(60));
        for (now, number) in [(100, 1), (199, 1), (200, 2), (300, 3), (9999, 3)] {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
            assert_eq!(tickets.seal(b"session", now).unwrap()[..16], [number; 16]);
        }
    }

    #[test]
    fn the_binary_form_is_read_as_well() {
        let set = parse(line(100, 1).as_bytes()).unwrap();
        assert_eq!(parse(&set.to_bytes()).unwrap().current().name(), &[1; 16]);
    }

    #[test]
    fn invalid_files_are_refused_with_a_reason() {
        let four: String = (1..=4).map(|number| line(100, number)).collect();
        for (text, reason) in [
            (String::new(), "contains no key"),
            ("# nothing".to_owned(), "contains no key"),
            (four, "more than three"),
            (line(100, 1).replace("01", "0g"), "invalid line"),
            (line(100, 1).trim_end()[..90].to_owned(), "invalid line"),
            ("soon ".to_owned() + &"0".repeat(96), "invalid line"),
        ] {
            match parse(text.as_bytes()) {
                Err(ParseError::Text(why)) => assert!(why.contains(reason), "{why} for {reason}"),
                other => panic!("{other:?} where {reason} was expected"),
            }
        }
        let refused = parse((line(100, 1) + &line(200, 1)).as_bytes()).unwrap_err();
        assert_eq!(refused, ParseError::Set(tercel::session::TicketKeyError::SameName));
        assert!(matches!(parse(&[0, 1, 2]), Err(ParseError::Set(_))));
        assert!(matches!(parse(&[0xff, 1, 2]), Err(ParseError::Text(_))));
    }
}
