//! Generated stores and chains, verified here and by `openssl verify -partial_chain -purpose`. Each
//! difference has a line that explains it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pki_types::CertificateDer;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use tercel_pki::{ChainVerifier, Roots, Usage, end_entity_public_key};

use crate::support::{P256, key, now};

#[test]
fn stores_are_judged_as_by_openssl() {
    compare(40);
}

/// `just stores`
#[test]
#[ignore = "takes minutes"]
fn a_thousand_stores_are_judged_as_by_openssl() {
    compare(1000);
}

/// What differs from OpenSSL, and why.
fn explanation(case: &Case, we_accept: bool) -> Option<&'static str> {
    let anchor = &case.store[case.anchor];
    if we_accept {
        // RFC 5280 4.2.1.12
        let has_any = anchor.params.extended_key_usages == [ExtendedKeyUsagePurpose::Any];
        return has_any.then_some("OpenSSL does not take anyExtendedKeyUsage for TLS");
    }
    // RFC 5280 4.2.1.9
    let is_bare = anchor.is_ca == 0 && anchor.key_usages.contains(&KeyUsagePurpose::KeyCertSign);
    is_bare.then_some("OpenSSL takes keyCertSign without basicConstraints for an authority's")
}

struct Made {
    params: CertificateParams,
    is_ca: usize,
    key_usages: Vec<KeyUsagePurpose>,
    key: usize,
    certificate: Certificate,
    description: String,
}

struct Case {
    store: Vec<Made>,
    /// The certificate of the store in which the chain ends, or which is the chain.
    anchor: usize,
    chain: Vec<Certificate>,
    usage: Usage,
    description: String,
}

/// Numbers that are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

fn own_key(keys: &[Vec<u8>], index: usize) -> KeyPair {
    KeyPair::try_from(&keys[index][..]).unwrap()
}

