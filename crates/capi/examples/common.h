// Sockets, files and the handshake over a blocking socket, for the examples that show something else.

#ifndef COMMON_H
#define COMMON_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tercel.h>

#include "close_socket.h"

// Answers the open question of a handshake.
typedef void (*answer_function)(tercel_handshake *handshake, void *context);

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fail(what, tercel_status_text(status));
    }
}

static inline size_t read_file(const char *name, uint8_t *data, size_t room) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        fail(name, "cannot be read");
    }
    size_t len = fread(data, 1, room, file);
    fclose(file);
    return len;
}

static inline const tercel_roots *read_roots(const char *name) {
    static uint8_t pem[1 << 20];
    const tercel_roots *roots;
    need(tercel_roots_from_pem(pem, read_file(name, pem, sizeof pem), &roots), name);
    return roots;
}

static inline const tercel_credential *read_credential(const char *chain_file, const char *key_file) {
    static uint8_t chain[1 << 16], key[1 << 14];
    const tercel_credential *credential;
    size_t chain_len = read_file(chain_file, chain, sizeof chain), key_len = read_file(key_file, key, sizeof key);
    need(tercel_credential_from_pem(chain, chain_len, key, key_len, &credential), chain_file);
    return credential;
}

static inline int connect_to(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int made = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("connect", "nobody listens on this port");
    }
    return made;
}

static inline int listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 100) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        fail("listen", "the port is not free");
    }
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

// Sends all bytes of the queue. Returns 0 if the connection is lost.
static inline int send_all(int socket, tercel_output *output) {
    for (tercel_bytes bytes; (bytes = tercel_output_bytes(output)).len > 0;) {
        ssize_t count = send(socket, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (count <= 0) {
            return 0;
        }
        need(tercel_output_sent(output, (size_t)count), "output");
    }
    return 1;
}

// Receives some bytes. Returns 0 at the end of the transport's input, and if the connection is lost.
static inline int receive(int socket, tercel_input *input) {
    size_t room;
    uint8_t *space = tercel_input_space(input, &room);
    ssize_t count = recv(socket, space, room, 0);
    need(tercel_input_filled(input, count < 0 ? 0 : (size_t)count), "input");
    return count > 0;
}

// Makes the handshake. Returns NULL if it fails, after it has printed why.
static inline tercel_connection *handshake(int socket, tercel_handshake *handshake, tercel_input *input,
                                           tercel_output *output, answer_function answer, void *context) {
    for (;;) {
        tercel_next next;
        tercel_status status = tercel_handshake_advance(handshake, input, output, &next);
        int sent = send_all(socket, output);  // after an error, the alert
        if (sent && status == TERCEL_OK && next == TERCEL_NEXT_CONNECTED) {
            tercel_connection *connection;
            need(tercel_handshake_take_connection(handshake, &connection), "connection");
            return connection;
        }
        if (sent && status == TERCEL_OK && next == TERCEL_NEXT_ANSWER) {
            answer(handshake, context);
            continue;
        }
        if (status == TERCEL_OK && (!sent || !receive(socket, input))) {
            status = tercel_handshake_end_of_input(handshake);
        }
        if (status != TERCEL_OK) {
            char why[400];
            tercel_handshake_error(handshake, why, sizeof why);
            printf("refused: %s\n", why);
            return NULL;
        }
    }
}

// Receives data. Returns their number, 0 after the peer's close_notify.
static inline size_t read_some(int socket, tercel_connection *connection, tercel_input *input, char *data,
                               size_t room) {
    for (;;) {
        size_t filled;
        tercel_event event;
        need(tercel_connection_open(connection, input, (uint8_t *)data, room, &filled, &event), "receive");
        if (event == TERCEL_EVENT_DATA || event == TERCEL_EVENT_CLOSED) {
            return filled;
        }
        if (!receive(socket, input)) {
            need(tercel_connection_end_of_input(connection), "end of input");
            return 0;
        }
    }
}

#endif
