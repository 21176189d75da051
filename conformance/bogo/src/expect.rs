//! Holds what a handshake led to against what the runner expects.
//!
//! Must not know: how it came about. Next: [`crate::options::Expectations`].

use std::fmt::Debug;
use std::fs;

use tercel::crypto::{Hash, HashAlgorithm, has_fast_aes};
use tercel::pki::load_certs_pem;
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{EarlyData, Facts};

use crate::config::Setup;
use crate::judge::Judge;
use crate::options::Options;
use crate::psk;
use crate::run::{Failure, Round};
use crate::runner_only;
use crate::sessions::Sessions;

/// What there was before a connection.
pub(crate) struct Before {
    shelved: usize,
    stored: usize,
}

impl Before {
    pub(crate) fn new(sessions: &Sessions) -> Self {
        Self { shelved: sessions.shelf.count(), stored: sessions.store.count() }
    }
}

/// Checks what was agreed.
pub(crate) fn check(round: &Round<'_>, facts: &Facts, judge: &Judge) -> Result<(), Failure> {
    let options = round.settled();
    let expect = &options.expect;
    let seen = judge.seen();
    if let Some(complaint) = seen.complaints.first() {
        return Err(Failure::Unexpected(complaint.clone()));
    }
    let of_a_request = !expect.certificate_types.is_empty()
        || !expect.peer_verify_prefs.is_empty()
        || expect.client_ca_list.is_some();
    if of_a_request && !seen.requested {
        return Err(Failure::Unexpected("no credential was asked for".to_owned()));
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
    same("resumption", Some(round.resumes && !expect.session_miss), &facts.resumed)?;
    let extended = expect.extended_master_secret.then_some(true);
    same("extended main secret", extended, &facts.extended_main_secret)?;
    same("secure renegotiation", expect.secure_renegotiation, &facts.secure_renegotiation)?;
    // None at all has the number that the one without a number has.
    let selected = psk::selected(judge, facts).or(seen.selected);
    same("credential", expect.selected_credential, &selected.unwrap_or(-1))?;
    let padding = runner_only::server_padding(facts);
    same("padding by the server", Some(expect.server_padding), &padding)?;
    check_client_digest(options, facts)?;
    if facts.resumed && expect.ticket_age_skew != 0 {
        let skew = facts.ticket_age_skew.map(|milliseconds| i64::from(milliseconds / 1000));
        same("age of the ticket", Some(Some(expect.ticket_age_skew)), &skew)?;
    }
    check_early_data(round, facts)?;
    check_protocol(options, facts)?;
    check_peer(options, facts)?;
    if expect.server_name.is_some() && expect.server_name != facts.server_name {
        return Err(unexpected("server name", &facts.server_name));
    }
    // Nobody is asked about a peer that shows nothing, and nothing is held against it. A resumed peer
    // was judged before, and is again only if the test wants that.
    let unasked = facts.resumed && !options.reverify_on_resume;
    let before = (facts.peer_chain().is_empty() || unasked).then_some(!options.verify_fail);
    let verdict = seen.verdict.or(before);
    if expect.verify_result && verdict != Some(!options.verify_fail) {
        return Err(unexpected("verdict", &verdict));
    }
    // A client judges a session's certificate before it offers the session, and another if that is in vain.
    let most = if options.reverify_on_resume && !facts.resumed { 2 } else { 1 };
    if seen.verifications > most {
        return Err(unexpected("number of verifications", &seen.verifications));
    }
    Ok(())
}

fn check_client_digest(options: &Options, facts: &Facts) -> Result<(), Failure> {
    let digest = facts.peer_certificate_digest();
    let kept = digest.is_some();
    same("digest", options.server.then_some(options.expect.client_digest), &kept)?;
    let (Some(digest), Some(leaf)) = (digest, facts.peer_chain().first()) else { return Ok(()) };
    let of_leaf = Hash::digest(HashAlgorithm::Sha256, &[leaf]);
    same("digest", Some(&digest[..]), &&*of_leaf)
}

fn check_early_data(round: &Round<'_>, facts: &Facts) -> Result<(), Failure> {
    let expect = &round.options.expect;
    let accepted = facts.early_data == EarlyData::Accepted;
    same("early data", expect.accept_early_data.then_some(true), &accepted)?;
    same("early data", expect.reject_early_data.then_some(false), &accepted)?;
    let offered = facts.early_data != EarlyData::NotOffered;
    let offers = (round.resumes && expect.no_offer_early_data).then_some(false);
    same("offer of early data", offers, &offered)?;
    match &round.settled().expect.early_data_reason {
        Some(reason) if !reasons(round.options, facts).contains(&reason.as_str()) => {
            Err(unexpected("early data", &facts.early_data))
        }
        _ => Ok(()),
    }
}

/// What BoringSSL might call the reason for what became of early data. The library says what became of it, and
/// of the session; that leaves one name or a few.
fn reasons(options: &Options, facts: &Facts) -> &'static [&'static str] {
    match facts.early_data {
        EarlyData::Accepted => &["accept"],
        _ if !options.enable_early_data => &["disabled"],
        // A server looks at the session first, a client sees the retry first.
        EarlyData::Rejected if !facts.resumed && (options.server || !facts.retried) => {
            &["session_not_resumed"]
        }
        EarlyData::Rejected if facts.retried => &["hello_retry_request"],
        EarlyData::Rejected if options.server => match facts.ticket_age_skew {
            Some(skew) if skew.unsigned_abs() > 60_000 => &["ticket_age_skew"],
            _ => &["alpn_mismatch", "unsupported_for_session"],
        },
        EarlyData::Rejected => &["peer_declined"],
        _ if facts.version != ProtocolVersion::TLS1_3 => &["protocol_version"],
        _ if !facts.resumed => &["no_session_offered"],
        _ if options.server => &["peer_declined"],
        _ => &["unsupported_for_session", "alpn_mismatch"],
    }
}

