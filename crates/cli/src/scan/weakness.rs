//! The weaknesses of a cipher suite, which follow from its name.

use serde::Serialize;

/// How serious a finding is, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Breaks the protection of connections, or makes clients refuse the server.
    Problem,
    /// Lowers the protection, or will become a problem.
    Weakness,
    /// Worth knowing.
    Note,
}

impl Severity {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Weakness => "weakness",
            Self::Note => "note",
        }
    }
}

/// A weakness of a cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Weakness {
    pub(crate) severity: Severity,
    pub(crate) reason: &'static str,
}

/// The weaknesses of the suite with this registered name, the most serious first.
pub(crate) fn weaknesses(name: &str) -> Vec<Weakness> {
    let mut found = Vec::new();
    let mut add = |present: bool, severity, reason| {
        if present {
            found.push(Weakness { severity, reason });
        }
    };
    let key_exchange = name.strip_prefix("TLS_").unwrap_or(name);
    let (key_exchange, cipher) = key_exchange.split_once("_WITH_").unwrap_or(("", key_exchange));
    let has = |part: &str| cipher.split('_').any(|word| word == part);
    add(has("NULL"), Severity::Problem, "no encryption");
    add(key_exchange.contains("anon"), Severity::Problem, "the server is not authenticated");
    add(key_exchange.contains("EXPORT"), Severity::Problem, "export-grade key");
    add(has("DES") || has("DES40"), Severity::Problem, "DES: the key is too short");
    add(has("RC2"), Severity::Problem, "RC2 is broken");
    add(has("RC4"), Severity::Problem, "RC4 is broken (RFC 7465)");
    add(has("3DES"), Severity::Weakness, "3DES: blocks of 64 bits (Sweet32)");
    add(has("IDEA"), Severity::Weakness, "IDEA: blocks of 64 bits (Sweet32)");
    add(cipher.ends_with("MD5"), Severity::Weakness, "MD5");
    let ephemeral = ["DHE", "ECDHE"].iter().any(|word| key_exchange.split('_').any(|w| w == *word));
    // TLS 1.3 suites name no key exchange.
    let fixed = !key_exchange.is_empty() && !ephemeral && !key_exchange.contains("anon");
    let rsa = matches!(key_exchange, "RSA" | "RSA_EXPORT" | "RSA_PSK");
    add(rsa, Severity::Weakness, "RSA key exchange: no forward secrecy");
    let srp = key_exchange.starts_with("SRP");
    add(fixed && !rsa && !srp, Severity::Weakness, "no forward secrecy");
    add(has("CBC"), Severity::Weakness, "CBC: open to padding oracles");
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::registry::REGISTERED;

    fn reasons(name: &str) -> Vec<&'static str> {
        weaknesses(name).into_iter().map(|weakness| weakness.reason).collect()
    }

    #[test]
    fn strong_suites_have_none() {
        for name in [
            "TLS_AES_128_GCM_SHA256",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8",
        ] {
            assert!(reasons(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn each_weak_part_is_named() {
        let first = |name: &str| reasons(name).first().copied().unwrap_or_default();
        assert!(first("TLS_RSA_WITH_AES_128_GCM_SHA256").contains("RSA key exchange"));
        assert_eq!(first("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"), "CBC: open to padding oracles");
        assert_eq!(first("TLS_RSA_WITH_NULL_SHA"), "no encryption");
        assert!(first("TLS_ECDH_anon_WITH_AES_128_CBC_SHA").contains("not authenticated"));
        assert_eq!(first("TLS_DH_RSA_WITH_AES_128_GCM_SHA256"), "no forward secrecy");
        assert!(first("TLS_DHE_RSA_WITH_DES_CBC_SHA").starts_with("DES"));
        let export = reasons("TLS_RSA_EXPORT_WITH_RC4_40_MD5");
        assert_eq!(export.len(), 4, "{export:?}");
        let triple = reasons("TLS_DHE_RSA_WITH_3DES_EDE_CBC_SHA");
        assert_eq!(triple.len(), 2, "{triple:?}");
    }

    #[test]
    fn every_suite_of_an_old_cipher_is_weak() {
        for (_, name) in REGISTERED {
            let old = ["RC4", "DES", "NULL", "CBC", "anon", "EXPORT"];
            if old.iter().any(|word| name.contains(word)) {
                assert!(!weaknesses(name).is_empty(), "{name}");
            }
        }
    }
}
