//! Limits on the memory and work that a peer can cause.

use core::time::Duration;

use tercel_wire::HandshakeType;

/// Longest plaintext fragment. RFC 9846 5.1, RFC 5246 6.2.1
pub(crate) const MAX_FRAGMENT: usize = 1 << 14;

/// Longest protected fragment of TLS 1.3: plaintext and 256 bytes. RFC 9846 5.2
pub(crate) const MAX_PROTECTED_TLS13: usize = MAX_FRAGMENT + 256;

/// Longest protected fragment of TLS 1.2: plaintext and 2048 bytes. RFC 5246 6.2.3
pub(crate) const MAX_PROTECTED_TLS12: usize = MAX_FRAGMENT + 2048;

/// Bytes of a record before its fragment.
pub(crate) const HEADER: usize = 5;

/// The largest acceptable record, header included. A receive buffer of this size never stalls.
pub(crate) const MAX_RECORD: usize = HEADER + MAX_PROTECTED_TLS12;

/// Consecutive records without content: each costs work and carries no data.
pub(crate) const MAX_EMPTY_RECORDS: u8 = 32;

/// Consecutive warning alerts and requests for renegotiation (TLS 1.2), or `user_canceled` alerts
/// (TLS 1.3).
pub(crate) const MAX_WARNING_ALERTS: u8 = 4;

/// Compatibility `change_cipher_spec` records that a TLS 1.3 handshake may contain.
pub(crate) const MAX_CHANGE_CIPHER_SPECS: u8 = 32;

/// `KeyUpdate` messages that may arrive with no application data between them.
pub(crate) const MAX_KEY_UPDATES_IN_A_ROW: u8 = 32;

/// Unanswered post-handshake CertificateRequests, on either side. RFC 9846 4.7.2
pub(crate) const MAX_CERTIFICATE_REQUESTS: usize = 8;

/// `certificate_request_context` values that a client remembers, to refuse one that is repeated.
pub(crate) const MAX_REMEMBERED_CONTEXTS: usize = 32;

/// Bytes of plaintext that a stream buffers while it waits for a client's certificate.
pub(crate) const MAX_HELD_DATA: usize = 1 << 18;

/// Bytes of early data (plaintext) that a ticket from another server of the same name may allow: a
/// server that shares ticket keys, or one that ran other software before. This is eight times the
/// usual `max_early_data_size`, and equals the largest known default of a TLS library (NSS).
/// RFC 9846 4.3.10
pub(crate) const MAX_EARLY_DATA_ELSEWHERE: u32 = 1 << 17;

/// Bytes of rejected early data, in whole records, that a server skips before it fails the
/// handshake, if its own tickets allow `max_early_data` bytes of plaintext. RFC 9846 4.3.10
///
/// A record adds 22 bytes to its plaintext (header, content type and tag), so twice the allowed
/// bytes suffice if each record carries at least 22 bytes. Skipped records are not stored. Each
/// costs the server one attempt at decryption.
pub(crate) fn skipped_early_data(max_early_data: u32) -> u32 {
    max_early_data.max(MAX_EARLY_DATA_ELSEWHERE).saturating_mul(2)
}

/// Pre-shared key identities of a ClientHello that a server examines.
pub(crate) const MAX_PSK_IDENTITIES: usize = 32;

/// Identities of a ClientHello that a server tries to decrypt as tickets, which costs more. A
/// client has no reason to send this many.
pub(crate) const MAX_TICKETS_TRIED: usize = 4;

/// Largest difference between a ticket's age as the client reports it and as the server
/// computes it with which early data counts as fresh. RFC 9846 8.3
pub(crate) const MAX_FRESHNESS_WINDOW: Duration = Duration::from_secs(60);

/// The server computes ages in whole seconds, so a smaller window would refuse accurate clients.
pub(crate) const MIN_FRESHNESS_WINDOW: Duration = Duration::from_secs(2);

/// Records sealed under one AES-GCM key before a key update. RFC 9846 5.5 allows 2^24.5 full-size
/// records.
pub(crate) const AES_GCM_RECORDS_PER_KEY: u64 = 1 << 24;

/// Key updates in one direction of one connection. RFC 9846 4.7.3
pub(crate) const MAX_KEY_UPDATES: u64 = (1 << 48) - 1;

/// Largest padding, in bytes, that a client may request from a server.
pub(crate) const MAX_SERVER_PADDING: u16 = 1 << 14;

/// The smallest `record_size_limit` that may be offered. RFC 8449 4
pub(crate) const MIN_RECORD_SIZE_LIMIT: u16 = 64;

/// The longest ticket that a client stores. A longer one could make the extensions of a later
/// ClientHello exceed their limit of 2^16 bytes, so that no handshake would be possible.
pub(crate) const MAX_TICKET_LENGTH: usize = 1 << 15;

/// Default number of TLS 1.2 sessions that a server stores under session IDs: about 5 MB if no
/// client presents a certificate.
pub(crate) const DEFAULT_SESSION_IDS: usize = 4096;

/// The longest client certificate chain, in bytes, of a session that is stored under a session ID.
/// A client with a longer one cannot resume by session ID.
pub(crate) const MAX_CHAIN_LENGTH_BY_SESSION_ID: usize = 1 << 13;

/// The longest accepted body of a handshake message, by its type.
pub(crate) fn message_body(kind: HandshakeType) -> usize {
    match kind {
        HandshakeType::CERTIFICATE | HandshakeType::COMPRESSED_CERTIFICATE => 100 * 1024,
        HandshakeType::CLIENT_HELLO => 64 * 1024,
        // Includes the padding of a server, see `MAX_SERVER_PADDING`.
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
