//! The cells of handshakes that are run against a peer.
//!
//! The cells are not the product of all options. Each peer gets every pair of version and key, then
//! each suite and each group at least once per version and role, then client certificates, then
//! refusals. `run.rs` runs a cell.

use std::fmt;

use crate::parameters::{Group, Key, Suite, Version, suites};
use crate::programs::{Abilities, ClientAuth, RecordSize};

/// The role of the subject (Tercel) in a cell. The peer has the other role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Serve,
    Connect,
}

/// The side whose options limit version, suite and group. The other side keeps its defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LimitedBy {
    Peer,
    Subject,
    /// Neither side: both use their defaults.
    Neither,
}

/// Whether the client of a cell has a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    /// The server does not request a certificate.
    Anonymous,
    /// The server requests a certificate but does not require it, and gets none.
    Declined,
    /// The server requires a certificate and gets it.
    Certified(Key),
}

/// A fault for which one side must refuse the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Expired,
    OtherName,
    UnknownAuthority,
    NoCommonVersion,
    NoClientCertificate,
    UnknownClientAuthority,
    /// The peer offers or accepts nothing that the option `fips` of the subject allows.
    NotApproved,
    /// The peer is a TLS 1.2 server without the extended main secret, which the option requires.
    NoExtendedMainSecret,
}

/// One test of the subject against a peer.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) role: Role,
    pub(crate) version: Version,
    pub(crate) key: Key,
    pub(crate) limited_by: LimitedBy,
    pub(crate) suite: Option<&'static Suite>,
    pub(crate) group: Option<&'static Group>,
    pub(crate) client: Client,
    /// Whether the client checks the address 127.0.0.1 instead of a name.
    pub(crate) by_address: bool,
    /// The size to which the peer is configured to limit the records that it sends or receives.
    pub(crate) record_size: Option<u16>,
    /// Whether the server must send a HelloRetryRequest.
    pub(crate) retry: bool,
    pub(crate) fault: Option<Fault>,
}

impl Fault {
    /// The faults for any subject.
    const ALL: [Self; 6] = [
        Self::Expired,
        Self::OtherName,
        Self::UnknownAuthority,
        Self::NoCommonVersion,
        Self::NoClientCertificate,
        Self::UnknownClientAuthority,
    ];

    pub(crate) fn refused_by_client(self) -> bool {
        matches!(
            self,
            Self::Expired | Self::OtherName | Self::UnknownAuthority | Self::NoExtendedMainSecret
        )
    }

    /// The alert descriptions that RFC 9846 6.2 and RFC 5246 7.2.2 allow, for an alert that is sent
    /// before encryption.
    pub(crate) fn alerts(self) -> &'static [u8] {
        match self {
            Self::Expired => &[45],             // certificate_expired
            Self::OtherName => &[42, 46],       // bad_certificate, certificate_unknown
            Self::UnknownAuthority => &[48],    // unknown_ca
            Self::NoCommonVersion => &[70],     // protocol_version
            Self::NoClientCertificate => &[40], // handshake_failure; RFC 5246 7.4.6
            // The alert is unknown_ca. If the client has no certificate of the authorities that the
            // server named, it sends none, and the alert is handshake_failure.
            Self::UnknownClientAuthority => &[48, 40],
            // handshake_failure; RFC 7627 5.3
            Self::NotApproved | Self::NoExtendedMainSecret => &[40],
        }
    }

    /// The words that must be in the error of a client that names causes: at least one word of each
    /// list.
    pub(crate) fn error_words(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Expired => &[&["expired"]],
            // The list of the expected name, and the list of the names in the certificate.
            Self::OtherName => &[&["localhost"], &["other.example"]],
            Self::UnknownAuthority => &[&["unknown", "untrusted", "not trusted"]],
            Self::NoCommonVersion => &[&["version", "alert"]],
            Self::NoExtendedMainSecret => &[&["extended main secret"]],
            // Some servers send an alert, and others only close the connection.
            Self::NoClientCertificate | Self::UnknownClientAuthority => {
                &[&["alert", "closed", "ended", "eof", "reset", "truncat"]]
            }
            // wolfSSL sends a HelloRetryRequest without a group.
            Self::NotApproved => &[&["alert", "closed", "ended", "eof", "helloretryrequest"]],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::OtherName => "other-name",
            Self::UnknownAuthority => "unknown-ca",
            Self::NoCommonVersion => "no-common-version",
            Self::NoClientCertificate => "no-client-certificate",
            Self::UnknownClientAuthority => "unknown-client-ca",
            Self::NotApproved => "not-approved",
            Self::NoExtendedMainSecret => "no-extended-main-secret",
        }
    }
}

