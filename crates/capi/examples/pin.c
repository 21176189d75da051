// A client that decides about the server's certificate: it must be valid, and be the one of a file.
//
// usage: pin ROOTS CERTIFICATE NAME PORT      ROOTS is a PEM file, CERTIFICATE is one in DER

#define _POSIX_C_SOURCE 200809L

#include "common.h"

typedef struct pinned {
    const tercel_roots *roots;
    uint8_t certificate[1 << 14];
    size_t len;
} pinned;

// Answers VERIFY_PEER.
static void answer(tercel_handshake *handshake, void *context) {
    if (tercel_handshake_question(handshake) != TERCEL_QUESTION_VERIFY_PEER) {
        fail("question", "one that was not requested");
    }
    const pinned *pinned = context;
    const char *why = NULL;
    // What a configuration with these roots checks: signatures, names, times, and what each certificate may sign.
    tercel_status verdict = tercel_question_verify_chain(handshake, pinned->roots);
    tercel_bytes leaf = tercel_question_bytes(handshake, TERCEL_FIELD_CERTIFICATE, 0);
    if (verdict == TERCEL_OK && (leaf.len != pinned->len || memcmp(leaf.data, pinned->certificate, leaf.len) != 0)) {
        verdict = TERCEL_REFUSED_BY_VERIFIER | 46 << 16;  // the alert certificate_unknown
        why = "this is another certificate than the pinned one";
    }
    need(tercel_answer_peer(handshake, verdict, why, why == NULL ? 0 : strlen(why)), "answer");
}

int main(int count, char **arguments) {
    if (count != 5) {
        fail("usage", "pin ROOTS CERTIFICATE NAME PORT");
    }
    static pinned pinned;
    pinned.roots = read_roots(arguments[1]);
    pinned.len = read_file(arguments[2], pinned.certificate, sizeof pinned.certificate);
    const tercel_config *config;
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    need(tercel_config_builder_set_questions(builder, TERCEL_ASK_VERIFY_PEER), "questions");
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_handshake *hello;
    need(tercel_handshake_client(config, arguments[3], strlen(arguments[3]), 0, &hello), arguments[3]);
    int socket = connect_to((uint16_t)atoi(arguments[4]));
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    tercel_connection *connection = handshake(socket, hello, input, output, answer, &pinned);
    if (connection != NULL) {
        printf("trusted\n");
        need(tercel_connection_close(connection, output), "close");
        send_all(socket, output);
    }
    close_socket(socket);
    tercel_handshake_free(hello);
    int trusted = connection != NULL;
    tercel_connection_free(connection);
    tercel_input_free(input);
    tercel_output_free(output);
    tercel_roots_release(pinned.roots);
    tercel_config_release(config);
    return trusted ? 0 : 1;
}
