// Resumption and early data.

#include <time.h>

#include "test.h"

static memory session;
static memory stored_identity, stored_session;
static unsigned found_sessions, claimed_sessions, admissions;
static uint32_t admit;

static void answer(endpoint *endpoint) {
    tercel_question kind = tercel_handshake_question(endpoint->handshake);
    if (kind == TERCEL_QUESTION_FIND_SESSION) {
        tercel_bytes identity = tercel_question_bytes(endpoint->handshake, TERCEL_FIELD_IDENTITY, 0);
        uint64_t single_use;
        EXPECT(TERCEL_OK, tercel_question_number(endpoint->handshake, TERCEL_FIELD_SINGLE_USE, 0, &single_use));
        found_sessions++;
        int known = stored_identity.len > 0 && identity.len == stored_identity.len &&
                    memcmp(identity.data, stored_identity.data, identity.len) == 0;
        EXPECT(TERCEL_OK, tercel_answer_session(endpoint->handshake, known ? stored_session.data : NULL,
                                                known ? stored_session.len : 0));
    } else if (kind == TERCEL_QUESTION_CLAIM_SESSION) {
        tercel_bytes identity = tercel_question_bytes(endpoint->handshake, TERCEL_FIELD_IDENTITY, 0);
        CHECK(identity.len == stored_identity.len && memcmp(identity.data, stored_identity.data, identity.len) == 0);
        EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_answer_claim(endpoint->handshake, 2));
        EXPECT(TERCEL_OK, tercel_answer_claim(endpoint->handshake, claimed_sessions++ == 0));
    } else {
        CHECK(kind == TERCEL_QUESTION_ADMIT_EARLY_DATA);
        uint64_t window, time;
        CHECK(tercel_question_bytes(endpoint->handshake, TERCEL_FIELD_UNIQUE, 0).len > 0);
        EXPECT(TERCEL_OK, tercel_question_number(endpoint->handshake, TERCEL_FIELD_FRESHNESS_WINDOW, 0, &window));
        EXPECT(TERCEL_OK, tercel_question_number(endpoint->handshake, TERCEL_FIELD_TIME, 0, &time));
        CHECK(window == 10 && time > 1700000000);
        admissions++;
        EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_answer_early_data(endpoint->handshake, 2));
        EXPECT(TERCEL_OK, tercel_answer_early_data(endpoint->handshake, admit));
    }
}

// Keeps the newest session of a client.
static void keep_session(endpoint *client) {
    tercel_bytes bytes;
    uint64_t expires;
    for (;;) {
        EXPECT(TERCEL_OK, tercel_connection_take_session(client->connection, &bytes, &expires));
        if (bytes.data == NULL) {
            CHECK(bytes.len == 0 && expires == 0);
            return;
        }
        CHECK(expires > 1700000000);
        drop(&session);
        session = copy_of(bytes);
    }
}

static pair connect_once(const tercel_config *client, const tercel_config *server) {
    pair pair = new_pair(client, server);
    pair.answer = answer;
    if (session.len > 0) {
        EXPECT(TERCEL_OK, tercel_handshake_offer_session(pair.client.handshake, session.data, session.len));
        drop(&session);
    }
    run_connected(&pair);
    // Tickets of TLS 1.3 follow the handshake.
    send_text(&pair.server, &pair.client, "hello");
    keep_session(&pair.client);
    CHECK(session.len > 0);
    return pair;
}

static const tercel_config *giving_client(uint16_t version, int early_data) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    set_option(builder, TERCEL_OPTION_SESSIONS, TERCEL_SESSIONS_GIVEN);
    set_option(builder, TERCEL_OPTION_EARLY_DATA, (uint64_t)early_data);
    set_version(builder, version);
    return built(builder);
}

static int resumed(pair *pair) {
    uint64_t client = tercel_connection_fact(pair->client.connection, TERCEL_FACT_RESUMED);
    CHECK(client == tercel_connection_fact(pair->server.connection, TERCEL_FACT_RESUMED));
    return client == 1;
}

// The caller of the client keeps its sessions; the server issues tickets.
static void given_sessions(uint16_t version) {
    const tercel_config *client = giving_client(version, 0), *server = test_config(TERCEL_SERVER);
    for (int round = 0; round < 3; round++) {
        pair pair = connect_once(client, server);
        CHECK(resumed(&pair) == (round > 0));
        EXPECT(TERCEL_MISUSE_SESSIONS_NOT_GIVEN,
               tercel_handshake_offer_session(pair.client.handshake, session.data, session.len));
        free_pair(&pair);
    }
    // A session that is not one is ignored.
    session.data[session.len / 2] ^= 1;
    session.len /= 2;
    pair pair = connect_once(client, server);
    CHECK(!resumed(&pair));
    free_pair(&pair);
    drop(&session);
    tercel_config_release(client);
    tercel_config_release(server);
}

