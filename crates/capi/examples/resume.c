// Connects to an echo server twice. The second connection resumes the session of the first, and sends its data
// with the first flight (early data), if the server allows that.
//
// usage: resume ROOTS NAME PORT      ROOTS is a PEM file; for example with the server epoll_server

#define _POSIX_C_SOURCE 200809L

#include "common.h"

// A session that the application keeps. A real program has a table of them, by the name of the server.
typedef struct session {
    uint8_t data[1 << 14];
    size_t len;
} session;

static const tercel_config *configure(const char *roots_file) {
    const tercel_roots *roots = read_roots(roots_file);
    const tercel_config *config;
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    need(tercel_config_builder_set_roots(builder, roots), "roots");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_SESSIONS, TERCEL_SESSIONS_GIVEN), "sessions");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_EARLY_DATA, 1), "early data");
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_roots_release(roots);
    return config;
}

// Keeps the newest session, for the next connection.
static void keep(tercel_connection *connection, session *session) {
    for (;;) {
        tercel_bytes taken;
        uint64_t expires;
        need(tercel_connection_take_session(connection, &taken, &expires), "session");
        if (taken.data == NULL) {
            return;
        }
        if (taken.len <= sizeof session->data) {
            memcpy(session->data, taken.data, taken.len);
            session->len = taken.len;
        }
    }
}

// Sends the text as early data, as much as the session allows. Returns how much was sent.
static size_t send_early(tercel_handshake *hello, tercel_input *input, tercel_output *output, const char *text) {
    tercel_next next;
    size_t taken = 0;
    need(tercel_handshake_advance(hello, input, output, &next), "ClientHello");
    if (tercel_handshake_early_data_left(hello) > 0) {
        need(tercel_handshake_seal_early(hello, (const uint8_t *)text, strlen(text), output, &taken), "early data");
    }
    return taken;
}

static void exchange(const tercel_config *config, const char *name, uint16_t port, const char *text,
                     session *session) {
    tercel_handshake *hello;
    need(tercel_handshake_client(config, name, strlen(name), port, &hello), name);
    if (session->len > 0) {
        need(tercel_handshake_offer_session(hello, session->data, session->len), "session");
        session->len = 0;  // each session is offered once
    }
    int socket = connect_to(port);
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    size_t sent = send_early(hello, input, output, text);
    tercel_connection *connection = handshake(socket, hello, input, output, NULL, NULL);
    if (connection == NULL) {
        exit(1);
    }
    tercel_handshake_free(hello);
    // The server may reject early data. It has then not seen them, and they have to be sent again.
    uint64_t early = tercel_connection_fact(connection, TERCEL_FACT_EARLY_DATA);
    sent = early == TERCEL_EARLY_DATA_ACCEPTED ? sent : 0;
    if (sent < strlen(text)) {
        need(tercel_connection_seal_to(connection, (const uint8_t *)text + sent, strlen(text) - sent, output), "text");
        send_all(socket, output);
    }
    char answer[1000];
    size_t got = 0, count;
    while (got < strlen(text) && (count = read_some(socket, connection, input, answer + got, sizeof answer - got)) > 0) {
        got += count;
    }
    keep(connection, session);
    printf("%s, early data %s: %.*s\n", tercel_connection_fact(connection, TERCEL_FACT_RESUMED) ? "resumed" : "full",
           early == TERCEL_EARLY_DATA_ACCEPTED ? "accepted" : "not accepted", (int)got, answer);
    need(tercel_connection_close(connection, output), "close");
    send_all(socket, output);
    close_socket(socket);
    tercel_connection_free(connection);
    tercel_input_free(input);
    tercel_output_free(output);
}

int main(int count, char **arguments) {
    if (count != 4) {
        fail("usage", "resume ROOTS NAME PORT");
    }
    static session session;
    const tercel_config *config = configure(arguments[1]);
    uint16_t port = (uint16_t)atoi(arguments[3]);
    exchange(config, arguments[2], port, "the first text", &session);
    exchange(config, arguments[2], port, "the second text", &session);
    tercel_config_release(config);
    return 0;
}
