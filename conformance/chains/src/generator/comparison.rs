//! The comparison of a judge with the oracle, and the explanation of a difference.
//!
//! A difference is explained if each of its causes, or one where one is enough, has a line in
//! `differences/generated.txt`:
//!
//! - The judge accepts a path that violates rules: a line `JUDGE: RULE; LABELS | accepted` for each
//!   rule that the path violates, with the labels of the faults in its certificates. No line can
//!   excuse Tercel.
//! - Tercel is given each path alone, too. A refusal of all paths together is explained if the
//!   refusal of each valid path alone is.
//! - The judge refuses although there are valid paths: for each of its errors, and for each valid
//!   path, a line `JUDGE: path: CAUSE | ERROR`. The cause is the label of a fault in a certificate
//!   of this path, or the error of Go's parser for the certificate, or [`OTHER_SPELLING`].
//! - OpenSSL tries one path only. So the path that has the certificate of its error at the depth of
//!   the error is enough: with a line `OpenSSL: at: LABEL | ERROR` for a fault of this certificate,
//!   `OpenSSL: below: LABEL | ERROR` for a fault of its issuer or of the issuer's lists, or
//!   `OpenSSL: path: RULE | ERROR` for a rule that this path violates. The certificate may also be
//!   [`ANCHOR`], or one above it.

use std::fmt::Write as _;

use pki_types::CertificateDer;

use super::oracle::Path;
use super::peers::{Error, Judgement, Taken, printed};
use crate::differences::Differences;

/// A judge, by its name in lines.
pub(crate) const TERCEL: &str = "Tercel";
pub(crate) const OPENSSL: &str = "OpenSSL";
pub(crate) const GO: &str = "Go";

/// A certificate has its issuer's name in other bytes: in capitals, or with another type of string.
const OTHER_SPELLING: &str = "a name in another spelling";

/// The trust anchor of the path, as the certificate of an error.
const ANCHOR: &str = "the anchor";

/// The result of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    Agrees,
    Explained,
    /// A difference that no line explains.
    Unexplained,
    /// Tercel accepts without a valid path.
    WrongAccept,
}

/// The paths of a chain, and the certificates that Go cannot parse.
pub(crate) struct Known<'k, 'w> {
    pub(crate) paths: &'k [Path<'w>],
    pub(crate) unread: &'k [(CertificateDer<'static>, String)],
}

impl Known<'_, '_> {
    /// Compares Tercel, whose agreements for each path alone are known. A refusal is explained if
    /// each valid path is refused alone, for a reason that is explained.
    pub(crate) fn compare_own(&self, own: &Judgement, alone: &[Agreement]) -> Agreement {
        let mut valid = self.paths.iter().zip(alone).filter(|(path, _)| path.is_valid()).peekable();
        match (own.accepts(), valid.peek().is_some()) {
            (true, true) | (false, false) => Agreement::Agrees,
            (true, false) => Agreement::WrongAccept,
            (false, true) => match valid.all(|(_, alone)| *alone == Agreement::Explained) {
                true => Agreement::Explained,
                false => Agreement::Unexplained,
            },
        }
    }

    /// Compares a judge with the oracle.
    pub(crate) fn compare(
        &self,
        judge: &str,
        judgement: &Judgement,
        lines: &mut Differences,
    ) -> Agreement {
        let has_valid = self.paths.iter().any(Path::is_valid);
        let is_explained = match (judgement.accepts(), has_valid) {
            (false, false) => return Agreement::Agrees,
            (true, false) if judge == TERCEL => return Agreement::WrongAccept,
            (true, true) if judge == TERCEL => return Agreement::Agrees,
            (true, _) if self.taken(judgement).any(Path::is_valid) => return Agreement::Agrees,
            (true, _) => self.taken(judgement).any(|path| {
                let labels: Vec<_> = path.all().flat_map(|one| one.labels.clone()).collect();
                let case = |rule: &str| format!("{judge}: {rule}; {}", labels.join(", "));
                path.violations.iter().all(|rule| lines.explains(&case(rule), "accepted"))
            }),
            (false, true) => {
                let mut errors = judgement.errors.iter();
                errors.all(|error| self.explains_refusal(judge, error, lines))
            }
        };
        if is_explained { Agreement::Explained } else { Agreement::Unexplained }
    }