/// Checks the sessions that a handshake led to.
pub(crate) fn check_sessions(
    round: &Round<'_>,
    facts: &Facts,
    before: &Before,
) -> Result<(), Failure> {
    let options = round.settled();
    let expect = &options.expect;
    if !options.server && facts.version == ProtocolVersion::TLS1_2 {
        let renews = !facts.resumed || expect.ticket_renewal;
        let new = round.sessions.shelf.count() > before.shelved;
        same("new session", Some(renews && !expect.no_session), &new)?;
    }
    if round.resumes {
        return Ok(());
    }
    let stored = round.sessions.store.count() > before.stored;
    same("session id", expect.session_id.then_some(true), &stored)?;
    same("session id", expect.no_session_id.then_some(false), &stored)
}

/// Checks the tickets that came to a client of TLS 1.3 after the handshake.
pub(crate) fn check_tickets(
    round: &Round<'_>,
    facts: &Facts,
    before: &Before,
    setup: &Setup,
) -> Result<(), Failure> {
    let options = round.settled();
    if options.server || facts.version != ProtocolVersion::TLS1_3 {
        return Ok(());
    }
    let came = round.sessions.shelf.count() > before.shelved;
    let comes = !options.expect.no_session && !options.shim_shuts_down;
    same("new session", Some(comes), &came)?;
    let Some(session) = round.sessions.shelf.session().filter(|_| came) else { return Ok(()) };
    if let Some(wanted) = options.expect.across_names {
        let across = setup.offers_across_names(session.clone())?;
        same("use under another name", Some(wanted), &across)?;
    }
    let early = setup.admits_early_data(session)?;
    same("early data", Some(options.expect.ticket_supports_early_data), &early)
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
    let raw_key = facts.peer_raw_public_key.as_deref();
    let kind =
        if raw_key.is_some() { CertificateType::RAW_PUBLIC_KEY } else { CertificateType::X509 };
    same("certificate type", expect.peer_type, &kind.0)?;
    if !expect.peer_raw_key_digest.is_empty() {
        let digest = raw_key.map(|key| Hash::digest(HashAlgorithm::Sha256, &[key]).to_vec());
        same("raw public key", Some(Some(expect.peer_raw_key_digest.clone())), &digest)?;
    }
    let asked = !options.server || options.require_any_client_certificate;
    let shows = asked && facts.pre_shared_key().is_none();
    if facts.pre_shared_key().is_some() && !chain.is_empty() {
        return Err(unexpected("number of certificates", &chain.len()));
    }
    if expect.no_peer_cert && !chain.is_empty() {
        return Err(unexpected("number of certificates", &chain.len()));
    }
    if !expect.no_peer_cert && shows && chain.is_empty() && raw_key.is_none() {
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
