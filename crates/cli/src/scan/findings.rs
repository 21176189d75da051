//! The findings of a scan in plain language, the most serious first.

use std::collections::BTreeMap;

use super::enumerate::Order;
use super::report::{Finding, Names, Report, Version};
use super::weakness::{Severity, Weakness, weaknesses};

/// The findings of a report. `breaches` are breaches of the protocol that were seen.
pub(crate) fn find(report: &Report, breaches: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |severity, text: String| findings.push(Finding::new(severity, text));
    for breach in breaches {
        add(Severity::Problem, format!("the server breaks the protocol: it {breach}"));
    }
    for chain in &report.chains {
        let several = report.chains.len() > 1;
        let leaf = chain.certificates.first().and_then(|leaf| leaf.fields.as_ref());
        let key = leaf.map_or("", |fields| fields.key.as_str());
        for Finding { severity, text } in &chain.problems {
            let text = if several { format!("{key} chain: {text}") } else { text.clone() };
            add(*severity, text);
        }
    }
    versions(report, &mut add);
    suites(report, &mut add);
    exchange(report, &mut add);
    features(report, &mut add);
    sessions(report, &mut add);
    findings.sort_by_key(|finding| finding.severity);
    findings
}

fn accepted(report: &Report, name: &str) -> bool {
    report.versions.iter().any(|version| version.accepted == Some(true) && version.name == name)
}

fn versions(report: &Report, add: &mut impl FnMut(Severity, String)) {
    if accepted(report, "SSL 3") {
        add(Severity::Problem, "SSL 3 is accepted, which is broken (RFC 7568)".to_owned());
    }
    let old: Vec<&str> =
        ["TLS 1.1", "TLS 1.0"].into_iter().filter(|name| accepted(report, name)).collect();
    if !old.is_empty() {
        let (names, verb) = (old.join(" and "), if old.len() > 1 { "are" } else { "is" });
        add(Severity::Weakness, format!("{names} {verb} accepted, which RFC 8996 forbids"));
    }
    let refuses = |v: &Version| v.name == "TLS 1.3" && v.accepted == Some(false);
    if report.versions.iter().any(refuses) {
        add(Severity::Weakness, "TLS 1.3 is not accepted".to_owned());
    }
}

/// One finding for each reason, with the number of suites in each version.
fn suites(report: &Report, add: &mut impl FnMut(Severity, String)) {
    let mut by_reason: BTreeMap<Weakness, Vec<(&str, usize)>> = BTreeMap::new();
    for list in &report.cipher_suites {
        for weakness in list.suites.iter().flat_map(|suite| weaknesses(&suite.name)) {
            let counts = by_reason.entry(weakness).or_default();
            match counts.last_mut() {
                Some((version, count)) if *version == list.version => *count += 1,
                _ => counts.push((&list.version, 1)),
            }
        }
        if list.order == Order::Client && list.suites.iter().any(|suite| !suite.weak.is_empty()) {
            let version = &list.version;
            add(
                Severity::Note,
                format!("{version}: the client's order decides, so weak suites may be chosen"),
            );
        }
    }
    for (Weakness { severity, reason }, counts) in by_reason {
        let counts: Vec<String> = counts
            .iter()
            .map(|(version, count)| {
                format!("{count} {} of {version}", if *count == 1 { "suite" } else { "suites" })
            })
            .collect();
        add(severity, format!("{}: {reason}", counts.join(", ")));
    }
}

fn exchange(report: &Report, add: &mut impl FnMut(Severity, String)) {
    match report.dh_bits {
        Some(bits) if bits < 1024 => {
            add(Severity::Problem, format!("DHE uses a prime of {bits} bits, which can be broken"));
        }
        Some(bits) if bits < 2048 => {
            add(Severity::Weakness, format!("DHE uses a prime of {bits} bits, below 2048"));
        }
        _ => {}
    }
    // A list that may lack entries shows no absence.
    let of_tls13 = report.groups.iter().find(|list| list.version == "TLS 1.3" && list.complete);
    if of_tls13.is_some_and(|list| !list.names.iter().any(|name| name.contains("MLKEM"))) {
        add(Severity::Note, "no group of TLS 1.3 resists quantum computers".to_owned());
    }
    let names = |lists: &[Names], weak: &[&str]| -> Vec<String> {
        let all = lists.iter().flat_map(|list| &list.names);
        all.filter(|name| weak.iter().any(|part| name.contains(part))).cloned().collect()
    };
    let curves = names(&report.groups, &["secp192"]);
    if !curves.is_empty() {
        add(Severity::Weakness, format!("weak curves: {}", curves.join(", ")));
    }
    let schemes = names(&report.signature_schemes, &["sha1", "md5"]);
    if !schemes.is_empty() {
        let text = format!("signs with a broken hash on request: {}", schemes.join(", "));
        add(Severity::Weakness, text);
    }
}

