//! The cells of features beyond a plain handshake: one per feature, program and role.
//!
//! The module of each program in `programs/` lists its features.

use std::fmt;

use crate::cells::Role;
use crate::parameters::{Group, Version, group};

/// A protocol feature, with its variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Feature {
    /// Each connection but the first resumes the session of the previous connection.
    Resumption(Sessions),
    /// Early data of each connection but the first is accepted.
    EarlyData,
    /// Each session but the first is resumed, and its early data is rejected because of a retry.
    RejectedEarlyData,
    /// Each connection reaches a different server than the previous connection. This server cannot
    /// open the ticket, so there is neither resumption nor early data.
    EarlyDataAtOtherServer,
    KeyUpdate(Update),
    /// The server's certificate is compressed. RFC 8879
    Compression(Compression),
    /// One side sends a public key instead of a certificate. RFC 7250
    RawKey(Owner),
    /// One side sends record_size_limit, and the other obeys it. RFC 8449
    RecordSizeLimit(Owner),
}

/// The version of a session, and the side that stores it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sessions {
    /// TLS 1.2, in a ticket at the client. RFC 5077
    Ticket,
    /// TLS 1.2, at the server. RFC 5246 7.3
    Id,
    /// TLS 1.3, in a ticket at the client.
    Stateless,
    /// TLS 1.3, at the server: the ticket is only the session's name.
    Stateful,
}

/// The side that updates its keys. RFC 9846 4.7.3
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    /// The subject updates its keys, and requests that the peer does so too.
    BySubject,
    /// The peer updates its keys, and does not request an update.
    ByPeer,
    /// The peer updates its keys, and requests that the subject does so too.
    AskedByPeer,
}

/// A certificate compression algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compression {
    Zlib,
    Brotli,
}

/// The side that has a raw key or a record size limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    Server,
    Client,
}

/// One test of a feature. `Program::features` lists the features for both roles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeatureCell {
    pub(crate) role: Role,
    pub(crate) feature: Feature,
    /// The client's only group, if it is limited.
    pub(crate) client_group: Option<&'static Group>,
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
        Self::EarlyDataAtOtherServer,
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

    /// All kinds of resumption. Each peer that can make a second connection has them.
    pub(crate) const RESUMPTION: [Self; 4] = [
        Self::Resumption(Sessions::Ticket),
        Self::Resumption(Sessions::Id),
        Self::Resumption(Sessions::Stateless),
        Self::Resumption(Sessions::Stateful),
    ];

    /// The name of the feature in cells, in the matrix, and in the command line of drivers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Resumption(Sessions::Ticket) => "resume-1.2-ticket",
            Self::Resumption(Sessions::Id) => "resume-1.2-id",
            Self::Resumption(Sessions::Stateless) => "resume-1.3-stateless",
            Self::Resumption(Sessions::Stateful) => "resume-1.3-stateful",
            Self::EarlyData => "early-data",
            Self::RejectedEarlyData => "early-data-rejected",
            Self::EarlyDataAtOtherServer => "early-data-other-server",
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

    /// With the option `--fips`, the client's only group, so that its first ClientHello has a key
    /// share that the server supports. Otherwise most connections have a retry: other clients send
    /// a share of X25519, and Tercel sends one of X25519MLKEM768. A retry rules out early data, and
    /// Java's server removes a session with it.
    pub(crate) fn client_group(self, role: Role) -> Option<&'static Group> {
        let needs_share = match (self, role) {
            (Self::RejectedEarlyData, _) => false,
            (_, Role::Serve) => self.has_early_data(),
            (_, Role::Connect) => self.version() == Version::Tls13,
        };
        group("secp256r1").filter(|_| needs_share)
    }

    /// Whether the feature is tested on connections that offer the session of the previous
    /// connection.
    pub(crate) fn uses_sessions(self) -> bool {
        matches!(self, Self::Resumption(_)) || self.has_early_data()
    }

    /// Whether the connections resume the session that they offer.
    pub(crate) fn resumes(self) -> bool {
        self.uses_sessions() && self != Self::EarlyDataAtOtherServer
    }

    pub(crate) fn has_early_data(self) -> bool {
        matches!(self, Self::EarlyData | Self::RejectedEarlyData | Self::EarlyDataAtOtherServer)
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
    fn feature_names_are_unique_and_parsed() {
        for feature in Feature::ALL {
            assert_eq!(Feature::named(feature.name()), Some(feature));
        }
        assert_eq!(Feature::named("resumption"), None);
    }
}
