//! What is run against a peer beyond a plain handshake: one cell a feature, program and direction.
//!
//! Which features a program has, its own file in `programs/` says. This module must not know any
//! command line or how a cell is run. Next: `exchange.rs`, which runs them.

use std::fmt;

use crate::cells::Role;
use crate::terms::Version;

/// One feature of the protocol, with the part in it that can differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Feature {
    /// Every connection but the first resumes the session of the one before.
    Resumption(Sessions),
    /// Early data of every connection but the first is accepted.
    EarlyData,
    /// Every session but the first is resumed and its early data rejected, because of a retry.
    RejectedEarlyData,
    /// Each connection meets another server than the one before, which cannot open the ticket: there is
    /// neither resumption nor early data.
    ForgottenEarlyData,
    KeyUpdate(Update),
    /// The server's certificate is compressed. RFC 8879
    Compression(Compression),
    /// One side shows a public key in place of a certificate. RFC 7250
    RawKey(Owner),
    /// One side sends record_size_limit, the other heeds it. RFC 8449
    RecordSizeLimit(Owner),
}

/// How a session is kept between two connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sessions {
    /// TLS 1.2, with the client. RFC 5077
    Ticket,
    /// TLS 1.2, with the server. RFC 5246 7.3
    Id,
    /// TLS 1.3, with the client.
    Stateless,
    /// TLS 1.3, with the server: the ticket is a mere name.
    Stateful,
}

/// Who changes keys. RFC 9846 4.7.3
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    /// The subject, and it asks the peer to do the same.
    BySubject,
    /// The peer, for itself only.
    ByPeer,
    /// The peer, and it asks the subject to do the same.
    AskedByPeer,
}

/// A certificate compression algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    Zlib,
    Brotli,
}

/// Whose key, or whose limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Server,
    Client,
}

/// One run of a feature. The table is `Program::features`, asked for both roles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureCell {
    pub(crate) role: Role,
    pub(crate) feature: Feature,
}

impl Compression {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Brotli => "brotli",
        }
    }

    /// RFC 8879 7.3
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Zlib => 1,
            Self::Brotli => 2,
        }
    }
}

impl Feature {
    pub(crate) const ALL: [Self; 16] = [
        Self::Resumption(Sessions::Ticket),
        Self::Resumption(Sessions::Id),
        Self::Resumption(Sessions::Stateless),
        Self::Resumption(Sessions::Stateful),
        Self::EarlyData,
        Self::RejectedEarlyData,
        Self::ForgottenEarlyData,
        Self::KeyUpdate(Update::BySubject),
        Self::KeyUpdate(Update::ByPeer),
        Self::KeyUpdate(Update::AskedByPeer),
        Self::Compression(Compression::Zlib),
        Self::Compression(Compression::Brotli),
        Self::RawKey(Owner::Server),
        Self::RawKey(Owner::Client),
        Self::RecordSizeLimit(Owner::Server),
        Self::RecordSizeLimit(Owner::Client),
    ];

    /// All of resumption, which every peer has that can be asked for a second connection.
    pub(crate) const RESUMPTION: [Self; 4] = [
        Self::Resumption(Sessions::Ticket),
        Self::Resumption(Sessions::Id),
        Self::Resumption(Sessions::Stateless),
        Self::Resumption(Sessions::Stateful),
    ];

    /// As it is called in the names of cells, in the table, and by drivers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Resumption(Sessions::Ticket) => "resume-1.2-ticket",
            Self::Resumption(Sessions::Id) => "resume-1.2-id",
            Self::Resumption(Sessions::Stateless) => "resume-1.3-stateless",
            Self::Resumption(Sessions::Stateful) => "resume-1.3-stateful",
            Self::EarlyData => "early-data",
            Self::RejectedEarlyData => "early-data-rejected",
            Self::ForgottenEarlyData => "early-data-forgotten",
            Self::KeyUpdate(Update::BySubject) => "key-update-here",
            Self::KeyUpdate(Update::ByPeer) => "key-update-there",
            Self::KeyUpdate(Update::AskedByPeer) => "key-update-asked",
            Self::Compression(Compression::Zlib) => "certificate-zlib",
            Self::Compression(Compression::Brotli) => "certificate-brotli",
            Self::RawKey(Owner::Server) => "raw-key-of-server",
            Self::RawKey(Owner::Client) => "raw-key-of-client",
            Self::RecordSizeLimit(Owner::Server) => "record-limit-of-server",
            Self::RecordSizeLimit(Owner::Client) => "record-limit-of-client",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    pub(crate) fn version(self) -> Version {
        match self {
            Self::Resumption(Sessions::Ticket | Sessions::Id) => Version::Tls12,
            _ => Version::Tls13,
        }
    }

    /// Whether it is seen on connections that come back with the session of the one before.
    pub(crate) fn returns(self) -> bool {
        matches!(self, Self::Resumption(_)) || self.has_early_data()
    }

    /// Whether it is resumed then.
    pub(crate) fn resumes(self) -> bool {
        self.returns() && self != Self::ForgottenEarlyData
    }

    pub(crate) fn has_early_data(self) -> bool {
        matches!(self, Self::EarlyData | Self::RejectedEarlyData | Self::ForgottenEarlyData)
    }
}

impl fmt::Display for FeatureCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.feature.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_by_their_names_which_are_unique() {
        for feature in Feature::ALL {
            assert_eq!(Feature::named(feature.name()), Some(feature));
        }
        assert_eq!(Feature::named("resumption"), None);
    }
}
