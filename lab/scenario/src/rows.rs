//! The table of rows. A worker reports the rows that it does not support.

use crate::accounting::Accounting;
use crate::row::{Chain, Ech, Group, Load, Resumption, Row, Suite, Task, Transport, Version};

/// Bytes of one write in bulk rows.
const MIB: usize = 1 << 20;

/// The write sizes below 1 MiB, in bytes.
const WRITE_SIZES: [usize; 8] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10];

/// All rows, in the order of reports.
#[must_use]
pub fn all() -> Vec<Row> {
    let mut rows = Vec::new();
    bulk(&mut rows);
    full(&mut rows);
    first_visits(&mut rows);
    encrypted_hellos(&mut rows);
    mutual(&mut rows);
    resumed(&mut rows);
    set_up(&mut rows);
    loading(&mut rows);
    threads(&mut rows);
    latency(&mut rows);
    memory(&mut rows);
    quic(&mut rows);
    instructions(&mut rows);
    rows
}

/// The rows of an accounting, in the order of reports. Published accounting has only the rows that
/// the programs measure.
#[must_use]
pub fn for_accounting(accounting: Accounting) -> Vec<Row> {
    let rows = all().into_iter();
    match accounting {
        Accounting::Neutral => rows.collect(),
        Accounting::Published => rows
            .filter(|row| PUBLISHED.contains(&row.id.as_str()))
            .map(|row| Row { accounting, ..row })
            .collect(),
    }
}

/// The rows that the programs of the published comparisons measure. TLS 1.3 has both groups,
/// because reports used X25519 until 2025. The row with the mixed RSA chain is from a report of
/// 2019. The rows with other suites of TLS 1.2 are from 2018.
const PUBLISHED: &[&str] = &[
    "bulk-12-aes128",
    "bulk-12-aes256",
    "bulk-12-chacha20",
    "bulk-13-aes256",
    "full-12-rsa2048-x25519",
    "full-12-ecdsa-p256-x25519",
    "full-13-rsa2048-x25519",
    "full-13-ecdsa-p256-x25519",
    "full-13-rsa2048-hybrid",
    "full-13-ecdsa-p256-hybrid",
    "full-12-rsa-mixed-x25519",
    "full-13-rsa-mixed-x25519",
    "resumed-12-stateful",
    "resumed-12-stateless",
    "resumed-13-stateless-x25519",
    "resumed-13-stateless-hybrid",
    "threads-12-rsa2048",
    "threads-12-stateful",
    "threads-12-stateless",
    "threads-13-rsa2048",
    "threads-13-stateless",
    "latency-12-rsa2048",
    "latency-12-stateful",
    "latency-13-rsa2048",
    "latency-13-stateless",
];

fn bulk(rows: &mut Vec<Row>) {
    use Suite as S;
    let suites = [
        ("12-aes128", Version::Tls12, S::EcdheRsaAes128GcmSha256),
        ("12-aes256", Version::Tls12, S::EcdheRsaAes256GcmSha384),
        ("12-chacha20", Version::Tls12, S::EcdheRsaChaCha20Poly1305),
        ("13-aes128", Version::Tls13, S::Aes128GcmSha256),
        ("13-aes256", Version::Tls13, S::Aes256GcmSha384),
        ("13-chacha20", Version::Tls13, S::ChaCha20Poly1305Sha256),
    ];
    for (name, version, suite) in suites {
        rows.push(Row {
            quick: name == "13-aes256",
            task: Task::Bulk,
            suite,
            write_size: MIB,
            ..row("bulk", format!("bulk-{name}"), version)
        });
    }
    for (section, name, suite) in [
        ("write sizes", "write", S::Aes256GcmSha384),
        ("write sizes, ChaCha20", "write-chacha20", S::ChaCha20Poly1305Sha256),
    ] {
        for size in WRITE_SIZES {
            rows.push(Row {
                quick: size == 1 << 10,
                task: Task::Bulk,
                suite,
                write_size: size,
                ..row(section, format!("{name}-{size}"), Version::Tls13)
            });
        }
    }
}

