//! The groups of the key exchange and the signature schemes that a server accepts.

use std::cell::{Cell, RefCell};

use tercel::pki::CertificateSummary;
use tercel::pki_types::CertificateDer;
use tercel_wire::{CipherSuite, NamedGroup, ProtocolVersion};

use super::enumerate::{self, Choice, Enumeration, Order};
use super::keys::key_exchange;
use super::offer::{CURVES, group_name, scheme_name, schemes_of_tls12, schemes_of_tls13};
use super::probe::Depth;
use super::registry;
use super::reply::Reply;
use super::report::{Names, Report};
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
            Reply::Hello(flight) if flight.version == version => flight.group.map_or_else(
                || Choice::Unknown("the server names no group".to_owned()),
                Choice::Chosen,
            ),
            other => Choice::refused(&other),
        }
    });
    // The small classical shares are preferred for later offers.
    let mut usable = found.values.clone();
    usable.sort_by_key(|group| is_post_quantum(*group));
    scanner.readable_group = usable.into_iter().find(|group| key_exchange(*group).is_some());
    report.note_list("groups of TLS 1.3", &found);
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
        report.note_list(&format!("curves of {}", version_name(version)), &found);
        if !found.is_nothing() {
            report.groups.push(names(version, found, group_name));
        }
    }
    if !dhe.is_empty() {
        let offer = scanner.offer(version, &dhe);
        match Choice::new(&scanner.ask(&offer, Depth::Flight), |flight| flight.dh_bits) {
            Choice::Chosen(bits) => report.dh_bits = Some(bits),
            Choice::Unknown(why) => report.note_unanswered("DHE prime", &why),
            Choice::None => {}
        }
    }
}

/// Finds the curves with these suites.
fn curves(
    scanner: &mut Scanner,
    version: ProtocolVersion,
    suites: &[CipherSuite],
) -> Enumeration<NamedGroup> {
    // Whether each chosen suite was one of an ECDSA certificate, and the curves of these.
    let (ecdsa, of_certificates) = (Cell::new(true), RefCell::new(Vec::new()));
    let mut choose = |curves: &[NamedGroup], suites: &[CipherSuite]| {
        let mut offer = scanner.offer(version, suites);
        offer.groups = curves.to_vec();
        Choice::new(&scanner.ask(&offer, Depth::Flight), |flight| {
            ecdsa.set(ecdsa.get() && is_ecdsa(flight.suite));
            let curve = flight.chain.first().and_then(certificate_curve);
            of_certificates.borrow_mut().extend(curve);
            flight.group
        })
    };
    // A server may use an ECDSA certificate only if the client lists the certificate's curve
    // (RFC 8422 5.1), so removing that curve may end a search too early. A curve that is not known
    // may be any.
    let mut found = enumerate::eliminate(&CURVES, &mut |curves: &[_]| choose(curves, suites));
    let of_certificates = of_certificates.take();
    let is_accepted = |curve: &NamedGroup| found.values.contains(curve);
    let unaccepted: Vec<_> = of_certificates.iter().copied().filter(|c| !is_accepted(c)).collect();
    let of_certificate =
        |c: &&NamedGroup| of_certificates.is_empty() || of_certificates.contains(*c);
    let needed = found.values.iter().rfind(of_certificate).copied();
    found.find_order(&found.values.clone(), |curves| {
        choose(&[curves, &unaccepted].concat(), suites)
    });
    let Some(needed) = needed.filter(|_| ecdsa.get() && found.cut.is_none()) else {
        return found;
    };
    let others: Vec<_> = suites.iter().copied().filter(|suite| !is_ecdsa(*suite)).collect();
    if !others.is_empty() {
        match choose(&CURVES, &others) {
            // With its other certificate, the server would have accepted any further curve.
            Choice::Chosen(_) => return found,
            Choice::None => {}
            Choice::Unknown(why) => {
                found.cut = Some(why);
                return found;
            }
        }
    }
    // The other curves are offered again, followed by the one that may be needed.
    let rest: Vec<_> = CURVES.into_iter().filter(|curve| !found.values.contains(curve)).collect();
    let mut chose_needed = false;
    let more = enumerate::eliminate(&rest, &mut |curves: &[_]| match choose(
        &[curves, &[needed]].concat(),
        suites,
    ) {
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

fn is_ecdsa(suite: CipherSuite) -> bool {
    registry::name(suite).contains("_ECDSA_")
}

/// Finds the signature schemes of both current versions.
pub(crate) fn find_schemes(scanner: &mut Scanner, report: &mut Report) {
    if let Some(readable) = scanner.readable_offer() {
        let found = enumerate::accepted(&schemes_of_tls13(), |schemes| {
            let mut offer = readable.clone();
            offer.schemes = schemes.to_vec();
            Choice::new(&scanner.ask(&offer, Depth::Flight), |flight| flight.scheme)
        });
        report.note_list("signature schemes of TLS 1.3", &found);
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
        Choice::new(&scanner.ask(&offer, Depth::Flight), |flight| flight.scheme)
    });
    report.note_list("signature schemes of TLS 1.2", &found);
    if !found.is_nothing() {
        report.signature_schemes.push(names(version, found, scheme_name));
    }
}

/// The curve of an ECDSA certificate's key.
fn certificate_curve(certificate: &CertificateDer<'static>) -> Option<NamedGroup> {
    match CertificateSummary::new(certificate).ok()?.key.strip_prefix("ECDSA ")? {
        "P-256" => Some(NamedGroup::SECP256R1),
        "P-384" => Some(NamedGroup::SECP384R1),
        "P-521" => Some(NamedGroup::SECP521R1),
        "secp256k1" => Some(NamedGroup(0x0016)),
        "1.3.36.3.3.2.8.1.1.7" => Some(NamedGroup(0x001a)),
        "1.3.36.3.3.2.8.1.1.11" => Some(NamedGroup(0x001b)),
        "1.3.36.3.3.2.8.1.1.13" => Some(NamedGroup(0x001c)),
        _ => None,
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
