// What the files of the shim share. Memory is not freed, because the process ends after a test.

#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tercel.h"

typedef struct {
    const uint8_t *data;
    size_t len;
} bytes;

enum { LIST = 64, CREDENTIALS = 8 };

// Code points, in order.
typedef struct {
    uint16_t codes[LIST];
    size_t count;
    // Whether a flag set the list, which may be empty.
    bool set;
} list;

typedef struct {
    bool set;
    bytes key, identity, context;
    bool sha384;
} psk_options;

// A certificate chain, its key and its extensions, or a pre-shared key.
typedef struct {
    const char *cert_file, *key_file;
    bytes ocsp_response, timestamps;
    list signing_prefs;
    bool must_match_issuer;
    psk_options psk;
} credential_options;

typedef enum { NO_POLICY, FIPS_202205, WPA_202304, CNSA_202407, CNSA_1, CNSA_2 } policy;

// The options of one connection. Names are those of the flags.
typedef struct {
    uint64_t port, shim_id, resume_count;
    bool ipv6, server;

    bool no_tls12, no_tls13, fallback_scsv;
    uint64_t min_version, max_version;
    list curves, curves_flags, key_shares, verify_prefs;
    bool server_preference, permute_extensions, grease, require_secure_renegotiation;
    const char *cipher;
    policy policy;
    uint64_t max_send_fragment;

    bool no_ticket, enable_early_data, reverify_on_resume, across_names;
    uint64_t resumption_delay;

    const char *host_name;
    bytes advertise_alpn, select_alpn;
    bool reject_alpn, no_server_name_ack, enable_ocsp_stapling, enable_timestamps;

    bool verify_peer, require_client_certificate, verify_fail, custom_verify_callback;
    bool decline_ocsp_callback, fail_ocsp_callback, use_ocsp_callback;
    const char *use_client_ca_list;

    // The credential that is set without -new-x509-credential, and the numbered ones.
    credential_options credential, credentials[CREDENTIALS];
    size_t credential_count;

    bool async, shim_writes_first, shim_shuts_down, check_close_notify, send_alert, key_update;
    bool read_with_unfinished_write, use_export_context;
    bytes shim_initial_write, export_label, export_context;
    uint64_t repeat_shim_initial_write, early_write_after_message, read_size, export_keying_material;

    // Expectations. A number of -1 is none.
    int64_t expect_version, expect_cipher, expect_cipher_aes, expect_cipher_no_aes, expect_curve_id;
    int64_t expect_peer_signature_algorithm, expect_selected_credential, expect_ticket_age_skew;
    list expect_peer_verify_prefs;
    bool expect_selected_credential_set;
    bool expect_hrr, expect_no_hrr, expect_session_miss, expect_no_session, expect_ticket_renewal;
    bool expect_ticket_supports_early_data, expect_session_id, expect_no_session_id;
    bool expect_accept_early_data, expect_reject_early_data, expect_no_offer_early_data;
    bool expect_across_names, expect_not_across_names, expect_extended_master_secret;
    bool expect_secure_renegotiation, expect_no_secure_renegotiation, expect_no_server_name, expect_no_peer_cert;
    bool expect_verify_result;
    const char *expect_early_data_reason, *expect_server_name, *expect_peer_cert_file, *expect_client_ca_list;
    bytes expect_alpn, expect_advertised_alpn, expect_ocsp_response, expect_timestamps, expect_certificate_types;
} options;

// The options of all connections of a test.
typedef struct {
    options initial, resume;
    // Those of a resuming client after its early data was rejected.
    options retry;
} plan;

// A credential with its number: the position among the flags, -1 for the one without a number.
typedef struct {
    const tercel_credential *credential;
    int number;
} numbered_credential;

typedef struct {
    const tercel_psk *psk;
    bytes identity;
    int number;
} numbered_psk;

enum { STORED = 64 };

// What the connections of a test share.
typedef struct {
    uint64_t clock;
    const tercel_tickets *tickets;
    // A client's session for the next connection, the one that was offered last, and how many are new.
    bytes session, offered;
    size_t new_sessions;
    // A server's store.
    struct {
        bytes identity, session;
    } stored[STORED];
    size_t stored_count, ever_stored;
    // Early data that was admitted.
    bytes admitted[STORED];
    size_t admitted_count;
} shared;

// One connection with its answers and observations.
typedef struct {
    // The options, and those that are checked after the handshake.
    const options *options, *checked;
    // Whether options for the time after a rejection of early data apply.
    bool rejection_expected, resumes;
    shared *shared;
    numbered_credential credentials[CREDENTIALS + 1];
    size_t credential_count;
    numbered_psk psks[CREDENTIALS];
    size_t psk_count;
    // What was observed.
    int selected;
    bool has_selected, requested, has_verified, verified;
    unsigned verifications;
    // BoringSSL's token for a refusal by the shim, and an expectation that was not met.
    const char *token, *fault;
} test;

// End the process, with a line on stderr: a failure, or a feature that the interface does not have.
_Noreturn void fail(const char *what);
_Noreturn void unimplemented(const char *what);
_Noreturn void fail_status(test *test, tercel_status status, const char *details);
void need(tercel_status status, const char *what);

void *allocate(size_t size);
bytes copy(tercel_bytes from);
bytes copy_bytes(const void *data, size_t len);
bool same(bytes a, bytes b);
bool same_as(bytes a, tercel_bytes b);
bytes read_file(const char *path);
bytes base64(const char *text);
// Decodes names in hexadecimal, separated by commas. Returns their number, -1 if the text is another one.
int hex_list(const char *text, bytes *names, int most);

// flags.c
plan parse(int count, char **arguments);

// lists.c
bool has_fast_aes(void);
list versions(const options *options);
// Groups and suites; equal ones are in the order of the client, if that is known. Not set if a test has no list.
list groups(const options *options, const list *client);
list suites(const options *options, const list *client);
list key_shares(const options *options);
list verified_schemes(const options *options);
list signing_schemes(const credential_options *credential, const options *options);

// config.c
void load(test *test);
const tercel_config *client_config(test *test, bool for_inspection);
// The configuration that only asks for the real one.
const tercel_config *greeting(test *test);
// A server's configuration; groups and suites are those of the client, if it is known.
const tercel_config *server_config(test *test, bool stored, const list *groups, const list *suites);
bool allows_early_data(test *test, bytes session);
bool offers_across_names(test *test, bytes session);
tercel_handshake *client_handshake(test *test, const tercel_config *config, const char *name);

// answers.c
void answer(test *test, tercel_handshake *handshake);

// expect.c
void check_handshake(test *test, tercel_connection *connection);
void check_sessions(test *test, tercel_connection *connection, size_t new_before, size_t stored_before);
void check_tickets(test *test, tercel_connection *connection, size_t new_before);

// run.c
void run(test *test);
void take_sessions(test *test, tercel_connection *connection);

// tokens.c
const char *token_of(tercel_status status);

#endif
