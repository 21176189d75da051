//! The parameters of cells: versions, suites, groups.
//!
//! There is one table per kind, so that a suite or a group is added as a line. Names of OpenSSL
//! that differ from IANA's are in the tables, because four of the programs use them.

use std::fmt;

pub(crate) use tercel_harness::pki::Key;

/// A protocol version that Tercel supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Tls12,
    Tls13,
}

impl Version {
    pub(crate) const ALL: [Self; 2] = [Self::Tls12, Self::Tls13];

    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Tls12 => 0x0303,
            Self::Tls13 => 0x0304,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Tls12 => Self::Tls13,
            Self::Tls13 => Self::Tls12,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "1.2",
            Self::Tls13 => "1.3",
        })
    }
}

/// A cipher suite.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) openssl: &'static str,
    pub(crate) code: u16,
    pub(crate) version: Version,
    /// The key of the certificate: required by a TLS 1.2 suite, only a choice with TLS 1.3.
    pub(crate) key: Key,
}

/// A named group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) openssl: &'static str,
    pub(crate) code: u16,
    /// Hybrid groups exist in TLS 1.3 only.
    pub(crate) hybrid: bool,
}

pub(crate) fn suites(version: Version) -> impl Iterator<Item = &'static Suite> {
    SUITES.iter().filter(move |suite| suite.version == version)
}

pub(crate) fn group(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name.eq_ignore_ascii_case(name))
}

pub(crate) fn key(name: &str) -> Option<Key> {
    Key::ALL.into_iter().find(|key| key.name() == name)
}

pub(crate) fn all_groups() -> Vec<&'static Group> {
    GROUPS.iter().collect()
}

pub(crate) fn classic_groups() -> Vec<&'static Group> {
    GROUPS.iter().filter(|group| !group.hybrid).collect()
}

#[rustfmt::skip]
static SUITES: [Suite; 9] = {
    use Key::{P256, Rsa2048};
    use Version::{Tls12, Tls13};
    const fn suite(code: u16, version: Version, key: Key, name: &'static str, openssl: &'static str) -> Suite {
        Suite { name, openssl, code, version, key }
    }
    [
        suite(0x1301, Tls13, Rsa2048, "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        suite(0x1302, Tls13, P256, "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
        suite(0x1303, Tls13, P256, "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256"),
        suite(0xc02b, Tls12, P256, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        suite(0xc02c, Tls12, P256, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"),
        suite(0xcca9, Tls12, P256, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        suite(0xc02f, Tls12, Rsa2048, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        suite(0xc030, Tls12, Rsa2048, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        suite(0xcca8, Tls12, Rsa2048, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
    ]
};

#[rustfmt::skip]
static GROUPS: [Group; 7] = [
    Group { name: "x25519", openssl: "X25519", code: 0x001d, hybrid: false },
    Group { name: "secp256r1", openssl: "P-256", code: 0x0017, hybrid: false },
    Group { name: "secp384r1", openssl: "P-384", code: 0x0018, hybrid: false },
    Group { name: "secp521r1", openssl: "P-521", code: 0x0019, hybrid: false },
    Group { name: "X25519MLKEM768", openssl: "X25519MLKEM768", code: 0x11ec, hybrid: true },
    Group { name: "SecP256r1MLKEM768", openssl: "SecP256r1MLKEM768", code: 0x11eb, hybrid: true },
    Group { name: "SecP384r1MLKEM1024", openssl: "SecP384r1MLKEM1024", code: 0x11ed, hybrid: true },
];
