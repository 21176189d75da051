//! Definition of a row: a benchmark with all its parameters, the same for every library.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::accounting::Accounting;

/// A benchmark. Both sides of a connection must use exactly these parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// A short unique name.
    pub id: String,
    /// The section in reports.
    pub section: String,
    /// Whether the row is part of a quick run.
    pub quick: bool,
    /// The accounting. With [`Accounting::Published`], parameters that the program leaves to the
    /// library are not pinned; see [`Row::pins_groups`].
    #[serde(default)]
    pub accounting: Accounting,
    /// The transport. It is not written if it is TCP, so that reports have the same fields as
    /// before there was another.
    #[serde(default, skip_serializing_if = "Transport::is_tcp")]
    pub transport: Transport,
    /// The use of Encrypted ClientHello. It is not written if there is none, so that reports have
    /// the same fields as before.
    #[serde(default, skip_serializing_if = "Ech::is_none")]
    pub ech: Ech,
    /// The task.
    pub task: Task,
    /// The protocol version.
    pub version: Version,
    /// The cipher suite.
    pub suite: Suite,
    /// The key exchange group.
    pub group: Group,
    /// The server's certificates and key.
    pub chain: Chain,
    /// The client's certificates and key, if it authenticates.
    pub client_chain: Option<Chain>,
    /// Whether clients must not have cached the server's chain.
    pub first_visit: bool,
    /// How the session is stored, if the handshake resumes one.
    pub resumption: Option<Resumption>,
    /// The number of tickets that the server sends in each handshake, in TLS 1.3 and in TLS 1.2
    /// with stateless sessions.
    pub tickets: u8,
    /// Bytes of early data in each handshake.
    pub early_data: usize,
    /// Bulk: bytes of one write.
    pub write_size: usize,
    /// Thread counts, each of which is measured. Only rows of threads and latency have more than
    /// one.
    pub threads: Vec<usize>,
    /// Memory: connection counts at which resident memory is read, ascending. The second largest
    /// count is also the number of simultaneous handshakes.
    pub connections: Vec<usize>,
    /// Loading: the loaded object.
    pub load: Option<Load>,
}

/// The transport below TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TLS with its records.
    #[default]
    Tcp,
    /// The handshake in CRYPTO frames, and the protection of packets. RFC 9001
    Quic,
}

impl Transport {
    /// Whether the transport is TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        *self == Self::Tcp
    }
}

/// The use of Encrypted ClientHello. RFC 9849
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ech {
    /// The extension is not sent.
    #[default]
    None,
    /// The client sends the extension with random contents to a server with a key.
    Grease,
    /// The client encrypts its ClientHello to the server's key.
    Accepted,
}

impl Ech {
    /// Whether the extension is not sent.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The public name of the server's key.
    pub const PUBLIC_NAME: &str = "cover.example";

    /// The maximum name length of the server's key.
    pub const MAXIMUM_NAME_LENGTH: u8 = 64;
}

/// The task of a row, which defines what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Handshakes. The sides are `client` and `server`, the value is the time per handshake.
    Handshake,
    /// Application data from server to client. The sides are `send` and `receive`, the value is the
    /// time per write. Over QUIC, a write is a packet.
    Bulk,
    /// Creation and drop of unused connections. The sides are `client` and `server`.
    SetUp,
    /// Handshakes in several threads that share a configuration. The row has one side for each
    /// thread count. Its value is the servers' time per handshake, as computed by
    /// [`crate::combined_time`].
    Threads,
    /// Latency of handshakes in several threads.
    Latency,
    /// Memory per connection, and allocations per handshake.
    Memory,
    /// Loading from PEM. The sides are [`LOADING_SIDES`].
    Loading,
    /// Instructions of each side per handshake, or per write if the row has a write size.
    Instructions,
}

/// The sides of loading: loading alone, and together with the first use, to which a library may
/// defer work.
pub const LOADING_SIDES: [&str; 2] = ["load", "load and use"];

/// The unit of a value. Less is better for all units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds per operation, displayed as operations per second.
    Rate,
    /// Nanoseconds per write, displayed as bytes per second.
    Throughput,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// A count.
    Count,
    /// Instructions per repetition.
    Instructions,
}

/// The percentiles that are judged. Others are only reported.
pub const JUDGED_PERCENTILES: [(&str, f64); 2] = [("P50", 0.5), ("P99", 0.99)];

/// The sides of memory rows. Each end has all of them.
pub const MEMORY_SIDES: [&str; 4] = ["connected", "idle", "peak", ALLOCATIONS];

/// The number of allocations per handshake.
pub const ALLOCATIONS: &str = "allocations";

/// The side of memory rows for both ends together: growth of the process per pair.
pub const RESIDENT: &str = "resident";

/// The way in which the server stores sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// Sessions are in a store: session IDs in TLS 1.2, tickets with a reference in TLS 1.3.
    Stateful,
    /// The session is encrypted in the ticket.
    Stateless,
}

