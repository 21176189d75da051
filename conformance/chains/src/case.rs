//! A chain with its trust anchors, name and time, and its verification.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use tercel_pki::{ChainVerifier, RefusalReason, RevocationPolicy, Roots, ServerName, Usage};

use crate::differences::Differences;

/// A chain to verify.
pub(crate) struct Case {
    pub(crate) id: String,
    /// The part of the suite, for the table.
    pub(crate) section: String,
    pub(crate) roots: Vec<CertificateDer<'static>>,
    /// Leaf first.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) crls: Vec<CertificateRevocationListDer<'static>>,
    /// Whether only the leaf is looked up in the lists.
    pub(crate) leaf_lists_only: bool,
    pub(crate) name: Option<String>,
    pub(crate) usage: Usage,
    /// Seconds since 1970.
    pub(crate) time: u64,
    pub(crate) accept: bool,
}

/// The result: `None` if the chain is accepted, otherwise the reason in words.
pub(crate) type Verdict = Option<String>;

/// The name of a reason without its values.
pub(crate) fn reason_name(reason: RefusalReason) -> String {
    let text = format!("{reason:?}");
    text.split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// Verifies as a client or server with these trust anchors would.
pub(crate) fn verify(case: &Case) -> Verdict {
    let mut roots = Roots::new();
    let mut unusable = None;
    for root in &case.roots {
        if let Err(error) = roots.add_der(root) {
            unusable = Some(format!("anchor: {error}"));
        }
    }
    let policy =
        RevocationPolicy { end_entity_only: case.leaf_lists_only, ..RevocationPolicy::default() };
    let mut builder = ChainVerifier::builder(Arc::new(roots)).revocation_policy(policy);
    for crl in &case.crls {
        match builder.crl(crl) {
            Ok(with) => builder = with,
            Err(error) => return Some(format!("CRL: {error}")),
        }
    }
    let Ok(verifier) = builder.build() else {
        return Some(unusable.unwrap_or_else(|| "no anchor".to_owned()));
    };
    let name = match case.name.as_deref().map(|name| ServerName::try_from(name.to_owned())) {
        Some(Err(_)) => return Some("the name is no host name".to_owned()),
        Some(Ok(name)) => Some(name),
        None => None,
    };
    let now = UnixTime::since_unix_epoch(Duration::from_secs(case.time));
    let result = verifier.verify(case.usage, &case.chain, name.as_ref(), None, now);
    let refusal = match result.map_err(|refusal| refusal.reason) {
        // A handshake also needs the leaf's key.
        Ok(_) => tercel_pki::end_entity_public_key(&case.chain).err(),
        Err(reason) => Some(reason),
    };
    refusal.map(reason_name)
}

/// Verifies all cases and prints the table and each difference. Returns whether each difference is
/// explained.
pub(crate) fn judge(cases: &[Case], mut differences: Differences) -> bool {
    let mut sections: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut unexplained = 0;
    for case in cases {
        let verdict = verify(case);
        let row = sections.entry(&case.section).or_default();
        row[0] += 1;
        if verdict.is_none() == case.accept {
            row[1] += 1;
            continue;
        }
        let result = verdict.as_deref().unwrap_or("accepted");
        if differences.explains(&case.id, result) {
            row[2] += 1;
        } else {
            unexplained += 1;
            println!("{}: {result}, which no line explains", case.id);
        }
    }
    println!("{:<40} {:>8} {:>8} {:>10}", "section", "cases", "expected", "explained");
    let mut total = [0; 3];
    for (section, row) in &sections {
        println!("{section:<40} {:>8} {:>8} {:>10}", row[0], row[1], row[2]);
        total.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
    }
    println!("{:<40} {:>8} {:>8} {:>10}", "total", total[0], total[1], total[2]);
    println!("{unexplained} unexplained");
    let unused = differences.unused();
    for line in &unused {
        println!("a line explains no difference: {line}");
    }
    unexplained == 0 && unused.is_empty()
}
