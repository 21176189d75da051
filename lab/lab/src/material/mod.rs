//! What a round draws anew: keys, certificates, and where the memory of workers lies.
//!
//! What all rounds share is in no interval, however many there are, and how long an RSA signature takes may
//! depend on the key and on where its numbers lie in memory, in each library by its own amount. So each round
//! of a row has keys of its own, the same for all peers, and each process a placement of its own. All of it
//! follows from the run's seed.
//!
//! | to see | look at |
//! |---|---|
//! | how keys are made | `keys.rs`, `rsa.rs`, `der.rs` |
//! | which certificates there are | `certificates.rs` |
//! | what a worker does with its placement | `placement.rs` of [`lab_scenario`] |
//!
//! Must not know: who reads the files. Next: [`lab_scenario::Files`], which says where they lie.

mod certificates;
mod der;
mod keys;
mod rsa;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use lab_scenario::{Chain, Row, Task};
use rcgen::KeyPair;

pub(crate) use keys::{Algorithm, generate};

use crate::random::Random;
use keys::Pool;

/// The least of the RSA keys of a size: each place of a round has another.
const LEAST: usize = 5;

/// The size of RSA key that most places have.
const USUAL: u16 = 2048;

/// Placements are below this.
const PLACEMENTS: usize = 1 << 32;

/// Whose key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Server,
    Client,
    Intermediate,
    Root,
    /// Roots that no chain leads to.
    OtherRoots,
}

/// Keys and certificates of a run.
pub(crate) struct Material {
    seed: u64,
    /// For so many rounds RSA keys are made beforehand, for others when they come.
    rounds: usize,
    pool: Pool,
    folder: PathBuf,
}

impl Material {
    /// Files go below `folder`. Nothing is made yet.
    pub(crate) fn new(folder: &Path, seed: u64, rounds: usize) -> Self {
        Self { seed, rounds, pool: Pool::new(seed), folder: folder.to_owned() }
    }

    /// Makes what the rounds of these rows draw from, and the files of those that draw nothing.
    pub(crate) fn make(&self, rows: &[Row]) -> Result<()> {
        let (drawn, counted): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(is_drawn);
        let chains: Vec<_> = drawn.iter().flat_map(chains_of).collect();
        let sizes = [
            (USUAL, chains.iter().any(|chain| is_rsa(*chain))),
            (3072, chains.contains(&Chain::RsaMixed)),
            (4096, chains.contains(&Chain::RsaMixed)),
        ];
        let wanted = sizes.into_iter().filter(|(_, wanted)| *wanted);
        let numbers = wanted.flat_map(|(bits, _)| (0..self.size(bits)).map(move |key| (bits, key)));
        // The largest first: they take longest.
        let mut numbers: Vec<_> = numbers.collect();
        numbers.reverse();
        self.pool.make(&numbers).context("the RSA keys")?;
        if counted.is_empty() { Ok(()) } else { self.for_all(&counted).map(|_| ()) }
    }

    /// The files of a round of a row, the same for all peers. Those of the round before are gone.
    pub(crate) fn draw(&self, row: &Row, round: usize) -> Result<PathBuf> {
        if !is_drawn(row) {
            return Ok(self.counted());
        }
        let folder = self.folder.join("round");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        }
        let keys = Keys { material: self, row: &row.id, round };
        certificates::make(&folder, std::slice::from_ref(row), &keys)?;
        Ok(folder)
    }

    /// Where the memory of a peer's process lies in a round; `None` where memory or instructions are counted.
    pub(crate) fn placement(&self, row: &Row, round: usize, peer: &str) -> Option<u64> {
        is_drawn(row).then(|| placement(self.seed, &row.id, round, peer))
    }

    /// The files of these rows for all that is done with them: counts repeat, and should.
    pub(crate) fn for_all(&self, rows: &[Row]) -> Result<PathBuf> {
        let keys = Keys { material: self, row: "", round: 0 };
        certificates::make(&self.counted(), rows, &keys)?;
        Ok(self.counted())
    }

    fn counted(&self) -> PathBuf {
        self.folder.join("counted")
    }

    /// How many RSA keys of a size are made beforehand.
    fn size(&self, bits: u16) -> usize {
        // Others than the usual ones have one place in a round.
        self.rounds.max(if bits == USUAL { LEAST } else { 1 })
    }
}

