//! The groups of the key exchange and the signature schemes that a server accepts.

use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion};

use super::enumerate::{self, Choice, Enumeration};
use super::keys::key_exchange;
use super::offer::{CURVES, group_name, scheme_name, schemes_of_tls12, schemes_of_tls13};
use super::probe::Depth;
use super::registry;
use super::reply::{Reply, ServerFlight};
use super::report::{Names, Order, Report};
use super::scanner::Scanner;
use crate::negotiated::version_name;

/// Finds the groups of TLS 1.3. A ClientHello without a key share makes the server request the
/// share that it prefers. RFC 9846 4.2.4
pub(crate) fn find_groups_tls13(scanner: &mut Scanner, report: &mut Report) {
    let version = ProtocolVersion::TLS1_3;
    let Some(suites) = scanner.suites(version).map(<[_]>::to_vec) else { return };
    // The hybrids come first, so that a server which follows the client's order chooses them.
    let mut known = NamedGroup::NAMED.to_vec();
    known.sort_by_key(|group| !is_post_quantum(*group));
    let found = enumerate::accepted(&known, |groups| {
        let mut offer = scanner.offer(version, &suites);
        offer.groups = groups.to_vec();
        match scanner.ask(&offer, Depth::Hello) {
            Reply::Hello(flight) if flight.version == version => {
                flight.group.map_or(Choice::None, Choice::Chosen)
            }
            other => Choice::refused(&other),
        }
    });
    // The small classical shares are preferred for later offers.
    let mut usable = found.values.clone();
    usable.sort_by_key(|group| is_post_quantum(*group));
    scanner.readable_group = usable.into_iter().find(|group| key_exchange(*group).is_some());
    report.note_cut("groups of TLS 1.3", found.cut.as_ref());
    report.groups.push(names(version, found, group_name));
}

/// Whether a group has a part that resists quantum computers.
pub(crate) fn is_post_quantum(group: NamedGroup) -> bool {
    group.name().is_some_and(|name| name.contains("MLKEM"))
}

/// Finds the curves of ECDHE before TLS 1.3, and the size of the prime of DHE.
pub(crate) fn find_curves(scanner: &mut Scanner, report: &mut Report) {
    let Some((version, suites)) = scanner.older() else { return };
    let with = |part: &str| -> Vec<CipherSuite> {
        let uses = |suite: &&CipherSuite| registry::name(**suite).starts_with(part);
        suites.iter().filter(uses).copied().collect()
    };
    let (ecdhe, dhe) = (with("TLS_ECDHE_"), with("TLS_DHE_"));
    if !ecdhe.is_empty() {
        let found = curves(scanner, version, &ecdhe);
        report.note_cut(&format!("curves of {}", version_name(version)), found.cut.as_ref());
        report.groups.push(names(version, found, group_name));
    }
    if !dhe.is_empty() {
        let offer = scanner.offer(version, &dhe);
        if let Reply::Hello(flight) = scanner.ask(&offer, Depth::Flight) {
            report.dh_bits = flight.dh_bits;
        }
    }
}

/// Finds the curves with these suites.
fn curves(
    scanner: &mut Scanner,
    version: ProtocolVersion,
    suites: &[CipherSuite],
) -> Enumeration<NamedGroup> {
    let mut choose = |curves: &[NamedGroup]| {
        let mut offer = scanner.offer(version, suites);
        offer.groups = curves.to_vec();
        choice(&scanner.ask(&offer, Depth::Flight), |flight| flight.group)
    };
    let mut found = enumerate::accepted(&CURVES, &mut choose);
    let ecdsa = suites.iter().all(|suite| registry::name(*suite).contains("_ECDSA_"));
    let Some(needed) = found.values.last().copied().filter(|_| ecdsa && found.cut.is_none()) else {
        return found;
    };
    // A server may use an ECDSA certificate only if the client lists the certificate's curve
    // (RFC 8422 5.1), so removing that curve ended the search. The other curves are offered again,
    // followed by that curve.
    let rest: Vec<_> = CURVES.into_iter().filter(|curve| !found.values.contains(curve)).collect();
    let mut chose_needed = false;
    let more = enumerate::accepted(&rest, |curves| match choose(&[curves, &[needed]].concat()) {
        Choice::Chosen(curve) if curve == needed => {
            chose_needed = true;
            Choice::None
        }
        other => other,
    });
    found.values.extend(more.values);
    found.cut = more.cut;
    if chose_needed && found.order != Order::Client {
        let name = group_name(needed);
        found.cut = Some(format!(
            "the server has only an ECDSA certificate, which may need {name}, and it prefers {name} \
             to any further curve"
        ));
    }
    found
}

/// Finds the signature schemes of both current versions.
pub(crate) fn find_schemes(scanner: &mut Scanner, report: &mut Report) {
    if let Some(readable) = scanner.readable_offer() {
        let found = enumerate::accepted(&schemes_of_tls13(), |schemes| {
            let mut offer = readable.clone();
            offer.schemes = schemes.to_vec();
            choice(&scanner.ask(&offer, Depth::Flight), |flight| flight.scheme)
        });
        report.note_cut("signature schemes of TLS 1.3", found.cut.as_ref());
        report.signature_schemes.push(names(ProtocolVersion::TLS1_3, found, scheme_name));
    }
    let version = ProtocolVersion::TLS1_2;
    let Some(suites) = scanner.suites(version) else { return };
    let signed = |suite: &CipherSuite| {
        let name = registry::name(*suite);
        let ephemeral = name.starts_with("TLS_ECDHE_") || name.starts_with("TLS_DHE_");
        ephemeral && !name.contains("PSK")
    };
    let suites: Vec<CipherSuite> = suites.iter().copied().filter(signed).collect();
    if suites.is_empty() {
        return;
    }
    let found = enumerate::accepted(&schemes_of_tls12(), |schemes| {
        let mut offer = scanner.offer(version, &suites);
        offer.schemes = schemes.to_vec();
        choice(&scanner.ask(&offer, Depth::Flight), |flight| flight.scheme)
    });
    report.note_cut("signature schemes of TLS 1.2", found.cut.as_ref());
    report.signature_schemes.push(names(version, found, scheme_name));
}

/// The choice in a flight that was read to its end, or far enough to contain the choice.
fn choice<T>(reply: &Reply, value: impl FnOnce(&ServerFlight) -> Option<T>) -> Choice<T> {
    match reply {
        Reply::Hello(flight) => match (value(flight), &flight.cut) {
            (Some(value), _) => Choice::Chosen(value),
            (None, Some(why)) if !why.starts_with("alert ") => Choice::Unknown(why.clone()),
            (None, _) => Choice::None,
        },
        other => Choice::refused(other),
    }
}

fn names<T: Copy>(
    version: ProtocolVersion,
    found: Enumeration<T>,
    name: impl Fn(T) -> String,
) -> Names {
    Names {
        version: version_name(version),
        order: found.order,
        complete: found.cut.is_none(),
        names: found.values.into_iter().map(name).collect(),
    }
}
