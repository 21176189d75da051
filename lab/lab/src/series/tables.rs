//! The tables, in the order of the published comparison, and the jobs that they need.

use lab_scenario::series::{
    AGREEMENT, BLOCK, CONNECTION, CipherUse, DECAPSULATION, ENCAPSULATION, Job, KEY_GENERATION,
    Key, SIGN, Task, VERIFY,
};
use lab_scenario::{Group, Version};

use super::figures::{Quantity, sealing};

/// A table with a line for each release.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) title: &'static str,
    /// The measured quantity, and remarks.
    pub(crate) note: String,
    pub(crate) columns: Vec<Column>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) quantity: Quantity,
}

/// The size of large blocks in bytes.
const LARGE: usize = 8 << 10;

/// The block sizes of `openssl speed`.
const WRITE_SIZES: [usize; 5] = [16, 64, 256, 1 << 10, LARGE];

const TLS13: &str = "TLS_AES_256_GCM_SHA384";
const TLS12_RSA: &str = "ECDHE-RSA-AES128-GCM-SHA256";
const TLS12_ECDSA: &str = "ECDHE-ECDSA-AES128-GCM-SHA256";
const TLS12_STATIC: &str = "AES256-GCM-SHA384";

/// All jobs, each once. Multi-threaded jobs use `threads` threads.
pub(crate) fn jobs(threads: usize) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for table in all(threads) {
        for job in table.columns.iter().flat_map(|column| column.quantity.jobs()) {
            if !jobs.contains(job) {
                jobs.push(job.clone());
            }
        }
    }
    jobs
}

/// All tables.
pub(crate) fn all(threads: usize) -> Vec<Table> {
    let mut tables = vec![connections(), throughput()];
    tables.extend(many(threads));
    tables.push(ml_kem());
    tables.extend([certificates(None), certificates(Some(Group::X25519))]);
    tables.extend([suites(), resumption(), rsa(), ecdsa(), ecdh()]);
    tables.extend([CipherUse::Stream, CipherUse::Messages, CipherUse::Keys].map(blocks));
    tables.extend(tuned());
    tables
}

fn connections() -> Table {
    Table {
        title: "TLS 1.3 handshakes",
        note: "Connections per second, RSA-2048, each release's own choice of group.".to_owned(),
        columns: vec![
            rate("new", tls13(Key::Rsa2048, None, false), CONNECTION),
            rate("resumed", tls13(Key::Rsa2048, None, true), CONNECTION),
        ],
    }
}

fn throughput() -> Table {
    let digest = Job::new(Task::Digest { block: LARGE });
    Table {
        title: "Throughput",
        note: "kB/s (1000 bytes), blocks of 8 KiB.".to_owned(),
        columns: vec![
            column("AES-256-GCM", sealing(CipherUse::Stream, LARGE)),
            column("SHA-256", Quantity::Throughput(digest, LARGE)),
        ],
    }
}

fn many(threads: usize) -> [Table; 2] {
    let seal = Job::new(Task::Cipher { usage: CipherUse::Stream, block: LARGE });
    let seals = Job { threads, ..seal.clone() };
    let connect = tls13(Key::P256, None, false);
    let connects = Job { threads, ..connect.clone() };
    [
        Table {
            title: "Many cores, throughput",
            note: format!(
                "kB/s of AES-256-GCM, blocks of 8 KiB, {threads} threads; factor over one thread."
            ),
            columns: vec![
                column("all", Quantity::Throughput(seals.clone(), LARGE)),
                column("factor", Quantity::Factor(seal, seals, BLOCK)),
            ],
        },
        Table {
            title: "Many cores, handshakes",
            note: format!(
                "New TLS 1.3 connections per second, ECDSA P-256, {threads} threads that share a client's and a \
                 server's SSL_CTX; factor over one thread."
            ),
            columns: vec![
                rate("all", connects.clone(), CONNECTION),
                column("factor", Quantity::Factor(connect, connects, CONNECTION)),
            ],
        },
    ]
}

fn ml_kem() -> Table {
    let job = || Job::new(Task::MlKem768);
    Table {
        title: "ML-KEM-768",
        note: "Operations per second; from 3.5 on.".to_owned(),
        columns: vec![
            rate("key generation", job(), KEY_GENERATION),
            rate("encapsulation", job(), ENCAPSULATION),
            rate("decapsulation", job(), DECAPSULATION),
        ],
    }
}

fn certificates(group: Option<Group>) -> Table {
    let columns = [(Key::Rsa2048, "RSA-2048"), (Key::P256, "ECDSA P-256")].map(|(key, name)| {
        [("new", false), ("resumed", true)].map(|(kind, resumed)| {
            rate(&format!("{name} {kind}"), tls13(key, group, resumed), CONNECTION)
        })
    });
    Table {
        title: match group {
            None => "TLS 1.3 by certificate",
            Some(_) => "TLS 1.3 by certificate, X25519",
        },
        note: match group {
            None => "Connections per second, each release's own choice of group.".to_owned(),
            Some(group) => format!("The same with {group} in all releases."),
        },
        columns: columns.into_iter().flatten().collect(),
    }
}

