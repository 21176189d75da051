//! `tercel scan`: finds out what a TLS server supports.
//!
//! Most answers come from a prober, which sends a ClientHello and reads the server's first
//! messages. So the scan also sees versions and cipher suites that the library does not implement.
//!
//! # Answers
//!
//! Messages and alerts are answers. A connection that is reset, ends or times out is none: the
//! question is asked again over a new connection, and what is then not answered is unknown.
//!
//! # Modules
//!
//! Lowest first.
//!
//! | module | holds |
//! |---|---|
//! | `registry`, `weakness` | the registered cipher suites; the weaknesses of each |
//! | `connections` | connections with a pause between them, and the limits of a scan |
//! | `keys`, `records` | record protection of TLS 1.3; records and messages with limits |
//! | `offer`, `reply`, `probe` | a ClientHello, the server's answer, and the exchange of both |
//! | `handshake` | complete handshakes with the library's client |
//! | `enumerate`, `report`, `scanner` | search by elimination; the result; what was seen so far |
//! | `versions`, `exchange`, `features`, `resumption` | steps of a scan |
//! | `http3`, `proof`, `chain` | further steps |
//! | `findings`, `table` | conclusions; the table |

mod chain;
mod connections;
mod enumerate;
mod exchange;
mod features;
mod findings;
mod handshake;
#[cfg(feature = "http3")]
mod http3;
mod keys;
mod offer;
mod options;
mod probe;
mod proof;
mod records;
mod registry;
mod reply;
mod report;
mod resumption;
mod scanner;
mod table;
mod versions;
mod weakness;

use std::sync::Arc;

use anyhow::{Result, anyhow};
use tercel::pki_types::UnixTime;
use tercel_wire::ProtocolVersion;

use crate::client::server_name;
use crate::credential_files;
use crate::explain::{self, UsageError};
use crate::output;
use crate::starttls;
#[cfg(feature = "http3")]
use crate::target::Scheme;
use crate::target::Target;
use chain::Standard;
use connections::Connections;
pub(crate) use options::Options;
use proof::Proof;
use report::Report;
use scanner::Scanner;

/// Scans the server and prints the result, or the error as JSON.
pub(crate) fn run(options: &Options) -> Result<()> {
    let result = run_scan(options);
    if let (Err(error), true) = (&result, options.json) {
        // The error is printed on standard error, too, whether this succeeds or not.
        let json = serde_json::json!({ "error": explain::chain(error) });
        let _ = output::print(format!("{json}\n"));
    }
    result
}

fn run_scan(options: &Options) -> Result<()> {
    let target = starttls::target(&options.address, options.starttls)?;
    let standard = standard(options, &target)?;
    let starttls = options.starttls.map(|protocol| (protocol, standard.name.to_str().into_owned()));
    let connections = Connections::new(&target, starttls, options.limits())?;
    let mut scanner = Scanner::new(connections, standard.name.to_str().into_owned());
    let report = scan(&mut scanner, &target, options, &standard)?;
    let text = match options.json {
        true => serde_json::to_string_pretty(&report)? + "\n",
        false => table::render(&report),
    };
    output::print(text)
}

fn standard(options: &Options, target: &Target) -> Result<Standard> {
    let name = options.name.clone().map_or_else(|| server_name(&target.host), Ok);
    let name = name.map_err(|why| UsageError::new(format!("{why}; set one with --name")))?;
    let roots = match (&options.ca, options.insecure) {
        (_, true) => None,
        (Some(file), _) => Some(credential_files::roots(file)?),
        (None, _) => Some(credential_files::system_roots()?),
    };
    Ok(Standard { roots: roots.map(Arc::new), name, now: UnixTime::now() })
}

/// Runs the steps: first those that show something about each part of the server, with few
/// connections each, because a limit may end the scan.
fn scan(
    scanner: &mut Scanner,
    target: &Target,
    options: &Options,
    standard: &Standard,
) -> Result<Report> {
    let address = scanner.connections.address();
    let mut report = Report {
        host: target.host.clone(),
        port: target.port,
        address: address.to_string(),
        server_name: scanner.host.clone(),
        complete: true,
        ..Report::default()
    };
    versions::find_versions(scanner, &mut report).map_err(|why| anyhow!("{address}: {why}"))?;
    let accepted: Vec<_> = scanner.accepted.iter().map(|(version, _)| *version).collect();
    // The suites of TLS 1.3 are few, and the later steps need them. Finding the others may take
    // all connections: they come last.
    let (tls13, older) =
        accepted.split_at(accepted.partition_point(|v| *v == ProtocolVersion::TLS1_3));
    versions::find_suites(scanner, tls13, &mut report);
    exchange::find_groups_tls13(scanner, &mut report);
    scanner.read_flights(&mut report);
    features::find_protocols(scanner, &mut report);
    exchange::find_curves(scanner, &mut report);
    exchange::find_schemes(scanner, &mut report);
    resumption::find(scanner, &standard.name, options.early_data, &mut report);
    features::find(scanner, &mut report);
    #[cfg(feature = "http3")]
    if options.starttls.is_none() && options.address.scheme.is_none_or(Scheme::is_https) {
        report.features.extend(http3::find(scanner, &standard.name));
    }
    let proofs = proof::find(scanner, &standard.name);
    versions::find_suites(scanner, older, &mut report);
    let chains = scanner.observed.chains.iter().zip(&proofs);
    report.chains = chains.map(|(flight, proof)| standard.judge(flight, proof)).collect();
    report.findings = findings::find(&report, &scanner.observed.invalid);
    for (index, proof) in proofs.iter().enumerate() {
        if let Proof::Unknown(why) = proof {
            let what = format!("the key of certificate chain {}: no handshake", index + 1);
            report.note_unknown(&what, why);
        }
    }
    // An interrupted search for groups is noted already.
    let groups = report.groups.iter().find(|list| list.version == "TLS 1.3");
    if scanner.readable_offer().is_none() && groups.is_some_and(|list| list.complete) {
        let why = "the prober has no group or no cipher suite of the server, so it could not \
                   examine certificates, signature schemes and extensions";
        report.note_unknown("TLS 1.3", why);
    }
    if let Some(why) = scanner.connections.stopped() {
        report.note_unknown("the scan is incomplete", why);
    }
    report.connections = scanner.connections.made();
    let elapsed = scanner.connections.elapsed().as_millis();
    report.milliseconds = u64::try_from(elapsed).unwrap_or(u64::MAX);
    Ok(report)
}
