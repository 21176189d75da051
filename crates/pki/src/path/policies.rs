//! Certificate policies: whether a path has a valid one, if one of its authorities requires that.
//! RFC 5280 6.1, with the policy graph of RFC 9618
//!
//! The caller's set of policies is any-policy, and only the question whether a valid policy exists
//! is asked (RFC 5280 6.1.5 (g)). So of the graph its last row is enough: a node there always has
//! ancestors up to the first row, and nodes without children in the last row change nothing. The
//! row is a set, which has at most one element for each policy or mapping of a certificate.

use std::collections::BTreeSet;

use crate::budget::Budget;
use crate::certificate::{PathCertificate, unsigned};
use crate::der::{self, Malformed, Reader};
use crate::reason::RefusalReason;

/// Whether the certificates of a path, of the leaf and of its issuers, need this check: they
/// contain rules, or critical policies, which must not be malformed.
pub(super) fn apply_to(certificate: &PathCertificate<'_>) -> bool {
    let extensions = &certificate.extensions;
    extensions.has_critical_policies
        || extensions.policy_mappings.is_some()
        || extensions.policy_constraints.is_some()
        || extensions.inhibit_any_policy.is_some()
}

/// Checks the policies of a path of this length, the certificate below the anchor first.
pub(super) fn check<'p, 'a: 'p>(
    length: usize,
    path: impl Iterator<Item = &'p PathCertificate<'a>>,
    budget: &mut Budget,
) -> Result<(), RefusalReason> {
    let mut state = State::new(length);
    for (index, certificate) in path.enumerate() {
        let is_leaf = index.saturating_add(1) == length;
        budget.pay(size_of_extensions(certificate) / 16)?;
        let rules = Rules::read(certificate).map_err(|Malformed| RefusalReason::BadEncoding)?;
        // Each is looked up in sets, or inserted into one.
        let row = state.row.as_ref().map_or(0, BTreeSet::len);
        budget.pay(row.saturating_add(rules.size().saturating_mul(4)))?;
        state.process(&rules, certificate.is_self_issued(), is_leaf)?;
    }
    Ok(())
}

/// The bytes that [`Rules::read`] reads.
fn size_of_extensions(certificate: &PathCertificate<'_>) -> usize {
    let extensions = &certificate.extensions;
    let values = [extensions.policies, extensions.policy_mappings];
    values.into_iter().flatten().fold(0, |size, value| value.len().saturating_add(size))
}

/// The policy extensions of one certificate.
#[derive(Default)]
struct Rules<'a> {
    policies: Option<Vec<&'a [u8]>>,
    /// Pairs of issuerDomainPolicy and subjectDomainPolicy.
    mappings: Vec<(&'a [u8], &'a [u8])>,
    require_explicit_policy: Option<usize>,
    inhibit_policy_mapping: Option<usize>,
    inhibit_any_policy: Option<usize>,
}

impl<'a> Rules<'a> {
    fn read(certificate: &PathCertificate<'a>) -> Result<Self, Malformed> {
        let extensions = &certificate.extensions;
        let mut rules = Self::default();
        if let Some(value) = extensions.policies {
            rules.policies = Some(read_policies(value)?);
        }
        if let Some(value) = extensions.policy_mappings {
            let mut pairs = Reader::new(der::single(value, der::SEQUENCE)?);
            // RFC 5280 4.2.1.5
            if pairs.is_empty() {
                return Err(Malformed);
            }
            while !pairs.is_empty() {
                let mut pair = Reader::new(pairs.expect(der::SEQUENCE)?);
                let issuer = pair.expect(der::OBJECT_IDENTIFIER)?;
                let subject = pair.expect(der::OBJECT_IDENTIFIER)?;
                pair.finish()?;
                rules.mappings.push((issuer, subject));
            }
        }
        if let Some(value) = extensions.policy_constraints {
            let mut fields = Reader::new(der::single(value, der::SEQUENCE)?);
            // RFC 5280 4.2.1.11
            if fields.is_empty() {
                return Err(Malformed);
            }
            let number = |content: Option<&[u8]>| content.map(unsigned).transpose();
            rules.require_explicit_policy = number(fields.optional(der::context(0))?)?;
            rules.inhibit_policy_mapping = number(fields.optional(der::context(1))?)?;
            fields.finish()?;
        }
        if let Some(value) = extensions.inhibit_any_policy {
            // RFC 5280 4.2.1.14
            rules.inhibit_any_policy = Some(unsigned(der::single(value, der::INTEGER)?)?);
        }
        Ok(rules)
    }

