//! Checks the result of a handshake against the runner's expectations.

use std::fmt::Debug;
use std::fs;

use tercel::crypto::HashAlgorithm;
use tercel::pki::load_certs_pem;
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{ConnectionInfo, EarlyData};
use tercel_crypto::{Hash, has_fast_aes};

use crate::application::Application;
use crate::config::Setup;
use crate::ech;
use crate::options::Options;
use crate::psk;
use crate::run::{Failure, TestConnection};
use crate::runner_only;
use crate::sessions::Sessions;

/// The counts of sessions before a connection.
pub(crate) struct SessionCounts {
    client_sessions: usize,
    stored: usize,
}

impl SessionCounts {
    pub(crate) fn new(sessions: &Sessions) -> Self {
        Self { client_sessions: sessions.client_store.count(), stored: sessions.store.count() }
    }
}

/// Checks the negotiated parameters.
pub(crate) fn check(
    test: &TestConnection<'_>,
    info: &ConnectionInfo,
    application: &Application,
) -> Result<(), Failure> {
    let options = test.final_options();
    let expect = &options.expect;
    let observed = application.observed();
    if let Some(faults) = observed.faults.first() {
        return Err(Failure::Unexpected(faults.clone()));
    }
    let of_a_request = !expect.certificate_types.is_empty()
        || !expect.peer_verify_prefs.is_empty()
        || expect.client_ca_list.is_some();
    if of_a_request && !observed.requested {
        return Err(Failure::Unexpected("no credential was requested".to_owned()));
    }
    same("version", expect.version, &info.version.0)?;
    same("cipher suite", expect.cipher, &info.cipher_suite.0)?;
    let by_hardware = if has_fast_aes() { expect.cipher_aes } else { expect.cipher_no_aes };
    same("cipher suite", by_hardware, &info.cipher_suite.0)?;
    let group = info.group.map(|group| group.0);
    same("group", expect.curve_id.map(Some), &group)?;
    let scheme = info.peer_signature_scheme.map(|scheme| scheme.0);
    same("peer's scheme", expect.peer_signature_algorithm.map(Some), &scheme)?;
    same("retry", expect.retry, &info.retried)?;
    same("resumption", Some(test.resumes && !expect.session_miss), &info.resumed)?;
    let extended = expect.extended_master_secret.then_some(true);
    same("extended main secret", extended, &info.extended_main_secret)?;
    same("secure renegotiation", expect.secure_renegotiation, &info.secure_renegotiation)?;
    // A connection without a selected credential has the number -1, like the credential without a
    // number.
    let selected = psk::selected(application, info).or(observed.selected);
    same("credential", expect.selected_credential, &selected.unwrap_or(-1))?;
    let padding = runner_only::server_padding(info);
    same("padding by the server", Some(expect.server_padding), &padding)?;
    check_client_digest(options, info)?;
    if info.resumed && expect.ticket_age_skew != 0 {
        let skew = info.ticket_age_skew.map(|milliseconds| i64::from(milliseconds / 1000));
        same("age of the ticket", Some(Some(expect.ticket_age_skew)), &skew)?;
    }
    check_early_data(test, info)?;
    check_protocol(options, info)?;
    check_peer(options, info)?;
    if !ech::is_expected(options, info) {
        return Err(unexpected("use of Encrypted ClientHello", &info.ech));
    }
    if expect.server_name.is_some() && expect.server_name != info.server_name {
        return Err(unexpected("server name", &info.server_name));
    }
    // The verifier is not called if the peer sent no certificate. This case counts as verified. The
    // certificate of a resumed session is verified again only if the test requires it.
    let unasked = info.resumed && !options.reverify_on_resume;
    let before = (info.peer_chain().is_empty() || unasked).then_some(!options.verify_fail);
    let verified = observed.verified.or(before);
    if expect.verify_result && verified != Some(!options.verify_fail) {
        return Err(unexpected("verification result", &verified));
    }
    // A client verifies the certificate of a stored session before it offers the session. If the
    // server does not resume the session, the client also verifies the certificate of the full
    // handshake.
    let most = if options.reverify_on_resume && !info.resumed { 2 } else { 1 };
    if observed.verifications > most {
        return Err(unexpected("number of verifications", &observed.verifications));
    }
    Ok(())
}

fn check_client_digest(options: &Options, info: &ConnectionInfo) -> Result<(), Failure> {
    let digest = info.peer_certificate_digest();
    let kept = digest.is_some();
    same("digest", options.server.then_some(options.expect.client_digest), &kept)?;
    let (Some(digest), Some(leaf)) = (digest, info.peer_chain().first()) else { return Ok(()) };
    let of_leaf = Hash::digest(HashAlgorithm::Sha256, &[leaf]);
    same("digest", Some(&digest[..]), &&*of_leaf)
}

