//! A row: one thing to measure, said so exactly that every library does the same.
//!
//! Must not know: how it is done. Next: [`crate::rows`], the table of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing to measure. Both sides are held to all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// A short name, unique in the table.
    pub id: String,
    /// The heading it stands under in a report.
    pub section: String,
    /// Whether it belongs to a quick run.
    pub quick: bool,
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
}

impl Task {
    /// The sides that are judged.
    #[must_use]
    pub fn sides(self) -> [&'static str; 2] {
        match self {
            Self::Handshake | Self::SetUp => ["client", "server"],
            Self::Bulk => ["send", "receive"],
        }
    }
}

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
    /// The groups to configure on both sides, best first: the row's, and the curve of an ECDSA leaf
    /// where a client of TLS 1.2 has to name it. RFC 8422 5.1.1
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let chains = [Some(self.chain), self.client_chain];
        let curve = self.version == Version::Tls12 && chains.contains(&Some(Chain::EcdsaP256));
        let curve = (curve && self.group != Group::Secp256r1).then_some(Group::Secp256r1);
        [self.group].into_iter().chain(curve).collect()
    }

    /// What the row is about, in one line.
    #[must_use]
    pub fn title(&self) -> String {
        let mut parts = vec![format!("TLS {}", self.version)];
        parts.push(match (self.task, self.resumption, self.version) {
            (Task::Bulk, ..) => format!("{}, {}", self.suite, bytes(self.write_size)),
            (Task::SetUp, ..) => "a connection made and dropped".to_owned(),
            (_, None, _) => "full".to_owned(),
            (_, Some(Resumption::Stateful), Version::Tls12) => "by session id".to_owned(),
            (_, Some(Resumption::Stateless), Version::Tls12) => "by ticket".to_owned(),
            (_, Some(Resumption::Stateful), _) => "by stateful ticket".to_owned(),
            (_, Some(Resumption::Stateless), _) => "by stateless ticket".to_owned(),
        });
        if self.task != Task::Bulk {
            let key_exchange = self.version == Version::Tls13 || self.resumption.is_none();
            parts.extend(key_exchange.then(|| self.group.to_string()));
            parts.extend(self.resumption.is_none().then(|| self.chain.to_string()));
        }
        if self.early_data > 0 {
            parts.push(format!("0-RTT data, {}", bytes(self.early_data)));
        }
        if self.client_chain.is_some() {
            parts.push("client certificate".to_owned());
        }
        parts.join(", ")
    }
}

/// A length, in the unit one would say it in.
fn bytes(count: usize) -> String {
    match count {
        count if count >= 1 << 20 && count % (1 << 20) == 0 => format!("{} MiB", count >> 20),
        count if count >= 1 << 10 && count % (1 << 10) == 0 => format!("{} KiB", count >> 10),
        count => format!("{count} B"),
    }
}
