// Returns to each client what it sends, to thousands of clients in one thread.
//
// usage: epoll_server CHAIN KEY [PORT [COUNT]]      PEM files; ends after COUNT connections, by default never
//
// A connection is a state: a handshake, or an established connection, with received bytes and bytes to send. The
// loop receives what there is, calls the library, and sends what fits.

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

// Seconds for a handshake, and for a client that is slow to read its answers.
enum { HANDSHAKE_SECONDS = 20, STALLED_SECONDS = 60 };
// While more bytes than this wait to be sent, the server receives no more: a client must not fill its memory.
enum { MOST_UNSENT = 64 << 10 };
// Bytes of early data that a client may send.
enum { MOST_EARLY_DATA = 16 << 10 };
// Early data is admitted if it is not older than this. A server that has just started does not know what an earlier
// one has admitted, so it rejects all early data for twice this time and a second.
enum { FRESHNESS_SECONDS = 2 };

typedef struct client {
    int socket;
    tercel_handshake *handshake;    // NULL once it is complete
    tercel_connection *connection;  // NULL until then
    tercel_input *input;
    tercel_output *output;
    uint32_t events;  // what epoll waits for
    int closing;      // the server has sent its last bytes, or failed: close when they are sent
    time_t deadline;  // 0: none
} client;

typedef struct server {
    const tercel_config *config;
    int epoll, listener;
    client **clients;  // by socket
    size_t room, now, most;
    long ended, failed;
    unsigned long long bytes;
    time_t time;
} server;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "epoll_server: %s: %s\n", what, why);
    exit(1);
}

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fail(what, tercel_status_text(status));
    }
}

static void end(server *server, client *client) {
    server->clients[client->socket] = NULL;
    close(client->socket);
    tercel_handshake_free(client->handshake);
    tercel_connection_free(client->connection);
    tercel_input_free(client->input);
    tercel_output_free(client->output);
    free(client);
    server->now--;
    server->ended++;
}

// Continues the handshake. Returns 0 if it failed.
static int advance(server *server, client *client) {
    tercel_next next;
    tercel_status status = tercel_handshake_advance(client->handshake, client->input, client->output, &next);
    while (status == TERCEL_OK && next == TERCEL_NEXT_EARLY_DATA) {
        // It may be a replay of an attacker, which an echo server need not mind. The answer is sent at once.
        tercel_bytes data = tercel_handshake_early_data(client->handshake);
        size_t taken;
        need(tercel_handshake_seal_early(client->handshake, data.data, data.len, client->output, &taken), "answer");
        server->bytes += taken;
        status = tercel_handshake_advance(client->handshake, client->input, client->output, &next);
    }
    if (status != TERCEL_OK) {
        char why[300];
        tercel_handshake_error(client->handshake, why, sizeof why);
        fprintf(stderr, "epoll_server: handshake: %s\n", why);
        server->failed++;
        return 0;
    }
    if (next == TERCEL_NEXT_CONNECTED) {
        need(tercel_handshake_take_connection(client->handshake, &client->connection), "connection");
        tercel_handshake_free(client->handshake);
        client->handshake = NULL;
        client->deadline = 0;
    }
    return 1;
}

// Answers all records that have arrived. Returns 0 if the connection is over.
static int answer(server *server, client *client) {
    while (tercel_output_bytes(client->output).len < MOST_UNSENT) {
        tercel_bytes data;
        tercel_event event;
        tercel_status status = tercel_connection_open_in_place(client->connection, client->input, &data, &event);
        if (status != TERCEL_OK) {
            tercel_connection_flush(client->connection, client->output);  // the alert
            server->failed++;
            return 0;
        }
        if (event == TERCEL_EVENT_CLOSED) {
            tercel_connection_close(client->connection, client->output);
            return 0;
        }
        if (event != TERCEL_EVENT_DATA) {
            tercel_connection_flush(client->connection, client->output);  // what the client may have requested
            return 1;
        }
        server->bytes += data.len;
        need(tercel_connection_seal_to(client->connection, data.data, data.len, client->output), "answer");
    }
    return 1;
}

// Receives what there is. Returns 0 at the end of input.
static int receive(client *client) {
    size_t room;
    uint8_t *space = tercel_input_space(client->input, &room);
    ssize_t count = recv(client->socket, space, room, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 1;
    }
    need(tercel_input_filled(client->input, count < 0 ? 0 : (size_t)count), "input");
    return count > 0;
}

// Sends what fits. Returns 0 if the connection is lost.
static int send_some(client *client) {
    for (tercel_bytes bytes; (bytes = tercel_output_bytes(client->output)).len > 0;) {
        ssize_t count = send(client->socket, bytes.data, bytes.len, MSG_NOSIGNAL);
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        need(tercel_output_sent(client->output, (size_t)count), "output");
    }
    return 1;
}

