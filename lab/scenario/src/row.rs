//! A row: one thing to measure, said so exactly that every library does the same.
//!
//! Must not know: how it is done. Next: [`crate::rows`], the table of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::accounting::Accounting;

/// One thing to measure. Both sides are held to all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// A short name, unique in the table.
    pub id: String,
    /// The heading it stands under in a report.
    pub section: String,
    /// Whether it belongs to a quick run.
    pub quick: bool,
    /// Whose way of counting is followed. Where it is [`Accounting::Published`], what the program leaves to the
    /// library is not pinned: see [`Row::pins_groups`].
    #[serde(default)]
    pub accounting: Accounting,
    /// What is done.
    pub task: Task,
    /// The protocol version.
    pub version: Version,
    /// The cipher suite.
    pub suite: Suite,
    /// The key exchange group.
    pub group: Group,
    /// The server's certificates and key.
    pub chain: Chain,
    /// The client's, if it shows any.
    pub client_chain: Option<Chain>,
    /// How the session is kept, if the handshake resumes one.
    pub resumption: Option<Resumption>,
    /// Tickets that the server sends in each handshake: in TLS 1.3, and in TLS 1.2 with stateless sessions.
    pub tickets: u8,
    /// Bytes of early data in each handshake.
    pub early_data: usize,
    /// Bulk: bytes in one write.
    pub write_size: usize,
    /// How many threads work at once: each count is measured. One, but for threads and latency.
    pub threads: Vec<usize>,
    /// Memory: how many connections are open when what is resident is looked at, growing. The last but
    /// one is how many handshakes are open at once.
    pub connections: Vec<usize>,
    /// Loading: what is loaded.
    pub load: Option<Load>,
}

/// What is done and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Handshakes: sides `client` and `server`, time per handshake.
    Handshake,
    /// Application data from server to client: sides `send` and `receive`, time per write.
    Bulk,
    /// A connection made ready and dropped unused: sides `client` and `server`.
    SetUp,
    /// Handshakes in several threads that share one configuration. A side for each count of threads: the
    /// servers' time per handshake, all threads taken together.
    Threads,
    /// Handshakes in several threads, and how long the slow ones take.
    Latency,
    /// What connections take up: bytes for each, and how often memory was asked for.
    Memory,
    /// Something made from PEM, anew each time: the sides of [`LOADING`].
    Loading,
    /// Instructions of each side: of a handshake, or of a write if the row says how large one is.
    Instructions,
}

/// What is judged of loading: that alone, and together with the first use, which a library may put work off to.
pub const LOADING: [&str; 2] = ["load", "load and use"];

/// What a side's figure counts. Less is better in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds for one, told as how many in a second.
    Rate,
    /// Nanoseconds for one write, told as bytes in a second.
    Throughput,
    /// Nanoseconds, told as they are.
    Time,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// Instructions of one repetition.
    Instructions,
}

/// The percentiles of a distribution that are judged; others are told.
pub const JUDGED: [(&str, f64); 2] = [("P50", 0.5), ("P99", 0.99)];

/// What memory rows say of the two ends apart.
pub const MEMORY: [&str; 4] = ["connected", "idle", "peak", ALLOCATIONS];

/// How often memory was asked for in a handshake.
pub const ALLOCATIONS: &str = "allocations";

/// What memory rows say of both ends together: growth of the process for each pair.
pub const RESIDENT: &str = "resident";

/// How the server keeps a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resumption {
    /// In a store of its own: the session id of TLS 1.2, a ticket that is a name in TLS 1.3.
    Stateful,
    /// Sealed in the ticket.
    Stateless,
}

/// An enumeration whose values have names in reports and on the line.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$value_doc])* #[serde(rename = $text)] $value,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// The name in reports and on the line.
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
    /// What is loaded from PEM in memory, and what its first use is.
    Load {
        /// A private key; a signature of the row's scheme.
        Key = "a private key",
        /// A server's configuration from the row's chain and its key; the server's side of a handshake.
        Server = "a server's configuration",
        /// A client's configuration that trusts [`ROOTS`] roots, the row's as the last; the client's side of a
        /// handshake, and in it a chain up to that root.
        Roots = "a client's configuration",
    }
);

