//! Extensions and rules of the protocol that a server supports.

use tercel_wire::{
    AlertDescription, CertificateCompressionAlgorithm, CipherSuite, ExtensionType, ProtocolVersion,
};

use super::enumerate::{self, Choice, Enumeration};
use super::probe::Depth;
use super::reply::{Reply, ServerFlight};
use super::report::{Feature, Names, Report};
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
        match scanner.ask(&offer, depth) {
            Reply::Hello(flight) => match &flight.alpn {
                Some(name) => protocols
                    .iter()
                    .find(|protocol| protocol.as_bytes() == name)
                    .map_or_else(|| Choice::Unknown(UNOFFERED.to_owned()), |p| Choice::Chosen(*p)),
                None => Choice::None,
            },
            other => Choice::refused(&other),
        }
    });
    report.note_cut("application protocols", found.cut.as_ref());
    report.alpn = Some(Names {
        version: version_name(basis.version),
        order: found.order,
        complete: found.cut.is_none(),
        names: found.values.iter().map(ToString::to_string).collect(),
    });
}

/// Finds the other features.
pub(crate) fn find(scanner: &mut Scanner, report: &mut Report) {
    read_flight(scanner);
    let mut features = Vec::new();
    let mut add = |name, supported: Option<bool>, detail: String| {
        features.push(Feature { name, supported, detail });
    };
    let chains = &scanner.observed.chains;
    let staple = chains.iter().any(|flight| flight.ocsp_response.is_some());
    add("OCSP stapling", (!chains.is_empty()).then_some(staple), String::new());
    let timestamps = chains.iter().map(|flight| flight.timestamps).max().unwrap_or_default();
    let detail = if timestamps > 0 { format!("{timestamps} timestamps") } else { String::new() };
    add("certificate timestamps in the handshake", known(chains, timestamps > 0), detail);
    let asks = scanner.observed.flights.iter().any(|flight| flight.requests_certificate);
    add("client certificates are requested", known(&scanner.observed.flights, asks), String::new());

    if let Some((supported, detail)) = certificate_compression(scanner) {
        add("certificate compression", supported, detail);
    }
    let (supported, bytes) = record_size_limit(&scanner.observed);
    add("record_size_limit", supported, bytes);

    if let Some((version, _)) = scanner.older() {
        let hello = scanner.observed.hellos.iter().find(|flight| flight.version == version);
        let has = |extension| hello.map(|flight| flight.has(extension));
        add("extended main secret", has(ExtensionType::EXTENDED_MASTER_SECRET), String::new());
        add("secure renegotiation", has(ExtensionType::RENEGOTIATION_INFO), String::new());
        let encrypts = scanner.observed.cbc.then_some(scanner.observed.encrypt_then_mac);
        let detail = if encrypts.is_none() { "no CBC suites" } else { "" };
        add("encrypt-then-MAC", encrypts, detail.to_owned());
    }
    if let Some((supported, detail)) = fallback_scsv(scanner) {
        add("fallback SCSV", supported, detail);
    }
    if let Some((supported, detail)) = downgrade_sentinel(scanner) {
        add("downgrade sentinel", supported, detail);
    }
    let (supported, detail) = tolerates_grease(scanner);
    add("unknown values are ignored (GREASE)", supported, detail);
    if let Some((supported, detail)) = tolerates_versions(scanner) {
        add("unknown versions are tolerated", supported, detail);
    }
    report.features = features;
}

fn known(flights: &[ServerFlight], supported: bool) -> Option<bool> {
    (!flights.is_empty()).then_some(supported)
}

/// Reads one flight of each version that no earlier step has read.
fn read_flight(scanner: &mut Scanner) {
    let older = scanner.older().map(|(version, suites)| scanner.offer(version, &suites));
    for offer in [scanner.readable_offer(), older].into_iter().flatten() {
        if scanner.observed.flight(offer.version).is_none() {
            scanner.ask(&offer, Depth::Flight);
        }
    }
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
fn certificate_compression(scanner: &mut Scanner) -> Option<(Option<bool>, String)> {
    let basis = scanner.readable_offer()?;
    let found = enumerate::accepted(CertificateCompressionAlgorithm::NAMED, |algorithms| {
        let mut offer = basis.clone();
        offer.compressions = algorithms.to_vec();
        match scanner.ask(&offer, Depth::Flight) {
            Reply::Hello(flight) => flight.compression.map_or(Choice::None, Choice::Chosen),
            other => Choice::refused(&other),
        }
    });
    Some(compression(&found))
}

/// The accepted algorithms. The reason if there are none because the search ended early.
fn compression(found: &Enumeration<CertificateCompressionAlgorithm>) -> (Option<bool>, String) {
    match (&found.values[..], &found.cut) {
        ([], Some(why)) => (None, why.clone()),
        ([], None) => (Some(false), String::new()),
        (names, _) => {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            (Some(true), names.join(", "))
        }
    }
}

/// Offers a version below the highest one with TLS_FALLBACK_SCSV. RFC 7507 3
fn fallback_scsv(scanner: &mut Scanner) -> Option<(Option<bool>, String)> {
    let (highest, _) = scanner.accepted.first()?;
    let (version, suites) =
        scanner.accepted.iter().find(|(version, _)| version < highest).cloned()?;
    let mut offer = scanner.offer(version, &suites);
    offer.suites.push(CipherSuite::TLS_FALLBACK_SCSV);
    Some(match scanner.ask(&offer, Depth::Hello) {
        Reply::Alert(AlertDescription::INAPPROPRIATE_FALLBACK) => (Some(true), String::new()),
        Reply::Hello(_) => (Some(false), String::new()),
        other => (None, other.reason()),
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
fn tolerates_grease(scanner: &mut Scanner) -> (Option<bool>, String) {
    let Some((version, suites)) = scanner.accepted.first().cloned() else {
        return (None, String::new());
    };
    let mut offer = scanner.offer(version, &suites);
    offer.grease = true;
    tolerance(&scanner.ask(&offer, Depth::Hello), version)
}

/// Offers a version that does not exist in legacy_version, as a client of a later protocol might:
/// the server has to answer with its own highest version. RFC 5246 E.1
fn tolerates_versions(scanner: &mut Scanner) -> Option<(Option<bool>, String)> {
    let (version, suites) = scanner.older()?;
    let mut offer = scanner.offer(version, &suites);
    offer.version = ProtocolVersion::TLS1_2;
    offer.legacy_version = Some(ProtocolVersion(0x0305));
    Some(tolerance(&scanner.ask(&offer, Depth::Hello), version))
}

fn tolerance(reply: &Reply, version: ProtocolVersion) -> (Option<bool>, String) {
    match reply {
        Reply::Hello(flight) if flight.version == version => (Some(true), String::new()),
        Reply::Unanswered(why) => (None, why.clone()),
        other => (Some(false), other.reason()),
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
        assert_eq!(compression(&found).0, Some(false));
        found.cut = Some("stopped".to_owned());
        assert_eq!(compression(&found), (None, "stopped".to_owned()));
        found.values.push(CertificateCompressionAlgorithm::ZLIB);
        assert_eq!(compression(&found), (Some(true), "zlib".to_owned()));
    }
}
