//! The report of a connection: lines of a key and a value on standard error, PEM for --show-certs,
//! or JSON.
//!
//! The keys are stable: other programs read them.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use serde::{Serialize, Serializer};
use tercel::{ConnectionInfo, Ech, ServerName, Side};

use crate::certificates::{CertificateDescription, PublicKeyDescription, describe_chain};
use crate::explain;
use crate::negotiated::{self, Value};
use crate::output::{self, aligned};

/// Durations of the phases of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timings {
    /// `None` over QUIC.
    pub(crate) tcp_connect: Option<Duration>,
    pub(crate) starttls: Option<Duration>,
    pub(crate) handshake: Duration,
}

/// The report of a connection. Its JSON is the output of --json.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    peer: SocketAddr,
    /// `None` over TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    #[serde(flatten, serialize_with = "as_fields")]
    negotiated: Vec<(&'static str, Value)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ech_inner_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ech_retried: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_connect_ms: Option<Milliseconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    starttls_ms: Option<Milliseconds>,
    handshake_ms: Milliseconds,
    certificates: Vec<CertificateDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_public_key: Option<PublicKeyDescription>,
}

impl Report {
    pub(crate) fn new(peer: SocketAddr, info: &ConnectionInfo, timings: Timings) -> Self {
        let raw_public_key = info.peer_raw_public_key.as_ref();
        Self {
            peer,
            transport: timings.tcp_connect.is_none().then_some("QUIC"),
            negotiated: negotiated::values(info, Side::Client),
            ech_inner_name: None,
            ech_retried: None,
            tcp_connect_ms: timings.tcp_connect.map(Milliseconds),
            starttls_ms: timings.starttls.map(Milliseconds),
            handshake_ms: Milliseconds(timings.handshake),
            raw_public_key: raw_public_key.map(|key| PublicKeyDescription::new(key)),
            certificates: describe_chain(info.peer_chain()),
        }
    }

    /// Adds the encrypted name, and whether this is the second attempt, if the server has rejected
    /// the first one.
    pub(crate) fn add_ech(&mut self, name: &ServerName<'_>, retried: bool, info: &ConnectionInfo) {
        self.ech_inner_name = (info.ech == Ech::Accepted).then(|| name.to_str().into_owned());
        self.ech_retried = retried.then_some(true);
    }

    /// Prints the report on standard error; the certificates only if `with_certificates` is set.
    pub(crate) fn print(&self, with_certificates: bool) {
        let mut rows = vec![("peer", self.peer.to_string())];
        rows.extend(self.transport.map(|transport| ("transport", transport.to_owned())));
        rows.extend(self.negotiated.iter().map(|(key, value)| (*key, value.to_string())));
        rows.extend(self.ech_inner_name.iter().map(|name| ("ech-inner-name", name.clone())));
        rows.extend(self.ech_retried.map(|_| ("ech-retried", "yes".to_owned())));
        rows.extend(self.tcp_connect_ms.map(|duration| ("tcp-connect", duration.text())));
        rows.extend(self.starttls_ms.map(|duration| ("starttls", duration.text())));
        rows.push(("handshake", self.handshake_ms.text()));
        if with_certificates {
            if let Some(key) = &self.raw_public_key {
                rows.push(("raw-public-key-sha256", key.sha256.clone()));
            }
            rows.extend(certificate_rows(&self.certificates));
        }
        explain::print_line(format_args!("{}", aligned(&rows)));
    }

    /// Prints the certificates, or the raw public key, as PEM on standard output.
    pub(crate) fn print_pem(&self) -> Result<()> {
        if let Some(key) = &self.raw_public_key {
            return output::print(format!("sha256  {}\n{}", key.sha256, key.pem));
        }
        if self.certificates.is_empty() {
            explain::print_line(format_args!("the server sent no certificate"));
        }
        print_pem(&self.certificates)
    }

    pub(crate) fn print_json(&self) -> Result<()> {
        output::print(serde_json::to_string(self)? + "\n")
    }
}

/// Prints each certificate on standard output as PEM, after a description. Readers of PEM skip text
/// outside of the boundaries. RFC 7468 2. Those of this project refuse a boundary within a line, so
/// a name that contains one is printed with an escaped hyphen.
pub(crate) fn print_pem(certificates: &[CertificateDescription]) -> Result<()> {
    let mut text = String::new();
    for (index, certificate) in certificates.iter().enumerate() {
        let mut rows = vec![("certificate", format!("{} of {}", index + 1, certificates.len()))];
        rows.extend(certificate.rows());
        text.push_str(&aligned(&rows).replace("-----", "\\u{2d}----"));
        text.push('\n');
        text.push_str(certificate.pem());
    }
    output::print(&text)
}

fn certificate_rows(certificates: &[CertificateDescription]) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for (index, certificate) in certificates.iter().enumerate() {
        rows.push(("certificate", format!("{} of {}", index + 1, certificates.len())));
        rows.extend(certificate.rows());
    }
    rows
}

/// Writes parameters as fields of a JSON object, with underscores in their keys.
fn as_fields<S: Serializer>(
    values: &[(&'static str, Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(key, value)| (key.replace('-', "_"), value)))
}

/// A duration in milliseconds with three decimals.
#[derive(Clone, Copy, Debug)]
struct Milliseconds(Duration);

impl Milliseconds {
    fn text(self) -> String {
        let micros = self.0.as_micros();
        format!("{}.{:03} ms", micros / 1000, micros % 1000)
    }
}

impl Serialize for Milliseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let micros = u32::try_from(self.0.as_micros()).unwrap_or(u32::MAX);
        serializer.serialize_f64(f64::from(micros) / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_with_microseconds() {
        let milliseconds = |micros| Milliseconds(Duration::from_micros(micros));
        assert_eq!(milliseconds(1_002_003).text(), "1002.003 ms");
        assert_eq!(milliseconds(7).text(), "0.007 ms");
        assert_eq!(serde_json::to_string(&milliseconds(1_002_003)).unwrap(), "1002.003");
    }
}