/// How many roots a client is given to trust in rows of loading.
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
    /// The signature scheme of the handshake's own signature.
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
    /// A chain of three certificates, all of which are sent: leaf, intermediate, root.
    Chain {
        /// RSA with 2048 bits throughout, PKCS #1 signatures with SHA-256.
        Rsa2048 = "rsa2048",
        /// RSA with 2048 bits in the leaf, 3072 in the intermediate, 4096 in the root.
        RsaMixed = "rsa-mixed",
        /// ECDSA on P-256 with SHA-256 throughout.
        EcdsaP256 = "ecdsa-p256",
        /// Ed25519 throughout.
        Ed25519 = "ed25519",
    }
);

impl Chain {
    /// The scheme that both sides are held to with a leaf of this chain.
    #[must_use]
    pub fn scheme(self) -> Scheme {
        match self {
            Self::Rsa2048 | Self::RsaMixed => Scheme::RsaPssRsaeSha256,
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
            Task::Latency => of_both(&JUDGED.map(|(name, _)| name)),
            Task::Instructions => self.counted().sides(),
            Task::Memory => [of_both(&MEMORY), vec![RESIDENT.to_owned()]].concat(),
            Task::Loading => LOADING.map(str::to_owned).to_vec(),
        }
    }

    /// What the figure of a side counts.
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

    /// The row as a worker does it in one thread while a program around it counts or watches.
    #[must_use]
    pub fn counted(&self) -> Self {
        let task = match self.task {
            Task::Instructions if self.write_size > 0 => Task::Bulk,
            Task::Instructions | Task::Threads | Task::Latency => Task::Handshake,
            task => task,
        };
        Self { task, ..self.clone() }
    }

    /// The groups to configure on both sides, best first: the row's, and the curve of an ECDSA leaf
    /// where a client of TLS 1.2 has to name it. RFC 8422 5.1.1
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let chains = [Some(self.chain), self.client_chain];
        let curve = self.version == Version::Tls12 && chains.contains(&Some(Chain::EcdsaP256));
        let curve = (curve && self.group != Group::Secp256r1).then_some(Group::Secp256r1);
        [self.group].into_iter().chain(curve).collect()
    }

    /// Whether the groups have to be set for the row's to be agreed on. In published accounting they are not where
    /// the library's own list leads to it.
    #[must_use]
    pub fn pins_groups(&self) -> bool {
        let own = self.version == Version::Tls12 || self.group == Group::X25519MlKem768;
        self.accounting == Accounting::Neutral || !own
    }

    /// What the row is about, in one line.
    #[must_use]
    pub fn title(&self) -> String {
        if let Some(load) = self.load {
            return match load {
                Load::Key => format!("{load}, {}", self.chain),
                Load::Server => format!("{load} from a chain of three and its key, {}", self.chain),
                Load::Roots => format!("{load} that trusts {ROOTS} roots"),
            };
        }
        let mut parts = vec![format!("TLS {}", self.version)];
        parts.push(match (self.task, self.resumption, self.version) {
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
            // The others have AES-256-GCM.
            let usual = self.suite.name().contains("AES_256_GCM");
            parts.extend((!usual).then(|| self.suite.to_string()));
        }
        if self.early_data > 0 {
            parts.push(format!("0-RTT data, {}", bytes(self.early_data)));
        }
        if self.client_chain.is_some() {
            parts.push("client certificate".to_owned());
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

/// The side of so many threads.
#[must_use]
pub fn threads(count: usize) -> String {
    format!("{count} {}", if count == 1 { "thread" } else { "threads" })
}

/// A length, in the unit one would say it in.
fn bytes(count: usize) -> String {
    match count {
        count if count >= 1 << 20 && count % (1 << 20) == 0 => format!("{} MiB", count >> 20),
        count if count >= 1 << 10 && count % (1 << 10) == 0 => format!("{} KiB", count >> 10),
        count => format!("{count} B"),
    }
}