fn full(rows: &mut Vec<Row>) {
    for (version, group) in KEY_EXCHANGES {
        for chain in [Chain::Rsa2048, Chain::EcdsaP256, Chain::Ed25519, Chain::RsaMixed] {
            let quick = group == Group::X25519MlKem768 && chain == Chain::EcdsaP256;
            rows.push(Row { quick, ..authenticated("full", version, group, chain) });
        }
    }
    for (version, group) in [KEY_EXCHANGES[0], KEY_EXCHANGES[2]] {
        for chain in [Chain::Rsa3072, Chain::Rsa4096] {
            rows.push(authenticated("full", version, group, chain));
        }
    }
    other_suites(rows);
}

/// Full handshakes with suites other than AES-256-GCM that all peers support.
fn other_suites(rows: &mut Vec<Row>) {
    use Suite as S;
    let (rsa, ecdsa, hybrid) = (Chain::Rsa2048, Chain::EcdsaP256, Group::X25519MlKem768);
    let (tls12, tls13) = ((Version::Tls12, Group::X25519), (Version::Tls13, hybrid));
    for (name, (version, group), chain, suite) in [
        ("aes128", tls12, rsa, S::EcdheRsaAes128GcmSha256),
        ("aes128", tls12, ecdsa, S::EcdheEcdsaAes128GcmSha256),
        ("chacha20", tls12, rsa, S::EcdheRsaChaCha20Poly1305),
        ("chacha20", tls12, ecdsa, S::EcdheEcdsaChaCha20Poly1305),
        ("aes128", tls13, ecdsa, S::Aes128GcmSha256),
        ("chacha20", tls13, ecdsa, S::ChaCha20Poly1305Sha256),
    ] {
        rows.push(Row {
            id: format!("full-{}-{chain}-{name}", digits(version)),
            suite,
            ..authenticated("full", version, group, chain)
        });
    }
}

/// Full handshakes with an uncached chain. The rows of `full` repeat one chain, which makes
/// libraries faster that cache chains.
fn first_visits(rows: &mut Vec<Row>) {
    for (version, group) in [KEY_EXCHANGES[0], KEY_EXCHANGES[2]] {
        for chain in [Chain::Rsa2048, Chain::EcdsaP256] {
            let quick = version == Version::Tls13 && chain == Chain::EcdsaP256;
            let row = authenticated("first visits", version, group, chain);
            let id = row.id.replace("first visits", "first");
            rows.push(Row { id, quick, first_visit: true, ..row });
        }
    }
}

/// Full handshakes with and without Encrypted ClientHello.
fn encrypted_hellos(rows: &mut Vec<Row>) {
    let (version, group) = KEY_EXCHANGES[2];
    for (name, ech) in ECH {
        rows.push(Row {
            id: format!("ech-{name}"),
            quick: ech == Ech::Accepted,
            ech,
            ..authenticated("ech", version, group, Chain::EcdsaP256)
        });
    }
}

fn mutual(rows: &mut Vec<Row>) {
    for (version, group) in [KEY_EXCHANGES[0], KEY_EXCHANGES[2]] {
        for chain in [Chain::Rsa2048, Chain::EcdsaP256] {
            rows.push(Row {
                quick: version == Version::Tls13 && chain == Chain::EcdsaP256,
                client_chain: Some(chain),
                ..authenticated("mutual", version, group, chain)
            });
        }
    }
}

