// Handshakes and data in memory.

#include "test.h"

static pair connected(uint16_t version) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    const uint8_t protocols[] = "\x02h2\x08http/1.1";
    set_version(builder, version);
    EXPECT(TERCEL_OK, tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, protocols, sizeof protocols - 1));
    const tercel_config *client = built(builder);
    builder = test_builder(TERCEL_SERVER);
    EXPECT(TERCEL_OK, tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, protocols + 3, 9));
    const tercel_config *server = built(builder);
    pair pair = new_pair(client, server);
    tercel_config_release(client);
    tercel_config_release(server);
    run_connected(&pair);
    return pair;
}

static void facts(uint16_t version) {
    pair pair = connected(version);
    endpoint *sides[] = {&pair.client, &pair.server};
    for (int side = 0; side < 2; side++) {
        tercel_connection *connection = sides[side]->connection;
        CHECK(tercel_connection_fact(connection, TERCEL_FACT_VERSION) == version);
        CHECK(tercel_connection_fact(connection, TERCEL_FACT_CIPHER_SUITE) != 0);
        CHECK(tercel_connection_fact(connection, TERCEL_FACT_GROUP) != 0);
        CHECK(tercel_connection_fact(connection, TERCEL_FACT_RESUMED) == 0);
        CHECK(tercel_connection_fact(connection, 9999) == 0);
        tercel_bytes protocol = tercel_connection_fact_bytes(connection, TERCEL_FACT_ALPN, 0);
        CHECK(protocol.len == 8 && memcmp(protocol.data, "http/1.1", 8) == 0);
        CHECK(tercel_connection_fact_bytes(connection, TERCEL_FACT_ALPN, 1).data == NULL);
        CHECK(tercel_connection_fact_bytes(connection, 9999, 0).data == NULL);
    }
    tercel_bytes name = tercel_connection_fact_bytes(pair.server.connection, TERCEL_FACT_SERVER_NAME, 0);
    CHECK(name.len == 11 && memcmp(name.data, "server.test", 11) == 0);
    CHECK(tercel_connection_fact(pair.client.connection, TERCEL_FACT_PEER_SIGNATURE_SCHEME) ==
          tercel_connection_fact(pair.server.connection, TERCEL_FACT_OWN_SIGNATURE_SCHEME));
    CHECK(tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_CERTIFICATE, 0).len > 100);
    CHECK(tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_CERTIFICATE, 9).data == NULL);
    tercel_bytes binding = tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_SERVER_END_POINT, 0);
    memory copy = copy_of(binding);
    CHECK(tercel_connection_fact_bytes(pair.client.connection, TERCEL_FACT_SERVER_END_POINT, 0).data == binding.data);
    CHECK(binding.len == 32 && memcmp(binding.data, copy.data, 32) == 0);
    drop(&copy);
    CHECK(tercel_connection_fact_bytes(pair.server.connection, TERCEL_FACT_SERVER_END_POINT, 0).data == NULL);
    free_pair(&pair);
}

static void exporters(uint16_t version) {
    pair pair = connected(version);
    const uint8_t label[] = "EXPORTER-test", context[] = "context";
    uint8_t ours[40], theirs[40], other[40];
    EXPECT(TERCEL_OK, tercel_connection_export(pair.client.connection, label, 13, context, 7, ours, 40));
    EXPECT(TERCEL_OK, tercel_connection_export(pair.server.connection, label, 13, context, 7, theirs, 40));
    EXPECT(TERCEL_OK, tercel_connection_export(pair.server.connection, label, 13, NULL, 0, other, 40));
    CHECK(memcmp(ours, theirs, 40) == 0 && memcmp(ours, other, 40) != 0);
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT,
           tercel_connection_export_early(pair.client.connection, label, 13, NULL, 0, ours, 40));
    free_pair(&pair);
}

