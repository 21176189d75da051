//! Certificate chains that are made to cost time. The budget of a search in `tercel::pki` has to
//! keep the work small for every shape of a chain.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, GeneralSubtree, IsCa, KeyPair,
    NameConstraints, PublicKeyData, SignatureAlgorithm, SigningKey,
};
use tercel::ServerName;
use tercel::pki::{ChainVerifier, Roots, Usage};
use tercel::pki_types::{CertificateDer, UnixTime};

use crate::{Case, Counted};

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;
pub(crate) type Chain = Vec<CertificateDer<'static>>;

/// Most instructions of a refusal. Without the limits, thirty certificates with one subject take
/// more than fifty times as many.
const MOST: u64 = 150_000_000;

/// The number of trust anchors in a large store, and the most instructions that they may add to the
/// refusal of a chain of thirty certificates.
const ANCHORS: usize = 500;
const MOST_FOR_ANCHORS: u64 = 20_000_000;

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
        ("a path of forty", path(&root, 40)),
        ("two hundred certificates with one subject", {
            [vec![leaf("Crowd")], same_subject("Crowd", "Crowd", 200)].concat()
        }),
        ("two hundred issuers below the root, by name", {
            [vec![leaf("Crowd")], same_subject("Crowd", "Root", 200)].concat()
        }),
        ("two hundred issuers with P-521 keys", {
            let p521 = &rcgen::PKCS_ECDSA_P521_SHA512;
            let issuer = Authority::self_signed(authority("Crowd"), key_of(p521)).unwrap();
            [vec![signed_leaf(&issuer)], with_keys("Crowd", "Root", 200, p521)].concat()
        }),
        // Each signature hashes the leaf.
        ("a hundred issuers of a large leaf", {
            let issuer = Authority::self_signed(authority("Crowd"), key()).unwrap();
            let names: Vec<_> =
                (0..2400).map(|number| format!("{number}.service.example")).collect();
            let leaf = CertificateParams::new(names).unwrap().signed_by(&key(), &issuer).unwrap();
            [vec![leaf.der().clone()], same_subject("Crowd", "Root", 110)].concat()
        }),
        ("a mesh of eight authorities", mesh(8, &root)),
        ("a mesh of fourteen authorities", mesh(14, &root)),
        ("many constraints and many names", constrained(&root)),
        ("many pairs of certificates and issuers", pairs(140)),
        // Few steps, and many certificates that each step parses.
        ("a hundred and fifty issuers of one leaf", {
            [vec![leaf("Crowd")], same_subject("Crowd", "Nobody", 150)].concat()
        }),
        ("two hundred malformed certificates after a path", {
            let malformed = (0..200).map(|number| CertificateDer::from(vec![0x30, number]));
            [levels(5, 2, "5"), malformed.collect()].concat()
        }),
        // Each of seven names has three certificates, issued by the next name.
        ("seven levels of three certificates", levels(7, 3, "7")),
        // Every path ends in an invalid signature by the root.
        ("paths with invalid signatures by the root", levels(5, 3, "Root")),
    ];
    let mut all = Roots::new();
    all.add_der(root.der()).unwrap();
    for number in 0..ANCHORS {
        let other = Authority::self_signed(authority(&format!("Anchor {number}")), key()).unwrap();
        all.add_der(other.der()).unwrap();
    }
    let large = std::sync::Arc::new(ChainVerifier::builder(all.into()).build().unwrap());
    let rsa = key_of(&rcgen::PKCS_RSA_SHA256);
    let crowd = std::sync::Arc::new(crowd(&rsa));
    let of_crowd =
        |key| vec![signed_leaf(&Authority::self_signed(authority("Crowd"), key).unwrap())];
    let mut bad = vec![leaf("Root")];
    bad.extend((0..30).flat_map(|number| same_subject(&number.to_string(), "Nobody", 1)));
    let cases = chains.into_iter().map(|(name, chain)| (name, chain, &verifier));
    let cases = cases.chain([
        (WITH_ONE_ANCHOR, bad.clone(), &verifier),
        (WITH_ALL_ANCHORS, bad, &large),
        ("two hundred anchors of one name, P-256", of_crowd(key()), &crowd),
        ("two hundred anchors of one name, RSA", of_crowd(rsa), &crowd),
    ]);
    let case = |(name, chain, verifier): (&str, Chain, &std::sync::Arc<ChainVerifier>)| {
        let verifier = std::sync::Arc::clone(verifier);
        Case {
            kind: format!("{CHAIN}{name}"),
            halves: 0,
            scale: 0,
            run: Box::new(move || counted_refusal(&verifier, &chain)),
        }
    };
    let mut cases: Vec<_> = cases.map(case).collect();
    cases.extend(
        crate::lists::cases().into_iter().map(|(name, chain, own)| case((name, chain, &own))),
    );
    cases
}

const WITH_ONE_ANCHOR: &str = "an invalid signature by the root, with one anchor";
const WITH_ALL_ANCHORS: &str = "an invalid signature by the root, with five hundred anchors";

