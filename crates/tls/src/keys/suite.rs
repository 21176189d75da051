//! Cipher suites and their parameters.

use tercel_crypto::AeadAlgorithm::{self, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305};
use tercel_crypto::HashAlgorithm::{self, Sha256, Sha384};
use tercel_wire::CipherSuite;

/// The kind of key with which the server authenticates in a TLS 1.2 suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authentication {
    Rsa,
    Ecdsa,
}

/// A cipher suite and its parameters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    pub(crate) code: CipherSuite,
    pub(crate) aead: AeadAlgorithm,
    pub(crate) hash: HashAlgorithm,
    /// The authentication. `None` for a suite of TLS 1.3, which does not determine the
    /// authentication. RFC 9846 B.4
    pub(crate) authentication: Option<Authentication>,
}

impl Suite {
    pub(crate) fn is_tls13(&self) -> bool {
        self.authentication.is_none()
    }

    /// Whether the suite is approved in the sense of FIPS 140-3.
    pub(crate) fn is_fips_approved(&self) -> bool {
        matches!(self.aead, Aes128Gcm | Aes256Gcm)
    }
}

/// Returns the suite with this code point, or `None` if it is not supported.
pub(crate) fn find(code: CipherSuite) -> Option<&'static Suite> {
    ALL.get(usize::from(index(code)?))
}

/// Returns the index of a suite in [`ALL`] without a search, since a peer's list may be long.
pub(crate) fn index(code: CipherSuite) -> Option<u8> {
    Some(match code {
        CipherSuite::TLS_AES_128_GCM_SHA256 => 0,
        CipherSuite::TLS_AES_256_GCM_SHA384 => 1,
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => 2,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => 3,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => 4,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => 5,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => 6,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => 7,
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => 8,
        _ => return None,
    })
}

const fn tls13(code: CipherSuite, aead: AeadAlgorithm, hash: HashAlgorithm) -> Suite {
    Suite { code, aead, hash, authentication: None }
}

const fn rsa(code: CipherSuite, aead: AeadAlgorithm, hash: HashAlgorithm) -> Suite {
    Suite { code, aead, hash, authentication: Some(Authentication::Rsa) }
}

const fn ecdsa(code: CipherSuite, aead: AeadAlgorithm, hash: HashAlgorithm) -> Suite {
    Suite { code, aead, hash, authentication: Some(Authentication::Ecdsa) }
}

/// All supported suites, in the default order of preference.
pub(crate) static ALL: [Suite; 9] = [
    tls13(CipherSuite::TLS_AES_128_GCM_SHA256, Aes128Gcm, Sha256),
    tls13(CipherSuite::TLS_AES_256_GCM_SHA384, Aes256Gcm, Sha384),
    tls13(CipherSuite::TLS_CHACHA20_POLY1305_SHA256, ChaCha20Poly1305, Sha256),
    ecdsa(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, Aes128Gcm, Sha256),
    rsa(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, Aes128Gcm, Sha256),
    ecdsa(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, Aes256Gcm, Sha384),
    rsa(CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, Aes256Gcm, Sha384),
    ecdsa(CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, ChaCha20Poly1305, Sha256),
    rsa(CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, ChaCha20Poly1305, Sha256),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_with_chacha20_are_not_fips_approved() {
        for suite in &ALL {
            let is_chacha20 = suite.code.to_string().contains("CHACHA20");
            assert_eq!(suite.is_fips_approved(), !is_chacha20, "{}", suite.code);
        }
    }

    /// RFC 9846 B.4
    #[test]
    fn every_suite_is_found_at_its_index() {
        for (expected, suite) in (0..).zip(&ALL) {
            assert_eq!(index(suite.code), Some(expected));
            assert_eq!(find(suite.code), Some(suite));
        }
        let known = CipherSuite::NAMED.iter().filter(|code| index(**code).is_some()).count();
        assert_eq!(known, ALL.len());
    }
}
