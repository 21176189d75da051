// Answers each HTTPS request with a text, over blocking sockets, one connection after the other.
//
// usage: server CHAIN KEY [PORT [COUNT]]      PEM files; ends after COUNT connections, by default never

#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <tercel.h>

#include "close_socket.h"

static void fail(const char *what, const char *why) {
    fprintf(stderr, "server: %s: %s\n", what, why);
    exit(1);
}

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fail(what, tercel_status_text(status));
    }
}

static size_t read_file(const char *name, uint8_t *data, size_t room) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        fail(name, "cannot be read");
    }
    size_t len = fread(data, 1, room, file);
    fclose(file);
    return len;
}

// A configuration serves all connections of a program: make it once.
static const tercel_config *configure(const char *chain_file, const char *key_file) {
    static uint8_t chain[1 << 16], key[1 << 14];
    size_t chain_len = read_file(chain_file, chain, sizeof chain);
    size_t key_len = read_file(key_file, key, sizeof key);
    const tercel_credential *credential;
    need(tercel_credential_from_pem(chain, chain_len, key, key_len, &credential), chain_file);
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    need(tercel_config_builder_add_credential(builder, credential), "credential");
    const tercel_config *config;
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_credential_release(credential);
    return config;
}

static int listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 100) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        fail("listen", "the port is not free");
    }
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

// Sends all bytes of the queue. Returns 0 if the connection is lost.
static int send_all(int socket, tercel_output *output) {
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
static int receive(int socket, tercel_input *input) {
    size_t room;
    uint8_t *space = tercel_input_space(input, &room);
    ssize_t count = recv(socket, space, room, 0);
    need(tercel_input_filled(input, count < 0 ? 0 : (size_t)count), "input");
    return count > 0;
}

// Makes the handshake. Returns NULL if it fails: the fault of a client must not end a server.
static tercel_connection *handshake(int socket, tercel_handshake *handshake, tercel_input *input,
                                    tercel_output *output) {
    for (;;) {
        tercel_next next;
        tercel_status status = tercel_handshake_advance(handshake, input, output, &next);
        int sent = send_all(socket, output);  // after an error, the alert
        if (sent && status == TERCEL_OK && next == TERCEL_NEXT_CONNECTED) {
            tercel_connection *connection;
            need(tercel_handshake_take_connection(handshake, &connection), "connection");
            return connection;
        }
        if (status == TERCEL_OK && (!sent || !receive(socket, input))) {
            status = tercel_handshake_end_of_input(handshake);
        }
        if (status != TERCEL_OK) {
            char why[300];
            tercel_handshake_error(handshake, why, sizeof why);
            fprintf(stderr, "server: handshake: %s\n", why);
            return NULL;
        }
    }
}

// Reads the first line of a request. Returns 0 if there is none.
static int read_request(int socket, tercel_connection *connection, tercel_input *input, char *line, size_t size) {
    for (size_t len = 0; len + 1 < size;) {
        size_t filled;
        tercel_event event;
        tercel_status status =
            tercel_connection_open(connection, input, (uint8_t *)line + len, size - 1 - len, &filled, &event);
        if (status != TERCEL_OK || event == TERCEL_EVENT_CLOSED) {
            return 0;
        }
        len += filled;
        line[len] = 0;
        char *end = strstr(line, "\r\n");
        if (end != NULL) {
            *end = 0;
            return 1;
        }
        if (event == TERCEL_EVENT_RECEIVE && !receive(socket, input)) {
            return 0;
        }
    }
    return 0;
}

// Serves one connection.
static void serve(int socket, const tercel_config *config) {
    tercel_handshake *hello;
    need(tercel_handshake_server(config, &hello), "handshake");
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    tercel_connection *connection = handshake(socket, hello, input, output);
    tercel_handshake_free(hello);
    char line[1000];
    if (connection != NULL && read_request(socket, connection, input, line, sizeof line)) {
        static const char response[] = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello from C\n";
        printf("%s\n", line);
        fflush(stdout);
        need(tercel_connection_seal_to(connection, (const uint8_t *)response, strlen(response), output), "response");
        need(tercel_connection_close(connection, output), "close");
    } else if (connection != NULL) {
        tercel_connection_flush(connection, output);  // an alert, if the client violated the protocol
    }
    send_all(socket, output);
    tercel_connection_free(connection);
    tercel_input_free(input);
    tercel_output_free(output);
}

int main(int count, char **arguments) {
    if (count < 3 || count > 5) {
        fail("usage", "server CHAIN KEY [PORT [COUNT]]");
    }
    const tercel_config *config = configure(arguments[1], arguments[2]);
    int listener = listen_on(count > 3 ? (uint16_t)atoi(arguments[3]) : 8443);
    for (long left = count > 4 ? atol(arguments[4]) : -1; left != 0; left--) {
        int socket = accept(listener, NULL, NULL);
        if (socket < 0) {
            continue;
        }
        // A client that sends nothing must not stop the server.
        struct timeval limit = {.tv_sec = 10};
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        serve(socket, config);
        close_socket(socket);
    }
    close(listener);
    tercel_config_release(config);
    return 0;
}