// Seals into memory of each size, and opens into memory of each size.
static void sizes(uint16_t version) {
    enum { LEN = 40000 };
    static uint8_t data[LEN], records[LEN + 2000], opened[LEN];
    pair pair = connected(version);
    for (size_t at = 0; at < LEN; at++) {
        data[at] = (uint8_t)(at * 7 + at / 251);
    }
    const size_t rooms[] = {100, 1000, 17000, sizeof records};
    const size_t outs[] = {1, 13, 4096, 16640, LEN};
    for (size_t round = 0; round < 5; round++) {
        size_t room = rooms[round % 4], sent = 0, got = 0;
        while (sent < LEN) {
            size_t taken, written;
            EXPECT(TERCEL_OK, tercel_connection_seal(pair.client.connection, data + sent, LEN - sent, records, room,
                                                     &taken, &written));
            CHECK(taken > 0 && written > taken && written <= room);
            EXPECT(TERCEL_OK, tercel_input_append(pair.server.input, records, written));
            sent += taken;
        }
        while (got < LEN) {
            size_t filled, most = LEN - got < outs[round] ? LEN - got : outs[round];
            tercel_event event;
            if (outs[round] == 13 && got > LEN / 2) {
                tercel_bytes piece;
                EXPECT(TERCEL_OK, tercel_connection_open_in_place(pair.server.connection, pair.server.input, &piece, &event));
                CHECK(event == TERCEL_EVENT_DATA && piece.len <= LEN - got);
                memcpy(opened + got, piece.data, piece.len);
                got += piece.len;
                continue;
            }
            EXPECT(TERCEL_OK, tercel_connection_open(pair.server.connection, pair.server.input, opened + got, most,
                                                     &filled, &event));
            CHECK(event == TERCEL_EVENT_DATA && filled > 0 && filled <= most);
            got += filled;
        }
        CHECK(memcmp(data, opened, LEN) == 0);
        CHECK(tercel_input_unread(pair.server.input).len == 0);
        memset(opened, 0, LEN);
    }
    size_t size = tercel_connection_sealed_size(pair.client.connection, LEN), taken, written;
    CHECK(size > LEN && size <= sizeof records);
    EXPECT(TERCEL_OK, tercel_connection_seal(pair.client.connection, data, LEN, records, size, &taken, &written));
    CHECK(taken == LEN);
    EXPECT(TERCEL_MISUSE_OUTPUT_TOO_SMALL,
           tercel_connection_seal(pair.client.connection, data, LEN, records, 5, &taken, &written));
    free_pair(&pair);
}

static void expect_event(endpoint *endpoint, tercel_event wanted) {
    uint8_t out[100];
    size_t filled;
    tercel_event event;
    EXPECT(TERCEL_OK, tercel_connection_open(endpoint->connection, endpoint->input, out, sizeof out, &filled, &event));
    CHECK(event == wanted && filled == 0);
}

static void closing(uint16_t version) {
    pair pair = connected(version);
    send_text(&pair.client, &pair.server, "hello");
    expect_event(&pair.client, TERCEL_EVENT_RECEIVE);
    EXPECT(TERCEL_OK, tercel_connection_close(pair.client.connection, pair.client.output));
    deliver(pair.client.output, pair.server.input);
    expect_event(&pair.server, TERCEL_EVENT_CLOSED);
    EXPECT(TERCEL_OK, tercel_connection_end_of_input(pair.server.connection));
    EXPECT(TERCEL_INTERNAL_CLOSED,
           tercel_connection_seal_to(pair.client.connection, (const uint8_t *)"x", 1, pair.client.output));
    char text[100];
    CHECK(tercel_connection_error(pair.client.connection, text, sizeof text) == strlen(text) && text[0] != 0);
    EXPECT(TERCEL_TRUNCATED, tercel_connection_end_of_input(pair.client.connection));
    free_pair(&pair);
}