fn resumed(rows: &mut Vec<Row>) {
    for (name, resumption) in
        [("stateful", Resumption::Stateful), ("stateless", Resumption::Stateless)]
    {
        rows.push(Row {
            quick: resumption == Resumption::Stateless,
            resumption: Some(resumption),
            tickets: u8::from(resumption == Resumption::Stateless),
            ..row("resumed", format!("resumed-12-{name}"), Version::Tls12)
        });
        for (version, group) in &KEY_EXCHANGES[1..] {
            rows.push(Row {
                quick: resumption == Resumption::Stateless && *group == Group::X25519MlKem768,
                group: *group,
                resumption: Some(resumption),
                tickets: 1,
                ..row("resumed", format!("resumed-13-{name}-{}", short(*group)), *version)
            });
        }
    }
    rows.push(Row {
        group: Group::X25519MlKem768,
        resumption: Some(Resumption::Stateful),
        tickets: 1,
        early_data: 1 << 10,
        ..row("resumed", "resumed-13-0rtt-hybrid".to_owned(), Version::Tls13)
    });
}

fn set_up(rows: &mut Vec<Row>) {
    for (version, group) in KEY_EXCHANGES {
        rows.push(Row {
            quick: group == Group::X25519MlKem768,
            task: Task::SetUp,
            group,
            ..row("set-up", format!("setup-{}-{}", digits(version), short(group)), version)
        });
    }
}

fn loading(rows: &mut Vec<Row>) {
    for (name, load, chain) in [
        ("key", Load::Key, Chain::Rsa2048),
        ("key", Load::Key, Chain::EcdsaP256),
        ("server", Load::Server, Chain::Rsa2048),
        ("server", Load::Server, Chain::EcdsaP256),
        ("roots", Load::Roots, Chain::EcdsaP256),
    ] {
        rows.push(Row {
            quick: load == Load::Roots,
            task: Task::Loading,
            chain,
            load: Some(load),
            ..row("loading", format!("load-{name}-{chain}"), Version::Tls13)
        });
    }
}

/// Handshakes in several threads. The controller sets the thread counts.
fn threads(rows: &mut Vec<Row>) {
    rows.extend(shared(Task::Threads, "threads", "12-stateful"));
}

/// Latency of handshakes on a busy server, with the parameters of the multi-threaded rows.
fn latency(rows: &mut Vec<Row>) {
    rows.extend(shared(Task::Latency, "latency", "13-stateless"));
}

/// The rows of a multi-threaded task, each with another kind of handshake.
fn shared(task: Task, section: &str, quick: &str) -> Vec<Row> {
    let hybrid = Group::X25519MlKem768;
    let full = |version, group, chain| Row {
        id: format!("{section}-{}-{chain}", digits(version)),
        ..authenticated(section, version, group, chain)
    };
    let resumed = |version, group, resumption, name: &str| Row {
        group,
        resumption: Some(resumption),
        tickets: u8::from(resumption == Resumption::Stateless),
        ..row(section, format!("{section}-{}-{name}", digits(version)), version)
    };
    let mut rows = vec![
        full(Version::Tls12, Group::X25519, Chain::Rsa2048),
        full(Version::Tls13, hybrid, Chain::Rsa2048),
        full(Version::Tls13, hybrid, Chain::EcdsaP256),
        resumed(Version::Tls12, Group::X25519, Resumption::Stateful, "stateful"),
        resumed(Version::Tls12, Group::X25519, Resumption::Stateless, "stateless"),
        resumed(Version::Tls13, hybrid, Resumption::Stateless, "stateless"),
    ];
    for row in &mut rows {
        row.quick = row.id == format!("{section}-{quick}");
        row.task = task;
    }
    rows
}

/// Connection counts of memory rows.
pub const CONNECTIONS: [usize; 3] = [100, 1000, 5000];

/// Connection counts of memory rows in a quick run.
pub const QUICK_CONNECTIONS: [usize; 3] = [100, 200, 400];

