//! Description of machine and method: a summary for the top of the page, and the details.

use std::fmt::{self, Write};

use crate::output::format::date;
use crate::output::page::html::Escaped;
use crate::report::Report;

/// Writes the summary: time, machine, warnings.
pub(super) fn in_short(page: &mut String, report: &Report) -> fmt::Result {
    let (machine, settings) = (&report.machine, &report.settings);
    let (rows, noisy) = (report.rows.len(), report.noisy_rows());
    writeln!(
        page,
        "<p>{}: {rows} rows in {} accounting, a {} run on {}, {} logical processors{}. <a href=\"#method\">Machine and method</a></p>",
        date(report.started),
        settings.accounting,
        Escaped(&settings.mode),
        Escaped(&machine.cpu),
        machine.cpus,
        if machine.virtual_machine { " (virtual machine)" } else { "" },
    )?;
    if noisy > 0 {
        writeln!(
            page,
            "<p class=\"warning\">{noisy} of {rows} rows are noisy: other programs were running.</p>"
        )?;
    }
    if settings.profile != "release" {
        writeln!(
            page,
            "<p class=\"warning\">Workers were not built with the release profile: the results are meaningless.</p>"
        )?;
    }
    Ok(())
}

/// Writes method, machine and settings in full.
pub(super) fn write(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<h2 id=\"method\">Machine and method</h2>\n<ul>")?;
    for line in METHOD {
        writeln!(page, "<li>{line}</li>")?;
    }
    writeln!(page, "</ul>\n<p>See lab/README.md for details.</p>\n<table class=\"facts\">")?;
    for (name, value) in facts(report) {
        writeln!(page, "<tr><th>{}</th><td>{}</td></tr>", Escaped(&name), Escaped(&value))?;
    }
    writeln!(page, "</table>")
}

const METHOD: [&str; 9] = [
    "Both sides of a connection run in one thread of one process and communicate through memory. The work of each side \
     is timed; the transport is not.",
    "In each round every peer is measured once, in random order, in a new process, after a warm-up.",
    "A measurement is the median of eight slices. A result is the median over the rounds; ± is half the interquartile \
     range.",
    "A ratio is the median of the ratios within rounds, so disturbances that last longer than a round cancel out. Its \
     95 % confidence interval is a bootstrap over rounds.",
    "Each peer is compared with the best other peer of that row and side. Rounds continue until every interval is within \
     ±2 % and those close to 1 have twice the minimum number of rounds, or until the row's time limit.",
    "Version, suite, group, signature scheme and number of tickets are pinned on both sides and checked after each handshake. \
     A mismatch fails the row.",
    "Each round has new keys and certificates, the same for all libraries, and each process a new memory placement, so \
     confidence intervals cover their effect. All are derived from the seed.",
    "All libraries use the same allocator and buffers of final size.",
    "The floor makes the cryptographic calls of a row on AWS-LC in a bare loop, as a reference. It is not judged.",
];

fn facts(report: &Report) -> Vec<(String, String)> {
    let (machine, settings) = (&report.machine, &report.settings);
    let kind = if machine.virtual_machine { " (virtual machine)" } else { "" };
    let pin = settings.pin.map_or("none".to_owned(), |cpu| format!("CPU {cpu}"));
    #[allow(clippy::cast_precision_loss)]
    let memory = machine.memory as f64 / f64::from(1 << 30);
    let list = |counts: &[usize]| {
        let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
        counts.join(", ")
    };
    let time = settings.minutes.map_or_else(
        || format!("{:.0} s per row", settings.row_seconds),
        |minutes| format!("{minutes} min for all rows"),
    );
    let facts = [
        ("processor", format!("{}, {} logical{kind}", machine.cpu, machine.cpus)),
        ("extensions", machine.features.join(" ")),
        (
            "governor; turbo; SMT",
            format!("{}; {}; {}", machine.governor, machine.turbo, machine.smt),
        ),
        ("memory", format!("{memory:.1} GiB")),
        ("system", format!("{}, Linux {}", machine.system, machine.kernel)),
        ("compilers", format!("{}; {}; {}", machine.rustc, machine.cc, machine.cxx)),
        ("compiler flags", machine.flags.clone()),
        ("commit", machine.commit.clone()),
        ("load at the start", machine.load.clone()),
        ("load by other programs", others(report)),
        ("mode", format!("{}, {} accounting", settings.mode, settings.accounting)),
        ("rounds", format!("at least {}, {} ms each", settings.rounds, settings.measure_ms)),
        ("time", time),
        ("threads", list(&settings.threads)),
        ("connections", list(&settings.connections)),
        ("allocator; pin; seed", format!("{}; {pin}; {}", settings.allocator, settings.seed)),
        ("cargo profile", settings.profile.clone()),
        ("start; end", format!("{}; {}", date(report.started), date(report.updated))),
    ];
    let builds = report.peers.iter().filter_map(|peer| {
        let about = peer.about.as_ref()?;
        let text =
            format!("{} {}, {}; {}", about.library, about.version, about.crypto, about.build);
        Some((peer.label.clone(), text))
    });
    facts.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(builds).collect()
}

/// The load by other programs during rows.
#[allow(clippy::cast_precision_loss)]
fn others(report: &Report) -> String {
    let busy: Vec<f64> = report.rows.iter().filter_map(|row| row.others).collect();
    if busy.is_empty() {
        return "unknown".to_owned();
    }
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    let most = busy.iter().copied().fold(0.0, f64::max);
    format!(
        "{mean:.2} CPUs busy during a row on average, {most:.2} at most; {} of {} rows are noisy",
        report.noisy_rows(),
        report.rows.len()
    )
}
