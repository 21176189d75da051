// The C interface of Tercel, TLS 1.3 and 1.2 without I/O. Made from crates/capi/src by cbindgen.
//
// A program passes received bytes in (tercel_input), sends the bytes that it gets (tercel_output), and
// answers questions. The library opens no sockets and no threads, and has no global settings.
//
//     tercel_config_builder -> tercel_config -> tercel_handshake -> tercel_connection
//
// Rules for all functions
//
// - Handles are owned or shared. Owned ones (builders, inputs, outputs, handshakes, connections) are
//   freed by their _free function, and used by one thread at a time; another thread that uses one at the
//   same time gets TERCEL_MISUSE_HANDLE_IN_USE. Shared ones (roots, credentials, tickets, pre-shared
//   keys, configurations) do not change, are counted by _retain and _release, and are used by any number
//   of threads. No function but these takes a handle away from its caller.
// - A function returns a tercel_status, or its value. NULL pointers, zero lengths and unknown numbers,
//   where the function does not allow them, are errors of the class TERCEL_CLASS_MISUSE; a function that
//   returns a value then returns NULL or 0. After an error, results have the values NULL or 0.
// - Three things are not checked. A handle is one that this library returned, of the parameter's type,
//   and not freed. A pointer with a length refers to as many bytes or elements, which nothing else
//   writes during the call, and, for an output, nothing else reads. A pointer for a result refers to a
//   variable of its type.
// - What a function writes to, memory of the caller or of an input or output, does not overlap other
//   arguments: otherwise it does nothing, and returns TERCEL_MISUSE_OVERLAP.
// - A callback returns: an exception of C++ or a longjmp that leaves it has undefined behavior. It does
//   not use the handles of the function that called it. If it frees one, that happens at the end of the
//   function.
// - Input is a pointer and a length, and is copied. Bytes that the library returns belong to a handle;
//   the caller frees nothing but handles. Texts for people are NUL-terminated.
// - Functions are added to later versions, and never changed or removed. The same holds for the
//   constants. A caller has to expect numbers of status, events and questions that it does not know.


#ifndef TERCEL_H
#define TERCEL_H

#include <stddef.h>
#include <stdint.h>

// A configuration of one side, shared by any number of connections and threads.
typedef struct tercel_config tercel_config;

// A builder of configurations.
typedef struct tercel_config_builder tercel_config_builder;

// An established connection, or one half of it.
typedef struct tercel_connection tercel_connection;

// A certificate chain with its private key, shared by any number of configurations and threads.
typedef struct tercel_credential tercel_credential;

// A handshake in progress.
typedef struct tercel_handshake tercel_handshake;

// A buffer of received bytes: the caller writes to its free space, the library consumes. It
// grows as needed to the size of a record.
typedef struct tercel_input tercel_input;

// A queue of bytes to send: the library appends, the caller sends from its beginning.
typedef struct tercel_output tercel_output;

// An external pre-shared key, shared by any number of configurations and threads.
typedef struct tercel_psk tercel_psk;

// A set of trust anchors, shared by any number of configurations and threads.
typedef struct tercel_roots tercel_roots;

// Keys that encrypt session tickets, shared by any number of configurations and threads.
typedef struct tercel_tickets tercel_tickets;

// A side of connections.
typedef uint32_t tercel_side;

// The result of a function: TERCEL_OK, or a reason. The highest byte is the class of the reason,
// one of the constants TERCEL_CLASS_...; no classes are added, but reasons are. A caller
// distinguishes classes, prints tercel_status_text, and compares with single reasons only where it
// has to.
typedef uint32_t tercel_status;

// An option of a configuration. Its value is a number; 0 or 1 if the option is on or off.
typedef uint32_t tercel_option;

// A list of code points of a configuration, most preferred first. By default, a list has the
// library's values.
typedef uint32_t tercel_list;

// A value of a configuration that consists of bytes.
typedef uint32_t tercel_content;

// A set of decisions that the caller makes: a sum of constants TERCEL_ASK_... Each of them leads
// to the question of its name; without it, the configuration decides.
typedef uint32_t tercel_questions;

// Receives one secret of a connection, for a line "label random secret" of the NSS key log format,
// with the bytes in hexadecimal. The label is NUL-terminated, the random has 32 bytes. For
// debugging only: the secrets suffice to decrypt the connection.
//
// Threads may call the function at once. The pointers are valid during the call. It must return:
// no exception and no longjmp may leave it. It must not use the handles of the connection, but may
// free them.
typedef void (*tercel_key_log_function)(void *context,
                                        const char *label,
                                        const uint8_t *random,
                                        const uint8_t *secret,
                                        size_t secret_len);

// Returns the current time in seconds since 1970. Threads may call the function at once. It must
// return: no exception and no longjmp may leave it. It must not use the handles of the connection
// or of the builder, but may free them.
typedef uint64_t (*tercel_clock_function)(void *context);

// Whether a configuration or a connection uses approved cryptography of a validated module only:
// TERCEL_FIPS_CERTIFIED, TERCEL_FIPS_IN_PROCESS, or the first rule that is broken. docs/fips.md
// has the rules. 0 is a rule of a later version.
typedef uint64_t tercel_fips;

// What tercel_connection_open found.
typedef uint32_t tercel_event;

// Bytes that belong to a handle. They are valid until the next function that changes the handle,
// or that frees it. If there are none, data is NULL and len is 0.
typedef struct tercel_bytes {
    // The first byte.
    const uint8_t *data;
    // The number of bytes.
    size_t len;
} tercel_bytes;

// A parameter of a connection.
typedef uint32_t tercel_fact;

// Whether a client needs a certificate, for TERCEL_OPTION_CLIENT_AUTH.
typedef uint64_t tercel_client_auth;

// What the caller has to do next.
typedef uint32_t tercel_next;

// The hash function of a pre-shared key.
typedef uint32_t tercel_hash;

// A question to the caller.
typedef uint32_t tercel_question;

// A part of a question. Fields of bytes are read with tercel_question_bytes, fields of numbers
// with tercel_question_number. A field that may have several values has an index.
typedef uint32_t tercel_field;

// The keeper of a client's sessions, for TERCEL_OPTION_SESSIONS.
typedef uint64_t tercel_sessions;

// The result of early data, TERCEL_FACT_EARLY_DATA.
typedef uint64_t tercel_early_data_result;

// Why early data was rejected, TERCEL_FACT_EARLY_DATA_REJECTION.
typedef uint64_t tercel_rejection;

// The client.
#define TERCEL_CLIENT 0

// The server.
#define TERCEL_SERVER 1

// Protocol versions: 0x0304, 0x0303.
#define TERCEL_LIST_VERSIONS 1

// Cipher suites.
#define TERCEL_LIST_CIPHER_SUITES 2

// Key exchange groups.
#define TERCEL_LIST_GROUPS 3

// Client: the groups of the key shares in the first ClientHello; the list may be empty.
#define TERCEL_LIST_KEY_SHARES 4

// Signature schemes that are accepted from the peer.
#define TERCEL_LIST_SIGNATURE_SCHEMES 5

// Signature schemes that are accepted in certificates, if they differ from the others.
#define TERCEL_LIST_CERTIFICATE_SIGNATURE_SCHEMES 6

// The application protocols, best first, in the format of RFC 7301 3.1: one byte with the length
// before each name.
#define TERCEL_CONTENT_ALPN 1

// The context of sessions, for configurations that share tickets or stores: a session is resumed
// only under an equal context. A server whose application answers TERCEL_ASK_SELECT_CREDENTIAL,
// and a client whose application answers TERCEL_ASK_VERIFY_PEER, resume sessions of other
// configurations only with a context.
#define TERCEL_CONTENT_SESSION_CONTEXT 2

// Server, with TERCEL_ASK_ADMIT_EARLY_DATA: the ID of the replay guard, 16 bytes. Early data is
// accepted only with tickets of configurations whose guard has the same ID; by default, only with
// tickets of the same configuration in the same process. Give equal IDs only to configurations and
// processes that ask one guard.
#define TERCEL_CONTENT_REPLAY_GUARD_ID 3

// The largest number of plaintext bytes in a record, 64 to 16384. Default: 16384.
#define TERCEL_OPTION_MAX_FRAGMENT 1

// The size of records that the peer is asked for, 64 to 16385. Default: not sent. RFC 8449
#define TERCEL_OPTION_RECORD_SIZE_LIMIT 2

// TLS 1.3: records are padded to a multiple of this many bytes, at most 65535. Default: 0.
#define TERCEL_OPTION_PADDING 3

// Whether TLS 1.2 needs the extended main secret. Default: off. RFC 7627
#define TERCEL_OPTION_REQUIRE_EXTENDED_MAIN_SECRET 4

// Whether the end of input without close_notify is no error. Default: off.
#define TERCEL_OPTION_TOLERATE_TRUNCATION 5

// Whether compressed certificates are accepted. Default: off. RFC 8879
#define TERCEL_OPTION_OFFER_CERTIFICATE_COMPRESSION 6

// Whether a stapled OCSP response is requested. Default: on for a client.
#define TERCEL_OPTION_REQUEST_OCSP 7

// Whether signed certificate timestamps are requested. Default: off.
#define TERCEL_OPTION_REQUEST_TIMESTAMPS 8

// Whether the peer's certificate is verified again when a session is resumed. Default: on for a
// server, off for a client.
#define TERCEL_OPTION_VERIFY_RESUMED 9

// Client: whether early data is sent if the session allows it. Server: the largest number of bytes
// of early data that are accepted. Early data can be replayed: RFC 9846 8. Default: 0.
#define TERCEL_OPTION_EARLY_DATA 10

// Whether only approved cryptography of AWS-LC's FIPS module is used: docs/fips.md. Needs a
// library with the feature `fips`. Default: off.
#define TERCEL_OPTION_FIPS 11

// Client: the keeper of sessions, a constant TERCEL_SESSIONS_... Default: TERCEL_SESSIONS_KEPT.
#define TERCEL_OPTION_SESSIONS 20

// Client: whether the server's name is sent. Default: on.
#define TERCEL_OPTION_SEND_SERVER_NAME 21

// Client: whether middlebox compatibility mode is used. Default: on. RFC 9846 E.4
#define TERCEL_OPTION_MIDDLEBOX_COMPATIBILITY 22

// Client: whether extensions are sent in a random order. Default: off.
#define TERCEL_OPTION_SHUFFLE_EXTENSIONS 23

// Client: whether reserved values are sent. Default: off. RFC 8701
#define TERCEL_OPTION_GREASE 24

// Client: whether the connection is marked as a retry with a lower version. Default: off. RFC 7507
#define TERCEL_OPTION_FALLBACK_SCSV 25

// Client: whether TLS 1.2 servers without secure renegotiation are refused. Default: on.
#define TERCEL_OPTION_REQUIRE_SECURE_RENEGOTIATION 26

// Client: whether the client offers to authenticate after the handshake. Default: off.
#define TERCEL_OPTION_POST_HANDSHAKE_AUTH 27

// Server: whether clients need a certificate, a constant TERCEL_CLIENT_AUTH_... Default: none. The
// certificate is verified with the roots, or by the answer to TERCEL_QUESTION_VERIFY_PEER.
#define TERCEL_OPTION_CLIENT_AUTH 40

// Server: whether clients are refused that request a name without a credential. Default: off.
#define TERCEL_OPTION_REQUIRE_KNOWN_NAME 41

// Server: whether the client's order of suites and groups decides. Default: off.
#define TERCEL_OPTION_PREFER_CLIENT_ORDER 42

// Server: whether clients without a common application protocol are accepted. Default: off.
#define TERCEL_OPTION_IGNORE_UNKNOWN_ALPN 43

// Server: whether the requested name is acknowledged. Default: on.
#define TERCEL_OPTION_ACKNOWLEDGE_SERVER_NAME 44

// Server: whether tickets are issued and accepted. Default: on.
#define TERCEL_OPTION_TICKETS 45

// Server: the number of tickets after a full TLS 1.3 handshake, 0 to 10. Default: 2.
#define TERCEL_OPTION_TICKETS_AFTER_FULL 46

// Server: the number of tickets after a resumed TLS 1.3 handshake, 0 to 10. Default: 1.
#define TERCEL_OPTION_TICKETS_AFTER_RESUMED 47

// Server: whether TLS 1.2 sessions of clients without tickets are kept in memory. Default: on.
#define TERCEL_OPTION_SESSION_IDS 48

// Server: the seconds for which a stored session can be resumed. Default: 86400.
#define TERCEL_OPTION_SESSION_LIFETIME 49