fn memory(rows: &mut Vec<Row>) {
    for (version, group, chain) in [
        (Version::Tls12, Group::X25519, Chain::Rsa2048),
        (Version::Tls13, Group::X25519, Chain::Rsa2048),
        (Version::Tls13, Group::X25519MlKem768, Chain::EcdsaP256),
    ] {
        rows.push(Row {
            id: format!("memory-{}-{chain}", digits(version)),
            quick: chain == Chain::EcdsaP256,
            task: Task::Memory,
            connections: CONNECTIONS.to_vec(),
            ..authenticated("memory", version, group, chain)
        });
    }
}

/// The length of packets over QUIC: the smallest that every path has to carry. RFC 9000 14
pub const PACKET: usize = 1200;

/// Bytes of a packet before its frames: the first byte, a connection ID of eight bytes, and a
/// packet number of two.
pub const PACKET_HEADER: usize = 11;

/// Bytes of a packet after its frames: the tag.
pub const PACKET_TAG: usize = 16;

/// Handshakes over QUIC, memory of connections, and packets.
fn quic(rows: &mut Vec<Row>) {
    let hybrid = Group::X25519MlKem768;
    let row = |section: &str, name: &str| Row {
        transport: Transport::Quic,
        group: hybrid,
        ..row(section, format!("quic-{name}"), Version::Tls13)
    };
    let full = Row { chain: Chain::EcdsaP256, ..row("quic", "full-ecdsa-p256-hybrid") };
    rows.push(Row { quick: true, ..full.clone() });
    for (name, resumption, early_data) in [
        ("resumed-stateful-hybrid", Resumption::Stateful, 0),
        ("resumed-stateless-hybrid", Resumption::Stateless, 0),
        ("0rtt-hybrid", Resumption::Stateful, 1 << 10),
    ] {
        let resumption = Some(resumption);
        rows.push(Row { resumption, tickets: 1, early_data, ..row("quic", name) });
    }
    rows.push(Row {
        id: "memory-quic-ecdsa-p256".to_owned(),
        section: "quic memory".to_owned(),
        quick: true,
        task: Task::Memory,
        connections: CONNECTIONS.to_vec(),
        ..full
    });
    for (name, suite) in [
        ("packets-aes128", Suite::Aes128GcmSha256),
        ("packets-aes256", Suite::Aes256GcmSha384),
        ("packets-chacha20", Suite::ChaCha20Poly1305Sha256),
    ] {
        rows.push(Row {
            quick: suite == Suite::Aes128GcmSha256,
            task: Task::Bulk,
            suite,
            write_size: PACKET - PACKET_HEADER - PACKET_TAG,
            ..row("quic packets", name)
        });
    }
}

/// Instruction counts of the published rows. They are not part of a quick run because callgrind is
/// slow.
fn instructions(rows: &mut Vec<Row>) {
    let section = "instructions";
    let mut counted = Vec::new();
    for (name, version, suite) in [
        ("12-aes128", Version::Tls12, Suite::EcdheRsaAes128GcmSha256),
        ("12-aes256", Version::Tls12, Suite::EcdheRsaAes256GcmSha384),
        ("13-aes128", Version::Tls13, Suite::Aes128GcmSha256),
        ("13-aes256", Version::Tls13, Suite::Aes256GcmSha384),
    ] {
        let row = row(section, format!("{section}-{name}"), version);
        counted.push(Row { suite, write_size: MIB, ..row });
    }
    for (version, group) in [KEY_EXCHANGES[0], KEY_EXCHANGES[2]] {
        for chain in [Chain::Rsa2048, Chain::EcdsaP256] {
            let id = format!("{section}-{}-{chain}", digits(version));
            counted.push(Row { id, ..authenticated(section, version, group, chain) });
        }
    }
    for (name, ech) in &ECH[1..] {
        let (version, group) = KEY_EXCHANGES[2];
        let row = authenticated(section, version, group, Chain::EcdsaP256);
        counted.push(Row { id: format!("{section}-ech-{name}"), ech: *ech, ..row });
    }
    for (version, group, resumption, name) in [
        (Version::Tls12, Group::X25519, Resumption::Stateful, "stateful"),
        (Version::Tls12, Group::X25519, Resumption::Stateless, "stateless"),
        (Version::Tls13, Group::X25519MlKem768, Resumption::Stateless, "stateless"),
    ] {
        counted.push(Row {
            group,
            resumption: Some(resumption),
            tickets: u8::from(resumption == Resumption::Stateless),
            ..row(section, format!("{section}-{}-{name}", digits(version)), version)
        });
    }
    rows.extend(counted.into_iter().map(|row| Row { task: Task::Instructions, ..row }));
}

