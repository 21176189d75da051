//! Shared ticket keys, and the encoding in which one program distributes them to servers. The
//! number after a field is its length in bytes:
//!
//! ```text
//! format version 2 (always 0001) | current | has next 1 | [next] | has previous 1 | [previous]
//! key: name 16 | secret 32 | not_before 8, seconds since the epoch
//! ```

use core::fmt;
use std::time::Duration;

use pki_types::UnixTime;
use tercel_crypto::{CryptoError, Secret, fill_random};
use tercel_wire::{DecodeError, Reader, Writer};
use zeroize::Zeroizing;

/// A ticket key that several processes share. It is zeroized on drop.
pub struct TicketKey {
    name: [u8; NAME],
    secret: Box<Secret>,
    not_before: UnixTime,
}

impl TicketKey {
    /// Generates a random key with a random name, which seals tickets from `not_before` on.
    ///
    /// # Errors
    /// If the random generator fails.
    pub fn generate(not_before: UnixTime) -> Result<Self, CryptoError> {
        let mut name = [0; NAME];
        fill_random(&mut name)?;
        let secret = Box::new(Secret::try_with(SECRET, fill_random)?);
        Ok(Self { name, secret, not_before })
    }

    /// Creates a key with the given name and secret. The name is sent in tickets and has to be
    /// unique.
    #[must_use]
    pub fn new(name: [u8; NAME], secret: &[u8; SECRET], not_before: UnixTime) -> Self {
        Self { name, secret: Box::new(Secret::new(secret)), not_before }
    }

    /// Returns the key's name, which tickets contain unencrypted.
    #[must_use]
    pub fn name(&self) -> &[u8; NAME] {
        &self.name
    }

    /// Returns the time from which the key seals tickets.
    #[must_use]
    pub fn not_before(&self) -> UnixTime {
        self.not_before
    }

    pub(super) fn secret(&self) -> &[u8] {
        self.secret.as_bytes()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.bytes(&self.name);
        writer.bytes(self.secret());
        writer.u64(self.not_before.as_secs());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (name, secret) = (reader.array()?, reader.array()?);
        let not_before = Duration::from_secs(reader.u64()?);
        Ok(Self::new(*name, secret, UnixTime::since_unix_epoch(not_before)))
    }
}

debug_fields!(TicketKey: name, not_before);

/// A set of ticket keys: the current key, and optionally the next and the previous one.
#[derive(Debug)]
pub struct TicketKeySet {
    current: TicketKey,
    next: Option<TicketKey>,
    previous: Option<TicketKey>,
}

impl TicketKeySet {
    /// Creates a set of keys, which must have different names and ascending `not_before` times.
    ///
    /// # Errors
    /// [`TicketKeyError::SameName`] if two names are equal, [`TicketKeyError::OutOfOrder`] if the
    /// times are not ascending.
    pub fn new(
        current: TicketKey,
        next: Option<TicketKey>,
        previous: Option<TicketKey>,
    ) -> Result<Self, TicketKeyError> {
        let set = Self { current, next, previous };
        let newest_first: Vec<_> = set.newest_first().collect();
        for (at, key) in newest_first.iter().enumerate() {
            for older in newest_first.iter().skip(at).skip(1) {
                if older.name == key.name {
                    return Err(TicketKeyError::SameName);
                }
                if older.not_before > key.not_before {
                    return Err(TicketKeyError::OutOfOrder);
                }
            }
        }
        Ok(set)
    }

    /// Returns the current key, which seals tickets from its `not_before` until the `not_before` of
    /// the next key.
    #[must_use]
    pub fn current(&self) -> &TicketKey {
        &self.current
    }

    /// Returns the key that will replace the current one.
    #[must_use]
    pub fn next(&self) -> Option<&TicketKey> {
        self.next.as_ref()
    }

    /// Returns the key that the current one replaced.
    #[must_use]
    pub fn previous(&self) -> Option<&TicketKey> {
        self.previous.as_ref()
    }

    /// Rotates the keys: the next key becomes the current one, and `new` becomes the next key. If
    /// there is no next key, the current key remains, so that no key seals tickets before all
    /// processes have received it.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn advance(self, new: TicketKey) -> Result<Self, TicketKeyError> {
        match self.next {
            Some(next) => Self::new(next, Some(new), Some(self.current)),
            None => Self::new(self.current, Some(new), self.previous),
        }
    }

    /// Encodes the keys for other processes. The bytes are as secret as the keys.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // The full capacity is allocated, because growing would leave copies of secrets in freed
        // memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST));
        let mut writer = Writer::new(&mut bytes);
        writer.u16(VERSION);
        self.current.write(&mut writer);
        for key in [&self.next, &self.previous] {
            writer.u8(u8::from(key.is_some()));
            if let Some(key) = key {
                key.write(&mut writer);
            }
        }
        bytes
    }

    /// Decodes the bytes of [`Self::to_bytes`].
    ///
    /// # Errors
    /// If the bytes have another format version, are truncated or malformed, or if [`Self::new`]
    /// refuses the keys.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TicketKeyError> {
        let mut reader = Reader::new(bytes);
        let version = reader.u16().map_err(|_| TicketKeyError::Malformed)?;
        if version != VERSION {
            return Err(TicketKeyError::UnknownVersion(version));
        }
        let current = TicketKey::read(&mut reader).map_err(|_| TicketKeyError::Malformed)?;
        let next = read_optional(&mut reader)?;
        let previous = read_optional(&mut reader)?;
        reader.expect_end().map_err(|_| TicketKeyError::Malformed)?;
        Self::new(current, next, previous)
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &TicketKey> {
        self.next.iter().chain([&self.current]).chain(&self.previous)
    }
}

