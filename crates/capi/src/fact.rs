//! The negotiated parameters of a connection.

use std::sync::OnceLock;

use tercel::pki::tls_server_end_point;
use tercel::{ConnectionInfo, EarlyData, EarlyDataRejection};

use crate::config::codes::{Side, TERCEL_CLIENT};
use crate::entry::bytes::Bytes;
use crate::fips;

/// A parameter of a connection.
pub type Fact = u32;

/// Number: the protocol version, 0x0304 or 0x0303.
pub const TERCEL_FACT_VERSION: Fact = 1;
/// Number: the cipher suite.
pub const TERCEL_FACT_CIPHER_SUITE: Fact = 2;
/// Number: the key exchange group; 0 in a resumption without key exchange.
pub const TERCEL_FACT_GROUP: Fact = 3;
/// Number: the scheme of the peer's signature; 0 if it did not sign.
pub const TERCEL_FACT_PEER_SIGNATURE_SCHEME: Fact = 4;
/// Number: the scheme of this side's signature; 0 if it did not sign.
pub const TERCEL_FACT_OWN_SIGNATURE_SCHEME: Fact = 5;
/// Number: 1 if a HelloRetryRequest was needed.
pub const TERCEL_FACT_RETRIED: Fact = 6;
/// Number: 1 if a session was resumed.
pub const TERCEL_FACT_RESUMED: Fact = 7;
/// Number: 1 if the extended main secret is used; always in TLS 1.3.
pub const TERCEL_FACT_EXTENDED_MAIN_SECRET: Fact = 8;
/// Number: 1 if the peer supports secure renegotiation; always in TLS 1.3.
pub const TERCEL_FACT_SECURE_RENEGOTIATION: Fact = 9;
/// Number: 1 if the client offered post-handshake authentication.
pub const TERCEL_FACT_POST_HANDSHAKE_AUTH: Fact = 10;
/// Number: a constant TERCEL_EARLY_DATA_...
pub const TERCEL_FACT_EARLY_DATA: Fact = 11;
/// Number: why early data was rejected, a constant TERCEL_REJECTION_..., or 0.
pub const TERCEL_FACT_EARLY_DATA_REJECTION: Fact = 12;
/// Number: server, after a resumption in TLS 1.3: the milliseconds by which the client's age of the
/// ticket exceeds the server's. Convert it to int64_t, since it may be negative.
pub const TERCEL_FACT_TICKET_AGE_SKEW: Fact = 13;
/// Number: whether the connection uses approved cryptography only, a constant TERCEL_FIPS_...
pub const TERCEL_FACT_FIPS: Fact = 14;
/// Bytes: the application protocol. RFC 7301
pub const TERCEL_FACT_ALPN: Fact = 32;
/// Bytes: server: the name that the client requested.
pub const TERCEL_FACT_SERVER_NAME: Fact = 33;
/// Bytes: a certificate of the peer (DER); index 0 is the leaf.
pub const TERCEL_FACT_CERTIFICATE: Fact = 34;
/// Bytes: the OCSP response that the peer stapled (DER).
pub const TERCEL_FACT_OCSP_RESPONSE: Fact = 35;
/// Bytes: the signed certificate timestamps of the peer. RFC 6962 3.3
pub const TERCEL_FACT_TIMESTAMPS: Fact = 36;
/// Bytes: server: the SHA-256 digest of the certificate of a resumed client, if only that was
/// stored.
pub const TERCEL_FACT_CERTIFICATE_DIGEST: Fact = 37;
/// Bytes: the identity of the external pre-shared key that authenticated the peers.
pub const TERCEL_FACT_PSK_IDENTITY: Fact = 38;
/// Bytes: client: the channel binding tls-server-end-point of the server. RFC 5929 4.1
pub const TERCEL_FACT_SERVER_END_POINT: Fact = 39;

/// The result of early data, TERCEL_FACT_EARLY_DATA.
pub type EarlyDataResult = u64;

/// The client offered no early data.
pub const TERCEL_EARLY_DATA_NOT_OFFERED: EarlyDataResult = 0;
/// The server accepted the early data.
pub const TERCEL_EARLY_DATA_ACCEPTED: EarlyDataResult = 1;
/// The server rejected the early data: the client has to send it again.
pub const TERCEL_EARLY_DATA_REJECTED: EarlyDataResult = 2;

/// Why early data was rejected, TERCEL_FACT_EARLY_DATA_REJECTION.
pub type Rejection = u64;

/// The server sent a HelloRetryRequest.
pub const TERCEL_REJECTION_RETRY: Rejection = 1;
/// The session was not resumed.
pub const TERCEL_REJECTION_NOT_RESUMED: Rejection = 2;
/// The session or the server's configuration does not allow early data, or not as much.
pub const TERCEL_REJECTION_NOT_ALLOWED: Rejection = 3;
/// The cipher suite or the application protocol differs from the session's.
pub const TERCEL_REJECTION_PARAMETERS_CHANGED: Rejection = 4;
/// The ticket's age is outside the freshness window.
pub const TERCEL_REJECTION_NOT_FRESH: Rejection = 5;
/// The replay guard did not admit the early data.
pub const TERCEL_REJECTION_NOT_ADMITTED: Rejection = 6;
/// Client: the server resumed the session, but rejected the early data for an unknown reason.
pub const TERCEL_REJECTION_BY_SERVER: Rejection = 7;
/// A reason without a number.
pub const TERCEL_REJECTION_OTHER: Rejection = 255;

