//! Security policies of s2n-tls for each row.
//!
//! s2n-tls has only named policies. If no policy is limited to the row's suite, group and scheme,
//! client and server get different policies, with which the server selects these parameters. Each
//! handshake is checked for them. Short policies are preferred to long ones, and policies for
//! general use to policies for tests.

use std::ffi::CStr;

use lab_scenario::{Chain, Group, PrepareError, Resumption, Row, Suite, Version};

/// The names of both sides' policies.
pub(crate) struct Policies {
    pub(crate) client: &'static CStr,
    pub(crate) server: &'static CStr,
}

/// The policies of a row, or the reason why it is not supported.
pub(crate) fn of(row: &Row) -> Result<Policies, PrepareError> {
    let cannot = |why: &str| Err(PrepareError::unsupported(why));
    if [Some(row.chain), row.client_chain].contains(&Some(Chain::Ed25519)) {
        return cannot("it has no Ed25519");
    }
    match (row.version, row.resumption) {
        (Version::Tls12, Some(Resumption::Stateless)) => {
            return cannot("it does not renew the ticket that a session of TLS 1.2 is resumed by");
        }
        (Version::Tls13, Some(Resumption::Stateful)) => {
            return cannot("its sessions of TLS 1.3 are always in the ticket");
        }
        _ => {}
    }
    let (client, server) = match (row.suite, row.group) {
        (Suite::EcdheRsaAes128GcmSha256 | Suite::EcdheEcdsaAes128GcmSha256, Group::X25519) => {
            (c"20240501", c"CloudFront-TLS-1-2-2021-no-sha1-no-pq")
        }
        (Suite::EcdheRsaAes256GcmSha384, Group::X25519) => (c"20240501", c"KMS-TLS-1-2-2023-06"),
        (Suite::EcdheEcdsaAes256GcmSha384, Group::X25519) => {
            (c"TLS12_20261021_1", c"test_all_ecdsa")
        }
        (Suite::Aes128GcmSha256, Group::X25519) => {
            (c"CloudFront-TLS-1-3-2025-no-pq", c"CloudFront-TLS-1-3-2025-no-pq")
        }
        (Suite::Aes256GcmSha384, Group::X25519) => (c"CloudFront-TLS-1-3-2025-no-pq", c"20190801"),
        // With all other policies for the hybrid group, clients send a second key share.
        (Suite::Aes128GcmSha256, Group::X25519MlKem768) => (c"test_pq_only", c"test_pq_only"),
        (Suite::Aes256GcmSha384, Group::X25519MlKem768) => {
            (c"test_pq_only", c"PQ-TLS-1-2-2024-10-09")
        }
        (suite, group) => {
            let why = format!("no two of its policies agree on {suite} and {group}");
            return Err(PrepareError::unsupported(why));
        }
    };
    Ok(Policies { client, server })
}
