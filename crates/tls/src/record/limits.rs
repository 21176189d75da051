//! Limits on the memory and work that a peer can cause.

use core::time::Duration;

use tercel_wire::HandshakeType;

/// The maximum length of a plaintext fragment. RFC 9846 5.1, RFC 5246 6.2.1
pub(crate) const MAX_FRAGMENT: usize = 1 << 14;

/// The maximum length of a protected fragment in TLS 1.3: plaintext and 256 bytes. RFC 9846 5.2
pub(crate) const MAX_PROTECTED_TLS13: usize = MAX_FRAGMENT + 256;

/// The maximum length of a protected fragment in TLS 1.2: plaintext and 2048 bytes. RFC 5246 6.2.3
pub(crate) const MAX_PROTECTED_TLS12: usize = MAX_FRAGMENT + 2048;

/// The number of bytes of a record before its fragment.
pub(crate) const HEADER: usize = 5;

/// The length of the largest acceptable record, header included. A receive buffer of this size can
/// hold any record.
pub(crate) const MAX_RECORD: usize = HEADER + MAX_PROTECTED_TLS12;

/// The maximum number of consecutive records without content. Each such record costs work and
/// carries no data.
pub(crate) const MAX_EMPTY_RECORDS: u8 = 32;

/// The maximum number of consecutive warning alerts and requests for renegotiation (TLS 1.2), or of
/// consecutive `user_canceled` alerts (TLS 1.3).
pub(crate) const MAX_WARNING_ALERTS: u8 = 4;

/// The maximum number of `change_cipher_spec` records that a TLS 1.3 handshake may contain.
pub(crate) const MAX_CHANGE_CIPHER_SPECS: u8 = 32;

/// The maximum number of `KeyUpdate` messages that may arrive with no application data between
/// them.
pub(crate) const MAX_KEY_UPDATES_IN_A_ROW: u8 = 32;

/// The maximum number of unanswered post-handshake CertificateRequests, on either side.
/// RFC 9846 4.7.2
pub(crate) const MAX_CERTIFICATE_REQUESTS: usize = 8;

/// The maximum number of post-handshake CertificateRequests that a client accepts in a connection.
/// Each costs a signature. The client remembers all their `certificate_request_context` values.
pub(crate) const MAX_CERTIFICATE_REQUESTS_IN_ALL: usize = 64;

/// The number of plaintext bytes that a stream buffers while it waits for a client's certificate.
pub(crate) const MAX_HELD_DATA: usize = 1 << 18;

/// The number of early data bytes (plaintext) that a ticket of another server is assumed to allow.
/// The client may have such a ticket from a server that shares ticket keys, or from one that ran
/// other software under the same name before. This is eight times the usual `max_early_data_size`,
/// and equals the largest known default of a TLS library (NSS). RFC 9846 4.3.10
pub(crate) const MAX_EARLY_DATA_OF_OTHER_SERVERS: u32 = 1 << 17;

/// Returns the number of bytes of rejected early data, in whole records, that a server skips before
/// the handshake fails. `max_early_data` is the number of plaintext bytes that the server's own
/// tickets allow. RFC 9846 4.3.10
///
/// A record adds 22 bytes to its plaintext (header, content type and tag), so twice the allowed
/// bytes suffice if each record carries at least 22 bytes. Skipped records are not stored. Each one
/// costs the server one attempt at decryption.
pub(crate) fn skipped_early_data(max_early_data: u32) -> u32 {
    max_early_data.max(MAX_EARLY_DATA_OF_OTHER_SERVERS).saturating_mul(2)
}

/// The number of pre-shared key identities in a ClientHello that a server examines.
pub(crate) const MAX_PSK_IDENTITIES: usize = 32;

/// The number of identities in a ClientHello that a server tries to decrypt as tickets, which costs
/// more than other checks. A client has no reason to send this many tickets.
pub(crate) const MAX_TICKETS_TRIED: usize = 4;

/// The maximum freshness window. Early data counts as fresh if the ticket ages that the client and
/// the server compute differ by at most the window. RFC 9846 8.3
pub(crate) const MAX_FRESHNESS_WINDOW: Duration = Duration::from_secs(60);

/// The minimum freshness window. The server computes ages in whole seconds, so a smaller window
/// would refuse clients with accurate clocks.
pub(crate) const MIN_FRESHNESS_WINDOW: Duration = Duration::from_secs(2);

/// The number of records sealed under one AES-GCM key before a key update. RFC 9846 5.5 allows
/// 2^24.5 full-size records.
pub(crate) const AES_GCM_RECORDS_PER_KEY: u64 = 1 << 24;

/// The maximum number of key updates in one direction of a connection. RFC 9846 4.7.3
pub(crate) const MAX_KEY_UPDATES: u64 = (1 << 48) - 1;

/// The maximum number of padding bytes that a client may request from a server.
pub(crate) const MAX_SERVER_PADDING: u16 = 1 << 14;

/// The smallest `record_size_limit` that may be offered. RFC 8449 4
pub(crate) const MIN_RECORD_SIZE_LIMIT: u16 = 64;

/// The largest number of tickets that a handshake issues.
pub(crate) const MAX_TICKETS_SENT: u8 = 10;

/// The maximum number of tickets that a client processes in one connection. A server has no reason
/// to send more.
pub(crate) const MAX_TICKETS_RECEIVED: u8 = 16;

/// The longest lifetime of a ticket in seconds: seven days. RFC 9846 4.7.1
pub(crate) const MAX_TICKET_LIFETIME: u32 = 604_800;

/// The maximum number of a server's keys for Encrypted ClientHello.
#[cfg(feature = "ech")]
pub(crate) const MAX_ECH_KEYS: usize = 16;

/// The maximum number of a server's keys for Encrypted ClientHello with the same identifier. A
/// ClientHello of an unknown client is decrypted with each of them.
#[cfg(feature = "ech")]
pub(crate) const MAX_ECH_KEYS_OF_ONE_ID: usize = 4;

/// Converts a lifetime to whole seconds, at most [`MAX_TICKET_LIFETIME`].
pub(crate) fn ticket_lifetime(lifetime: Duration) -> u32 {
    whole_seconds(lifetime).min(MAX_TICKET_LIFETIME)
}

/// Converts a duration to whole seconds, at most `u32::MAX`.
pub(crate) fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

/// The longest ticket that a client stores. A longer one could make the extensions of a later
/// ClientHello exceed their limit of 2^16 bytes, so that no handshake would be possible.
pub(crate) const MAX_TICKET_LENGTH: usize = 1 << 15;

/// The default number of TLS 1.2 sessions that a server stores under session IDs: about 5 MB if no
/// client presents a certificate.
pub(crate) const DEFAULT_SESSION_IDS: usize = 4096;

/// The maximum length in bytes of the client certificate chain of a session that is stored under a
/// session ID. A client with a longer chain cannot resume by session ID.
pub(crate) const MAX_CHAIN_LENGTH_BY_SESSION_ID: usize = 1 << 13;

/// Returns the maximum length of the body of a handshake message, by its type.
pub(crate) fn message_body(kind: HandshakeType) -> usize {
    match kind {
        HandshakeType::CERTIFICATE | HandshakeType::COMPRESSED_CERTIFICATE => 100 * 1024,
        HandshakeType::CLIENT_HELLO => 64 * 1024,
        // The length includes the padding of a server, see `MAX_SERVER_PADDING`.
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

/// The number of received bytes of CRYPTO data that are kept at most, which is more than any flight
/// of a handshake. RFC 9000 7.5
#[cfg(feature = "quic")]
pub(crate) const MAX_CRYPTO_DATA: usize = 1 << 18;