    fn size(&self) -> usize {
        self.policies.as_ref().map_or(0, Vec::len).saturating_add(self.mappings.len())
    }
}

/// The identifiers in a certificatePolicies extension, each once. Qualifiers have no effect.
/// RFC 5280 4.2.1.4
fn read_policies(value: &[u8]) -> Result<Vec<&[u8]>, Malformed> {
    let mut policies = Vec::new();
    let mut list = Reader::new(der::single(value, der::SEQUENCE)?);
    while !list.is_empty() {
        let mut policy = Reader::new(list.expect(der::SEQUENCE)?);
        policies.push(policy.expect(der::OBJECT_IDENTIFIER)?);
        policy.optional(der::SEQUENCE)?; // policyQualifiers
        policy.finish()?;
    }
    let count = policies.len();
    policies.sort_unstable();
    policies.dedup();
    if policies.is_empty() || policies.len() < count { Err(Malformed) } else { Ok(policies) }
}

/// The state of RFC 5280 6.1.2 that is about policies.
struct State<'a> {
    /// The expected policies of the graph's last row; `None` if the graph is NULL.
    row: Option<BTreeSet<&'a [u8]>>,
    explicit_policy: usize,
    inhibit_any_policy: usize,
    policy_mapping: usize,
}

impl<'a> State<'a> {
    /// The state before a path of this length. RFC 5280 6.1.2 (a), (d) to (f)
    fn new(length: usize) -> Self {
        let never = length.saturating_add(1);
        Self {
            row: Some(BTreeSet::from([ANY_POLICY])),
            explicit_policy: never,
            inhibit_any_policy: never,
            policy_mapping: never,
        }
    }

    fn process(
        &mut self,
        rules: &Rules<'a>,
        is_self_issued: bool,
        is_leaf: bool,
    ) -> Result<(), RefusalReason> {
        let may_be_any = self.inhibit_any_policy > 0 || (!is_leaf && is_self_issued);
        self.row = match (self.row.take(), &rules.policies) {
            (Some(row), Some(policies)) => next_row(row, policies, may_be_any),
            // RFC 5280 6.1.3 (e)
            _ => None,
        };
        // RFC 5280 6.1.3 (f)
        self.check()?;
        if is_leaf {
            // RFC 5280 6.1.5 (a), (b)
            self.explicit_policy = self.explicit_policy.saturating_sub(1);
            if rules.require_explicit_policy == Some(0) {
                self.explicit_policy = 0;
            }
            // RFC 5280 6.1.5 (g)
            return self.check();
        }
        // RFC 5280 6.1.4 (a)
        if rules.mappings.iter().any(|(from, to)| *from == ANY_POLICY || *to == ANY_POLICY) {
            return Err(RefusalReason::PolicyNotSatisfied);
        }
        if !rules.mappings.is_empty() {
            let may_map = self.policy_mapping > 0;
            self.row = self.row.take().and_then(|row| mapped(row, &rules.mappings, may_map));
        }
        // RFC 5280 6.1.4 (h) to (j)
        let counters = [
            (&mut self.explicit_policy, rules.require_explicit_policy),
            (&mut self.policy_mapping, rules.inhibit_policy_mapping),
            (&mut self.inhibit_any_policy, rules.inhibit_any_policy),
        ];
        for (counter, limit) in counters {
            *counter = counter.saturating_sub(usize::from(!is_self_issued));
            *counter = limit.map_or(*counter, |limit| limit.min(*counter));
        }
        Ok(())
    }

    /// A valid policy is required if the counter is at its end. RFC 5280 6.1.3 (f), 6.1.5
    fn check(&self) -> Result<(), RefusalReason> {
        match self.explicit_policy == 0 && self.row.is_none() {
            true => Err(RefusalReason::PolicyNotSatisfied),
            false => Ok(()),
        }
    }
}

