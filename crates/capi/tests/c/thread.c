// Threads: shared handles, the two halves of a connection, and handles that two threads use at once.

#include <pthread.h>

#include "test.h"

enum { THREADS = 4, ROUNDS = 20, DATA = 1 << 20 };

static const tercel_config *client_config, *server_config;

static void *shakes_hands(void *argument) {
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        const tercel_config *mine = tercel_config_retain(client_config);
        pair pair = new_pair(mine, server_config);
        tercel_config_release(mine);
        run_connected(&pair);
        send_text(&pair.client, &pair.server, "hello");
        send_text(&pair.server, &pair.client, "hello");
        free_pair(&pair);
    }
    return NULL;
}

static void in_threads(void *(*function)(void *), void *argument, int count) {
    pthread_t threads[THREADS];
    for (int at = 0; at < count; at++) {
        CHECK(pthread_create(&threads[at], NULL, function, argument) == 0);
    }
    for (int at = 0; at < count; at++) {
        CHECK(pthread_join(threads[at], NULL) == 0);
    }
}

// The bytes that one half sends to the other side.
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint8_t *data;
    size_t len, read;
} transport;

static void put(transport *transport, tercel_bytes bytes) {
    pthread_mutex_lock(&transport->lock);
    memcpy(transport->data + transport->len, bytes.data, bytes.len);
    transport->len += bytes.len;
    pthread_cond_signal(&transport->changed);
    pthread_mutex_unlock(&transport->lock);
}

static void get(transport *transport, tercel_input *input) {
    size_t room;
    uint8_t *space = tercel_input_space(input, &room);
    pthread_mutex_lock(&transport->lock);
    while (transport->read == transport->len) {
        pthread_cond_wait(&transport->changed, &transport->lock);
    }
    size_t count = transport->len - transport->read < room ? transport->len - transport->read : room;
    memcpy(space, transport->data + transport->read, count);
    transport->read += count;
    pthread_mutex_unlock(&transport->lock);
    EXPECT(TERCEL_OK, tercel_input_filled(input, count));
}

typedef struct {
    tercel_connection *connection;
    transport *transport;
    tercel_input *input;
} half;

static void *sends(void *argument) {
    half *half = argument;
    uint8_t data[5000];
    tercel_output *output = tercel_output_new();
    for (size_t sent = 0; sent < DATA;) {
        size_t len = DATA - sent < sizeof data ? DATA - sent : sizeof data;
        for (size_t at = 0; at < len; at++) {
            data[at] = (uint8_t)((sent + at) * 31);
        }
        EXPECT(TERCEL_OK, tercel_connection_seal_to(half->connection, data, len, output));
        if (sent % 7 == 0) {
            EXPECT(TERCEL_OK, tercel_connection_update_key(half->connection, 1, output));
        }
        tercel_bytes bytes = tercel_output_bytes(output);
        put(half->transport, bytes);
        EXPECT(TERCEL_OK, tercel_output_sent(output, bytes.len));
        sent += len;
    }
    tercel_output_free(output);
    return NULL;
}

static void *receives(void *argument) {
    half *half = argument;
    uint8_t *out = malloc(17000);
    CHECK(out != NULL);
    for (size_t received = 0; received < DATA;) {
        size_t filled;
        tercel_event event;
        EXPECT(TERCEL_OK, tercel_connection_open(half->connection, half->input, out, 17000, &filled, &event));
        if (event == TERCEL_EVENT_RECEIVE) {
            get(half->transport, half->input);
        }
        for (size_t at = 0; at < filled; at++) {
            CHECK(out[at] == (uint8_t)((received + at) * 31));
        }
        received += filled;
    }
    free(out);
    return NULL;
}

// Both sides send and receive at once, each half in its own thread.
static void halves(void) {
    pair pair = new_pair(client_config, server_config);
    run_connected(&pair);
    endpoint *sides[] = {&pair.client, &pair.server};
    transport transports[2];
    half senders[2], receivers[2];
    pthread_t threads[4];
    for (int side = 0; side < 2; side++) {
        transport *transport = &transports[side];
        memset(transport, 0, sizeof *transport);
        pthread_mutex_init(&transport->lock, NULL);
        pthread_cond_init(&transport->changed, NULL);
        transport->data = malloc(DATA + DATA / 4);
        CHECK(transport->data != NULL);
        senders[side].connection = sides[side]->connection;
        senders[side].transport = transport;
        EXPECT(TERCEL_OK, tercel_connection_split(sides[side]->connection, &receivers[1 - side].connection));
        receivers[1 - side].transport = &transports[1 - side];
        receivers[1 - side].input = sides[side]->input;
    }
    for (int side = 0; side < 2; side++) {
        CHECK(pthread_create(&threads[side], NULL, sends, &senders[side]) == 0);
        CHECK(pthread_create(&threads[2 + side], NULL, receives, &receivers[side]) == 0);
    }
    for (int at = 0; at < 4; at++) {
        CHECK(pthread_join(threads[at], NULL) == 0);
    }
    for (int side = 0; side < 2; side++) {
        tercel_connection_free(receivers[side].connection);
        free(transports[side].data);
    }
    free_pair(&pair);
}