fn features(report: &Report, add: &mut impl FnMut(Severity, String)) {
    let old = accepted(report, "TLS 1.1") || accepted(report, "TLS 1.0");
    for feature in report.features.iter().filter(|feature| feature.supported == Some(false)) {
        let detail = match feature.detail.as_str() {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        let (severity, text) = match feature.name {
            "secure renegotiation" => {
                (Severity::Problem, "secure renegotiation is not indicated (RFC 5746)")
            }
            "unknown values are ignored (GREASE)" => {
                (Severity::Problem, "a ClientHello with unknown values is refused")
            }
            "unknown versions are tolerated" => {
                (Severity::Weakness, "a ClientHello of an unknown version is refused")
            }
            "extended main secret" => {
                (Severity::Weakness, "the extended main secret is not supported (RFC 7627)")
            }
            "downgrade sentinel" => {
                (Severity::Weakness, "the downgrade sentinel is missing, which protects versions")
            }
            "fallback SCSV" if old => {
                (Severity::Weakness, "a fallback to an older version is not detected (RFC 7507)")
            }
            "encrypt-then-MAC" => {
                (Severity::Note, "CBC suites are used without encrypt-then-MAC (RFC 7366)")
            }
            _ => continue,
        };
        add(severity, format!("{text}{detail}"));
    }
}

fn sessions(report: &Report, add: &mut impl FnMut(Severity, String)) {
    for resumption in &report.resumption {
        let version = &resumption.version;
        if resumption.resumed == Some(false) {
            add(Severity::Note, format!("{version}: sessions are not resumed"));
        }
        if let Some(bytes @ 1..) = resumption.early_data_bytes {
            let text = format!(
                "{version}: tickets allow {bytes} bytes of early data, which others can replay"
            );
            add(Severity::Note, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::report::{Feature, Resumption, Suite, Suites};

    fn version(name: &str) -> Version {
        Version { name: name.to_owned(), accepted: Some(true), answer: None }
    }

    fn suites(version: &str, names: &[&str]) -> Suites {
        let suite = |name: &&str| Suite {
            name: (*name).to_owned(),
            code: String::new(),
            weak: weaknesses(name).into_iter().map(|weakness| weakness.reason).collect(),
        };
        let suites = names.iter().map(suite).collect();
        Suites { version: version.to_owned(), order: Order::Client, complete: true, suites }
    }

    #[test]
    fn a_current_server_without_faults_has_no_findings() {
        let report = Report {
            versions: vec![version("TLS 1.3"), version("TLS 1.2")],
            cipher_suites: vec![suites("TLS 1.3", &["TLS_AES_128_GCM_SHA256"])],
            dh_bits: Some(2048),
            ..Report::default()
        };
        assert_eq!(find(&report, &[]), []);
    }

    #[test]
    fn findings_are_sorted_by_severity() {
        let features = [
            "secure renegotiation",
            "extended main secret",
            "fallback SCSV",
            "downgrade sentinel",
            "encrypt-then-MAC",
            "unknown values are ignored (GREASE)",
            "unknown versions are tolerated",
            "OCSP stapling",
        ];
        let feature = |name| Feature { name, supported: Some(false), detail: String::new() };
        let report = Report {
            versions: vec![version("TLS 1.3"), version("TLS 1.0"), version("SSL 3")],
            cipher_suites: vec![
                suites("TLS 1.0", &["TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"]),
                suites("SSL 3", &["TLS_RSA_WITH_RC4_128_SHA"]),
            ],
            dh_bits: Some(512),
            features: features.map(feature).to_vec(),
            resumption: vec![Resumption {
                version: "TLS 1.3".to_owned(),
                resumed: Some(true),
                early_data_bytes: Some(16384),
                ..Resumption::default()
            }],
            ..Report::default()
        };
        let found = find(&report, &["sent nonsense".to_owned()]);
        assert!(found.is_sorted_by_key(|finding| finding.severity), "{found:?}");
        let texts = |severity| -> String {
            let chosen = found.iter().filter(|finding| finding.severity == severity);
            chosen.map(|finding| format!("{}\n", finding.text)).collect()
        };
        for (severity, parts) in [
            (
                Severity::Problem,
                &[
                    "it sent nonsense",
                    "SSL 3 is accepted",
                    "1 suite of TLS 1.0, 1 suite of SSL 3: RC4 is broken",
                    "a prime of 512 bits",
                    "secure renegotiation",
                    "unknown values",
                ][..],
            ),
            (
                Severity::Weakness,
                &[
                    "TLS 1.0 is accepted, which RFC 8996 forbids",
                    "2 suites of TLS 1.0, 1 suite of SSL 3: RSA key exchange",
                    "unknown version",
                    "extended main secret",
                    "fallback",
                    "downgrade sentinel",
                ],
            ),
            (
                Severity::Note,
                &["without encrypt-then-MAC", "16384 bytes of early data", "the client's order"],
            ),
        ] {
            let texts = texts(severity);
            for part in parts {
                assert!(texts.contains(part), "{part}: {texts}");
            }
        }
        // Features that are optional are not findings.
        assert!(!found.iter().any(|finding| finding.text.contains("OCSP")), "{found:?}");
    }
}
