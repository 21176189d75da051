//! Cases of x509-limbo. The file is written by `limbo compile` of a checkout, or is its limbo.json.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use pki_types::pem::PemObject;
use pki_types::{CertificateDer, CertificateRevocationListDer};
use serde_json::Value;
use tercel_pki::Usage;

use crate::case::{Case, judge};
use crate::differences::Differences;

/// Features of cases that are not judged: options that this verifier does not have.
const NOT_JUDGED: [&str; 1] = ["max-chain-depth"];

pub(crate) fn run(file: &Path) -> Result<bool> {
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let suite: Value = serde_json::from_str(&text)?;
    let mut cases = Vec::new();
    let mut left_out = 0;
    for case in suite["testcases"].as_array().context("no testcases")? {
        let features = case["features"].as_array().context("no features")?;
        if features.iter().any(|one| one.as_str().is_some_and(|one| NOT_JUDGED.contains(&one))) {
            left_out += 1;
            continue;
        }
        cases.push(read(case).with_context(|| format!("{}", case["id"]))?);
    }
    println!("{left_out} cases with {NOT_JUDGED:?} are not judged");
    Ok(judge(&cases, Differences::parse(include_str!("../differences/limbo.txt"))))
}

fn read(case: &Value) -> Result<Case> {
    let id = case["id"].as_str().context("no id")?.to_owned();
    let mut chain = certificates(&Value::Array(vec![case["peer_certificate"].clone()]))?;
    chain.extend(certificates(&case["untrusted_intermediates"])?);
    let time = match case["validation_time"].as_str() {
        Some(time) => seconds(time).with_context(|| time.to_owned())?,
        None => DEFAULT_TIME,
    };
    let crls = case["crls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let crls = crls
        .iter()
        .filter_map(Value::as_str)
        .map(|pem| CertificateRevocationListDer::from_pem_slice(pem.as_bytes()).context("CRL"));
    let purposes = case["extended_key_usage"].as_array().context("no usages")?;
    let is_client = purposes.iter().any(|purpose| purpose == "clientAuth");
    Ok(Case {
        section: id.split("::").take(2).next().unwrap_or_default().to_owned(),
        roots: certificates(&case["trusted_certs"])?,
        chain,
        crls: crls.collect::<Result<_>>()?,
        leaf_lists_only: false,
        name: case["expected_peer_name"]["value"].as_str().map(ToOwned::to_owned),
        usage: if is_client { Usage::Client } else { Usage::Server },
        time,
        accept: match case["expected_result"].as_str() {
            Some("SUCCESS") => true,
            Some("FAILURE") => false,
            _ => bail!("no expected result"),
        },
        id,
    })
}

fn certificates(list: &Value) -> Result<Vec<CertificateDer<'static>>> {
    let list = list.as_array().context("no list of certificates")?.iter();
    let read = |pem: &Value| {
        let pem = pem.as_str().context("no certificate")?;
        CertificateDer::from_pem_slice(pem.as_bytes()).context("certificate")
    };
    list.map(read).collect()
}

/// The time of a case that states none.
const DEFAULT_TIME: u64 = 1_780_000_000;

/// Seconds since 1970 of `2024-01-01T00:00:00Z` or with `+00:00`.
fn seconds(text: &str) -> Option<u64> {
    let digits: Vec<u64> = text
        .split(['-', 'T', ':', '+', 'Z', '.'])
        .take(6)
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [year, month, day, hour, minute, second] = <[u64; 6]>::try_from(digits).ok()?;
    // Days of the civil calendar, with March as the first month.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((((days.checked_sub(719_468)?) * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_moments() {
        assert_eq!(super::seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(super::seconds("2024-03-01T00:00:00+00:00"), Some(1_709_251_200));
        assert_eq!(super::seconds("2000-02-29T12:00:00Z"), Some(951_825_600));
    }
}
