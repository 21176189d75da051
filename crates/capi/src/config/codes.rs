//! The numbers of options, lists and decisions. They are part of the ABI: they are never changed,
//! only added.

/// A side of connections.
pub type Side = u32;

/// The client.
pub const TERCEL_CLIENT: Side = 0;
/// The server.
pub const TERCEL_SERVER: Side = 1;

/// A list of code points of a configuration, most preferred first. By default, a list has the
/// library's values.
pub type List = u32;

/// Protocol versions: 0x0304, 0x0303.
pub const TERCEL_LIST_VERSIONS: List = 1;
/// Cipher suites.
pub const TERCEL_LIST_CIPHER_SUITES: List = 2;
/// Key exchange groups.
pub const TERCEL_LIST_GROUPS: List = 3;
/// Client: the groups of the key shares in the first ClientHello; the list may be empty.
pub const TERCEL_LIST_KEY_SHARES: List = 4;
/// Signature schemes that are accepted from the peer.
pub const TERCEL_LIST_SIGNATURE_SCHEMES: List = 5;
/// Signature schemes that are accepted in certificates, if they differ from the others.
pub const TERCEL_LIST_CERTIFICATE_SIGNATURE_SCHEMES: List = 6;

/// A value of a configuration that consists of bytes.
pub type Content = u32;

/// The application protocols, best first, in the format of RFC 7301 3.1: one byte with the length
/// before each name.
pub const TERCEL_CONTENT_ALPN: Content = 1;
/// The context of sessions, for configurations that share tickets or stores: a session is resumed
/// only under an equal context. A server whose application answers TERCEL_ASK_SELECT_CREDENTIAL,
/// and a client whose application answers TERCEL_ASK_VERIFY_PEER, resume sessions of other
/// configurations only with a context.
pub const TERCEL_CONTENT_SESSION_CONTEXT: Content = 2;
/// Server, with TERCEL_ASK_ADMIT_EARLY_DATA: the ID of the replay guard, 16 bytes. Early data is
/// accepted only with tickets of configurations whose guard has the same ID; by default, only with
/// tickets of the same configuration in the same process. Give equal IDs only to configurations and
/// processes that ask one guard.
pub const TERCEL_CONTENT_REPLAY_GUARD_ID: Content = 3;

/// An option of a configuration. Its value is a number; 0 or 1 if the option is on or off.
pub type ConfigOption = u32;

/// The largest number of plaintext bytes in a record, 64 to 16384. Default: 16384.
pub const TERCEL_OPTION_MAX_FRAGMENT: ConfigOption = 1;
/// The size of records that the peer is asked for, 64 to 16385. Default: not sent. RFC 8449
pub const TERCEL_OPTION_RECORD_SIZE_LIMIT: ConfigOption = 2;
/// TLS 1.3: records are padded to a multiple of this many bytes, at most 65535. Default: 0.
pub const TERCEL_OPTION_PADDING: ConfigOption = 3;
/// Whether TLS 1.2 needs the extended main secret. Default: off. RFC 7627
pub const TERCEL_OPTION_REQUIRE_EXTENDED_MAIN_SECRET: ConfigOption = 4;
/// Whether the end of input without close_notify is no error. Default: off.
pub const TERCEL_OPTION_TOLERATE_TRUNCATION: ConfigOption = 5;
/// Whether compressed certificates are accepted. Default: off. RFC 8879
pub const TERCEL_OPTION_OFFER_CERTIFICATE_COMPRESSION: ConfigOption = 6;
/// Whether a stapled OCSP response is requested. Default: on for a client.
pub const TERCEL_OPTION_REQUEST_OCSP: ConfigOption = 7;
/// Whether signed certificate timestamps are requested. Default: off.
pub const TERCEL_OPTION_REQUEST_TIMESTAMPS: ConfigOption = 8;
/// Whether the peer's certificate is verified again when a session is resumed. Default: on for a
/// server, off for a client.
pub const TERCEL_OPTION_VERIFY_RESUMED: ConfigOption = 9;
/// Client: whether early data is sent if the session allows it. Server: the largest number of bytes
/// of early data that are accepted. Early data can be replayed: RFC 9846 8. Default: 0.
pub const TERCEL_OPTION_EARLY_DATA: ConfigOption = 10;
/// Whether only approved cryptography of AWS-LC's FIPS module is used: docs/fips.md. Needs a
/// library with the feature `fips`. Default: off.
pub const TERCEL_OPTION_FIPS: ConfigOption = 11;

/// Client: the keeper of sessions, a constant TERCEL_SESSIONS_... Default: TERCEL_SESSIONS_KEPT.
pub const TERCEL_OPTION_SESSIONS: ConfigOption = 20;
/// Client: whether the server's name is sent. Default: on.
pub const TERCEL_OPTION_SEND_SERVER_NAME: ConfigOption = 21;
/// Client: whether middlebox compatibility mode is used. Default: on. RFC 9846 E.4
pub const TERCEL_OPTION_MIDDLEBOX_COMPATIBILITY: ConfigOption = 22;
/// Client: whether extensions are sent in a random order. Default: off.
pub const TERCEL_OPTION_SHUFFLE_EXTENSIONS: ConfigOption = 23;
/// Client: whether reserved values are sent. Default: off. RFC 8701
pub const TERCEL_OPTION_GREASE: ConfigOption = 24;
/// Client: whether the connection is marked as a retry with a lower version. Default: off. RFC 7507
pub const TERCEL_OPTION_FALLBACK_SCSV: ConfigOption = 25;
/// Client: whether TLS 1.2 servers without secure renegotiation are refused. Default: on.
pub const TERCEL_OPTION_REQUIRE_SECURE_RENEGOTIATION: ConfigOption = 26;
/// Client: whether the client offers to authenticate after the handshake. Default: off.
pub const TERCEL_OPTION_POST_HANDSHAKE_AUTH: ConfigOption = 27;

