// One connection with the runner: handshake, checks, echo, end.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim.h"

enum {
    CHUNK = 4096,
    // What BoringSSL's shim reads and echoes at a time.
    READ_SIZE = 512,
    // More than any record has.
    RECORD = 16640,
};

// The connection to the runner. With -async, input is delivered byte by byte.
typedef struct {
    test *test;
    // The options, which change after a rejection of early data.
    const options *options;
    int socket;
    tercel_input *input;
    tercel_output *output;
    uint8_t waiting[CHUNK];
    size_t waiting_len, delivered;
    // The content types of complete records, and the record that has begun.
    uint8_t records[256], header[5];
    size_t record_count, header_len, record_left;
    // Bytes that are withheld from the socket.
    bytes withheld;
    // The initial writes that are still to be sent, and how much of the first one was.
    bytes *writes;
    size_t write_count, first_write;
} exchange;

static exchange *open_exchange;

// The end of the connection: the runner has to receive all bytes. Closing a socket with unread input would discard
// bytes in transit, such as an alert.
static void finish(exchange *exchange) {
    uint8_t rest[CHUNK];
    shutdown(exchange->socket, SHUT_WR);
    while (recv(exchange->socket, rest, sizeof rest, 0) > 0) {
    }
    close(exchange->socket);
    open_exchange = NULL;
}

void finish_open_exchange(void) {
    if (open_exchange != NULL) {
        finish(open_exchange);
    }
}

