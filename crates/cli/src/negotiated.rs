//! The negotiated parameters as rows of a key and a value, for the report of clients, and for the
//! page and the log of the server.
//!
//! The keys are stable: other programs read them.

use tercel::pki::CertificateSummary;
use tercel::pki_types::CertificateDer;
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{ConnectionInfo, EarlyData, Side};

/// The rows, most important first.
pub(crate) fn rows(info: &ConnectionInfo, own_side: Side) -> Vec<(&'static str, String)> {
    let scheme = |scheme: Option<tercel::wire::SignatureScheme>| scheme.map(|s| s.to_string());
    let (server_scheme, client_scheme) = match own_side {
        Side::Client => (info.peer_signature_scheme, info.own_signature_scheme),
        Side::Server => (info.own_signature_scheme, info.peer_signature_scheme),
    };
    let mut rows = vec![
        ("version", version_name(info.version)),
        ("suite", info.cipher_suite.to_string()),
        ("group", info.group.map_or_else(none, |group| group.to_string())),
        ("signature-scheme", scheme(server_scheme).unwrap_or_else(none)),
        ("alpn", info.alpn.as_deref().map_or_else(none, printable)),
        ("retried", yes_or_no(info.retried)),
        ("resumed", yes_or_no(info.resumed)),
        ("early-data", early_data(info.early_data).to_owned()),
        ("extended-main-secret", yes_or_no(info.extended_main_secret)),
    ];
    if let Some(name) = info.pre_shared_key() {
        rows.push(("pre-shared-key", printable(name)));
    }
    for (key, form) in [
        ("server-certificate-type", info.server_certificate_type),
        ("client-certificate-type", info.client_certificate_type),
    ] {
        // No row is written for X.509, the default certificate type. RFC 7250
        if form == CertificateType::RAW_PUBLIC_KEY {
            rows.push((key, form.to_string()));
        }
    }
    if let Some(scheme) = scheme(client_scheme) {
        rows.push(("client-signature-scheme", scheme));
    }
    match own_side {
        Side::Client => rows.push(("ocsp-staple", yes_or_no(info.ocsp_response.is_some()))),
        Side::Server => {
            let name = info.server_name.as_deref();
            rows.push(("server-name", name.map_or_else(none, |name| printable(name.as_bytes()))));
            rows.push(("client-certificate", peer_subject(info).unwrap_or_else(none)));
        }
    }
    rows
}

/// The common name of a version.
pub(crate) fn version_name(version: ProtocolVersion) -> String {
    match version {
        ProtocolVersion::TLS1_3 => "TLS 1.3".to_owned(),
        ProtocolVersion::TLS1_2 => "TLS 1.2".to_owned(),
        other => other.to_string(),
    }
}

/// The subject of the peer's certificate.
pub(crate) fn peer_subject(info: &ConnectionInfo) -> Option<String> {
    info.peer_chain().first().map(|leaf| subject(leaf))
}

/// The subject of a certificate.
pub(crate) fn subject(certificate: &CertificateDer<'_>) -> String {
    match CertificateSummary::new(certificate) {
        Ok(summary) if summary.subject.is_empty() => "empty subject".to_owned(),
        Ok(summary) => summary.subject,
        Err(_) => "unreadable".to_owned(),
    }
}

/// Bytes from a peer as text, without control characters, which could affect a terminal.
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