/// A certificate with a mutation of everything that an anchor's certificate states.
fn made(numbers: &mut Numbers, keys: &[Vec<u8>], index: usize) -> Made {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth};
    use KeyUsagePurpose::{CrlSign, DigitalSignature, KeyCertSign};
    let mut params = CertificateParams::new(vec!["service.example".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, format!("Anchor {index}"));
    let is_ca = numbers.below(6);
    params.is_ca = match is_ca {
        0 => IsCa::NoCa,
        1 => IsCa::ExplicitNoCa,
        2 => IsCa::Ca(BasicConstraints::Constrained(0)),
        _ => IsCa::Ca(BasicConstraints::Unconstrained),
    };
    let key_usages = [
        vec![],
        vec![],
        vec![KeyCertSign],
        vec![KeyCertSign, DigitalSignature],
        vec![DigitalSignature],
        vec![CrlSign],
    ];
    let purposes =
        [vec![], vec![], vec![ServerAuth], vec![ClientAuth], vec![Any], vec![CodeSigning]];
    let validity = [(2020, 2040), (2020, 2040), (2020, 2040), (2020, 2021), (2039, 2040)];
    let key_usages = key_usages[numbers.below(6)].clone();
    params.key_usages.clone_from(&key_usages);
    params.extended_key_usages.clone_from(&purposes[numbers.below(6)]);
    let (from, until) = validity[numbers.below(5)];
    (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
    let own = own_key(keys, index);
    // One in three was issued by an authority that is in no store.
    let certificate = match numbers.below(3) {
        0 => {
            let mut other = CertificateParams::default();
            other.distinguished_name.push(DnType::CommonName, "elsewhere");
            let elsewhere = own_key(keys, keys.len() - 1);
            params.signed_by(&own, &Issuer::new(other, elsewhere)).unwrap()
        }
        _ => params.self_signed(&own).unwrap(),
    };
    let description = format!(
        "{:?} {key_usages:?} {:?} {from} to {until}",
        params.is_ca, params.extended_key_usages
    );
    Made { params, is_ca, key_usages, key: index, certificate, description }
}

fn case(numbers: &mut Numbers, keys: &[Vec<u8>]) -> Case {
    let count = numbers.below(3) + 1;
    let store: Vec<_> = (0..count).map(|index| made(numbers, keys, index)).collect();
    let index = numbers.below(count);
    let anchor = &store[index];
    let issuer = Issuer::new(anchor.params.clone(), own_key(keys, anchor.key));
    let mut leaf = CertificateParams::new(vec!["service.example".to_owned()]).unwrap();
    leaf.distinguished_name.push(DnType::CommonName, "leaf");
    let leaf_key = own_key(keys, 4);
    let (chain, form) = match numbers.below(3) {
        0 => (vec![anchor.certificate.clone()], "itself"),
        1 => (vec![leaf.signed_by(&leaf_key, &issuer).unwrap()], "leaf"),
        _ => {
            let mut between = CertificateParams::default();
            between.distinguished_name.push(DnType::CommonName, "between");
            between.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let own = own_key(keys, 5);
            let issued = between.signed_by(&own, &issuer).unwrap();
            let issuer = Issuer::new(between, own);
            let leaf = leaf.signed_by(&leaf_key, &issuer).unwrap();
            (vec![leaf, issued], "leaf and intermediate")
        }
    };
    let usage = if numbers.below(2) == 0 { Usage::Server } else { Usage::Client };
    let stored: Vec<_> = store.iter().map(|made| made.description.clone()).collect();
    let description = format!("{usage:?}: {form} below {:?} of {stored:?}", anchor.description);
    Case { store, anchor: index, chain, usage, description }
}

fn compare(count: usize) {
    let Ok(version) = Command::new("openssl").arg("version").output() else {
        println!("skipped: openssl is not installed");
        return;
    };
    let keys: Vec<_> = (0..7).map(|_| key(P256).serialize_der()).collect();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let folder = Folder::new();
    let (mut accepted, mut explained, mut unexplained) = (0, 0, Vec::new());
    for number in 0..count {
        let case = case(&mut numbers, &keys);
        let ours = accepts(&case);
        let theirs = folder.openssl_accepts(&case, number % 2 == 0);
        accepted += usize::from(ours);
        if ours != theirs {
            match explanation(&case, ours) {
                Some(_) => explained += 1,
                None => {
                    unexplained.push(format!("we {ours}, OpenSSL {theirs}: {}", case.description));
                }
            }
        }
    }
    assert!(unexplained.is_empty(), "{} cases: {unexplained:#?}", unexplained.len());
    assert!(accepted > count / 10 && accepted < count * 9 / 10, "{accepted} of {count}");
    let version = String::from_utf8_lossy(&version.stdout);
    println!("{count} stores, {accepted} accepted, {explained} explained; {version}");
}

fn accepts(case: &Case) -> bool {
    let mut roots = Roots::new();
    case.store.iter().for_each(|made| roots.add_der(made.certificate.der()).unwrap());
    let verifier = ChainVerifier::builder(roots.into()).build().unwrap();
    let chain: Vec<CertificateDer<'_>> = case.chain.iter().map(|one| one.der().clone()).collect();
    verifier.verify(case.usage, &chain, None, None, now()).is_ok()
        && end_entity_public_key(&chain).is_ok()
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("tercel-stores-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Verifies with a store in one file, or in a folder of files with hashed names.
    fn openssl_accepts(&self, case: &Case, in_folder: bool) -> bool {
        let store = self.0.join("store");
        fs::create_dir_all(&store).unwrap();
        for (index, made) in case.store.iter().enumerate() {
            write(&store.join(format!("{index}.pem")), std::slice::from_ref(&made.certificate));
        }
        let all: Vec<_> = case.store.iter().map(|made| made.certificate.clone()).collect();
        let [leaf, sent, file] = ["leaf.pem", "sent.pem", "all.pem"].map(|name| self.0.join(name));
        write(&leaf, &case.chain[..1]);
        write(&sent, &case.chain);
        write(&file, &all);
        let mut verify = Command::new("openssl");
        verify.args(["verify", "-partial_chain", "-no-CAfile", "-no-CApath", "-no-CAstore"]);
        verify.args(["-attime", &now().as_secs().to_string(), "-purpose"]);
        verify.arg(if case.usage == Usage::Server { "sslserver" } else { "sslclient" });
        if in_folder {
            let hashed = Command::new("openssl").arg("rehash").arg(&store).output().unwrap();
            assert!(hashed.status.success(), "{hashed:?}");
            verify.arg("-CApath").arg(&store);
        } else {
            verify.arg("-CAfile").arg(&file);
        }
        let verified = verify.arg("-untrusted").arg(&sent).arg(&leaf).output().unwrap();
        fs::remove_dir_all(&store).unwrap();
        verified.status.success()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, certificates: &[Certificate]) {
    fs::write(path, certificates.iter().map(Certificate::pem).collect::<String>()).unwrap();
}
