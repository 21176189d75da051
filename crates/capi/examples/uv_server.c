// Returns to each client what it sends, with the event loop libuv (Debian: libuv1-dev).
//
// usage: uv_server CHAIN KEY [PORT [COUNT]]      PEM files; ends after COUNT connections, by default never
//
// The first part is an adapter that fits any program with libuv: tls_start, tls_write, tls_close and two functions
// that it calls. libuv writes in the background, from memory that must not change, so that there are two queues:
// the library appends to one while libuv writes the other.

#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tercel.h>
#include <uv.h>

static void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        fprintf(stderr, "uv_server: %s: %s\n", what, tercel_status_text(status));
        exit(1);
    }
}

typedef struct tls tls;

// Data have arrived. They are valid during the call.
typedef void (*tls_data_function)(tls *tls, const uint8_t *data, size_t len);
// The connection has ended; why is NULL if the peer closed it. The function frees the memory of the structure.
typedef void (*tls_end_function)(tls *tls, const char *why);

struct tls {
    uv_tcp_t tcp;
    uv_write_t write;
    tercel_handshake *handshake;    // NULL once it is complete
    tercel_connection *connection;  // NULL until then
    tercel_input *input;
    tercel_output *output;   // the library appends
    tercel_output *writing;  // libuv writes
    int is_writing, is_closing;
    char why[300];  // empty: the peer closed the connection
    tls_data_function on_data;
    tls_end_function on_end;
};

static void closed(uv_handle_t *handle) {
    tls *tls = handle->data;
    tercel_handshake_free(tls->handshake);
    tercel_connection_free(tls->connection);
    tercel_input_free(tls->input);
    tercel_output_free(tls->output);
    tercel_output_free(tls->writing);
    tls->on_end(tls, tls->why[0] == 0 ? NULL : tls->why);
}

static void close_now(tls *tls) {
    if (!uv_is_closing((uv_handle_t *)&tls->tcp)) {
        uv_close((uv_handle_t *)&tls->tcp, closed);
    }
}

static void flush(tls *tls);

static void written(uv_write_t *write, int status) {
    tls *tls = write->data;
    tls->is_writing = 0;
    need(tercel_output_sent(tls->writing, tercel_output_bytes(tls->writing).len), "output");
    if (status < 0) {
        snprintf(tls->why, sizeof tls->why, "write: %s", uv_strerror(status));
        close_now(tls);
    } else {
        flush(tls);
    }
}

// Begins to write what the library has appended. Closes the socket after the last byte.
static void flush(tls *tls) {
    if (tls->is_writing || uv_is_closing((uv_handle_t *)&tls->tcp)) {
        return;
    }
    tercel_bytes bytes = tercel_output_bytes(tls->output);
    if (bytes.len == 0) {
        if (tls->is_closing) {
            close_now(tls);
        }
        return;
    }
    tercel_output *full = tls->output;
    tls->output = tls->writing;
    tls->writing = full;
    uv_buf_t buffer = uv_buf_init((char *)bytes.data, (unsigned)bytes.len);
    tls->write.data = tls;
    tls->is_writing = uv_write(&tls->write, (uv_stream_t *)&tls->tcp, &buffer, 1, written) == 0;
    if (!tls->is_writing) {
        close_now(tls);
    }
}

// Encrypts and sends data. Calls during the handshake are not allowed.
static void tls_write(tls *tls, const uint8_t *data, size_t len) {
    if (tercel_connection_seal_to(tls->connection, data, len, tls->output) == TERCEL_OK) {
        flush(tls);
    }
}

// Says that nothing more is sent, and closes the socket.
static void tls_close(tls *tls) {
    if (tls->connection != NULL) {
        tercel_connection_close(tls->connection, tls->output);
    }
    tls->is_closing = 1;
    flush(tls);
}

static void advance(tls *tls) {
    tercel_next next;
    if (tercel_handshake_advance(tls->handshake, tls->input, tls->output, &next) != TERCEL_OK) {
        tercel_handshake_error(tls->handshake, tls->why, sizeof tls->why);
        tls->is_closing = 1;
    } else if (next == TERCEL_NEXT_CONNECTED) {
        need(tercel_handshake_take_connection(tls->handshake, &tls->connection), "connection");
        tercel_handshake_free(tls->handshake);
        tls->handshake = NULL;
    }
}