static void alerts(uint16_t version) {
    pair pair = connected(version);
    EXPECT(TERCEL_OK, tercel_connection_abort(pair.client.connection, 80, pair.client.output));
    deliver(pair.client.output, pair.server.input);
    uint8_t out[100];
    size_t filled;
    tercel_event event;
    tercel_status status =
        tercel_connection_open(pair.server.connection, pair.server.input, out, sizeof out, &filled, &event);
    EXPECT(TERCEL_CLASS_ALERT | 80, status);
    CHECK(tercel_status_class(status) == TERCEL_CLASS_ALERT && tercel_status_alert(status) == -1);
    free_pair(&pair);

    // A changed record: its receiver sends an alert.
    pair = connected(version);
    EXPECT(TERCEL_OK,
           tercel_connection_seal_to(pair.client.connection, (const uint8_t *)"hello", 5, pair.client.output));
    memory record = copy_of(tercel_output_bytes(pair.client.output));
    record.data[record.len - 1] ^= 1;
    EXPECT(TERCEL_OK, tercel_input_append(pair.server.input, record.data, record.len));
    drop(&record);
    status = tercel_connection_open(pair.server.connection, pair.server.input, out, sizeof out, &filled, &event);
    EXPECT(TERCEL_PEER_BAD_RECORD_MAC, status);
    CHECK(tercel_status_alert(status) == 20);
    EXPECT(TERCEL_OK, tercel_connection_flush(pair.server.connection, pair.server.output));
    deliver(pair.server.output, pair.client.input);
    EXPECT(TERCEL_CLASS_ALERT | 20,
           tercel_connection_open(pair.client.connection, pair.client.input, out, sizeof out, &filled, &event));
    free_pair(&pair);
}

static void key_updates(void) {
    pair pair = connected(0x0304);
    EXPECT(TERCEL_OK, tercel_connection_update_key(pair.client.connection, 1, pair.client.output));
    send_text(&pair.client, &pair.server, "under the next key");
    CHECK(tercel_output_bytes(pair.server.output).len == 0);
    EXPECT(TERCEL_OK, tercel_connection_flush(pair.server.connection, pair.server.output));
    CHECK(tercel_output_bytes(pair.server.output).len > 0);
    EXPECT(TERCEL_OK, tercel_connection_park(pair.client.connection));
    EXPECT(TERCEL_OK, tercel_input_release(pair.client.input));
    EXPECT(TERCEL_OK, tercel_output_release(pair.server.output));
    send_text(&pair.server, &pair.client, "under the next key, too");
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_connection_update_key(pair.client.connection, 2, pair.client.output));
    free_pair(&pair);
    pair = connected(0x0303);
    EXPECT(TERCEL_MISUSE_WRONG_VERSION, tercel_connection_update_key(pair.client.connection, 0, pair.client.output));
    free_pair(&pair);
}

static void split(uint16_t version) {
    pair pair = connected(version);
    tercel_connection *receiving, *again;
    uint8_t out[100];
    size_t filled;
    tercel_event event;
    EXPECT(TERCEL_OK, tercel_connection_split(pair.server.connection, &receiving));
    EXPECT(TERCEL_MISUSE_WRONG_HALF, tercel_connection_split(pair.server.connection, &again));
    EXPECT(TERCEL_MISUSE_WRONG_HALF, tercel_connection_split(receiving, &again));
    CHECK(again == NULL);
    EXPECT(TERCEL_MISUSE_WRONG_HALF, tercel_connection_seal_to(receiving, out, 1, pair.server.output));
    EXPECT(TERCEL_MISUSE_WRONG_HALF,
           tercel_connection_open(pair.server.connection, pair.server.input, out, sizeof out, &filled, &event));
    CHECK(tercel_connection_fact(pair.server.connection, TERCEL_FACT_VERSION) == version);
    CHECK(tercel_connection_fact(receiving, TERCEL_FACT_VERSION) == version);
    tercel_bytes protocol = tercel_connection_fact_bytes(receiving, TERCEL_FACT_ALPN, 0);
    CHECK(protocol.len == 8 && memcmp(protocol.data, "http/1.1", 8) == 0);
    tercel_connection *sending = pair.server.connection;
    send_text(&pair.server, &pair.client, "sent by one half");
    pair.server.connection = receiving;
    send_text(&pair.client, &pair.server, "received by the other");
    pair.server.connection = sending;
    tercel_connection_free(receiving);
    free_pair(&pair);
}

