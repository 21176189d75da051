//! The jobs of `lab openssl`.
//!
//! The command compares releases of OpenSSL with the defaults that a user gets. So unlike a
//! [`crate::Row`], a [`Job`] does not pin groups and tickets. It also covers single primitives.

use serde::{Deserialize, Serialize};

use crate::row::{Group, Version};

/// A measurement of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The operation that is measured.
    pub task: Task,
    /// The number of threads. The result is for all threads together.
    pub threads: usize,
    /// Whether OpenSSL reads `tuned.cnf` at its start instead of `default.cnf`.
    pub tuned: bool,
}

/// The operation that a job measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Task {
    /// A connection: creation of both sides, handshake, release. The figure is [`CONNECTION`], the
    /// parts are `client` and `server`.
    Handshake {
        /// The protocol version.
        version: Version,
        /// The cipher suite, by OpenSSL's name.
        suite: String,
        /// The server's self-signed certificate.
        certificate: Key,
        /// The key exchange group; absent for the release's default.
        group: Option<Group>,
        /// Whether a session is resumed with a ticket.
        resumed: bool,
    },
    /// AES-256-GCM, encrypting in place. The figure is [`BLOCK`].
    Cipher {
        /// The meaning of one repetition.
        usage: CipherUse,
        /// Bytes of one repetition.
        block: usize,
    },
    /// SHA-256 of a block. The figure is [`BLOCK`].
    Digest {
        /// Bytes of one repetition.
        block: usize,
    },
    /// ML-KEM-768. The figures are [`KEY_GENERATION`], [`ENCAPSULATION`] and [`DECAPSULATION`].
    MlKem768,
    /// Signatures of a digest: PKCS #1 with RSA, or ECDSA. The figures are [`SIGN`] and [`VERIFY`].
    Signature {
        /// The key.
        key: Key,
    },
    /// ECDH. The figure is [`AGREEMENT`].
    Agreement {
        /// The curve.
        key: Key,
    },
}

/// The name of the figure for a handshake.
pub const CONNECTION: &str = "connection";
/// The name of the figure for a cipher or a digest.
pub const BLOCK: &str = "block";
/// The name of the figure for generating an ML-KEM key pair.
pub const KEY_GENERATION: &str = "key generation";
/// The name of the figure for an ML-KEM encapsulation.
pub const ENCAPSULATION: &str = "encapsulation";
/// The name of the figure for an ML-KEM decapsulation.
pub const DECAPSULATION: &str = "decapsulation";
/// The name of the figure for making a signature.
pub const SIGN: &str = "sign";
/// The name of the figure for verifying a signature.
pub const VERIFY: &str = "verify";
/// The name of the figure for an ECDH key agreement.
pub const AGREEMENT: &str = "agreement";

/// The meaning of a block for a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CipherUse {
    /// A part of one endless message: only `EVP_EncryptUpdate`.
    Stream,
    /// A message with its own nonce and tag, all under one key.
    Messages,
    /// A message with its own key, nonce and tag.
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
    /// NIST P-256.
    P256,
    /// NIST P-384.
    P384,
    /// NIST P-521.
    P521,
}

impl Key {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Rsa2048, Self::Rsa3072, Self::Rsa4096, Self::P256, Self::P384, Self::P521];

    /// The name in ids and file names: `NAME.key`, and `NAME.pem` for certificates.
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

    /// Whether this is an RSA key.
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
    /// A job with one thread and the default configuration.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self { task, threads: 1, tuned: false }
    }

    /// A short unique name.
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

    /// The names of the job's figures, each in nanoseconds per operation.
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