// The configuration keeps a client's sessions, or none.
static void kept_sessions(uint64_t mode) {
    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    set_option(builder, TERCEL_OPTION_SESSIONS, mode);
    const tercel_config *client = built(builder), *server = test_config(TERCEL_SERVER);
    for (int round = 0; round < 2; round++) {
        pair pair = new_pair(client, server);
        EXPECT(TERCEL_MISUSE_SESSIONS_NOT_GIVEN,
               tercel_handshake_offer_session(pair.client.handshake, (const uint8_t *)"x", 1));
        run_connected(&pair);
        send_text(&pair.server, &pair.client, "hello");
        CHECK(resumed(&pair) == (round > 0 && mode == TERCEL_SESSIONS_KEPT));
        keep_session(&pair.client);
        CHECK(session.len == 0);
        free_pair(&pair);
    }
    tercel_config_release(client);
    tercel_config_release(server);
}

// The caller of the server stores sessions. It claims those of TLS 1.3 if it is asked.
static void stored_sessions(uint16_t version, tercel_questions claims) {
    tercel_config_builder *builder = test_builder(TERCEL_SERVER);
    EXPECT(TERCEL_OK, tercel_config_builder_set_questions(builder, TERCEL_ASK_FIND_SESSION | claims));
    const tercel_config *server = built(builder), *client = giving_client(version, 0);
    found_sessions = claimed_sessions = 0;
    for (int round = 0; round < 3; round++) {
        // The second claim is refused: another connection has the session.
        int refused = round == 2 && claims != 0 && version == 0x0304;
        pair pair = connect_once(client, server);
        CHECK(resumed(&pair) == (round > 0 && !refused) && found_sessions == (unsigned)round);
        CHECK(claimed_sessions == (claims != 0 && version == 0x0304 ? (unsigned)round : 0));
        tercel_bytes identity, value;
        uint64_t expires;
        for (;;) {
            EXPECT(TERCEL_OK,
                   tercel_connection_take_stored_session(pair.server.connection, &identity, &value, &expires));
            if (identity.data == NULL) {
                break;
            }
            CHECK(expires > 1700000000);
            drop(&stored_identity);
            drop(&stored_session);
            stored_identity = copy_of(identity);
            stored_session = copy_of(value);
        }
        CHECK(stored_session.len > 0);
        free_pair(&pair);
    }
    drop(&session);
    drop(&stored_identity);
    drop(&stored_session);
    tercel_config_release(client);
    tercel_config_release(server);
}

