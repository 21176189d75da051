//! Certificate chains that are made to cost time. Path building tries every certificate as the
//! issuer of every other, so the limits of `tercel::pki` have to keep the number of paths small.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tercel::pki::{ChainVerifier, Roots, Usage};
use tercel::pki_types::{CertificateDer, ServerName, UnixTime};

use crate::{Case, Counted};

type Authority = CertifiedIssuer<'static, KeyPair>;
type Chain = Vec<CertificateDer<'static>>;

/// Most instructions of a refusal. Without the limits, thirty certificates with one subject take
/// more than fifty times as many.
const MOST: u64 = 150_000_000;

/// The prefix of these cases' names.
const CHAIN: &str = "chain: ";

pub(crate) fn cases() -> Vec<Case> {
    let root = Authority::self_signed(authority("Root"), key()).unwrap();
    let mut roots = Roots::new();
    roots.add_der(root.der()).unwrap();
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    let verifier = std::sync::Arc::new(verifier);
    let chains = [
        ("a path of a hundred", path(&root, 99)),
        ("a path of thirty", path(&root, 30)),
        ("thirty-one certificates with one subject", {
            [vec![leaf("Crowd")], same_subject("Crowd", "Crowd", 31)].concat()
        }),
        // Each of seven names has three certificates, issued by the next name.
        ("the most paths within the limits", levels(7, "7")),
        // Every path ends in an invalid signature by the root.
        ("paths with invalid signatures by the root", levels(5, "Root")),
    ];
    let case = |(name, chain): (&str, Chain)| {
        let verifier = std::sync::Arc::clone(&verifier);
        Case {
            kind: format!("{CHAIN}{name}"),
            halves: 0,
            scale: 0,
            run: Box::new(move || counted_refusal(&verifier, &chain)),
        }
    };
    chains.into_iter().map(case).collect()
}

/// Callgrind counts all of this.
#[inline(never)]
fn counted_refusal(verifier: &ChainVerifier, chain: &[CertificateDer<'_>]) {
    let name = ServerName::try_from("service.example").unwrap();
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_780_000_000));
    assert!(verifier.verify(Usage::Server, chain, Some(&name), None, now).is_err());
}

/// Returns what is wrong with the counts.
pub(crate) fn check(all: &[Counted]) -> Vec<String> {
    let mut faults = Vec::new();
    for each in all.iter().filter(|each| each.kind.starts_with(CHAIN)) {
        println!("{}: {}", each.kind, each.instructions);
        if !(1000..MOST).contains(&each.instructions) {
            faults.push(format!("{}: {} instructions", each.kind, each.instructions));
        }
    }
    faults
}

/// Prints the work for each chain, as a share of an ordinary handshake.
pub(crate) fn report(all: &[Counted], ordinary: u64) {
    for each in all.iter().filter(|each| each.kind.starts_with(CHAIN)) {
        let percent = each.instructions * 100 / ordinary;
        println!("{:<60}  {:>10} ({percent:>4} %)", each.kind, each.instructions);
    }
}

fn key() -> KeyPair {
    KeyPair::generate().unwrap()
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

/// A leaf that names this issuer, signed by some key.
fn leaf(issuer: &str) -> CertificateDer<'static> {
    let issuer = Authority::self_signed(authority(issuer), key()).unwrap();
    signed_leaf(&issuer)
}

fn signed_leaf(issuer: &Authority) -> CertificateDer<'static> {
    let params = CertificateParams::new(["service.example".to_owned()]).unwrap();
    params.signed_by(&key(), issuer).unwrap().der().clone()
}

/// A leaf and this number of intermediates, each issued by the next one.
fn path(root: &Authority, length: usize) -> Chain {
    let mut issuer = Authority::signed_by(authority("0"), key(), root).unwrap();
    let mut chain = vec![issuer.der().clone()];
    for number in 1..length {
        issuer = Authority::signed_by(authority(&number.to_string()), key(), &issuer).unwrap();
        chain.insert(0, issuer.der().clone());
    }
    chain.insert(0, signed_leaf(&issuer));
    chain
}

/// A leaf and three certificates for each of the names from 0, each issued by the next name.
fn levels(count: usize, last: &str) -> Chain {
    let mut chain = vec![leaf("0")];
    for level in 0..count {
        let above = if level + 1 == count { last.to_owned() } else { (level + 1).to_string() };
        chain.extend(same_subject(&level.to_string(), &above, 3));
    }
    chain
}

/// Certificates with one subject and one issuer, and different keys.
fn same_subject(subject: &str, issuer: &str, count: usize) -> Chain {
    let issuer = Authority::self_signed(authority(issuer), key()).unwrap();
    let certificate = |_| authority(subject).signed_by(&key(), &issuer).unwrap().der().clone();
    (0..count).map(certificate).collect()
}
