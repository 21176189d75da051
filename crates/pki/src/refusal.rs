//! The refusal of a chain: the reason, and the details needed to explain it.
//!
//! The reason alone is small and `Copy`, and is a part of errors ([`RefusalReason`], in
//! [`crate::reason`]). The refusal is large and made only when a handshake has failed.
//! [`crate::verifier`] determines the reason.

use std::fmt;

use pki_types::{CertificateDer, UnixTime};

use crate::certificate::{Certificate, escape_untrusted};
use crate::chain_end::ChainEnd;
use crate::reason::RefusalReason;
use crate::server_name::ServerName;
use crate::time::ReadableTime;

/// A refused chain with the reason, for diagnosis. Its `Display` is one line.
#[derive(Clone)]
#[non_exhaustive]
pub struct Refusal {
    /// The reason, for programs.
    pub reason: RefusalReason,
    /// The chain as sent by the peer, leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The names for which the leaf is valid: DNS names, then IP addresses.
    pub names: Vec<String>,
    /// The requested name, if any.
    pub requested_name: Option<ServerName<'static>>,
    /// The position in the chain of the certificate at fault, 0 for the leaf, if the reason is
    /// about one certificate.
    pub position: Option<usize>,
    /// Where the chain ended, if no trust anchor issued it.
    pub chain_end: Option<ChainEnd>,
    /// The time of verification.
    pub time: UnixTime,
    /// The explanation of an application's verifier, printed at the end with control characters
    /// escaped.
    pub explanation: Option<String>,
}

impl Refusal {
    /// A refusal of this chain. The names and the certificate at fault are found by parsing the
    /// chain again.
    #[must_use]
    pub fn new(
        reason: RefusalReason,
        chain: &[CertificateDer<'_>],
        requested_name: Option<&ServerName<'_>>,
        time: UnixTime,
    ) -> Self {
        let names = chain
            .first()
            .and_then(|leaf| Certificate::parse(leaf).ok())
            .map_or_else(Vec::new, |leaf| leaf.names());
        Self {
            reason,
            chain: chain.iter().map(|der| der.clone().into_owned()).collect(),
            names,
            requested_name: requested_name.map(ServerName::to_owned),
            position: position(reason, chain),
            chain_end: None,
            time,
            explanation: None,
        }
    }

    /// Adds the verifier's explanation, which is printed at the end. It is not sent to the
    /// peer.
    #[must_use]
    pub fn with_explanation(mut self, text: impl Into<String>) -> Self {
        self.explanation = Some(text.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            _ if self.reason == RefusalReason::NameMismatch => self.write_names(f)?,
            Some(position) if position > 0 => {
                let (ordinal, length) = (position + 1, self.chain.len());
                write!(f, "certificate {ordinal} of {length}: {}", self.reason)?;
            }
            _ => write!(f, "{}", self.reason)?,
        }
        if let Some(detail) = self.detail() {
            write!(f, ": {detail}")?;
        }
        if let RefusalReason::Expired { .. }
        | RefusalReason::NotYetValid { .. }
        | RefusalReason::AuthorityExpired { .. }
        | RefusalReason::AuthorityNotYetValid { .. }
        | RefusalReason::StapleExpired { .. }
        | RefusalReason::StapleNotYetValid { .. } = self.reason
        {
            write!(f, "; it is {} now", ReadableTime(self.time))?;
        }
        if let Some(end) = &self.chain_end {
            write!(f, "{end}")?;
        }
        match &self.explanation {
            // The explanation may quote text from the peer.
            Some(text) => write!(f, ": {}", escape_untrusted(text)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

/// Omits the certificates themselves.
impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal")
            .field("reason", &self.reason)
            .field("certificates", &self.chain.len())
            .field("names", &self.names)
            .field("requested_name", &self.requested_name)
            .field("position", &self.position)
            .field("chain_end", &self.chain_end)
            .field("time", &self.time)
            .field("explanation", &self.explanation)
            .finish()
    }
}

impl Refusal {
    /// The name of what is not supported.
    fn detail(&self) -> Option<String> {
        let mut certificates = self.chain.iter().filter_map(|der| Certificate::parse(der).ok());
        match self.reason {
            RefusalReason::UnsupportedCriticalExtension => {
                certificates.find_map(|certificate| certificate.unsupported_extension())
            }
            RefusalReason::UnsupportedNameConstraint => {
                let leaf = Certificate::parse(self.chain.first()?).ok()?;
                let form = certificates.find_map(|issuer| {
                    leaf.unsupported_form(issuer.name_constraints().ok().flatten()?)
                });
                form.map(|form| format!("the form {form} is not supported"))
            }
            _ => None,
        }
    }

    fn write_names(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.requested_name {
            Some(name) => write!(f, "the certificate is not valid for {}", name.to_str())?,
            None => write!(f, "{}", self.reason)?,
        }
        if let Some(ServerName::IpAddress(address)) = &self.requested_name {
            // Had it been an iPAddress, the certificate would be valid for it.
            let text = address.to_string();
            if self.names.contains(&text) {
                return f.write_str("; it has this address as a DNS name, which is not accepted");
            }
        }
        if let Some(ServerName::DnsName(name)) = &self.requested_name {
            let is_dotted = |own: &String| {
                own.strip_suffix('.').is_some_and(|own| own.eq_ignore_ascii_case(name.as_ref()))
            };
            if self.names.iter().any(is_dotted) {
                return f.write_str("; it has this name with a final dot, which is not accepted");
            }
        }
        let Some((first, others)) = self.names.split_first() else {
            return f.write_str("; it has no DNS name and no IP address");
        };
        write!(f, "; it is valid for {first}")?;
        for name in others.iter().take(MAX_NAMES_PRINTED - 1) {
            write!(f, ", {name}")?;
        }
        match others.len().saturating_sub(MAX_NAMES_PRINTED - 1) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The position of the first certificate whose validity matches the reason. It is searched for,
/// because path building does not report a position.
fn position(reason: RefusalReason, chain: &[CertificateDer<'_>]) -> Option<usize> {
    let at_fault = |certificate: &Certificate<'_>| match reason {
        RefusalReason::Expired { not_after } => certificate.not_after == not_after,
        RefusalReason::NotYetValid { not_before } => certificate.not_before == not_before,
        RefusalReason::UnsupportedCriticalExtension => {
            certificate.unsupported_extension().is_some()
        }
        _ => false,
    };
    if reason == RefusalReason::CertificateTooLarge {
        return chain.iter().position(|der| der.len() > MAX_CERTIFICATE_LENGTH);
    }
    chain
        .iter()
        .position(|der| Certificate::parse(der).is_ok_and(|certificate| at_fault(&certificate)))
}

/// The maximum length of a certificate's content that path building reads.
pub(crate) const MAX_CERTIFICATE_LENGTH: usize = 0xffff;

/// The maximum number of names in a message; a certificate may have hundreds.
const MAX_NAMES_PRINTED: usize = 8;
