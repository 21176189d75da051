// Every function with NULL, with zero lengths, with unknown numbers and in the wrong order: all are errors. A test in
// Rust checks that no function is missing here.

#include "test.h"

static const uint8_t some[100] = "some bytes";
static uint8_t out[100];
static size_t count, more;
static uint64_t number;
static tercel_event event;
static tercel_bytes bytes, more_bytes;

#define NULL_POINTER(status) EXPECT(TERCEL_MISUSE_NULL_POINTER, status)
#define ZERO_LENGTH(status) EXPECT(TERCEL_MISUSE_ZERO_LENGTH, status)
#define UNKNOWN(status) EXPECT(TERCEL_MISUSE_UNKNOWN_NUMBER, status)
#define INVALID(status) EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, status)
#define EMPTY(bytes) CHECK((bytes).data == NULL)

static void status_and_version(void) {
    CHECK(tercel_version() != NULL);
    // The library is built without the feature fips.
    CHECK(tercel_fips_module() == NULL);
    const tercel_status known[] = {TERCEL_OK, TERCEL_PEER_BAD_RECORD_MAC, TERCEL_REFUSED_EXPIRED, 12345, UINT32_MAX};
    for (size_t at = 0; at < sizeof known / sizeof known[0]; at++) {
        CHECK(tercel_status_text(known[at]) != NULL && tercel_status_text(known[at])[0] != 0);
        CHECK(tercel_status_class(known[at]) == (known[at] & 0xff000000));
        CHECK(tercel_status_alert(known[at]) >= -1);
    }
    CHECK(strcmp(tercel_status_text(12345), "unknown status") == 0);
}

static void frees(void) {
    tercel_roots_release(NULL);
    tercel_credential_release(NULL);
    tercel_tickets_release(NULL);
    tercel_psk_release(NULL);
    tercel_config_release(NULL);
    tercel_config_builder_free(NULL);
    tercel_input_free(NULL);
    tercel_output_free(NULL);
    tercel_handshake_free(NULL);
    tercel_connection_free(NULL);
    CHECK(tercel_roots_retain(NULL) == NULL && tercel_credential_retain(NULL) == NULL);
    CHECK(tercel_tickets_retain(NULL) == NULL && tercel_psk_retain(NULL) == NULL && tercel_config_retain(NULL) == NULL);
    CHECK(tercel_config_fips(NULL) == 0);
}

static void buffers(void) {
    NULL_POINTER(tercel_input_filled(NULL, 1));
    NULL_POINTER(tercel_input_append(NULL, some, 1));
    NULL_POINTER(tercel_input_release(NULL));
    CHECK(tercel_input_space(NULL, &count) == NULL);
    EMPTY(tercel_input_unread(NULL));
    CHECK(tercel_input_new(SIZE_MAX) == NULL);
    tercel_input *input = tercel_input_new(0);
    CHECK(tercel_input_space(input, NULL) == NULL);
    NULL_POINTER(tercel_input_append(input, NULL, 5));
    ZERO_LENGTH(tercel_input_append(input, some, 0));
    INVALID(tercel_input_append(input, some, SIZE_MAX));
    CHECK(tercel_input_space(input, &count) != NULL && count > 0);
    INVALID(tercel_input_filled(input, count + 1));
    EXPECT(TERCEL_OK, tercel_input_filled(input, 0));
    EXPECT(TERCEL_OK, tercel_input_release(input));
    tercel_input_free(input);

    NULL_POINTER(tercel_output_sent(NULL, 0));
    NULL_POINTER(tercel_output_release(NULL));
    EMPTY(tercel_output_bytes(NULL));
    tercel_output *output = tercel_output_new();
    EMPTY(tercel_output_bytes(output));
    EXPECT(TERCEL_OK, tercel_output_sent(output, 0));
    INVALID(tercel_output_sent(output, 1));
    tercel_output_free(output);
}

