//! Extensions and rules of the protocol that a server supports.

use tercel_wire::{
    AlertDescription, CertificateCompressionAlgorithm, CipherSuite, ExtensionType, ProtocolVersion,
};

use super::enumerate::{self, Choice, Enumeration};
use super::probe::Depth;
use super::registry;
use super::reply::Reply;
use super::report::{Names, Report, Support};
use super::scanner::{Observations, Scanner};
use crate::negotiated::version_name;

/// Finds the application protocols (ALPN), in the highest version whose answer can be read.
pub(crate) fn find_protocols(scanner: &mut Scanner, report: &mut Report) {
    let readable = scanner.readable_offer();
    let older = scanner.older().map(|(version, suites)| scanner.offer(version, &suites));
    let Some(basis) = readable.or(older) else { return };
    let tls13 = basis.version == ProtocolVersion::TLS1_3;
    let depth = if tls13 { Depth::Flight } else { Depth::Hello };
    let found = enumerate::accepted(&PROTOCOLS, |protocols| {
        let mut offer = basis.clone();
        offer.protocols = protocols.to_vec();
        let choice = Choice::new(&scanner.ask(&offer, depth), |flight| flight.alpn.clone());
        match choice {
            Choice::Chosen(name) => protocols
                .iter()
                .find(|protocol| protocol.as_bytes() == name)
                .map_or_else(|| Choice::Unknown(UNOFFERED.to_owned()), |p| Choice::Chosen(*p)),
            Choice::None => Choice::None,
            Choice::Unknown(why) => Choice::Unknown(why),
        }
    });
    report.note_list("application protocols", &found);
    report.alpn = Some(Names {
        version: version_name(basis.version),
        order: found.order,
        complete: found.cut.is_none(),
        names: found.values.iter().map(ToString::to_string).collect(),
    });
}

/// Finds the other features.
pub(crate) fn find(scanner: &mut Scanner, report: &mut Report) {
    let chains = &scanner.observed.chains;
    // Only a flight that was read to its end shows what is not in it.
    let known = |seen: bool| (seen || !scanner.observed.flights.is_empty()).then_some(seen);
    let staple = chains.iter().any(|flight| flight.ocsp_response.is_some());
    report.add_feature("OCSP stapling", known(staple), "");
    let timestamps = chains.iter().map(|flight| flight.timestamps).max().unwrap_or_default();
    let detail = if timestamps > 0 { format!("{timestamps} timestamps") } else { String::new() };
    report.add_feature("certificate timestamps in the handshake", known(timestamps > 0), detail);
    let asks = scanner.observed.flights.iter().any(|flight| flight.requests_certificate);
    report.add_feature("client certificates are requested", known(asks), "");

    if let Some(found) = certificate_compression(scanner) {
        report.note_list("certificate compression", &found);
        let (supported, detail) = compression(&found);
        report.add_feature("certificate compression", supported, detail);
    }
    let (supported, bytes) = record_size_limit(&scanner.observed);
    report.add_feature("record_size_limit", supported, bytes);

    if let Some((version, suites)) = scanner.older() {
        let hello = scanner.observed.hellos.iter().find(|flight| flight.version == version);
        let has = |extension| hello.map(|flight| flight.has(extension));
        let (secret, renegotiation) =
            (has(ExtensionType::EXTENDED_MASTER_SECRET), has(ExtensionType::RENEGOTIATION_INFO));
        report.add_feature("extended main secret", secret, "");
        report.add_feature("secure renegotiation", renegotiation, "");
        match encrypt_then_mac(scanner, version, &suites) {
            Choice::Chosen(supported) => {
                report.add_feature("encrypt-then-MAC", Some(supported), "");
            }
            Choice::None => report.add_feature("encrypt-then-MAC", None, "no CBC suites"),
            Choice::Unknown(why) => report.add_asked("encrypt-then-MAC", Err(why)),
        }
    }
    if let Some(found) = fallback_scsv(scanner) {
        report.add_asked("fallback SCSV", found);
    }
    if let Some((supported, detail)) = downgrade_sentinel(scanner) {
        report.add_feature("downgrade sentinel", supported, detail);
    }
    if let Some(found) = tolerates_grease(scanner) {
        report.add_asked("unknown values are ignored (GREASE)", found);
    }
    if let Some(found) = tolerates_versions(scanner) {
        report.add_asked("unknown versions are tolerated", found);
    }
}

/// Offers suites with CBC alone. RFC 7366 2
fn encrypt_then_mac(
    scanner: &mut Scanner,
    version: ProtocolVersion,
    suites: &[CipherSuite],
) -> Choice<bool> {
    let is_cbc = |suite: &&CipherSuite| registry::name(**suite).contains("_CBC_");
    let suites: Vec<CipherSuite> = suites.iter().filter(is_cbc).copied().collect();
    if suites.is_empty() {
        return Choice::None;
    }
    let offer = scanner.offer(version, &suites);
    Choice::new(&scanner.ask(&offer, Depth::Hello), |flight| {
        Some(flight.has(ExtensionType::ENCRYPT_THEN_MAC))
    })
}

/// RFC 8449 4
fn record_size_limit(observed: &Observations) -> (Option<bool>, String) {
    let mut known = observed.flights.iter().chain(&observed.hellos).peekable();
    if known.peek().is_none() {
        return (None, String::new());
    }
    let limit = known.filter_map(|flight| flight.record_size_limit).max();
    let bytes = limit.map_or_else(String::new, |bytes| format!("{bytes} bytes"));
    (Some(limit.is_some()), bytes)
}

