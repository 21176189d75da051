//! Certificate chains and their problems: all of them, not only the first.

use std::sync::Arc;
use std::time::Duration;

use tercel::ServerName;
use tercel::pki::{
    CertificateSummary, ChainVerifier, ReadableTime, RefusalReason, Roots, Staple, Usage,
    is_authority,
};
use tercel::pki_types::{CertificateDer, UnixTime};

use super::proof::Proof;
use super::reply::ServerFlight;
use super::report::{Chain, Finding};
use super::weakness::Severity;
use crate::certificates::describe_chain;

/// The standard by which chains are judged.
#[derive(Debug)]
pub(crate) struct Standard {
    /// The trusted authorities; `None` if trust is not judged.
    pub(crate) roots: Option<Arc<Roots>>,
    pub(crate) name: ServerName<'static>,
    pub(crate) now: UnixTime,
}

impl Standard {
    /// Describes the chain of a flight, and finds its problems.
    pub(crate) fn judge(&self, flight: &ServerFlight, proof: &Proof) -> Chain {
        let mut chain = self.judge_chain(&flight.chain, flight.ocsp_response.as_deref());
        chain.key_proven = match proof {
            Proof::Proven => Some(true),
            Proof::Unknown(_) => None,
            Proof::Refuted(why) => {
                let text = format!("no proof that the server has the certificate's key: {why}");
                chain.problems.insert(0, Finding::new(Severity::Problem, text));
                chain.trusted = chain.trusted.map(|_| false);
                Some(false)
            }
        };
        chain
    }

