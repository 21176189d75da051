//! The report of a connection: aligned lines of a key and a value on standard error.
//!
//! The keys are stable: other programs read them.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use tercel::pki::{CertificateSummary, ReadableTime};
use tercel::pki_types::CertificateDer;
use tercel::{ConnectionInfo, Side};

use crate::{explain, negotiated};

/// Durations of the phases of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timings {
    pub(crate) tcp_connect: Duration,
    pub(crate) handshake: Duration,
}

/// Prints the report, and frees the peer's certificate chain, which is not needed afterwards.
pub(crate) fn print(peer: SocketAddr, info: &mut ConnectionInfo, timings: Timings) {
    let mut rows = vec![("peer", peer.to_string())];
    rows.extend(negotiated::rows(info, Side::Client));
    rows.push(("tcp-connect", milliseconds(timings.tcp_connect)));
    rows.push(("handshake", milliseconds(timings.handshake)));
    let chain = info.take_peer_chain();
    for (index, certificate) in chain.iter().enumerate() {
        rows.push(("certificate", format!("{} of {}", index + 1, chain.len())));
        describe(certificate, &mut rows);
    }
    explain::print_line(format_args!("{}", aligned(&rows)));
}

/// Adds the rows of one certificate. Its texts were escaped when they were parsed.
fn describe(certificate: &CertificateDer<'_>, rows: &mut Vec<(&'static str, String)>) {
    let Ok(summary) = CertificateSummary::new(certificate) else {
        rows.push(("subject", "unreadable".to_owned()));
        return;
    };
    let addresses = summary.ip_addresses.iter().map(ToString::to_string);
    let names: Vec<String> = summary.dns_names.iter().cloned().chain(addresses).collect();
    rows.push(("subject", summary.subject));
    rows.push(("issuer", summary.issuer));
    rows.push(("valid-from", ReadableTime(summary.not_before).to_string()));
    rows.push(("valid-until", ReadableTime(summary.not_after).to_string()));
    rows.push(("key", summary.key));
    rows.push(("signed-with", summary.signature_algorithm));
    if !names.is_empty() {
        rows.push(("names", names.join(", ")));
    }
}

fn aligned(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (key, value) in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{key:width$}  {value}");
    }
    text.truncate(text.trim_end().len());
    text
}

fn milliseconds(duration: Duration) -> String {
    let micros = duration.as_micros();
    format!("{}.{:03} ms", micros / 1000, micros % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_one_column() {
        let text =
            aligned(&[("version", "TLS 1.3".to_owned()), ("tcp-connect", "1 ms".to_owned())]);
        assert_eq!(text, "version      TLS 1.3\ntcp-connect  1 ms");
    }

    #[test]
    fn times_are_milliseconds_with_microseconds() {
        assert_eq!(milliseconds(Duration::from_micros(1_002_003)), "1002.003 ms");
        assert_eq!(milliseconds(Duration::from_micros(7)), "0.007 ms");
    }
}
