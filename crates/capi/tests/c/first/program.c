// A program of the first version of tercel.h, which is beside it. It is compiled with that header and runs with the
// current shared library, so neither file changes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tercel.h"

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fprintf(stderr, "%s: %s\n", what, tercel_status_text(status));
        exit(1);
    }
}

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static size_t read_file(const char *folder, const char *name, uint8_t *data, size_t room) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    check(file != NULL, path);
    size_t len = fread(data, 1, room, file);
    fclose(file);
    return len;
}

static void deliver(tercel_output *output, tercel_input *input) {
    tercel_bytes bytes = tercel_output_bytes(output);
    if (bytes.len > 0) {
        need(tercel_input_append(input, bytes.data, bytes.len), "append");
        need(tercel_output_sent(output, bytes.len), "sent");
    }
}

int main(int count, char **arguments) {
    static uint8_t chain[20000], key[20000];
    check(count == 2, "usage: program FOLDER");
    printf("libtercel %s\n", tercel_version());

    const tercel_roots *roots;
    size_t len = read_file(arguments[1], "root.pem", chain, sizeof chain);
    need(tercel_roots_from_pem(chain, len, &roots), "roots");
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    need(tercel_config_builder_set_roots(builder, roots), "set roots");
    need(tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, (const uint8_t *)"\x02h2", 3), "alpn");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_SESSIONS, TERCEL_SESSIONS_GIVEN), "sessions");
    need(tercel_config_builder_set_questions(builder, TERCEL_ASK_VERIFY_PEER), "questions");
    const tercel_config *client, *server;
    need(tercel_config_builder_build(builder, &client), "client");
    tercel_config_builder_free(builder);

    const tercel_credential *credential;
    len = read_file(arguments[1], "server.pem", chain, sizeof chain);
    size_t key_len = read_file(arguments[1], "server.key", key, sizeof key);
    need(tercel_credential_from_pem(chain, len, key, key_len, &credential), "credential");
    builder = tercel_config_builder_new(TERCEL_SERVER);
    need(tercel_config_builder_add_credential(builder, credential), "add credential");
    need(tercel_config_builder_set_content(builder, TERCEL_CONTENT_ALPN, (const uint8_t *)"\x02h2", 3), "alpn");
    need(tercel_config_builder_build(builder, &server), "server");
    tercel_config_builder_free(builder);

    tercel_handshake *handshakes[2];
    tercel_connection *connections[2] = {NULL, NULL};
    tercel_input *inputs[2] = {tercel_input_new(0), tercel_input_new(0)};
    tercel_output *outputs[2] = {tercel_output_new(), tercel_output_new()};
    need(tercel_handshake_client(client, "server.test", 11, 443, &handshakes[0]), "client");
    need(tercel_handshake_server(server, &handshakes[1]), "server");
    for (int round = 0; round < 40; round++) {
        int side = round % 2;
        tercel_next next;
        if (connections[side] != NULL) {
            continue;
        }
        need(tercel_handshake_advance(handshakes[side], inputs[side], outputs[side], &next), "advance");
        deliver(outputs[side], inputs[1 - side]);
        if (next == TERCEL_NEXT_ANSWER) {
            check(tercel_handshake_question(handshakes[side]) == TERCEL_QUESTION_VERIFY_PEER, "another question");
            check(tercel_question_bytes(handshakes[side], TERCEL_FIELD_CERTIFICATE, 0).len > 0, "no certificate");
            tercel_status verdict = tercel_question_verify_chain(handshakes[side], roots);
            need(tercel_answer_peer(handshakes[side], verdict, NULL, 0), "answer");
        } else if (next == TERCEL_NEXT_CONNECTED) {
            need(tercel_handshake_take_connection(handshakes[side], &connections[side]), "connection");
        }
    }
    check(connections[0] != NULL && connections[1] != NULL, "not connected");

    for (int from = 0; from < 2; from++) {
        uint8_t record[200], data[100];
        size_t taken, written, filled;
        tercel_event event;
        need(tercel_connection_seal(connections[from], (const uint8_t *)"hello", 5, record, sizeof record, &taken, &written),
             "seal");
        check(taken == 5, "not all data taken");
        need(tercel_input_append(inputs[1 - from], record, written), "append");
        need(tercel_connection_open(connections[1 - from], inputs[1 - from], data, sizeof data, &filled, &event), "open");
        check(event == TERCEL_EVENT_DATA && filled == 5 && memcmp(data, "hello", 5) == 0, "other data");
        check(tercel_connection_fact(connections[from], TERCEL_FACT_VERSION) == 0x0304, "another version");
        check(tercel_connection_fact_bytes(connections[from], TERCEL_FACT_ALPN, 0).len == 2, "no protocol");
    }
    tercel_bytes session;
    uint64_t expires;
    need(tercel_connection_take_session(connections[0], &session, &expires), "session");
    check(session.len > 0 && expires > 0, "no session");
    uint8_t exported[2][32];
    for (int side = 0; side < 2; side++) {
        need(tercel_connection_export(connections[side], (const uint8_t *)"label", 5, NULL, 0, exported[side], 32), "export");
        need(tercel_connection_close(connections[side], outputs[side]), "close");
        need(tercel_connection_park(connections[side]), "park");
    }
    check(memcmp(exported[0], exported[1], 32) == 0, "exporters differ");
    check(tercel_status_class(TERCEL_PEER_BAD_RECORD_MAC) == TERCEL_CLASS_PEER, "another class");
    for (int side = 0; side < 2; side++) {
        tercel_connection_free(connections[side]);
        tercel_handshake_free(handshakes[side]);
        tercel_input_free(inputs[side]);
        tercel_output_free(outputs[side]);
    }
    tercel_config_release(client);
    tercel_config_release(server);
    tercel_roots_release(roots);
    tercel_credential_release(credential);
    puts("a program of the first header runs");
    return 0;
}
