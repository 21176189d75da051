//! What makes two reports hard to compare: other machines, settings and libraries, and noise.
//!
//! Must not know: figures. Next: `report.rs`, `machine.rs`.

use crate::machine::Machine;
use crate::report::{PeerReport, Report, SHARED_KEYS, Settings};

/// What is different about machine, settings and peers.
pub(super) fn told(old: &Report, new: &Report) -> Vec<String> {
    let mut told = Vec::new();
    let of_method = ("keys, certificates and places in memory", drawn(old), drawn(new));
    let differences = [
        vec![of_method],
        of_machine(&old.machine, &new.machine),
        of_settings(&old.settings, &new.settings),
    ];
    for (what, before, now) in differences.into_iter().flatten() {
        if before != now {
            told.push(format!("{what}: {before}, now {now}"));
        }
    }
    for peer in &new.peers {
        let before = old.peers.iter().find(|each| each.name == peer.name);
        let about = |peer: &PeerReport| {
            peer.about.as_ref().map_or_else(
                || "took no part".to_owned(),
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
            let before = before.unwrap_or_else(|| "not there".to_owned());
            told.push(format!("{}: {before}, now {now}", peer.name));
        }
    }
    for (report, which) in [(old, "the old"), (new, "the new")] {
        if report.noisy_rows() > 0 {
            told.push(format!("{} rows of {which} report are noisy", report.noisy_rows()));
        }
    }
    told
}

/// How often a run drew what libraries are measured with.
fn drawn(report: &Report) -> String {
    let shared = "drawn once for all rounds, so that no interval holds what they make out";
    if report.schema == SHARED_KEYS { shared } else { "drawn anew in each round" }.to_owned()
}

type Difference = (&'static str, String, String);

fn of_machine(old: &Machine, new: &Machine) -> Vec<Difference> {
    let of = |machine: &Machine| {
        [
            ("processor", machine.cpu.clone()),
            ("logical processors", machine.cpus.to_string()),
            ("extensions", machine.features.join(" ")),
            ("governor", machine.governor.clone()),
            ("turbo", machine.turbo.clone()),
            ("SMT", machine.smt.clone()),
            ("kernel", machine.kernel.clone()),
            ("system", machine.system.clone()),
            ("Rust compiler", machine.rustc.clone()),
            ("C compiler", machine.cc.clone()),
            ("C++ compiler", machine.cxx.clone()),
            ("flags", machine.flags.clone()),
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
            ("pin", format!("{:?}", settings.pin)),
            ("profile", settings.profile.clone()),
        ]
    };
    of(old).into_iter().zip(of(new)).map(|((what, old), (_, new))| (what, old, new)).collect()
}
