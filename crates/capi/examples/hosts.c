// A server with several names. It is asked for the credential of each name, and reads the files of a name only when
// a client requests it.
//
// usage: hosts PORT COUNT FOLDER      FOLDER has NAME.pem and NAME.key for each name; ends after COUNT connections

#define _POSIX_C_SOURCE 200809L

#include <ctype.h>

#include "common.h"

enum { MOST_HOSTS = 100 };

typedef struct host {
    char name[254];
    const tercel_credential *credential;
} host;

typedef struct hosts {
    const char *folder;
    host list[MOST_HOSTS];
    size_t count;
} hosts;

// Whether the name consists of letters, digits, hyphens and single dots: it becomes part of a path.
static int is_plain(const char *name) {
    for (size_t at = 0; name[at] != 0; at++) {
        int dot = name[at] == '.' && at > 0 && name[at + 1] != '.';
        if (!dot && !isalnum((unsigned char)name[at]) && name[at] != '-') {
            return 0;
        }
    }
    return name[0] != 0;
}

// Returns the credential of a name, or NULL.
static const tercel_credential *find(hosts *hosts, const char *name) {
    for (size_t at = 0; at < hosts->count; at++) {
        if (strcmp(hosts->list[at].name, name) == 0) {
            return hosts->list[at].credential;
        }
    }
    char chain[600], key[600];
    snprintf(chain, sizeof chain, "%s/%s.pem", hosts->folder, name);
    snprintf(key, sizeof key, "%s/%s.key", hosts->folder, name);
    if (hosts->count == MOST_HOSTS || !is_plain(name) || access(chain, R_OK) != 0 || access(key, R_OK) != 0) {
        return NULL;
    }
    host *made = &hosts->list[hosts->count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    made->credential = read_credential(chain, key);
    return made->credential;
}

// Answers SELECT_CREDENTIAL. The answer could as well come from another thread, or seconds later: the handshake
// waits, and other connections go on.
static void answer(tercel_handshake *handshake, void *context) {
    if (tercel_handshake_question(handshake) != TERCEL_QUESTION_SELECT_CREDENTIAL) {
        fail("question", "one that was not requested");
    }
    tercel_bytes requested = tercel_question_bytes(handshake, TERCEL_FIELD_SERVER_NAME, 0);
    char name[254];
    snprintf(name, sizeof name, "%.*s", (int)requested.len, requested.data == NULL ? "" : (const char *)requested.data);
    const tercel_credential *credential = find(context, name);
    size_t index = 0;
    if (credential != NULL) {
        // Whether the client can verify signatures of this key.
        need(tercel_question_find_credential(handshake, &credential, 1, &index), "find_credential");
    }
    // NULL refuses the connection.
    need(tercel_answer_credential(handshake, index == 0 ? credential : NULL), "answer");
}

int main(int count, char **arguments) {
    if (count != 4) {
        fail("usage", "hosts PORT COUNT FOLDER");
    }
    static hosts hosts;
    hosts.folder = arguments[3];
    const tercel_config *config;
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    need(tercel_config_builder_set_questions(builder, TERCEL_ASK_SELECT_CREDENTIAL), "questions");
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    int listener = listen_on((uint16_t)atoi(arguments[1]));
    for (long left = atol(arguments[2]); left > 0; left--) {
        int socket = accept(listener, NULL, NULL);
        tercel_handshake *hello;
        need(tercel_handshake_server(config, &hello), "handshake");
        tercel_input *input = tercel_input_new(0);
        tercel_output *output = tercel_output_new();
        tercel_connection *connection = handshake(socket, hello, input, output, answer, &hosts);
        tercel_handshake_free(hello);
        if (connection != NULL) {
            tercel_bytes name = tercel_connection_fact_bytes(connection, TERCEL_FACT_SERVER_NAME, 0);
            printf("a client of %.*s\n", (int)name.len, (const char *)name.data);
            fflush(stdout);
            need(tercel_connection_close(connection, output), "close");
            send_all(socket, output);
        }
        close_socket(socket);
        tercel_connection_free(connection);
        tercel_input_free(input);
        tercel_output_free(output);
    }
    close(listener);
    for (size_t at = 0; at < hosts.count; at++) {
        tercel_credential_release(hosts.list[at].credential);
    }
    tercel_config_release(config);
    return 0;
}
