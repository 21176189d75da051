// Reads a page from an HTTPS server, over a blocking socket.
//
// usage: client HOST [PATH [PORT [ROOTS]]]      ROOTS is a PEM file; by default, the system's roots are trusted
//
// cc -o client client.c $(pkg-config --cflags --libs tercel)

#define _POSIX_C_SOURCE 200809L

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tercel.h>

static void fail(const char *what, const char *why) {
    fprintf(stderr, "client: %s: %s\n", what, why);
    exit(1);
}

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fail(what, tercel_status_text(status));
    }
}

// A configuration serves all connections of a program: make it once.
static const tercel_config *configure(const char *roots_file) {
    const tercel_roots *roots;
    if (roots_file == NULL) {
        need(tercel_roots_system(&roots), "the system's roots");
    } else {
        static uint8_t pem[1 << 20];
        FILE *file = fopen(roots_file, "rb");
        if (file == NULL) {
            fail(roots_file, "cannot be read");
        }
        size_t len = fread(pem, 1, sizeof pem, file);
        fclose(file);
        need(tercel_roots_from_pem(pem, len, &roots), roots_file);
    }
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    need(tercel_config_builder_set_roots(builder, roots), "roots");
    const tercel_config *config;
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_roots_release(roots);
    return config;
}

static int connect_to(const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses;
    int error = getaddrinfo(host, port, &hints, &addresses);
    if (error != 0) {
        fail(host, gai_strerror(error));
    }
    for (struct addrinfo *each = addresses; each != NULL; each = each->ai_next) {
        int made = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
        if (made >= 0 && connect(made, each->ai_addr, each->ai_addrlen) == 0) {
            freeaddrinfo(addresses);
            return made;
        }
        close(made);
    }
    fail(host, "cannot connect");
    return -1;
}

// Sends all bytes of the queue.
static void send_all(int socket, tercel_output *output) {
    for (tercel_bytes bytes; (bytes = tercel_output_bytes(output)).len > 0;) {
        ssize_t count = send(socket, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (count <= 0) {
            fail("send", "the connection is lost");
        }
        need(tercel_output_sent(output, (size_t)count), "output");
    }
}

// Receives some bytes. Returns 0 at the end of the transport's input.
static int receive(int socket, tercel_input *input) {
    size_t room;
    uint8_t *space = tercel_input_space(input, &room);
    ssize_t count = recv(socket, space, room, 0);
    if (count < 0) {
        fail("receive", "the connection is lost");
    }
    need(tercel_input_filled(input, (size_t)count), "input");
    return count > 0;
}

// Makes the handshake. Returns the connection.
static tercel_connection *handshake(int socket, tercel_handshake *handshake, tercel_input *input,
                                    tercel_output *output) {
    for (;;) {
        tercel_next next;
        tercel_status status = tercel_handshake_advance(handshake, input, output, &next);
        send_all(socket, output);  // after an error, the alert
        if (status == TERCEL_OK && next == TERCEL_NEXT_CONNECTED) {
            tercel_connection *connection;
            need(tercel_handshake_take_connection(handshake, &connection), "connection");
            return connection;
        }
        if (status == TERCEL_OK && !receive(socket, input)) {
            status = tercel_handshake_end_of_input(handshake);
        }
        if (status != TERCEL_OK) {
            char why[300];
            tercel_handshake_error(handshake, why, sizeof why);
            fail("handshake", why);
        }
    }
}

// Prints all data until the server closes the connection.
static void print_all(int socket, tercel_connection *connection, tercel_input *input) {
    for (;;) {
        tercel_bytes data;
        tercel_event event;
        need(tercel_connection_open_in_place(connection, input, &data, &event), "receive");
        if (event == TERCEL_EVENT_CLOSED) {
            return;
        }
        if (event == TERCEL_EVENT_DATA) {
            fwrite(data.data, 1, data.len, stdout);
        } else if (!receive(socket, input)) {
            // An error if the server did not say that this is the end: an attacker can cut a connection.
            need(tercel_connection_end_of_input(connection), "end of input");
            return;
        }
    }
}

int main(int count, char **arguments) {
    if (count < 2 || count > 5) {
        fail("usage", "client HOST [PATH [PORT [ROOTS]]]");
    }
    const char *host = arguments[1], *path = count > 2 ? arguments[2] : "/", *port = count > 3 ? arguments[3] : "443";
    const tercel_config *config = configure(count > 4 ? arguments[4] : NULL);
    tercel_handshake *hello;
    need(tercel_handshake_client(config, host, strlen(host), 0, &hello), host);
    tercel_input *input = tercel_input_new(0);
    tercel_output *output = tercel_output_new();
    int socket = connect_to(host, port);
    tercel_connection *connection = handshake(socket, hello, input, output);
    tercel_handshake_free(hello);

    char request[1000];
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", path, host);
    if (len >= (int)sizeof request) {
        fail(path, "too long");
    }
    need(tercel_connection_seal_to(connection, (const uint8_t *)request, (size_t)len, output), "request");
    send_all(socket, output);
    print_all(socket, connection, input);
    need(tercel_connection_close(connection, output), "close");
    send_all(socket, output);

    close(socket);
    tercel_connection_free(connection);
    tercel_input_free(input);
    tercel_output_free(output);
    tercel_config_release(config);
    return 0;
}
