//! Ticket keys in a file that something else distributes.
//!
//! Must not know: when it is read. Next: [`crate::keeper`]; the form is told at [`crate::TicketKeys::File`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    pub(crate) fn read(&self, now: UnixTime) -> Result<(), FleetError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = self.try_read(&mut last, now);
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

    fn try_read(&self, last: &mut Last, now: UnixTime) -> Result<(), FleetError> {
        let content = read_private(&self.path)?;
        let digest = Hash::digest(HashAlgorithm::Sha256, &[&content]).to_vec();
        if last.taken.as_ref() == Some(&digest) {
            return Ok(());
        }
        let keys = parse(&content, now).map_err(|error| match error {
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
enum Unreadable {
    Text(&'static str),
    Set(tercel::TicketKeyError),
}

/// The keys in `content`, in either form.
fn parse(content: &[u8], now: UnixTime) -> Result<TicketKeySet, Unreadable> {
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
    keys.sort_by_key(|key| std::cmp::Reverse(key.not_before()));
    let (later, mut begun): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key.not_before() > now);
    let mut later = later.into_iter().rev();
    // Before any has begun the first will be the current one, and seals nothing yet.
    if begun.is_empty() {
        begun.extend(later.next());
    }
    let next = later.next();
    let mut begun = begun.into_iter();
    let current = begun.next().ok_or(Unreadable::Text("no key in it"))?;
    let previous = begun.next();
    if later.next().is_some() {
        return Err(Unreadable::Text(
            "two keys wait for their time behind the one in use: leave the later one out",
        ));
    }
    if begun.next().is_some() {
        return Err(Unreadable::Text("three keys have begun: leave the oldest out"));
    }
    TicketKeySet::new(current, next, previous).map_err(Unreadable::Set)
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
    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn line(begins: u64, number: u8) -> String {
        format!("{begins} {}\n", crate::secret::hexadecimal(&[number; 48]))
    }

    /// The numbers of the current, next and previous key; 0 for none.
    fn numbers(text: &str, now: u64) -> [u8; 3] {
        let set = parse(text.as_bytes(), at(now)).unwrap();
        let number = |key: Option<&TicketKey>| key.map_or(0, |key| key.name()[0]);
        [number(Some(set.current())), number(set.next()), number(set.previous())]
    }

    #[test]
    fn time_says_which_key_is_which() {
        let text =
            format!("# keys\n{}{}\n {} # last", line(300, 3), line(100, 1), line(200, 2).trim());
        assert_eq!(numbers(&text, 250), [2, 3, 1]);
        assert_eq!(numbers(&line(100, 1), 250), [1, 0, 0]);
        assert_eq!(numbers(&line(100, 1), 50), [1, 0, 0]);
        assert_eq!(numbers(&format!("{}{}", line(300, 3), line(200, 2)), 50), [2, 3, 0]);
        assert_eq!(numbers(&format!("{}{}", line(300, 3), line(200, 2)), 300), [3, 0, 2]);
    }

    #[test]
    fn the_bytes_of_a_set_are_read_as_well() {
        let set = parse(line(100, 1).as_bytes(), at(200)).unwrap();
        let again = parse(&set.to_bytes(), at(200)).unwrap();
        assert_eq!(again.current().name(), &[1; 16]);
    }

    #[test]
    fn what_is_no_set_is_refused_with_its_reason() {
        let four: String = (1..=4).map(|number| line(100, number)).collect();
        let begun: String = (1..=3).map(|number| line(u64::from(number), number)).collect();
        for (text, now, reason) in [
            (String::new(), 1, "no key in it"),
            ("# nothing".to_owned(), 1, "no key in it"),
            (four, 200, "more than three"),
            (begun, 200, "leave the oldest out"),
            (line(300, 1) + &line(400, 2) + &line(1, 3), 200, "leave the later one out"),
            (line(100, 1).replace("01", "0g"), 200, "no key: seconds"),
            (line(100, 1).trim_end()[..90].to_owned(), 200, "no key: seconds"),
            ("soon ".to_owned() + &"0".repeat(96), 200, "no key: seconds"),
        ] {
            match parse(text.as_bytes(), at(now)) {
                Err(Unreadable::Text(why)) => assert!(why.contains(reason), "{why} for {reason}"),
                other => panic!("{other:?} where {reason} was expected"),
            }
        }
        let twice = line(100, 1) + &line(200, 1);
        let refused = parse(twice.as_bytes(), at(200)).unwrap_err();
        assert_eq!(refused, Unreadable::Set(tercel::TicketKeyError::SameName));
        assert!(matches!(parse(&[0, 1, 2], at(1)), Err(Unreadable::Set(_))));
        assert!(matches!(parse(&[0xff, 1, 2], at(1)), Err(Unreadable::Text(_))));
    }
}