// Server: the largest error of a ticket's age, in seconds, for early data, 2 to 60. Default: 60.
#define TERCEL_OPTION_FRESHNESS_WINDOW 50

// Server: the number of uses of early data that the replay guard of this configuration remembers.
// Default: 65536.
#define TERCEL_OPTION_REPLAY_GUARD_CAPACITY 51

// Server: whether sessions have only the digest of a client's certificate. Default: off. Needs
// TERCEL_OPTION_VERIFY_RESUMED off.
#define TERCEL_OPTION_STORE_ONLY_CERTIFICATE_DIGESTS 52

// Server: whether TLS 1.3 clients may resume under each name of the certificate. Default: off.
#define TERCEL_OPTION_RESUMPTION_ACROSS_NAMES 53

// No session is resumed, and no ticket requested.
#define TERCEL_SESSIONS_NONE 0

// The configuration keeps sessions in memory and offers them.
#define TERCEL_SESSIONS_KEPT 1

// The caller keeps sessions: tercel_connection_take_session, tercel_handshake_offer_session.
#define TERCEL_SESSIONS_GIVEN 2

// No certificate is requested in the handshake.
#define TERCEL_CLIENT_AUTH_NONE 0

// A certificate is requested; the client may decline.
#define TERCEL_CLIENT_AUTH_OPTIONAL 1

// A certificate is required.
#define TERCEL_CLIENT_AUTH_REQUIRED 2

// Server: the configuration for a ClientHello.
#define TERCEL_ASK_CHOOSE_CONFIG (1 << 1)

// Server: the session with an identity. Sessions are then stored by the caller, which takes new
// ones with tercel_connection_take_stored_session.
#define TERCEL_ASK_FIND_SESSION (1 << 2)

// Server: the pre-shared key with one of several identities.
#define TERCEL_ASK_FIND_PSK (1 << 3)

// Server: whether early data is admitted, or may be a replay.
#define TERCEL_ASK_ADMIT_EARLY_DATA (1 << 4)

// The credential for a peer. A client keeps no session of a server that requests a certificate,
// except with TERCEL_CONTENT_SESSION_CONTEXT, which states that all connections are of one client.
#define TERCEL_ASK_SELECT_CREDENTIAL (1 << 5)

// Whether the peer's certificate is trusted. tercel_question_verify_chain helps.
#define TERCEL_ASK_VERIFY_PEER (1 << 7)

// Server, with TERCEL_ASK_FIND_SESSION: the removal of a session for single use (TLS 1.3), once
// the client has proved that it has the session's key. Without it, the caller removes such a
// session when it answers FIND_SESSION; then any client that has seen an identity on the network
// can make the caller remove its session.
#define TERCEL_ASK_CLAIM_SESSION (1 << 8)

// The input has no complete record: receive more bytes. At the end of the transport's input, call
// tercel_connection_end_of_input.
#define TERCEL_EVENT_RECEIVE 0

// Application data.
#define TERCEL_EVENT_DATA 1

// The peer sent close_notify: no more data follows.
#define TERCEL_EVENT_CLOSED 2

// Client: the server requests a certificate: call tercel_connection_authenticate.
#define TERCEL_EVENT_CERTIFICATE_REQUESTED 3

// Server: the client answered a request: tercel_connection_client_certificate.
#define TERCEL_EVENT_CLIENT_CERTIFICATE 4

// Number: the protocol version, 0x0304 or 0x0303.
#define TERCEL_FACT_VERSION 1

// Number: the cipher suite.
#define TERCEL_FACT_CIPHER_SUITE 2

// Number: the key exchange group; 0 in a resumption without key exchange.
#define TERCEL_FACT_GROUP 3

// Number: the scheme of the peer's signature; 0 if it did not sign.
#define TERCEL_FACT_PEER_SIGNATURE_SCHEME 4

// Number: the scheme of this side's signature; 0 if it did not sign.
#define TERCEL_FACT_OWN_SIGNATURE_SCHEME 5

// Number: 1 if a HelloRetryRequest was needed.
#define TERCEL_FACT_RETRIED 6

// Number: 1 if a session was resumed.
#define TERCEL_FACT_RESUMED 7

// Number: 1 if the extended main secret is used; always in TLS 1.3.
#define TERCEL_FACT_EXTENDED_MAIN_SECRET 8

// Number: 1 if the peer supports secure renegotiation; always in TLS 1.3.
#define TERCEL_FACT_SECURE_RENEGOTIATION 9

// Number: 1 if the client offered post-handshake authentication.
#define TERCEL_FACT_POST_HANDSHAKE_AUTH 10

// Number: a constant TERCEL_EARLY_DATA_...
#define TERCEL_FACT_EARLY_DATA 11

// Number: why early data was rejected, a constant TERCEL_REJECTION_..., or 0.
#define TERCEL_FACT_EARLY_DATA_REJECTION 12

// Number: server, after a resumption in TLS 1.3: the milliseconds by which the client's age of the
// ticket exceeds the server's. Convert it to int64_t, since it may be negative.
#define TERCEL_FACT_TICKET_AGE_SKEW 13

// Number: whether the connection uses approved cryptography only, a constant TERCEL_FIPS_...
#define TERCEL_FACT_FIPS 14

// Bytes: the application protocol. RFC 7301
#define TERCEL_FACT_ALPN 32

// Bytes: server: the name that the client requested.
#define TERCEL_FACT_SERVER_NAME 33

// Bytes: a certificate of the peer (DER); index 0 is the leaf.
#define TERCEL_FACT_CERTIFICATE 34

// Bytes: the OCSP response that the peer stapled (DER).
#define TERCEL_FACT_OCSP_RESPONSE 35

// Bytes: the signed certificate timestamps of the peer. RFC 6962 3.3
#define TERCEL_FACT_TIMESTAMPS 36

// Bytes: server: the SHA-256 digest of the certificate of a resumed client, if only that was
// stored.
#define TERCEL_FACT_CERTIFICATE_DIGEST 37

// Bytes: the identity of the external pre-shared key that authenticated the peers.
#define TERCEL_FACT_PSK_IDENTITY 38

// Bytes: client: the channel binding tls-server-end-point of the server. RFC 5929 4.1
#define TERCEL_FACT_SERVER_END_POINT 39

// The client offered no early data.
#define TERCEL_EARLY_DATA_NOT_OFFERED 0

// The server accepted the early data.
#define TERCEL_EARLY_DATA_ACCEPTED 1

// The server rejected the early data: the client has to send it again.
#define TERCEL_EARLY_DATA_REJECTED 2

// The server sent a HelloRetryRequest.
#define TERCEL_REJECTION_RETRY 1

// The session was not resumed.
#define TERCEL_REJECTION_NOT_RESUMED 2

// The session or the server's configuration does not allow early data, or not as much.
#define TERCEL_REJECTION_NOT_ALLOWED 3

// The cipher suite or the application protocol differs from the session's.
#define TERCEL_REJECTION_PARAMETERS_CHANGED 4

// The ticket's age is outside the freshness window.
#define TERCEL_REJECTION_NOT_FRESH 5

// The replay guard did not admit the early data.
#define TERCEL_REJECTION_NOT_ADMITTED 6

// Client: the server resumed the session, but rejected the early data for an unknown reason.
#define TERCEL_REJECTION_BY_SERVER 7

// A reason without a number.
#define TERCEL_REJECTION_OTHER 255

// Only approved cryptography is used, and the module has a certificate.
#define TERCEL_FIPS_CERTIFIED 1

// Only approved cryptography is used, and the validation of the module is in process.
#define TERCEL_FIPS_IN_PROCESS 2

// The library was built without the feature `fips`.
#define TERCEL_FIPS_NOT_BUILT 16

// The module does not run in FIPS mode.
#define TERCEL_FIPS_MODULE_OFF 17

// A cipher suite is not approved.
#define TERCEL_FIPS_CIPHER_SUITE 18

// A group is not approved.
#define TERCEL_FIPS_GROUP 19

// A signature scheme is not approved.
#define TERCEL_FIPS_SIGNATURE_SCHEME 20

// TLS 1.2 is enabled, and does not require the extended main secret.
#define TERCEL_FIPS_EXTENDED_MAIN_SECRET 21

// The caller verifies peers.
#define TERCEL_FIPS_VERIFIER 22

// A private key is used outside of the module.
#define TERCEL_FIPS_SIGNER 23

// A key or a signature in the chain of a credential is not approved.
#define TERCEL_FIPS_CREDENTIAL_CHAIN 24

// There are pre-shared keys.
#define TERCEL_FIPS_PRE_SHARED_KEYS 25

// There is a key log.
#define TERCEL_FIPS_KEY_LOG 26

// The option TERCEL_OPTION_FIPS is off.
#define TERCEL_FIPS_NOT_ENFORCED 27

// The connection was restored from saved keys. The C interface cannot do this.
#define TERCEL_FIPS_RESTORED 28

// The traffic keys were exported to another record layer. The C interface cannot do this.
#define TERCEL_FIPS_EXPORTED 29

// Tickets are sealed outside of the library. The C interface cannot do this.
#define TERCEL_FIPS_TICKET_SEALER 30

// Encrypted ClientHello is used. The C interface does not have it.
#define TERCEL_FIPS_ECH 31

// QUIC is used. The C interface does not have it.
#define TERCEL_FIPS_QUIC 32

// Receive more bytes, append them to the input, and advance again. At the end of the transport's
// input, call tercel_handshake_end_of_input.
#define TERCEL_NEXT_RECEIVE 0

// Answer the question tercel_handshake_question, then advance again.
#define TERCEL_NEXT_ANSWER 1

// Server: process a piece of early data, tercel_handshake_early_data, and advance again. It may be
// a replay. RFC 9846 8
#define TERCEL_NEXT_EARLY_DATA 2

// The handshake is complete: call tercel_handshake_take_connection.
#define TERCEL_NEXT_CONNECTED 3

// No question is open.
#define TERCEL_QUESTION_NONE 0

// Server: which configuration is for this ClientHello? Answer: tercel_answer_config.
#define TERCEL_QUESTION_CHOOSE_CONFIG 1

// Server: which session has this identity? Answer: tercel_answer_session.
#define TERCEL_QUESTION_FIND_SESSION 2

// Server: which pre-shared key has one of these identities? Answer: tercel_answer_psk.
#define TERCEL_QUESTION_FIND_PSK 3

// Server: is early data admitted, or may it be a replay? Answer: tercel_answer_early_data.
#define TERCEL_QUESTION_ADMIT_EARLY_DATA 4

// Which credential is for this peer? Answer: tercel_answer_credential.
#define TERCEL_QUESTION_SELECT_CREDENTIAL 5

// What is the signature over this content, with the key of this certificate? Asked for credentials
// of tercel_credential_external. Answer: tercel_answer_signature.
#define TERCEL_QUESTION_SIGN 6

// Is this peer trusted? Answer: tercel_answer_peer.
#define TERCEL_QUESTION_VERIFY_PEER 7

// Server: was the session with this identity in the store, and is it removed now? Asked with
// TERCEL_ASK_CLAIM_SESSION. Answer: tercel_answer_claim.
#define TERCEL_QUESTION_CLAIM_SESSION 8

// Bytes, CHOOSE_CONFIG: the ClientHello without the header of the handshake message.
#define TERCEL_FIELD_CLIENT_HELLO 1

// Bytes: the server name that the client requested; VERIFY_PEER: the name that the server must
// have.
#define TERCEL_FIELD_SERVER_NAME 2

// Bytes with an index, CHOOSE_CONFIG, SELECT_CREDENTIAL of a server: a protocol name that the
// client offers.
#define TERCEL_FIELD_ALPN 3

// Bytes, FIND_SESSION, CLAIM_SESSION: the identity of the session. With an index, FIND_PSK: an
// identity that the client offers.
#define TERCEL_FIELD_IDENTITY 4

// Bytes, ADMIT_EARLY_DATA: a value that a replay would repeat. Admit each value once.
#define TERCEL_FIELD_UNIQUE 5

// Bytes, SIGN: the content to sign. Hashing it is part of the scheme.
#define TERCEL_FIELD_CONTENT 6

// Bytes with an index, VERIFY_PEER: a certificate of the peer (DER), the leaf first. SIGN: a
// certificate of the credential that has to sign.
#define TERCEL_FIELD_CERTIFICATE 7

// Bytes, VERIFY_PEER: the peer's public key, if it has no certificate. RFC 7250
#define TERCEL_FIELD_RAW_PUBLIC_KEY 8

// Bytes, VERIFY_PEER: the stapled OCSP response (DER).
#define TERCEL_FIELD_OCSP_RESPONSE 9