impl Cell {
    fn plain(role: Role, version: Version, key: Key) -> Self {
        Self {
            role,
            version,
            key,
            limited_by: LimitedBy::Peer,
            suite: None,
            group: None,
            client: Client::Anonymous,
            by_address: false,
            record_size: None,
            retry: false,
            fault: None,
        }
    }

    /// Whether the cell limits neither suite nor group, uses a common key, and has no fault.
    pub(crate) fn is_usual(&self) -> bool {
        self.suite.is_none() && Key::COMMON.contains(&self.key) && self.fault.is_none()
    }

    /// The category of the cell, one of [`CATEGORIES`].
    pub(crate) fn category(&self) -> &'static str {
        let (tls12, tls13) = match (self.fault, self.client) {
            (Some(_), _) => ("refusal-1.2", "refusal-1.3"),
            (None, Client::Certified(_) | Client::Declined) => {
                ("client-certificate-1.2", "client-certificate-1.3")
            }
            (None, Client::Anonymous) => ("handshake-1.2", "handshake-1.3"),
        };
        if self.version == Version::Tls12 { tls12 } else { tls13 }
    }

    pub(crate) fn client_auth(&self) -> ClientAuth {
        match (self.client, self.fault) {
            (_, Some(Fault::NoClientCertificate | Fault::UnknownClientAuthority))
            | (Client::Certified(_), _) => ClientAuth::Required,
            (Client::Declined, _) => ClientAuth::Optional,
            (Client::Anonymous, _) => ClientAuth::None,
        }
    }
}

/// The categories of cells in the matrix.
pub(crate) const CATEGORIES: [&str; 6] = [
    "handshake-1.2",
    "handshake-1.3",
    "client-certificate-1.2",
    "client-certificate-1.3",
    "refusal-1.2",
    "refusal-1.3",
];

/// All cells of a subject and a peer with these abilities.
pub(crate) fn cells(subject: &Abilities, peer: &Abilities) -> Vec<Cell> {
    let roles = [(Role::Serve, peer.connects), (Role::Connect, peer.serves)];
    let peer = &Abilities { groups: shared(&subject.groups, &peer.groups), ..peer.clone() };
    let mut cells = Vec::new();
    for (role, _) in roles.into_iter().filter(|(_, possible)| *possible) {
        for &version in &peer.versions {
            let keys = peer.keys.iter().filter(|&&key| usable(key, version, peer));
            cells.extend(keys.map(|&key| Cell::plain(role, version, key)));
            cells.push(subject_limited(role, version));
            cells.extend(pairs(peer, role, version));
            cells.extend(client_certificates(peer, role, version));
            cells.extend(small_records(subject, peer, role, version));
        }
        // The newest common version.
        let Some(&newest) = peer.versions.last() else { continue };
        let plain = Cell::plain(role, newest, Key::P256);
        cells.push(Cell { limited_by: LimitedBy::Neither, ..plain.clone() });
        if role == Role::Connect || peer.checks_addresses {
            cells.push(Cell { by_address: true, ..plain });
        }
        cells.extend(retry(peer, role));
        cells.extend(refusals(peer, role));
    }
    cells
}

/// The cells for a subject with the option `fips`. A peer that has nothing but ChaCha20-Poly1305 or
/// X25519, or in TLS 1.2 no extended main secret, has to be refused. With this suite, the subject
/// itself does not start.
pub(crate) fn with_fips(mut cells: Vec<Cell>, peer: &Abilities) -> Vec<Cell> {
    let has_chacha20 =
        |cell: &Cell| cell.suite.is_some_and(|suite| suite.name.contains("CHACHA20"));
    cells.retain(|cell| cell.limited_by == LimitedBy::Peer || !has_chacha20(cell));
    for cell in cells.iter_mut().filter(|cell| has_chacha20(cell)) {
        cell.fault = Some(Fault::NotApproved);
    }
    let roles = [(Role::Serve, peer.connects), (Role::Connect, peer.serves)];
    if !peer.has_extended_main_secret {
        cells.retain(|cell| cell.version != Version::Tls12);
        for (role, _) in roles.into_iter().filter(|(_, possible)| *possible) {
            let fault = match role {
                Role::Serve => Fault::NotApproved,
                Role::Connect => Fault::NoExtendedMainSecret,
            };
            let plain = Cell::plain(role, Version::Tls12, Key::P256);
            cells.push(Cell { fault: Some(fault), ..plain });
        }
    }
    let Some(x25519) = peer.groups.iter().find(|group| group.name == "x25519") else {
        return cells;
    };
    for (role, _) in roles.into_iter().filter(|(_, possible)| *possible && peer.limits_group) {
        for &version in &peer.versions {
            let as_server = role == Role::Connect && version == Version::Tls12;
            if as_server && !peer.limits_server_group {
                continue;
            }
            // In TLS 1.2 the client's groups limit ECDSA keys as well (RFC 8422 5.1).
            let plain = Cell::plain(role, version, Key::Rsa2048);
            let fault = Some(Fault::NotApproved);
            cells.push(Cell { group: Some(x25519), fault, ..plain });
        }
    }
    cells
}