/// The placement of this name.
pub(crate) fn placement(seed: u64, what: &str, round: usize, peer: &str) -> u64 {
    let name = format!("placement of {peer} in round {round} of {what}");
    Random::named(seed, &name).below(PLACEMENTS) as u64
}

/// Whether each round of the row has keys and places of its own.
fn is_drawn(row: &Row) -> bool {
    !matches!(row.task, Task::Memory | Task::Instructions)
}

fn chains_of(row: &Row) -> impl Iterator<Item = Chain> + use<> {
    [Some(row.chain), row.client_chain].into_iter().flatten()
}

fn is_rsa(chain: Chain) -> bool {
    matches!(chain, Chain::Rsa2048 | Chain::RsaMixed)
}

/// The keys of a round of a row.
struct Keys<'m> {
    material: &'m Material,
    row: &'m str,
    round: usize,
}

impl Keys<'_> {
    /// The key of this place.
    fn of(&self, algorithm: Algorithm, place: Place) -> Result<Arc<KeyPair>> {
        if let Algorithm::Rsa(bits) = algorithm {
            return self.material.pool.rsa((bits, self.number(bits, place)));
        }
        let (row, round) = (self.row, self.round);
        let name = format!("key of {place:?} in round {round} of {row}");
        let key = generate(algorithm, &mut Random::named(self.material.seed, &name))?;
        Ok(Arc::new(key))
    }

    /// Which RSA key a place has. Each row goes through the pool in an order of its own, and in every round
    /// all places move on by one: in as many rounds as there are keys none has the same place twice.
    /// After that the leaves have new keys, which are made when they come; of the other keys only the public
    /// half is used while anything is timed.
    fn number(&self, bits: u16, place: Place) -> usize {
        let size = self.material.size(bits);
        let place_number = place as usize;
        match (place, self.round.checked_sub(size)) {
            (Place::Server | Place::Client, Some(beyond)) => size + 2 * beyond + place_number,
            _ => {
                let mut order: Vec<_> = (0..size).collect();
                let name = format!("order of {bits} bits in {}", self.row);
                Random::named(self.material.seed, &name).shuffle(&mut order);
                order[(self.round + place_number) % size]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use lab_scenario::rows;

    use super::*;

    /// Every file below a folder.
    fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        for chain in fs::read_dir(folder).unwrap() {
            for file in fs::read_dir(chain.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().to_owned();
                all.insert(name, fs::read(path).unwrap());
            }
        }
        all
    }

    fn row(id: &str) -> Row {
        rows::all().into_iter().find(|row| row.id == id).unwrap()
    }

    /// A folder of a test's own.
    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lab-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn every_round_has_other_keys_and_certificates_and_a_seed_repeats_them() {
        let folder = folder("rounds");
        let [one, again, other] = [(1, "one"), (1, "again"), (2, "other")].map(|(seed, name)| {
            let rows = ["full-13-rsa2048-hybrid", "full-13-ed25519-x25519", "mutual-13-ecdsa-p256"];
            let material = Material::new(&folder.join(name), seed, 3);
            let rows: Vec<_> = rows::all()
                .into_iter()
                .filter(|row| rows.iter().any(|id| row.id.starts_with(id)))
                .collect();
            assert_eq!(rows.len(), 3);
            material.make(&rows).unwrap();
            // Three rounds from the pool of five keys, and one beyond it.
            let drawn = rows.iter().flat_map(|row| [0, 1, 2, 6].map(|round| (row, round)));
            let drawn = drawn.map(|(row, round)| {
                let files = files(&material.draw(row, round).unwrap());
                ((row.id.clone(), round), files)
            });
            drawn.collect::<BTreeMap<_, _>>()
        });
        let mut seen = BTreeSet::new();
        for (drawn, is_new) in [(&one, true), (&again, false), (&other, true)] {
            for ((id, round), files) in drawn {
                assert_eq!(files.len(), 5, "{id}");
                for (name, content) in files {
                    let is = |extension| name.extension().is_some_and(|it| it == extension);
                    // Signatures of ECDSA have a random number in them; keys have not. Beyond the pool RSA roots
                    // come again.
                    let repeats = is("key") || !id.contains("ecdsa");
                    let comes_again =
                        *round == 6 && name.ends_with("root.pem") && id.contains("rsa");
                    if is_new && !comes_again || !is_new && repeats {
                        let file = (name.clone(), content.clone());
                        assert_eq!(seen.insert(file), is_new, "{id} {round} {name:?}");
                    }
                }
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn no_key_has_the_same_place_twice() {
        for rounds in [1, 7, 15] {
            let material = Material::new(Path::new("nowhere"), 7, rounds);
            let size = material.size(USUAL);
            let places =
                [Place::Server, Place::Client, Place::Intermediate, Place::Root, Place::OtherRoots];
            for place in places {
                let number =
                    |row, round| Keys { material: &material, row, round }.number(USUAL, place);
                let pooled: BTreeSet<_> = (0..size).map(|round| number("a", round)).collect();
                assert_eq!(pooled, (0..size).collect(), "{rounds} {place:?}");
            }
            let mut leaves = BTreeSet::new();
            for round in 0..3 * size {
                let keys = Keys { material: &material, row: "a", round };
                let numbers: BTreeSet<_> = places.map(|place| keys.number(USUAL, place)).into();
                assert_eq!(numbers.len(), places.len(), "round {round} of {rounds}");
                assert!(leaves.insert((Place::Server as u8, keys.number(USUAL, Place::Server))));
                assert!(leaves.insert((Place::Client as u8, keys.number(USUAL, Place::Client))));
            }
        }
        // Rows do not go through the pool in the same order.
        let material = Material::new(Path::new("nowhere"), 7, 15);
        let servers = |row| {
            let key = |round| Keys { material: &material, row, round }.number(USUAL, Place::Server);
            (0..15).map(key).collect::<Vec<_>>()
        };
        assert_ne!(servers("a"), servers("b"));
        assert_eq!(servers("a"), servers("a"));
    }

    #[test]
    fn every_process_has_a_place_of_its_own_but_where_something_is_counted() {
        let material = Material::new(Path::new("nowhere"), 7, 15);
        let timed = [row("full-13-rsa2048-hybrid"), row("bulk-13-aes256")];
        let mut seen = BTreeSet::new();
        for row in &timed {
            for round in 0..20 {
                for peer in ["rustls", "rustls@2"] {
                    let placement = material.placement(row, round, peer);
                    assert_eq!(placement, material.placement(row, round, peer));
                    assert!(placement.is_some() && seen.insert(placement), "{round} {peer}");
                }
            }
        }
        for row in rows::all().iter().filter(|row| !is_drawn(row)) {
            assert_eq!(material.placement(row, 0, "rustls"), None);
        }
    }

    #[test]
    fn what_is_counted_has_the_same_files_in_all_rounds() {
        let folder = folder("counted");
        let material = Material::new(&folder, 7, 3);
        let row = rows::all().into_iter().find(|row| row.task == Task::Instructions).unwrap();
        material.make(std::slice::from_ref(&row)).unwrap();
        let first = files(&material.draw(&row, 0).unwrap());
        assert_eq!(first.len(), 5);
        assert_eq!(files(&material.draw(&row, 1).unwrap()), first);
        fs::remove_dir_all(folder).unwrap();
    }
}
