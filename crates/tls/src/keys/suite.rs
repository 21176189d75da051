//! Cipher suites and their parameters.

use tercel_crypto::{AeadAlgorithm, HashAlgorithm};
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

const fn suite(
    code: CipherSuite,
    aead: AeadAlgorithm,
    hash: HashAlgorithm,
    authentication: Option<Authentication>,
) -> Suite {
    Suite { code, aead, hash, authentication }
}

/// All supported suites, in the default order of preference.
pub(crate) static ALL: [Suite; 9] = [
    suite(
        CipherSuite::TLS_AES_128_GCM_SHA256,
        AeadAlgorithm::Aes128Gcm,
        HashAlgorithm::Sha256,
        None,
    ),
    suite(
        CipherSuite::TLS_AES_256_GCM_SHA384,
        AeadAlgorithm::Aes256Gcm,
        HashAlgorithm::Sha384,
        None,
    ),
    suite(
        CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
        AeadAlgorithm::ChaCha20Poly1305,
        HashAlgorithm::Sha256,
        None,
    ),
    suite(
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        AeadAlgorithm::Aes128Gcm,
        HashAlgorithm::Sha256,
        Some(Authentication::Ecdsa),
    ),
    suite(
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        AeadAlgorithm::Aes128Gcm,
        HashAlgorithm::Sha256,
        Some(Authentication::Rsa),
    ),
    suite(
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        AeadAlgorithm::Aes256Gcm,
        HashAlgorithm::Sha384,
        Some(Authentication::Ecdsa),
    ),
    suite(
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        AeadAlgorithm::Aes256Gcm,
        HashAlgorithm::Sha384,
        Some(Authentication::Rsa),
    ),
    suite(
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        AeadAlgorithm::ChaCha20Poly1305,
        HashAlgorithm::Sha256,
        Some(Authentication::Ecdsa),
    ),
    suite(
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        AeadAlgorithm::ChaCha20Poly1305,
        HashAlgorithm::Sha256,
        Some(Authentication::Rsa),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

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
