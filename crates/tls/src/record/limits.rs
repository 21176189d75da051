//! Every number that bounds what a peer can make us do: bytes held, loops run, records accepted.
//!
//! Must not know: who enforces a limit. Each constant says which rule or which attack it answers.
//! Next: [`super::frame`] and [`super::joiner`] enforce most of them.

use tercel_wire::HandshakeType;

/// Longest plaintext fragment. RFC 9846 5.1, RFC 5246 6.2.1
pub(crate) const MAX_FRAGMENT: usize = 1 << 14;

/// Longest protected fragment of TLS 1.3: plaintext and 256 bytes. RFC 9846 5.2
pub(crate) const MAX_PROTECTED_TLS13: usize = MAX_FRAGMENT + 256;

/// Longest protected fragment of TLS 1.2: plaintext and 2048 bytes. RFC 5246 6.2.3
pub(crate) const MAX_PROTECTED_TLS12: usize = MAX_FRAGMENT + 2048;

/// Bytes of a record before its fragment.
pub(crate) const HEADER: usize = 5;

/// The largest record that can arrive, header included. A receive buffer of this size never stalls.
pub(crate) const MAX_RECORD: usize = HEADER + MAX_PROTECTED_TLS12;

/// Records without content that may follow one another. Each costs us work and carries nothing.
pub(crate) const MAX_EMPTY_RECORDS: u8 = 32;

/// Warning alerts and requests for renegotiation that may follow one another (TLS 1.2), and
/// `user_canceled` in TLS 1.3.
pub(crate) const MAX_WARNING_ALERTS: u8 = 4;

/// Compatibility `change_cipher_spec` records that a TLS 1.3 handshake may contain.
pub(crate) const MAX_CHANGE_CIPHER_SPECS: u8 = 32;

/// `KeyUpdate` messages that may arrive with no application data between them.
pub(crate) const MAX_KEY_UPDATES_IN_A_ROW: u8 = 32;

/// Requests for a client's certificate after the handshake that may wait for an answer, on either side.
/// RFC 9846 4.7.2
pub(crate) const MAX_CERTIFICATE_REQUESTS: usize = 8;

/// Contexts of earlier requests for a certificate that a client remembers, to refuse them again.
pub(crate) const MAX_REMEMBERED_CONTEXTS: usize = 32;

/// Plaintext that a stream holds back while it waits for a client's certificate.
pub(crate) const MAX_HELD_DATA: usize = 1 << 18;

/// Plaintext bytes of early data that a client may have been promised by another server of this
/// name, which shares ticket keys or used other software before. It is eight times what most
/// servers promise, and as much as the largest default of a TLS library that is known (NSS).
/// RFC 9846 4.3.10
pub(crate) const EARLY_DATA_PROMISED_ELSEWHERE: u32 = 1 << 17;

/// Bytes of rejected early data, in whole records, that a server passes over before it gives up,
/// where its own tickets promise `max_early_data` bytes of plaintext. RFC 9846 4.3.10
///
/// Each record adds a header, a content type and a tag, 22 bytes in all, so twice the promise has
/// room for any data in records of 22 bytes and more. What is passed over is not kept. It costs
/// its sender as many bytes, and us one attempt to open each record.
pub(crate) fn skipped_early_data(max_early_data: u32) -> u32 {
    max_early_data.max(EARLY_DATA_PROMISED_ELSEWHERE).saturating_mul(2)
}

/// Pre-shared keys of a ClientHello that are looked at.
pub(crate) const MAX_PSK_IDENTITIES: usize = 32;

/// Those among them that are tried as tickets, which costs more; a client has no reason to send as many.
pub(crate) const MAX_TICKETS_TRIED: usize = 4;

/// Seconds by which a ticket's age may be off at most for its early data to count as fresh. RFC 9846 8.3
pub(crate) const FRESHNESS_WINDOW: u32 = 60;

/// Ages are told in whole seconds on our side, so a narrower window would refuse who is on time.
pub(crate) const MIN_FRESHNESS_WINDOW: u32 = 2;

/// Records sealed under one AES-GCM key before a key update: below the 2^24.5 full-size records
/// that keep the safety margin of RFC 9846 5.5.
pub(crate) const AES_GCM_RECORDS_PER_KEY: u64 = 1 << 24;

/// Key updates in one direction of one connection. RFC 9846 4.7.3
pub(crate) const MAX_KEY_UPDATES: u64 = (1 << 48) - 1;

/// Bytes of padding that a client may have a server send.
pub(crate) const MAX_SERVER_PADDING: u16 = 1 << 14;

/// The smallest `record_size_limit` that may be offered. RFC 8449 4
pub(crate) const MIN_RECORD_SIZE_LIMIT: u16 = 64;

/// The longest ticket that a client keeps. A longer one, with the rest of a ClientHello, would come near the
/// 2^16 bytes that all extensions have room for, and a hello without room connects to nobody.
pub(crate) const MAX_KEPT_TICKET: usize = 1 << 15;

/// Sessions under an id of TLS 1.2 that a server keeps without being told how many: some 5 MB if
/// no client shows a certificate.
pub(crate) const DEFAULT_SESSION_IDS: usize = 4096;

/// The longest chain of a client's certificates, in bytes, in a session that is kept under such an
/// id. A client with a longer one is not resumed by id.
pub(crate) const MAX_CHAIN_UNDER_AN_ID: usize = 1 << 13;

/// The longest body of a handshake message, by its type. A peer cannot make us hold more.
pub(crate) fn message_body(kind: HandshakeType) -> usize {
    match kind {
        HandshakeType::CERTIFICATE | HandshakeType::COMPRESSED_CERTIFICATE => 100 * 1024,
        HandshakeType::CLIENT_HELLO => 64 * 1024,
        // With as much padding as a server gives, see `MAX_SERVER_PADDING`.
        HandshakeType::ENCRYPTED_EXTENSIONS => 2 * MAX_FRAGMENT,
        HandshakeType::NEW_SESSION_TICKET => 68 * 1024,
        HandshakeType::CERTIFICATE_STATUS | HandshakeType::CERTIFICATE_REQUEST => 64 * 1024,
        HandshakeType::FINISHED => 64,
        HandshakeType::KEY_UPDATE => 1,
        HandshakeType::HELLO_REQUEST
        | HandshakeType::SERVER_HELLO_DONE
        | HandshakeType::END_OF_EARLY_DATA => 0,
        _ => MAX_FRAGMENT,
    }
}