/// Defines an enumeration whose values have names in reports and in the protocol.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$value_doc])* #[serde(rename = $text)] $value,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// The name in reports and in the protocol.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named!(
    /// The object that a row loads from PEM, and its first use.
    Load {
        /// A private key. Its first use is a signature with the row's scheme.
        Key = "a private key",
        /// A server configuration with the row's chain and key. Its first use is the server side of
        /// a handshake.
        Server = "a server's configuration",
        /// A client configuration with [`ROOTS`] trusted roots, the row's root last. Its first use
        /// is the client side of a handshake with a chain to that root.
        Roots = "a client's configuration",
    }
);

/// The number of trusted roots in rows of loading.
pub const ROOTS: usize = 150;

named!(
    /// A protocol version.
    Version {
        /// RFC 5246.
        Tls12 = "1.2",
        /// RFC 9846.
        Tls13 = "1.3",
    }
);

named!(
    /// A cipher suite, by its registered name.
    Suite {
        /// TLS 1.3.
        Aes128GcmSha256 = "TLS_AES_128_GCM_SHA256",
        /// TLS 1.3.
        Aes256GcmSha384 = "TLS_AES_256_GCM_SHA384",
        /// TLS 1.3.
        ChaCha20Poly1305Sha256 = "TLS_CHACHA20_POLY1305_SHA256",
        /// TLS 1.2.
        EcdheRsaAes128GcmSha256 = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        /// TLS 1.2.
        EcdheRsaAes256GcmSha384 = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        /// TLS 1.2.
        EcdheRsaChaCha20Poly1305 = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        /// TLS 1.2.
        EcdheEcdsaAes128GcmSha256 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        /// TLS 1.2.
        EcdheEcdsaAes256GcmSha384 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        /// TLS 1.2.
        EcdheEcdsaChaCha20Poly1305 = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    }
);

named!(
    /// A key exchange group.
    Group {
        /// RFC 7748.
        X25519 = "X25519",
        /// The hybrid of ML-KEM-768 and X25519.
        X25519MlKem768 = "X25519MLKEM768",
        /// NIST P-256.
        Secp256r1 = "secp256r1",
    }
);

named!(
    /// A signature scheme for CertificateVerify or ServerKeyExchange.
    Scheme {
        /// RSA keys.
        RsaPssRsaeSha256 = "rsa_pss_rsae_sha256",
        /// ECDSA keys on P-256.
        EcdsaSecp256r1Sha256 = "ecdsa_secp256r1_sha256",
        /// Ed25519 keys.
        Ed25519 = "ed25519",
    }
);

named!(
    /// A certificate chain of leaf, intermediate and root, all of which are sent.
    Chain {
        /// RSA with 2048 bits in all certificates, PKCS #1 signatures with SHA-256.
        Rsa2048 = "rsa2048",
        /// RSA with 2048 bits in the leaf, 3072 in the intermediate, 4096 in the root.
        RsaMixed = "rsa-mixed",
        /// RSA with 3072 bits in the server's leaf, 2048 in the others.
        Rsa3072 = "rsa3072",
        /// RSA with 4096 bits in the server's leaf, 2048 in the others.
        Rsa4096 = "rsa4096",
        /// ECDSA on P-256 with SHA-256 in all certificates.
        EcdsaP256 = "ecdsa-p256",
        /// Ed25519 in all certificates.
        Ed25519 = "ed25519",
    }
);

impl Chain {
    /// Whether the keys are RSA.
    #[must_use]
    pub fn is_rsa(self) -> bool {
        self.scheme() == Scheme::RsaPssRsaeSha256
    }

    /// The signature scheme that is pinned for a leaf of this chain.
    #[must_use]
    pub fn scheme(self) -> Scheme {
        match self {
            Self::Rsa2048 | Self::RsaMixed | Self::Rsa3072 | Self::Rsa4096 => {
                Scheme::RsaPssRsaeSha256
            }
            Self::EcdsaP256 => Scheme::EcdsaSecp256r1Sha256,
            Self::Ed25519 => Scheme::Ed25519,
        }
    }
}

impl Row {
    /// The sides that are judged.
    #[must_use]
    pub fn sides(&self) -> Vec<String> {
        let of_both = |what: &[&str]| -> Vec<String> {
            let sides = ["client", "server"];
            sides.iter().flat_map(|side| what.iter().map(move |w| format!("{side} {w}"))).collect()
        };
        match self.task {
            Task::Handshake | Task::SetUp => vec!["client".to_owned(), "server".to_owned()],
            Task::Bulk => vec!["send".to_owned(), "receive".to_owned()],
            Task::Threads => self.threads.iter().map(|count| threads(*count)).collect(),
            Task::Latency => of_both(&JUDGED_PERCENTILES.map(|(name, _)| name)),
            Task::Instructions => self.counted().sides(),
            Task::Memory => [of_both(&MEMORY_SIDES), vec![RESIDENT.to_owned()]].concat(),
            Task::Loading => LOADING_SIDES.map(str::to_owned).to_vec(),
        }
    }

