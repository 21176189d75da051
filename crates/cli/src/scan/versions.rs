//! The protocol versions that a server accepts, and the cipher suites of each.

use tercel_wire::{AlertDescription, CipherSuite, ProtocolVersion};

use super::enumerate::{self, Choice};
use super::probe::Depth;
use super::registry;
use super::reply::Reply;
use super::report::{Report, Suite, Suites, Version};
use super::scanner::Scanner;
use super::weakness::weaknesses;
use crate::negotiated::version_name;

/// Finds the accepted versions. The error is the reason why the server accepts none.
pub(crate) fn find_versions(scanner: &mut Scanner, report: &mut Report) -> Result<(), String> {
    let mut failures: Vec<(ProtocolVersion, Reply)> = Vec::new();
    for version in VERSIONS {
        let groups = candidates(version);
        let mut offer = scanner.offer(version, groups.first().map_or(&[], Vec::as_slice));
        let mut reply = scanner.ask(&offer, Depth::Hello);
        if matches!(reply, Reply::Alert(_)) && version == ProtocolVersion::TLS1_2 {
            // The server may have suites of pre-shared keys only.
            if let [_, rest, ..] = &groups[..] {
                offer.suites.clone_from(rest);
                let second = scanner.ask(&offer, Depth::Hello);
                if !matches!(second, Reply::Alert(_)) {
                    reply = second;
                }
            }
        }
        let name = version_name(version);
        let accepted = match &reply {
            Reply::Hello(flight) => Some(flight.version == version),
            Reply::Alert(_) => Some(false),
            Reply::Closed(_) | Reply::Invalid(_) | Reply::Unanswered(_) => None,
        };
        if accepted.is_none() {
            report.note_unanswered(&name, &reply.reason());
        }
        let answer = (accepted != Some(true)).then(|| reply.reason());
        report.versions.push(Version { name, accepted, answer });
        if accepted == Some(true) {
            scanner.accepted.push((version, offer.suites));
        } else {
            failures.push((version, reply));
        }
        let fatal =
            |(_, reply): &(_, Reply)| matches!(reply, Reply::Invalid(_) | Reply::Unanswered(_));
        // A server that answers the two current versions like this has no TLS at all.
        if failures.len() == 2 && scanner.accepted.is_empty() && failures.iter().all(fatal) {
            break;
        }
    }
    if scanner.accepted.is_empty() { Err(no_version(&failures)) } else { Ok(()) }
}

/// The reason why no version was accepted, from the most informative answer.
fn no_version(failures: &[(ProtocolVersion, Reply)]) -> String {
    let unknown_name = Reply::Alert(AlertDescription::UNRECOGNIZED_NAME).reason();
    if failures.iter().any(|(_, reply)| reply.reason() == unknown_name) {
        return "the server does not know the name that was sent; set another one with --name"
            .to_owned();
    }
    let text = |(version, reply): &(ProtocolVersion, Reply)| {
        format!("{}: {}", version_name(*version), reply.reason())
    };
    for (_, reply) in failures {
        if let Reply::Invalid(why) = reply {
            return format!("no TLS: the server {why}");
        }
    }
    if let [(_, first), rest @ ..] = failures {
        if rest.iter().all(|(_, reply)| reply.reason() == first.reason()) {
            return match first {
                Reply::Unanswered(why) => why.clone(),
                Reply::Closed(how) => format!("the server {how}, without an answer"),
                _ => format!("no TLS: {}", first.reason()),
            };
        }
    }
    let answers: Vec<String> = failures.iter().map(text).collect();
    format!("the server accepted no version of TLS ({})", answers.join("; "))
}

