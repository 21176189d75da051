//! Differences of machine, settings, libraries and noise between two reports.

use super::schema::{PeerReport, Report, SHARED_KEYS, Settings};
use crate::machine::Machine;

/// Lists the differences.
pub(super) fn list(old: &Report, new: &Report) -> Vec<String> {
    let mut differences = Vec::new();
    let of_method = ("keys, certificates and memory placements", drawn(old), drawn(new));
    let compared = [
        vec![of_method],
        of_machine(&old.machine, &new.machine),
        of_settings(&old.settings, &new.settings),
    ];
    for (what, before, now) in compared.into_iter().flatten() {
        if before != now {
            differences.push(format!("{what}: {before}, now {now}"));
        }
    }
    for peer in &new.peers {
        let before = old.peers.iter().find(|each| each.name == peer.name);
        let about = |peer: &PeerReport| {
            peer.about.as_ref().map_or_else(
                || "unavailable".to_owned(),
                |about| {
                    format!(
                        "{} {}, {}; {}",
                        about.library, about.version, about.crypto, about.build
                    )
                },
            )
        };
        let (before, now) = (before.map(about), about(peer));
        if before.as_ref() != Some(&now) {
            let before = before.unwrap_or_else(|| "absent".to_owned());
            differences.push(format!("{}: {before}, now {now}", peer.name));
        }
    }
    for (report, which) in [(old, "the old"), (new, "the new")] {
        if report.noisy_rows() > 0 {
            differences.push(format!("{} rows of {which} report are noisy", report.noisy_rows()));
        }
    }
    differences
}

/// A description of whether all rounds shared keys and placements.
fn drawn(report: &Report) -> String {
    let shared = "shared by all rounds, so that intervals do not cover their effect";
    if report.schema == SHARED_KEYS { shared } else { "new in each round" }.to_owned()
}

type Difference = (&'static str, String, String);

fn of_machine(old: &Machine, new: &Machine) -> Vec<Difference> {
    let of = |machine: &Machine| {
        [
            ("processor", machine.cpu.clone()),
            ("logical processors", machine.cpus.to_string()),
            ("CPU extensions", machine.features.join(" ")),
            ("governor", machine.governor.clone()),
            ("turbo", machine.turbo.clone()),
            ("SMT", machine.smt.clone()),
            ("kernel", machine.kernel.clone()),
            ("system", machine.system.clone()),
            ("Rust compiler", machine.rustc.clone()),
            ("C compiler", machine.cc.clone()),
            ("C++ compiler", machine.cxx.clone()),
            ("compiler flags", machine.flags.clone()),
        ]
    };
    of(old).into_iter().zip(of(new)).map(|((what, old), (_, new))| (what, old, new)).collect()
}

fn of_settings(old: &Settings, new: &Settings) -> Vec<Difference> {
    let of = |settings: &Settings| {
        [
            ("accounting", settings.accounting.to_string()),
            ("mode", settings.mode.clone()),
            ("allocator", settings.allocator.clone()),
            ("pinned CPU", format!("{:?}", settings.pin)),
            ("cargo profile", settings.profile.clone()),
        ]
    };
    of(old).into_iter().zip(of(new)).map(|((what, old), (_, new))| (what, old, new)).collect()
}
