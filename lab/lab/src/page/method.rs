//! What was measured where and how: in short above the figures, in full below them.
//!
//! Must not know: figures. Next: `machine.rs`, lab/README.md.

use std::fmt::{self, Write};

use crate::page::Text;
use crate::report::Report;

/// When and where, and whether anything disturbed it.
pub(super) fn in_short(page: &mut String, report: &Report) -> fmt::Result {
    let (machine, settings) = (&report.machine, &report.settings);
    let (rows, noisy) = (report.rows.len(), report.noisy_rows());
    writeln!(
        page,
        "<p>{}: {rows} rows in {} accounting, a {} run on {}, {} logical processors{}. <a href=\"#method\">Machine and method</a></p>",
        date(report.started),
        settings.accounting,
        Text(&settings.mode),
        Text(&machine.cpu),
        machine.cpus,
        if machine.virtual_machine { " of a virtual machine" } else { "" },
    )?;
    if noisy > 0 {
        writeln!(
            page,
            "<p class=\"warning\">{noisy} of {rows} rows are noisy: other programs ran meanwhile.</p>"
        )?;
    }
    if settings.profile != "release" {
        writeln!(
            page,
            "<p class=\"warning\">Built by another profile than release: the figures mean nothing.</p>"
        )?;
    }
    Ok(())
}

/// Machine, settings and method, all of it.
pub(super) fn write(page: &mut String, report: &Report) -> fmt::Result {
    writeln!(page, "<h2 id=\"method\">Machine and method</h2>\n<ul>")?;
    for line in METHOD {
        writeln!(page, "<li>{line}</li>")?;
    }
    writeln!(page, "</ul>\n<p>lab/README.md tells all of it.</p>\n<table class=\"facts\">")?;
    for (name, value) in facts(report) {
        writeln!(page, "<tr><th>{}</th><td>{}</td></tr>", Text(&name), Text(&value))?;
    }
    writeln!(page, "</table>")
}

const METHOD: [&str; 9] = [
    "Both sides of a connection run in one thread of one process and talk through memory. Each side's own work is timed; \
     moving bytes from one side to the other is not.",
    "In each round every peer is measured once, in random order, by a process of its own, after a warm-up.",
    "A measurement has eight slices, of which the median counts. A figure is the median over the rounds; beside it stands half \
     of what lies between its quartiles.",
    "A ratio is the median of the ratios within rounds, so that what slows the machine for longer than a round cancels out. Its \
     95 % interval is by bootstrap over rounds.",
    "A peer is held against the best of the other peers in that row and side. Rounds go on until every interval is within \
     ±2 %, and those that just miss 1 stand on twice the fewest rounds, or the row's time is up.",
    "Version, suite, group, signature scheme and number of tickets are pinned on both sides and checked after each handshake: \
     another than was asked fails the row.",
    "Each round has keys and certificates of its own, the same for all libraries, and each process another place in memory, so \
     that intervals hold what these make out. All of it follows from the seed.",
    "All libraries have the same allocator and buffers of their final size.",
    "The floor makes the cryptographic calls of a row on AWS-LC in a bare loop. It is no peer and not judged.",
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
        || format!("{:.0} s for a row", settings.row_seconds),
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
        ("flags from outside", machine.flags.clone()),
        ("commit", machine.commit.clone()),
        ("load at the start", machine.load.clone()),
        ("other programs", others(report)),
        ("mode", format!("{}, {} accounting", settings.mode, settings.accounting)),
        ("rounds", format!("{} at least, {} ms each", settings.rounds, settings.measure_ms)),
        ("time", time),
        ("threads", list(&settings.threads)),
        ("connections", list(&settings.connections)),
        ("allocator; pin; seed", format!("{}; {pin}; {}", settings.allocator, settings.seed)),
        ("cargo profile", settings.profile.clone()),
        ("began; ended", format!("{}; {}", date(report.started), date(report.updated))),
    ];
    let builds = report.peers.iter().filter_map(|peer| {
        let about = peer.about.as_ref()?;
        let text =
            format!("{} {}, {}; {}", about.library, about.version, about.crypto, about.build);
        Some((peer.label.clone(), text))
    });
    facts.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(builds).collect()
}

/// How busy others kept the machine while rows were measured.
#[allow(clippy::cast_precision_loss)]
fn others(report: &Report) -> String {
    let busy: Vec<f64> = report.rows.iter().filter_map(|row| row.others).collect();
    if busy.is_empty() {
        return "unknown".to_owned();
    }
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    let most = busy.iter().copied().fold(0.0, f64::max);
    format!(
        "kept {mean:.2} CPUs busy during a row on average, {most:.2} at most; {} of {} rows are noisy",
        report.noisy_rows(),
        report.rows.len()
    )
}

/// Seconds since 1970 as date and time in UTC.
pub(super) fn date(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Years are counted from March, so that a leap day is the last of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", of_day / 3600, of_day % 3600 / 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(951_868_800), "2000-03-01 00:00 UTC");
        assert_eq!(date(1_795_305_600), "2026-11-22 00:00 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
