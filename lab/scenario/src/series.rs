//! The series of OpenSSL: what each of its releases is asked to do.
//!
//! `lab openssl` measures one library at different ages, for users of it, so a [`Job`] leaves to each release
//! what a [`crate::Row`] would pin: groups, tickets, primitives one by one. Must not know: how it is done
//! (lab/series/worker), and what tables become of it (the controller).

use serde::{Deserialize, Serialize};

use crate::row::{Group, Version};

/// What a worker of the series measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// What is done and timed.
    pub task: Task,
    /// In so many threads at once: the figure is that of all together.
    pub threads: usize,
    /// Whether OpenSSL reads `tuned.cnf` at its start, otherwise `default.cnf`.
    pub tuned: bool,
}

/// What is done and timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Task {
    /// A connection made on both sides, its handshake, and both sides freed. [`CONNECTION`], with
    /// the parts `client` and `server`.
    Handshake {
        /// The protocol version.
        version: Version,
        /// The cipher suite, by OpenSSL's name.
        suite: String,
        /// The server's certificate, signed by itself.
        certificate: Key,
        /// The group of the key exchange; absent: the release's own choice.
        group: Option<Group>,
        /// Whether a session is resumed, by ticket.
        resumed: bool,
    },
    /// AES-256-GCM, sealing in place. [`BLOCK`].
    Cipher {
        /// What one repetition is.
        usage: CipherUse,
        /// Bytes of one repetition.
        block: usize,
    },
    /// SHA-256 of a block. [`BLOCK`].
    Digest {
        /// Bytes of one repetition.
        block: usize,
    },
    /// ML-KEM-768. [`KEY_GENERATION`], [`ENCAPSULATION`] and [`DECAPSULATION`].
    MlKem768,
    /// Signatures over a digest: PKCS #1 with RSA, else ECDSA. [`SIGN`] and [`VERIFY`].
    Signature {
        /// By this key.
        key: Key,
    },
    /// ECDH of a key with one other. [`AGREEMENT`].
    Agreement {
        /// Of this curve.
        key: Key,
    },
}

/// The side of a handshake.
pub const CONNECTION: &str = "connection";
/// The side of a cipher or a digest.
pub const BLOCK: &str = "block";
/// A side of ML-KEM.
pub const KEY_GENERATION: &str = "key generation";
/// A side of ML-KEM.
pub const ENCAPSULATION: &str = "encapsulation";
/// A side of ML-KEM.
pub const DECAPSULATION: &str = "decapsulation";
/// A side of a signature.
pub const SIGN: &str = "sign";
/// A side of a signature.
pub const VERIFY: &str = "verify";
/// The side of ECDH.
pub const AGREEMENT: &str = "agreement";

/// What one block is to a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CipherUse {
    /// A further part of one endless message: `EVP_EncryptUpdate` alone.
    Stream,
    /// A message with a nonce and a tag of its own, under one key.
    Messages,
    /// The same with a key of its own, too.
    Keys,
}

/// A kind of private key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Key {
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 3072 bits.
    Rsa3072,
    /// RSA with 4096 bits.
    Rsa4096,
    /// On NIST P-256.
    P256,
    /// On NIST P-384.
    P384,
    /// On NIST P-521.
    P521,
}

impl Key {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Rsa2048, Self::Rsa3072, Self::Rsa4096, Self::P256, Self::P384, Self::P521];

    /// Its name in ids, and in the names of its files: `NAME.key`, and `NAME.pem` if it has a certificate.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa2048",
            Self::Rsa3072 => "rsa3072",
            Self::Rsa4096 => "rsa4096",
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::P521 => "p521",
        }
    }

    /// Whether it is one of RSA.
    #[must_use]
    pub fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }
}

impl CipherUse {
    fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Messages => "messages",
            Self::Keys => "keys",
        }
    }
}

impl Job {
    /// Of one thread, and untuned.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self { task, threads: 1, tuned: false }
    }

    /// A short name. Equal jobs have equal names.
    #[must_use]
    pub fn id(&self) -> String {
        let mut id = match &self.task {
            Task::Handshake { version, suite, certificate, group, resumed } => {
                let kind = if *resumed { "resumed" } else { "new" };
                let group = group.map_or("any group", Group::name);
                format!("TLS {version} {kind} {} {suite} {group}", certificate.name())
            }
            Task::Cipher { usage, block } => format!("AES-256-GCM {} {block}", usage.name()),
            Task::Digest { block } => format!("SHA-256 {block}"),
            Task::MlKem768 => "ML-KEM-768".to_owned(),
            Task::Signature { key } => format!("signature {}", key.name()),
            Task::Agreement { key } => format!("ECDH {}", key.name()),
        };
        if self.threads > 1 {
            id.push_str(&format!(" x{}", self.threads));
        }
        if self.tuned {
            id.push_str(" tuned");
        }
        id
    }

    /// What it measures, each in nanoseconds for one.
    #[must_use]
    pub fn sides(&self) -> &'static [&'static str] {
        match self.task {
            Task::Handshake { .. } => &[CONNECTION],
            Task::Cipher { .. } | Task::Digest { .. } => &[BLOCK],
            Task::MlKem768 => &[KEY_GENERATION, ENCAPSULATION, DECAPSULATION],
            Task::Signature { .. } => &[SIGN, VERIFY],
            Task::Agreement { .. } => &[AGREEMENT],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_the_same_after_the_line() {
        let job = Job {
            task: Task::Handshake {
                version: Version::Tls13,
                suite: "TLS_AES_256_GCM_SHA384".to_owned(),
                certificate: Key::P256,
                group: Some(Group::X25519),
                resumed: true,
            },
            threads: 2,
            tuned: true,
        };
        let line = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<Job>(&line).unwrap(), job);
        assert!(line.contains(r#""kind":"handshake","version":"1.3""#), "{line}");
        assert_eq!(job.id(), "TLS 1.3 resumed p256 TLS_AES_256_GCM_SHA384 X25519 x2 tuned");
    }
}
