//! Cases of BetterTLS: branches in paths, and name constraints. Each export makes new certificates,
//! which are valid when it is made.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pki_types::CertificateDer;
use serde_json::Value;
use tercel_pki::Usage;

use crate::case::{Case, judge};
use crate::differences::Differences;

pub(crate) fn run(file: &Path) -> Result<bool> {
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let time = fs::metadata(file)?.modified()?.duration_since(UNIX_EPOCH)?.as_secs();
    let suite: Value = serde_json::from_str(&text)?;
    let root = certificate(&suite["trustRoot"])?;
    let mut cases = Vec::new();
    for (name, suite) in suite["suites"].as_object().context("no suites")? {
        for case in suite["testCases"].as_array().context("no cases")? {
            let certificates = case["certificates"].as_array().context("no certificates")?;
            let accept = case["expected"] == "ACCEPT";
            let mut case_of = Case {
                id: format!("{name} {}", case["id"]),
                section: name.clone(),
                roots: vec![root.clone()],
                chain: certificates.iter().map(certificate).collect::<Result<_>>()?,
                crls: Vec::new(),
                leaf_lists_only: false,
                name: case["hostname"].as_str().map(ToOwned::to_owned),
                usage: Usage::Server,
                time,
                accept,
            };
            // The suite accepts either result.
            if case["failureIsWarning"] == true {
                case_of.section += ", either result";
                case_of.accept = crate::case::verify(&case_of).is_none();
            }
            cases.push(case_of);
        }
    }
    Ok(judge(&cases, Differences::parse(include_str!("../differences/bettertls.txt"))))
}

fn certificate(text: &Value) -> Result<CertificateDer<'static>> {
    Ok(STANDARD.decode(text.as_str().context("no certificate")?)?.into())
}