static void early_data(tercel_questions questions, uint32_t admitted) {
    tercel_config_builder *builder = test_builder(TERCEL_SERVER);
    set_option(builder, TERCEL_OPTION_EARLY_DATA, 1000);
    set_option(builder, TERCEL_OPTION_FRESHNESS_WINDOW, 10);
    EXPECT(TERCEL_OK, tercel_config_builder_set_questions(builder, questions));
    const tercel_config *server = built(builder), *client = giving_client(0x0304, 1);
    admit = admitted;
    admissions = 0;
    uint8_t data[1500] = "early";
    size_t taken;
    pair pair = connect_once(client, server);
    CHECK(tercel_connection_fact(pair.client.connection, TERCEL_FACT_EARLY_DATA) == TERCEL_EARLY_DATA_NOT_OFFERED);
    free_pair(&pair);

    pair = new_pair(client, server);
    pair.answer = answer;
    EXPECT(TERCEL_OK, tercel_handshake_offer_session(pair.client.handshake, session.data, session.len));
    CHECK(tercel_handshake_early_data_left(pair.client.handshake) == 0);
    EXPECT(TERCEL_MISUSE_NO_EARLY_DATA,
           tercel_handshake_seal_early(pair.client.handshake, data, 5, pair.client.output, &taken));
    step(&pair, &pair.client, &pair.server);
    CHECK(tercel_handshake_early_data_left(pair.client.handshake) == 1000);
    EXPECT(TERCEL_OK, tercel_handshake_seal_early(pair.client.handshake, data, 200, pair.client.output, &taken));
    CHECK(taken == 200);
    deliver(pair.client.output, pair.server.input);
    // The server answers before it has the client's Finished.
    while (pair.server.early_len == 0 && pair.server.next != TERCEL_NEXT_CONNECTED && pair.server.connection == NULL) {
        step(&pair, &pair.server, &pair.client);
        if (pair.server.next == TERCEL_NEXT_RECEIVE) {
            break;
        }
    }
    // Its own guard admits nothing soon after its start, when it does not know what was admitted before.
    int accepted = questions != 0 && admitted;
    CHECK(pair.server.early_len == (accepted ? 200u : 0u));
    if (accepted) {
        CHECK(memcmp(pair.server.early, data, 200) == 0);
        CHECK(tercel_handshake_fact(pair.server.handshake, TERCEL_FACT_VERSION) == 0x0304);
        tercel_bytes name = tercel_handshake_fact_bytes(pair.server.handshake, TERCEL_FACT_SERVER_NAME, 0);
        CHECK(name.len == 11 && memcmp(name.data, "server.test", 11) == 0);
        EXPECT(TERCEL_OK, tercel_handshake_seal_early(pair.server.handshake, data, 5, pair.server.output, &taken));
        CHECK(taken == 5 && tercel_handshake_early_data_left(pair.server.handshake) == SIZE_MAX);
        deliver(pair.server.output, pair.client.input);
    } else {
        CHECK(tercel_handshake_fact(pair.server.handshake, TERCEL_FACT_VERSION) == 0);
        CHECK(tercel_handshake_fact_bytes(pair.server.handshake, TERCEL_FACT_ALPN, 0).data == NULL);
    }
    run_connected(&pair);
    CHECK(resumed(&pair));
    CHECK(tercel_connection_fact(pair.client.connection, TERCEL_FACT_EARLY_DATA) ==
          (accepted ? TERCEL_EARLY_DATA_ACCEPTED : TERCEL_EARLY_DATA_REJECTED));
    CHECK((tercel_connection_fact(pair.server.connection, TERCEL_FACT_EARLY_DATA_REJECTION) == 0) == accepted);
    const uint8_t label[] = "label";
    uint8_t ours[32], theirs[32];
    if (accepted) {
        EXPECT(TERCEL_OK, tercel_connection_export_early(pair.client.connection, label, 5, NULL, 0, ours, 32));
        EXPECT(TERCEL_OK, tercel_connection_export_early(pair.server.connection, label, 5, NULL, 0, theirs, 32));
        CHECK(memcmp(ours, theirs, 32) == 0);
        size_t filled;
        tercel_event event;
        EXPECT(TERCEL_OK, tercel_connection_open(pair.client.connection, pair.client.input, data, 100, &filled, &event));
        CHECK(event == TERCEL_EVENT_DATA && filled == 5);
    }
    CHECK(admissions == (questions != 0));
    free_pair(&pair);
    drop(&session);
    tercel_config_release(client);
    tercel_config_release(server);
}

static unsigned verifications;

// Accepts the peer of a full handshake, and counts questions about the peer of a session.
static void answer_about_peer(endpoint *endpoint) {
    uint64_t of_session;
    CHECK(tercel_handshake_question(endpoint->handshake) == TERCEL_QUESTION_VERIFY_PEER);
    EXPECT(TERCEL_OK, tercel_question_number(endpoint->handshake, TERCEL_FIELD_RESUMED, 0, &of_session));
    verifications += of_session ? 1000 : 1;
    EXPECT(TERCEL_OK, tercel_answer_peer(endpoint->handshake, TERCEL_OK, NULL, 0));
}

// A caller that verifies peers is asked again about the peer of a session that configurations share.
static void peers_of_sessions(uint16_t version) {
    const tercel_config *server = test_config(TERCEL_SERVER);
    verifications = 0;
    for (int round = 0; round < 2; round++) {
        tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
        set_option(builder, TERCEL_OPTION_SESSIONS, TERCEL_SESSIONS_GIVEN);
        set_version(builder, version);
        EXPECT(TERCEL_OK, tercel_config_builder_set_questions(builder, TERCEL_ASK_VERIFY_PEER));
        EXPECT(TERCEL_OK, tercel_config_builder_set_content(builder, TERCEL_CONTENT_SESSION_CONTEXT,
                                                            (const uint8_t *)"test", 4));
        const tercel_config *client = built(builder);
        pair pair = new_pair(client, server);
        pair.answer = answer_about_peer;
        if (round > 0) {
            EXPECT(TERCEL_OK, tercel_handshake_offer_session(pair.client.handshake, session.data, session.len));
            drop(&session);
        }
        run_connected(&pair);
        send_text(&pair.server, &pair.client, "hello");
        keep_session(&pair.client);
        CHECK(resumed(&pair) == round);
        free_pair(&pair);
        tercel_config_release(client);
    }
    CHECK(verifications == 1001);
    drop(&session);
    tercel_config_release(server);
}