// Bytes, VERIFY_PEER: the signed certificate timestamps. RFC 6962 3.3
#define TERCEL_FIELD_TIMESTAMPS 10

// Bytes with an index, SELECT_CREDENTIAL: an authority that the peer lists, a Name (DER).
#define TERCEL_FIELD_AUTHORITY 11

// Number, SELECT_CREDENTIAL: the negotiated version. With an index, CHOOSE_CONFIG: a version that
// the client offers in supported_versions.
#define TERCEL_FIELD_VERSION 32

// Number with an index, CHOOSE_CONFIG, SELECT_CREDENTIAL of a server: a cipher suite that the
// client offers.
#define TERCEL_FIELD_CIPHER_SUITE 33

// Number with an index, CHOOSE_CONFIG: a group that the client supports.
#define TERCEL_FIELD_GROUP 34

// Number with an index, CHOOSE_CONFIG, FIND_PSK, SELECT_CREDENTIAL: a signature scheme that the
// peer verifies. Without an index, SIGN: the scheme to sign with.
#define TERCEL_FIELD_SIGNATURE_SCHEME 35

// Number with an index, SELECT_CREDENTIAL, TLS 1.2: a certificate type that the server accepts.
// RFC 5246 7.4.4
#define TERCEL_FIELD_CERTIFICATE_TYPE 36

// Number, FIND_SESSION: 1 if the session must be used only once. The caller removes the session
// from its store when it answers CLAIM_SESSION or, without TERCEL_ASK_CLAIM_SESSION, when it
// answers FIND_SESSION.
#define TERCEL_FIELD_SINGLE_USE 37

// Number, ADMIT_EARLY_DATA, VERIFY_PEER: the time of the question, in seconds since 1970.
#define TERCEL_FIELD_TIME 38

// Number, ADMIT_EARLY_DATA: the freshness window in seconds. Remember values for twice as long and
// a second more.
#define TERCEL_FIELD_FRESHNESS_WINDOW 39

// Number, VERIFY_PEER: 1 if the peer was authenticated by an earlier handshake, whose session is
// to be resumed. A refusal then leads to a full handshake.
#define TERCEL_FIELD_RESUMED 40

// SHA-256, which is the default if the peers agreed on none.
#define TERCEL_HASH_SHA256 1

// SHA-384.
#define TERCEL_HASH_SHA384 2

// Success.
#define TERCEL_OK 0

// The peer violated the protocol, or offers nothing that this configuration accepts.
#define TERCEL_CLASS_PEER (1 << 24)

// The peer sent a fatal alert. The low byte of the status is its number, RFC 9846 6.
#define TERCEL_CLASS_ALERT (2 << 24)

// The peer's certificate was refused. tercel_handshake_error describes why.
#define TERCEL_CLASS_REFUSED (3 << 24)

// The transport ended without close_notify, so received data may be truncated.
#define TERCEL_CLASS_TRUNCATED (4 << 24)

// The peer closed the connection before the handshake was complete.
#define TERCEL_CLASS_CLOSED (5 << 24)

// An operation of this side failed, or this side's configuration lacks a required part.
#define TERCEL_CLASS_INTERNAL (6 << 24)

// The caller made a call that the documentation does not allow.
#define TERCEL_CLASS_MISUSE (7 << 24)

// A value for a configuration cannot be used: a certificate, a key, an option.
#define TERCEL_CLASS_CONFIG (8 << 24)

// The transport ended without close_notify. RFC 9846 6.1
#define TERCEL_TRUNCATED (TERCEL_CLASS_TRUNCATED | 1)

// The peer closed the connection before the handshake was complete.
#define TERCEL_CLOSED_IN_HANDSHAKE (TERCEL_CLASS_CLOSED | 1)

// A violation or disagreement without a code of its own.
#define TERCEL_PEER_OTHER (TERCEL_CLASS_PEER | 511)

// A handshake message that is not allowed at this point.
#define TERCEL_PEER_UNEXPECTED_MESSAGE (TERCEL_CLASS_PEER | 1)

// A record whose content type is not allowed at this point.
#define TERCEL_PEER_UNEXPECTED_RECORD (TERCEL_CLASS_PEER | 2)

// A record with an unknown content type.
#define TERCEL_PEER_UNKNOWN_CONTENT_TYPE (TERCEL_CLASS_PEER | 3)

// A record header with a version that is not allowed.
#define TERCEL_PEER_WRONG_RECORD_VERSION (TERCEL_CLASS_PEER | 4)

// The first bytes received are plain HTTP, not TLS.
#define TERCEL_PEER_PLAIN_HTTP (TERCEL_CLASS_PEER | 5)

// A record that is longer than RFC 9846 5.1, 5.2 or the negotiated record_size_limit allows.
#define TERCEL_PEER_RECORD_TOO_LONG (TERCEL_CLASS_PEER | 6)

// A record whose authentication failed.
#define TERCEL_PEER_BAD_RECORD_MAC (TERCEL_CLASS_PEER | 7)

// A protected record without a content type. RFC 9846 5.4
#define TERCEL_PEER_MISSING_CONTENT_TYPE (TERCEL_CLASS_PEER | 8)

// Too many consecutive records without content.
#define TERCEL_PEER_TOO_MANY_EMPTY_RECORDS (TERCEL_CLASS_PEER | 9)

// Too many consecutive warning alerts.
#define TERCEL_PEER_TOO_MANY_WARNING_ALERTS (TERCEL_CLASS_PEER | 10)

// An alert record that is not two bytes long.
#define TERCEL_PEER_BAD_ALERT (TERCEL_CLASS_PEER | 11)

// An alert level other than warning and fatal. TLS 1.3 ignores the level.
#define TERCEL_PEER_ILLEGAL_ALERT_LEVEL (TERCEL_CLASS_PEER | 12)

// A change_cipher_spec that is malformed or not allowed at this point.
#define TERCEL_PEER_BAD_CHANGE_CIPHER_SPEC (TERCEL_CLASS_PEER | 13)

// More change_cipher_spec records than a handshake can contain.
#define TERCEL_PEER_TOO_MANY_CHANGE_CIPHER_SPECS (TERCEL_CLASS_PEER | 14)

// Too many consecutive KeyUpdate messages without application data.
#define TERCEL_PEER_TOO_MANY_KEY_UPDATES (TERCEL_CLASS_PEER | 15)

// Too many unanswered certificate requests of a server. RFC 9846 4.7.2
#define TERCEL_PEER_TOO_MANY_CERTIFICATE_REQUESTS (TERCEL_CLASS_PEER | 16)

// Another message or record between the messages of a client's post-handshake authentication.
// RFC 9846 4.7.2
#define TERCEL_PEER_INTERRUPTED_AUTHENTICATION (TERCEL_CLASS_PEER | 17)

// The server accepted early data but selected other parameters than those of the early data.
// RFC 9846 4.3.10
#define TERCEL_PEER_EARLY_DATA_MISMATCH (TERCEL_CLASS_PEER | 18)

// The client sent more early data than a server skips after it has rejected early data. RFC
// 9846 4.3.10
#define TERCEL_PEER_TOO_MUCH_SKIPPED_EARLY_DATA (TERCEL_CLASS_PEER | 19)

// A handshake message that spans a change of keys. RFC 9846 5.1
#define TERCEL_PEER_EXCESS_HANDSHAKE_DATA (TERCEL_CLASS_PEER | 20)

// A record of another type between the fragments of a handshake message. RFC 9846 5.1
#define TERCEL_PEER_INTERRUPTED_HANDSHAKE_MESSAGE (TERCEL_CLASS_PEER | 21)

// A handshake message longer than the limit for its type.
#define TERCEL_PEER_MESSAGE_TOO_LONG (TERCEL_CLASS_PEER | 22)

// No protocol version in common.
#define TERCEL_PEER_UNSUPPORTED_VERSION (TERCEL_CLASS_PEER | 23)

// The server selected a version that was not offered.
#define TERCEL_PEER_WRONG_VERSION_CHOSEN (TERCEL_CLASS_PEER | 24)

// The server random contains the downgrade sentinel: an attacker may have prevented the use of
// a newer version that both sides support. RFC 9846 4.2.3
#define TERCEL_PEER_DOWNGRADE (TERCEL_CLASS_PEER | 25)

// The client sent TLS_FALLBACK_SCSV although both sides support a newer version. RFC 7507
#define TERCEL_PEER_INAPPROPRIATE_FALLBACK (TERCEL_CLASS_PEER | 26)

// No cipher suite in common.
#define TERCEL_PEER_NO_SHARED_CIPHER_SUITE (TERCEL_CLASS_PEER | 27)

// The server selected a cipher suite that was not offered or is not for this version.
#define TERCEL_PEER_WRONG_CIPHER_SUITE_CHOSEN (TERCEL_CLASS_PEER | 28)

// The ServerHello selects another cipher suite than the HelloRetryRequest. RFC 9846 4.2.4
#define TERCEL_PEER_CIPHER_SUITE_CHANGED_AFTER_RETRY (TERCEL_CLASS_PEER | 29)

// No key exchange group in common.
#define TERCEL_PEER_NO_SHARED_GROUP (TERCEL_CLASS_PEER | 30)

// A group that was not offered, or a key share for a group other than the requested group.
#define TERCEL_PEER_WRONG_GROUP (TERCEL_CLASS_PEER | 31)

// A key share that is not valid in its group.
#define TERCEL_PEER_BAD_KEY_SHARE (TERCEL_CLASS_PEER | 32)

// No signature scheme in common, or no credential that can sign with a common scheme.
#define TERCEL_PEER_NO_COMMON_SIGNATURE_SCHEME (TERCEL_CLASS_PEER | 33)

// A signature scheme that was not offered or does not match the key.
#define TERCEL_PEER_WRONG_SIGNATURE_SCHEME (TERCEL_CLASS_PEER | 34)

// A signature that does not verify.
#define TERCEL_PEER_BAD_SIGNATURE (TERCEL_CLASS_PEER | 35)

// TLS 1.2: a certificate whose key cannot be used with the cipher suite or with the offered
// groups. RFC 5246 7.4.2, RFC 8422 5.3
#define TERCEL_PEER_WRONG_CERTIFICATE_TYPE (TERCEL_CLASS_PEER | 36)

// A Finished that does not match the handshake transcript.
#define TERCEL_PEER_BAD_FINISHED (TERCEL_CLASS_PEER | 37)

// A pre-shared key binder that does not match. RFC 9846 4.3.11
#define TERCEL_PEER_BAD_BINDER (TERCEL_CLASS_PEER | 38)

// The client offered no known pre-shared key, and the server has no certificate.
#define TERCEL_PEER_UNKNOWN_PRE_SHARED_KEY (TERCEL_CLASS_PEER | 39)

// The server accepted no pre-shared key of a client that does not accept certificates.
#define TERCEL_PEER_PRE_SHARED_KEY_DECLINED (TERCEL_CLASS_PEER | 40)

// The server selected a pre-shared key that was not offered. RFC 9846 4.3.11
#define TERCEL_PEER_WRONG_PRE_SHARED_KEY_CHOSEN (TERCEL_CLASS_PEER | 41)

// No application protocol in common. RFC 7301 3.2
#define TERCEL_PEER_NO_APPLICATION_PROTOCOL (TERCEL_CLASS_PEER | 42)

// The server selected an application protocol that was not offered.
#define TERCEL_PEER_WRONG_APPLICATION_PROTOCOL (TERCEL_CLASS_PEER | 43)

// The client requested a server name for which there is no credential. RFC 6066 3
#define TERCEL_PEER_UNRECOGNIZED_NAME (TERCEL_CLASS_PEER | 44)

// An extension in a message where it is not allowed, or an extension that responds to no
// request.
#define TERCEL_PEER_UNEXPECTED_EXTENSION (TERCEL_CLASS_PEER | 45)

// A ClientHello without a mandatory extension. RFC 9846 9.2
#define TERCEL_PEER_MISSING_EXTENSION (TERCEL_CLASS_PEER | 46)

// A server's message without a mandatory extension.
#define TERCEL_PEER_MISSING_SERVER_EXTENSION (TERCEL_CLASS_PEER | 47)

// TLS 1.3: the client sent no certificate, but one is required.
#define TERCEL_PEER_CERTIFICATE_REQUIRED (TERCEL_CLASS_PEER | 48)

// A server sent an empty Certificate.
#define TERCEL_PEER_EMPTY_CERTIFICATE (TERCEL_CLASS_PEER | 49)