fn suites() -> Table {
    let suites = [
        ("ECDHE-RSA-AES128-GCM", TLS12_RSA, Key::Rsa2048),
        ("ECDHE-ECDSA-AES128-GCM", TLS12_ECDSA, Key::P256),
        ("AES256-GCM-SHA384", TLS12_STATIC, Key::Rsa2048),
    ];
    let columns = suites.map(|(name, suite, key)| rate(name, tls12(suite, key, false), CONNECTION));
    Table {
        title: "TLS 1.2 by suite",
        note: "New connections per second; the last suite encrypts to the server's RSA key."
            .to_owned(),
        columns: columns.into(),
    }
}

fn resumption() -> Table {
    Table {
        title: "Resumption",
        note: "Connections per second that resume a session with a ticket, RSA-2048.".to_owned(),
        columns: vec![
            rate("TLS 1.3", tls13(Key::Rsa2048, None, true), CONNECTION),
            rate("TLS 1.2", tls12(TLS12_RSA, Key::Rsa2048, true), CONNECTION),
        ],
    }
}

fn rsa() -> Table {
    let keys = [(Key::Rsa2048, "2048"), (Key::Rsa3072, "3072"), (Key::Rsa4096, "4096")];
    Table {
        title: "RSA",
        note: "Operations per second, PKCS #1 with SHA-256.".to_owned(),
        columns: keys.into_iter().flat_map(|(key, name)| signature(key, name)).collect(),
    }
}

fn ecdsa() -> Table {
    let columns = CURVES.into_iter().flat_map(|(key, name)| signature(key, name));
    Table { title: "ECDSA", note: "Operations per second.".to_owned(), columns: columns.collect() }
}

fn ecdh() -> Table {
    let columns =
        CURVES.map(|(key, name)| rate(name, Job::new(Task::Agreement { key }), AGREEMENT));
    Table { title: "ECDH", note: "Secrets derived per second.".to_owned(), columns: columns.into() }
}

const CURVES: [(Key, &str); 3] = [(Key::P256, "P-256"), (Key::P384, "P-384"), (Key::P521, "P-521")];

fn signature(key: Key, name: &str) -> [Column; 2] {
    [SIGN, VERIFY]
        .map(|side| rate(&format!("{name} {side}"), Job::new(Task::Signature { key }), side))
}

fn blocks(usage: CipherUse) -> Table {
    let (title, note) = match usage {
        CipherUse::Stream => (
            "Block sizes, one stream",
            "Blocks are parts of one message: what `openssl speed -evp` measures in 1.1.1.",
        ),
        CipherUse::Messages => (
            "Block sizes, messages",
            "Each block is a message with its own nonce and tag under one key, like a TLS record.",
        ),
        CipherUse::Keys => (
            "Block sizes, messages and keys",
            "The key is also set for each message: what `openssl speed -evp` measures in newer releases.",
        ),
    };
    let columns = WRITE_SIZES.map(|block| column(&format!("{block} B"), sealing(usage, block)));
    Table {
        title,
        note: format!("kB/s (1000 bytes) of AES-256-GCM. {note}"),
        columns: columns.into(),
    }
}

fn tuned() -> [Table; 2] {
    let versions = [
        ("TLS 1.3, default and tuned", tls13(Key::Rsa2048, None, false)),
        ("TLS 1.2, default and tuned", tls12(TLS12_RSA, Key::Rsa2048, false)),
    ];
    versions.map(|(title, default)| {
        let tuned = Job { tuned: true, ..default.clone() };
        Table {
            title,
            note: "New connections per second, RSA-2048. Tuned: a configuration file that activates the default \
                   provider alone and asks for its algorithms by name."
                .to_owned(),
            columns: vec![
                rate("default", default.clone(), CONNECTION),
                rate("tuned", tuned.clone(), CONNECTION),
                column("gain", Quantity::Gain(default, tuned, CONNECTION)),
            ],
        }
    })
}

fn tls13(certificate: Key, group: Option<Group>, resumed: bool) -> Job {
    let (version, suite) = (Version::Tls13, TLS13.to_owned());
    Job::new(Task::Handshake { version, suite, certificate, group, resumed })
}

fn tls12(suite: &str, certificate: Key, resumed: bool) -> Job {
    let (version, suite, group) = (Version::Tls12, suite.to_owned(), None);
    Job::new(Task::Handshake { version, suite, certificate, group, resumed })
}

fn rate(head: &str, job: Job, side: &'static str) -> Column {
    column(head, Quantity::Rate(job, side))
}

fn column(head: &str, quantity: Quantity) -> Column {
    Column { head: head.to_owned(), quantity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_measured_once_under_a_name_of_its_own() {
        for threads in [1, 4] {
            let jobs = jobs(threads);
            let mut names: Vec<_> = jobs.iter().map(Job::id).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), jobs.len());
        }
        // With one CPU, multi-threaded jobs equal single-threaded jobs.
        assert_eq!(jobs(4).len(), jobs(1).len() + 2);
    }

    #[test]
    fn columns_tell_what_their_jobs_measure() {
        for column in all(2).into_iter().flat_map(|table| table.columns) {
            let side = match &column.quantity {
                Quantity::Rate(_, side)
                | Quantity::Factor(_, _, side)
                | Quantity::Gain(_, _, side) => side,
                Quantity::Throughput(..) => BLOCK,
            };
            for job in column.quantity.jobs() {
                assert!(job.sides().contains(&side), "{}: {}", column.head, job.id());
            }
        }
    }
}