    /// The paths that the judge may have taken.
    fn taken<'s>(&'s self, judgement: &'s Judgement) -> impl Iterator<Item = &'s Path<'s>> {
        self.paths.iter().filter(|path| judgement.taken.iter().any(|taken| taken.is(path)))
    }

    fn explains_refusal(&self, judge: &str, error: &Error, lines: &mut Differences) -> bool {
        let mut is_cause =
            |cause: String| lines.explains(&format!("{judge}: {cause}"), &error.text);
        let Some((depth, subject)) = &error.at else {
            let mut valid = self.paths.iter().filter(|path| path.is_valid());
            return valid.all(|path| self.causes(path).into_iter().any(&mut is_cause));
        };
        self.paths
            .iter()
            .any(|path| causes_at(path, *depth, subject).into_iter().any(&mut is_cause))
    }

    /// The causes for which a judge may refuse a valid path.
    fn causes(&self, path: &Path<'_>) -> Vec<String> {
        let mut causes = Vec::new();
        for one in path.all() {
            causes.extend(one.labels.iter().map(|label| format!("path: {label}")));
            let unread = self.unread.iter().filter(|(der, _)| *der == one.der);
            causes.extend(unread.map(|(_, error)| format!("path: not read: {error}")));
        }
        let issuers = path.all().skip(1).map(|one| &one.content.subject);
        if path.all().zip(issuers).any(|(below, subject)| below.content.issuer != *subject) {
            causes.push(format!("path: {OTHER_SPELLING}"));
        }
        causes
    }

    /// The path that a judge took, as a text.
    pub(crate) fn path_text(&self, judgement: &Judgement) -> String {
        let mut text = String::new();
        for taken in &judgement.taken {
            // Several paths may have the same subjects.
            let known = self.paths.iter().filter(|path| taken.is(path));
            let known = known.min_by_key(|path| path.violations.len());
            match (known, taken) {
                (Some(path), _) => write!(text, " [{}]", described(path)),
                (None, Taken::Subjects(subjects)) => {
                    write!(text, " [unknown: {}]", subjects.join(" < "))
                }
                (None, Taken::Certificates(_)) => write!(text, " [unknown]"),
            }
            .expect("text");
        }
        text
    }
}

/// The causes for which OpenSSL may refuse the certificate at this depth of a path.
fn causes_at(path: &Path<'_>, depth: usize, subject: &str) -> Vec<String> {
    let mut from = path.all().skip(depth);
    let (at, issuer) = (from.next(), from.next());
    let anchor = format!("at: {ANCHOR}");
    let Some(at) = at else {
        // OpenSSL looks for the issuers of an anchor, too.
        return path.anchor.map(|_| anchor).into_iter().collect();
    };
    if printed(at) != subject {
        return Vec::new();
    }
    let mut causes: Vec<_> = at.labels.iter().map(|label| format!("at: {label}")).collect();
    let labels = issuer.into_iter().flat_map(|issuer| &issuer.labels);
    causes.extend(labels.map(|label| format!("below: {label}")));
    causes.extend(path.violations.iter().map(|rule| format!("path: {rule}")));
    if path.anchor.is_some_and(|anchor| anchor.der == at.der) {
        causes.push(anchor);
    }
    causes
}

/// The certificates of a path with the labels of their faults.
pub(crate) fn described(path: &Path<'_>) -> String {
    let one = |one: &super::world::Made| match one.labels.as_slice() {
        [] => one.content.subject.text.clone(),
        labels => format!("{} ({})", one.content.subject.text, labels.join(", ")),
    };
    path.all().map(one).collect::<Vec<_>>().join(" < ")
}

