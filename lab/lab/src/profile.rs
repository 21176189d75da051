//! `lab profile`: what each side of each peer executes in a row, by purpose.
//!
//! Counted under callgrind, which sees each stack whole: exact, and the same on every run, but instructions and
//! not time, and of code that needs no AVX-512. Must not know: which function is for what. Next:
//! `purposes.rs`, `callgrind.rs`; `profile_page.rs` for the drawing.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use lab_scenario::{Row, Task};
use serde::{Deserialize, Serialize};

use crate::callgrind::{self, Cost, Times, Turn};
use crate::fit;
use crate::instructions::{self, each_at_once};
use crate::peers::Peer;
use crate::process::Launch;
use crate::purposes::{OTHER, PURPOSES, Purposes, bare};
use crate::table::instructions as told;

/// Functions that are kept by name for each purpose.
const KEPT: usize = 12;

/// Functions of no purpose that are printed.
const PRINTED: usize = 6;

/// A row by purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What was done.
    pub row: Row,
    /// The row in a line.
    pub title: String,
    /// What was counted, and by what.
    pub counted: String,
    /// Each peer that could be counted.
    pub peers: Vec<PeerProfile>,
    /// Peers that were lost, and why.
    pub failures: BTreeMap<String, String>,
    /// Peers that cannot be counted, and why.
    pub unable: BTreeMap<String, String>,
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerProfile {
    /// As it was asked for.
    pub peer: String,
    /// For readers.
    pub label: String,
    /// Each of [`Row::sides`].
    pub sides: Vec<SideProfile>,
}

/// One side of a peer, for one repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideProfile {
    /// Its name.
    pub side: String,
    /// All instructions.
    pub instructions: f64,
    /// Every purpose, in the order of [`PURPOSES`].
    pub purposes: Vec<Part>,
}

/// What was executed for a purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// One of [`PURPOSES`].
    pub purpose: String,
    /// How much.
    pub instructions: f64,
    /// The functions that executed most of it themselves.
    pub functions: Vec<Function>,
}

/// A function, and what it executed itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its name; of one that moves memory with its caller's.
    pub name: String,
    /// How much.
    pub instructions: f64,
}