static void failures(void) {
    // The client does not trust the server.
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    const tercel_roots *roots;
    memory pem = material("other-root.pem");
    EXPECT(TERCEL_OK, tercel_roots_from_pem(pem.data, pem.len, &roots));
    drop(&pem);
    EXPECT(TERCEL_OK, tercel_config_builder_set_roots(builder, roots));
    CHECK(tercel_roots_warning(roots, NULL, 0) == 0);
    tercel_roots_release(roots);

    // A server's certificate is no trust anchor.
    char warning[200];
    const tercel_roots *leaf;
    pem = material("server.pem");
    EXPECT(TERCEL_OK, tercel_roots_from_pem(pem.data, pem.len, &leaf));
    drop(&pem);
    CHECK(tercel_roots_warning(leaf, warning, sizeof warning) == strlen(warning));
    CHECK(strstr(warning, "\"CN=server\" is trusted only as itself") == warning);
    tercel_roots_release(leaf);
    const tercel_config *client = built(builder), *server = test_config(TERCEL_SERVER);
    pair pair = new_pair(client, server);
    CHECK(!run(&pair));
    EXPECT(TERCEL_REFUSED_UNKNOWN_ISSUER, pair.client.status);
    CHECK(tercel_status_alert(pair.client.status) == 48);
    EXPECT(TERCEL_CLASS_ALERT | 48, pair.server.status);
    char text[200], part[6];
    size_t length = tercel_handshake_error(pair.client.handshake, text, sizeof text);
    CHECK(length == strlen(text) && strstr(text, "issuer") != NULL);
    CHECK(tercel_handshake_error(pair.client.handshake, part, sizeof part) == length && strlen(part) == 5);
    EXPECT(TERCEL_MISUSE_HANDSHAKE_ENDED,
           tercel_handshake_advance(pair.client.handshake, pair.client.input, pair.client.output, &pair.client.next));
    free_pair(&pair);

    // The name is another one.
    tercel_config_release(client);
    client = test_config(TERCEL_CLIENT);
    pair = new_pair(client, server);
    tercel_handshake_free(pair.client.handshake);
    EXPECT(TERCEL_OK, tercel_handshake_client(client, "other.test", 10, 0, &pair.client.handshake));
    CHECK(!run(&pair));
    EXPECT(TERCEL_REFUSED_NAME_MISMATCH, pair.client.status);
    tercel_handshake_error(pair.client.handshake, text, sizeof text);
    CHECK(strstr(text, "other.test") != NULL && strstr(text, "server.test") != NULL);
    free_pair(&pair);

    // The transport ends.
    pair = new_pair(client, server);
    step(&pair, &pair.client, &pair.server);
    EXPECT(TERCEL_TRUNCATED, tercel_handshake_end_of_input(pair.client.handshake));
    EXPECT(TERCEL_MISUSE_HANDSHAKE_ENDED, tercel_handshake_end_of_input(pair.client.handshake));
    free_pair(&pair);
    tercel_config_release(client);
    tercel_config_release(server);
}

static int logged;

static void key_log(void *context, const char *label, const uint8_t *random, const uint8_t *secret, size_t secret_len) {
    CHECK(context == &logged && strlen(label) > 5 && random != NULL && secret != NULL && secret_len >= 32);
    logged++;
}

static uint64_t long_ago(void *context) {
    CHECK(context == &logged);
    return 1000000000;
}

#define OVERLAP(status) EXPECT(TERCEL_MISUSE_OVERLAP, status)