// The encoding that tercel_tickets_shared documents.
static size_t encode_keys(uint8_t *out, uint8_t current, uint8_t previous) {
    size_t len = 0;
    memset(out, 0, 200);
    out[1] = 1;
    len = 2;
    memset(out + len, current, 48);
    len += 48;
    for (int shift = 56; shift >= 0; shift -= 8) {
        out[len++] = (uint8_t)((uint64_t)time(NULL) >> shift);
    }
    out[len++] = 0;
    out[len++] = previous != 0;
    if (previous != 0) {
        memset(out + len, previous, 48);
        len += 48 + 8;
    }
    return len;
}

// Servers of two processes share keys.
static void shared_tickets(void) {
    uint8_t keys[200];
    const tercel_tickets *tickets[2];
    const tercel_config *servers[2], *client = giving_client(0x0304, 0);
    for (int at = 0; at < 2; at++) {
        size_t len = encode_keys(keys, 7, 0);
        EXPECT(TERCEL_OK, tercel_tickets_shared(keys, len, 3600, &tickets[at]));
        tercel_config_builder *builder = test_builder(TERCEL_SERVER);
        EXPECT(TERCEL_OK, tercel_config_builder_set_tickets(builder, tickets[at]));
        servers[at] = built(builder);
    }
    EXPECT(TERCEL_CONFIG_TICKET_KEYS_MALFORMED, tercel_tickets_set_keys(tickets[0], keys, 17));
    pair pair = connect_once(client, servers[0]);
    free_pair(&pair);
    pair = connect_once(client, servers[1]);
    CHECK(resumed(&pair));
    free_pair(&pair);
    EXPECT(TERCEL_OK, tercel_tickets_set_keys(tickets[0], keys, encode_keys(keys, 8, 7)));
    pair = connect_once(client, servers[0]);
    CHECK(resumed(&pair));
    free_pair(&pair);
    // This server does not have the new key yet.
    pair = connect_once(client, servers[1]);
    CHECK(!resumed(&pair));
    free_pair(&pair);
    drop(&session);
    const tercel_tickets *rotating;
    EXPECT(TERCEL_OK, tercel_tickets_rotating(60, &rotating));
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_tickets_set_keys(rotating, keys, encode_keys(keys, 8, 7)));
    tercel_tickets_release(rotating);
    for (int at = 0; at < 2; at++) {
        tercel_tickets_release(tickets[at]);
        tercel_config_release(servers[at]);
    }
    tercel_config_release(client);
}

static uint64_t time_of_server;

static uint64_t server_clock(void *context) {
    (void)context;
    return time_of_server;
}

// Whether a connection is resumed. Its tickets are read.
static int resumes(const tercel_config *client, const tercel_config *server) {
    pair pair = new_pair(client, server);
    run_connected(&pair);
    send_text(&pair.client, &pair.server, "hello");
    send_text(&pair.server, &pair.client, "hello");
    int resumed = tercel_connection_fact(pair.server.connection, TERCEL_FACT_RESUMED) == 1;
    free_pair(&pair);
    return resumed;
}

// Keys are replaced by the clock of the configuration, which differs much from the system's.
static void rotating_tickets(void) {
    const tercel_tickets *tickets;
    const tercel_config *client = test_config(TERCEL_CLIENT), *server;
    tercel_config_builder *builder = test_builder(TERCEL_SERVER);
    time_of_server = 1000000000;
    EXPECT(TERCEL_OK, tercel_tickets_rotating(60, &tickets));
    EXPECT(TERCEL_MISUSE_INVALID_ARGUMENT, tercel_tickets_set_keys(tickets, (const uint8_t *)"x", 1));
    EXPECT(TERCEL_OK, tercel_config_builder_set_tickets(builder, tickets));
    EXPECT(TERCEL_OK, tercel_config_builder_set_clock(builder, server_clock, NULL));
    tercel_tickets_release(tickets);
    server = built(builder);
    CHECK(!resumes(client, server));
    time_of_server += 30;
    CHECK(resumes(client, server));
    time_of_server += 400;
    CHECK(!resumes(client, server));
    tercel_config_release(client);
    tercel_config_release(server);
}

void session_tests(void) {
    rotating_tickets();
    for (uint16_t version = 0x0303; version <= 0x0304; version++) {
        given_sessions(version);
        stored_sessions(version, 0);
        stored_sessions(version, TERCEL_ASK_CLAIM_SESSION);
        peers_of_sessions(version);
    }
    kept_sessions(TERCEL_SESSIONS_KEPT);
    kept_sessions(TERCEL_SESSIONS_NONE);
    early_data(TERCEL_ASK_ADMIT_EARLY_DATA, 1);
    early_data(TERCEL_ASK_ADMIT_EARLY_DATA, 0);
    early_data(0, 0);
    shared_tickets();
}