static void receive(tls *tls) {
    while (!tls->is_closing) {
        tercel_bytes data;
        tercel_event event;
        if (tercel_connection_open_in_place(tls->connection, tls->input, &data, &event) != TERCEL_OK) {
            tercel_connection_error(tls->connection, tls->why, sizeof tls->why);
            tercel_connection_flush(tls->connection, tls->output);  // the alert
            tls->is_closing = 1;
        } else if (event == TERCEL_EVENT_CLOSED) {
            tls_close(tls);
        } else if (event == TERCEL_EVENT_DATA) {
            tls->on_data(tls, data.data, data.len);
        } else {
            tercel_connection_flush(tls->connection, tls->output);  // what the peer may have requested
            return;
        }
    }
}

static void give_space(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    tls *tls = handle->data;
    size_t room;
    uint8_t *space = tercel_input_space(tls->input, &room);
    *buffer = uv_buf_init((char *)space, (unsigned)room);
    (void)suggested;
}

static void arrived(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer) {
    tls *tls = stream->data;
    (void)buffer;
    if (tls->is_closing) {
        return;
    }
    if (count < 0) {
        tercel_status status = tls->connection == NULL ? tercel_handshake_end_of_input(tls->handshake)
                                                       : tercel_connection_end_of_input(tls->connection);
        const char *why = count == UV_EOF ? tercel_status_text(status) : uv_strerror((int)count);
        snprintf(tls->why, sizeof tls->why, "%s", count == UV_EOF && status == TERCEL_OK ? "" : why);
        close_now(tls);
        return;
    }
    need(tercel_input_filled(tls->input, (size_t)count), "input");
    if (tls->connection == NULL) {
        advance(tls);
    }
    if (tls->connection != NULL) {
        receive(tls);
    }
    flush(tls);
}

// Accepts a connection, and begins its handshake.
static int tls_start(tls *tls, uv_stream_t *listener, const tercel_config *config, tls_data_function on_data,
                     tls_end_function on_end) {
    memset(tls, 0, sizeof *tls);
    need(tercel_handshake_server(config, &tls->handshake), "handshake");
    tls->input = tercel_input_new(0);
    tls->output = tercel_output_new();
    tls->writing = tercel_output_new();
    tls->on_data = on_data;
    tls->on_end = on_end;
    uv_tcp_init(listener->loop, &tls->tcp);
    tls->tcp.data = tls;
    int status = uv_accept(listener, (uv_stream_t *)&tls->tcp);
    return status == 0 ? uv_read_start((uv_stream_t *)&tls->tcp, give_space, arrived) : status;
}

// The server.

typedef struct server {
    uv_tcp_t listener;
    const tercel_config *config;
    long left;
} server;

static void answer(tls *tls, const uint8_t *data, size_t len) { tls_write(tls, data, len); }

static void ended(tls *tls, const char *why) {
    server *server = tls->tcp.loop->data;
    if (why != NULL) {
        fprintf(stderr, "uv_server: %s\n", why);
    }
    free(tls);
    if (--server->left == 0) {
        uv_close((uv_handle_t *)&server->listener, NULL);
    }
}

static void accept_one(uv_stream_t *listener, int status) {
    server *server = listener->loop->data;
    tls *made = status == 0 ? malloc(sizeof *made) : NULL;
    if (made != NULL && tls_start(made, listener, server->config, answer, ended) != 0) {
        close_now(made);
    }
}

static size_t read_file(const char *name, uint8_t *data, size_t room) {
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        fprintf(stderr, "uv_server: %s cannot be read\n", name);
        exit(1);
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
    const tercel_config *config;
    need(tercel_config_builder_build(builder, &config), "configuration");
    tercel_config_builder_free(builder);
    tercel_credential_release(credential);
    return config;
}

int main(int count, char **arguments) {
    if (count < 3 || count > 5) {
        fprintf(stderr, "usage: uv_server CHAIN KEY [PORT [COUNT]]\n");
        return 1;
    }
    server server = {.config = configure(arguments[1], arguments[2]), .left = count > 4 ? atol(arguments[4]) : -1};
    uv_loop_t *loop = uv_default_loop();
    struct sockaddr_in address;
    uv_ip4_addr("127.0.0.1", count > 3 ? atoi(arguments[3]) : 8443, &address);
    loop->data = &server;
    uv_tcp_init(loop, &server.listener);
    uv_tcp_bind(&server.listener, (struct sockaddr *)&address, 0);
    int status = uv_listen((uv_stream_t *)&server.listener, 4096, accept_one);
    int len = sizeof address;
    if (status != 0 || uv_tcp_getsockname(&server.listener, (struct sockaddr *)&address, &len) != 0) {
        fprintf(stderr, "uv_server: listen: %s\n", uv_strerror(status));
        return 1;
    }
    printf("listening on port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    tercel_config_release(server.config);
    return 0;
}