static void parts(void) {
    const tercel_roots *roots;
    const tercel_credential *credential = test_credential("server"), *copy;
    const tercel_tickets *tickets;
    const tercel_psk *psk;
    const uint16_t scheme = 0x0403;

    NULL_POINTER(tercel_roots_from_pem(NULL, 1, &roots));
    ZERO_LENGTH(tercel_roots_from_pem(some, 0, &roots));
    NULL_POINTER(tercel_roots_from_pem(some, 1, NULL));
    CHECK(tercel_roots_warning(NULL, NULL, 0) == 0);
    EXPECT(TERCEL_CONFIG_PEM_NOTHING_FOUND, tercel_roots_from_pem(some, sizeof some, &roots));
    CHECK(roots == NULL);
    NULL_POINTER(tercel_roots_system(NULL));
    tercel_status status = tercel_roots_system(&roots);
    CHECK((status == TERCEL_OK) == (roots != NULL));
    CHECK(tercel_roots_retain(roots) == roots);
    tercel_roots_release(roots);
    tercel_roots_release(roots);

    NULL_POINTER(tercel_credential_from_pem(NULL, 1, some, 1, &copy));
    NULL_POINTER(tercel_credential_from_pem(some, 1, NULL, 1, &copy));
    NULL_POINTER(tercel_credential_from_pem(some, 1, some, 1, NULL));
    ZERO_LENGTH(tercel_credential_from_pem(some, 0, some, 1, &copy));
    ZERO_LENGTH(tercel_credential_from_pem(some, 1, some, 0, &copy));
    memory chain = material("server.pem"), key = material("client.key");
    EXPECT(TERCEL_CONFIG_KEY_MISMATCH, tercel_credential_from_pem(chain.data, chain.len, key.data, key.len, &copy));
    EXPECT(TERCEL_CONFIG_PEM_NOTHING_FOUND,
           tercel_credential_from_pem(chain.data, chain.len, chain.data, chain.len, &copy));
    drop(&chain);
    drop(&key);
    NULL_POINTER(tercel_credential_external(NULL, 1, &copy));
    ZERO_LENGTH(tercel_credential_external(some, 0, &copy));
    NULL_POINTER(tercel_credential_external(some, 1, NULL));
    NULL_POINTER(tercel_credential_with_ocsp_response(NULL, some, 1, &copy));
    NULL_POINTER(tercel_credential_with_ocsp_response(credential, NULL, 1, &copy));
    ZERO_LENGTH(tercel_credential_with_ocsp_response(credential, some, 0, &copy));
    NULL_POINTER(tercel_credential_with_ocsp_response(credential, some, 1, NULL));
    NULL_POINTER(tercel_credential_with_timestamps(NULL, some, 1, &copy));
    NULL_POINTER(tercel_credential_with_timestamps(credential, NULL, 1, &copy));
    ZERO_LENGTH(tercel_credential_with_timestamps(credential, some, 0, &copy));
    NULL_POINTER(tercel_credential_with_timestamps(credential, some, 1, NULL));
    NULL_POINTER(tercel_credential_with_schemes(NULL, &scheme, 1, &copy));
    NULL_POINTER(tercel_credential_with_schemes(credential, NULL, 1, &copy));
    ZERO_LENGTH(tercel_credential_with_schemes(credential, &scheme, 0, &copy));
    NULL_POINTER(tercel_credential_with_schemes(credential, &scheme, 1, NULL));
    NULL_POINTER(tercel_credential_with_matching_issuer(NULL, &copy));
    NULL_POINTER(tercel_credential_with_matching_issuer(credential, NULL));
    CHECK(tercel_credential_retain(credential) == credential);
    tercel_credential_release(credential);
    tercel_credential_release(credential);

    NULL_POINTER(tercel_tickets_rotating(1, NULL));
    ZERO_LENGTH(tercel_tickets_rotating(0, &tickets));
    NULL_POINTER(tercel_tickets_shared(NULL, 1, 1, &tickets));
    ZERO_LENGTH(tercel_tickets_shared(some, 0, 1, &tickets));
    ZERO_LENGTH(tercel_tickets_shared(some, 1, 0, &tickets));
    NULL_POINTER(tercel_tickets_shared(some, 1, 1, NULL));
    EXPECT(TERCEL_CONFIG_TICKET_KEYS_UNKNOWN_VERSION, tercel_tickets_shared(some, sizeof some, 1, &tickets));
    NULL_POINTER(tercel_tickets_set_keys(NULL, some, 1));
    EXPECT(TERCEL_OK, tercel_tickets_rotating(1, &tickets));
    CHECK(tercel_tickets_retain(tickets) == tickets);
    tercel_tickets_release(tickets);
    tercel_tickets_release(tickets);

    NULL_POINTER(tercel_psk_external(NULL, 1, some, 32, TERCEL_HASH_SHA256, &psk));
    NULL_POINTER(tercel_psk_external(some, 1, NULL, 32, TERCEL_HASH_SHA256, &psk));
    ZERO_LENGTH(tercel_psk_external(some, 0, some, 32, TERCEL_HASH_SHA256, &psk));
    ZERO_LENGTH(tercel_psk_external(some, 1, some, 0, TERCEL_HASH_SHA256, &psk));
    UNKNOWN(tercel_psk_external(some, 1, some, 32, 0, &psk));
    NULL_POINTER(tercel_psk_external(some, 1, some, 32, TERCEL_HASH_SHA256, NULL));
    EXPECT(TERCEL_CONFIG_PSK_KEY_TOO_SHORT, tercel_psk_external(some, 1, some, 15, TERCEL_HASH_SHA256, &psk));
    NULL_POINTER(tercel_psk_import(NULL, 1, some, 1, some, 32, TERCEL_HASH_SHA256, &psk));
    NULL_POINTER(tercel_psk_import(some, 1, NULL, 1, some, 32, TERCEL_HASH_SHA256, &psk));
    NULL_POINTER(tercel_psk_import(some, 1, some, 1, NULL, 32, TERCEL_HASH_SHA256, &psk));
    NULL_POINTER(tercel_psk_import(some, 1, some, 1, some, 32, TERCEL_HASH_SHA256, NULL));
    UNKNOWN(tercel_psk_import(some, 1, some, 1, some, 32, 9, &psk));
    EXPECT(TERCEL_OK, tercel_psk_import(some, 1, NULL, 0, some, 32, TERCEL_HASH_SHA256, &psk));
    CHECK(tercel_psk_retain(psk) == psk);
    tercel_psk_release(psk);
    tercel_psk_release(psk);
}

