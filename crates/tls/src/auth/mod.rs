//! Certificates and raw public keys of this side and of the peer. RFC 9846 4.5, RFC 7250

pub(crate) mod certificate_expectations;
pub(crate) mod certificate_types;
pub(crate) mod certificate_verify;
pub(crate) mod chain;
pub(crate) mod compressed_certificate;
pub(crate) mod compressed_certificate_cache;
pub(crate) mod compression;
pub(crate) mod credential;
pub(crate) mod credential_id;
#[cfg(feature = "native-roots")]
pub(crate) mod native_roots;
pub(crate) mod peer_certificate;
pub(crate) mod server_identity;
pub(crate) mod verifier;
pub(crate) mod verify_peer;
