//! A set of keys that all nodes of a fleet have: sealed under the fleet secret, in the store.
//!
//! A set has a number that grows with each change, and is sealed together with it. A node writes
//! only if the value that it has read is still there ("compare and set"), so if two nodes try, one
//! succeeds and the other reads the result.
//!
//! - A value that cannot be opened is left unchanged and rejected: it may belong to another fleet,
//!   and the operator should notice. A value that opens under the previous secret is sealed again
//!   under the current one. A value that opens under the next secret is left unchanged, because
//!   nodes that are one step further in the rotation wrote it.
//! - A set with a smaller number than this node has seen is an old set that was restored. It is
//!   replaced. If two sets have the same number, as after a restore of the store, all nodes use the
//!   one with the larger digest.
//! - A set that disappeared is written again by any node that has it.

use std::sync::Arc;

use tercel::crypto::HashAlgorithm;
use tercel_crypto::Hash;
use zeroize::Zeroizing;

use crate::error::FleetError;
use crate::secrets::secret::FleetKey;
use crate::secrets::{FleetSecrets, SecretKeys, SecretRole, SharedSecrets};
use crate::store::client::cmd;
use crate::store::{Caller, Store};

/// A set, and the value in the store that contains it.
pub(crate) struct SealedSet {
    pub(crate) number: u64,
    pub(crate) content: Zeroizing<Vec<u8>>,
    /// The value in the store.
    pub(crate) sealed: Vec<u8>,
    /// The role of the secret with which the value is sealed.
    pub(crate) role: SecretRole,
}

/// Selects the key of a fleet secret that seals the sets of one kind.
pub(crate) type KeyOf = fn(&SecretKeys) -> &FleetKey;

impl SealedSet {
    /// Opens a value of the store.
    ///
    /// # Errors
    /// [`FleetError::UnreadableKeys`] if no secret of this node opens it.
    pub(crate) fn open(
        secrets: &FleetSecrets,
        key_of: KeyOf,
        sealed: &[u8],
    ) -> Result<Self, FleetError> {
        let found = secrets.find(|keys| open(key_of(keys), sealed));
        let (role, (number, content)) = found.ok_or(FleetError::UnreadableKeys)?;
        Ok(Self { number, content, sealed: sealed.to_vec(), role })
    }

    /// Whether this set replaces `other`.
    pub(crate) fn supersedes(&self, other: &Self) -> bool {
        let rank = |set: &Self| {
            (set.number, Hash::digest(HashAlgorithm::Sha256, &[&set.content]).to_vec())
        };
        rank(self) > rank(other)
    }

    /// The value for the store, sealed under the current secret.
    pub(crate) fn resealed(
        &self,
        secrets: &FleetSecrets,
        key_of: KeyOf,
    ) -> Result<Vec<u8>, FleetError> {
        match Self::open(secrets, key_of, &self.sealed) {
            Ok(Self { role: SecretRole::Current, sealed, .. }) => Ok(sealed),
            _ => seal(key_of(secrets.current()), self.number, &self.content),
        }
    }
}

/// The place of a set in the store.
pub(crate) struct StoredSet {
    pub(crate) store: Arc<Store>,
    pub(crate) name: String,
    pub(crate) secrets: Arc<SharedSecrets>,
}

impl StoredSet {
    pub(crate) fn new(store: Arc<Store>, name: String, secrets: Arc<SharedSecrets>) -> Self {
        Self { store, name, secrets }
    }

    /// Reads the value, or as much of it as shows that it is too long.
    ///
    /// # Errors
    /// If the store is unavailable. [`FleetError::UnreadableKeys`] if the value is too long.
    pub(crate) async fn read(&self) -> Result<Option<Vec<u8>>, FleetError> {
        let mut command = cmd("GETRANGE");
        command.arg(&self.name).arg(0).arg(LONGEST);
        let value: Vec<u8> = self.store.run_command(Caller::Background, command).await?;
        match value.len() {
            // The store returns an empty value for one that is missing.
            0 => Ok(None),
            length if length > LONGEST => Err(FleetError::UnreadableKeys),
            _ => Ok(Some(value)),
        }
    }

    /// Writes `new` if the store has `old`; an empty `old` stands for no value.
    pub(crate) async fn replace(&self, old: &[u8], new: &[u8]) -> Result<(), FleetError> {
        let mut command = cmd("EVAL");
        command.arg(COMPARE_AND_SET).arg(1).arg(&self.name).arg(old).arg(new);
        self.store.run_command::<i64>(Caller::Background, command).await.map(drop)
    }
}

/// Seals the content of a set together with its number.
pub(crate) fn seal(key: &FleetKey, number: u64, content: &[u8]) -> Result<Vec<u8>, FleetError> {
    let number = number.to_be_bytes();
    let sealed = key.seal(&number, content).map_err(|_| FleetError::Random)?;
    Ok([&[VERSION], &number[..], &sealed].concat())
}

/// The number and the content of a set.
pub(crate) fn open(key: &FleetKey, sealed: &[u8]) -> Option<(u64, Zeroizing<Vec<u8>>)> {
    let (number, sealed) = sealed.strip_prefix(&[VERSION])?.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*number), key.open(number, sealed)?))
}

/// Compares and sets in one atomic step.
pub(crate) const COMPARE_AND_SET: &str = "if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0";

/// The maximum length of a value that is read. The sets of all kinds are shorter.
pub(crate) const LONGEST: usize = 16 << 10;

/// The version of the stored format: this byte, the number of the set in 8 bytes, the sealed set.
const VERSION: u8 = 1;

/// The maximum number of attempts to write a set. An attempt fails only because another node was
/// faster.
pub(crate) const ATTEMPTS: usize = 8;

/// The time in seconds after which every node that is connected to the store has read a new set.
pub(crate) const PROPAGATION: u64 = 3;