/// Whether a peer can use this key. In TLS 1.2 a client's groups limit ECDSA keys as well
/// (RFC 8422 5.1).
fn usable(key: Key, version: Version, peer: &Abilities) -> bool {
    let has_p521 = peer.groups.iter().any(|group| group.name == "secp521r1");
    version == Version::Tls13 || key != Key::P521 || has_p521
}

fn shared(some: &[&'static Group], others: &[&'static Group]) -> Vec<&'static Group> {
    let known = |group: &&&'static Group| some.iter().any(|other| other.code == group.code);
    others.iter().filter(known).copied().collect()
}

/// A cell in which the subject is limited to one version, and the peer offers or accepts both.
fn subject_limited(role: Role, version: Version) -> Cell {
    Cell { limited_by: LimitedBy::Subject, ..Cell::plain(role, version, Key::P256) }
}

/// Pairs suites with groups so that each occurs at least once: as many cells as the longer list has
/// entries.
fn pairs(peer: &Abilities, role: Role, version: Version) -> Vec<Cell> {
    let suites: Vec<_> = suites(version).collect();
    let of_tls12 = peer.groups_tls12.as_ref().filter(|_| version == Version::Tls12);
    let known = of_tls12.unwrap_or(&peer.groups).iter();
    let groups: Vec<_> = known.filter(|group| version == Version::Tls13 || !group.hybrid).collect();
    let (mut rsa_groups, mut cells) = (groups.iter().cycle(), Vec::new());
    for line in 0..suites.len().max(groups.len()) {
        let suite = suites[line % suites.len()];
        let mut group = groups[line % groups.len()];
        if version == Version::Tls12 {
            // In TLS 1.2 the client's groups limit ECDSA keys as well (RFC 8422 5.1), so a suite
            // with ECDSA uses the key's own curve, and suites with RSA use the groups in turn.
            group = match suite.key {
                Key::Rsa2048 => {
                    rsa_groups.find(|group| group.name != "secp256r1").unwrap_or(&group)
                }
                _ => groups.iter().find(|group| group.name == "secp256r1").unwrap_or(&group),
            };
        }
        let as_server = role == Role::Connect && version == Version::Tls12;
        let possible = peer.can_limit(suite, group) && (!as_server || peer.limits_server_group);
        let limited_by = if possible { LimitedBy::Peer } else { LimitedBy::Subject };
        cells.push(Cell {
            suite: Some(suite),
            group: Some(group),
            limited_by,
            ..Cell::plain(role, version, suite.key)
        });
    }
    cells
}

fn client_certificates(peer: &Abilities, role: Role, version: Version) -> Vec<Cell> {
    let possible = match role {
        Role::Serve => peer.has_client_certificates,
        Role::Connect => peer.requests_certificates,
    };
    if !possible {
        return Vec::new();
    }
    let plain = |key| Cell::plain(role, version, key);
    let alike = role == Role::Connect && version == Version::Tls12 && !peer.accepts_other_keys;
    let [first, second] = if alike { [Key::P256, Key::Rsa2048] } else { [Key::Rsa2048, Key::P256] };
    let mut cells = vec![
        Cell { client: Client::Certified(first), ..plain(Key::P256) },
        Cell { client: Client::Certified(second), ..plain(Key::Rsa2048) },
    ];
    if role == Role::Serve {
        cells.push(Cell { client: Client::Declined, ..plain(Key::P256) });
    }
    cells
}

/// Cells with a record size that every program accepts.
fn small_records(
    subject: &Abilities,
    peer: &Abilities,
    role: Role,
    version: Version,
) -> Option<Cell> {
    let possible = match peer.record_size {
        RecordSize::Fixed => false,
        RecordSize::Sent => true,
        // In TLS 1.2 the handshake is not protected, and the short echo has no long record.
        RecordSize::ReceiveBuffer => {
            role == Role::Serve && version == Version::Tls13 && subject.obeys_record_size
        }
    };
    possible.then(|| Cell { record_size: Some(512), ..Cell::plain(role, version, Key::P256) })
}