const ECH: [(&str, Ech); 3] =
    [("none", Ech::None), ("grease", Ech::Grease), ("accepted", Ech::Accepted)];

const KEY_EXCHANGES: [(Version, Group); 3] = [
    (Version::Tls12, Group::X25519),
    (Version::Tls13, Group::X25519),
    (Version::Tls13, Group::X25519MlKem768),
];

/// A full handshake with this chain.
fn authenticated(section: &str, version: Version, group: Group, chain: Chain) -> Row {
    let suite = match (version, chain) {
        (Version::Tls13, _) => Suite::Aes256GcmSha384,
        (_, chain) if chain.is_rsa() => Suite::EcdheRsaAes256GcmSha384,
        _ => Suite::EcdheEcdsaAes256GcmSha384,
    };
    let id = format!("{section}-{}-{chain}-{}", digits(version), short(group));
    Row { suite, group, chain, ..row(section, id, version) }
}

/// The base of all rows: a full handshake with an RSA key, AES-256-GCM and X25519.
fn row(section: &str, id: String, version: Version) -> Row {
    let suite = match version {
        Version::Tls12 => Suite::EcdheRsaAes256GcmSha384,
        Version::Tls13 => Suite::Aes256GcmSha384,
    };
    Row {
        id,
        section: section.to_owned(),
        quick: false,
        accounting: Accounting::Neutral,
        transport: Transport::Tcp,
        ech: Ech::None,
        task: Task::Handshake,
        version,
        suite,
        group: Group::X25519,
        chain: Chain::Rsa2048,
        client_chain: None,
        first_visit: false,
        resumption: None,
        tickets: 0,
        early_data: 0,
        write_size: 0,
        threads: vec![1],
        connections: Vec::new(),
        load: None,
    }
}

fn digits(version: Version) -> &'static str {
    match version {
        Version::Tls12 => "12",
        Version::Tls13 => "13",
    }
}

fn short(group: Group) -> &'static str {
    match group {
        Group::X25519 => "x25519",
        Group::X25519MlKem768 => "hybrid",
        Group::Secp256r1 => "p256",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_every_section_has_a_quick_row() {
        let rows = all();
        let ids: HashSet<_> = rows.iter().map(|row| &row.id).collect();
        assert_eq!(ids.len(), rows.len());
        for row in &rows {
            let quick = rows.iter().any(|each| each.section == row.section && each.quick);
            assert_eq!(quick, row.section != "instructions", "{row:?}");
        }
    }

    #[test]
    fn suites_fit_their_version_and_key() {
        for row in all() {
            let name = row.suite.name();
            assert_eq!(name.contains("_WITH_"), row.version == Version::Tls12, "{name}");
            let rsa = row.chain.is_rsa();
            assert!(row.version == Version::Tls13 || name.contains("_RSA_") == rsa, "{name}");
        }
    }

    #[test]
    fn every_published_row_is_one_of_the_table() {
        let rows = for_accounting(Accounting::Published);
        assert_eq!(rows.len(), PUBLISHED.len());
        assert!(rows.iter().all(|row| row.accounting == Accounting::Published));
        assert_eq!(for_accounting(Accounting::Neutral), all());
    }

    #[test]
    fn a_row_survives_the_line() {
        for row in all() {
            let line = serde_json::to_string(&row).unwrap();
            assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row);
        }
    }
}