/// Returns a fact that is a number; 0 if it is unknown or absent.
pub(crate) fn number(info: &ConnectionInfo, fact: Fact) -> u64 {
    match fact {
        TERCEL_FACT_VERSION => info.version.0.into(),
        TERCEL_FACT_CIPHER_SUITE => info.cipher_suite.0.into(),
        TERCEL_FACT_GROUP => info.group.map_or(0, |group| group.0.into()),
        TERCEL_FACT_PEER_SIGNATURE_SCHEME => {
            info.peer_signature_scheme.map_or(0, |scheme| scheme.0.into())
        }
        TERCEL_FACT_OWN_SIGNATURE_SCHEME => {
            info.own_signature_scheme.map_or(0, |scheme| scheme.0.into())
        }
        TERCEL_FACT_RETRIED => info.retried.into(),
        TERCEL_FACT_RESUMED => info.resumed.into(),
        TERCEL_FACT_EXTENDED_MAIN_SECRET => info.extended_main_secret.into(),
        TERCEL_FACT_SECURE_RENEGOTIATION => info.secure_renegotiation.into(),
        TERCEL_FACT_POST_HANDSHAKE_AUTH => info.post_handshake_auth.into(),
        TERCEL_FACT_EARLY_DATA => match info.early_data {
            EarlyData::Accepted => TERCEL_EARLY_DATA_ACCEPTED,
            EarlyData::Rejected => TERCEL_EARLY_DATA_REJECTED,
            _ => TERCEL_EARLY_DATA_NOT_OFFERED,
        },
        TERCEL_FACT_EARLY_DATA_REJECTION => info.early_data_rejection.map_or(0, rejection),
        TERCEL_FACT_FIPS => fips::number(info.fips),
        TERCEL_FACT_TICKET_AGE_SKEW => {
            let skew = i64::from(info.ticket_age_skew.unwrap_or_default());
            u64::from_ne_bytes(skew.to_ne_bytes())
        }
        _ => 0,
    }
}

fn rejection(reason: EarlyDataRejection) -> u64 {
    match reason {
        EarlyDataRejection::HelloRetryRequest => TERCEL_REJECTION_RETRY,
        EarlyDataRejection::NotResumed => TERCEL_REJECTION_NOT_RESUMED,
        EarlyDataRejection::NotAllowed => TERCEL_REJECTION_NOT_ALLOWED,
        EarlyDataRejection::ParametersChanged => TERCEL_REJECTION_PARAMETERS_CHANGED,
        EarlyDataRejection::NotFresh => TERCEL_REJECTION_NOT_FRESH,
        EarlyDataRejection::NotAdmitted => TERCEL_REJECTION_NOT_ADMITTED,
        EarlyDataRejection::ByServer => TERCEL_REJECTION_BY_SERVER,
        _ => TERCEL_REJECTION_OTHER,
    }
}

/// Returns a fact that consists of bytes and that the connection stores.
pub(crate) fn bytes(info: &ConnectionInfo, fact: Fact, index: usize) -> Bytes {
    if fact == TERCEL_FACT_CERTIFICATE {
        return Bytes::optional(info.peer_chain().get(index).map(AsRef::as_ref));
    }
    if index > 0 {
        return Bytes::NONE;
    }
    Bytes::optional(match fact {
        TERCEL_FACT_ALPN => info.alpn.as_deref(),
        TERCEL_FACT_SERVER_NAME => info.server_name.as_deref().map(str::as_bytes),
        TERCEL_FACT_OCSP_RESPONSE => info.ocsp_response.as_deref(),
        TERCEL_FACT_TIMESTAMPS => info.signed_certificate_timestamps.as_deref(),
        TERCEL_FACT_CERTIFICATE_DIGEST => info.peer_certificate_digest().map(<[u8; 32]>::as_slice),
        TERCEL_FACT_PSK_IDENTITY => info.pre_shared_key(),
        _ => None,
    })
}

/// The facts of a connection, which do not change. Both halves have a reference to them.
pub struct Facts {
    info: ConnectionInfo,
    side: Side,
    /// Computed when it is asked for.
    end_point: OnceLock<Option<Vec<u8>>>,
}

impl Facts {
    pub(crate) fn new(info: ConnectionInfo, side: Side) -> Self {
        Self { info, side, end_point: OnceLock::new() }
    }

    pub(crate) fn number(&self, fact: Fact) -> u64 {
        number(&self.info, fact)
    }

    pub(crate) fn bytes(&self, fact: Fact, index: usize) -> Bytes {
        if fact == TERCEL_FACT_SERVER_END_POINT && self.side == TERCEL_CLIENT && index == 0 {
            return Bytes::optional(self.end_point.get_or_init(|| self.end_point()).as_deref());
        }
        bytes(&self.info, fact, index)
    }

    fn end_point(&self) -> Option<Vec<u8>> {
        tls_server_end_point(self.info.peer_chain().first()?).ok()?
    }
}