/// The policies of a certificate that the row above expects. RFC 9618 5.2 (RFC 5280 6.1.3 (d))
fn next_row<'a>(
    above: BTreeSet<&'a [u8]>,
    policies: &[&'a [u8]],
    may_be_any: bool,
) -> Option<BTreeSet<&'a [u8]>> {
    let all = above.contains(ANY_POLICY);
    let is_expected = |policy: &&'a [u8]| *policy != ANY_POLICY && (all || above.contains(policy));
    let mut row: BTreeSet<_> = policies.iter().copied().filter(is_expected).collect();
    if may_be_any && policies.contains(&ANY_POLICY) {
        row.extend(above);
    }
    (!row.is_empty()).then_some(row)
}

/// The row after policies were mapped, or removed if mappings are inhibited. RFC 9618 5.3
/// (RFC 5280 6.1.4 (b))
fn mapped<'a>(
    mut row: BTreeSet<&'a [u8]>,
    mappings: &[(&'a [u8], &'a [u8])],
    may_map: bool,
) -> Option<BTreeSet<&'a [u8]>> {
    let all = row.contains(ANY_POLICY);
    let valid = mappings.iter().filter(|(from, _)| may_map && (all || row.contains(from)));
    let to: Vec<_> = valid.map(|(_, to)| *to).collect();
    for (from, _) in mappings {
        row.remove(from);
    }
    row.extend(to);
    (!row.is_empty()).then_some(row)
}

/// 2.5.29.32.0
const ANY_POLICY: &[u8] = &[0x55, 0x1d, 0x20, 0x00];

#[cfg(test)]
mod tests {
    use super::*;

    const A: &[u8] = &[1];
    const B: &[u8] = &[2];
    const C: &[u8] = &[3];

