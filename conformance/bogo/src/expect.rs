//! Holds what a handshake led to against what the runner expects.
//!
//! Must not know: how it came about. Next: [`crate::options::Expectations`].

use std::fmt::Debug;
use std::fs;

use tercel::crypto::has_fast_aes;
use tercel::pki::load_certs_pem;
use tercel::{EarlyData, Facts};

use crate::judge::Judge;
use crate::options::Options;
use crate::run::Failure;

/// Checks every expectation there is.
pub(crate) fn check(options: &Options, facts: &Facts, judge: &Judge) -> Result<(), Failure> {
    let expect = &options.expect;
    let seen = judge.seen();
    if let Some(complaint) = seen.complaints.first() {
        return Err(Failure::Unexpected(complaint.clone()));
    }
    same("version", expect.version, &facts.version.0)?;
    same("cipher suite", expect.cipher, &facts.cipher_suite.0)?;
    let by_hardware = if has_fast_aes() { expect.cipher_aes } else { expect.cipher_no_aes };
    same("cipher suite", by_hardware, &facts.cipher_suite.0)?;
    let group = facts.group.map(|group| group.0);
    same("group", expect.curve_id.map(Some), &group)?;
    let scheme = facts.peer_signature_scheme.map(|scheme| scheme.0);
    same("peer's scheme", expect.peer_signature_algorithm.map(Some), &scheme)?;
    same("retry", expect.retry, &facts.retried)?;
    same("resumption", expect.session_miss.then_some(false), &facts.resumed)?;
    // The library does not say why it rejects early data, but whether it does.
    let accepted = expect.early_data_reason.as_deref().map(|reason| reason == "accepted");
    same("early data", accepted, &(facts.early_data == EarlyData::Accepted))?;
    let extended = expect.extended_master_secret.then_some(true);
    same("extended main secret", extended, &facts.extended_main_secret)?;
    same("secure renegotiation", expect.secure_renegotiation, &facts.secure_renegotiation)?;
    same("credential", expect.selected_credential.map(Some), &seen.selected)?;
    check_protocol(options, facts)?;
    check_peer(options, facts)?;
    if expect.server_name.is_some() && expect.server_name != facts.server_name {
        return Err(unexpected("server name", &facts.server_name));
    }
    // Nobody is asked about a peer that shows nothing, and nothing is held against it.
    let verdict = seen.verdict.or(facts.peer_chain().is_empty().then_some(true));
    if expect.verify_result && verdict != Some(!options.verify_fail) {
        return Err(unexpected("verdict", &verdict));
    }
    if seen.verifications > 1 {
        return Err(unexpected("number of verifications", &seen.verifications));
    }
    Ok(())
}

/// On a server the protocol is the one it selects, on a client the one expected; none is one, too.
fn check_protocol(options: &Options, facts: &Facts) -> Result<(), Failure> {
    let wanted = if options.server { &options.select_alpn } else { &options.expect.alpn };
    let agreed = facts.alpn.as_deref().unwrap_or_default();
    if wanted == agreed { Ok(()) } else { Err(unexpected("protocol", &facts.alpn)) }
}

fn check_peer(options: &Options, facts: &Facts) -> Result<(), Failure> {
    let expect = &options.expect;
    let chain = facts.peer_chain();
    let shows = !options.server || options.require_any_client_certificate;
    if expect.no_peer_cert && !chain.is_empty() {
        return Err(unexpected("number of certificates", &chain.len()));
    }
    if !expect.no_peer_cert && shows && chain.is_empty() {
        return Err(unexpected("number of certificates", &0));
    }
    if let Some(file) = &expect.peer_cert_file {
        let wanted = fs::read(file).ok().and_then(|pem| load_certs_pem(&pem).ok());
        if wanted.as_deref() != Some(chain) {
            return Err(unexpected("chain, of length", &chain.len()));
        }
    }
    let ocsp = facts.ocsp_response.as_deref().unwrap_or_default();
    if !expect.ocsp_response.is_empty() && expect.ocsp_response != ocsp {
        return Err(unexpected("OCSP response", &ocsp));
    }
    let timestamps = facts.signed_certificate_timestamps.as_deref().unwrap_or_default();
    if !expect.signed_cert_timestamps.is_empty() && expect.signed_cert_timestamps != timestamps {
        return Err(unexpected("certificate timestamps", &timestamps));
    }
    Ok(())
}

fn same<T: PartialEq + Debug>(what: &str, wanted: Option<T>, found: &T) -> Result<(), Failure> {
    match wanted {
        Some(wanted) if wanted != *found => Err(unexpected(what, found)),
        _ => Ok(()),
    }
}

fn unexpected(what: &str, found: &impl Debug) -> Failure {
    Failure::Unexpected(format!("unexpected {what}: {found:?}"))
}
