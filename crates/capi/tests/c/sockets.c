// A client and a server over blocking sockets, for tests with other TLS programs.
//
// usage: sockets client PORT ROOTS NAME      sends a request, and prints the response
//        sockets server PORT CHAIN KEY       answers one request; PORT 0 prints the port that it chose

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tercel.h"

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fail(what, tercel_status_text(status));
    }
}

static uint8_t *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(1 << 16);
    if (file == NULL || data == NULL) {
        fail(path, "cannot be read");
    }
    *len = fread(data, 1, 1 << 16, file);
    fclose(file);
    return data;
}

static void send_all(int socket, tercel_output *output) {
    for (;;) {
        tercel_bytes bytes = tercel_output_bytes(output);
        if (bytes.len == 0) {
            return;
        }
        ssize_t count = send(socket, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (count <= 0) {
            fail("send", "the connection is lost");
        }
        need(tercel_output_sent(output, (size_t)count), "sent");
    }
}

// Receives some bytes. Returns 0 at the end of input.
static int receive(int socket, tercel_input *input) {
    size_t room;
    uint8_t *space = tercel_input_space(input, &room);
    ssize_t count = recv(socket, space, room, 0);
    if (count < 0) {
        fail("recv", "the connection is lost");
    }
    need(tercel_input_filled(input, (size_t)count), "filled");
    return count > 0;
}

static tercel_connection *handshake(int socket, tercel_handshake *handshake, tercel_input *input, tercel_output *output) {
    for (;;) {
        tercel_next next;
        tercel_status status = tercel_handshake_advance(handshake, input, output, &next);
        send_all(socket, output);
        if (status == TERCEL_OK && next == TERCEL_NEXT_RECEIVE && !receive(socket, input)) {
            status = tercel_handshake_end_of_input(handshake);
        }
        if (status != TERCEL_OK) {
            char text[500];
            tercel_handshake_error(handshake, text, sizeof text);
            fail("handshake", text);
        }
        if (next == TERCEL_NEXT_CONNECTED) {
            tercel_connection *connection;
            need(tercel_handshake_take_connection(handshake, &connection), "take_connection");
            return connection;
        }
    }
}

// Receives data. Returns 0 after the peer's close_notify.
static size_t read_data(int socket, tercel_connection *connection, tercel_input *input, uint8_t *out, size_t room) {
    for (;;) {
        size_t filled;
        tercel_event event;
        need(tercel_connection_open(connection, input, out, room, &filled, &event), "open");
        if (event == TERCEL_EVENT_DATA || event == TERCEL_EVENT_CLOSED) {
            return filled;
        }
        if (!receive(socket, input)) {
            need(tercel_connection_end_of_input(connection), "end of input");
            return 0;
        }
    }
}

static void write_data(int socket, tercel_connection *connection, tercel_output *output, const char *text) {
    need(tercel_connection_seal_to(connection, (const uint8_t *)text, strlen(text), output), "seal");
    send_all(socket, output);
}

static int client_socket(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0) {
        fail("connect", "refused");
    }
    return made;
}

static int server_socket(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        fail("listen", "impossible");
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    int made = accept(listener, NULL, NULL);
    close(listener);
    return made;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fail("usage", "sockets client PORT ROOTS NAME | sockets server PORT CHAIN KEY");
    }
    int is_client = strcmp(arguments[1], "client") == 0;
    uint16_t port = (uint16_t)atoi(arguments[2]);
    tercel_config_builder *builder = tercel_config_builder_new(is_client ? TERCEL_CLIENT : TERCEL_SERVER);
    size_t len, key_len;
    uint8_t *file = read_file(arguments[3], &len);
    if (is_client) {
        const tercel_roots *roots;
        need(tercel_roots_from_pem(file, len, &roots), arguments[3]);
        need(tercel_config_builder_set_roots(builder, roots), "roots");
        tercel_roots_release(roots);
    } else {
        const tercel_credential *credential;
        uint8_t *key = read_file(arguments[4], &key_len);
        need(tercel_credential_from_pem(file, len, key, key_len, &credential), arguments[3]);
        need(tercel_config_builder_add_credential(builder, credential), "credential");
        tercel_credential_release(credential);
        free(key);
    }
    free(file);
    const tercel_config *config;
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);

    tercel_handshake *hello;
    if (is_client) {
        need(tercel_handshake_client(config, arguments[4], strlen(arguments[4]), port, &hello), arguments[4]);
    } else {
        need(tercel_handshake_server(config, &hello), "server");
    }
    tercel_config_release(config);
    int connected = is_client ? client_socket(port) : server_socket(port);
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    tercel_connection *connection = handshake(connected, hello, input, output);
    tercel_handshake_free(hello);

    uint8_t data[4096];
    size_t filled;
    if (is_client) {
        write_data(connected, connection, output, "GET / HTTP/1.0\r\n\r\n");
        while ((filled = read_data(connected, connection, input, data, sizeof data)) > 0) {
            fwrite(data, 1, filled, stdout);
        }
    } else {
        filled = read_data(connected, connection, input, data, sizeof data);
        printf("%.*s\n", (int)filled, (const char *)data);
        write_data(connected, connection, output, "HTTP/1.0 200 OK\r\n\r\nhello from C\n");
    }
    need(tercel_connection_close(connection, output), "close");
    send_all(connected, output);
    shutdown(connected, SHUT_WR);
    if (!is_client) {
        // The rest of the peer's bytes, so that the socket does not discard ours.
        while (recv(connected, data, sizeof data, 0) > 0) {
        }
    }
    close(connected);
    tercel_connection_free(connection);
    tercel_input_free(input);
    tercel_output_free(output);
    return 0;
}
