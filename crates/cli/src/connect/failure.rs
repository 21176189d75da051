//! The reason why a connection failed, for people and as JSON.

use std::fmt;
use std::io;

use serde::Serialize;
use tercel::ech::ConfigList;
use tercel::pki::Refusal;
use tercel::{Error, Handshake, ServerName};

use crate::certificates::{CertificateDescription, describe_chain};
use crate::explain::{self, Fault, UsageError};
#[cfg(feature = "http3")]
use crate::http3;
use crate::output;
use crate::starttls;

/// A failure with its reason.
#[derive(Debug)]
pub(crate) struct Failure {
    reason: Reason,
    text: String,
    /// The name of the server's alert.
    alert: Option<String>,
    /// The refused certificates.
    pub(crate) refusal: Option<Refusal>,
    /// What the server that rejected Encrypted ClientHello has sent for a second attempt.
    pub(crate) ech_retry_configs: Option<ConfigList>,
}

/// The reason of a failure. Its names in JSON are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reason {
    /// Options that do not fit together.
    Usage,
    /// A file or an option cannot be used.
    Configuration,
    /// The host is unknown, or no TCP connection was made, or nothing listens on the UDP port.
    Connect,
    /// TLS was not started.
    Starttls,
    /// The server's certificate was refused.
    Certificate,
    /// The server sent a fatal alert.
    Alert,
    /// The server closed the connection in the handshake.
    Closed,
    /// The server sent something other than TLS.
    NotTls,
    /// The server rejected Encrypted ClientHello twice.
    EchRejected,
    /// The handshake took too long.
    TimedOut,
    /// The handshake failed for another reason.
    Handshake,
}

/// The JSON of a failure. The keys are stable.
#[derive(Debug, Serialize)]
struct JsonFailure {
    error: String,
    reason: Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    alert: Option<String>,
    /// The name of a `RefusalReason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    certificates: Vec<CertificateDescription>,
}

impl Failure {
    pub(crate) fn new(reason: Reason, error: &impl ToString) -> Self {
        let text = error.to_string();
        Self { reason, text, alert: None, refusal: None, ech_retry_configs: None }
    }

    /// An alert that follows the client's handshake.
    pub(crate) fn of_alert(error: Error) -> Self {
        let alert = match error {
            Error::AlertReceived(alert) => Some(alert.to_string()),
            _ => None,
        };
        Self { alert, ..Self::new(Reason::Alert, &explain::tls(error)) }
    }

    /// The failure of a handshake. `after_starttls` is set if a plaintext dialogue preceded it.
    pub(crate) fn of_handshake(
        error: &io::Error,
        handshake: &Handshake,
        after_starttls: bool,
    ) -> Self {
        let inner = error.get_ref();
        let fault = inner.and_then(|inner| inner.downcast_ref::<Fault>());
        if let (Some(Fault::NotTls(answer)), true) = (fault, after_starttls) {
            return Self::new(Reason::Starttls, &starttls::StarttlsError::injected(answer));
        }
        let (reason, alert) = match (inner.and_then(|inner| inner.downcast_ref::<Error>()), fault) {
            (Some(Error::Refused(_)), _) => (Reason::Certificate, None),
            (Some(Error::EchRejected), _) => (Reason::EchRejected, None),
            (Some(Error::AlertReceived(alert)), _) => (Reason::Alert, Some(alert.to_string())),
            (Some(Error::Truncated | Error::ClosedInHandshake), _) => (Reason::Closed, None),
            (_, Some(Fault::Closed)) => (Reason::Closed, None),
            (_, Some(Fault::NotTls(_))) => (Reason::NotTls, None),
            _ if explain::is_timeout(error) => (Reason::TimedOut, None),
            _ => (Reason::Handshake, None),
        };
        let text = explain::handshake(error, handshake);
        let ech_retry_configs = handshake.ech_retry_configs().cloned();
        Self { reason, text, alert, refusal: handshake.refusal().cloned(), ech_retry_configs }
    }

    /// Explains a refusal that concerns the public name of an offer, not the server's name.
    pub(crate) fn of_server(mut self, name: &ServerName<'_>) -> Self {
        let of_public_name = self.refusal.as_ref().filter(|refusal| {
            refusal.requested_name.as_ref().is_some_and(|requested| requested != name)
        });
        if let Some(refusal) = of_public_name {
            self.text = explain::refused_public_name(refusal);
        }
        self
    }
}

#[cfg(feature = "http3")]
impl From<http3::Failure> for Failure {
    fn from(failure: http3::Failure) -> Self {
        let alert = failure.alert().map(|alert| alert.to_string());
        let reason = match &failure {
            _ if alert.is_some() => Reason::Alert,
            http3::Failure::Tls(failure) if failure.refusal.is_some() => Reason::Certificate,
            http3::Failure::Tls(failure) if failure.ended.error == Error::EchRejected => {
                Reason::EchRejected
            }
            http3::Failure::Tls(_) => Reason::Handshake,
            http3::Failure::Quic(error) => match error {
                quinn::ConnectionError::ConnectionClosed(_)
                | quinn::ConnectionError::ApplicationClosed(_) => Reason::Closed,
                _ => Reason::Handshake,
            },
            http3::Failure::Refused | http3::Failure::Local(_) => Reason::Connect,
            http3::Failure::TimedOut => Reason::TimedOut,
        };
        let text = failure.to_string();
        let (refusal, ech_retry_configs) = match failure {
            http3::Failure::Tls(failure) => (failure.refusal, failure.ech_retry_configs),
            _ => (None, None),
        };
        Self { reason, text, alert, refusal, ech_retry_configs }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Prints an error as JSON on standard output.
pub(crate) fn print_json(error: &anyhow::Error) {
    let failure = error.downcast_ref::<Failure>();
    let refusal = failure.and_then(|failure| failure.refusal.as_ref());
    let json = JsonFailure {
        error: explain::chain(error),
        reason: match failure {
            Some(failure) => failure.reason,
            None if error.is::<UsageError>() => Reason::Usage,
            None => Reason::Configuration,
        },
        alert: failure.and_then(|failure| failure.alert.clone()),
        refusal: refusal.map(|refusal| variant_name(refusal.reason)),
        certificates: refusal.map_or_else(Vec::new, |refusal| describe_chain(&refusal.chain)),
    };
    if let Ok(text) = serde_json::to_string(&json) {
        // The error itself is printed on standard error, whether this succeeds or not.
        let _ = output::print(text + "\n");
    }
}

/// The name of an enumeration's variant, without its fields.
fn variant_name(value: impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.chars().take_while(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tercel::pki::RefusalReason;

    #[test]
    fn reasons_of_refusals_have_short_names() {
        assert_eq!(variant_name(RefusalReason::ByVerifier { alert: 1 }), "ByVerifier");
        assert_eq!(variant_name(RefusalReason::SelfSigned), "SelfSigned");
    }
}