// A variable for a result that is part of an argument. It is left as it is.
static void overlapping_results(void) {
    union {
        uint8_t bytes[64];
        char text[64];
        uint16_t codes[32];
        size_t number;
        tercel_next next;
        const tercel_roots *roots;
        const tercel_credential *credential, *credentials[2];
        const tercel_tickets *tickets;
        const tercel_psk *psk, *psks[2];
        tercel_handshake *handshake;
    } place, before;
    memset(&place, 'x', sizeof place);
    before = place;
#define UNCHANGED() CHECK(memcmp(&place, &before, sizeof place) == 0)
    const tercel_credential *credential = test_credential("server");
    const tercel_config *client = test_config(TERCEL_CLIENT);
    const uint8_t *bytes = place.bytes, other[32] = "other";
    size_t len = sizeof place.bytes;
    OVERLAP(tercel_roots_from_pem(bytes, len, &place.roots));
    OVERLAP(tercel_credential_from_pem(bytes, len, other, 1, &place.credential));
    OVERLAP(tercel_credential_from_pem(other, 1, bytes, len, &place.credential));
    OVERLAP(tercel_credential_external(bytes, len, &place.credential));
    OVERLAP(tercel_credential_with_ocsp_response(credential, bytes, len, &place.credential));
    OVERLAP(tercel_credential_with_timestamps(credential, bytes, len, &place.credential));
    OVERLAP(tercel_credential_with_schemes(credential, place.codes, 32, &place.credential));
    OVERLAP(tercel_tickets_shared(bytes, len, 1, &place.tickets));
    OVERLAP(tercel_psk_external(bytes, len, other, 32, TERCEL_HASH_SHA256, &place.psk));
    OVERLAP(tercel_psk_external(other, 32, bytes, len, TERCEL_HASH_SHA256, &place.psk));
    OVERLAP(tercel_psk_import(other, 32, bytes, len, other, 32, TERCEL_HASH_SHA256, &place.psk));
    OVERLAP(tercel_handshake_client(client, place.text, len, 0, &place.handshake));
    UNCHANGED();

    tercel_handshake *handshake;
    EXPECT(TERCEL_OK, tercel_handshake_client(client, "server.test", 11, 0, &handshake));
    place.credentials[0] = place.credentials[1] = credential;
    before = place;
    OVERLAP(tercel_question_find_credential(handshake, place.credentials, 2, &place.number));
    UNCHANGED();
    EXPECT(TERCEL_OK, tercel_psk_external(other, 32, other, 32, TERCEL_HASH_SHA256, &place.psks[0]));
    before = place;
    OVERLAP(tercel_question_find_psk(handshake, place.psks, 1, &place.number));
    UNCHANGED();
    tercel_psk_release(place.psks[0]);

    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    EXPECT(TERCEL_OK, tercel_input_append(input, other, 32));
    memory unread = copy_of(tercel_input_unread(input));
    void *inside = (void *)tercel_input_unread(input).data;
    CHECK(tercel_input_space(input, inside) == NULL);
    OVERLAP(tercel_handshake_advance(handshake, input, output, inside));
    CHECK(memcmp(inside, unread.data, unread.len) == 0);
    drop(&unread);
    tercel_input_free(input);
    tercel_output_free(output);
    tercel_handshake_free(handshake);
    tercel_config_release(client);
    tercel_credential_release(credential);
}

// Memory of a buffer, or memory for results, is passed as input: nothing happens.
static void overlaps(uint16_t version) {
    pair pair = connected(version);
    tercel_connection *connection = pair.client.connection;
    static uint8_t data[20000];
    size_t taken, written, room;
    tercel_event event;
    tercel_bytes piece, unread;
    memset(data, 'x', sizeof data);

    EXPECT(TERCEL_OK, tercel_connection_seal_to(connection, data, 5000, pair.client.output));
    tercel_bytes sent = tercel_output_bytes(pair.client.output);
    OVERLAP(tercel_connection_seal_to(connection, sent.data, sent.len, pair.client.output));
    OVERLAP(tercel_connection_seal_to(connection, sent.data + sent.len - 1, 1, pair.client.output));
    // Sent bytes are still in the memory of the queue.
    EXPECT(TERCEL_OK, tercel_output_sent(pair.client.output, 10));
    OVERLAP(tercel_connection_seal_to(connection, sent.data, 10, pair.client.output));
    CHECK(tercel_output_bytes(pair.client.output).len == sent.len - 10);
    free_pair(&pair);

    pair = connected(version);
    connection = pair.client.connection;
    EXPECT(TERCEL_OK, tercel_connection_seal_to(connection, data, 5000, pair.client.output));
    deliver(pair.client.output, pair.server.input);
    unread = tercel_input_unread(pair.server.input);
    OVERLAP(tercel_input_append(pair.server.input, unread.data, unread.len));
    uint8_t *space = tercel_input_space(pair.server.input, &room);
    OVERLAP(tercel_input_append(pair.server.input, space, 1));
    OVERLAP(tercel_connection_open(pair.server.connection, pair.server.input, space, room, &taken, &event));
    OVERLAP(tercel_connection_open(pair.server.connection, pair.server.input, data, sizeof data, (size_t *)data, &event));
    CHECK(tercel_input_unread(pair.server.input).len == unread.len);
    EXPECT(TERCEL_OK, tercel_connection_open_in_place(pair.server.connection, pair.server.input, &piece, &event));
    CHECK(event == TERCEL_EVENT_DATA && piece.len == 5000);
    // The data is in a consumed part of the input. Another buffer may take it.
    OVERLAP(tercel_input_append(pair.server.input, piece.data, piece.len));
    EXPECT(TERCEL_OK, tercel_connection_seal_to(pair.server.connection, piece.data, piece.len, pair.server.output));
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_input_filled(pair.server.input, room + 100000));
    tercel_input_space(pair.server.input, &room);
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_input_filled(pair.server.input, room + 1));
    CHECK(tercel_input_unread(pair.server.input).len == 0);

    OVERLAP(tercel_connection_seal(connection, data, 1000, data, sizeof data, &taken, &written));
    OVERLAP(tercel_connection_seal(connection, data + 500, 1000, data, 501, &taken, &written));
    OVERLAP(tercel_connection_seal(connection, data, 1000, data + 1000, 10000, &taken, &taken));
    EXPECT(TERCEL_OK, tercel_connection_seal(connection, data, 1000, data + 1000, 10000, &taken, &written));
    OVERLAP(tercel_connection_export(connection, data, 13, NULL, 0, data, 32));
    OVERLAP(tercel_connection_export(connection, NULL, 0, data, 13, data + 12, 32));
    OVERLAP(tercel_connection_export_early(connection, NULL, 0, data, 13, data + 12, 32));
    free_pair(&pair);
}

