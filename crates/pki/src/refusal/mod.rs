//! What is kept of a chain that was refused: the reason, and what is needed to explain it.
//!
//! The reason alone is small and `Copy` and travels in errors ([`RefusalReason`], in [`reason`]); this is the big value
//! beside it, made only when a handshake has failed anyway. How reasons come about: [`crate::verifier`].

mod from_path_building;
mod reason;

use std::fmt;

use pki_types::{CertificateDer, ServerName, UnixTime};

use crate::certificate::Certificate;
use crate::time::ReadableTime;

pub use reason::RefusalReason;

/// A chain that was refused, why, and what a person needs to put it right. Its `Display` is one line.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Why, in a form to decide by.
    pub reason: RefusalReason,
    /// The chain as it was presented, leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The names the leaf is valid for: DNS names, then IP addresses.
    pub names: Vec<String>,
    /// The name that was asked for, if one was.
    pub wanted: Option<ServerName<'static>>,
    /// Which certificate of the chain is at fault, counted from the leaf at 0, where the reason has one.
    pub position: Option<usize>,
    /// The moment the chain was verified for.
    pub time: UnixTime,
}

impl Refusal {
    pub(crate) fn new(
        reason: RefusalReason,
        chain: &[CertificateDer<'_>],
        wanted: Option<&ServerName<'_>>,
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
            wanted: wanted.map(ServerName::to_owned),
            position: position(reason, chain),
            time,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reason == RefusalReason::NameMismatch {
            return self.explain_names(f);
        }
        match self.position {
            Some(position) if position > 0 => {
                let (ordinal, length) = (position + 1, self.chain.len());
                write!(f, "certificate {ordinal} of {length}: {}", self.reason)?;
            }
            _ => write!(f, "{}", self.reason)?,
        }
        if let RefusalReason::Expired { .. }
        | RefusalReason::NotYetValid { .. }
        | RefusalReason::StapleExpired { .. }
        | RefusalReason::StapleNotYetValid { .. } = self.reason
        {
            write!(f, "; it is {} now", ReadableTime(self.time))?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    fn explain_names(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wanted {
            Some(wanted) => write!(f, "the certificate is not valid for {}", wanted.to_str())?,
            None => write!(f, "{}", self.reason)?,
        }
        let Some((first, others)) = self.names.split_first() else {
            return f.write_str("; it has no DNS name and no IP address");
        };
        write!(f, "; it is valid for {first}")?;
        for name in others.iter().take(NAMES_PRINTED - 1) {
            write!(f, ", {name}")?;
        }
        match others.len().saturating_sub(NAMES_PRINTED - 1) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The first certificate whose validity is the one complained about. Path building does not say which it was.
fn position(reason: RefusalReason, chain: &[CertificateDer<'_>]) -> Option<usize> {
    let at_fault = |certificate: &Certificate<'_>| match reason {
        RefusalReason::Expired { not_after } => certificate.not_after == not_after,
        RefusalReason::NotYetValid { not_before } => certificate.not_before == not_before,
        _ => false,
    };
    chain
        .iter()
        .position(|der| Certificate::parse(der).is_ok_and(|certificate| at_fault(&certificate)))
}

/// A certificate may carry hundreds of names; an error message should not.
const NAMES_PRINTED: usize = 8;
