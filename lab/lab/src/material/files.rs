//! The key and certificate files of each round.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab_scenario::{Chain, Row, Task};

use super::assignment::{DEFAULT_RSA_BITS, KeySource, RoundKeys, chains_of};
use super::certificates;
use super::placement::placement;

/// The keys and certificates of a run.
pub(crate) struct KeyMaterial {
    source: KeySource,
    folder: PathBuf,
}

impl KeyMaterial {
    /// Creates the material of a run, whose files will be below `folder`.
    pub(crate) fn new(folder: &Path, seed: u64, rounds: usize) -> Self {
        Self { source: KeySource::new(seed, rounds), folder: folder.to_owned() }
    }

    /// Generates the keys that the rounds of these rows use, and the files of rows whose rounds
    /// share their files.
    pub(crate) fn make(&self, rows: &[Row]) -> Result<()> {
        let (drawn, counted): (Vec<_>, Vec<_>) =
            rows.iter().cloned().partition(has_new_keys_each_round);
        let chains: Vec<_> = drawn.iter().flat_map(chains_of).collect();
        let has = |larger: Chain| chains.contains(&Chain::RsaMixed) || chains.contains(&larger);
        let sizes = [
            (DEFAULT_RSA_BITS, chains.iter().any(|chain| chain.is_rsa())),
            (3072, has(Chain::Rsa3072)),
            (4096, has(Chain::Rsa4096)),
        ];
        let wanted = sizes.into_iter().filter(|(_, wanted)| *wanted);
        let numbers =
            wanted.flat_map(|(bits, _)| (0..self.source.size(bits)).map(move |key| (bits, key)));
        // The largest keys come first because they take longest.
        let mut numbers: Vec<_> = numbers.collect();
        numbers.reverse();
        self.source.pool.make(&numbers).context("the RSA keys")?;
        if counted.is_empty() { Ok(()) } else { self.make_shared(&counted).map(|_| ()) }
    }

    /// Writes the files of a round of a row, which are the same for all peers. Removes the files of
    /// the previous round.
    pub(crate) fn make_round(&self, row: &Row, round: usize) -> Result<PathBuf> {
        if !has_new_keys_each_round(row) {
            return Ok(self.shared_folder());
        }
        let folder = self.folder.join("round");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        }
        let keys = RoundKeys { source: &self.source, row: &row.id, round };
        certificates::make(&folder, std::slice::from_ref(row), &keys)?;
        Ok(folder)
    }

    /// The memory placement of a peer's process in a round; `None` where memory or instructions are
    /// counted.
    pub(crate) fn placement(&self, row: &Row, round: usize, peer: &str) -> Option<u64> {
        has_new_keys_each_round(row).then(|| placement(self.source.seed, &row.id, round, peer))
    }

    /// Writes files that all rounds of these rows share, so that counts are reproducible.
    pub(crate) fn make_shared(&self, rows: &[Row]) -> Result<PathBuf> {
        let keys = RoundKeys { source: &self.source, row: "", round: 0 };
        certificates::make(&self.shared_folder(), rows, &keys)?;
        Ok(self.shared_folder())
    }

    fn shared_folder(&self) -> PathBuf {
        self.folder.join("counted")
    }
}

/// Whether each round of the row has new keys and placements.
fn has_new_keys_each_round(row: &Row) -> bool {
    !matches!(row.task, Task::Memory | Task::Instructions)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use lab_scenario::rows;

    use super::*;
    use crate::material::assignment::KeyRole;

    /// All files below a directory.
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

    /// A directory for one test.
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
            let material = KeyMaterial::new(&folder.join(name), seed, 3);
            let rows: Vec<_> = rows::all()
                .into_iter()
                .filter(|row| rows.iter().any(|id| row.id.starts_with(id)))
                .collect();
            assert_eq!(rows.len(), 3);
            material.make(&rows).unwrap();
            // Rounds 0 to 2 use keys from the pool of five; round 6 is later.
            let drawn = rows.iter().flat_map(|row| [0, 1, 2, 6].map(|round| (row, round)));
            let drawn = drawn.map(|(row, round)| {
                let files = files(&material.make_round(row, round).unwrap());
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
                    // ECDSA signatures are randomized, and keys are not. RSA roots repeat once all
                    // keys of the pool have been used.
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
            let material = KeyMaterial::new(Path::new("nowhere"), 7, rounds);
            let size = material.source.size(DEFAULT_RSA_BITS);
            let places = [
                KeyRole::Server,
                KeyRole::Client,
                KeyRole::Intermediate,
                KeyRole::Root,
                KeyRole::OtherRoots,
            ];
            for place in places {
                let number = |row, round| {
                    RoundKeys { source: &material.source, row, round }
                        .number(DEFAULT_RSA_BITS, place)
                };
                let pooled: BTreeSet<_> = (0..size).map(|round| number("a", round)).collect();
                assert_eq!(pooled, (0..size).collect(), "{rounds} {place:?}");
            }
            let mut leaves = BTreeSet::new();
            for round in 0..3 * size {
                let keys = RoundKeys { source: &material.source, row: "a", round };
                let numbers: BTreeSet<_> =
                    places.map(|place| keys.number(DEFAULT_RSA_BITS, place)).into();
                assert_eq!(numbers.len(), places.len(), "round {round} of {rounds}");
                assert!(leaves.insert((
                    KeyRole::Server as u8,
                    keys.number(DEFAULT_RSA_BITS, KeyRole::Server)
                )));
                assert!(leaves.insert((
                    KeyRole::Client as u8,
                    keys.number(DEFAULT_RSA_BITS, KeyRole::Client)
                )));
            }
        }
        // Rows use the pool in different orders.
        let material = KeyMaterial::new(Path::new("nowhere"), 7, 15);
        let servers = |row| {
            let key = |round| {
                RoundKeys { source: &material.source, row, round }
                    .number(DEFAULT_RSA_BITS, KeyRole::Server)
            };
            (0..15).map(key).collect::<Vec<_>>()
        };
        assert_ne!(servers("a"), servers("b"));
        assert_eq!(servers("a"), servers("a"));
    }

    #[test]
    fn every_process_has_a_place_of_its_own_but_where_something_is_counted() {
        let material = KeyMaterial::new(Path::new("nowhere"), 7, 15);
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
        for row in rows::all().iter().filter(|row| !has_new_keys_each_round(row)) {
            assert_eq!(material.placement(row, 0, "rustls"), None);
        }
    }

    #[test]
    fn what_is_counted_has_the_same_files_in_all_rounds() {
        let folder = folder("counted");
        let material = KeyMaterial::new(&folder, 7, 3);
        let row = rows::all().into_iter().find(|row| row.task == Task::Instructions).unwrap();
        material.make(std::slice::from_ref(&row)).unwrap();
        let first = files(&material.make_round(&row, 0).unwrap());
        assert_eq!(first.len(), 5);
        assert_eq!(files(&material.make_round(&row, 1).unwrap()), first);
        fs::remove_dir_all(folder).unwrap();
    }
}
