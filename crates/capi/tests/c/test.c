#include "test.h"

memory copy_of(tercel_bytes bytes) {
    memory copy = {malloc(bytes.len + 1), bytes.len};
    CHECK(copy.data != NULL);
    if (bytes.len > 0) {
        memcpy(copy.data, bytes.data, bytes.len);
    }
    copy.data[bytes.len] = 0;
    return copy;
}

void drop(memory *memory) {
    free(memory->data);
    memory->data = NULL;
    memory->len = 0;
}

memory material(const char *name) {
    char path[4096];
    const char *folder = getenv("MATERIAL");
    CHECK(folder != NULL);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    memory content = {malloc(1 << 16), 0};
    CHECK(content.data != NULL);
    content.len = fread(content.data, 1, 1 << 16, file);
    CHECK(content.len > 0 && content.len < 1 << 16);
    fclose(file);
    return content;
}

const tercel_roots *test_roots(void) {
    const tercel_roots *roots;
    memory pem = material("root.pem");
    EXPECT(TERCEL_OK, tercel_roots_from_pem(pem.data, pem.len, &roots));
    drop(&pem);
    return roots;
}

const tercel_credential *test_credential(const char *name) {
    char file[64];
    const tercel_credential *credential;
    snprintf(file, sizeof file, "%s.pem", name);
    memory chain = material(file);
    snprintf(file, sizeof file, "%s.key", name);
    memory key = material(file);
    EXPECT(TERCEL_OK, tercel_credential_from_pem(chain.data, chain.len, key.data, key.len, &credential));
    drop(&chain);
    drop(&key);
    return credential;
}

tercel_config_builder *test_builder(tercel_side side) {
    tercel_config_builder *builder = tercel_config_builder_new(side);
    CHECK(builder != NULL);
    if (side == TERCEL_CLIENT) {
        const tercel_roots *roots = test_roots();
        EXPECT(TERCEL_OK, tercel_config_builder_set_roots(builder, roots));
        tercel_roots_release(roots);
    } else {
        const tercel_credential *credential = test_credential("server");
        EXPECT(TERCEL_OK, tercel_config_builder_add_credential(builder, credential));
        tercel_credential_release(credential);
    }
    return builder;
}

const tercel_config *built(tercel_config_builder *builder) {
    const tercel_config *config;
    tercel_status status = tercel_config_builder_build(builder, &config);
    if (status != TERCEL_OK) {
        char text[256];
        CHECK(tercel_config_builder_error(builder, text, sizeof text) > 0);
        fprintf(stderr, "%s\n", text);
    }
    EXPECT(TERCEL_OK, status);
    tercel_config_builder_free(builder);
    return config;
}

const tercel_config *test_config(tercel_side side) {
    return built(test_builder(side));
}

void set_option(tercel_config_builder *builder, tercel_option option, uint64_t value) {
    EXPECT(TERCEL_OK, tercel_config_builder_set_option(builder, option, value));
}

void set_version(tercel_config_builder *builder, uint16_t version) {
    EXPECT(TERCEL_OK, tercel_config_builder_set_list(builder, TERCEL_LIST_VERSIONS, &version, 1));
}

static endpoint new_endpoint(void) {
    endpoint made;
    memset(&made, 0, sizeof made);
    made.input = tercel_input_new(0);
    made.output = tercel_output_new();
    CHECK(made.input != NULL && made.output != NULL);
    return made;
}

pair new_pair(const tercel_config *client, const tercel_config *server) {
    pair made = {new_endpoint(), new_endpoint(), NULL};
    const char name[] = "server.test";
    EXPECT(TERCEL_OK, tercel_handshake_client(client, name, sizeof name - 1, 443, &made.client.handshake));
    EXPECT(TERCEL_OK, tercel_handshake_server(server, &made.server.handshake));
    return made;
}

static void free_endpoint(endpoint *endpoint) {
    tercel_handshake_free(endpoint->handshake);
    tercel_connection_free(endpoint->connection);
    tercel_input_free(endpoint->input);
    tercel_output_free(endpoint->output);
}

void free_pair(pair *pair) {
    free_endpoint(&pair->client);
    free_endpoint(&pair->server);
}

void deliver(tercel_output *output, tercel_input *input) {
    for (;;) {
        tercel_bytes bytes = tercel_output_bytes(output);
        if (bytes.len == 0) {
            return;
        }
        size_t room;
        uint8_t *space = tercel_input_space(input, &room);
        CHECK(space != NULL && room > 0);
        size_t count = bytes.len < room ? bytes.len : room;
        memcpy(space, bytes.data, count);
        EXPECT(TERCEL_OK, tercel_input_filled(input, count));
        EXPECT(TERCEL_OK, tercel_output_sent(output, count));
    }
}

void step(pair *pair, endpoint *from, endpoint *to) {
    if (from->connection != NULL || from->status != TERCEL_OK) {
        return;
    }
    from->status = tercel_handshake_advance(from->handshake, from->input, from->output, &from->next);
    deliver(from->output, to->input);
    if (from->status != TERCEL_OK) {
        return;
    }
    if (from->next == TERCEL_NEXT_ANSWER) {
        CHECK(pair->answer != NULL);
        pair->answer(from);
    } else if (from->next == TERCEL_NEXT_EARLY_DATA) {
        tercel_bytes data = tercel_handshake_early_data(from->handshake);
        CHECK(from->early_len + data.len <= sizeof from->early);
        memcpy(from->early + from->early_len, data.data, data.len);
        from->early_len += data.len;
    } else if (from->next == TERCEL_NEXT_CONNECTED) {
        EXPECT(TERCEL_OK, tercel_handshake_take_connection(from->handshake, &from->connection));
        tercel_connection *none = from->connection;
        EXPECT(TERCEL_MISUSE_NO_CONNECTION, tercel_handshake_take_connection(from->handshake, &none));
        CHECK(none == NULL);
    }
}

int run(pair *pair) {
    for (int round = 0; round < 100; round++) {
        step(pair, &pair->client, &pair->server);
        step(pair, &pair->server, &pair->client);
        if (pair->client.status != TERCEL_OK && pair->server.status != TERCEL_OK) {
            return 0;
        }
        if (pair->client.connection != NULL && pair->server.connection != NULL) {
            return 1;
        }
    }
    return 0;
}

static void report(const char *side, endpoint *endpoint) {
    char text[300] = "";
    tercel_handshake_error(endpoint->handshake, text, sizeof text);
    fprintf(stderr, "%s: next %u, status 0x%08x, %s\n", side, endpoint->next, endpoint->status, text);
}

void run_connected(pair *pair) {
    if (!run(pair)) {
        report("client", &pair->client);
        report("server", &pair->server);
        _Exit(1);
    }
}

void send_text(endpoint *from, endpoint *to, const char *text) {
    size_t len = strlen(text);
    EXPECT(TERCEL_OK, tercel_connection_seal_to(from->connection, (const uint8_t *)text, len, from->output));
    deliver(from->output, to->input);
    uint8_t out[17000];
    size_t filled;
    tercel_event event;
    EXPECT(TERCEL_OK, tercel_connection_open(to->connection, to->input, out, sizeof out, &filled, &event));
    CHECK(event == TERCEL_EVENT_DATA && filled == len && memcmp(out, text, len) == 0);
}

int main(void) {
    CHECK(strlen(tercel_version()) > 0);
    memory_tests();
    question_tests();
    session_tests();
    misuse_tests();
    thread_tests();
    printf("all tests of the C interface passed\n");
    return 0;
}
