//! The result of a scan. Its fields are those of the JSON output.

use serde::Serialize;

use super::enumerate::{Enumeration, Order};
use super::weakness::Severity;
use crate::certificates::CertificateDescription;

/// The result of a scan.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The address that was scanned, with its port.
    pub(crate) address: String,
    pub(crate) server_name: String,
    pub(crate) versions: Vec<Version>,
    pub(crate) cipher_suites: Vec<Suites>,
    pub(crate) groups: Vec<Names>,
    /// The smallest prime of finite-field key exchanges before TLS 1.3, in bits.
    pub(crate) dh_bits: Option<usize>,
    pub(crate) signature_schemes: Vec<Names>,
    pub(crate) alpn: Option<Names>,
    pub(crate) resumption: Vec<Resumption>,
    pub(crate) features: Vec<Feature>,
    pub(crate) chains: Vec<Chain>,
    pub(crate) findings: Vec<Finding>,
    /// Whether every question of the scan over TCP was answered. If not, `notes` has the reasons.
    pub(crate) complete: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) connections: u32,
    pub(crate) milliseconds: u64,
}

impl Report {
    /// Notes why values of this list, or their order, are unknown.
    pub(crate) fn note_list<T>(&mut self, list: &str, found: &Enumeration<T>) {
        if let Some(why) = &found.cut {
            self.notes.push(format!("{list}: the list may be incomplete: {why}"));
        } else if let Some(why) = &found.unordered {
            self.notes.push(format!("{list}: the order is unknown: {why}"));
        }
        self.complete &= found.cut.is_none() && found.unordered.is_none();
    }

    /// Notes why something is unknown.
    pub(crate) fn note_unknown(&mut self, what: &str, why: &str) {
        self.complete = false;
        self.notes.push(format!("{what}: {why}"));
    }

    /// Notes that a question was not answered, for this reason.
    pub(crate) fn note_unanswered(&mut self, what: &str, why: &str) {
        self.note_unknown(what, &format!("no answer: {why}"));
    }

    pub(crate) fn add_feature(
        &mut self,
        name: &'static str,
        supported: Option<bool>,
        detail: impl Into<String>,
    ) {
        self.features.push(Feature { name, supported, detail: detail.into() });
    }

    /// Adds a feature for which the server was asked.
    pub(crate) fn add_asked(&mut self, name: &'static str, support: Support) {
        match support {
            Ok((supported, detail)) => self.add_feature(name, Some(supported), detail),
            Err(why) => {
                self.note_unanswered(name, &why);
                self.add_feature(name, None, why);
            }
        }
    }
}

/// A protocol version, and whether the server accepts it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// `None` if the server did not answer.
    pub(crate) accepted: Option<bool>,
    /// The server's answer if the version is refused, such as `alert protocol_version`; if nothing
    /// is known, the reason.
    pub(crate) answer: Option<String>,
}

/// The cipher suites of a version, in the server's order if it has one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Suites {
    pub(crate) version: String,
    pub(crate) order: Order,
    /// Whether the server refused all remaining suites, so that none can be missing.
    pub(crate) complete: bool,
    pub(crate) suites: Vec<Suite>,
}

/// A cipher suite with the reasons why it is weak.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Suite {
    pub(crate) name: String,
    pub(crate) code: String,
    pub(crate) weak: Vec<&'static str>,
}

/// Groups, signature schemes or protocols of a version.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Names {
    pub(crate) version: String,
    pub(crate) order: Order,
    pub(crate) complete: bool,
    pub(crate) names: Vec<String>,
}

/// Whether sessions of a version can be resumed.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Resumption {
    pub(crate) version: String,
    /// The number of tickets after the handshake (TLS 1.3).
    pub(crate) tickets: Option<usize>,
    /// Whether the server issues tickets, or session IDs (TLS 1.2).
    pub(crate) issues_tickets: Option<bool>,
    pub(crate) issues_session_ids: Option<bool>,
    /// Whether a second connection resumed the session. `None` if that was not tried.
    pub(crate) resumed: Option<bool>,
    /// The number of early data bytes that the ticket allows (TLS 1.3).
    pub(crate) early_data_bytes: Option<u64>,
    /// Whether the server accepted early data; tried with --early-data only.
    pub(crate) early_data_accepted: Option<bool>,
    /// The reason why something is unknown.
    pub(crate) note: Option<String>,
}

/// Whether the server supports a feature, and the detail. The error is the reason why there is no
/// answer.
pub(crate) type Support = Result<(bool, String), String>;

/// A feature of the server with its state.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// `None` if the state is unknown or does not apply.
    pub(crate) supported: Option<bool>,
    pub(crate) detail: String,
}

/// A certificate chain as the server sent it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Chain {
    pub(crate) certificates: Vec<CertificateDescription>,
    /// Whether the chain is trusted for the server name. `None` with --insecure.
    pub(crate) trusted: Option<bool>,
    /// Whether the server proved that it has the key of the end-entity certificate. `None` if no
    /// handshake was completed with the certificate.
    pub(crate) key_proven: Option<bool>,
    pub(crate) ocsp_staple: bool,
    pub(crate) problems: Vec<Finding>,
}

/// A finding in plain language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(severity: Severity, text: impl Into<String>) -> Self {
        Self { severity, text: text.into() }
    }
}