/// A verifier with two hundred anchors of one name, half of which have RSA keys. All have another
/// key than the leaves' issuer.
fn crowd(rsa: &KeyPair) -> ChainVerifier {
    let issuer = rcgen::Issuer::new(authority("Crowd"), rsa);
    let mut roots = Roots::new();
    for number in 0..200_usize {
        let params = authority("Crowd");
        let anchor = match number % 2 {
            0 => params.signed_by(&OtherRsa::new(rsa, number), &issuer),
            _ => params.signed_by(&key(), &issuer),
        };
        roots.add_der(anchor.unwrap().der()).unwrap();
    }
    ChainVerifier::builder(roots.into()).build().unwrap()
}

/// The public half of an RSA key without a private one.
struct OtherRsa(Vec<u8>);

impl OtherRsa {
    fn new(template: &KeyPair, number: usize) -> Self {
        let mut bytes = template.der_bytes().to_vec();
        // In the middle of the modulus.
        bytes[100..108].copy_from_slice(&number.to_be_bytes());
        Self(bytes)
    }
}

impl PublicKeyData for OtherRsa {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
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
    let of = |name| {
        let is = |each: &&Counted| each.kind.strip_prefix(CHAIN) == Some(name);
        all.iter().find(is).expect("a case").instructions
    };
    let added = of(WITH_ALL_ANCHORS).saturating_sub(of(WITH_ONE_ANCHOR));
    if added > MOST_FOR_ANCHORS {
        faults.push(format!("{ANCHORS} anchors add {added} instructions"));
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

pub(crate) fn key() -> KeyPair {
    KeyPair::generate().unwrap()
}

fn key_of(algorithm: &'static SignatureAlgorithm) -> KeyPair {
    KeyPair::generate_for(algorithm).unwrap()
}

pub(crate) fn authority(name: &str) -> CertificateParams {
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
    signed_leaf_by(issuer)
}

fn signed_leaf_by(issuer: &rcgen::Issuer<'_, impl SigningKey>) -> CertificateDer<'static> {
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

/// A leaf and some certificates for each of the names from 0, each issued by the next name.
fn levels(count: usize, each: usize, last: &str) -> Chain {
    let mut chain = vec![leaf("0")];
    for level in 0..count {
        let above = if level + 1 == count { last.to_owned() } else { (level + 1).to_string() };
        chain.extend(same_subject(&level.to_string(), &above, each));
    }
    chain
}

/// Certificates with one subject and one issuer, and different keys.
fn same_subject(subject: &str, issuer: &str, count: usize) -> Chain {
    with_keys(subject, issuer, count, &rcgen::PKCS_ECDSA_P256_SHA256)
}

fn with_keys(
    subject: &str,
    issuer: &str,
    count: usize,
    algorithm: &'static SignatureAlgorithm,
) -> Chain {
    let issuer = Authority::self_signed(authority(issuer), key()).unwrap();
    let certificate =
        |_| authority(subject).signed_by(&key_of(algorithm), &issuer).unwrap().der().clone();
    (0..count).map(certificate).collect()
}

/// Authorities that have certified each other. All signatures are valid, except that of the one
/// that names the root as its issuer.
fn mesh(count: usize, root: &Authority) -> Chain {
    let keys: Vec<_> = std::iter::repeat_with(key).take(count).collect();
    let name = |index: usize| authority(&format!("Mesh {index}"));
    let impostor = Authority::self_signed(authority("Root"), key()).unwrap();
    assert_ne!(impostor.der(), root.der());
    let mut chain = vec![signed_leaf_by(&rcgen::Issuer::new(name(0), &keys[0]))];
    for (index, own) in keys.iter().enumerate() {
        for (above, other) in keys.iter().enumerate().filter(|(above, _)| *above != index) {
            let issuer = rcgen::Issuer::new(name(above), other);
            chain.push(name(index).signed_by(own, &issuer).unwrap().der().clone());
        }
    }
    chain.push(name(count - 1).signed_by(&keys[count - 1], &impostor).unwrap().der().clone());
    chain
}

/// A leaf with many valid issuers, which have many issuers whose keys are of another kind.
fn pairs(count: usize) -> Chain {
    let issuer = Authority::self_signed(authority("Lower"), key()).unwrap();
    let upper = Authority::self_signed(authority("Upper"), key()).unwrap();
    let lower = |_| authority("Lower").signed_by(issuer.key(), &upper).unwrap().der().clone();
    let mut chain = vec![signed_leaf(&issuer)];
    chain.extend((0..count).map(lower));
    chain.extend(with_keys("Upper", "Root", count, &rcgen::PKCS_ED25519));
    chain
}

/// A leaf with a thousand names, below an authority with a thousand constraints.
fn constrained(root: &Authority) -> Chain {
    let mut params = authority("Constrained");
    let subtree = |number| GeneralSubtree::DnsName(format!("{number}.other.example"));
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![],
        excluded_subtrees: (0..1000).map(subtree).collect(),
    });
    let issuer = Authority::signed_by(params, key(), root).unwrap();
    let names: Vec<_> = (0..1000).map(|number| format!("{number}.service.example")).collect();
    let leaf = CertificateParams::new(names).unwrap().signed_by(&key(), &issuer).unwrap();
    vec![leaf.der().clone(), issuer.der().clone()]
}