/// Server: whether clients need a certificate, a constant TERCEL_CLIENT_AUTH_... Default: none. The
/// certificate is verified with the roots, or by the answer to TERCEL_QUESTION_VERIFY_PEER.
pub const TERCEL_OPTION_CLIENT_AUTH: ConfigOption = 40;
/// Server: whether clients are refused that request a name without a credential. Default: off.
pub const TERCEL_OPTION_REQUIRE_KNOWN_NAME: ConfigOption = 41;
/// Server: whether the client's order of suites and groups decides. Default: off.
pub const TERCEL_OPTION_PREFER_CLIENT_ORDER: ConfigOption = 42;
/// Server: whether clients without a common application protocol are accepted. Default: off.
pub const TERCEL_OPTION_IGNORE_UNKNOWN_ALPN: ConfigOption = 43;
/// Server: whether the requested name is acknowledged. Default: on.
pub const TERCEL_OPTION_ACKNOWLEDGE_SERVER_NAME: ConfigOption = 44;
/// Server: whether tickets are issued and accepted. Default: on.
pub const TERCEL_OPTION_TICKETS: ConfigOption = 45;
/// Server: the number of tickets after a full TLS 1.3 handshake, 0 to 10. Default: 2.
pub const TERCEL_OPTION_TICKETS_AFTER_FULL: ConfigOption = 46;
/// Server: the number of tickets after a resumed TLS 1.3 handshake, 0 to 10. Default: 1.
pub const TERCEL_OPTION_TICKETS_AFTER_RESUMED: ConfigOption = 47;
/// Server: whether TLS 1.2 sessions of clients without tickets are kept in memory. Default: on.
pub const TERCEL_OPTION_SESSION_IDS: ConfigOption = 48;
/// Server: the seconds for which a stored session can be resumed. Default: 86400.
pub const TERCEL_OPTION_SESSION_LIFETIME: ConfigOption = 49;
/// Server: the largest error of a ticket's age, in seconds, for early data, 2 to 60. Default: 60.
pub const TERCEL_OPTION_FRESHNESS_WINDOW: ConfigOption = 50;
/// Server: the number of uses of early data that the replay guard of this configuration remembers.
/// Default: 65536.
pub const TERCEL_OPTION_REPLAY_GUARD_CAPACITY: ConfigOption = 51;
/// Server: whether sessions have only the digest of a client's certificate. Default: off. Needs
/// TERCEL_OPTION_VERIFY_RESUMED off.
pub const TERCEL_OPTION_STORE_ONLY_CERTIFICATE_DIGESTS: ConfigOption = 52;
/// Server: whether TLS 1.3 clients may resume under each name of the certificate. Default: off.
pub const TERCEL_OPTION_RESUMPTION_ACROSS_NAMES: ConfigOption = 53;

/// The keeper of a client's sessions, for TERCEL_OPTION_SESSIONS.
pub type Sessions = u64;

/// No session is resumed, and no ticket requested.
pub const TERCEL_SESSIONS_NONE: Sessions = 0;
/// The configuration keeps sessions in memory and offers them.
pub const TERCEL_SESSIONS_KEPT: Sessions = 1;
/// The caller keeps sessions: tercel_connection_take_session, tercel_handshake_offer_session.
pub const TERCEL_SESSIONS_GIVEN: Sessions = 2;

/// Whether a client needs a certificate, for TERCEL_OPTION_CLIENT_AUTH.
pub type ClientAuth = u64;

/// No certificate is requested in the handshake.
pub const TERCEL_CLIENT_AUTH_NONE: ClientAuth = 0;
/// A certificate is requested; the client may decline.
pub const TERCEL_CLIENT_AUTH_OPTIONAL: ClientAuth = 1;
/// A certificate is required.
pub const TERCEL_CLIENT_AUTH_REQUIRED: ClientAuth = 2;

/// A set of decisions that the caller makes: a sum of constants TERCEL_ASK_... Each of them leads
/// to the question of its name; without it, the configuration decides.
pub type Questions = u32;

/// Server: the configuration for a ClientHello.
pub const TERCEL_ASK_CHOOSE_CONFIG: Questions = 1 << 1;
/// Server: the session with an identity. Sessions are then stored by the caller, which takes new
/// ones with tercel_connection_take_stored_session.
pub const TERCEL_ASK_FIND_SESSION: Questions = 1 << 2;
/// Server: the pre-shared key with one of several identities.
pub const TERCEL_ASK_FIND_PSK: Questions = 1 << 3;
/// Server: whether early data is admitted, or may be a replay.
pub const TERCEL_ASK_ADMIT_EARLY_DATA: Questions = 1 << 4;
/// The credential for a peer. A client keeps no session of a server that requests a certificate,
/// except with TERCEL_CONTENT_SESSION_CONTEXT, which states that all connections are of one client.
pub const TERCEL_ASK_SELECT_CREDENTIAL: Questions = 1 << 5;
/// Whether the peer's certificate is trusted. tercel_question_verify_chain helps.
pub const TERCEL_ASK_VERIFY_PEER: Questions = 1 << 7;
/// Server, with TERCEL_ASK_FIND_SESSION: the removal of a session for single use (TLS 1.3), once
/// the client has proved that it has the session's key. Without it, the caller removes such a
/// session when it answers FIND_SESSION; then any client that has seen an identity on the network
/// can make the caller remove its session.
pub const TERCEL_ASK_CLAIM_SESSION: Questions = 1 << 8;