// A second HelloRetryRequest. RFC 9846 4.2.4
#define TERCEL_PEER_SECOND_RETRY (TERCEL_CLASS_PEER | 50)

// A HelloRetryRequest that would not change the ClientHello. RFC 9846 4.2.4
#define TERCEL_PEER_UNNECESSARY_RETRY (TERCEL_CLASS_PEER | 51)

// The second ClientHello differs from the first in more than is allowed. RFC 9846 4.2.2
#define TERCEL_PEER_SECOND_HELLO_CHANGED (TERCEL_CLASS_PEER | 52)

// The server did not echo the session ID. RFC 9846 4.2.3
#define TERCEL_PEER_SESSION_ID_NOT_ECHOED (TERCEL_CLASS_PEER | 53)

// A compression method other than null.
#define TERCEL_PEER_COMPRESSION (TERCEL_CLASS_PEER | 54)

// A field, such as legacy_version, with a value that its RFC does not allow.
#define TERCEL_PEER_ILLEGAL_PARAMETER (TERCEL_CLASS_PEER | 55)

// A renegotiation_info with a content that is not allowed in an initial handshake. RFC 5746
// 3.4, 3.6
#define TERCEL_PEER_RENEGOTIATION_MISMATCH (TERCEL_CLASS_PEER | 56)

// The server does not support renegotiation_info, which the configuration requires. RFC 5746
// 4.1
#define TERCEL_PEER_UNSAFE_LEGACY_RENEGOTIATION (TERCEL_CLASS_PEER | 57)

// The peer requested renegotiation after several refusals, or after this side's close_notify,
// when no refusal can be sent any more. RFC 5246 7.2.2
#define TERCEL_PEER_RENEGOTIATION (TERCEL_CLASS_PEER | 58)

// The peer does not support the extended main secret, which the configuration requires. RFC
// 7627
#define TERCEL_PEER_EXTENDED_MAIN_SECRET_REQUIRED (TERCEL_CLASS_PEER | 59)

// TLS 1.2: the client sent no certificate, but one is required. This version has no
// certificate_required alert.
#define TERCEL_PEER_CERTIFICATE_REQUIRED_TLS12 (TERCEL_CLASS_PEER | 60)

// A session with the extended main secret is resumed without it, or vice versa. RFC 7627 5.3
#define TERCEL_PEER_EXTENDED_MAIN_SECRET_LOST (TERCEL_CLASS_PEER | 61)

// Early data was offered, but the server selected a version without early data. RFC 9846 E.3
#define TERCEL_PEER_WRONG_VERSION_FOR_EARLY_DATA (TERCEL_CLASS_PEER | 62)

// A certificate_request_context that does not match a request, or a request that reuses a
// context. RFC 9846 4.5.1, 4.4.2
#define TERCEL_PEER_WRONG_CERTIFICATE_CONTEXT (TERCEL_CLASS_PEER | 63)

// A certificate compressed with an algorithm that was not offered. RFC 8879 4
#define TERCEL_PEER_UNKNOWN_CERTIFICATE_COMPRESSION (TERCEL_CLASS_PEER | 64)

// A compressed certificate whose uncompressed_length exceeds the limit. RFC 8879 5
#define TERCEL_PEER_UNCOMPRESSED_CERTIFICATE_TOO_LONG (TERCEL_CLASS_PEER | 65)

// A compressed certificate that is malformed, or whose decompressed length is not its
// uncompressed_length. RFC 8879 4
#define TERCEL_PEER_BAD_COMPRESSED_CERTIFICATE (TERCEL_CLASS_PEER | 66)

// A certificate type extension that lists only X.509. Such an extension must be omitted. RFC
// 7250 4.1
#define TERCEL_PEER_UNNECESSARY_CERTIFICATE_TYPE (TERCEL_CLASS_PEER | 67)

// No certificate type in common, or a selected certificate type that was not offered. RFC 7250
// 4.2
#define TERCEL_PEER_NO_COMMON_CERTIFICATE_TYPE (TERCEL_CLASS_PEER | 68)

// A malformed raw public key, or more than one raw public key. RFC 7250 3, RFC 9846 4.5.1
#define TERCEL_PEER_BAD_RAW_PUBLIC_KEY (TERCEL_CLASS_PEER | 69)

// A ticket lifetime of more than seven days. RFC 9846 4.7.1
#define TERCEL_PEER_BAD_TICKET_LIFETIME (TERCEL_CLASS_PEER | 70)

// More early data than the ticket allows. RFC 9846 4.3.10
#define TERCEL_PEER_TOO_MUCH_EARLY_DATA (TERCEL_CLASS_PEER | 71)

// A malformed message without a code of its own.
#define TERCEL_PEER_DECODE_OTHER (TERCEL_CLASS_PEER | 767)

// A field or vector extends beyond the end of the structure that contains it.
#define TERCEL_PEER_DECODE_TRUNCATED (TERCEL_CLASS_PEER | 513)

// Bytes are left after a complete structure.
#define TERCEL_PEER_DECODE_TRAILING_DATA (TERCEL_CLASS_PEER | 514)

// A vector is shorter than its minimum or longer than its maximum.
#define TERCEL_PEER_DECODE_INVALID_LENGTH (TERCEL_CLASS_PEER | 515)

// A list that requires an entry is empty.
#define TERCEL_PEER_DECODE_EMPTY_LIST (TERCEL_CLASS_PEER | 516)

// An extension block has two extensions of this type.
#define TERCEL_PEER_DECODE_DUPLICATE_EXTENSION (TERCEL_CLASS_PEER | 517)

// Two key shares are for this group.
#define TERCEL_PEER_DECODE_DUPLICATE_KEY_SHARE (TERCEL_CLASS_PEER | 518)

// A certificate compression algorithm is listed twice.
#define TERCEL_PEER_DECODE_DUPLICATE_COMPRESSION_ALGORITHM (TERCEL_CLASS_PEER | 519)

// A server_name extension has two names of one type.
#define TERCEL_PEER_DECODE_DUPLICATE_SERVER_NAME (TERCEL_CLASS_PEER | 520)

// The host name in server_name is neither a DNS name nor an IP address.
#define TERCEL_PEER_DECODE_INVALID_HOST_NAME (TERCEL_CLASS_PEER | 521)

// A server's ALPN response does not have exactly one protocol.
#define TERCEL_PEER_DECODE_INVALID_PROTOCOL_SELECTION (TERCEL_CLASS_PEER | 522)

// pre_shared_key is not the last extension of its ClientHello.
#define TERCEL_PEER_DECODE_PSK_NOT_LAST (TERCEL_CLASS_PEER | 523)

// pre_shared_key does not have one binder for each identity.
#define TERCEL_PEER_DECODE_PSK_BINDER_COUNT (TERCEL_CLASS_PEER | 524)

// record_size_limit is under 64.
#define TERCEL_PEER_DECODE_INVALID_RECORD_SIZE_LIMIT (TERCEL_CLASS_PEER | 525)

// A set of flags is padded: its last byte is zero.
#define TERCEL_PEER_DECODE_PADDED_FLAGS (TERCEL_CLASS_PEER | 526)

// A key_update has a value that is neither update_not_requested nor update_requested.
#define TERCEL_PEER_DECODE_INVALID_KEY_UPDATE (TERCEL_CLASS_PEER | 527)

// A server's key exchange is not over a named curve.
#define TERCEL_PEER_DECODE_INVALID_CURVE_TYPE (TERCEL_CLASS_PEER | 528)

// A certificate status is of a type other than OCSP.
#define TERCEL_PEER_DECODE_INVALID_CERTIFICATE_STATUS_TYPE (TERCEL_CLASS_PEER | 529)

// A ClientHello lacks the null compression method, or a ServerHello selects another one.
#define TERCEL_PEER_DECODE_INVALID_COMPRESSION_METHOD (TERCEL_CLASS_PEER | 530)

// The list of point formats lacks the uncompressed format.
#define TERCEL_PEER_DECODE_INVALID_POINT_FORMATS (TERCEL_CLASS_PEER | 531)

// The chain is empty. 5.1.3).
#define TERCEL_REFUSED_EMPTY_CHAIN (TERCEL_CLASS_REFUSED | 1)

// A certificate is not well-formed.
#define TERCEL_REFUSED_BAD_ENCODING (TERCEL_CLASS_REFUSED | 2)

// A certificate is not of version 3.
#define TERCEL_REFUSED_UNSUPPORTED_VERSION (TERCEL_CLASS_REFUSED | 3)

// A certificate has an unknown critical extension.
#define TERCEL_REFUSED_UNSUPPORTED_CRITICAL_EXTENSION (TERCEL_CLASS_REFUSED | 4)

// A certificate has expired.
#define TERCEL_REFUSED_EXPIRED (TERCEL_CLASS_REFUSED | 5)

// A certificate is not yet valid.
#define TERCEL_REFUSED_NOT_YET_VALID (TERCEL_CLASS_REFUSED | 6)

// A certificate's validity ends before it begins.
#define TERCEL_REFUSED_INVALID_VALIDITY (TERCEL_CLASS_REFUSED | 7)

// The leaf is not valid for the requested name.
#define TERCEL_REFUSED_NAME_MISMATCH (TERCEL_CLASS_REFUSED | 8)

// No path leads from the leaf to a trust anchor: an unknown authority or a missing
// intermediate.
#define TERCEL_REFUSED_UNKNOWN_ISSUER (TERCEL_CLASS_REFUSED | 9)

// The leaf is self-signed and neither a trust anchor nor pinned.
#define TERCEL_REFUSED_SELF_SIGNED (TERCEL_CLASS_REFUSED | 10)

// A certificate's signature does not verify.
#define TERCEL_REFUSED_BAD_SIGNATURE (TERCEL_CLASS_REFUSED | 11)

// A certificate is signed with MD5 or SHA-1. 5.1.3).
#define TERCEL_REFUSED_WEAK_SIGNATURE_ALGORITHM (TERCEL_CLASS_REFUSED | 12)

// A certificate is signed with an algorithm that is unknown or disabled.
#define TERCEL_REFUSED_UNSUPPORTED_SIGNATURE_ALGORITHM (TERCEL_CLASS_REFUSED | 13)

// A key is of an unknown kind, an EC key does not name its curve, or an issuer's key is of a kind
// that cannot make the signature.
#define TERCEL_REFUSED_UNSUPPORTED_KEY (TERCEL_CLASS_REFUSED | 14)

// The leaf's key usage does not allow its key to sign a handshake.
#define TERCEL_REFUSED_KEY_MAY_NOT_SIGN (TERCEL_CLASS_REFUSED | 15)

// A key of the chain is not acceptable: it is an RSA key outside 2048 to 8192 bits, or a point
// that is not on its curve.
#define TERCEL_REFUSED_INVALID_KEY (TERCEL_CLASS_REFUSED | 16)

// A certificate of the path was revoked.
#define TERCEL_REFUSED_REVOKED (TERCEL_CLASS_REFUSED | 17)

// No revocation list covers a certificate of the path, and the policy requires one.
#define TERCEL_REFUSED_UNKNOWN_REVOCATION_STATUS (TERCEL_CLASS_REFUSED | 18)

// The revocation list is past its nextUpdate.
#define TERCEL_REFUSED_CRL_EXPIRED (TERCEL_CLASS_REFUSED | 19)

// The revocation list is not valid: bad signature, wrong signer or an unsupported form.
#define TERCEL_REFUSED_INVALID_CRL (TERCEL_CLASS_REFUSED | 20)

// The verifier does not accept the stapled OCSP response.
#define TERCEL_REFUSED_STAPLE_REJECTED (TERCEL_CLASS_REFUSED | 21)

// The leaf is a CA certificate. Only an answer of the program to VERIFY_PEER refuses it.
#define TERCEL_REFUSED_CA_USED_AS_END_ENTITY (TERCEL_CLASS_REFUSED | 22)

// The leaf is itself a trust anchor. Only an answer of the program to VERIFY_PEER refuses it.
#define TERCEL_REFUSED_TRUST_ANCHOR_AS_END_ENTITY (TERCEL_CLASS_REFUSED | 23)

// The issuer of a certificate is not a CA certificate.
#define TERCEL_REFUSED_END_ENTITY_USED_AS_CA (TERCEL_CLASS_REFUSED | 24)

// The extended key usage of a certificate, or of the trusted authority's own certificate, does not
// allow it to authenticate a server, or a client.
#define TERCEL_REFUSED_NOT_FOR_THIS_USAGE (TERCEL_CLASS_REFUSED | 25)

// A name violates an issuer's name constraints.
#define TERCEL_REFUSED_NAME_CONSTRAINT (TERCEL_CLASS_REFUSED | 26)

