//! The negotiated parameters as rows of a key and a value, for the report of clients, and for the
//! page and the log of the server.
//!
//! The keys are stable: other programs read them.

use std::fmt;

use serde::Serialize;
use tercel::fips::fips_module;
use tercel::pki::CertificateSummary;
use tercel::pki_types::CertificateDer;
use tercel::wire::{CertificateType, ProtocolVersion};
use tercel::{ConnectionInfo, EarlyData, Ech, Side};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Text(String),
    Flag(bool),
    Absent,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(text) => text,
            Self::Flag(true) => "yes",
            Self::Flag(false) => "no",
            Self::Absent => "none",
        })
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Absent, Self::Text)
    }
}

/// The rows as text, most important first.
pub(crate) fn rows(info: &ConnectionInfo, own_side: Side) -> Vec<(&'static str, String)> {
    values(info, own_side).into_iter().map(|(key, value)| (key, value.to_string())).collect()
}

/// The parameters, most important first.
pub(crate) fn values(info: &ConnectionInfo, own_side: Side) -> Vec<(&'static str, Value)> {
    let scheme = |scheme: Option<tercel::wire::SignatureScheme>| scheme.map(|s| s.to_string());
    let (server_scheme, client_scheme) = match own_side {
        Side::Client => (info.peer_signature_scheme, info.own_signature_scheme),
        Side::Server => (info.own_signature_scheme, info.peer_signature_scheme),
    };
    let mut rows = vec![
        ("version", Value::Text(version_name(info.version))),
        ("suite", Value::Text(info.cipher_suite.to_string())),
        ("group", info.group.map(|group| group.to_string()).into()),
        ("signature-scheme", scheme(server_scheme).into()),
        ("alpn", info.alpn.as_deref().map(printable).into()),
        ("retried", Value::Flag(info.retried)),
        ("resumed", Value::Flag(info.resumed)),
        ("early-data", early_data(info.early_data)),
        ("extended-main-secret", Value::Flag(info.extended_main_secret)),
        ("ech", Value::Text(ech(info.ech).to_owned())),
    ];
    if fips_module().is_some() {
        rows.push(("fips", Value::Text(info.fips.to_string())));
    }
    if let Some(name) = info.outer_server_name() {
        rows.push(("ech-outer-name", Value::Text(printable(name))));
    }
    if let Some(name) = info.pre_shared_key() {
        rows.push(("pre-shared-key", Value::Text(printable(name))));
    }
    for (key, form) in [
        ("server-certificate-type", info.server_certificate_type),
        ("client-certificate-type", info.client_certificate_type),
    ] {
        // No row is written for X.509, the default certificate type. RFC 7250
        if form == CertificateType::RAW_PUBLIC_KEY {
            rows.push((key, Value::Text(form.to_string())));
        }
    }
    if let Some(scheme) = scheme(client_scheme) {
        rows.push(("client-signature-scheme", Value::Text(scheme)));
    }
    match own_side {
        Side::Client => rows.push(("ocsp-staple", Value::Flag(info.ocsp_response.is_some()))),
        Side::Server => {
            let name = info.server_name.as_deref();
            rows.push(("server-name", name.map(printable).into()));
            rows.push(("client-certificate", peer_subject(info).into()));
        }
    }
    rows
}

/// The common name of a version.
pub(crate) fn version_name(version: ProtocolVersion) -> String {
    let name = match version {
        ProtocolVersion::TLS1_3 => "TLS 1.3",
        ProtocolVersion::TLS1_2 => "TLS 1.2",
        ProtocolVersion::TLS1_1 => "TLS 1.1",
        ProtocolVersion::TLS1_0 => "TLS 1.0",
        ProtocolVersion::SSL3_0 => "SSL 3",
        other => return other.to_string(),
    };
    name.to_owned()
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

/// The use of Encrypted ClientHello. RFC 9849
pub(crate) fn ech(what: Ech) -> &'static str {
    match what {
        Ech::Accepted => "accepted",
        Ech::Backend => "backend",
        Ech::Grease => "grease",
        Ech::Rejected => "rejected",
        _ => "not offered",
    }
}

fn early_data(what: EarlyData) -> Value {
    match what {
        EarlyData::Accepted => Value::Text("accepted".to_owned()),
        EarlyData::Rejected => Value::Text("rejected".to_owned()),
        _ => Value::Absent,
    }
}
