//! The cells: what is done over connections, and how their facts show it.

use anyhow::{Context, Result, ensure};

use crate::facts::Facts;
use crate::options::Options;

/// The side of the Tercel endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Serve,
    Connect,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Connect => "connect",
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Serve => Self::Connect,
            Self::Connect => Self::Serve,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Handshake,
    Retry,
    HelloRetryRequest,
    Resumption,
    EarlyData,
    ChaCha20,
    /// Tercel updates the keys, or the other program.
    KeyUpdateHere,
    KeyUpdateThere,
    Http3,
    Version2,
    ClientCertificate,
    RefusedCertificate,
}

impl Cell {
    pub(crate) const ALL: [Self; 12] = [
        Self::Handshake,
        Self::Retry,
        Self::HelloRetryRequest,
        Self::Resumption,
        Self::EarlyData,
        Self::ChaCha20,
        Self::KeyUpdateHere,
        Self::KeyUpdateThere,
        Self::Http3,
        Self::Version2,
        Self::ClientCertificate,
        Self::RefusedCertificate,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Retry => "retry",
            Self::HelloRetryRequest => "hello-retry-request",
            Self::Resumption => "resumption",
            Self::EarlyData => "0-rtt",
            Self::ChaCha20 => "chacha20",
            Self::KeyUpdateHere => "key-update-here",
            Self::KeyUpdateThere => "key-update-there",
            Self::Http3 => "http3",
            Self::Version2 => "version-2",
            Self::ClientCertificate => "client-certificate",
            Self::RefusedCertificate => "refused-certificate",
        }
    }

    /// Sets the options of both endpoints.
    pub(crate) fn apply(self, options: &mut Options) {
        match self {
            Self::Retry => options.retry = true,
            Self::HelloRetryRequest => options.p384 = true,
            Self::Resumption => options.connections = 2,
            Self::EarlyData => (options.connections, options.early_data) = (2, true),
            Self::ChaCha20 => options.chacha20 = true,
            Self::Http3 => options.alpn = "h3".to_owned(),
            Self::Version2 => options.version2 = true,
            // One side has other options than the other: `run.rs`.
            Self::Handshake
            | Self::KeyUpdateHere
            | Self::KeyUpdateThere
            | Self::ClientCertificate
            | Self::RefusedCertificate => {}
        }
    }

    /// The number of connections.
    pub(crate) fn connections(self) -> usize {
        let mut options = Options { connections: 1, ..Options::default() };
        self.apply(&mut options);
        options.connections
    }

    /// Checks the facts of all connections that an endpoint printed. A program that is not
    /// `complete` may not know some facts; those that it prints have to be right.
    pub(crate) fn check(self, lines: &[Facts], complete: bool) -> Result<()> {
        let count = self.connections();
        ensure!(lines.len() == count, "{} connections instead of {count}", lines.len());
        for (number, facts) in lines.iter().enumerate() {
            let checked = self.check_one(facts, number > 0, complete);
            checked.with_context(|| format!("connection {}: {facts}", number + 1))?;
        }
        Ok(())
    }

    fn check_one(self, facts: &Facts, is_later: bool, complete: bool) -> Result<()> {
        if self == Self::RefusedCertificate {
            let code = facts.get("code").and_then(|code| code.strip_prefix("0x"));
            let code = code.and_then(|code| u64::from_str_radix(code, 16).ok());
            let is_alert = code.is_some_and(|code| (0x0100..0x0200).contains(&code));
            ensure!(is_alert || (!complete && code.is_none()), "no code of an alert");
            ensure!(facts.number("exchanges").is_none_or(|count| count == 0), "an exchange");
            return Ok(());
        }
        let failure = facts.get("failed").or_else(|| facts.get("code"));
        ensure!(failure.is_none(), "failed: {}", failure.unwrap_or_default());
        let flag = |name: &str, wanted: bool| -> Result<()> {
            match facts.number(name) {
                Some(value) => ensure!((value > 0) == wanted, "{name} is {value}"),
                None => ensure!(!complete, "{name} is missing"),
            }
            Ok(())
        };
        flag("exchanges", true)?;
        flag("retry", self == Self::Retry)?;
        flag("hello-retry", self == Self::HelloRetryRequest)?;
        // rustls does not report resumption to quinn.
        let resumes = is_later && matches!(self, Self::Resumption | Self::EarlyData);
        if facts.get("resumed").is_some() {
            flag("resumed", resumes)?;
        }
        flag("early", is_later && self == Self::EarlyData)?;
        if is_later && self == Self::EarlyData {
            flag("early-packets", true)?;
        }
        // Some libraries update their keys by themselves, so other cells may have updates, too.
        match self {
            Self::KeyUpdateHere if complete => flag("updates-here", true)?,
            Self::KeyUpdateThere if complete => flag("updates-there", true)?,
            _ => {}
        }
        flag("certificates", self == Self::ClientCertificate)?;
        if self == Self::ChaCha20 {
            let suite = facts.get("suite");
            ensure!(suite.is_none_or(|suite| suite == "1303"), "the suite is {suite:?}");
        }
        if self == Self::HelloRetryRequest {
            let group = facts.get("group");
            ensure!(group.is_none_or(|group| group == "0018"), "the group is {group:?}");
        }
        if self == Self::Version2 {
            let version = facts.get("version");
            ensure!(version.is_none_or(|version| version == "2"), "the version is {version:?}");
        }
        let protocol = facts.get("protocol");
        if self == Self::Http3 {
            ensure!(protocol.is_none_or(|protocol| protocol == "h3"), "{protocol:?}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(changes: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        for name in ["retry", "hello-retry", "resumed", "early", "early-packets", "certificates"] {
            facts.set(name, 0);
        }
        facts.set("exchanges", 1);
        facts.set("updates-here", 0);
        facts.set("updates-there", 0);
        changes.iter().for_each(|(name, value)| facts.set(name, value));
        facts
    }

    #[test]
    fn each_cell_needs_its_fact() {
        let plain = complete(&[]);
        let alone = std::slice::from_ref(&plain);
        assert!(Cell::Handshake.check(alone, true).is_ok());
        let cells = [
            (Cell::Retry, ("retry", "1")),
            (Cell::HelloRetryRequest, ("hello-retry", "1")),
            (Cell::KeyUpdateHere, ("updates-here", "1")),
            (Cell::KeyUpdateThere, ("updates-there", "1")),
            (Cell::ClientCertificate, ("certificates", "1")),
            (Cell::RefusedCertificate, ("code", "0x0130")),
        ];
        for (cell, change) in cells {
            let mut facts = complete(&[change]);
            if cell == Cell::RefusedCertificate {
                facts.set("exchanges", 0);
            }
            cell.check(&[facts.clone()], true).unwrap();
            assert!(cell.check(alone, true).is_err(), "{cell:?}");
            assert!(cell.check(&[], false).is_err(), "{cell:?}");
            if !matches!(cell, Cell::KeyUpdateHere | Cell::KeyUpdateThere) {
                assert!(Cell::Handshake.check(&[facts], true).is_err(), "{cell:?}");
            }
        }
        for cell in [Cell::Resumption, Cell::EarlyData] {
            assert!(cell.check(&[plain.clone(), plain.clone()], true).is_err(), "{cell:?}");
        }
        let early = complete(&[("resumed", "1"), ("early", "1"), ("early-packets", "2")]);
        assert!(Cell::EarlyData.check(&[plain.clone(), early.clone()], true).is_ok());
        assert!(Cell::Resumption.check(&[plain.clone(), early], true).is_err());
        assert!(Cell::Handshake.check(&[complete(&[("failed", "why")])], true).is_err());
    }
}