// The path below a CA certificate is longer than its path length constraint.
#define TERCEL_REFUSED_PATH_TOO_LONG (TERCEL_CLASS_REFUSED | 27)

// The chain exceeds the limits on path building.
#define TERCEL_REFUSED_PATH_LIMITS (TERCEL_CLASS_REFUSED | 28)

// A key of the path is on the list of compromised keys.
#define TERCEL_REFUSED_DISTRUSTED (TERCEL_CLASS_REFUSED | 29)

// The leaf requires a stapled OCSP response (RFC 7633), and the peer sent no response although
// it was requested.
#define TERCEL_REFUSED_MISSING_STAPLE (TERCEL_CLASS_REFUSED | 30)

// The policy requires a stapled OCSP response, and there is no response.
#define TERCEL_REFUSED_STAPLE_REQUIRED (TERCEL_CLASS_REFUSED | 31)

// The stapled OCSP response is malformed or of an unsupported form.
#define TERCEL_REFUSED_STAPLE_MALFORMED (TERCEL_CLASS_REFUSED | 32)

// The stapled OCSP response is an error response of the responder.
#define TERCEL_REFUSED_STAPLE_UNSUCCESSFUL (TERCEL_CLASS_REFUSED | 33)

// The stapled OCSP response is not signed by the leaf's issuer or its delegated responder, or
// not with an accepted algorithm.
#define TERCEL_REFUSED_STAPLE_UNTRUSTED (TERCEL_CLASS_REFUSED | 34)

// The stapled OCSP response does not cover the leaf.
#define TERCEL_REFUSED_STAPLE_FOR_OTHER_CERTIFICATE (TERCEL_CLASS_REFUSED | 35)

// The stapled OCSP response is not yet valid.
#define TERCEL_REFUSED_STAPLE_NOT_YET_VALID (TERCEL_CLASS_REFUSED | 36)

// The stapled OCSP response has expired.
#define TERCEL_REFUSED_STAPLE_EXPIRED (TERCEL_CLASS_REFUSED | 37)

// The stapled OCSP response has the status "unknown" for the leaf.
#define TERCEL_REFUSED_STAPLE_UNKNOWN_STATUS (TERCEL_CLASS_REFUSED | 38)

// A raw public key (RFC 7250) is not one of the trusted keys.
#define TERCEL_REFUSED_UNTRUSTED_RAW_KEY (TERCEL_CLASS_REFUSED | 39)

// A verifier's own reason. The third byte of the status is the alert to send, see RFC 9846 6.2: an
// answer is TERCEL_REFUSED_BY_VERIFIER | alert << 16. If no peer may
// be refused with that alert, certificate_unknown is sent.
#define TERCEL_REFUSED_BY_VERIFIER (TERCEL_CLASS_REFUSED | 40)

// Any other error of path building.
#define TERCEL_REFUSED_OTHER (TERCEL_CLASS_REFUSED | 41)

// The issuer of a certificate is a CA certificate whose key usage does not allow its key to sign
// certificates (RFC 5280 6.1.4 n).
#define TERCEL_REFUSED_ISSUER_MAY_NOT_CERTIFY (TERCEL_CLASS_REFUSED | 42)

// The trusted authority's own certificate has expired.
#define TERCEL_REFUSED_AUTHORITY_EXPIRED (TERCEL_CLASS_REFUSED | 43)

// The trusted authority's own certificate is not yet valid.
#define TERCEL_REFUSED_AUTHORITY_NOT_YET_VALID (TERCEL_CLASS_REFUSED | 44)

// A certificate is larger than 64 KiB.
#define TERCEL_REFUSED_CERTIFICATE_TOO_LARGE (TERCEL_CLASS_REFUSED | 45)

// The name constraints of an authority cannot be checked: their form is not supported, such as
// registeredID, or a constrained name is malformed.
#define TERCEL_REFUSED_UNSUPPORTED_NAME_CONSTRAINT (TERCEL_CLASS_REFUSED | 46)

// A path is longer than path building supports.
#define TERCEL_REFUSED_PATH_TOO_DEEP (TERCEL_CLASS_REFUSED | 47)

// An authority of the chain requires a certificate policy (RFC 5280 6.1), and none is valid for
// the whole chain.
#define TERCEL_REFUSED_POLICY_NOT_SATISFIED (TERCEL_CLASS_REFUSED | 48)

// A failure without a code of its own.
#define TERCEL_INTERNAL_OTHER (TERCEL_CLASS_INTERNAL | 255)

// A cryptographic operation failed for a reason that the peer did not cause.
#define TERCEL_INTERNAL_CRYPTO (TERCEL_CLASS_INTERNAL | 1)

// A message to be sent is longer than its length fields can express.
#define TERCEL_INTERNAL_ENCODE (TERCEL_CLASS_INTERNAL | 2)

// A condition that this library guarantees does not hold, which is a bug in the library.
#define TERCEL_INTERNAL_INTERNAL (TERCEL_CLASS_INTERNAL | 3)

// The configuration lacks a credential, or a verifier of certificates.
#define TERCEL_INTERNAL_NO_CREDENTIAL (TERCEL_CLASS_INTERNAL | 4)

// Signing with the private key failed.
#define TERCEL_INTERNAL_SIGNING_FAILED (TERCEL_CLASS_INTERNAL | 5)

// The application refused the connection in its answer to a question.
#define TERCEL_INTERNAL_REFUSED_BY_APPLICATION (TERCEL_CLASS_INTERNAL | 6)

// The sequence numbers of a key or the allowed key updates are used up. RFC 9846 5.3, 4.7.3
#define TERCEL_INTERNAL_KEY_EXHAUSTED (TERCEL_CLASS_INTERNAL | 7)

// The ticket's limit of early data is reached. RFC 9846 4.3.10
#define TERCEL_INTERNAL_EARLY_DATA_LIMIT (TERCEL_CLASS_INTERNAL | 8)

// This side has already closed the connection.
#define TERCEL_INTERNAL_CLOSED (TERCEL_CLASS_INTERNAL | 9)

// An earlier error ended this connection.
#define TERCEL_INTERNAL_FAILED (TERCEL_CLASS_INTERNAL | 10)

// TERCEL_OPTION_FIPS is on, and a credential or a configuration that was chosen for this
// connection is not approved.
#define TERCEL_INTERNAL_NOT_FIPS (TERCEL_CLASS_INTERNAL | 11)

// Server: the application selected no credential for the client.
#define TERCEL_INTERNAL_NO_CREDENTIAL_SELECTED (TERCEL_CLASS_INTERNAL | 12)

// Server: the application does not know the server name that the client requests.
#define TERCEL_INTERNAL_NO_CREDENTIAL_FOR_NAME (TERCEL_CLASS_INTERNAL | 13)

// A function ended in a panic, which is a bug of the library. The handles that it used only return
// this status from then on; free them.
#define TERCEL_INTERNAL_PANIC (TERCEL_CLASS_INTERNAL | 257)

// The handshake has ended, successfully or with an error.
#define TERCEL_MISUSE_HANDSHAKE_ENDED (TERCEL_CLASS_MISUSE | 1)

// No question is open, or one of another kind.
#define TERCEL_MISUSE_WRONG_ANSWER (TERCEL_CLASS_MISUSE | 2)

// A question is open, and has to be answered first.
#define TERCEL_MISUSE_QUESTION_OPEN (TERCEL_CLASS_MISUSE | 3)

// The output buffer is too small for one record.
#define TERCEL_MISUSE_OUTPUT_TOO_SMALL (TERCEL_CLASS_MISUSE | 4)

// The negotiated version does not have this operation.
#define TERCEL_MISUSE_WRONG_VERSION (TERCEL_CLASS_MISUSE | 5)

// A length or value outside the documented range.
#define TERCEL_MISUSE_INVALID_ARGUMENT (TERCEL_CLASS_MISUSE | 6)

// The client did not offer post-handshake authentication, or the configuration has no verifier
// for clients. RFC 9846 4.7.2
#define TERCEL_MISUSE_NO_POST_HANDSHAKE_AUTH (TERCEL_CLASS_MISUSE | 7)

// Too many certificate requests are unanswered.
#define TERCEL_MISUSE_TOO_MANY_CERTIFICATE_REQUESTS (TERCEL_CLASS_MISUSE | 8)

// The private key of this credential is remote and cannot sign during the call.
#define TERCEL_MISUSE_KEY_NOT_LOCAL (TERCEL_CLASS_MISUSE | 9)

// The connection cannot be exported while received bytes are unread.
#define TERCEL_MISUSE_UNREAD_INPUT (TERCEL_CLASS_MISUSE | 10)

// The connection cannot be exported in the middle of a handshake message.
#define TERCEL_MISUSE_PARTIAL_MESSAGE (TERCEL_CLASS_MISUSE | 11)

// The connection cannot be exported while messages are pending.
#define TERCEL_MISUSE_CONTROL_PENDING (TERCEL_CLASS_MISUSE | 12)

// The connection cannot be exported or saved, because this client may still receive a
// post-handshake certificate request, or because this server's request is unanswered.
#define TERCEL_MISUSE_CERTIFICATE_PENDING (TERCEL_CLASS_MISUSE | 13)

// The connection cannot be exported while a key update requested from the peer is outstanding.
#define TERCEL_MISUSE_KEY_UPDATE_PENDING (TERCEL_CLASS_MISUSE | 14)

// TLS 1.2: keying material cannot be exported without the extended main secret. RFC 7627 5.4
#define TERCEL_MISUSE_NO_EXTENDED_MAIN_SECRET (TERCEL_CLASS_MISUSE | 15)

// With the feature `fips`, a TLS 1.3 connection with AES-GCM cannot be saved or exported.
#define TERCEL_MISUSE_BOUND_TO_FIPS_MODULE (TERCEL_CLASS_MISUSE | 16)

// A pointer is NULL where that is not allowed.
#define TERCEL_MISUSE_NULL_POINTER (TERCEL_CLASS_MISUSE | 257)

// A length is zero where that is not allowed.
#define TERCEL_MISUSE_ZERO_LENGTH (TERCEL_CLASS_MISUSE | 258)

// Another thread is using the handle, or a callback uses the handle that called it.
#define TERCEL_MISUSE_HANDLE_IN_USE (TERCEL_CLASS_MISUSE | 259)

// The number of an option, list, field or fact is unknown, or is not for this side.
#define TERCEL_MISUSE_UNKNOWN_NUMBER (TERCEL_CLASS_MISUSE | 260)

// The configuration is for the other side: a client's for a server, or vice versa.
#define TERCEL_MISUSE_WRONG_SIDE (TERCEL_CLASS_MISUSE | 261)

// The handshake has no connection to take: it is not complete, or the connection was taken.
#define TERCEL_MISUSE_NO_CONNECTION (TERCEL_CLASS_MISUSE | 262)

// No question of the kind that this function is for is open.
#define TERCEL_MISUSE_NO_SUCH_QUESTION (TERCEL_CLASS_MISUSE | 263)

// Early data cannot be sent, or not at this point of the handshake.
#define TERCEL_MISUSE_NO_EARLY_DATA (TERCEL_CLASS_MISUSE | 264)

// The configuration's sessions are not TERCEL_SESSIONS_GIVEN, or the handshake has begun.
#define TERCEL_MISUSE_SESSIONS_NOT_GIVEN (TERCEL_CLASS_MISUSE | 265)

// The connection was split, and this half does not have this operation.
#define TERCEL_MISUSE_WRONG_HALF (TERCEL_CLASS_MISUSE | 266)

// There is no certificate request to answer.
#define TERCEL_MISUSE_NO_CERTIFICATE_REQUEST (TERCEL_CLASS_MISUSE | 267)

// Memory that the function writes to, or memory of a handle that it changes, overlaps other memory
// that the caller passes.
#define TERCEL_MISUSE_OVERLAP (TERCEL_CLASS_MISUSE | 268)

// An unusable value without a code of its own.
#define TERCEL_CONFIG_OTHER (TERCEL_CLASS_CONFIG | 255)

// versions is empty.
#define TERCEL_CONFIG_NO_VERSION (TERCEL_CLASS_CONFIG | 1)

// versions contains a version other than TLS 1.2 and TLS 1.3.
#define TERCEL_CONFIG_UNKNOWN_VERSION (TERCEL_CLASS_CONFIG | 2)

// cipher_suites contains no suite for the enabled versions.
#define TERCEL_CONFIG_NO_CIPHER_SUITE (TERCEL_CLASS_CONFIG | 3)

