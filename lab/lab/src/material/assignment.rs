//! Assignment of keys to roles in each round.

use std::sync::Arc;

use anyhow::Result;
use lab_scenario::random::Random;
use lab_scenario::{Chain, Row};
use rcgen::KeyPair;

use super::keys::{Algorithm, RsaKeyPool, generate};

/// The minimum number of RSA keys of one size in the pool. Each role of a round has a different
/// key.
const MIN_POOL_SIZE: usize = 5;

/// The RSA key size of most roles.
pub(super) const DEFAULT_RSA_BITS: u16 = 2048;

/// The role of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyRole {
    Server,
    Client,
    Intermediate,
    Root,
    /// Trusted roots that issued no chain.
    OtherRoots,
}

pub(super) fn chains_of(row: &Row) -> impl Iterator<Item = Chain> + use<> {
    [Some(row.chain), row.client_chain].into_iter().flatten()
}

/// The source of all keys of a run.
pub(super) struct KeySource {
    pub(super) seed: u64,
    /// The number of rounds for which RSA keys are generated in advance.
    rounds: usize,
    pub(super) pool: RsaKeyPool,
}

impl KeySource {
    pub(super) fn new(seed: u64, rounds: usize) -> Self {
        Self { seed, rounds, pool: RsaKeyPool::new(seed) }
    }

    /// The number of RSA keys of one size that are generated in advance.
    pub(super) fn size(&self, bits: u16) -> usize {
        // RSA keys of other sizes have only one role in a round.
        self.rounds.max(if bits == DEFAULT_RSA_BITS { MIN_POOL_SIZE } else { 1 })
    }
}

/// The keys of one round of a row.
pub(super) struct RoundKeys<'m> {
    pub(super) source: &'m KeySource,
    pub(super) row: &'m str,
    pub(super) round: usize,
}

impl RoundKeys<'_> {
    /// The key of a role.
    pub(super) fn of(&self, algorithm: Algorithm, place: KeyRole) -> Result<Arc<KeyPair>> {
        if let Algorithm::Rsa(bits) = algorithm {
            return self.source.pool.rsa((bits, self.number(bits, place)));
        }
        let (row, round) = (self.row, self.round);
        let name = format!("key of {place:?} in round {round} of {row}");
        let key = generate(algorithm, &mut Random::named(self.source.seed, &name))?;
        Ok(Arc::new(key))
    }

    /// The number of the RSA key of a role. Each row uses the keys of the pool in its own random
    /// order, and in each round all roles take the next key. So no role has the same key twice
    /// until all keys have been used.
    ///
    /// In later rounds the leaves have new keys, which are generated on demand. The other roles
    /// reuse keys of the pool, because only their public keys are used in timed code.
    pub(super) fn number(&self, bits: u16, place: KeyRole) -> usize {
        let size = self.source.size(bits);
        let place_number = place as usize;
        match (place, self.round.checked_sub(size)) {
            (KeyRole::Server | KeyRole::Client, Some(beyond)) => size + 2 * beyond + place_number,
            _ => {
                let mut order: Vec<_> = (0..size).collect();
                let name = format!("order of {bits} bits in {}", self.row);
                Random::named(self.source.seed, &name).shuffle(&mut order);
                order[(self.round + place_number) % size]
            }
        }
    }
}
