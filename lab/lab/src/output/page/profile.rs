//! Profiles: a bar for each peer and side, divided by purpose.

use std::fmt::{self, Write};

use crate::output::format::instructions;
use crate::output::page::html::Escaped;
use crate::report::Report;
use crate::report::profile::{OTHER, PURPOSES};
use crate::report::profile::{PeerProfile, Profile, SideProfile};

/// The size of a bar in SVG units.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 18.0;

/// The number of functions listed for the purpose *other*.
const MAX_FUNCTIONS: usize = 5;

/// Writes all profiles of a report.
pub(crate) fn render(page: &mut String, report: &Report) -> fmt::Result {
    if report.profiles.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>Instructions by purpose</h2>\n<p>{LEGEND}</p>\n<ul class=\"purposes\">")?;
    for (index, purpose) in PURPOSES.iter().enumerate() {
        writeln!(page, "<li><span class=\"key u{index}\"></span>{purpose}</li>")?;
    }
    writeln!(page, "</ul>")?;
    report.profiles.iter().try_for_each(|profile| one(page, profile))
}

const LEGEND: &str = "Instructions of a row by purpose, counted under callgrind. A function has the purpose of its nearest \
    caller with a known purpose. Instructions are not time: those of public-key operations execute faster \
    than others, and callgrind does not support AVX-512 code.";

fn one(page: &mut String, profile: &Profile) -> fmt::Result {
    let id = Escaped(&profile.row.id);
    writeln!(page, "<section id=\"purposes-{id}\">\n<h3>{}</h3>", Escaped(&profile.title))?;
    for name in profile.row.sides() {
        let of_side = |peer: &'_ PeerProfile| -> Option<SideProfile> {
            peer.sides.iter().find(|side| side.side == name).cloned()
        };
        let sides: Vec<_> =
            profile.peers.iter().filter_map(|peer| Some((peer, of_side(peer)?))).collect();
        let longest = sides.iter().map(|(_, side)| side.instructions).fold(0.0, f64::max);
        let (name, unit) = (Escaped(&name), profile.unit());
        writeln!(page, "<h4>{name}, instructions per {unit} (lower is better)</h4>")?;
        writeln!(page, "<table class=\"bars\">")?;
        for (peer, side) in &sides {
            bar(page, peer, side, longest)?;
        }
        writeln!(page, "</table>\n<details><summary>values</summary>")?;
        figures(page, &sides)?;
        writeln!(page, "</details>")?;
    }
    for (peer, why) in profile.failures.iter().chain(&profile.unable) {
        writeln!(page, "<p>{} was not counted: {}</p>", Escaped(peer), Escaped(why))?;
    }
    writeln!(page, "</section>")
}

fn bar(page: &mut String, peer: &PeerProfile, side: &SideProfile, longest: f64) -> fmt::Result {
    let all = instructions(side.instructions);
    write!(
        page,
        "<tr><td>{}</td><td><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{all}\">",
        Escaped(&peer.label)
    )?;
    let mut x = 0.0;
    for (index, part) in side.purposes.iter().enumerate() {
        let width = WIDTH * part.instructions / longest;
        write!(
            page,
            "<rect class=\"u{index}\" x=\"{x:.2}\" width=\"{width:.2}\" height=\"{HEIGHT}\"><title>{}: {}, {:.1} %</title></rect>",
            Escaped(&part.purpose),
            instructions(part.instructions),
            100.0 * part.instructions / side.instructions
        )?;
        x += width;
    }
    writeln!(page, "</svg></td><td>{all}</td><td></td></tr>")
}

fn figures(page: &mut String, sides: &[(&PeerProfile, SideProfile)]) -> fmt::Result {
    write!(page, "<div class=\"wide\"><table>\n<tr><th></th>")?;
    for (peer, _) in sides {
        write!(page, "<th>{}</th>", Escaped(&peer.label))?;
    }
    writeln!(page, "</tr>")?;
    for purpose in PURPOSES {
        write!(page, "<tr><td>{purpose}</td>")?;
        for (_, side) in sides {
            let part = side.of(purpose).map_or(0.0, |part| part.instructions);
            let share = 100.0 * part / side.instructions;
            write!(page, "<td>{} <small>{share:.1} %</small></td>", instructions(part))?;
        }
        writeln!(page, "</tr>")?;
    }
    writeln!(page, "</table></div>")?;
    for (peer, side) in sides {
        let functions =
            side.of(OTHER).into_iter().flat_map(|part| part.functions.iter().take(MAX_FUNCTIONS));
        let listed: Vec<_> = functions
            .map(|each| format!("{} {}", each.name, instructions(each.instructions)))
            .collect();
        let (label, listed) = (Escaped(&peer.label), listed.join("; "));
        writeln!(page, "<p class=\"small\">{label}, {OTHER}: {}</p>", Escaped(&listed))?;
    }
    Ok(())
}