    fn policies<'a>(list: &[&'a [u8]]) -> Rules<'a> {
        Rules { policies: Some(list.to_vec()), ..Rules::default() }
    }

    /// Requires a policy from the first certificate on.
    fn required<'a>(list: &[&'a [u8]]) -> Rules<'a> {
        Rules { require_explicit_policy: Some(0), ..policies(list) }
    }

    fn is_valid(path: &[Rules<'_>]) -> bool {
        let mut state = State::new(path.len());
        path.iter()
            .enumerate()
            .all(|(index, rules)| state.process(rules, false, index + 1 == path.len()).is_ok())
    }

    /// RFC 5280 6.1.3 (d) to (f), 6.1.5, RFC 9618 5.2
    #[test]
    fn a_required_policy_is_in_each_certificate() {
        assert!(is_valid(&[policies(&[A]), policies(&[B])]));
        assert!(is_valid(&[Rules::default(), Rules::default()]));
        assert!(is_valid(&[required(&[A, B]), policies(&[B, C]), policies(&[B])]));
        assert!(!is_valid(&[required(&[A]), policies(&[B])]));
        assert!(!is_valid(&[required(&[A]), Rules::default()]));
        assert!(!is_valid(&[policies(&[A]), policies(&[B]), required(&[B])]));
        assert!(is_valid(&[policies(&[A]), required(&[A])]));
    }

    /// RFC 5280 4.2.1.11, 6.1.2, RFC 5280 6.1.4 (h), (i)
    #[test]
    fn a_policy_is_required_after_some_certificates() {
        let after = |skipped| Rules { require_explicit_policy: Some(skipped), ..policies(&[A]) };
        let path = |skipped| [after(skipped), policies(&[A]), Rules::default()];
        assert!(!is_valid(&path(0)));
        assert!(!is_valid(&path(1)));
        // The last certificate counts as well. RFC 5280 6.1.5 (a)
        assert!(!is_valid(&path(2)));
        assert!(is_valid(&path(3)));
        let mut state = State::new(3);
        state.process(&after(1), false, false).unwrap();
        // A self-issued certificate does not count.
        state.process(&policies(&[B]), true, false).unwrap();
        assert_eq!(state.explicit_policy, 1);
    }

    /// RFC 5280 4.2.1.14, 6.1.3 (d) (2)
    #[test]
    fn any_policy_continues_every_policy_unless_inhibited() {
        assert!(is_valid(&[required(&[A]), policies(&[ANY_POLICY]), policies(&[A])]));
        assert!(!is_valid(&[required(&[A]), policies(&[ANY_POLICY]), policies(&[B])]));
        assert!(is_valid(&[required(&[ANY_POLICY]), policies(&[B])]));
        let inhibited = |list| Rules { inhibit_any_policy: Some(0), ..required(list) };
        assert!(!is_valid(&[inhibited(&[A]), policies(&[ANY_POLICY])]));
        assert!(is_valid(&[inhibited(&[ANY_POLICY]), policies(&[A])]));
        // An authority's new certificate for itself is excepted, a leaf's is not.
        let mut state = State::new(3);
        state.process(&inhibited(&[A]), false, false).unwrap();
        state.process(&policies(&[ANY_POLICY]), true, false).unwrap();
        assert!(state.process(&policies(&[ANY_POLICY]), true, true).is_err());
    }

    /// RFC 5280 4.2.1.5, 6.1.4 (a), (b), RFC 9618 5.3
    #[test]
    fn policies_are_mapped() {
        let mapping = |list: &[&'static [u8]], mappings: &[(&'static [u8], &'static [u8])]| {
            let mappings = mappings.to_vec();
            Rules { mappings, ..required(list) }
        };
        assert!(is_valid(&[mapping(&[A], &[(A, B)]), policies(&[B])]));
        assert!(!is_valid(&[mapping(&[A], &[(A, B)]), policies(&[A])]));
        assert!(is_valid(&[mapping(&[A], &[(A, B), (A, C)]), policies(&[C])]));
        assert!(!is_valid(&[mapping(&[A], &[(C, B)]), policies(&[B])]));
        assert!(is_valid(&[mapping(&[A, B], &[(A, B), (B, A)]), policies(&[A])]));
        // any-policy stands for the mapped policy, and remains.
        assert!(is_valid(&[mapping(&[ANY_POLICY], &[(A, B)]), policies(&[B])]));
        assert!(is_valid(&[mapping(&[ANY_POLICY], &[(A, B)]), policies(&[A])]));
        for bad in [(ANY_POLICY, A), (A, ANY_POLICY)] {
            assert!(!is_valid(&[mapping(&[A], &[bad]), policies(&[A])]));
        }
        // Inhibited mappings remove the policy.
        let inhibiting = || Rules { inhibit_policy_mapping: Some(0), ..required(&[A, C]) };
        assert!(!is_valid(&[inhibiting(), mapping(&[A], &[(A, B)]), policies(&[B])]));
        assert!(!is_valid(&[inhibiting(), mapping(&[A], &[(A, B)]), policies(&[A])]));
        assert!(is_valid(&[inhibiting(), mapping(&[A, C], &[(A, B)]), policies(&[C])]));
    }

    /// RFC 5280 4.2.1.4
    #[test]
    fn malformed_lists_are_refused() {
        let one = [0x30, 3, 6, 1, 1];
        let list = |parts: &[&[u8]]| {
            let content = parts.concat();
            [&[0x30, u8::try_from(content.len()).unwrap()], content.as_slice()].concat()
        };
        assert_eq!(read_policies(&list(&[&one])), Ok(vec![A]));
        assert_eq!(read_policies(&list(&[])), Err(Malformed));
        assert_eq!(read_policies(&list(&[&one, &one])), Err(Malformed));
        assert_eq!(read_policies(&list(&[&[0x30, 5, 6, 1, 1, 0x30, 0]])), Ok(vec![A]));
        assert_eq!(read_policies(&list(&[&[0x30, 5, 6, 1, 1, 5, 0]])), Err(Malformed));
    }

    /// Every certificate has many policies, all of which are mapped to all: the row stays small.
    /// RFC 9618 3
    #[test]
    fn the_work_is_not_exponential() {
        let names: Vec<[u8; 1]> = (1..=30).map(|number| [number]).collect();
        let all: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
        let mappings: Vec<_> =
            all.iter().flat_map(|from| all.iter().map(|to| (*from, *to))).collect();
        let path: Vec<_> =
            (0..32).map(|_| Rules { mappings: mappings.clone(), ..required(&all) }).collect();
        assert!(is_valid(&path));
        let mut state = State::new(path.len());
        for rules in &path {
            state.process(rules, false, false).unwrap();
            assert_eq!(state.row.as_ref().unwrap().len(), 30);
        }
    }
}