#[allow(clippy::cast_precision_loss)]
fn sides(row: &Row, costs: &[Cost<'_>], repetitions: u64) -> Result<Vec<SideProfile>> {
    let mut known = Purposes::read()?;
    let each = |sum: u64| sum as f64 / repetitions.max(1) as f64;
    let sides = row.sides().into_iter().map(|side| {
        let mut parts: Vec<HashMap<String, u64>> = vec![HashMap::new(); PURPOSES.len()];
        for cost in costs.iter().filter(|cost| cost.side == side) {
            let functions = &mut parts[known.of_stack(&cost.stack)];
            *functions.entry(function(&cost.stack)).or_default() += cost.instructions;
        }
        let purposes = PURPOSES.iter().zip(parts).map(|(purpose, functions)| {
            let instructions = each(functions.values().sum());
            let mut functions: Vec<_> = functions.into_iter().collect();
            functions.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
            functions.truncate(KEPT);
            let functions = functions
                .into_iter()
                .map(|(name, sum)| Function { name, instructions: each(sum) })
                .collect();
            Part { purpose: (*purpose).to_owned(), instructions, functions }
        });
        let purposes: Vec<_> = purposes.collect();
        let instructions: f64 = purposes.iter().map(|part| part.instructions).sum();
        ensure!(instructions > 0.0, "nothing was counted for the side {side:?}: has it symbols?");
        Ok(SideProfile { side, instructions, purposes })
    });
    sides.collect()
}

/// The innermost function of a stack by name.
fn function(stack: &[&str]) -> String {
    let Some((first, callers)) = stack.split_first() else { return "the lab's own".to_owned() };
    let moves_memory = |name: &&str| name.starts_with("__mem") || name.starts_with("mem");
    let caller = callers.iter().find(|caller| !moves_memory(caller));
    match caller {
        Some(caller) if moves_memory(first) => format!("{} in {}", bare(first), bare(caller)),
        _ => bare(first).to_owned(),
    }
}

impl SideProfile {
    /// How much of it is for this purpose.
    #[must_use]
    pub fn of(&self, purpose: &str) -> Option<&Part> {
        self.purposes.iter().find(|part| part.purpose == purpose)
    }
}

impl Profile {
    /// Takes the profile of a row.
    pub(crate) fn take(
        row: &Row,
        peers: &[Peer],
        launch: &Launch,
        certificates: &Path,
    ) -> Result<Self> {
        ensure!(row.task != Task::Memory, "{} is no row of repetitions in one thread", row.id);
        callgrind::available().map_err(anyhow::Error::msg)?;
        let row = row.counted();
        // One slice: what matters is where instructions go, not the last one of them.
        let times = Times { slices: 1, ..instructions::times(&row) };
        let outcomes = each_at_once(peers, fit::cpus(), |peer| -> Result<_> {
            match callgrind::count(peer, &row, certificates, launch, times)? {
                Turn::Cannot(why) => Ok(Err(why)),
                Turn::Counted(counted) => {
                    let costs = counted.slices.iter().map(|text| callgrind::costs(text));
                    let costs = costs.collect::<Result<Vec<_>>>()?.concat();
                    sides(&row, &costs, counted.repetitions).map(Ok)
                }
            }
        });
        let mut profile = Self {
            title: row.title(),
            counted: "instructions, under callgrind".to_owned(),
            peers: Vec::new(),
            failures: BTreeMap::new(),
            unable: BTreeMap::new(),
            row,
        };
        for (peer, outcome) in peers.iter().zip(outcomes) {
            let name = peer.name.clone();
            match outcome {
                Ok(Ok(sides)) => {
                    profile.peers.push(PeerProfile {
                        peer: name,
                        label: peer.label.clone(),
                        sides,
                    });
                }
                Ok(Err(why)) => _ = profile.unable.insert(name, why),
                Err(error) => _ = profile.failures.insert(name, format!("{error:#}")),
            }
        }
        Ok(profile)
    }

    /// What one repetition is.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.row.task {
            Task::Bulk => "write",
            Task::SetUp => "connection",
            _ => "handshake",
        }
    }

    /// The profile as text, with so many functions for each purpose.
    #[must_use]
    pub fn render(&self, functions: usize) -> String {
        let mut text =
            format!("{}  ({}): {}, one {}\n", self.title, self.row.id, self.counted, self.unit());
        for side in self.row.sides() {
            let of_side = |peer: &PeerProfile| -> Option<SideProfile> {
                peer.sides.iter().find(|each| each.side == side).cloned()
            };
            let peers: Vec<_> =
                self.peers.iter().filter_map(|peer| Some((peer, of_side(peer)?))).collect();
            _ = write!(text, "  {side:<20}");
            for (peer, _) in &peers {
                _ = write!(text, " {:>18}", peer.peer);
            }
            text.push('\n');
            let part = |side: &SideProfile, purpose: &str| -> f64 {
                side.of(purpose).map_or(0.0, |part| part.instructions)
            };
            let told_of = |purpose: &&str| peers.iter().any(|(_, side)| part(side, purpose) > 0.0);
            for purpose in PURPOSES.into_iter().filter(told_of) {
                _ = write!(text, "    {purpose:<18}");
                for (_, side) in &peers {
                    let part = part(side, purpose);
                    let share = 100.0 * part / side.instructions;
                    _ = write!(text, " {:>10} {share:>5.1} %", told(part));
                }
                text.push('\n');
            }
            _ = write!(text, "    {:<18}", "all");
            for (_, side) in &peers {
                _ = write!(text, " {:>10}        ", told(side.instructions));
            }
            text.push('\n');
            for (peer, side) in &peers {
                for part in &side.purposes {
                    let most =
                        if part.purpose == OTHER { functions.max(PRINTED) } else { functions };
                    let named = part.functions.iter().take(most);
                    let named =
                        named.map(|each| format!("{} {}", each.name, told(each.instructions)));
                    let named: Vec<_> = named.collect();
                    if !named.is_empty() {
                        let (peer, purpose) = (&peer.peer, &part.purpose);
                        _ = writeln!(text, "    {peer}, {purpose}: {}", named.join("; "));
                    }
                }
            }
        }
        for (peer, why) in self.failures.iter().chain(&self.unable) {
            _ = writeln!(text, "  {peer} is left out: {why}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_scenario::rows;

    fn cost(side: &'static str, stack: &[&'static str], instructions: u64) -> Cost<'static> {
        Cost { stack: stack.to_vec(), side, instructions }
    }

    #[test]
    fn a_known_profile_is_told_by_purpose() {
        let row = rows::all().into_iter().find(|row| row.section == "resumed").unwrap();
        let costs = [
            cost("client", &["sha512_block_data_order", "HMAC"], 600),
            cost("client", &["_int_malloc", "malloc", "HMAC"], 100),
            cost("client", &["__memcpy_avx", "tercel::handshake::Handshake::advance"], 200),
            cost("client", &["tercel::handshake::Handshake::advance"], 80),
            cost("client", &[], 20),
            cost("server", &["X25519"], 50),
        ];
        let sides = sides(&row, &costs, 10).unwrap();
        let [client, server] = &sides[..] else { panic!("{sides:?}") };
        let of = |side: &SideProfile, purpose| side.of(purpose).unwrap().instructions;
        assert!((client.instructions - 100.0).abs() < 1e-9);
        assert!((of(client, "key schedule") - 60.0).abs() < 1e-9);
        assert!((of(client, "allocation") - 10.0).abs() < 1e-9);
        assert!((of(client, "key exchange")).abs() < 1e-9);
        assert!((of(server, "key exchange") - 5.0).abs() < 1e-9);
        let other = client.of(OTHER).unwrap();
        assert!((other.instructions - 30.0).abs() < 1e-9);
        let names: Vec<_> = other.functions.iter().map(|each| each.name.as_str()).collect();
        let advance = "tercel::handshake::Handshake::advance";
        let moved = format!("__memcpy_avx in {advance}");
        assert_eq!(names, [moved.as_str(), advance, "the lab's own"]);
        let peers = vec![PeerProfile { peer: "p".into(), label: "P".into(), sides }];
        let (failures, unable) = (BTreeMap::new(), BTreeMap::new());
        let (title, counted) = (row.title(), "instructions".to_owned());
        let profile = Profile { row, title, counted, peers, failures, unable };
        let text = profile.render(0);
        assert!(text.contains("key schedule               60  60.0 %"), "{text}");
        assert!(text.contains(&format!("p, other: {moved} 20; {advance} 8;")), "{text}");
        assert!(!text.contains("p, key schedule"), "{text}");
        assert!(profile.render(1).contains("p, key schedule: sha512_block_data_order 60"));
    }

    #[test]
    fn a_side_that_did_nothing_is_an_error() {
        let row = rows::all().into_iter().find(|row| row.section == "full").unwrap();
        assert!(sides(&row, &[cost("client", &["f"], 1)], 1).is_err());
    }
}