/// The error of [`TicketKeySet::new`] or [`TicketKeySet::from_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TicketKeyError {
    /// The bytes have a format version that this library does not support.
    UnknownVersion(u16),
    /// The bytes are not an encoded set of keys.
    Malformed,
    /// Two keys have the same name.
    SameName,
    /// A key's `not_before` is earlier than the `not_before` of the key that it replaces.
    OutOfOrder,
}

impl fmt::Display for TicketKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion(version) => {
                write!(f, "ticket keys have the unsupported format version {version}")
            }
            Self::Malformed => f.write_str("ticket keys are malformed"),
            Self::SameName => f.write_str("two ticket keys have the same name"),
            Self::OutOfOrder => {
                f.write_str("a ticket key's not_before is earlier than that of the key it replaces")
            }
        }
    }
}

impl std::error::Error for TicketKeyError {}

fn read_optional(reader: &mut Reader<'_>) -> Result<Option<TicketKey>, TicketKeyError> {
    match reader.u8() {
        Ok(0) => Ok(None),
        Ok(1) => TicketKey::read(reader).map(Some).map_err(|_| TicketKeyError::Malformed),
        _ => Err(TicketKeyError::Malformed),
    }
}

const VERSION: u16 = 1;
pub(super) const NAME: usize = 16;
const SECRET: usize = 32;
const LONGEST: usize = 2 + 2 + 3 * (NAME + SECRET + 8);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    }

    fn key(number: u8) -> TicketKey {
        TicketKey::new([number; 16], &[number | 0x80; 32], at(u64::from(number) * 100))
    }

    fn sets() -> [TicketKeySet; 4] {
        [(false, false), (false, true), (true, false), (true, true)].map(|(next, previous)| {
            TicketKeySet::new(key(2), next.then(|| key(3)), previous.then(|| key(1))).unwrap()
        })
    }

    fn seen(set: &TicketKeySet) -> Vec<([u8; 16], Vec<u8>, UnixTime)> {
        let seen = |key: &TicketKey| (key.name, key.secret().to_vec(), key.not_before);
        set.newest_first().map(seen).collect()
    }

    #[test]
    fn sets_are_restored_from_their_bytes() {
        for set in sets() {
            let bytes = set.to_bytes();
            assert!(bytes.len() <= LONGEST && bytes.capacity() == LONGEST);
            assert_eq!(seen(&TicketKeySet::from_bytes(&bytes).unwrap()), seen(&set));
        }
    }

    #[test]
    fn the_format_is_unchanged() {
        let bytes = sets()[1].to_bytes();
        assert_eq!(bytes[..2], [0, 1]);
        assert_eq!(bytes[2..18], [2; 16]);
        assert_eq!(bytes[18..50], [0x82; 32]);
        assert_eq!(bytes[50..60], [0, 0, 0, 0, 0, 0, 0, 200, 0, 1]);
        assert_eq!(bytes[60..76], [1; 16]);
        assert_eq!(bytes.len(), 116);
    }

    #[test]
    fn every_other_length_version_and_flag_is_refused() {
        for set in sets() {
            let bytes = set.to_bytes().to_vec();
            for length in 0..bytes.len() {
                let refused = TicketKeySet::from_bytes(&bytes[..length]).unwrap_err();
                assert_eq!(refused, TicketKeyError::Malformed);
            }
            let mut longer = bytes.clone();
            longer.push(0);
            assert_eq!(TicketKeySet::from_bytes(&longer).unwrap_err(), TicketKeyError::Malformed);
            let mut flagged = bytes.clone();
            flagged[58] = 2;
            assert_eq!(TicketKeySet::from_bytes(&flagged).unwrap_err(), TicketKeyError::Malformed);
            for version in [0, 2, 0x0101] {
                let mut other = bytes.clone();
                other[..2].copy_from_slice(&u16::to_be_bytes(version));
                let refused = TicketKeySet::from_bytes(&other).unwrap_err();
                assert_eq!(refused, TicketKeyError::UnknownVersion(version));
            }
        }
    }

    #[test]
    fn names_must_differ_and_times_must_ascend() {
        let refusal = |current, next, previous| {
            TicketKeySet::new(key(current), Some(key(next)), Some(key(previous))).unwrap_err()
        };
        assert_eq!(refusal(2, 2, 1), TicketKeyError::SameName);
        assert_eq!(refusal(2, 3, 3), TicketKeyError::SameName);
        assert_eq!(refusal(2, 1, 0), TicketKeyError::OutOfOrder);
        assert_eq!(refusal(2, 4, 3), TicketKeyError::OutOfOrder);
    }

    #[test]
    fn advance_rotates_each_key_by_one() {
        let names =
            |set: &TicketKeySet| -> Vec<_> { set.newest_first().map(|key| key.name[0]).collect() };
        let set = TicketKeySet::new(key(1), None, None).unwrap().advance(key(2)).unwrap();
        assert_eq!((names(&set), set.current.name[0]), (vec![2, 1], 1));
        let set = set.advance(key(3)).unwrap();
        assert_eq!((names(&set), set.current.name[0]), (vec![3, 2, 1], 2));
        let set = set.advance(key(4)).unwrap();
        assert_eq!((names(&set), set.current.name[0]), (vec![4, 3, 2], 3));
    }

    #[test]
    fn generated_keys_differ() {
        let [a, b] = [0, 1].map(|_| TicketKey::generate(at(7)).unwrap());
        assert_ne!(a.name, b.name);
        assert_ne!(a.secret(), b.secret());
        assert_eq!(a.not_before(), at(7));
    }

    #[test]
    fn debug_shows_no_secret() {
        let shown = format!("{:?}", sets()[3]);
        assert!(!shown.contains("129") && !shown.contains("130"), "{shown}");
    }
}