#[cfg(test)]
mod tests {
    use super::super::certificate::{Content, Time};
    use super::super::oracle::Given;
    use super::super::world::{Keys, World};
    use super::*;

    /// Compares a judge of a chain of three, changed according to their names.
    fn compare(
        judge: &str,
        error: Option<&str>,
        change: impl Fn(&str, &mut Content),
        lines: &str,
    ) -> Agreement {
        let world = World::of_three(&Keys::generate(), change);
        let paths = Given::new(&world, 0).paths();
        let subjects = ["CN = Leaf", "CN = Authority", "CN = Root"].map(str::to_owned).to_vec();
        let judgement = Judgement {
            errors: error.map(|text| text.to_owned().into()).into_iter().collect(),
            taken: error.is_none().then_some(Taken::Subjects(subjects)).into_iter().collect(),
        };
        let known = Known { paths: &paths, unread: &[] };
        known.compare(judge, &judgement, &mut Differences::parse(lines))
    }

    fn expire(name: &str, content: &mut Content) {
        if name == "Authority" {
            content.not_after = Time::utc("250101000000Z");
        }
    }

    #[test]
    fn no_line_explains_that_an_invalid_path_is_accepted_here() {
        let lines = "* | * | anything\n* | accepted | anything";
        assert!(compare(TERCEL, None, expire, lines) == Agreement::WrongAccept);
        assert!(compare(TERCEL, Some("Expired"), expire, "") == Agreement::Agrees);
        let world = World::of_three(&Keys::generate(), expire);
        let paths = Given::new(&world, 0).paths();
        let known = Known { paths: &paths, unread: &[] };
        let own = known.compare_own(&Judgement::default(), &[Agreement::Explained]);
        assert!(own == Agreement::WrongAccept);
        assert!(compare(TERCEL, None, |_, _| {}, "") == Agreement::Agrees);
    }

    #[test]
    fn a_line_names_the_judge_its_result_and_the_cause() {
        let refused = |judge: &str, lines: &str| compare(judge, Some("error 1"), |_, _| {}, lines);
        for judge in [TERCEL, OPENSSL, GO] {
            let line = |cause| format!("{judge}: {cause} | error 1 | reason");
            assert!(refused(judge, &line("path: of Authority")) == Agreement::Explained);
            assert!(refused(judge, &line("path: of other")) == Agreement::Unexplained);
            assert!(
                refused(judge, "x: path: of Leaf | error 1 | reason") == Agreement::Unexplained
            );
            let other = line("path: of Leaf").replace("error 1", "error 2");
            assert!(refused(judge, &other) == Agreement::Unexplained);
        }
        let accepted = |lines| compare(GO, None, expire, lines);
        assert!(accepted("Go: expired; * | accepted | reason") == Agreement::Explained);
        assert!(accepted("Go: not yet valid; * | accepted | reason") == Agreement::Unexplained);
        assert!(accepted("OpenSSL: expired; * | accepted | reason") == Agreement::Unexplained);
    }

    /// Tercel has to find a path that it accepts alone.
    #[test]
    fn a_refusal_is_explained_by_those_of_the_paths() {
        let world = World::of_three(&Keys::generate(), |_, _| {});
        let paths = Given::new(&world, 0).paths();
        let known = Known { paths: &paths, unread: &[] };
        let refusal =
            Judgement { errors: vec!["reason".to_owned().into()], ..Judgement::default() };
        for alone in [Agreement::Explained, Agreement::Unexplained] {
            assert!(known.compare_own(&refusal, &[alone]) == alone);
        }
        assert!(known.compare_own(&refusal, &[Agreement::Agrees]) == Agreement::Unexplained);
        let accepted = known.compare_own(&Judgement::default(), &[Agreement::Agrees]);
        assert!(accepted == Agreement::Agrees);
    }
}