static void connect_to_runner(exchange *exchange) {
    const options *options = exchange->options;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)options->port)};
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v6.sin6_addr = in6addr_loopback;
    const struct sockaddr *address = options->ipv6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    exchange->socket = socket(options->ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (connect(exchange->socket, address, options->ipv6 ? sizeof v6 : sizeof v4) != 0) {
        fail("transport: no connection");
    }
    open_exchange = exchange;
    int on = 1;
    setsockopt(exchange->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    uint8_t id[8];
    for (int at = 0; at < 8; at++) {
        id[at] = (uint8_t)(options->shim_id >> 8 * at);
    }
    if (send(exchange->socket, id, sizeof id, MSG_NOSIGNAL) != sizeof id) {
        fail("transport: no id");
    }
}

static bool send_bytes(exchange *exchange, const uint8_t *data, size_t len) {
    while (len > 0) {
        ssize_t count = send(exchange->socket, data, len, MSG_NOSIGNAL);
        if (count <= 0) {
            return false;
        }
        data += count;
        len -= (size_t)count;
    }
    return true;
}

// Sends the withheld bytes and the output. Returns false if the socket is closed.
static bool send_output(exchange *exchange) {
    tercel_bytes bytes = tercel_output_bytes(exchange->output);
    if (bytes.len == 0) {
        return true;
    }
    bool sent = send_bytes(exchange, exchange->withheld.data, exchange->withheld.len) &&
                send_bytes(exchange, bytes.data, bytes.len);
    exchange->withheld.len = 0;
    need(tercel_output_sent(exchange->output, bytes.len), "sent");
    return sent;
}

static void send_all(exchange *exchange) {
    if (!send_output(exchange)) {
        fail("transport: broken pipe");
    }
}

// Sends one byte of the output, and withholds the rest until the next call.
static void send_one_byte(exchange *exchange) {
    bytes all = copy(tercel_output_bytes(exchange->output));
    need(tercel_output_sent(exchange->output, all.len), "sent");
    if (!send_bytes(exchange, all.data, 1)) {
        fail("transport: broken pipe");
    }
    exchange->withheld = (bytes){all.data + 1, all.len - 1};
}

// Follows the records in input that is delivered byte by byte.
static void follow(exchange *exchange, uint8_t byte) {
    if (exchange->header_len < 5) {
        exchange->header[exchange->header_len++] = byte;
        exchange->record_left = (size_t)(exchange->header[3] << 8 | exchange->header[4]);
    } else {
        exchange->record_left--;
    }
    if (exchange->header_len == 5 && exchange->record_left == 0) {
        if (exchange->record_count < sizeof exchange->records) {
            exchange->records[exchange->record_count++] = exchange->header[0];
        }
        exchange->header_len = 0;
    }
}

// Receives some bytes. Returns false at the end of input.
static bool receive(exchange *exchange) {
    size_t room;
    uint8_t *space = tercel_input_space(exchange->input, &room);
    if (!exchange->options->async) {
        ssize_t count = recv(exchange->socket, space, room, 0);
        if (count < 0) {
            fail("transport: connection reset");
        }
        need(tercel_input_filled(exchange->input, (size_t)count), "filled");
        return count > 0;
    }
    if (exchange->delivered == exchange->waiting_len) {
        ssize_t count = recv(exchange->socket, exchange->waiting, CHUNK, 0);
        if (count < 0) {
            fail("transport: connection reset");
        }
        exchange->waiting_len = (size_t)count;
        exchange->delivered = 0;
    }
    if (exchange->waiting_len == 0) {
        return false;
    }
    uint8_t byte = exchange->waiting[exchange->delivered++];
    follow(exchange, byte);
    need(tercel_input_append(exchange->input, &byte, 1), "append");
    return true;
}

// Whether the handshake message of this type was delivered, by a TLS 1.3 server that puts each message in its own
// record: the first one is in plaintext, the second in the first protected record.
static bool passed(const exchange *exchange, uint64_t message) {
    uint8_t wanted = message == 2 ? 22 : message == 8 ? 23 : 0;
    return wanted != 0 && memchr(exchange->records, wanted, exchange->record_count) != NULL;
}

static void set_writes(exchange *exchange) {
    const options *options = exchange->options;
    exchange->write_count = exchange->first_write = 0;
    if (options->shim_writes_first || options->read_with_unfinished_write) {
        bytes word = options->shim_initial_write.len > 0 ? options->shim_initial_write : copy_bytes("hello", 5);
        size_t count = options->repeat_shim_initial_write > 0 ? options->repeat_shim_initial_write : 1;
        exchange->writes = allocate(count * sizeof word);
        for (size_t at = 0; at < count; at++) {
            exchange->writes[exchange->write_count++] = word;
        }
    }
}

// Client: sends the initial writes as early data, as far as the limit allows.
static void send_early(exchange *exchange, tercel_handshake *handshake) {
    if (tercel_handshake_early_data_left(handshake) == 0) {
        return;
    }
    if (exchange->options->export_keying_material > 0) {
        fail(":HANDSHAKE_NOT_COMPLETE: no exporter before the handshake is complete");
    }
    uint64_t after = exchange->options->early_write_after_message;
    if (after > 0 && !passed(exchange, after)) {
        return;
    }
    while (exchange->first_write < exchange->write_count) {
        bytes *word = &exchange->writes[exchange->first_write];
        size_t taken;
        if (tercel_handshake_early_data_left(handshake) == 0) {
            return;
        }
        need(tercel_handshake_seal_early(handshake, word->data, word->len, exchange->output, &taken), "early data");
        if (exchange->options->read_with_unfinished_write) {
            send_one_byte(exchange);
        } else {
            send_all(exchange);
        }
        word->data += taken;
        word->len -= taken;
        if (word->len == 0) {
            exchange->first_write++;
        }
    }
}

static size_t piece(const exchange *exchange, size_t len) {
    size_t most = exchange->options->read_size > 0 ? exchange->options->read_size : READ_SIZE;
    return len < most ? len : most;
}

// Server: answers early data before the client's Finished.
static void answer_early(exchange *exchange, tercel_handshake *handshake) {
    bytes data = copy(tercel_handshake_early_data(handshake));
    size_t taken;
    for (; exchange->first_write < exchange->write_count; exchange->first_write++) {
        bytes word = exchange->writes[exchange->first_write];
        need(tercel_handshake_seal_early(handshake, word.data, word.len, exchange->output, &taken), "half-RTT data");
    }
    for (size_t at = 0; at < data.len; at += piece(exchange, data.len - at)) {
        uint8_t echo[RECORD];
        size_t len = piece(exchange, data.len - at);
        for (size_t byte = 0; byte < len; byte++) {
            echo[byte] = data.data[at + byte] ^ 0xff;
        }
        need(tercel_handshake_seal_early(handshake, echo, len, exchange->output, &taken), "half-RTT data");
    }
    send_all(exchange);
}

static tercel_connection *handshake(exchange *exchange, tercel_handshake *handshake) {
    for (;;) {
        tercel_next next;
        tercel_status status = tercel_handshake_advance(handshake, exchange->input, exchange->output, &next);
        // Output is also sent after an error, since it may contain an alert.
        bool sent = send_output(exchange);
        if (status == TERCEL_OK && !sent) {
            fail("transport: broken pipe");
        }
        if (status == TERCEL_OK && next == TERCEL_NEXT_RECEIVE) {
            if (!exchange->options->server) {
                send_early(exchange, handshake);
            }
            if (!receive(exchange)) {
                status = tercel_handshake_end_of_input(handshake);
            }
        }
        if (status != TERCEL_OK) {
            char text[300];
            tercel_handshake_error(handshake, text, sizeof text);
            fail_status(exchange->test, status, text);
        }
        if (next == TERCEL_NEXT_ANSWER) {
            answer(exchange->test, handshake);
        } else if (next == TERCEL_NEXT_EARLY_DATA) {
            answer_early(exchange, handshake);
        } else if (next == TERCEL_NEXT_CONNECTED) {
            tercel_connection *connection;
            need(tercel_handshake_take_connection(handshake, &connection), "connection");
            tercel_handshake_free(handshake);
            return connection;
        }
    }
}

static void write_data(exchange *exchange, tercel_connection *connection, const uint8_t *data, size_t len) {
    tercel_status status = tercel_connection_seal_to(connection, data, len, exchange->output);
    if (status != TERCEL_OK) {
        fail_status(exchange->test, status, "seal");
    }
}

static void fail_connection(exchange *exchange, tercel_connection *connection, tercel_status status) {
    char text[300];
    tercel_connection_error(connection, text, sizeof text);
    // The alert is sent at once; other pending output is sent with the next data.
    tercel_connection_flush(connection, exchange->output);
    send_output(exchange);
    fail_status(exchange->test, status, text);
}

// Reads the next data into `out`, of RECORD bytes. Returns its length, 0 at the end.
static size_t read_data(exchange *exchange, tercel_connection *connection, uint8_t *out) {
    for (;;) {
        size_t filled = 0;
        tercel_event event;
        tercel_status status;
        if (exchange->options->async) {
            status = tercel_connection_open(connection, exchange->input, out, RECORD, &filled, &event);
        } else {
            tercel_bytes data;
            status = tercel_connection_open_in_place(connection, exchange->input, &data, &event);
            if (data.len > 0) {
                memcpy(out, data.data, data.len);
                filled = data.len;
            }
        }
        if (status != TERCEL_OK) {
            fail_connection(exchange, connection, status);
        }
        take_sessions(exchange->test, connection);
        if (event == TERCEL_EVENT_DATA || event == TERCEL_EVENT_CLOSED) {
            return filled;
        }
        if (event == TERCEL_EVENT_RECEIVE && !receive(exchange)) {
            status = tercel_connection_end_of_input(connection);
            if (status != TERCEL_OK) {
                fail_connection(exchange, connection, status);
            }
            return 0;
        }
    }
}

// Sends all received data back with inverted bits, until the peer closes.
static void echo(exchange *exchange, tercel_connection *connection) {
    uint8_t data[RECORD];
    size_t len;
    while ((len = read_data(exchange, connection, data)) > 0) {
        for (size_t at = 0; at < len; at++) {
            data[at] ^= 0xff;
        }
        if (exchange->options->key_update) {
            need(tercel_connection_update_key(connection, 0, exchange->output), "key update");
        }
        for (size_t at = 0; at < len; at += piece(exchange, len - at)) {
            write_data(exchange, connection, data + at, piece(exchange, len - at));
        }
        send_all(exchange);
    }
}

static void export_material(exchange *exchange, tercel_connection *connection) {
    const options *options = exchange->options;
    if (options->export_keying_material == 0) {
        return;
    }
    uint8_t *material = allocate(options->export_keying_material);
    bytes context = options->export_context;
    const uint8_t *place = context.len > 0 ? context.data : (const uint8_t *)"";
    need(tercel_connection_export(connection, options->export_label.data, options->export_label.len,
                                  options->use_export_context ? place : NULL,
                                  options->use_export_context ? context.len : 0, material,
                                  options->export_keying_material),
         "export");
    write_data(exchange, connection, material, options->export_keying_material);
    send_all(exchange);
}

// Takes all new sessions of a client.
void take_sessions(test *test, tercel_connection *connection) {
    tercel_bytes session;
    uint64_t expires;
    for (;;) {
        need(tercel_connection_take_session(connection, &session, &expires), "session");
        if (session.data == NULL) {
            return;
        }
        // A session that was offered and is put again is not new.
        if (!same_as(test->shared->offered, session)) {
            test->shared->new_sessions++;
        }
        test->shared->session = copy(session);
    }
}

static void store_sessions(test *test, tercel_connection *connection) {
    tercel_bytes identity, session;
    uint64_t expires;
    shared *shared = test->shared;
    for (;;) {
        need(tercel_connection_take_stored_session(connection, &identity, &session, &expires), "stored session");
        if (identity.data == NULL) {
            return;
        }
        shared->ever_stored++;
        if (shared->stored_count < STORED) {
            shared->stored[shared->stored_count].identity = copy(identity);
            shared->stored[shared->stored_count++].session = copy(session);
        }
    }
}

static tercel_handshake *begin(test *test) {
    tercel_handshake *handshake;
    if (test->options->server) {
        const tercel_config *config = greeting(test);
        need(tercel_handshake_server(config, &handshake), "server");
        tercel_config_release(config);
        return handshake;
    }
    const tercel_config *config = client_config(test, false);
    const char *name = test->options->host_name != NULL ? test->options->host_name : "unnamed.test";
    handshake = client_handshake(test, config, name);
    tercel_config_release(config);
    if (test->resumes && test->shared->session.len == 0) {
        fail("there is no session to offer");
    }
    if (test->shared->session.len > 0 && !test->options->no_ticket) {
        bytes session = test->shared->session;
        need(tercel_handshake_offer_session(handshake, session.data, session.len), "session");
        test->shared->offered = session;
        test->shared->session = (bytes){NULL, 0};
    }
    return handshake;
}

void run(test *test) {
    load(test);
    exchange exchange;
    memset(&exchange, 0, sizeof exchange);
    exchange.test = test;
    exchange.options = test->options;
    exchange.input = tercel_input_new(0);
    exchange.output = tercel_output_new();
    size_t new_before = test->shared->new_sessions, stored_before = test->shared->ever_stored;
    tercel_handshake *begun = begin(test);
    set_writes(&exchange);
    connect_to_runner(&exchange);

    tercel_connection *connection = handshake(&exchange, begun);
    take_sessions(test, connection);
    store_sessions(test, connection);
    bool rejected = !test->options->server &&
                    tercel_connection_fact(connection, TERCEL_FACT_EARLY_DATA) == TERCEL_EARLY_DATA_REJECTED;
    if (rejected != test->rejection_expected) {
        fail("unexpected acceptance or rejection of early data");
    }
    if (rejected) {
        exchange.options = test->checked;
        set_writes(&exchange);
    }
    check_handshake(test, connection);
    check_sessions(test, connection, new_before, stored_before);
    export_material(&exchange, connection);
    if (exchange.options->send_alert) {
        // decompression_failure
        need(tercel_connection_abort(connection, 30, exchange.output), "abort");
        send_all(&exchange);
        finish(&exchange);
        return;
    }
    for (; exchange.first_write < exchange.write_count; exchange.first_write++) {
        bytes word = exchange.writes[exchange.first_write];
        write_data(&exchange, connection, word.data, word.len);
        if (exchange.options->read_with_unfinished_write) {
            send_one_byte(&exchange);
        } else {
            send_all(&exchange);
        }
    }
    if (!exchange.options->shim_shuts_down) {
        echo(&exchange, connection);
    }
    check_tickets(test, connection, new_before);
    if (exchange.options->check_close_notify) {
        uint8_t data[RECORD];
        need(tercel_connection_close(connection, exchange.output), "close");
        send_all(&exchange);
        if (exchange.options->shim_shuts_down && read_data(&exchange, connection, data) > 0) {
            fail(":APPLICATION_DATA_ON_SHUTDOWN: data after the close_notify");
        }
    }
    tercel_connection_free(connection);
    tercel_input_free(exchange.input);
    tercel_output_free(exchange.output);
    finish(&exchange);
}