static void builders(void) {
    const tercel_config *config;
    const tercel_roots *roots = test_roots();
    const tercel_credential *credential = test_credential("server");
    const tercel_tickets *tickets;
    const uint16_t code = 0x0304, bad = 0x1234;
    EXPECT(TERCEL_OK, tercel_tickets_rotating(60, &tickets));
    CHECK(tercel_config_builder_new(2) == NULL);
    NULL_POINTER(tercel_config_builder_set_option(NULL, TERCEL_OPTION_GREASE, 1));
    NULL_POINTER(tercel_config_builder_set_list(NULL, TERCEL_LIST_VERSIONS, &code, 1));
    NULL_POINTER(tercel_config_builder_set_content(NULL, TERCEL_CONTENT_ALPN, some, 1));
    NULL_POINTER(tercel_config_builder_set_roots(NULL, roots));
    NULL_POINTER(tercel_config_builder_add_credential(NULL, credential));
    NULL_POINTER(tercel_config_builder_set_tickets(NULL, tickets));
    NULL_POINTER(tercel_config_builder_add_psk(NULL, NULL));
    NULL_POINTER(tercel_config_builder_set_questions(NULL, 0));
    NULL_POINTER(tercel_config_builder_set_key_log(NULL, NULL, NULL));
    NULL_POINTER(tercel_config_builder_set_clock(NULL, NULL, NULL));
    NULL_POINTER(tercel_config_builder_build(NULL, &config));
    CHECK(config == NULL && tercel_config_builder_error(NULL, (char *)out, sizeof out) == 0);
    for (tercel_side side = TERCEL_CLIENT; side <= TERCEL_SERVER; side++) {
        tercel_config_builder *builder = tercel_config_builder_new(side);
        tercel_option other = side == TERCEL_CLIENT ? TERCEL_OPTION_TICKETS : TERCEL_OPTION_GREASE;
        UNKNOWN(tercel_config_builder_set_option(builder, other, 1));
        UNKNOWN(tercel_config_builder_set_option(builder, 9999, 1));
        INVALID(tercel_config_builder_set_option(builder, TERCEL_OPTION_REQUEST_OCSP, 2));
        INVALID(tercel_config_builder_set_option(builder, TERCEL_OPTION_PADDING, 1 << 16));
        NULL_POINTER(tercel_config_builder_set_list(builder, TERCEL_LIST_VERSIONS, NULL, 1));
        ZERO_LENGTH(tercel_config_builder_set_list(builder, TERCEL_LIST_VERSIONS, &code, 0));
        UNKNOWN(tercel_config_builder_set_list(builder, 9999, &code, 1));
        EXPECT(side == TERCEL_CLIENT ? TERCEL_OK : TERCEL_MISUSE_UNKNOWN_NUMBER,
               tercel_config_builder_set_list(builder, TERCEL_LIST_KEY_SHARES, NULL, 0));
        NULL_POINTER(tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, NULL, 1));
        ZERO_LENGTH(tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, some, 0));
        UNKNOWN(tercel_config_builder_set_content(builder, 9999, some, 1));
        EXPECT(side == TERCEL_SERVER ? TERCEL_MISUSE_INVALID_ARGUMENT : TERCEL_MISUSE_UNKNOWN_NUMBER,
               tercel_config_builder_set_content(builder, TERCEL_CONTENT_REPLAY_GUARD_ID, some, 5));
        EXPECT(TERCEL_CONFIG_BAD_PROTOCOL_LIST, tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, some, 5));
        NULL_POINTER(tercel_config_builder_set_roots(builder, NULL));
        NULL_POINTER(tercel_config_builder_add_credential(builder, NULL));
        NULL_POINTER(tercel_config_builder_set_tickets(builder, NULL));
        EXPECT(side == TERCEL_CLIENT ? TERCEL_MISUSE_WRONG_SIDE : TERCEL_OK,
               tercel_config_builder_set_tickets(builder, tickets));
        NULL_POINTER(tercel_config_builder_add_psk(builder, NULL));
        UNKNOWN(tercel_config_builder_set_questions(builder, 1u << 31));
        EXPECT(TERCEL_OK, tercel_config_builder_set_key_log(builder, NULL, NULL));
        EXPECT(TERCEL_OK, tercel_config_builder_set_clock(builder, NULL, NULL));
        NULL_POINTER(tercel_config_builder_build(builder, NULL));
        CHECK(tercel_config_builder_error(builder, (char *)out, sizeof out) == 0);
        EXPECT(side == TERCEL_CLIENT ? TERCEL_CONFIG_NO_VERIFIER : TERCEL_CONFIG_NO_CREDENTIAL,
               tercel_config_builder_build(builder, &config));
        CHECK(config == NULL && tercel_config_builder_error(builder, NULL, 0) > 0);
        EXPECT(TERCEL_OK, tercel_config_builder_set_list(builder, TERCEL_LIST_VERSIONS, &bad, 1));
        EXPECT(TERCEL_CONFIG_UNKNOWN_VERSION, tercel_config_builder_build(builder, &config));
        tercel_config_builder_free(builder);
    }
    tercel_roots_release(roots);
    tercel_credential_release(credential);
    tercel_tickets_release(tickets);
}