fn check_early_data(test: &TestConnection<'_>, info: &ConnectionInfo) -> Result<(), Failure> {
    let expect = &test.options.expect;
    let accepted = info.early_data == EarlyData::Accepted;
    same("early data", expect.accept_early_data.then_some(true), &accepted)?;
    same("early data", expect.reject_early_data.then_some(false), &accepted)?;
    let offered = info.early_data != EarlyData::NotOffered;
    let offers = (test.resumes && expect.no_offer_early_data).then_some(false);
    same("offer of early data", offers, &offered)?;
    match &test.final_options().expect.early_data_reason {
        Some(reason) if !reasons(test.options, info).contains(&reason.as_str()) => {
            Err(unexpected("early data", &info.early_data))
        }
        _ => Ok(()),
    }
}

/// BoringSSL's possible names for the early data result. The library reports whether early data was
/// accepted and whether the session was resumed; one or several names match this result.
fn reasons(options: &Options, info: &ConnectionInfo) -> &'static [&'static str] {
    match info.early_data {
        EarlyData::Accepted => &["accept"],
        _ if !options.enable_early_data => &["disabled"],
        // A server checks the session before it sends a HelloRetryRequest; a client receives the
        // HelloRetryRequest first.
        EarlyData::Rejected if !info.resumed && (options.server || !info.retried) => {
            &["session_not_resumed"]
        }
        EarlyData::Rejected if info.retried => &["hello_retry_request"],
        EarlyData::Rejected if options.server => match info.ticket_age_skew {
            Some(skew) if skew.unsigned_abs() > 60_000 => &["ticket_age_skew"],
            _ => &["alpn_mismatch", "unsupported_for_session"],
        },
        EarlyData::Rejected => &["peer_declined"],
        _ if info.version != ProtocolVersion::TLS1_3 => &["protocol_version"],
        _ if !info.resumed => &["no_session_offered"],
        _ if options.server => &["peer_declined"],
        _ => &["unsupported_for_session", "alpn_mismatch"],
    }
}

/// Checks the sessions that a handshake created.
pub(crate) fn check_sessions(
    test: &TestConnection<'_>,
    info: &ConnectionInfo,
    before: &SessionCounts,
) -> Result<(), Failure> {
    let options = test.final_options();
    let expect = &options.expect;
    if !options.server && info.version == ProtocolVersion::TLS1_2 {
        let renews = !info.resumed || expect.ticket_renewal;
        let new = test.sessions.client_store.count() > before.client_sessions;
        same("new session", Some(renews && !expect.no_session), &new)?;
    }
    if test.resumes {
        return Ok(());
    }
    let stored = test.sessions.store.count() > before.stored;
    same("session id", expect.session_id.then_some(true), &stored)?;
    same("session id", expect.no_session_id.then_some(false), &stored)
}

/// Checks the tickets that a TLS 1.3 client received after the handshake.
pub(crate) fn check_tickets(
    test: &TestConnection<'_>,
    info: &ConnectionInfo,
    before: &SessionCounts,
    setup: &Setup,
) -> Result<(), Failure> {
    let options = test.final_options();
    if options.server || info.version != ProtocolVersion::TLS1_3 {
        return Ok(());
    }
    let came = test.sessions.client_store.count() > before.client_sessions;
    let comes = !options.expect.no_session && !options.shim_shuts_down;
    same("new session", Some(comes), &came)?;
    let Some(session) = test.sessions.client_store.session().filter(|_| came) else {
        return Ok(());
    };
    if let Some(wanted) = options.expect.across_names {
        let across = setup.offers_across_names(session.clone())?;
        same("use under another name", Some(wanted), &across)?;
    }
    let early = setup.allows_early_data(session)?;
    same("early data", Some(options.expect.ticket_supports_early_data), &early)
}

/// A server must have negotiated the application protocol that it selects, and a client the
/// expected protocol. An empty name means that no protocol is negotiated.
fn check_protocol(options: &Options, info: &ConnectionInfo) -> Result<(), Failure> {
    let wanted = if options.server { &options.select_alpn } else { &options.expect.alpn };
    let agreed = info.alpn.as_deref().unwrap_or_default();
    if wanted == agreed { Ok(()) } else { Err(unexpected("protocol", &info.alpn)) }
}

fn check_peer(options: &Options, info: &ConnectionInfo) -> Result<(), Failure> {
    let expect = &options.expect;
    let chain = info.peer_chain();
    let raw_key = info.peer_raw_public_key.as_deref();
    let kind =
        if raw_key.is_some() { CertificateType::RAW_PUBLIC_KEY } else { CertificateType::X509 };
    same("certificate type", expect.peer_type, &kind.0)?;
    if !expect.peer_raw_key_digest.is_empty() {
        let digest = raw_key.map(|key| Hash::digest(HashAlgorithm::Sha256, &[key]).to_vec());
        same("raw public key", Some(Some(expect.peer_raw_key_digest.clone())), &digest)?;
    }
    let asked = !options.server || options.require_any_client_certificate;
    let shows = asked && info.pre_shared_key().is_none();
    if info.pre_shared_key().is_some() && !chain.is_empty() {
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
    let ocsp = info.ocsp_response.as_deref().unwrap_or_default();
    if !expect.ocsp_response.is_empty() && expect.ocsp_response != ocsp {
        return Err(unexpected("OCSP response", &ocsp));
    }
    let timestamps = info.signed_certificate_timestamps.as_deref().unwrap_or_default();
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