static tercel_handshake *to_free;
static tercel_config_builder *builder_to_free;

static void frees_handshake(void *context, const char *label, const uint8_t *random, const uint8_t *secret, size_t len) {
    (void)context, (void)label, (void)random, (void)secret, (void)len;
    tercel_handshake_free(to_free);
    to_free = NULL;
}

static uint64_t frees_builder(void *context) {
    (void)context;
    tercel_config_builder_free(builder_to_free);
    builder_to_free = NULL;
    return 1800000000;
}

// A callback frees the handle for which it is called: the function that is running still completes.
static void frees_in_callbacks(void) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    EXPECT(TERCEL_OK, tercel_config_builder_set_key_log(builder, frees_handshake, NULL));
    const tercel_config *client = built(builder), *server = test_config(TERCEL_SERVER);
    pair pair = new_pair(client, server);
    to_free = pair.client.handshake;
    step(&pair, &pair.client, &pair.server);
    step(&pair, &pair.server, &pair.client);
    endpoint *side = &pair.client;
    EXPECT(TERCEL_OK, tercel_handshake_advance(side->handshake, side->input, side->output, &side->next));
    CHECK(to_free == NULL && tercel_output_bytes(side->output).len > 0);
    pair.client.handshake = NULL;
    free_pair(&pair);
    tercel_config_release(client);
    tercel_config_release(server);

    builder_to_free = test_builder(TERCEL_SERVER);
    EXPECT(TERCEL_OK, tercel_config_builder_set_clock(builder_to_free, frees_builder, NULL));
    set_option(builder_to_free, TERCEL_OPTION_EARLY_DATA, 100);
    EXPECT(TERCEL_OK, tercel_config_builder_build(builder_to_free, &server));
    CHECK(builder_to_free == NULL);
    tercel_config_release(server);
}

static void callbacks(void) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    EXPECT(TERCEL_OK, tercel_config_builder_set_key_log(builder, key_log, &logged));
    const tercel_config *client = built(builder), *server = test_config(TERCEL_SERVER);
    pair pair = new_pair(client, server);
    run_connected(&pair);
    CHECK(logged == 5);
    free_pair(&pair);
    tercel_config_release(client);
    builder = test_builder(TERCEL_CLIENT);
    EXPECT(TERCEL_OK, tercel_config_builder_set_clock(builder, long_ago, &logged));
    client = built(builder);
    pair = new_pair(client, server);
    CHECK(!run(&pair));
    EXPECT(TERCEL_REFUSED_NOT_YET_VALID, pair.client.status);
    free_pair(&pair);
    tercel_config_release(client);
    tercel_config_release(server);
}

void memory_tests(void) {
    for (uint16_t version = 0x0303; version <= 0x0304; version++) {
        facts(version);
        exporters(version);
        sizes(version);
        closing(version);
        alerts(version);
        split(version);
        overlaps(version);
    }
    overlapping_results();
    key_updates();
    failures();
    callbacks();
    frees_in_callbacks();
}
