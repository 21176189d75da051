//! A server's set of keys, which can be replaced at any time.

use core::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::{ConfigList, Key};
use crate::record::limits;

/// The keys of a server for Encrypted ClientHello, which can be replaced at any time.
///
/// All keys open ClientHellos. The configurations of keys with [`Retry::Send`] are sent to clients
/// whose configuration is out of date. To rotate keys, add the new key with [`Retry::AcceptOnly`]
/// on all servers, then publish its configuration. Then give the new key [`Retry::Send`] and the
/// old one [`Retry::AcceptOnly`], and remove the old key after the old record has expired.
pub struct Keys {
    current: ArcSwap<KeySet>,
}

/// Whether a key's configuration is sent to clients whose configuration is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The configuration is sent.
    Send,
    /// The key only opens ClientHellos.
    AcceptOnly,
}

/// The reason why a set of keys cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeysError {
    /// No key has [`Retry::Send`], but a server must send a configuration. RFC 9849 7.1
    NoRetryConfig,
    /// There are more than 16 keys.
    TooManyKeys,
    /// More than four keys have the same identifier. All of them are tried, so the limit bounds the
    /// work for one ClientHello.
    TooManyKeysOfOneId,
}

impl fmt::Display for KeysError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRetryConfig => {
                "no ECH key is to be sent to clients with an outdated configuration"
            }
            Self::TooManyKeys => "there are more than 16 ECH keys: remove old ones",
            Self::TooManyKeysOfOneId => {
                "more than four ECH keys have the same identifier: replace one by a new key"
            }
        })
    }
}

impl std::error::Error for KeysError {}

impl Keys {
    /// Creates a set of keys.
    ///
    /// # Errors
    /// If there are too many keys, or if none is for retries.
    pub fn new(keys: Vec<(Key, Retry)>) -> Result<Self, KeysError> {
        Ok(Self { current: ArcSwap::from_pointee(KeySet::new(keys)?) })
    }

    /// Creates a set without keys, for servers that receive their keys later. Until
    /// [`Self::replace`], the server behaves as if it had no Encrypted ClientHello, so that clients
    /// that offer it connect again without it.
    #[must_use]
    pub fn empty() -> Self {
        let retry_configs = ConfigList::of([]);
        Self { current: ArcSwap::from_pointee(KeySet { keys: Vec::new(), retry_configs }) }
    }

    /// Replaces all keys. Handshakes in progress keep their key.
    ///
    /// # Errors
    /// As for [`Self::new`]; then the old keys stay.
    pub fn replace(&self, keys: Vec<(Key, Retry)>) -> Result<(), KeysError> {
        self.current.store(Arc::new(KeySet::new(keys)?));
        Ok(())
    }

    /// Replaces all keys by those that `other` has now. If it has none, this set has none either.
    pub fn replace_with(&self, other: &Self) {
        self.current.store(other.current());
    }

    /// Returns the configurations that are sent to clients whose configuration is out of date.
    #[must_use]
    pub fn retry_configs(&self) -> ConfigList {
        self.current.load().retry_configs.clone()
    }

    pub(crate) fn current(&self) -> Arc<KeySet> {
        self.current.load_full()
    }
}

debug_fields!(Keys, keys: keys = keys.current.load().keys.len());

/// Keys that do not change.
pub(crate) struct KeySet {
    keys: Vec<Key>,
    pub(crate) retry_configs: ConfigList,
}

impl KeySet {
    fn new(keys: Vec<(Key, Retry)>) -> Result<Self, KeysError> {
        let for_retries = keys.iter().filter(|(_, retry)| *retry == Retry::Send);
        let retry_configs = ConfigList::of(for_retries.map(|(key, _)| key.encoded_config()));
        if retry_configs.is_empty() {
            return Err(KeysError::NoRetryConfig);
        }
        if keys.len() > limits::MAX_ECH_KEYS {
            return Err(KeysError::TooManyKeys);
        }
        let keys: Vec<_> = keys.into_iter().map(|(key, _)| key).collect();
        let set = Self { keys, retry_configs };
        let most = limits::MAX_ECH_KEYS_OF_ONE_ID;
        if set.keys.iter().any(|key| set.with_id(key.config_id()).count() > most) {
            return Err(KeysError::TooManyKeysOfOneId);
        }
        Ok(set)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys with this identifier. RFC 9849 7.1
    pub(crate) fn with_id(&self, config_id: u8) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| key.config_id() == config_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key with this identifier.
    fn key(config_id: u8) -> Key {
        loop {
            let key = Key::generate("a.example", 0).unwrap();
            if key.config_id() == config_id {
                return key;
            }
        }
    }

    /// RFC 9849 7.1
    #[test]
    fn only_keys_for_retries_are_sent() {
        let [one, two, three] = [(); 3].map(|()| Key::generate("a.example", 0).unwrap());
        let expected = ConfigList::of([one.encoded_config(), three.encoded_config()]);
        let all = vec![(one, Retry::Send), (two, Retry::AcceptOnly), (three, Retry::Send)];
        let keys = Keys::new(all).unwrap();
        assert_eq!(keys.retry_configs(), expected);
        assert_eq!(format!("{keys:?}"), "Keys { keys: 3, .. }");
        let replaced = keys.replace(vec![(key(1), Retry::AcceptOnly)]);
        assert_eq!(replaced, Err(KeysError::NoRetryConfig));
        assert_eq!(keys.retry_configs(), expected);
        let before = keys.current();
        keys.replace(vec![(key(1), Retry::Send)]).unwrap();
        assert_ne!(keys.retry_configs(), expected);
        assert_eq!(before.retry_configs, expected);
        assert_eq!(keys.current().with_id(1).count(), 1);
        assert_eq!(keys.current().with_id(2).count(), 0);
    }

    #[test]
    fn an_empty_set_receives_its_keys_later() {
        let keys = Keys::empty();
        assert!(keys.current().is_empty() && keys.retry_configs().is_empty());
        keys.replace(vec![(key(1), Retry::Send)]).unwrap();
        assert!(!keys.current().is_empty() && !keys.retry_configs().is_empty());
        assert_eq!(keys.replace(Vec::new()), Err(KeysError::NoRetryConfig));
        let copy = Keys::empty();
        copy.replace_with(&keys);
        assert!(copy.retry_configs() == keys.retry_configs() && !copy.current().is_empty());
        copy.replace_with(&Keys::empty());
        assert!(copy.current().is_empty() && !keys.current().is_empty());
    }

    #[test]
    fn the_number_of_keys_is_limited() {
        let with_ids = |ids: &[u8]| ids.iter().map(|id| (key(*id), Retry::Send)).collect();
        let most: Vec<u8> = (0..16).map(|id| id / 4).collect();
        assert!(Keys::new(with_ids(&most)).is_ok());
        let five = Keys::new(with_ids(&[1, 2, 1, 1, 1, 1])).unwrap_err();
        assert_eq!(five, KeysError::TooManyKeysOfOneId);
        let too_many: Vec<u8> = (0..17).collect();
        assert_eq!(Keys::new(with_ids(&too_many)).unwrap_err(), KeysError::TooManyKeys);
        let texts =
            [KeysError::NoRetryConfig, KeysError::TooManyKeys, KeysError::TooManyKeysOfOneId]
                .map(|error| error.to_string());
        assert!(texts[0] != texts[1] && texts[1] != texts[2]);
    }
}