    /// The unit of a side's results.
    #[must_use]
    pub fn unit(&self, side: &str) -> Unit {
        match self.task {
            Task::Handshake | Task::SetUp | Task::Threads => Unit::Rate,
            Task::Bulk => Unit::Throughput,
            Task::Latency | Task::Loading => Unit::Time,
            Task::Memory if side.ends_with(ALLOCATIONS) => Unit::Count,
            Task::Memory => Unit::Bytes,
            Task::Instructions => Unit::Instructions,
        }
    }

    /// The row as a worker repeats it, in one thread, for instruction counts.
    #[must_use]
    pub fn counted(&self) -> Self {
        let task = match self.task {
            Task::Instructions if self.write_size > 0 => Task::Bulk,
            Task::Instructions | Task::Threads | Task::Latency => Task::Handshake,
            task => task,
        };
        Self { task, ..self.clone() }
    }

    /// The groups to configure on both sides, preferred first: the row's group, and the curve of an
    /// ECDSA leaf, which a TLS 1.2 client must list. RFC 8422 5.1.1
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let chains = [Some(self.chain), self.client_chain];
        let curve = self.version == Version::Tls12 && chains.contains(&Some(Chain::EcdsaP256));
        let curve = (curve && self.group != Group::Secp256r1).then_some(Group::Secp256r1);
        [self.group].into_iter().chain(curve).collect()
    }

    /// Whether the groups must be configured. In published accounting they need not be if the
    /// library's defaults select the row's group.
    #[must_use]
    pub fn pins_groups(&self) -> bool {
        let own = self.version == Version::Tls12 || self.group == Group::X25519MlKem768;
        self.accounting == Accounting::Neutral || !own
    }

    /// A description in one line.
    #[must_use]
    pub fn title(&self) -> String {
        if let Some(load) = self.load {
            return match load {
                Load::Key => format!("{load}, {}", self.chain),
                Load::Server => format!("{load} from a chain of three and its key, {}", self.chain),
                Load::Roots => format!("{load} that trusts {ROOTS} roots"),
            };
        }
        let mut parts = vec![match self.transport {
            Transport::Tcp => format!("TLS {}", self.version),
            Transport::Quic => "QUIC".to_owned(),
        }];
        parts.push(match (self.task, self.resumption, self.version) {
            _ if self.write_size > 0 && self.transport == Transport::Quic => {
                format!("{}, packets with {} of frames", self.suite, bytes(self.write_size))
            }
            _ if self.write_size > 0 => format!("{}, {}", self.suite, bytes(self.write_size)),
            (Task::SetUp, ..) => "a connection made and dropped".to_owned(),
            (_, None, _) => "full".to_owned(),
            (_, Some(Resumption::Stateful), Version::Tls12) => "by session id".to_owned(),
            (_, Some(Resumption::Stateless), Version::Tls12) => "by ticket".to_owned(),
            (_, Some(Resumption::Stateful), _) => "by stateful ticket".to_owned(),
            (_, Some(Resumption::Stateless), _) => "by stateless ticket".to_owned(),
        });
        if self.write_size == 0 {
            let key_exchange = self.version == Version::Tls13 || self.resumption.is_none();
            parts.extend(key_exchange.then(|| self.group.to_string()));
            parts.extend(self.resumption.is_none().then(|| self.chain.to_string()));
            // AES-256-GCM is the default, so the title omits it.
            let usual = self.suite.name().contains("AES_256_GCM");
            parts.extend((!usual).then(|| self.suite.to_string()));
        }
        if self.early_data > 0 {
            parts.push(format!("0-RTT data, {}", bytes(self.early_data)));
        }
        if self.first_visit {
            parts.push("chain not seen before".to_owned());
        }
        if self.client_chain.is_some() {
            parts.push("client certificate".to_owned());
        }
        match self.ech {
            Ech::None => {}
            Ech::Grease => parts.push("ECH with random contents".to_owned()),
            Ech::Accepted => parts.push("ECH accepted".to_owned()),
        }
        if self.task == Task::Latency {
            parts.extend(self.threads.first().map(|count| threads(*count)));
        }
        if self.task == Task::Memory {
            let counts: Vec<_> = self.connections.iter().map(usize::to_string).collect();
            parts.push(format!("{} connections", counts.join("/")));
        }
        parts.join(", ")
    }
}

/// The name of the side for a thread count.
#[must_use]
pub fn threads(count: usize) -> String {
    format!("{count} {}", if count == 1 { "thread" } else { "threads" })
}

/// A number of bytes with a suitable unit.
fn bytes(count: usize) -> String {
    match count {
        count if count >= 1 << 20 && count % (1 << 20) == 0 => format!("{} MiB", count >> 20),
        count if count >= 1 << 10 && count % (1 << 10) == 0 => format!("{} KiB", count >> 10),
        count => format!("{count} B"),
    }
}
