//! NIST's Public Key Interoperability Test Suite (PKITS), by the sections of its document.
//!
//! The names of the files state the section and the expected result. Tests whose result depends on
//! settings for policies, which this verifier does not have, are not judged.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use pki_types::{CertificateDer, CertificateRevocationListDer};
use tercel_pki::{ChainVerifier, Usage};

use crate::case::{Case, judge};
use crate::differences::Differences;

/// The sections, with words in the names of their tests. The first that fits is used.
const SECTIONS: &[(&str, &[&str])] = &[
    ("4.13 name constraints", &["nameConstraints"]),
    (
        "4.14 distribution points",
        &[
            "distributionPoint",
            "onlyContains",
            "onlySomeReasons",
            "IDPwithindirectCRL",
            "cRLIssuer",
            "NoissuingDistributionPoint",
        ],
    ),
    ("4.15 delta CRLs", &["deltaCRL"]),
    ("4.16 private extensions", &["CriticalCertificateExtension"]),
    ("4.9 require explicit policy", &["requireExplicitPolicy"]),
    ("4.11 inhibit policy mapping", &["inhibitPolicyMapping"]),
    ("4.10 policy mappings", &["PolicyMapping", "MappingFrom", "MappingTo"]),
    ("4.12 inhibit any policy", &["inhibitAnyPolicy"]),
    ("4.6 basic constraints", &["basicConstraints", "cAFalse", "pathLenConstraint"]),
    ("4.7 key usage", &["keyUsage"]),
    ("4.5 self-issued certificates", &["BasicSelfIssued"]),
    ("4.4 revocation", &["CRL", "Revoked", "SerialNumber", "SeparateCertificateandCRLKeys"]),
    ("4.3 name chaining", &["NameChaining", "NameUIDs", "AttributeTypes", "UTF8String"]),
    ("4.2 validity", &["notBefore", "notAfter"]),
    ("4.1 signatures", &["CertificatePath", "Signature", "DSAParameter"]),
];

/// The sections in which revocation lists are used.
const WITH_LISTS: [&str; 5] = ["4.4", "4.5", "4.7", "4.14", "4.15"];

/// 28 May 2026, at which the certificates are valid.
const TIME: u64 = 1_780_000_000;

pub(crate) fn run(folder: &Path) -> Result<bool> {
    let mut tests = Vec::new();
    let mut authorities = Vec::new();
    let mut anchor = None;
    for (name, der) in files(&folder.join("certs"))? {
        let der = CertificateDer::from(der);
        match name.strip_suffix(".crt").context("not a certificate")? {
            "TrustAnchorRootCertificate" => anchor = Some(der),
            test if test.contains("Test") => tests.push((test.to_owned(), der)),
            _ => authorities.push(der),
        }
    }
    let anchor = anchor.context("no trust anchor")?;
    let crls: Vec<_> = files(&folder.join("crls"))?
        .into_iter()
        .map(|(_, der)| CertificateRevocationListDer::from(der))
        // An unsupported list is as good as none: no certificate is accepted because of it.
        .filter(|crl| ChainVerifier::builder(Arc::default()).crl(crl).is_ok())
        .collect();
    let mut cases = Vec::new();
    let mut not_judged = 0;
    for (test, leaf) in tests {
        let accept = match &test {
            valid if valid.starts_with("Valid") => true,
            invalid if invalid.starts_with("Invalid") => false,
            _ => {
                not_judged += 1;
                continue;
            }
        };
        let mut sections = SECTIONS.iter();
        let fits = |words: &&[&str]| words.iter().any(|word| test.contains(word));
        let Some((section, _)) = sections.find(|(_, words)| fits(words)) else {
            bail!("{test} has no section");
        };
        let with_lists =
            section.split_once(' ').is_some_and(|(number, _)| WITH_LISTS.contains(&number));
        cases.push(Case {
            section: (*section).to_owned(),
            roots: vec![anchor.clone()],
            chain: std::iter::once(leaf).chain(authorities.iter().cloned()).collect(),
            crls: if with_lists { crls.clone() } else { Vec::new() },
            leaf_lists_only: false,
            name: None,
            usage: Usage::Client,
            time: TIME,
            accept,
            id: test,
        });
    }
    println!("{not_judged} tests of policies are not judged");
    Ok(judge(&cases, Differences::parse(include_str!("../differences/pkits.txt"))))
}

fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        files.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
    }
    files.sort();
    Ok(files)
}