/// Finds the accepted suites of some of the accepted versions.
pub(crate) fn find_suites(
    scanner: &mut Scanner,
    versions: &[ProtocolVersion],
    report: &mut Report,
) {
    // Many servers follow the client if it prefers ChaCha20, and decide by themselves otherwise.
    let shows_order = |suite| !registry::name(suite).contains("CHACHA20");
    for version in versions.iter().copied() {
        let found = enumerate::accepted_of_groups(&candidates(version), shows_order, |suites| {
            let offer = scanner.offer(version, suites);
            match scanner.ask(&offer, Depth::Hello) {
                Reply::Hello(flight) if flight.version == version => Choice::Chosen(flight.suite),
                other => Choice::refused(&other),
            }
        });
        let list = format!("cipher suites of {}", version_name(version));
        report.note_list(&list, &found);
        report.cipher_suites.push(Suites {
            version: version_name(version),
            order: found.order,
            complete: found.cut.is_none(),
            suites: found.values.iter().map(|suite| describe(*suite)).collect(),
        });
        let accepted = scanner.accepted.iter_mut().find(|(v, _)| *v == version);
        if let Some((_, suites)) = accepted.filter(|_| !found.values.is_empty()) {
            *suites = found.values;
        }
    }
}

fn describe(suite: CipherSuite) -> Suite {
    let name = registry::name(suite);
    let weak = weaknesses(&name).into_iter().map(|weakness| weakness.reason).collect();
    Suite { code: format!("0x{:04x}", suite.0), name, weak }
}

/// The suites to offer for a version, in groups that fit well into one message. Suites that only
/// few servers have are in the second group.
fn candidates(version: ProtocolVersion) -> Vec<Vec<CipherSuite>> {
    if version == ProtocolVersion::TLS1_3 {
        return vec![registry::suites(is_tls13)];
    }
    // Suites with SHA-256, SHA-384 or an AEAD need TLS 1.2. RFC 5246 1.2
    let newer = |name: &str| {
        ["GCM", "CCM", "POLY1305", "SHA256", "SHA384"].iter().any(|part| name.contains(part))
    };
    let usable =
        |name: &str| !is_tls13(name) && (version == ProtocolVersion::TLS1_2 || !newer(name));
    let rare = |name: &str| RARE.iter().any(|part| name.contains(part));
    vec![
        registry::suites(|name| usable(name) && !rare(name)),
        registry::suites(|name| usable(name) && rare(name)),
    ]
}

fn is_tls13(name: &str) -> bool {
    !name.contains("_WITH_")
}

const RARE: [&str; 4] = ["PSK", "KRB5", "SRP", "ARIA"];

/// The versions, highest first.
const VERSIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::TLS1_3,
    ProtocolVersion::TLS1_2,
    ProtocolVersion::TLS1_1,
    ProtocolVersion::TLS1_0,
    ProtocolVersion::SSL3_0,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5246 1.2
    #[test]
    fn every_registered_suite_is_a_candidate() {
        let of = |version| candidates(version).concat();
        let count = of(ProtocolVersion::TLS1_3).len() + of(ProtocolVersion::TLS1_2).len();
        assert_eq!(count, registry::REGISTERED.len());
        let old = of(ProtocolVersion::TLS1_0);
        assert!(old.contains(&CipherSuite(0x000a)) && !old.contains(&CipherSuite(0xc02f)));
    }

    #[test]
    fn the_reason_for_no_version_is_the_most_informative_one() {
        let alert = || Reply::Alert(AlertDescription::PROTOCOL_VERSION);
        let (new, old) = (ProtocolVersion::TLS1_3, ProtocolVersion::TLS1_2);
        let invalid = Reply::Invalid("answers in prose".to_owned());
        let closed = || Reply::Closed("closed the connection");
        let text = no_version(&[(new, closed()), (old, invalid)]);
        assert_eq!(text, "no TLS: the server answers in prose");
        let text = no_version(&[(new, closed()), (old, alert())]);
        assert!(text.contains("TLS 1.3: closed") && text.contains("TLS 1.2: alert protocol_v"));
        let unknown = Reply::Alert(AlertDescription::UNRECOGNIZED_NAME);
        assert!(no_version(&[(new, unknown)]).contains("--name"));
        let text = no_version(&[(new, closed()), (old, closed())]);
        assert_eq!(text, "the server closed the connection, without an answer");
    }
}
