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
//! - A set that a node knows, and whose value none of its present secrets opens, is not one of the
//!   fleet: the operator has replaced the secret without a rotation, to discard what was sealed
//!   with it. The node uses the set until it reads another one, never writes it, and does not
//!   compare its number.
//!
//! Nodes write sets only by the functions of [`StoredSet`], so that these rules hold for each kind.

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
    /// The role of the secret with which the value was sealed when it was read.
    role: SecretRole,
}

/// Selects the key of a fleet secret that seals the sets of one kind.
pub(crate) type KeyOf = fn(&SecretKeys) -> &FleetKey;

impl SealedSet {
    /// Opens a value of the store.
    ///
    /// # Errors
    /// [`FleetError::UnreadableKeys`] if no secret of this node opens it.
    fn open(secrets: &FleetSecrets, key_of: KeyOf, sealed: &[u8]) -> Result<Self, FleetError> {
        let found = secrets.find(|keys| open(key_of(keys), sealed));
        let (role, (number, content)) = found.ok_or(FleetError::UnreadableKeys)?;
        Ok(Self { number, content, sealed: sealed.to_vec(), role })
    }

    /// The order of the sets of one fleet.
    fn rank(&self) -> (u64, Vec<u8>) {
        (self.number, Hash::digest(HashAlgorithm::Sha256, &[&self.content]).to_vec())
    }

    /// The value for the store, sealed under the current secret.
    ///
    /// # Errors
    /// [`FleetError::UnreadableKeys`] if no secret of this node opens the present value.
    fn resealed(&self, secrets: &FleetSecrets, key_of: KeyOf) -> Result<Vec<u8>, FleetError> {
        match Self::open(secrets, key_of, &self.sealed)? {
            Self { role: SecretRole::Current, sealed, .. } => Ok(sealed),
            Self { number, content, .. } => seal(key_of(secrets.current()), number, &content),
        }
    }
}

/// The place of a set in the store.
pub(crate) struct StoredSet {
    pub(crate) store: Arc<Store>,
    pub(crate) name: String,
    secrets: Arc<SharedSecrets>,
    key_of: KeyOf,
}

/// The outcome of a comparison of the store with the set that a node knows.
pub(crate) enum Compared {
    /// The store has no set, and the node knows none of this fleet.
    Missing,
    /// The store had no set. The node has written its own; read again.
    Restored,
    /// The store had an older set. The node has written its own; read again.
    Replaced,
    /// The set in the store, to be used from now on.
    Found(SealedSet),
}

impl StoredSet {
    pub(crate) fn new(
        store: Arc<Store>,
        name: String,
        secrets: Arc<SharedSecrets>,
        key_of: KeyOf,
    ) -> Self {
        Self { store, name, secrets, key_of }
    }

    /// Opens a sealed set that was saved elsewhere.
    ///
    /// # Errors
    /// [`FleetError::UnreadableKeys`] if no secret of this node opens it.
    pub(crate) fn open(&self, sealed: &[u8]) -> Result<SealedSet, FleetError> {
        SealedSet::open(&self.secrets.get(), self.key_of, sealed)
    }

    /// Whether a present secret of this node opens the value of this set.
    pub(crate) fn is_of_fleet(&self, set: &SealedSet) -> bool {
        self.open(&set.sealed).is_ok()
    }

    /// Whether this set replaces `other`, a set of the fleet.
    pub(crate) fn supersedes(&self, set: &SealedSet, other: &SealedSet) -> bool {
        self.is_of_fleet(set) && set.rank() > other.rank()
    }

    /// Reads the store, and writes the set that this node knows if it is missing or older there.
    ///
    /// # Errors
    /// If the store is unavailable. [`FleetError::UnreadableKeys`] if no secret of this node opens
    /// its value.
    pub(crate) async fn compare(&self, known: Option<&SealedSet>) -> Result<Compared, FleetError> {
        let secrets = self.secrets.get();
        let value = self.read().await?;
        let found = value.map(|sealed| SealedSet::open(&secrets, self.key_of, &sealed));
        let found = found.transpose()?;
        let own = known.filter(|own| SealedSet::open(&secrets, self.key_of, &own.sealed).is_ok());
        let newer = own.filter(|own| found.as_ref().is_none_or(|found| own.rank() > found.rank()));
        let Some(newer) = newer else {
            return Ok(found.map_or(Compared::Missing, Compared::Found));
        };
        let old = found.as_ref().map_or(&[][..], |found| &found.sealed);
        self.replace(old, &newer.resealed(&secrets, self.key_of)?).await?;
        Ok(if found.is_some() { Compared::Replaced } else { Compared::Restored })
    }

    /// Seals a set of the store with the current secret if it is sealed with the previous one.
    /// Returns whether it was.
    ///
    /// # Errors
    /// If the store is unavailable. [`FleetError::UnreadableKeys`] if the secret was replaced
    /// meanwhile.
    pub(crate) async fn renew(&self, set: &SealedSet) -> Result<bool, FleetError> {
        let is_old = set.role == SecretRole::Previous;
        if is_old {
            let renewed = set.resealed(&self.secrets.get(), self.key_of)?;
            self.replace(&set.sealed, &renewed).await?;
        }
        Ok(is_old)
    }

    /// Writes a new set in place of `before`, the set in the store; `None` stands for no set. Keys
    /// of `before` may be part of the content.
    ///
    /// # Errors
    /// If the store is unavailable. [`FleetError::UnreadableKeys`] if the secret was replaced
    /// meanwhile.
    pub(crate) async fn write(
        &self,
        before: Option<&SealedSet>,
        content: &[u8],
    ) -> Result<(), FleetError> {
        let secrets = self.secrets.get();
        let (old, number) = match before {
            Some(before) => {
                let before = SealedSet::open(&secrets, self.key_of, &before.sealed)?;
                (before.sealed, before.number.saturating_add(1))
            }
            // Nodes that know a set of this fleet replace the first one.
            None => (Vec::new(), 1),
        };
        self.replace(&old, &seal((self.key_of)(secrets.current()), number, content)?).await
    }

    /// Reads the value, or as much of it as shows that it is too long.
    async fn read(&self) -> Result<Option<Vec<u8>>, FleetError> {
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
    async fn replace(&self, old: &[u8], new: &[u8]) -> Result<(), FleetError> {
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