/// A cell in which the server's only group is one for which no client sends a key share in its
/// first ClientHello.
fn retry(peer: &Abilities, role: Role) -> Option<Cell> {
    let limited_by = match role {
        Role::Serve => LimitedBy::Subject,
        Role::Connect => LimitedBy::Peer,
    };
    // The last of the classic groups, which is secp521r1 if the peer has it.
    let group = *peer.groups.iter().rfind(|group| !group.hybrid)?;
    let possible =
        (role == Role::Serve || peer.limits_group) && peer.versions.contains(&Version::Tls13);
    possible.then(|| Cell {
        group: Some(group),
        limited_by,
        retry: true,
        ..Cell::plain(role, Version::Tls13, Key::P256)
    })
}

/// A cell for every fault, in alternating versions. A fault that differs by version has a cell for
/// each version.
fn refusals(peer: &Abilities, role: Role) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (line, fault) in Fault::ALL.into_iter().enumerate() {
        let turn = (line + usize::from(role == Role::Serve)) % 2;
        let only = peer.versions.len() == 1;
        for version in Version::ALL {
            let peers = if fault == Fault::NoCommonVersion { version.other() } else { version };
            if !peer.versions.contains(&peers) || !can_refuse(peer, role, fault) {
                continue;
            }
            if only
                || fault == Fault::NoClientCertificate
                || fault == Fault::NoCommonVersion
                || version == Version::ALL[turn]
            {
                cells.push(Cell { fault: Some(fault), ..Cell::plain(role, version, Key::P256) });
            }
        }
    }
    cells
}

/// Whether the peer has the options that a cell with this fault needs.
fn can_refuse(peer: &Abilities, role: Role, fault: Fault) -> bool {
    match (fault, role) {
        (Fault::Expired | Fault::OtherName | Fault::UnknownAuthority, Role::Serve) => peer.verifies,
        (Fault::UnknownClientAuthority, Role::Serve) => peer.has_client_certificates,
        (Fault::NoClientCertificate | Fault::UnknownClientAuthority, Role::Connect) => {
            peer.requests_certificates
        }
        _ => true,
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.version, self.key.name())?;
        if let Some(suite) = self.suite {
            write!(f, " {}", suite.name)?;
        }
        if let Some(group) = self.group {
            write!(f, " {}", group.name)?;
        }
        match self.client {
            Client::Anonymous => {}
            Client::Declined => f.write_str(" client-declines")?,
            Client::Certified(key) => write!(f, " client-{}", key.name())?,
        }
        if self.by_address {
            f.write_str(" by-address")?;
        }
        if let Some(size) = self.record_size {
            write!(f, " records-{size}")?;
        }
        if self.retry {
            f.write_str(" retry")?;
        }
        match self.limited_by {
            LimitedBy::Peer => {}
            LimitedBy::Subject => f.write_str(" limited-here")?,
            LimitedBy::Neither => f.write_str(" defaults")?,
        }
        if let Some(fault) = self.fault {
            write!(f, " refused-{}", fault.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{classic_groups, group};

    #[test]
    fn every_suite_and_group_is_met_in_both_roles() {
        let mut peer = Abilities::usual(true);
        peer.groups.extend(group("X25519MLKEM768"));
        let cells = cells(&peer, &peer);
        for role in [Role::Serve, Role::Connect] {
            for version in Version::ALL {
                let here = || cells.iter().filter(move |c| c.role == role && c.version == version);
                for suite in suites(version) {
                    assert!(here().any(|cell| cell.suite.is_some_and(|s| s.code == suite.code)));
                }
                for group in classic_groups() {
                    assert!(here().any(|cell| cell.group.is_some_and(|g| g.code == group.code)));
                }
                let hybrid = here().any(|cell| cell.group.is_some_and(|group| group.hybrid));
                assert_eq!(hybrid, version == Version::Tls13);
            }
        }
    }

    #[test]
    fn with_fips_chacha20_and_x25519_are_refused() {
        let mut peer = Abilities::usual(true);
        peer.limits_group = true;
        let cells = with_fips(cells(&peer, &peer), &peer);
        let refused = |name: &str| {
            let named = |cell: &&Cell| {
                let suite = cell.suite.is_some_and(|suite| suite.name.contains(name));
                suite || (cell.suite.is_none() && cell.group.is_some_and(|g| g.name == name))
            };
            let named: Vec<_> = cells.iter().filter(named).filter(|cell| !cell.retry).collect();
            assert!(named.iter().all(|cell| cell.fault == Some(Fault::NotApproved)), "{name}");
            named.len()
        };
        assert!(refused("CHACHA20") >= 4 && refused("x25519") == 4);
    }

    #[test]
    fn names_are_unique() {
        let usual = Abilities::usual(true);
        let cells = with_fips(cells(&usual, &usual), &usual);
        let mut names: Vec<_> =
            cells.iter().map(|cell| format!("{:?} {cell}", cell.role)).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