// Sets what epoll waits for. An idle connection gives its memory back.
static void wait_for_more(server *server, client *client) {
    size_t unsent = tercel_output_bytes(client->output).len;
    uint32_t events = (unsent > 0 ? EPOLLOUT : 0u) | (client->closing || unsent >= MOST_UNSENT ? 0u : EPOLLIN);
    if (events != client->events) {
        struct epoll_event event = {.events = events, .data.ptr = client};
        epoll_ctl(server->epoll, EPOLL_CTL_MOD, client->socket, &event);
        client->events = events;
    }
    if (client->connection != NULL) {
        client->deadline = unsent > 0 ? server->time + STALLED_SECONDS : 0;
        if (unsent == 0) {
            tercel_connection_park(client->connection);
            tercel_input_release(client->input);
            tercel_output_release(client->output);
        }
    }
}

static void serve(server *server, client *client, uint32_t events) {
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !client->closing && !receive(client)) {
        // Without close_notify, the data may be incomplete. An echo server has no use for the difference.
        end(server, client);
        return;
    }
    if (!client->closing && client->handshake != NULL) {
        client->closing = !advance(server, client);
    }
    if (!client->closing && client->connection != NULL) {
        client->closing = !answer(server, client);
    }
    int alive = send_some(client);
    if (!alive || (client->closing && tercel_output_bytes(client->output).len == 0)) {
        end(server, client);
        return;
    }
    // Sending made room for answers to records that have arrived before.
    if (!client->closing && client->connection != NULL && tercel_input_unread(client->input).len > 0 &&
        tercel_output_bytes(client->output).len == 0) {
        serve(server, client, 0);
        return;
    }
    wait_for_more(server, client);
}

static void accept_all(server *server) {
    for (int socket; (socket = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
        if ((size_t)socket >= server->room) {
            close(socket);  // more sockets than the limit of the process allows
            continue;
        }
        client *made = calloc(1, sizeof *made);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = made};
        if (made == NULL || epoll_ctl(server->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
            fail("connection", strerror(errno));
        }
        *made = (client){.socket = socket, .events = EPOLLIN, .deadline = server->time + HANDSHAKE_SECONDS};
        need(tercel_handshake_server(server->config, &made->handshake), "handshake");
        made->input = tercel_input_new(0);
        made->output = tercel_output_new();
        server->clients[socket] = made;
        if (++server->now > server->most) {
            server->most = server->now;
        }
    }
}

static void end_late_ones(server *server) {
    for (size_t socket = 0; socket < server->room; socket++) {
        client *client = server->clients[socket];
        if (client != NULL && client->deadline != 0 && client->deadline < server->time) {
            server->failed++;
            end(server, client);
        }
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

static const tercel_config *configure(const char *chain_file, const char *key_file) {
    static uint8_t chain[1 << 16], key[1 << 14];
    size_t chain_len = read_file(chain_file, chain, sizeof chain);
    size_t key_len = read_file(key_file, key, sizeof key);
    const tercel_credential *credential;
    need(tercel_credential_from_pem(chain, chain_len, key, key_len, &credential), chain_file);
    tercel_config_builder *builder = tercel_config_builder_new(TERCEL_SERVER);
    need(tercel_config_builder_add_credential(builder, credential), "credential");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_EARLY_DATA, MOST_EARLY_DATA), "early data");
    need(tercel_config_builder_set_option(builder, TERCEL_OPTION_FRESHNESS_WINDOW, FRESHNESS_SECONDS), "window");
    const tercel_config *config;
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_credential_release(credential);
    return config;
}

static int listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0) {
        fail("listen", strerror(errno));
    }
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int count, char **arguments) {
    if (count < 3 || count > 5) {
        fail("usage", "epoll_server CHAIN KEY [PORT [COUNT]]");
    }
    server server = {.config = configure(arguments[1], arguments[2]), .epoll = epoll_create1(0)};
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 100000 ? files.rlim_max : 100000;
    setrlimit(RLIMIT_NOFILE, &files);
    server.room = files.rlim_cur;
    server.clients = calloc(server.room, sizeof *server.clients);
    server.listener = listen_on(count > 3 ? (uint16_t)atoi(arguments[3]) : 8443);
    long last = count > 4 ? atol(arguments[4]) : -1;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL}, ready[256];
    epoll_ctl(server.epoll, EPOLL_CTL_ADD, server.listener, &event);
    for (time_t swept = server.time = time(NULL); last < 0 || server.ended < last;) {
        int found = epoll_wait(server.epoll, ready, 256, 1000);
        server.time = time(NULL);
        for (int at = 0; at < found; at++) {
            if (ready[at].data.ptr == NULL) {
                accept_all(&server);
            } else {
                serve(&server, ready[at].data.ptr, ready[at].events);
            }
        }
        if (server.time != swept) {
            end_late_ones(&server);
            swept = server.time;
        }
    }
    printf("%ld connections, %zu at once, %ld failed, %llu bytes\n", server.ended, server.most, server.failed,
           server.bytes);
    close(server.listener);
    close(server.epoll);
    for (size_t socket = 0; socket < server.room; socket++) {
        if (server.clients[socket] != NULL) {
            end(&server, server.clients[socket]);
        }
    }
    free(server.clients);
    tercel_config_release(server.config);
    return 0;
}
