//! What was agreed, as rows of a key and a value: for the report, the page and the server's log.
//!
//! The keys are stable: other programs read them. Must not know: where the rows are shown.
//! Next: [`crate::connect::report`], [`crate::serve::page`].

use tercel::pki::CertificateSummary;
use tercel::pki_types::CertificateDer;
use tercel::wire::CertificateType;
use tercel::{EarlyData, Facts, Side};

use crate::options::version_name;

/// The rows, most interesting first.
pub(crate) fn rows(facts: &Facts, own_side: Side) -> Vec<(&'static str, String)> {
    let scheme = |scheme: Option<tercel::wire::SignatureScheme>| scheme.map(|s| s.to_string());
    let (server_scheme, client_scheme) = match own_side {
        Side::Client => (facts.peer_signature_scheme, facts.own_signature_scheme),
        Side::Server => (facts.own_signature_scheme, facts.peer_signature_scheme),
    };
    let mut rows = vec![
        ("version", version_name(facts.version)),
        ("suite", facts.cipher_suite.to_string()),
        ("group", facts.group.map_or_else(none, |group| group.to_string())),
        ("signature-scheme", scheme(server_scheme).unwrap_or_else(none)),
        ("alpn", facts.alpn.as_deref().map_or_else(none, printable)),
        ("retried", yes_or_no(facts.retried)),
        ("resumed", yes_or_no(facts.resumed)),
        ("early-data", early_data(facts.early_data).to_owned()),
        ("extended-main-secret", yes_or_no(facts.extended_main_secret)),
    ];
    if let Some(name) = facts.pre_shared_key() {
        rows.push(("pre-shared-key", printable(name)));
    }
    for (key, form) in [
        ("server-certificate-type", facts.server_certificate_type),
        ("client-certificate-type", facts.client_certificate_type),
    ] {
        // Chains are the rule and need no mention. RFC 7250
        if form == CertificateType::RAW_PUBLIC_KEY {
            rows.push((key, form.to_string()));
        }
    }
    if let Some(scheme) = scheme(client_scheme) {
        rows.push(("client-signature-scheme", scheme));
    }
    match own_side {
        Side::Client => rows.push(("ocsp-staple", yes_or_no(facts.ocsp_response.is_some()))),
        Side::Server => {
            let name = facts.server_name.as_deref();
            rows.push(("server-name", name.map_or_else(none, |name| printable(name.as_bytes()))));
            rows.push(("client-certificate", peer_subject(facts).unwrap_or_else(none)));
        }
    }
    rows
}

/// Whom the peer's certificate speaks of.
pub(crate) fn peer_subject(facts: &Facts) -> Option<String> {
    facts.peer_chain().first().map(|leaf| subject(leaf))
}

/// Whom a certificate speaks of.
pub(crate) fn subject(certificate: &CertificateDer<'_>) -> String {
    match CertificateSummary::new(certificate) {
        Ok(summary) if summary.subject.is_empty() => "without a subject".to_owned(),
        Ok(summary) => summary.subject,
        Err(_) => "unreadable".to_owned(),
    }
}

/// Bytes from a peer as text that cannot drive a terminal.
pub(crate) fn printable(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().escape_ascii().to_string()
}

fn early_data(what: EarlyData) -> &'static str {
    match what {
        EarlyData::Accepted => "accepted",
        EarlyData::Rejected => "rejected",
        _ => "none",
    }
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn none() -> String {
    "none".to_owned()
}
