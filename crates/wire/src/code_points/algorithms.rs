//! Code points of algorithms: cipher suites, groups, signature schemes, compression.
//!
//! A name here does not mean that the library implements the algorithm.

use super::code_points;

code_points! {
    /// A cipher suite. RFC 9846 B.4, RFC 5289, RFC 7905
    CipherSuite(u16) {
        TLS_EMPTY_RENEGOTIATION_INFO_SCSV = 0x00ff "TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
        TLS_AES_128_GCM_SHA256 = 0x1301 "TLS_AES_128_GCM_SHA256",
        TLS_AES_256_GCM_SHA384 = 0x1302 "TLS_AES_256_GCM_SHA384",
        TLS_CHACHA20_POLY1305_SHA256 = 0x1303 "TLS_CHACHA20_POLY1305_SHA256",
        TLS_AES_128_CCM_SHA256 = 0x1304 "TLS_AES_128_CCM_SHA256",
        TLS_AES_128_CCM_8_SHA256 = 0x1305 "TLS_AES_128_CCM_8_SHA256",
        TLS_FALLBACK_SCSV = 0x5600 "TLS_FALLBACK_SCSV",
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 = 0xc02b "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 = 0xc02c "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 = 0xc02f "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 = 0xc030 "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca8 "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca9 "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    }
}

code_points! {
    /// A named group for key exchange. RFC 9846 4.3.7
    NamedGroup(u16) {
        SECP256R1 = 0x0017 "secp256r1",
        SECP384R1 = 0x0018 "secp384r1",
        SECP521R1 = 0x0019 "secp521r1",
        X25519 = 0x001d "x25519",
        X448 = 0x001e "x448",
        BRAINPOOLP256R1TLS13 = 0x001f "brainpoolP256r1tls13",
        BRAINPOOLP384R1TLS13 = 0x0020 "brainpoolP384r1tls13",
        BRAINPOOLP512R1TLS13 = 0x0021 "brainpoolP512r1tls13",
        FFDHE2048 = 0x0100 "ffdhe2048",
        FFDHE3072 = 0x0101 "ffdhe3072",
        FFDHE4096 = 0x0102 "ffdhe4096",
        FFDHE6144 = 0x0103 "ffdhe6144",
        FFDHE8192 = 0x0104 "ffdhe8192",
        MLKEM512 = 0x0200 "MLKEM512",
        MLKEM768 = 0x0201 "MLKEM768",
        MLKEM1024 = 0x0202 "MLKEM1024",
        SECP256R1MLKEM768 = 0x11eb "SecP256r1MLKEM768",
        X25519MLKEM768 = 0x11ec "X25519MLKEM768",
        SECP384R1MLKEM1024 = 0x11ed "SecP384r1MLKEM1024",
    }
}

code_points! {
    /// A signature scheme. RFC 9846 4.3.3
    SignatureScheme(u16) {
        RSA_PKCS1_SHA1 = 0x0201 "rsa_pkcs1_sha1",
        ECDSA_SHA1 = 0x0203 "ecdsa_sha1",
        RSA_PKCS1_SHA256 = 0x0401 "rsa_pkcs1_sha256",
        ECDSA_SECP256R1_SHA256 = 0x0403 "ecdsa_secp256r1_sha256",
        RSA_PKCS1_SHA384 = 0x0501 "rsa_pkcs1_sha384",
        ECDSA_SECP384R1_SHA384 = 0x0503 "ecdsa_secp384r1_sha384",
        RSA_PKCS1_SHA512 = 0x0601 "rsa_pkcs1_sha512",
        ECDSA_SECP521R1_SHA512 = 0x0603 "ecdsa_secp521r1_sha512",
        RSA_PSS_RSAE_SHA256 = 0x0804 "rsa_pss_rsae_sha256",
        RSA_PSS_RSAE_SHA384 = 0x0805 "rsa_pss_rsae_sha384",
        RSA_PSS_RSAE_SHA512 = 0x0806 "rsa_pss_rsae_sha512",
        ED25519 = 0x0807 "ed25519",
        ED448 = 0x0808 "ed448",
        RSA_PSS_PSS_SHA256 = 0x0809 "rsa_pss_pss_sha256",
        RSA_PSS_PSS_SHA384 = 0x080a "rsa_pss_pss_sha384",
        RSA_PSS_PSS_SHA512 = 0x080b "rsa_pss_pss_sha512",
        MLDSA44 = 0x0904 "mldsa44",
        MLDSA65 = 0x0905 "mldsa65",
        MLDSA87 = 0x0906 "mldsa87",
    }
}

code_points! {
    /// A record compression method; only null is still allowed. RFC 9846 4.2.2
    CompressionMethod(u8) {
        NULL = 0 "null",
        DEFLATE = 1 "DEFLATE",
    }
}

code_points! {
    /// A compression algorithm for the Certificate message. RFC 8879 3
    CertificateCompressionAlgorithm(u16) {
        ZLIB = 1 "zlib",
        BROTLI = 2 "brotli",
        ZSTD = 3 "zstd",
    }
}

code_points! {
    /// Whether a pre-shared key is combined with a (EC)DHE key exchange. RFC 9846 4.3.9
    PskKeyExchangeMode(u8) {
        PSK_KE = 0 "psk_ke",
        PSK_DHE_KE = 1 "psk_dhe_ke",
    }
}

code_points! {
    /// The encoding of elliptic curve points in TLS 1.2. RFC 8422 5.1.2
    EcPointFormat(u8) {
        UNCOMPRESSED = 0 "uncompressed",
        ANSI_X962_COMPRESSED_PRIME = 1 "ansiX962_compressed_prime",
        ANSI_X962_COMPRESSED_CHAR2 = 2 "ansiX962_compressed_char2",
    }
}

code_points! {
    /// The way a TLS 1.2 server specifies its curve. RFC 8422 5.4
    EcCurveType(u8) {
        EXPLICIT_PRIME = 1 "explicit_prime",
        EXPLICIT_CHAR2 = 2 "explicit_char2",
        NAMED_CURVE = 3 "named_curve",
    }
}

code_points! {
    /// The key derivation function for which a pre-shared key is imported. RFC 9258 10
    KdfIdentifier(u16) {
        HKDF_SHA256 = 0x0001 "HKDF_SHA256",
        HKDF_SHA384 = 0x0002 "HKDF_SHA384",
    }
}

code_points! {
    /// The key encapsulation mechanism of HPKE. RFC 9180 7.1
    HpkeKem(u16) {
        DHKEM_P256_HKDF_SHA256 = 0x0010 "DHKEM(P-256, HKDF-SHA256)",
        DHKEM_X25519_HKDF_SHA256 = 0x0020 "DHKEM(X25519, HKDF-SHA256)",
    }
}

code_points! {
    /// The key derivation function of HPKE. RFC 9180 7.2
    HpkeKdf(u16) {
        HKDF_SHA256 = 0x0001 "HKDF-SHA256",
        HKDF_SHA384 = 0x0002 "HKDF-SHA384",
        HKDF_SHA512 = 0x0003 "HKDF-SHA512",
    }
}

code_points! {
    /// The AEAD of HPKE. RFC 9180 7.3
    HpkeAead(u16) {
        AES_128_GCM = 0x0001 "AES-128-GCM",
        AES_256_GCM = 0x0002 "AES-256-GCM",
        CHACHA20_POLY1305 = 0x0003 "ChaCha20Poly1305",
    }
}