// cipher_suites contains a suite that is not implemented.
#define TERCEL_CONFIG_UNKNOWN_CIPHER_SUITE (TERCEL_CLASS_CONFIG | 4)

// groups is empty.
#define TERCEL_CONFIG_NO_GROUP (TERCEL_CLASS_CONFIG | 5)

// groups contains a group that is not implemented.
#define TERCEL_CONFIG_UNKNOWN_GROUP (TERCEL_CLASS_CONFIG | 6)

// key_shares contains a group that is not enabled, or one group twice. RFC 9846 4.3.8
#define TERCEL_CONFIG_BAD_KEY_SHARE (TERCEL_CLASS_CONFIG | 7)

// signature_schemes or certificate_signature_schemes is empty.
#define TERCEL_CONFIG_NO_SIGNATURE_SCHEME (TERCEL_CLASS_CONFIG | 8)

// signature_schemes contains a scheme that cannot be verified.
#define TERCEL_CONFIG_UNKNOWN_SIGNATURE_SCHEME (TERCEL_CLASS_CONFIG | 9)

// A client has neither roots nor pre-shared keys, and does not ask TERCEL_ASK_VERIFY_PEER.
#define TERCEL_CONFIG_NO_VERIFIER (TERCEL_CLASS_CONFIG | 10)

// A set of roots is empty, or a server that requests certificates has no roots.
#define TERCEL_CONFIG_NO_TRUST_CONFIGURED (TERCEL_CLASS_CONFIG | 11)

// The platform's root certificates cannot be read.
#define TERCEL_CONFIG_NO_NATIVE_ROOTS (TERCEL_CLASS_CONFIG | 12)

// A server has no credential and no pre-shared key, and does not ask for them.
#define TERCEL_CONFIG_NO_CREDENTIAL (TERCEL_CLASS_CONFIG | 13)

// A server has two sources of credentials.
#define TERCEL_CONFIG_CONFLICTING_CREDENTIALS (TERCEL_CLASS_CONFIG | 14)

// alpn contains a name that is empty or longer than 255 bytes, or is longer than 65535 bytes
// in total. RFC 7301 3.1
#define TERCEL_CONFIG_BAD_APPLICATION_PROTOCOL (TERCEL_CLASS_CONFIG | 15)

// certificate_compression contains two algorithms with the same code point, or more than 127
// algorithms.
#define TERCEL_CONFIG_BAD_CERTIFICATE_COMPRESSION (TERCEL_CLASS_CONFIG | 16)

// server_certificate_types or client_certificate_types contains something other than X.509,
// raw public key, or both. RFC 7250
#define TERCEL_CONFIG_BAD_CERTIFICATE_TYPES (TERCEL_CLASS_CONFIG | 17)

// There are pre-shared keys, but TLS 1.3 is not enabled or, on a client, no enabled cipher suite
// has the hash of any of the keys.
#define TERCEL_CONFIG_UNUSABLE_PRE_SHARED_KEYS (TERCEL_CLASS_CONFIG | 18)

// A client's pre-shared keys have two equal identities, are more than 16, or have more than 32768
// bytes of identities.
#define TERCEL_CONFIG_TOO_MANY_PRE_SHARED_KEYS (TERCEL_CLASS_CONFIG | 19)

// Trusted raw public keys have no effect, because the caller verifies peers.
#define TERCEL_CONFIG_RAW_KEYS_WITH_ASK (TERCEL_CLASS_CONFIG | 20)

// store_only_certificate_digests and verify_resumed are both on, but a digest cannot be
// verified again.
#define TERCEL_CONFIG_DIGESTS_CANNOT_BE_VERIFIED (TERCEL_CLASS_CONFIG | 21)

// freshness_window is not a whole number of seconds from 2 to 60. RFC 9846 8.3
#define TERCEL_CONFIG_BAD_FRESHNESS_WINDOW (TERCEL_CLASS_CONFIG | 22)

// The replay guard remembers values for less time than the freshness window needs. RFC 9846 8.2
#define TERCEL_CONFIG_REPLAY_GUARD_TOO_SHORT (TERCEL_CLASS_CONFIG | 23)

// certificate_authorities contains an empty name, or is longer than 32768 bytes in total, or for
// a server 64512. RFC 9846 4.3.4
#define TERCEL_CONFIG_BAD_AUTHORITIES (TERCEL_CLASS_CONFIG | 24)

// record_size_limit is not in the range 64 to 16385. RFC 8449 4
#define TERCEL_CONFIG_BAD_RECORD_SIZE_LIMIT (TERCEL_CLASS_CONFIG | 25)

// max_fragment is not in the range 64 to 16384.
#define TERCEL_CONFIG_BAD_MAX_FRAGMENT (TERCEL_CLASS_CONFIG | 26)

// The random generator failed.
#define TERCEL_CONFIG_RANDOM (TERCEL_CLASS_CONFIG | 27)

// TERCEL_OPTION_FIPS is on, and the configuration is not approved; tercel_config_builder_error has
// the reason.
#define TERCEL_CONFIG_NOT_FIPS (TERCEL_CLASS_CONFIG | 28)

// The chain contains no certificate.
#define TERCEL_CONFIG_EMPTY_CHAIN (TERCEL_CLASS_CONFIG | 513)

// The leaf certificate cannot be parsed.
#define TERCEL_CONFIG_BAD_CERTIFICATE (TERCEL_CLASS_CONFIG | 514)

// The private key cannot be parsed, or its type or size is not supported.
#define TERCEL_CONFIG_BAD_KEY (TERCEL_CLASS_CONFIG | 515)

// The private key does not match the leaf certificate or raw public key.
#define TERCEL_CONFIG_KEY_MISMATCH (TERCEL_CLASS_CONFIG | 516)

// The list of signed certificate timestamps is malformed or empty.
#define TERCEL_CONFIG_BAD_TIMESTAMPS (TERCEL_CLASS_CONFIG | 517)

// The raw public key cannot be parsed, or its type or size is not supported.
#define TERCEL_CONFIG_BAD_PUBLIC_KEY (TERCEL_CLASS_CONFIG | 518)

// The validity of the leaf certificate is malformed.
#define TERCEL_CONFIG_BAD_VALIDITY (TERCEL_CLASS_CONFIG | 519)

// The key usage of the leaf certificate does not allow signing handshakes.
#define TERCEL_CONFIG_KEY_MAY_NOT_SIGN (TERCEL_CLASS_CONFIG | 520)

// The key of the leaf certificate is of a kind, on a curve, or of a size that is not supported.
#define TERCEL_CONFIG_UNSUPPORTED_LEAF_KEY (TERCEL_CLASS_CONFIG | 521)

// Another certificate of the chain than the leaf cannot be parsed.
#define TERCEL_CONFIG_BAD_ISSUER (TERCEL_CLASS_CONFIG | 522)

// The private key matches a later certificate of the chain: the leaf must be the first.
#define TERCEL_CONFIG_LEAF_NOT_FIRST (TERCEL_CLASS_CONFIG | 523)

// The key of the leaf certificate is invalid, such as a point that is not on its curve.
#define TERCEL_CONFIG_INVALID_LEAF_KEY (TERCEL_CLASS_CONFIG | 524)

// The extended key usage of a server's leaf certificate does not allow servers. RFC 5280 4.2.1.12
#define TERCEL_CONFIG_NOT_FOR_SERVERS (TERCEL_CLASS_CONFIG | 525)

// The system has no trust anchors, or they cannot be read.
#define TERCEL_CONFIG_NO_ROOTS (TERCEL_CLASS_CONFIG | 641)

// A certificate cannot be used as a trust anchor.
#define TERCEL_CONFIG_BAD_ROOT (TERCEL_CLASS_CONFIG | 642)

// The name of the server is neither a DNS name nor an IP address.
#define TERCEL_CONFIG_BAD_SERVER_NAME (TERCEL_CLASS_CONFIG | 643)

// A list of protocol names has not the form of RFC 7301 3.1.
#define TERCEL_CONFIG_BAD_PROTOCOL_LIST (TERCEL_CLASS_CONFIG | 644)

// Each certificate of the system's store is not an authority's.
#define TERCEL_CONFIG_NOT_AN_AUTHORITY (TERCEL_CLASS_CONFIG | 645)

// The file has no section of the requested kind.
#define TERCEL_CONFIG_PEM_NOTHING_FOUND (TERCEL_CLASS_CONFIG | 769)

// The private key is protected by a password.
#define TERCEL_CONFIG_PEM_ENCRYPTED_KEY (TERCEL_CLASS_CONFIG | 770)

// A line looks like the begin or end line of a section, and is none.
#define TERCEL_CONFIG_PEM_MALFORMED (TERCEL_CLASS_CONFIG | 771)

// A section is not base64.
#define TERCEL_CONFIG_PEM_NOT_BASE64 (TERCEL_CLASS_CONFIG | 772)

// A section has no end line, or an end line with another label.
#define TERCEL_CONFIG_PEM_NO_END (TERCEL_CLASS_CONFIG | 773)

// An end line has no begin line.
#define TERCEL_CONFIG_PEM_NO_BEGIN (TERCEL_CLASS_CONFIG | 774)

// A section has certificates in a form that is not read, such as PKCS7.
#define TERCEL_CONFIG_PEM_UNSUPPORTED_FORM (TERCEL_CLASS_CONFIG | 775)

// The text is encoded in UTF-16.
#define TERCEL_CONFIG_PEM_UTF16 (TERCEL_CLASS_CONFIG | 776)

// The identity is not 1 to 65535 bytes long. For an imported key, this limit applies to the
// encoded ImportedIdentity. RFC 9846 4.3.11
#define TERCEL_CONFIG_PSK_BAD_IDENTITY (TERCEL_CLASS_CONFIG | 1025)

// The key has less than 128 bits. RFC 9257 6
#define TERCEL_CONFIG_PSK_KEY_TOO_SHORT (TERCEL_CLASS_CONFIG | 1026)

// TLS 1.3 has no suite with this hash.
#define TERCEL_CONFIG_PSK_UNSUPPORTED_HASH (TERCEL_CLASS_CONFIG | 1027)

// The bytes have a format version that this library does not support.
#define TERCEL_CONFIG_TICKET_KEYS_UNKNOWN_VERSION (TERCEL_CLASS_CONFIG | 1281)

// The bytes are not an encoded set of keys.
#define TERCEL_CONFIG_TICKET_KEYS_MALFORMED (TERCEL_CLASS_CONFIG | 1282)

// Two keys have the same name.
#define TERCEL_CONFIG_TICKET_KEYS_SAME_NAME (TERCEL_CLASS_CONFIG | 1283)

// A key's not_before is earlier than the not_before of the key that it replaces.
#define TERCEL_CONFIG_TICKET_KEYS_OUT_OF_ORDER (TERCEL_CLASS_CONFIG | 1284)

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Creates a builder with secure defaults. A client needs roots, a server a credential, or both
// pre-shared keys. NULL if the side is unknown.
struct tercel_config_builder *tercel_config_builder_new(tercel_side side);

// Frees a builder. NULL has no effect.
void tercel_config_builder_free(struct tercel_config_builder *builder);

// Sets an option to a number. Numbers outside the range of the option are refused, here or when
// the configuration is built.
tercel_status tercel_config_builder_set_option(struct tercel_config_builder *builder,
                                               tercel_option option,
                                               uint64_t value);

// Sets a list of code points. Only TERCEL_LIST_KEY_SHARES may be empty (NULL and 0).
tercel_status tercel_config_builder_set_list(struct tercel_config_builder *builder,
                                             tercel_list list,
                                             const uint16_t *codes,
                                             size_t count);

// Sets a value that consists of bytes.
tercel_status tercel_config_builder_set_content(struct tercel_config_builder *builder,
                                                tercel_content content,
                                                const uint8_t *data,
                                                size_t len);

// Sets the trusted roots, with which the peer's certificate is verified.
tercel_status tercel_config_builder_set_roots(struct tercel_config_builder *builder,
                                              const struct tercel_roots *roots);

// Adds a credential. A server selects the first one that is valid for the requested name and that
// the client can verify; for an unknown name, the first one that the client can verify. A client
// with several credentials keeps no session of a server that requests a certificate, except with
// TERCEL_CONTENT_SESSION_CONTEXT, which states that it is the same client for all servers.
tercel_status tercel_config_builder_add_credential(struct tercel_config_builder *builder,
                                                   const struct tercel_credential *credential);

// Sets the keys that encrypt a server's tickets.
tercel_status tercel_config_builder_set_tickets(struct tercel_config_builder *builder,
                                                const struct tercel_tickets *tickets);