    fn judge_chain(&self, chain: &[CertificateDer<'static>], staple: Option<&[u8]>) -> Chain {
        let mut problems = Vec::new();
        let mut summaries = Vec::new();
        for (index, der) in chain.iter().enumerate() {
            let place = place(index, chain.len());
            let Ok(summary) = CertificateSummary::new(der) else {
                problems.push(Finding::new(Severity::Problem, format!("{place} is malformed")));
                continue;
            };
            self.judge_one(index, &place, &summary, &mut problems);
            summaries.push(summary);
        }
        if chain.first().is_some_and(|leaf| is_authority(leaf).unwrap_or(false)) {
            let text = "the certificate is an authority's (CA:TRUE), which some clients refuse";
            problems.push(Finding::new(Severity::Note, text.to_owned()));
        }
        self.judge_name(chain, &summaries, &mut problems);
        judge_order(&summaries, &mut problems);
        let trusted = self.judge_path(chain, staple, &summaries, &mut problems);
        problems.sort_by_key(|problem| problem.severity);
        Chain {
            certificates: describe_chain(chain),
            trusted,
            key_proven: None,
            ocsp_staple: staple.is_some(),
            problems,
        }
    }

    fn judge_one(
        &self,
        index: usize,
        place: &str,
        summary: &CertificateSummary,
        problems: &mut Vec<Finding>,
    ) {
        let mut add = |severity, text: String| {
            problems.push(Finding::new(severity, format!("{place} {text}")));
        };
        // The validity and the signature of a root have no effect. RFC 5280 6.1.1
        let is_root = index > 0 && summary.subject == summary.issuer;
        let (from, until) = (ReadableTime(summary.not_before), ReadableTime(summary.not_after));
        let soon = self.now.as_secs().saturating_add(SOON.as_secs());
        if self.now > summary.not_after && !is_root {
            add(Severity::Problem, format!("expired at {until}"));
        } else if soon > summary.not_after.as_secs() && !is_root {
            add(Severity::Weakness, format!("expires within 30 days, at {until}"));
        }
        if self.now < summary.not_before && !is_root {
            add(Severity::Problem, format!("is not valid before {from}"));
        }
        let algorithm = &summary.signature_algorithm;
        if ["SHA-1", "MD5"].iter().any(|hash| algorithm.ends_with(hash)) && !is_root {
            add(Severity::Problem, format!("has a weak signature: {algorithm}"));
        }
        let bits = summary.key.strip_prefix("RSA ").and_then(|bits| bits.parse::<u32>().ok());
        if bits.is_some_and(|bits| bits < 2048) {
            add(Severity::Problem, format!("has a weak key: {}", summary.key));
        }
        if index == 0 && summary.dns_names.is_empty() && summary.ip_addresses.is_empty() {
            add(Severity::Problem, "has no names in subjectAltName".to_owned());
        }
    }

    /// Checks the name separately from everything else, with the end-entity certificate pinned and
    /// at a time when it is valid.
    fn judge_name(
        &self,
        chain: &[CertificateDer<'static>],
        summaries: &[CertificateSummary],
        problems: &mut Vec<Finding>,
    ) {
        let (Some(leaf), Some(summary)) = (chain.first(), summaries.first()) else { return };
        let verifier = ChainVerifier::builder(Arc::new(Roots::new())).pin(leaf.clone()).build();
        let Ok(verifier) = verifier else { return };
        let now = clamp(self.now, summary.not_before, summary.not_after);
        let refused = verifier.verify(Usage::Server, chain, Some(&self.name), None, now).err();
        if refused.is_some_and(|refusal| refusal.reason == RefusalReason::NameMismatch) {
            let names = summary.names().join(", ");
            let name = self.name.to_str();
            let text = format!("the certificate is not valid for {name}, only for: {names}");
            problems.push(Finding::new(Severity::Problem, text));
        }
    }

    /// Checks the path to a trusted root separately from names and dates. Returns whether a client
    /// would accept the chain.
    fn judge_path(
        &self,
        chain: &[CertificateDer<'static>],
        staple: Option<&[u8]>,
        summaries: &[CertificateSummary],
        problems: &mut Vec<Finding>,
    ) -> Option<bool> {
        let roots = self.roots.as_ref()?;
        let Ok(verifier) = ChainVerifier::builder(Arc::clone(roots)).build() else {
            return Some(false);
        };
        let staple = staple.map_or(Staple::Missing, Staple::Response);
        let verify = |name, now| verifier.verify(Usage::Server, chain, name, Some(staple), now);
        let trusted = verify(Some(&self.name), self.now).is_ok();
        let starts = summaries.iter().map(|summary| summary.not_before).max();
        let ends = summaries.iter().map(|summary| summary.not_after).min();
        let now = match (starts, ends) {
            (Some(start), Some(end)) if start <= end => clamp(self.now, start, end),
            _ => self.now,
        };
        if let Err(refusal) = verify(None, now) {
            let text = match refusal.reason {
                // `judge_one` finds these for each certificate.
                RefusalReason::Expired { .. }
                | RefusalReason::NotYetValid { .. }
                | RefusalReason::WeakSignatureAlgorithm
                | RefusalReason::BadEncoding => return Some(trusted),
                RefusalReason::UnknownIssuer | RefusalReason::SelfSigned
                    if is_self_signed(summaries) =>
                {
                    "the certificate is self-signed, and not trusted".to_owned()
                }
                RefusalReason::UnknownIssuer => unknown_issuer(summaries),
                _ => refusal.to_string(),
            };
            problems.push(Finding::new(Severity::Problem, text));
        }
        Some(trusted)
    }
}

fn is_self_signed(summaries: &[CertificateSummary]) -> bool {
    summaries.first().is_some_and(|leaf| leaf.subject == leaf.issuer)
}

/// Why no path leads to a trusted root: follows the issuers among the sent certificates.
fn unknown_issuer(summaries: &[CertificateSummary]) -> String {
    let Some(mut last) = summaries.first() else { return "the chain is empty".to_owned() };
    for _ in 0..summaries.len() {
        let issuer = |next: &&CertificateSummary| next.subject == last.issuer;
        match summaries.iter().skip(1).find(issuer) {
            Some(next) if last.issuer != last.subject => last = next,
            _ => break,
        }
    }
    let CertificateSummary { subject, issuer, .. } = last;
    if subject == issuer {
        return format!("the chain ends in the root `{subject}`, which is not trusted");
    }
    format!(
        "the issuer `{issuer}` is neither sent nor trusted: an intermediate certificate is \
         missing, or the authority is unknown"
    )
}

/// Each certificate should certify the one before it. RFC 9846 4.5.1, RFC 5246 7.4.2
fn judge_order(summaries: &[CertificateSummary], problems: &mut Vec<Finding>) {
    let mut note = |text: String| problems.push(Finding::new(Severity::Note, text));
    for (index, pair) in summaries.windows(2).enumerate() {
        let [below, above] = pair else { continue };
        if below.issuer != above.subject {
            let place = place(index + 1, summaries.len());
            note(format!("{place} is not the issuer of the one before it"));
        }
    }
    if let [_, .., last] = summaries {
        if last.subject == last.issuer {
            note(format!("the root `{}` is sent, which clients do not need", last.subject));
        }
    }
}

fn place(index: usize, length: usize) -> String {
    match index {
        0 => "the certificate".to_owned(),
        _ => format!("certificate {} of {length}", index + 1),
    }
}

fn clamp(now: UnixTime, start: UnixTime, end: UnixTime) -> UnixTime {
    now.min(end).max(start)
}

/// The time before the end of a certificate's validity in which it should be renewed.
const SOON: Duration = Duration::from_secs(30 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    /// An authority with this name, signed by another one or by itself.
    struct Authority {
        params: CertificateParams,
        key: KeyPair,
        der: CertificateDer<'static>,
    }

    impl Authority {
        fn new(name: &str, by: Option<&Self>) -> Self {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let der = match by {
                Some(by) => params.signed_by(&key, &Issuer::from_params(&by.params, &by.key)),
                None => params.self_signed(&key),
            };
            Self { der: der.unwrap().der().clone(), params, key }
        }

        /// A certificate for `a.example` that is valid until the end of `last_year`.
        fn leaf(&self, last_year: i32) -> CertificateDer<'static> {
            let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
            params.distinguished_name.push(DnType::CommonName, "leaf");
            params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
            let key = KeyPair::generate().unwrap();
            let issuer = Issuer::from_params(&self.params, &self.key);
            params.signed_by(&key, &issuer).unwrap().der().clone()
        }
    }

    /// The problems of a chain for `a.example` in 2030, with one trusted root, and whether the
    /// chain is trusted.
    fn judge(chain: &[&CertificateDer<'static>], root: &Authority) -> (Vec<Finding>, bool) {
        let mut roots = Roots::new();
        roots.add_der(&root.der).unwrap();
        let standard = Standard {
            roots: Some(Arc::new(roots)),
            name: "a.example".try_into().unwrap(),
            now: UnixTime::since_unix_epoch(Duration::from_secs(1_900_000_000)),
        };
        let chain: Vec<CertificateDer<'static>> = chain.iter().map(|der| (*der).clone()).collect();
        let judged = standard.judge_chain(&chain, None);
        (judged.problems, judged.trusted.unwrap())
    }

    fn texts(problems: &[Finding]) -> String {
        problems.iter().map(|problem| format!("{}\n", problem.text)).collect()
    }

    #[test]
    fn a_complete_chain_has_no_problems() {
        let root = Authority::new("root", None);
        let middle = Authority::new("middle", Some(&root));
        assert_eq!(judge(&[&middle.leaf(2099), &middle.der], &root), (vec![], true));
        // A root in the chain is superfluous, but no fault.
        let (problems, trusted) = judge(&[&middle.leaf(2099), &middle.der, &root.der], &root);
        assert!(trusted && problems.iter().all(|problem| problem.severity == Severity::Note));
        assert!(texts(&problems).contains("the root `CN=root` is sent"), "{problems:?}");
    }

    #[test]
    fn the_missing_or_untrusted_part_is_named() {
        let (root, other) = (Authority::new("root", None), Authority::new("other", None));
        let middle = Authority::new("middle", Some(&root));
        let leaf = middle.leaf(2099);
        let (problems, trusted) = judge(&[&leaf], &root);
        assert!(!trusted && texts(&problems).contains("the issuer `CN=middle` is neither sent"));
        let (problems, _) = judge(&[&leaf, &middle.der], &other);
        assert!(texts(&problems).contains("the issuer `CN=root` is neither sent"), "{problems:?}");
        let (problems, _) = judge(&[&leaf, &middle.der, &root.der], &other);
        let text = texts(&problems);
        assert!(text.contains("ends in the root `CN=root`, which is not trusted"), "{text}");
        let (problems, _) = judge(&[&other.der], &root);
        let text = texts(&problems);
        assert!(text.contains("the certificate is self-signed"), "{text}");
        assert!(text.contains("the certificate is an authority's (CA:TRUE)"), "{text}");
    }

    /// RFC 9846 4.5.1
    #[test]
    fn disorder_is_noted_although_it_is_accepted() {
        let root = Authority::new("root", None);
        let middle = Authority::new("middle", Some(&root));
        let unrelated = Authority::new("unrelated", Some(&root));
        let chain = [&middle.leaf(2099), &unrelated.der, &middle.der];
        let (problems, trusted) = judge(&chain, &root);
        assert!(trusted);
        let text = texts(&problems);
        assert!(text.contains("certificate 2 of 3 is not the issuer of the one before"), "{text}");
    }

    #[test]
    fn dates_do_not_hide_other_problems() {
        let (root, other) = (Authority::new("root", None), Authority::new("other", None));
        let (problems, trusted) = judge(&[&root.leaf(2029)], &other);
        let text = texts(&problems);
        assert!(!trusted && problems.len() == 2, "{text}");
        assert!(text.contains("expired at 2029-12-31") && text.contains("`CN=root` is neither"));
        // 1,900,000,000 is in March 2030.
        let mut standard = Standard {
            roots: None,
            name: "other.example".try_into().unwrap(),
            now: UnixTime::since_unix_epoch(Duration::from_secs(1_900_000_000)),
        };
        let chain = [root.leaf(2030)];
        let text = texts(&standard.judge_chain(&chain, None).problems);
        assert_eq!(text, "the certificate is not valid for other.example, only for: a.example\n");
        standard.now = UnixTime::since_unix_epoch(Duration::from_secs(1_924_000_000));
        let text = texts(&standard.judge_chain(&chain, None).problems);
        assert!(text.contains("expires within 30 days, at 2030-12-31"), "{text}");
    }

    #[test]
    fn malformed_certificates_are_problems() {
        let root = Authority::new("root", None);
        let garbage = CertificateDer::from(vec![0x30, 3, 1, 2, 3]);
        let (problems, trusted) = judge(&[&garbage], &root);
        assert!(!trusted && texts(&problems).contains("the certificate is malformed"));
        let (problems, _) = judge(&[&root.leaf(2099), &garbage], &root);
        assert!(texts(&problems).contains("certificate 2 of 2 is malformed"), "{problems:?}");
    }
}