static tercel_connection *contended;
static int wins, refusals;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

// A handle that is used by several threads at once, which is not allowed, gives errors instead of chaos.
static void *contends(void *argument) {
    (void)argument;
    static const uint8_t data[16384];
    uint8_t *out = malloc(20000);
    CHECK(out != NULL);
    for (int round = 0; round < 200; round++) {
        size_t taken, written;
        tercel_status status = tercel_connection_seal(contended, data, sizeof data, out, 20000, &taken, &written);
        CHECK(status == TERCEL_OK || status == TERCEL_MISUSE_HANDLE_IN_USE);
        CHECK((status == TERCEL_OK) == (taken == sizeof data));
        // The facts can be read while another thread seals.
        CHECK(tercel_connection_fact(contended, TERCEL_FACT_VERSION) == 0x0304);
        CHECK(tercel_connection_fact_bytes(contended, TERCEL_FACT_CERTIFICATE, 0).len > 100);
        CHECK(tercel_connection_fact_bytes(contended, TERCEL_FACT_SERVER_END_POINT, 0).len == 32);
        pthread_mutex_lock(&counting);
        wins += status == TERCEL_OK;
        refusals += status != TERCEL_OK;
        pthread_mutex_unlock(&counting);
    }
    free(out);
    return NULL;
}

static tercel_handshake *asking;

// The bytes of a question can be read by another thread until it is answered.
static void *reads_question(void *argument) {
    tercel_bytes *expected = argument;
    tercel_bytes certificate = tercel_question_bytes(asking, TERCEL_FIELD_CERTIFICATE, 0);
    CHECK(certificate.len == expected->len && memcmp(certificate.data, expected->data, certificate.len) == 0);
    EXPECT(TERCEL_OK, tercel_answer_peer(asking, TERCEL_OK, NULL, 0));
    return NULL;
}

static void answers_elsewhere(endpoint *endpoint) {
    tercel_bytes certificate = tercel_question_bytes(endpoint->handshake, TERCEL_FIELD_CERTIFICATE, 0);
    CHECK(certificate.len > 100);
    asking = endpoint->handshake;
    in_threads(reads_question, &certificate, 1);
}

void thread_tests(void) {
    client_config = test_config(TERCEL_CLIENT);
    server_config = test_config(TERCEL_SERVER);
    in_threads(shakes_hands, NULL, THREADS);
    halves();

    pair pair = new_pair(client_config, server_config);
    run_connected(&pair);
    contended = pair.client.connection;
    in_threads(contends, NULL, THREADS);
    CHECK(wins > 0 && wins + refusals == THREADS * 200);
    free_pair(&pair);
    tercel_config_release(client_config);

    tercel_config_builder *builder = test_builder(TERCEL_CLIENT);
    EXPECT(TERCEL_OK, tercel_config_builder_set_questions(builder, TERCEL_ASK_VERIFY_PEER));
    client_config = built(builder);
    pair = new_pair(client_config, server_config);
    pair.answer = answers_elsewhere;
    run_connected(&pair);
    free_pair(&pair);

    // The end of the handshake ends its question.
    pair = new_pair(client_config, server_config);
    step(&pair, &pair.client, &pair.server);
    step(&pair, &pair.server, &pair.client);
    endpoint *client = &pair.client;
    EXPECT(TERCEL_OK, tercel_handshake_advance(client->handshake, client->input, client->output, &client->next));
    CHECK(tercel_handshake_question(pair.client.handshake) == TERCEL_QUESTION_VERIFY_PEER);
    EXPECT(TERCEL_TRUNCATED, tercel_handshake_end_of_input(pair.client.handshake));
    CHECK(tercel_handshake_question(pair.client.handshake) == TERCEL_QUESTION_NONE);
    CHECK(tercel_question_bytes(pair.client.handshake, TERCEL_FIELD_CERTIFICATE, 0).data == NULL);
    EXPECT(TERCEL_MISUSE_NO_SUCH_QUESTION, tercel_answer_peer(pair.client.handshake, TERCEL_OK, NULL, 0));
    free_pair(&pair);
    tercel_config_release(client_config);
    tercel_config_release(server_config);
}
