//! The channel binding `tls-server-end-point`. RFC 5929 4.1

use tercel_crypto::{Hash, HashAlgorithm};

use crate::fixtures::{Authority, connect, trusting};

/// The hash is that of the signature on the certificate.
#[test]
fn both_sides_compute_the_digest_of_the_certificate() {
    for (algorithm, hash) in [
        (&rcgen::PKCS_ECDSA_P256_SHA256, Some(HashAlgorithm::Sha256)),
        (&rcgen::PKCS_ECDSA_P384_SHA384, Some(HashAlgorithm::Sha384)),
        (&rcgen::PKCS_RSA_SHA512, Some(HashAlgorithm::Sha512)),
        (&rcgen::PKCS_ED25519, None),
    ] {
        let authority = Authority::with_algorithm("authority", algorithm);
        let issued = authority.issue("localhost");
        let expected =
            hash.map(|hash| Hash::digest(hash, &[issued.certificate.der().as_ref()]).to_vec());
        let connector = trusting(&authority).build().unwrap();
        let connected = connect(&connector, "localhost", &issued.acceptor());
        for side in [connected.client.unwrap(), connected.server.unwrap()] {
            assert_eq!(side.tls_server_end_point().unwrap(), expected, "{algorithm:?}");
        }
    }
}