// Adds a pre-shared key. A client offers its keys in the order in which they were added. A
// handshake with such a key exchanges no certificates, also with a server that requires them of
// clients: the peer is a holder of the key.
tercel_status tercel_config_builder_add_psk(struct tercel_config_builder *builder,
                                            const struct tercel_psk *psk);

// Sets which decisions the caller makes: a sum of constants TERCEL_ASK_...
tercel_status tercel_config_builder_set_questions(struct tercel_config_builder *builder,
                                                  tercel_questions questions);

// Sets a function that receives the secrets of connections, for debugging. The context is passed
// to it. NULL removes the function.
tercel_status tercel_config_builder_set_key_log(struct tercel_config_builder *builder,
                                                tercel_key_log_function function,
                                                void *context);

// Sets a function that returns the time, instead of the system's clock. The context is passed to
// it. NULL removes the function.
tercel_status tercel_config_builder_set_clock(struct tercel_config_builder *builder,
                                              tercel_clock_function function,
                                              void *context);

// Builds a configuration. The builder remains as it is, and can build others.
tercel_status tercel_config_builder_build(struct tercel_config_builder *builder,
                                          const struct tercel_config **config);

// Writes the reason why tercel_config_builder_build failed, for people, and a NUL, at most size
// bytes. Returns the length of the whole text, 0 if there is none.
size_t tercel_config_builder_error(const struct tercel_config_builder *builder, char *text, size_t size);

// Returns whether a configuration uses approved cryptography of a validated module only, a
// constant TERCEL_FIPS_...
tercel_fips tercel_config_fips(const struct tercel_config *config);

// Adds a reference to a configuration, which tercel_config_release removes. Returns its argument.
const struct tercel_config *tercel_config_retain(const struct tercel_config *config);

// Removes a reference to a configuration; the last one frees it. NULL has no effect.
void tercel_config_release(const struct tercel_config *config);

// Frees a connection, or one half. NULL has no effect. Without tercel_connection_close before, the
// peer cannot distinguish the end from an attack.
void tercel_connection_free(struct tercel_connection *connection);

// Encrypts data into memory of the caller, in one pass. Stores the number of bytes of data that
// were taken, and the number of bytes that were written; send these, and continue with the rest of
// the data. With tercel_connection_sealed_size bytes of room, all data is taken.
tercel_status tercel_connection_seal(struct tercel_connection *connection,
                                     const uint8_t *data,
                                     size_t len,
                                     uint8_t *out,
                                     size_t room,
                                     size_t *taken,
                                     size_t *written);

// Encrypts all data, and appends the records to the output.
tercel_status tercel_connection_seal_to(struct tercel_connection *connection,
                                        const uint8_t *data,
                                        size_t len,
                                        struct tercel_output *output);

// Returns the size of memory in which tercel_connection_seal takes this many bytes of data at
// once. 0 after an error.
size_t tercel_connection_sealed_size(const struct tercel_connection *connection, size_t len);

// Decrypts the next record into memory of the caller. For TERCEL_EVENT_DATA, stores the number of
// bytes. Data that does not fit is kept for the next call; with 16640 bytes of room, no data is
// copied twice.
//
// If the status is not TERCEL_OK, the connection has failed, unless the class is
// TERCEL_CLASS_MISUSE; tercel_connection_flush then writes the alert to send. Call it now and then
// in any case, since the peer may have asked for a message that is sent with the next data
// otherwise.
tercel_status tercel_connection_open(struct tercel_connection *connection,
                                     struct tercel_input *input,
                                     uint8_t *out,
                                     size_t room,
                                     size_t *filled,
                                     tercel_event *event);

// Decrypts the next record in place, without a copy. For TERCEL_EVENT_DATA, stores the data, which
// is valid until the next function with this input or this connection that receives, parks or
// frees: it is in the input, or in the connection if tercel_connection_open has kept it. The rules
// of tercel_connection_open apply.
tercel_status tercel_connection_open_in_place(struct tercel_connection *connection,
                                              struct tercel_input *input,
                                              struct tercel_bytes *data,
                                              tercel_event *event);

// Appends pending messages to the output: an alert after an error, the answer to a request of the
// peer. Without pending messages it does nothing.
tercel_status tercel_connection_flush(struct tercel_connection *connection, struct tercel_output *output);

// Appends close_notify to the output. No data can be sent afterwards; data may still be received.
tercel_status tercel_connection_close(struct tercel_connection *connection, struct tercel_output *output);

// Appends an alert to the output, and closes the connection for sending.
tercel_status tercel_connection_abort(struct tercel_connection *connection,
                                      uint8_t alert,
                                      struct tercel_output *output);

// TLS 1.3: appends a KeyUpdate to the output, and changes to the next key. If request is 1, the
// peer is asked to update its key too.
tercel_status tercel_connection_update_key(struct tercel_connection *connection,
                                           uint32_t request,
                                           struct tercel_output *output);

// Reports the end of the transport's input. TERCEL_TRUNCATED if the peer sent no close_notify,
// unless TERCEL_OPTION_TOLERATE_TRUNCATION is on.
tercel_status tercel_connection_end_of_input(struct tercel_connection *connection);

// Fills memory with keying material for this label and context. Both may be NULL and 0; in TLS 1.2
// an absent context differs from an empty one, which is a pointer and 0. RFC 9846 7.5, RFC 5705
tercel_status tercel_connection_export(const struct tercel_connection *connection,
                                       const uint8_t *label,
                                       size_t label_len,
                                       const uint8_t *context,
                                       size_t context_len,
                                       uint8_t *out,
                                       size_t len);

// As tercel_connection_export, with the secret of early data, if early data was accepted.
tercel_status tercel_connection_export_early(const struct tercel_connection *connection,
                                             const uint8_t *label,
                                             size_t label_len,
                                             const uint8_t *context,
                                             size_t context_len,
                                             uint8_t *out,
                                             size_t len);

// Returns a fact that is a number; 0 if it is absent. Both halves have all facts, and any thread
// can read them, also while another one uses the connection.
uint64_t tercel_connection_fact(const struct tercel_connection *connection, tercel_fact fact);

// Returns a fact that consists of bytes; data is NULL if it is absent, or has no value at this
// index. Facts with one value have it at index 0. They are valid until this handle is freed. Any
// thread can read them, as tercel_connection_fact.
struct tercel_bytes tercel_connection_fact_bytes(const struct tercel_connection *connection,
                                                 tercel_fact fact,
                                                 size_t index);

// Client: takes a session that a later connection can offer with tercel_handshake_offer_session,
// and stores the time at which it expires, in seconds since 1970. Data is NULL if there is none
// now; a TLS 1.3 server sends sessions after the handshake, so ask again after
// tercel_connection_open.
//
// The bytes are valid until the next call of this function. They contain secrets. Offer each
// session once, and remove those of a TLS 1.2 connection that fails. The configuration needs
// TERCEL_SESSIONS_GIVEN.
tercel_status tercel_connection_take_session(struct tercel_connection *connection,
                                             struct tercel_bytes *session,
                                             uint64_t *expires);

// Server: takes a session that the caller has to store under its identity, for the answer to
// TERCEL_QUESTION_FIND_SESSION, and stores the time at which it expires, in seconds since 1970.
// Data is NULL if there is none.
//
// The bytes are valid until the next call of this function. They contain secrets. Remove the
// session of a TLS 1.2 connection that fails. The configuration needs TERCEL_ASK_FIND_SESSION.
tercel_status tercel_connection_take_stored_session(struct tercel_connection *connection,
                                                    struct tercel_bytes *identity,
                                                    struct tercel_bytes *session,
                                                    uint64_t *expires);

// Client: answers TERCEL_EVENT_CERTIFICATE_REQUESTED with a credential, whose key is in the
// library, or declines with NULL. Appends the messages to the output. After a split, it is a
// function of the sending half. Several requests are answered in the order of their events. After
// an error of the class TERCEL_CLASS_MISUSE, the request remains to be answered.
tercel_status tercel_connection_authenticate(struct tercel_connection *connection,
                                             const struct tercel_credential *credential,
                                             struct tercel_output *output);

// Server: requests a certificate of the client, TERCEL_CLIENT_AUTH_OPTIONAL or _REQUIRED. Appends
// the message to the output. The answer is TERCEL_EVENT_CLIENT_CERTIFICATE. Not after a split, and
// not with TERCEL_ASK_VERIFY_PEER, because the roots of the configuration verify the certificate.
tercel_status tercel_connection_request_certificate(struct tercel_connection *connection,
                                                    tercel_client_auth demand,
                                                    struct tercel_output *output);

// Server: returns a certificate (DER) of the last TERCEL_EVENT_CLIENT_CERTIFICATE, the leaf at
// index 0. Data is NULL behind the last one, and if the client declined. It was verified.
struct tercel_bytes tercel_connection_client_certificate(const struct tercel_connection *connection,
                                                         size_t index);

// Frees memory of a connection that is idle. The next function with the connection restores it.
tercel_status tercel_connection_park(struct tercel_connection *connection);

// Moves the receiving half of a connection to a handle of its own, so that one thread can send
// while another receives. The first handle keeps the sending half and the exporter; both have the
// facts. Both have to be freed. tercel_connection_flush is a function of the sending half: call it
// when the receiving one returns an error.
tercel_status tercel_connection_split(struct tercel_connection *connection,
                                      struct tercel_connection **receiving);

// Writes the reason why the connection failed, for people, and a NUL, at most size bytes. Returns
// the length of the whole text, 0 if there is none.
size_t tercel_connection_error(const struct tercel_connection *connection, char *text, size_t size);

// Creates a credential from PEM: a chain, leaf first, and its private key (PKCS#8, PKCS#1 or SEC1,
// not encrypted).
tercel_status tercel_credential_from_pem(const uint8_t *chain,
                                         size_t chain_len,
                                         const uint8_t *key,
                                         size_t key_len,
                                         const struct tercel_credential **credential);

// Creates a credential from a chain in PEM, leaf first, whose private key is not in this library,
// for example in a hardware module. Each signature is a question, TERCEL_QUESTION_SIGN.
tercel_status tercel_credential_external(const uint8_t *chain,
                                         size_t chain_len,
                                         const struct tercel_credential **credential);

// Creates a copy of a credential that staples this OCSP response (DER). The copy shares the key.
tercel_status tercel_credential_with_ocsp_response(const struct tercel_credential *credential,
                                                   const uint8_t *response,
                                                   size_t len,
                                                   const struct tercel_credential **copy);

// Creates a copy of a credential that sends these signed certificate timestamps, an encoded
// SignedCertificateTimestampList. RFC 6962 3.3
tercel_status tercel_credential_with_timestamps(const struct tercel_credential *credential,
                                                const uint8_t *list,
                                                size_t len,
                                                const struct tercel_credential **copy);

// Creates a copy of a credential that signs only with these schemes (code points, most preferred
// first).
tercel_status tercel_credential_with_schemes(const struct tercel_credential *credential,
                                             const uint16_t *schemes,
                                             size_t count,
                                             const struct tercel_credential **copy);

// Creates a copy of a credential that is used only for peers that list an issuer of its chain
// among their authorities. RFC 9846 4.3.4
tercel_status tercel_credential_with_matching_issuer(const struct tercel_credential *credential,
                                                     const struct tercel_credential **copy);

// Adds a reference to a credential, which tercel_credential_release removes. Returns its argument.
const struct tercel_credential *tercel_credential_retain(const struct tercel_credential *credential);

// Removes a reference to a credential; the last one frees it. NULL has no effect.
void tercel_credential_release(const struct tercel_credential *credential);

// Returns the version of the cryptographic module of FIPS 140-3 that this library uses, or NULL if
// it uses none. The text remains valid.
const char *tercel_fips_module(void);

// Creates the handshake of a client with the server of this name, a DNS name or an IP address. The
// port distinguishes stored sessions; 0 if it is not known.
tercel_status tercel_handshake_client(const struct tercel_config *config,
                                      const char *name,
                                      size_t name_len,
                                      uint16_t port,
                                      struct tercel_handshake **handshake);

// Creates the handshake of a server.
tercel_status tercel_handshake_server(const struct tercel_config *config,
                                      struct tercel_handshake **handshake);

// Frees a handshake, also after its connection was taken. NULL has no effect.
void tercel_handshake_free(struct tercel_handshake *handshake);

// Client: sets the session to offer, before the handshake begins. It is one that
// tercel_connection_take_session returned. A session that cannot be used is ignored.
tercel_status tercel_handshake_offer_session(struct tercel_handshake *handshake,
                                             const uint8_t *session,
                                             size_t len);

