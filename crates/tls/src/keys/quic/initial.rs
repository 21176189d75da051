//! Keys of Initial and Retry packets, which do not depend on a handshake. RFC 9001 5.2, 5.8

use tercel_crypto::{AeadAlgorithm, AeadKey, HashAlgorithm, Prk, constant_time_eq};

use super::{Keys, Label, Version, initial_traffic_secret};
use crate::error::Error;
use crate::side::Side;

/// Derives the keys of Initial packets from the Destination Connection ID of the client's first
/// Initial packet. After a Retry packet, this is the ID that the server chose. RFC 9001 5.2
///
/// # Errors
/// If the cryptographic library fails, for example because it gets no memory.
pub fn initial_keys(
    version: Version,
    destination_connection_id: &[u8],
    side: Side,
) -> Result<Keys, Error> {
    let salt = match version {
        Version::V1 => &SALT_V1,
        Version::V2 => &SALT_V2,
    };
    let prk = Prk::extract(HashAlgorithm::Sha256, salt, destination_connection_id);
    let client = initial_traffic_secret(&prk, Label::QUIC_CLIENT_IN);
    let server = initial_traffic_secret(&prk, Label::QUIC_SERVER_IN);
    match side {
        Side::Client => Keys::derive(version, &client, &server),
        Side::Server => Keys::derive(version, &server, &client),
    }
}

/// Computes the Retry Integrity Tag for a Retry packet without its tag.
/// `original_destination_connection_id` is that of the Initial packet which the Retry packet
/// answers. RFC 9001 5.8
///
/// # Errors
/// If the cryptographic library fails, for example because it gets no memory.
pub fn retry_tag(
    version: Version,
    original_destination_connection_id: &[u8],
    packet: &[u8],
) -> Result<[u8; 16], Error> {
    let (key, nonce) = match version {
        Version::V1 => (&RETRY_KEY_V1, &RETRY_NONCE_V1),
        Version::V2 => (&RETRY_KEY_V2, &RETRY_NONCE_V2),
    };
    let key = AeadKey::new(AeadAlgorithm::Aes128Gcm, key)?;
    // A connection ID has at most 20 bytes in these versions.
    let [.., length] = original_destination_connection_id.len().to_be_bytes();
    let pseudo_packet = [&[length], original_destination_connection_id, packet].concat();
    let mut tag = [0; 16];
    key.seal(nonce, &pseudo_packet, &[], &[], &mut tag)?;
    Ok(tag)
}

/// Whether a Retry packet ends with a valid Retry Integrity Tag. RFC 9001 5.8
#[must_use]
pub fn is_valid_retry(
    version: Version,
    original_destination_connection_id: &[u8],
    packet: &[u8],
) -> bool {
    let Some((packet, tag)) = packet.split_last_chunk::<16>() else { return false };
    retry_tag(version, original_destination_connection_id, packet)
        .is_ok_and(|expected| constant_time_eq(&expected, tag))
}

/// RFC 9001 5.2
const SALT_V1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad,
    0xcc, 0xbb, 0x7f, 0x0a,
];

/// RFC 9369 3.3.1
const SALT_V2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb,
    0xf9, 0xbd, 0x2e, 0xd9,
];

/// RFC 9001 5.8
const RETRY_KEY_V1: [u8; 16] = [
    0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e,
];

/// RFC 9001 5.8
const RETRY_NONCE_V1: [u8; 12] =
    [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

/// RFC 9369 3.3.3
const RETRY_KEY_V2: [u8; 16] = [
    0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92,
];

/// RFC 9369 3.3.3
const RETRY_NONCE_V2: [u8; 12] =
    [0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a];
