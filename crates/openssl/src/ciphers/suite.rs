//! SSL_CIPHER: the cipher suites, as static objects.

use core::ffi::{CStr, c_int};

use tercel::wire::CipherSuite;

/// A cipher suite. Its numbers of algorithms are libcrypto's (`obj_mac.h`).
#[derive(Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Cipher {
    pub(crate) code: CipherSuite,
    pub(crate) name: &'static CStr,
    pub(crate) standard_name: &'static CStr,
    /// The strength in bits.
    pub(crate) bits: c_int,
    pub(crate) authentication: Authentication,
    pub(crate) encryption: Encryption,
    pub(crate) is_sha384: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authentication {
    /// TLS 1.3: the suite does not determine it.
    Any,
    Rsa,
    Ecdsa,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    Aes128Gcm,
    Aes256Gcm,
    ChaCha20,
}

impl Cipher {
    pub(crate) fn is_tls13(&self) -> bool {
        self.authentication == Authentication::Any
    }

    /// The identifier, which has the protocol's number in its first byte.
    pub(crate) fn id(&self) -> u32 {
        0x0300_0000 | u32::from(self.code.0)
    }

    pub(crate) fn cipher_nid(&self) -> c_int {
        match self.encryption {
            Encryption::Aes128Gcm => 895,
            Encryption::Aes256Gcm => 901,
            Encryption::ChaCha20 => 1018,
        }
    }

    pub(crate) fn authentication_nid(&self) -> c_int {
        match self.authentication {
            Authentication::Any => 1064,
            Authentication::Rsa => 1046,
            Authentication::Ecdsa => 1047,
        }
    }

    pub(crate) fn key_exchange_nid(&self) -> c_int {
        if self.is_tls13() { 1063 } else { 1038 }
    }

    pub(crate) fn version(&self) -> &'static CStr {
        if self.is_tls13() { c"TLSv1.3" } else { c"TLSv1.2" }
    }

    /// The line that describes the suite, as `openssl ciphers -v` prints it.
    pub(crate) fn description(&self) -> String {
        let exchange = if self.is_tls13() { "any" } else { "ECDH" };
        let authentication = match self.authentication {
            Authentication::Any => "any",
            Authentication::Rsa => "RSA",
            Authentication::Ecdsa => "ECDSA",
        };
        let encryption = match self.encryption {
            Encryption::Aes128Gcm => "AESGCM(128)",
            Encryption::Aes256Gcm => "AESGCM(256)",
            Encryption::ChaCha20 => "CHACHA20/POLY1305(256)",
        };
        let [name, version] = [self.name, self.version()].map(CStr::to_string_lossy);
        format!(
            "{name:<30} {version:<7} Kx={exchange:<8} Au={authentication:<5} Enc={encryption:<22} Mac=AEAD\n"
        )
    }
}

/// The suite with this code point.
pub(crate) fn find(code: CipherSuite) -> Option<&'static Cipher> {
    ALL.iter().find(|cipher| cipher.code == code)
}

/// Whether the suite with this code point has ChaCha20.
pub(crate) fn has_chacha(code: CipherSuite) -> bool {
    find(code).is_some_and(|cipher| cipher.encryption == Encryption::ChaCha20)
}

/// All suites, in the default order of preference.
pub(crate) static ALL: [Cipher; 9] = {
    use Authentication::{Any, Ecdsa, Rsa};
    use CipherSuite as S;
    use Encryption::{Aes128Gcm, Aes256Gcm, ChaCha20};
    [
        row(
            S::TLS_AES_256_GCM_SHA384,
            c"TLS_AES_256_GCM_SHA384",
            c"TLS_AES_256_GCM_SHA384",
            Any,
            Aes256Gcm,
        ),
        row(
            S::TLS_CHACHA20_POLY1305_SHA256,
            c"TLS_CHACHA20_POLY1305_SHA256",
            c"TLS_CHACHA20_POLY1305_SHA256",
            Any,
            ChaCha20,
        ),
        row(
            S::TLS_AES_128_GCM_SHA256,
            c"TLS_AES_128_GCM_SHA256",
            c"TLS_AES_128_GCM_SHA256",
            Any,
            Aes128Gcm,
        ),
        row(
            S::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            c"ECDHE-ECDSA-AES256-GCM-SHA384",
            c"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            Ecdsa,
            Aes256Gcm,
        ),
        row(
            S::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            c"ECDHE-RSA-AES256-GCM-SHA384",
            c"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            Rsa,
            Aes256Gcm,
        ),
        row(
            S::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            c"ECDHE-ECDSA-CHACHA20-POLY1305",
            c"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            Ecdsa,
            ChaCha20,
        ),
        row(
            S::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            c"ECDHE-RSA-CHACHA20-POLY1305",
            c"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            Rsa,
            ChaCha20,
        ),
        row(
            S::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            c"ECDHE-ECDSA-AES128-GCM-SHA256",
            c"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            Ecdsa,
            Aes128Gcm,
        ),
        row(
            S::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            c"ECDHE-RSA-AES128-GCM-SHA256",
            c"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            Rsa,
            Aes128Gcm,
        ),
    ]
};

const fn row(
    code: CipherSuite,
    name: &'static CStr,
    standard_name: &'static CStr,
    authentication: Authentication,
    encryption: Encryption,
) -> Cipher {
    let is_sha384 = matches!(encryption, Encryption::Aes256Gcm);
    let bits = if matches!(encryption, Encryption::Aes128Gcm) { 128 } else { 256 };
    Cipher { code, name, standard_name, bits, authentication, encryption, is_sha384 }
}