// Continues the handshake with the bytes in the input, and appends bytes to send to the output.
// Send them before anything else, also after an error, since they may contain an alert.
//
// If the status is not TERCEL_OK, the handshake has failed, unless its class is
// TERCEL_CLASS_MISUSE.
tercel_status tercel_handshake_advance(struct tercel_handshake *handshake,
                                       struct tercel_input *input,
                                       struct tercel_output *output,
                                       tercel_next *next);

// Reports the end of the transport's input, which ends the handshake. Always returns a status
// other than TERCEL_OK, usually TERCEL_TRUNCATED.
tercel_status tercel_handshake_end_of_input(struct tercel_handshake *handshake);

// Encrypts data before the handshake is complete: early data of a client that offers a session
// which allows it, or data of a server whose client is not yet authenticated. Appends the records
// to the output. The number of bytes that were taken is less than the length if early data is
// limited.
tercel_status tercel_handshake_seal_early(struct tercel_handshake *handshake,
                                          const uint8_t *data,
                                          size_t len,
                                          struct tercel_output *output,
                                          size_t *taken);

// Returns how many bytes of early data tercel_handshake_seal_early can take: 0 if none, SIZE_MAX
// if there is no limit.
size_t tercel_handshake_early_data_left(const struct tercel_handshake *handshake);

// Server: returns the early data of the last TERCEL_NEXT_EARLY_DATA.
struct tercel_bytes tercel_handshake_early_data(const struct tercel_handshake *handshake);

// Server: returns a fact that is a number, while the client sends early data; 0 otherwise.
uint64_t tercel_handshake_fact(const struct tercel_handshake *handshake, tercel_fact fact);

// Server: returns a fact that consists of bytes, while the client sends early data; none
// otherwise. They are valid until the handshake is advanced or freed.
struct tercel_bytes tercel_handshake_fact_bytes(const struct tercel_handshake *handshake,
                                                tercel_fact fact,
                                                size_t index);

// Writes the reason why the handshake failed, for people, and a NUL, at most size bytes. After a
// refused certificate, it has the names and the certificate in question. Returns the length of the
// whole text, 0 if there is none.
size_t tercel_handshake_error(const struct tercel_handshake *handshake, char *text, size_t size);

// Takes the connection after TERCEL_NEXT_CONNECTED. The handshake has to be freed nevertheless.
tercel_status tercel_handshake_take_connection(struct tercel_handshake *handshake,
                                               struct tercel_connection **connection);

// Creates an empty buffer. A capacity of 0 is allowed; for bulk transfer use a multiple of 16384.
// NULL if memory for the capacity cannot be had.
struct tercel_input *tercel_input_new(size_t capacity);

// Frees a buffer. NULL has no effect.
void tercel_input_free(struct tercel_input *input);

// Returns free space behind the unread bytes, for the caller to receive into, and its length,
// which is never 0. NULL after an error. Call tercel_input_filled afterwards.
uint8_t *tercel_input_space(struct tercel_input *input, size_t *len);

// Appends the first bytes of tercel_input_space, which the caller has written. The count is at
// most the length that tercel_input_space returned; 0 is allowed.
tercel_status tercel_input_filled(struct tercel_input *input, size_t count);

// Appends a copy of these bytes, for callers that already have them in memory, which is not memory
// of this buffer.
tercel_status tercel_input_append(struct tercel_input *input, const uint8_t *data, size_t len);

// Returns the bytes that are not consumed yet. After the end of a connection these are bytes of
// the protocol that follows.
struct tercel_bytes tercel_input_unread(const struct tercel_input *input);

// Frees the memory of a buffer while its connection is idle. Unread bytes are kept.
tercel_status tercel_input_release(struct tercel_input *input);

// Creates an empty queue. NULL if that fails.
struct tercel_output *tercel_output_new(void);

// Frees a queue. NULL has no effect.
void tercel_output_free(struct tercel_output *output);

// Returns the bytes to send. They remain in the queue until tercel_output_sent.
struct tercel_bytes tercel_output_bytes(const struct tercel_output *output);

// Removes the first bytes of the queue, because the caller has sent them. The count is at most the
// length of tercel_output_bytes; 0 is allowed.
tercel_status tercel_output_sent(struct tercel_output *output, size_t count);

// Frees the memory of a queue while its connection is idle. Bytes to send are kept.
tercel_status tercel_output_release(struct tercel_output *output);

// Creates a key that is used as it is. It has at least 16 random bytes; a password is not
// suitable. Both peers need the same hash. RFC 9846 4.3.11, RFC 9257
tercel_status tercel_psk_external(const uint8_t *identity,
                                  size_t identity_len,
                                  const uint8_t *key,
                                  size_t key_len,
                                  tercel_hash hash,
                                  const struct tercel_psk **psk);

// Creates a key by the import of an external key, for suites with any hash. The context may be
// empty (NULL and 0); both peers need the same. RFC 9258
tercel_status tercel_psk_import(const uint8_t *identity,
                                size_t identity_len,
                                const uint8_t *context,
                                size_t context_len,
                                const uint8_t *key,
                                size_t key_len,
                                tercel_hash hash,
                                const struct tercel_psk **psk);

// Adds a reference to a key, which tercel_psk_release removes. Returns its argument.
const struct tercel_psk *tercel_psk_retain(const struct tercel_psk *psk);

// Removes a reference to a key; the last one frees it. NULL has no effect.
void tercel_psk_release(const struct tercel_psk *psk);

// Returns the open question; TERCEL_QUESTION_NONE if there is none.
tercel_question tercel_handshake_question(const struct tercel_handshake *handshake);

// Returns bytes of the open question. If the field is absent, or has no value at this index, data
// is NULL. The bytes are valid until the question is answered, also for other threads, or until
// the handshake fails or is freed.
struct tercel_bytes tercel_question_bytes(const struct tercel_handshake *handshake,
                                          tercel_field field,
                                          size_t index);

// Stores a number of the open question. TERCEL_MISUSE_INVALID_ARGUMENT if the field is absent, or
// has no value at this index.
tercel_status tercel_question_number(const struct tercel_handshake *handshake,
                                     tercel_field field,
                                     size_t index,
                                     uint64_t *number);

// SELECT_CREDENTIAL: finds the first credential of a list that can sign for the peer, and stores
// its index, or the length of the list if there is none. The names in the certificates are not
// considered: pass those credentials that are for the requested name.
tercel_status tercel_question_find_credential(const struct tercel_handshake *handshake,
                                              const struct tercel_credential *const *credentials,
                                              size_t count,
                                              size_t *index);

// FIND_PSK: finds the key of a list that the client offers, and stores its index, or the length of
// the list if there is none. The order of the server's cipher suites decides first, then the order
// of the list.
tercel_status tercel_question_find_psk(const struct tercel_handshake *handshake,
                                       const struct tercel_psk *const *psks,
                                       size_t count,
                                       size_t *index);

// VERIFY_PEER: verifies the peer's chain with these roots, for the requested name and the time of
// the question, as a configuration with these roots does. Returns TERCEL_OK if the chain is
// trusted, or a status of the class TERCEL_CLASS_REFUSED. The question remains open, so that the
// caller can check more before it answers with this status.
tercel_status tercel_question_verify_chain(struct tercel_handshake *handshake,
                                           const struct tercel_roots *roots);

// Answers CHOOSE_CONFIG with a server's configuration. NULL refuses the connection.
tercel_status tercel_answer_config(struct tercel_handshake *handshake, const struct tercel_config *config);

// Answers FIND_SESSION with the bytes that tercel_connection_take_stored_session returned for this
// identity. NULL and 0 if there is no such session.
tercel_status tercel_answer_session(struct tercel_handshake *handshake, const uint8_t *session, size_t len);

// Answers CLAIM_SESSION: 1 if the caller has removed the session for this question, 0 if the store
// does not have it any more. For one session, only one answer may be 1.
tercel_status tercel_answer_claim(struct tercel_handshake *handshake, uint32_t claimed);

// Answers FIND_PSK with a key. NULL if none of the client's keys is known.
tercel_status tercel_answer_psk(struct tercel_handshake *handshake, const struct tercel_psk *psk);

// Answers ADMIT_EARLY_DATA: 1 admits the early data, 0 does not.
tercel_status tercel_answer_early_data(struct tercel_handshake *handshake, uint32_t admitted);

// Answers SELECT_CREDENTIAL with a credential. NULL if there is none: a client then continues
// without a certificate, and a server refuses the connection.
tercel_status tercel_answer_credential(struct tercel_handshake *handshake,
                                       const struct tercel_credential *credential);

// Answers SELECT_CREDENTIAL of a server that has no credential for the name of the ClientHello:
// the handshake ends with the alert unrecognized_name. RFC 6066 3
tercel_status tercel_answer_unknown_name(struct tercel_handshake *handshake);

// Answers SIGN with a signature in the form of TLS. NULL and 0 if signing failed.
tercel_status tercel_answer_signature(struct tercel_handshake *handshake,
                                      const uint8_t *signature,
                                      size_t len);

// Answers VERIFY_PEER: TERCEL_OK trusts the peer, a status of the class TERCEL_CLASS_REFUSED
// refuses it and determines the alert. The explanation is for tercel_handshake_error only; NULL
// and 0 if there is none.
tercel_status tercel_answer_peer(struct tercel_handshake *handshake,
                                 tercel_status verdict,
                                 const char *explanation,
                                 size_t explanation_len);

// Creates a set with the certificates of a PEM file. Each is also trusted as itself, if a peer
// presents it; one that is not an authority's only as itself: see tercel_roots_warning.
tercel_status tercel_roots_from_pem(const uint8_t *pem, size_t len, const struct tercel_roots **roots);

// Creates a set with the authorities of the operating system. The environment variables
// SSL_CERT_FILE and SSL_CERT_DIR are respected; all files of a folder are read, whatever their
// names are. Certificates that cannot be read, or that are not authorities', are left out: see
// tercel_roots_warning.
tercel_status tercel_roots_system(const struct tercel_roots **roots);

// Writes which certificates of the source are no trust anchors, for people, and a NUL, at most
// size bytes. Returns the length of the whole text, 0 if all are.
size_t tercel_roots_warning(const struct tercel_roots *roots, char *text, size_t size);

// Adds a reference to a set, which tercel_roots_release removes. Returns its argument.
const struct tercel_roots *tercel_roots_retain(const struct tercel_roots *roots);

// Removes a reference to a set; the last one frees it. NULL has no effect.
void tercel_roots_release(const struct tercel_roots *roots);

// Returns the class of a status: TERCEL_OK, or a constant TERCEL_CLASS_...
tercel_status tercel_status_class(tercel_status status);

// Returns a text for people that describes a status. The text is constant, never NULL, and
// remains valid. tercel_handshake_error and its like have the details of a failure.
const char *tercel_status_text(tercel_status status);

// Returns the number of the alert with which a connection ends because of this status, or -1 if
// there is none. The library sends the alert itself.
int32_t tercel_status_alert(tercel_status status);

// Creates keys for the servers of this process, which replaces them after each period. A ticket
// can be used for up to two periods. The first period begins when the first configuration with
// these keys is built; configurations that share keys need clocks with the same time.
// Configurations without tickets of their own have such keys with a period of six hours.
tercel_status tercel_tickets_rotating(uint32_t period_seconds, const struct tercel_tickets **tickets);

// Creates keys that several processes share. The caller distributes them, and replaces them with
// tercel_tickets_set_keys.
//
// The keys are encoded as: version (2 bytes, 00 01), the current key, a byte 1 and the next key or
// a byte 0, a byte 1 and the previous key or a byte 0. A key is encoded as: name (16 random
// bytes), secret (32 random bytes), the time from which it encrypts (8 bytes, big-endian, seconds
// since 1970).
tercel_status tercel_tickets_shared(const uint8_t *keys,
                                    size_t len,
                                    uint32_t lifetime_seconds,
                                    const struct tercel_tickets **tickets);

// Replaces the keys of tercel_tickets_shared, at any time and from any thread.
tercel_status tercel_tickets_set_keys(const struct tercel_tickets *tickets, const uint8_t *keys, size_t len);

// Adds a reference to a set of keys, which tercel_tickets_release removes. Returns its argument.
const struct tercel_tickets *tercel_tickets_retain(const struct tercel_tickets *tickets);

// Removes a reference to a set of keys; the last one frees it. NULL has no effect.
void tercel_tickets_release(const struct tercel_tickets *tickets);

// Returns the version of the library, such as "0.1.0".
const char *tercel_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TERCEL_H */
