//! Instruction profiles: the instructions of each side of each peer, by purpose.
//!
//! Callgrind records whole call stacks, so profiles are exact and reproducible. They count
//! instructions and not time, and only code that does not need AVX-512.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Result, ensure};
use lab_scenario::{Row, Task};

use crate::instructions::callgrind::{self, Cost, CountOutcome, Repetitions};
use crate::instructions::purposes::{Purposes, bare};
use crate::instructions::rows;
use crate::machine::parallel::{cpus, each_at_once};
use crate::report::profile::{Function, PURPOSES, Part, PeerProfile, Profile, SideProfile};
use crate::worker::peers::Peer;
use crate::worker::process::LaunchOptions;

/// The number of functions that are stored for each purpose.
const MAX_FUNCTIONS: usize = 12;

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
            functions.truncate(MAX_FUNCTIONS);
            let functions = functions
                .into_iter()
                .map(|(name, sum)| Function { name, instructions: each(sum) })
                .collect();
            Part { purpose: (*purpose).to_owned(), instructions, functions }
        });
        let purposes: Vec<_> = purposes.collect();
        let instructions: f64 = purposes.iter().map(|part| part.instructions).sum();
        ensure!(
            instructions > 0.0,
            "no instructions counted for side {side:?}; does the worker have symbols?"
        );
        Ok(SideProfile { side, instructions, purposes })
    });
    sides.collect()
}

/// The display name of the innermost function of a stack.
fn function(stack: &[&str]) -> String {
    let Some((first, callers)) = stack.split_first() else { return "the lab's own".to_owned() };
    let moves_memory = |name: &&str| name.starts_with("__mem") || name.starts_with("mem");
    let caller = callers.iter().find(|caller| !moves_memory(caller));
    match caller {
        Some(caller) if moves_memory(first) => format!("{} in {}", bare(first), bare(caller)),
        _ => bare(first).to_owned(),
    }
}

/// Takes the profile of a row.
pub(crate) fn profile(
    row: &Row,
    peers: &[Peer],
    launch: &LaunchOptions,
    certificates: &Path,
) -> Result<Profile> {
    ensure!(row.task != Task::Memory, "row {} cannot be profiled", row.id);
    callgrind::available().map_err(anyhow::Error::msg)?;
    let row = row.counted();
    // One slice is enough because a profile does not need exact totals.
    let times = Repetitions { slices: 1, ..rows::times(&row) };
    let outcomes = each_at_once(peers, cpus(), |peer| -> Result<_> {
        match callgrind::count(peer, &row, certificates, launch, times)? {
            CountOutcome::Cannot(why) => Ok(Err(why)),
            CountOutcome::Counted(counted) => {
                let costs = counted.slices.iter().map(|text| callgrind::costs(text));
                let costs = costs.collect::<Result<Vec<_>>>()?.concat();
                sides(&row, &costs, counted.repetitions).map(Ok)
            }
        }
    });
    let mut profile = Profile {
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
                profile.peers.push(PeerProfile { peer: name, label: peer.label.clone(), sides });
            }
            Ok(Err(why)) => _ = profile.unable.insert(name, why),
            Err(error) => _ = profile.failures.insert(name, format!("{error:#}")),
        }
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::profile::OTHER;
    use lab_scenario::rows;

    fn cost(side: &'static str, stack: &[&'static str], instructions: u64) -> Cost<'static> {
        Cost { stack: stack.to_vec(), side, instructions }
    }

    #[test]
    fn instructions_are_attributed_to_purposes() {
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
    }

    #[test]
    fn a_side_that_did_nothing_is_an_error() {
        let row = rows::all().into_iter().find(|row| row.section == "full").unwrap();
        assert!(sides(&row, &[cost("client", &["f"], 1)], 1).is_err());
    }
}
