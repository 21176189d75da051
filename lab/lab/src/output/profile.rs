//! A profile as text.

use std::fmt::Write;

use crate::output::format::instructions as format_count;
use crate::report::profile::{OTHER, PURPOSES, PeerProfile, Profile, SideProfile};

/// The minimum number of functions printed for the purpose *other*.
const MIN_OTHER_FUNCTIONS: usize = 6;

/// The profile as text, with up to `functions` functions for each purpose.
#[must_use]
pub fn render(profile: &Profile, functions: usize) -> String {
    let mut text = format!(
        "{}  ({}): {}, one {}\n",
        profile.title,
        profile.row.id,
        profile.counted,
        profile.unit()
    );
    for side in profile.row.sides() {
        let of_side = |peer: &PeerProfile| -> Option<SideProfile> {
            peer.sides.iter().find(|each| each.side == side).cloned()
        };
        let peers: Vec<_> =
            profile.peers.iter().filter_map(|peer| Some((peer, of_side(peer)?))).collect();
        _ = write!(text, "  {side:<20}");
        for (peer, _) in &peers {
            _ = write!(text, " {:>18}", peer.peer);
        }
        text.push('\n');
        let part = |side: &SideProfile, purpose: &str| -> f64 {
            side.of(purpose).map_or(0.0, |part| part.instructions)
        };
        let is_used = |purpose: &&str| peers.iter().any(|(_, side)| part(side, purpose) > 0.0);
        for purpose in PURPOSES.into_iter().filter(is_used) {
            _ = write!(text, "    {purpose:<18}");
            for (_, side) in &peers {
                let part = part(side, purpose);
                let share = 100.0 * part / side.instructions;
                _ = write!(text, " {:>10} {share:>5.1} %", format_count(part));
            }
            text.push('\n');
        }
        _ = write!(text, "    {:<18}", "all");
        for (_, side) in &peers {
            _ = write!(text, " {:>10}        ", format_count(side.instructions));
        }
        text.push('\n');
        for (peer, side) in &peers {
            for part in &side.purposes {
                let most = if part.purpose == OTHER {
                    functions.max(MIN_OTHER_FUNCTIONS)
                } else {
                    functions
                };
                let named = part.functions.iter().take(most);
                let named =
                    named.map(|each| format!("{} {}", each.name, format_count(each.instructions)));
                let named: Vec<_> = named.collect();
                if !named.is_empty() {
                    let (peer, purpose) = (&peer.peer, &part.purpose);
                    _ = writeln!(text, "    {peer}, {purpose}: {}", named.join("; "));
                }
            }
        }
    }
    for (peer, why) in profile.failures.iter().chain(&profile.unable) {
        _ = writeln!(text, "  {peer} was not counted: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab_scenario::rows;

    use super::*;
    use crate::report::profile::{Function, Part};

    /// The instructions of one purpose, by function.
    fn part(purpose: &str, functions: &[(&str, f64)]) -> Part {
        let functions = functions.iter().map(|(name, instructions)| Function {
            name: (*name).to_owned(),
            instructions: *instructions,
        });
        Part {
            purpose: purpose.to_owned(),
            instructions: functions.clone().map(|function| function.instructions).sum(),
            functions: functions.collect(),
        }
    }

    #[test]
    fn a_profile_is_printed_by_purpose() {
        let row = rows::all().into_iter().find(|row| row.section == "resumed").unwrap();
        let advance = "tercel::handshake::Handshake::advance";
        let moved = format!("__memcpy_avx in {advance}");
        let client = SideProfile {
            side: "client".to_owned(),
            instructions: 100.0,
            purposes: vec![
                part("key schedule", &[("sha512_block_data_order", 60.0)]),
                part("allocation", &[("_int_malloc", 10.0)]),
                part(OTHER, &[(&moved, 20.0), (advance, 8.0), ("the lab's own", 2.0)]),
            ],
        };
        let server = SideProfile {
            side: "server".to_owned(),
            instructions: 5.0,
            purposes: vec![part("key exchange", &[("X25519", 5.0)])],
        };
        let sides = vec![client, server];
        let peers = vec![PeerProfile { peer: "p".into(), label: "P".into(), sides }];
        let (failures, unable) = (BTreeMap::new(), BTreeMap::new());
        let (title, counted) = (row.title(), "instructions".to_owned());
        let profile = Profile { row, title, counted, peers, failures, unable };
        let text = render(&profile, 0);
        assert!(text.contains("key schedule               60  60.0 %"), "{text}");
        assert!(text.contains(&format!("p, other: {moved} 20; {advance} 8;")), "{text}");
        assert!(!text.contains("p, key schedule"), "{text}");
        assert!(render(&profile, 1).contains("p, key schedule: sha512_block_data_order 60"));
    }
}
