// Opens many connections to an echo server, keeps all of them open, and then sends a message on each.
//
// usage: many_clients ROOTS NAME PORT COUNT      ROOTS is a PEM file; the server runs on this machine

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <tercel.h>

// Handshakes at once, and the seconds after which the program gives up.
enum { AT_ONCE = 200, SECONDS = 240 };

typedef struct client {
    int socket;
    uint32_t events;  // what epoll waits for
    tercel_handshake *handshake;
    tercel_connection *connection;
    tercel_input *input;
    tercel_output *output;
    char text[40];
    size_t len, got;  // of the text
} client;

static int epoll;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "many_clients: %s: %s\n", what, why);
    exit(1);
}

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fail(what, tercel_status_text(status));
    }
}

// Sends what fits, and waits for the rest if there is any.
static void send_some(client *client) {
    for (tercel_bytes bytes; (bytes = tercel_output_bytes(client->output)).len > 0;) {
        ssize_t count = send(client->socket, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (count < 0) {
            fail("send", strerror(errno));
        }
        need(tercel_output_sent(client->output, (size_t)count), "output");
    }
    uint32_t events = EPOLLIN | (tercel_output_bytes(client->output).len > 0 ? EPOLLOUT : 0u);
    if (events != client->events) {
        struct epoll_event event = {.events = events, .data.ptr = client};
        epoll_ctl(epoll, EPOLL_CTL_MOD, client->socket, &event);
        client->events = events;
    }
}

static void receive(client *client) {
    size_t room;
    uint8_t *space = tercel_input_space(client->input, &room);
    ssize_t count = recv(client->socket, space, room, MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        fail("receive", strerror(errno));
    }
    if (count == 0) {
        fail("receive", "the server closed the connection");
    }
    need(tercel_input_filled(client->input, count < 0 ? 0 : (size_t)count), "input");
}

// Continues the handshake. Returns 1 if it is complete.
static int advance(client *client) {
    tercel_next next;
    tercel_status status = tercel_handshake_advance(client->handshake, client->input, client->output, &next);
    send_some(client);
    if (status != TERCEL_OK) {
        char why[300];
        tercel_handshake_error(client->handshake, why, sizeof why);
        fail("handshake", why);
    }
    if (next != TERCEL_NEXT_CONNECTED) {
        return 0;
    }
    need(tercel_handshake_take_connection(client->handshake, &client->connection), "connection");
    tercel_handshake_free(client->handshake);
    client->handshake = NULL;
    return 1;
}

// Reads the answer. Returns 1 if it is complete.
static int read_answer(client *client) {
    for (;;) {
        tercel_bytes data;
        tercel_event event;
        need(tercel_connection_open_in_place(client->connection, client->input, &data, &event), "answer");
        if (event != TERCEL_EVENT_DATA) {
            return client->len > 0 && client->got == client->len;
        }
        if (data.len > client->len - client->got || memcmp(client->text + client->got, data.data, data.len) != 0) {
            fail("answer", "it is not what was sent");
        }
        client->got += data.len;
    }
}

static void start(client *client, const tercel_config *config, const char *name, uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (client->socket < 0 || (connect(client->socket, (struct sockaddr *)&address, sizeof address) != 0 &&
                               errno != EINPROGRESS)) {
        fail("connect", strerror(errno));
    }
    need(tercel_handshake_client(config, name, strlen(name), port, &client->handshake), name);
    client->input = tercel_input_new(0);
    client->output = tercel_output_new();
    client->events = EPOLLIN | EPOLLOUT;
    struct epoll_event event = {.events = client->events, .data.ptr = client};
    epoll_ctl(epoll, EPOLL_CTL_ADD, client->socket, &event);
}

// Opens all connections, a few at a time.
static void open_all(client *clients, size_t count, const tercel_config *config, const char *name, uint16_t port) {
    struct epoll_event ready[256];
    for (size_t started = 0, connected = 0; connected < count;) {
        while (started < count && started - connected < AT_ONCE) {
            start(&clients[started++], config, name, port);
        }
        int found = epoll_wait(epoll, ready, 256, 1000);
        for (int at = 0; at < found; at++) {
            client *client = ready[at].data.ptr;
            if ((ready[at].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
                receive(client);
            }
            if (client->connection != NULL) {
                read_answer(client);  // session tickets; there is no answer yet
            } else if (advance(client)) {
                read_answer(client);
                tercel_input_release(client->input);
                tercel_output_release(client->output);
                tercel_connection_park(client->connection);
                connected++;
            }
        }
    }
}

// Sends a text on each connection, and waits until all have come back.
static void send_to_all(client *clients, size_t count) {
    struct epoll_event ready[256];
    for (size_t at = 0; at < count; at++) {
        client *client = &clients[at];
        client->len = (size_t)snprintf(client->text, sizeof client->text, "message of client %zu", at);
        need(tercel_connection_seal_to(client->connection, (uint8_t *)client->text, client->len, client->output), "text");
        send_some(client);
    }
    for (size_t answers = 0; answers < count;) {
        int found = epoll_wait(epoll, ready, 256, 1000);
        for (int at = 0; at < found; at++) {
            client *client = ready[at].data.ptr;
            int complete = client->got == client->len;
            if ((ready[at].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
                receive(client);
            }
            send_some(client);
            answers += !complete && read_answer(client) ? 1u : 0u;
        }
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static const tercel_config *configure(const char *roots_file) {
    static uint8_t pem[1 << 20];
    FILE *file = fopen(roots_file, "rb");
    if (file == NULL) {
        fail(roots_file, "cannot be read");
    }
    size_t len = fread(pem, 1, sizeof pem, file);
    fclose(file);
    const tercel_roots *roots;
    need(tercel_roots_from_pem(pem, len, &roots), roots_file);
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_CLIENT);
    need(tercel_config_builder_set_roots(builder, roots), "roots");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_SESSIONS, TERCEL_SESSIONS_NONE), "sessions");
    const tercel_config *config;
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_roots_release(roots);
    return config;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fail("usage", "many_clients ROOTS NAME PORT COUNT");
    }
    size_t many = strtoul(arguments[4], NULL, 10);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < many + 10) {
        fail("connections", "the limit of open files is too low");
    }
    alarm(SECONDS);
    const tercel_config *config = configure(arguments[1]);
    client *clients = calloc(many, sizeof *clients);
    epoll = epoll_create1(0);
    double begin = seconds();
    open_all(clients, many, config, arguments[2], (uint16_t)atoi(arguments[3]));
    double opened = seconds();
    send_to_all(clients, many);
    printf("%zu connections at once, opened in %.1f s; %zu answers in %.1f s\n", many, opened - begin, many,
           seconds() - opened);
    for (size_t at = 0; at < many; at++) {
        need(tercel_connection_close(clients[at].connection, clients[at].output), "close");
        send_some(&clients[at]);
        close(clients[at].socket);
        tercel_connection_free(clients[at].connection);
        tercel_input_free(clients[at].input);
        tercel_output_free(clients[at].output);
    }
    free(clients);
    close(epoll);
    tercel_config_release(config);
    return 0;
}