/// RFC 8879 3
fn certificate_compression(
    scanner: &mut Scanner,
) -> Option<Enumeration<CertificateCompressionAlgorithm>> {
    let basis = scanner.readable_offer()?;
    let found = enumerate::accepted(CertificateCompressionAlgorithm::NAMED, |algorithms| {
        let mut offer = basis.clone();
        offer.compressions = algorithms.to_vec();
        Choice::new(&scanner.ask(&offer, Depth::Flight), |flight| flight.compression)
    });
    Some(found)
}

/// The accepted algorithms. The reason if there are none because the search ended early.
fn compression(found: &Enumeration<CertificateCompressionAlgorithm>) -> (Option<bool>, String) {
    let names: Vec<String> = found.values.iter().map(ToString::to_string).collect();
    match (&names[..], &found.cut) {
        ([], Some(why)) => (None, why.clone()),
        ([], None) => (Some(false), String::new()),
        (names, None) => (Some(true), names.join(", ")),
        (names, Some(_)) => (Some(true), format!("{}, perhaps more", names.join(", "))),
    }
}

/// Offers a version below the highest one with TLS_FALLBACK_SCSV. RFC 7507 3
fn fallback_scsv(scanner: &mut Scanner) -> Option<Support> {
    let (highest, _) = scanner.accepted.first()?;
    let (version, suites) =
        scanner.accepted.iter().find(|(version, _)| version < highest).cloned()?;
    let mut offer = scanner.offer(version, &suites);
    offer.suites.push(CipherSuite::TLS_FALLBACK_SCSV);
    Some(match scanner.ask(&offer, Depth::Hello) {
        Reply::Alert(AlertDescription::INAPPROPRIATE_FALLBACK) => Ok((true, String::new())),
        Reply::Hello(_) => Ok((false, String::new())),
        other => Err(other.reason()),
    })
}

/// RFC 9846 4.2.3
fn downgrade_sentinel(scanner: &Scanner) -> Option<(Option<bool>, String)> {
    let (highest, _) = scanner.accepted.first()?;
    // The sentinel is required of servers of TLS 1.3, and recommended to those of TLS 1.2.
    let lower = scanner.accepted.iter().map(|(version, _)| *version).filter(|v| v < highest);
    let sent: Vec<(String, bool)> = lower
        .filter(|version| *version >= ProtocolVersion::TLS1_0)
        .filter_map(|version| {
            Some((version_name(version), scanner.observed.has_sentinel(version)?))
        })
        .collect();
    let missing: Vec<&str> =
        sent.iter().filter(|(_, sent)| !sent).map(|(name, _)| name.as_str()).collect();
    let detail = match missing[..] {
        [] => String::new(),
        _ => format!("missing in {}", missing.join(", ")),
    };
    (!sent.is_empty()).then_some((Some(missing.is_empty()), detail))
}

/// Offers reserved values in every list of the highest version. RFC 8701 3.1
fn tolerates_grease(scanner: &mut Scanner) -> Option<Support> {
    let (version, suites) = scanner.accepted.first().cloned()?;
    let mut offer = scanner.offer(version, &suites);
    offer.grease = true;
    Some(tolerance(&scanner.ask(&offer, Depth::Hello), version))
}

/// Offers a version that does not exist in legacy_version, as a client of a later protocol might:
/// the server has to answer with its own highest version. RFC 5246 E.1
fn tolerates_versions(scanner: &mut Scanner) -> Option<Support> {
    let (version, suites) = scanner.older()?;
    let mut offer = scanner.offer(version, &suites);
    offer.version = ProtocolVersion::TLS1_2;
    offer.legacy_version = Some(ProtocolVersion(0x0305));
    Some(tolerance(&scanner.ask(&offer, Depth::Hello), version))
}

fn tolerance(reply: &Reply, version: ProtocolVersion) -> Support {
    match reply {
        Reply::Hello(flight) if flight.version == version => Ok((true, String::new())),
        Reply::Hello(_) | Reply::Alert(_) => Ok((false, reply.reason())),
        Reply::Closed(_) | Reply::Invalid(_) | Reply::Unanswered(_) => Err(reply.reason()),
    }
}

const UNOFFERED: &str = "the server chose an application protocol that was not offered";

/// Registered protocols that are negotiated by ALPN on TCP.
const PROTOCOLS: [&str; 13] = [
    "h2",
    "http/1.1",
    "http/1.0",
    "dot",
    "imap",
    "pop3",
    "managesieve",
    "xmpp-client",
    "xmpp-server",
    "mqtt",
    "ftp",
    "postgresql",
    "ntske/1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_unknown_if_no_answer_shows_it() {
        assert_eq!(record_size_limit(&Observations::default()).0, None);
        let mut found = Enumeration::nothing();
        assert_eq!(compression(&found), (Some(false), String::new()));
        found.cut = Some("stopped".to_owned());
        assert_eq!(compression(&found), (None, "stopped".to_owned()));
        found.values.push(CertificateCompressionAlgorithm::ZLIB);
        assert_eq!(compression(&found), (Some(true), "zlib, perhaps more".to_owned()));
    }
}