static void handshakes(void) {
    const tercel_config *client = test_config(TERCEL_CLIENT), *server = test_config(TERCEL_SERVER);
    const tercel_roots *roots = test_roots();
    const tercel_credential *credential = test_credential("server");
    tercel_handshake *handshake;
    tercel_connection *connection;
    tercel_next next;
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();

    NULL_POINTER(tercel_handshake_client(NULL, "a.test", 6, 0, &handshake));
    NULL_POINTER(tercel_handshake_client(client, NULL, 6, 0, &handshake));
    ZERO_LENGTH(tercel_handshake_client(client, "a.test", 0, 0, &handshake));
    NULL_POINTER(tercel_handshake_client(client, "a.test", 6, 0, NULL));
    EXPECT(TERCEL_CONFIG_BAD_SERVER_NAME, tercel_handshake_client(client, "a b", 3, 0, &handshake));
    EXPECT(TERCEL_CONFIG_BAD_SERVER_NAME, tercel_handshake_client(client, "\xff", 1, 0, &handshake));
    EXPECT(TERCEL_MISUSE_WRONG_SIDE, tercel_handshake_client(server, "a.test", 6, 0, &handshake));
    EXPECT(TERCEL_MISUSE_WRONG_SIDE, tercel_handshake_server(client, &handshake));
    CHECK(handshake == NULL);
    NULL_POINTER(tercel_handshake_server(NULL, &handshake));
    NULL_POINTER(tercel_handshake_server(server, NULL));

    NULL_POINTER(tercel_handshake_offer_session(NULL, some, 1));
    NULL_POINTER(tercel_handshake_advance(NULL, input, output, &next));
    NULL_POINTER(tercel_handshake_end_of_input(NULL));
    NULL_POINTER(tercel_handshake_seal_early(NULL, some, 1, output, &count));
    NULL_POINTER(tercel_handshake_take_connection(NULL, &connection));
    NULL_POINTER(tercel_question_number(NULL, 1, 0, &number));
    NULL_POINTER(tercel_question_find_credential(NULL, &credential, 1, &count));
    NULL_POINTER(tercel_question_find_psk(NULL, NULL, 1, &count));
    NULL_POINTER(tercel_question_verify_chain(NULL, roots));
    NULL_POINTER(tercel_answer_config(NULL, NULL));
    NULL_POINTER(tercel_answer_session(NULL, NULL, 0));
    NULL_POINTER(tercel_answer_claim(NULL, 0));
    NULL_POINTER(tercel_answer_psk(NULL, NULL));
    NULL_POINTER(tercel_answer_early_data(NULL, 0));
    NULL_POINTER(tercel_answer_credential(NULL, NULL));
    NULL_POINTER(tercel_answer_unknown_name(NULL));
    NULL_POINTER(tercel_answer_signature(NULL, NULL, 0));
    NULL_POINTER(tercel_answer_peer(NULL, TERCEL_OK, NULL, 0));
    EMPTY(tercel_handshake_early_data(NULL));
    EMPTY(tercel_handshake_fact_bytes(NULL, TERCEL_FACT_ALPN, 0));
    EMPTY(tercel_question_bytes(NULL, TERCEL_FIELD_ALPN, 0));
    CHECK(tercel_handshake_early_data_left(NULL) == 0 && tercel_handshake_fact(NULL, TERCEL_FACT_VERSION) == 0);
    CHECK(tercel_handshake_question(NULL) == TERCEL_QUESTION_NONE && tercel_handshake_error(NULL, NULL, 0) == 0);

    // In the wrong order.
    EXPECT(TERCEL_OK, tercel_handshake_client(client, "server.test", 11, 0, &handshake));
    NULL_POINTER(tercel_handshake_advance(handshake, NULL, output, &next));
    NULL_POINTER(tercel_handshake_advance(handshake, input, NULL, &next));
    NULL_POINTER(tercel_handshake_advance(handshake, input, output, NULL));
    NULL_POINTER(tercel_handshake_take_connection(handshake, NULL));
    NULL_POINTER(tercel_handshake_offer_session(handshake, NULL, 1));
    ZERO_LENGTH(tercel_handshake_offer_session(handshake, some, 0));
    NULL_POINTER(tercel_handshake_seal_early(handshake, NULL, 1, output, &count));
    ZERO_LENGTH(tercel_handshake_seal_early(handshake, some, 0, output, &count));
    NULL_POINTER(tercel_handshake_seal_early(handshake, some, 1, output, NULL));
    EXPECT(TERCEL_MISUSE_NO_EARLY_DATA, tercel_handshake_seal_early(handshake, some, 1, NULL, &count));
    EXPECT(TERCEL_MISUSE_NO_CONNECTION, tercel_handshake_take_connection(handshake, &connection));
    EXPECT(TERCEL_MISUSE_NO_SUCH_QUESTION, tercel_question_number(handshake, TERCEL_FIELD_VERSION, 0, &number));
    NULL_POINTER(tercel_question_number(handshake, TERCEL_FIELD_VERSION, 0, NULL));
    NULL_POINTER(tercel_question_find_credential(handshake, NULL, 1, &count));
    ZERO_LENGTH(tercel_question_find_credential(handshake, &credential, 0, &count));
    NULL_POINTER(tercel_question_find_credential(handshake, &credential, 1, NULL));
    const tercel_credential *nothing = NULL;
    const tercel_psk *no_psk = NULL;
    NULL_POINTER(tercel_question_find_credential(handshake, &nothing, 1, &count));
    EXPECT(TERCEL_MISUSE_NO_SUCH_QUESTION, tercel_question_find_credential(handshake, &credential, 1, &count));
    NULL_POINTER(tercel_question_find_psk(handshake, &no_psk, 1, &count));
    ZERO_LENGTH(tercel_question_find_psk(handshake, &no_psk, 0, &count));
    NULL_POINTER(tercel_question_find_psk(handshake, &no_psk, 1, NULL));
    NULL_POINTER(tercel_question_verify_chain(handshake, NULL));
    EXPECT(TERCEL_MISUSE_NO_SUCH_QUESTION, tercel_question_verify_chain(handshake, roots));
    NULL_POINTER(tercel_answer_session(handshake, NULL, 1));
    NULL_POINTER(tercel_answer_signature(handshake, NULL, 1));
    NULL_POINTER(tercel_answer_peer(handshake, TERCEL_OK, NULL, 1));
    EXPECT(TERCEL_OK, tercel_handshake_advance(handshake, input, output, &next));
    tercel_handshake_free(handshake);
    tercel_input_free(input);
    tercel_output_free(output);
    tercel_roots_release(roots);
    tercel_credential_release(credential);
    CHECK(tercel_config_fips(client) == TERCEL_FIPS_NOT_BUILT && tercel_config_fips(server) == TERCEL_FIPS_NOT_BUILT);
    CHECK(tercel_config_retain(client) == client);
    tercel_config_release(client);
    tercel_config_release(client);
    tercel_config_release(server);
}

