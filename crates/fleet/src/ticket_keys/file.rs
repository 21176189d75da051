//! Ticket keys in a file that something else distributes.
//!
//! Must not know: when it is read. Next: [`crate::keeper`]; the form is told at [`crate::TicketKeys::File`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tercel::crypto::lock::Mutex;
use tercel::crypto::{Hash, HashAlgorithm};
use tercel::pki_types::UnixTime;
use tercel::{TicketKey, TicketKeySet};
use tracing::{info, warn};
use zeroize::Zeroizing;

use super::FleetTickets;
use crate::counts::Counters;
use crate::error::FleetError;
use crate::files::read_private;

/// The file, and what was read last.
pub(crate) struct KeyFile {
    path: PathBuf,
    tickets: Arc<FleetTickets>,
    /// Taken by who reads the file, never in a handshake.
    last: Mutex<Last>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Last {
    /// A digest of the file whose keys are in use.
    taken: Option<Vec<u8>>,
    /// What was wrong with it last, so that it is told once.
    refused: Option<String>,
}

impl KeyFile {
    pub(crate) fn new(path: &Path, tickets: Arc<FleetTickets>, counters: Arc<Counters>) -> Self {
        Self { path: path.to_owned(), tickets, last: Mutex::default(), counters }
    }

    /// Takes over what is in the file now. What cannot be used changes nothing.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn read(&self) -> Result<(), FleetError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.try_read(&mut last);
        match &outcome {
            Ok(()) => last.refused = None,
            Err(error) => {
                let reason = error.to_string();
                if last.refused.as_ref() != Some(&reason) {
                    warn!(reason, "ticket keys refused; those from before stay");
                    self.counters.ticket_keys_refused.add();
                    last.refused = Some(reason);
                }
            }
        }
        outcome
    }

    fn try_read(&self, last: &mut Last) -> Result<(), FleetError> {
        let content = read_private(&self.path)?;
        let digest = Hash::digest(HashAlgorithm::Sha256, &[&content]).to_vec();
        if last.taken.as_ref() == Some(&digest) {
            return Ok(());
        }
        let keys = parse(&content).map_err(|error| match error {
            Unreadable::Text(why) => FleetError::Content(self.path.clone(), why),
            Unreadable::Set(error) => FleetError::Keys(self.path.clone(), error),
        })?;
        self.tickets.set(&keys, u64::MAX);
        self.counters.ticket_keys_changed.add();
        info!(file = %self.path.display(), "ticket keys taken over");
        last.taken = Some(digest);
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum Unreadable {
    Text(&'static str),
    Set(tercel::TicketKeyError),
}

/// The keys in `content`, in either form.
pub(crate) fn parse(content: &[u8]) -> Result<TicketKeySet, Unreadable> {
    // No text begins so.
    if content.first() == Some(&0) {
        return TicketKeySet::from_bytes(content).map_err(Unreadable::Set);
    }
    let text = std::str::from_utf8(content)
        .map_err(|_| Unreadable::Text("neither text nor a set of keys"))?;
    let mut keys = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            keys.push(key(line).map_err(Unreadable::Text)?);
        }
    }
    if keys.len() > MOST {
        return Err(Unreadable::Text("more than three keys"));
    }
    keys.sort_by_key(TicketKey::not_before);
    // Who seals is decided by the time, not by the place in the set: a file means the same at any moment.
    let newest = keys.pop().ok_or(Unreadable::Text("no key in it"))?;
    let (current, next) = match keys.pop() {
        None => (newest, None),
        Some(before) => (before, Some(newest)),
    };
    TicketKeySet::new(current, next, keys.pop()).map_err(Unreadable::Set)
}

fn key(line: &str) -> Result<TicketKey, &'static str> {
    const FORM: &str = "a line is no key: seconds since 1970, a space, 96 hexadecimal digits";
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

/// Name and secret.
const KEY: usize = 48;

/// Keys in one file.
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use tercel::{SharedTickets, TicketSealer};

    use super::*;

    fn line(begins: u64, number: u8) -> String {
        format!("{begins} {}\n", crate::secret::hexadecimal(&[number; 48]))
    }

    /// The numbers of the current, next and previous key; 0 for none.
    fn numbers(text: &str) -> [u8; 3] {
        let set = parse(text.as_bytes()).unwrap();
        let number = |key: Option<&TicketKey>| key.map_or(0, |key| key.name()[0]);
        [number(Some(set.current())), number(set.next()), number(set.previous())]
    }

    #[test]
    fn keys_follow_each_other_as_they_begin() {
        let text =
            format!("# keys\n{}{}\n {} # last", line(300, 3), line(100, 1), line(200, 2).trim());
        assert_eq!(numbers(&text), [2, 3, 1]);
        assert_eq!(numbers(&(line(300, 3) + &line(200, 2))), [2, 3, 0]);
        assert_eq!(numbers(&line(100, 1)), [1, 0, 0]);
    }

    #[test]
    fn of_three_keys_the_newest_that_has_begun_seals() {
        let set = parse((line(100, 1) + &line(200, 2) + &line(300, 3)).as_bytes()).unwrap();
        let tickets = SharedTickets::new(&set, Duration::from_secs(60));
        for (now, number) in [(100, 1), (199, 1), (200, 2), (300, 3), (9999, 3)] {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(now));
            assert_eq!(tickets.seal(b"session", now).unwrap()[..16], [number; 16]);
        }
    }

    #[test]
    fn the_bytes_of_a_set_are_read_as_well() {
        let set = parse(line(100, 1).as_bytes()).unwrap();
        assert_eq!(parse(&set.to_bytes()).unwrap().current().name(), &[1; 16]);
    }

    #[test]
    fn what_is_no_set_is_refused_with_its_reason() {
        let four: String = (1..=4).map(|number| line(100, number)).collect();
        for (text, reason) in [
            (String::new(), "no key in it"),
            ("# nothing".to_owned(), "no key in it"),
            (four, "more than three"),
            (line(100, 1).replace("01", "0g"), "no key: seconds"),
            (line(100, 1).trim_end()[..90].to_owned(), "no key: seconds"),
            ("soon ".to_owned() + &"0".repeat(96), "no key: seconds"),
        ] {
            match parse(text.as_bytes()) {
                Err(Unreadable::Text(why)) => assert!(why.contains(reason), "{why} for {reason}"),
                other => panic!("{other:?} where {reason} was expected"),
            }
        }
        let refused = parse((line(100, 1) + &line(200, 1)).as_bytes()).unwrap_err();
        assert_eq!(refused, Unreadable::Set(tercel::TicketKeyError::SameName));
        assert!(matches!(parse(&[0, 1, 2]), Err(Unreadable::Set(_))));
        assert!(matches!(parse(&[0xff, 1, 2]), Err(Unreadable::Text(_))));
    }
}