static void connections(void) {
    const tercel_config *client = test_config(TERCEL_CLIENT), *server = test_config(TERCEL_SERVER);
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    tercel_connection *half;
    NULL_POINTER(tercel_connection_seal(NULL, some, 1, out, sizeof out, &count, &more));
    NULL_POINTER(tercel_connection_seal_to(NULL, some, 1, output));
    NULL_POINTER(tercel_connection_open(NULL, input, out, sizeof out, &count, &event));
    NULL_POINTER(tercel_connection_open_in_place(NULL, input, &bytes, &event));
    NULL_POINTER(tercel_connection_flush(NULL, output));
    NULL_POINTER(tercel_connection_close(NULL, output));
    NULL_POINTER(tercel_connection_abort(NULL, 0, output));
    NULL_POINTER(tercel_connection_update_key(NULL, 0, output));
    NULL_POINTER(tercel_connection_end_of_input(NULL));
    NULL_POINTER(tercel_connection_export(NULL, some, 1, NULL, 0, out, 1));
    NULL_POINTER(tercel_connection_export_early(NULL, some, 1, NULL, 0, out, 1));
    NULL_POINTER(tercel_connection_take_session(NULL, &bytes, &number));
    NULL_POINTER(tercel_connection_take_stored_session(NULL, &bytes, &more_bytes, &number));
    NULL_POINTER(tercel_connection_authenticate(NULL, NULL, output));
    NULL_POINTER(tercel_connection_request_certificate(NULL, TERCEL_CLIENT_AUTH_OPTIONAL, output));
    NULL_POINTER(tercel_connection_park(NULL));
    NULL_POINTER(tercel_connection_split(NULL, &half));
    EMPTY(tercel_connection_fact_bytes(NULL, TERCEL_FACT_ALPN, 0));
    EMPTY(tercel_connection_client_certificate(NULL, 0));
    CHECK(tercel_connection_sealed_size(NULL, 1) == 0 && tercel_connection_fact(NULL, TERCEL_FACT_VERSION) == 0);
    CHECK(tercel_connection_error(NULL, NULL, 0) == 0);

    pair pair = new_pair(client, server);
    run_connected(&pair);
    tercel_connection *connection = pair.client.connection;
    NULL_POINTER(tercel_connection_seal(connection, NULL, 1, out, sizeof out, &count, &more));
    ZERO_LENGTH(tercel_connection_seal(connection, some, 0, out, sizeof out, &count, &more));
    NULL_POINTER(tercel_connection_seal(connection, some, 1, NULL, sizeof out, &count, &more));
    ZERO_LENGTH(tercel_connection_seal(connection, some, 1, out, 0, &count, &more));
    NULL_POINTER(tercel_connection_seal(connection, some, 1, out, sizeof out, NULL, &more));
    NULL_POINTER(tercel_connection_seal(connection, some, 1, out, sizeof out, &count, NULL));
    INVALID(tercel_connection_seal(connection, some, SIZE_MAX, out, sizeof out, &count, &more));
    NULL_POINTER(tercel_connection_seal_to(connection, NULL, 1, output));
    ZERO_LENGTH(tercel_connection_seal_to(connection, some, 0, output));
    NULL_POINTER(tercel_connection_seal_to(connection, some, 1, NULL));
    NULL_POINTER(tercel_connection_open(connection, NULL, out, sizeof out, &count, &event));
    NULL_POINTER(tercel_connection_open(connection, input, NULL, sizeof out, &count, &event));
    ZERO_LENGTH(tercel_connection_open(connection, input, out, 0, &count, &event));
    NULL_POINTER(tercel_connection_open(connection, input, out, sizeof out, NULL, &event));
    NULL_POINTER(tercel_connection_open(connection, input, out, sizeof out, &count, NULL));
    NULL_POINTER(tercel_connection_open_in_place(connection, NULL, &bytes, &event));
    NULL_POINTER(tercel_connection_open_in_place(connection, input, NULL, &event));
    NULL_POINTER(tercel_connection_open_in_place(connection, input, &bytes, NULL));
    NULL_POINTER(tercel_connection_flush(connection, NULL));
    NULL_POINTER(tercel_connection_close(connection, NULL));
    NULL_POINTER(tercel_connection_abort(connection, 0, NULL));
    NULL_POINTER(tercel_connection_update_key(connection, 0, NULL));
    NULL_POINTER(tercel_connection_export(connection, NULL, 1, NULL, 0, out, 1));
    NULL_POINTER(tercel_connection_export(connection, some, 1, NULL, 1, out, 1));
    NULL_POINTER(tercel_connection_export(connection, some, 1, NULL, 0, NULL, 1));
    ZERO_LENGTH(tercel_connection_export(connection, some, 1, NULL, 0, out, 0));
    EXPECT(TERCEL_OK, tercel_connection_export(connection, NULL, 0, NULL, 0, out, 1));
    NULL_POINTER(tercel_connection_export_early(connection, NULL, 1, NULL, 0, out, 1));
    ZERO_LENGTH(tercel_connection_export_early(connection, some, 1, NULL, 0, out, 0));
    NULL_POINTER(tercel_connection_take_session(connection, NULL, &number));
    NULL_POINTER(tercel_connection_take_session(connection, &bytes, NULL));
    NULL_POINTER(tercel_connection_take_stored_session(connection, NULL, &bytes, &number));
    NULL_POINTER(tercel_connection_take_stored_session(connection, &bytes, NULL, &number));
    NULL_POINTER(tercel_connection_take_stored_session(connection, &bytes, &more_bytes, NULL));
    NULL_POINTER(tercel_connection_authenticate(connection, NULL, NULL));
    NULL_POINTER(tercel_connection_request_certificate(connection, TERCEL_CLIENT_AUTH_OPTIONAL, NULL));
    EXPECT(TERCEL_MISUSE_NO_POST_HANDSHAKE_AUTH,
           tercel_connection_request_certificate(connection, TERCEL_CLIENT_AUTH_OPTIONAL, output));
    NULL_POINTER(tercel_connection_split(connection, NULL));
    EMPTY(tercel_connection_client_certificate(connection, 0));
    EXPECT(TERCEL_OK, tercel_connection_park(connection));
    EXPECT(TERCEL_OK, tercel_connection_take_stored_session(connection, &bytes, &more_bytes, &number));
    EMPTY(bytes);
    // All of this did not harm the connection.
    send_text(&pair.client, &pair.server, "still here");
    free_pair(&pair);
    tercel_input_free(input);
    tercel_output_free(output);
    tercel_config_release(client);
    tercel_config_release(server);
}

void misuse_tests(void) {
    status_and_version();
    frees();
    buffers();
    parts();
    builders();
    handshakes();
    connections();
}
