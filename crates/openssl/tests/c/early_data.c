/* Early data: accepted once, and only if the program of the server reads it. */
#include "test.h"

static int allowed;

static int on_early(SSL *ssl, void *argument) {
    /* A call inside of the callback. */
    CHECK(SSL_in_init(ssl) == 1 && strcmp(argument, "argument") == 0);
    return allowed;
}

/* One connection with early data if there is a session. */
struct visit {
    int reads, status, resumed;
    size_t received;
};

static struct visit visit(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session, int reads) {
    struct visit result = {0, 0, 0, 0};
    char text[64];
    size_t count = 0;
    SSL_CTX_up_ref(client_ctx);
    SSL_CTX_up_ref(server_ctx);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    if (session != NULL) {
        CHECK(SSL_set_session(pair.client, session) == 1);
        CHECK(SSL_write_early_data(pair.client, "early", 5, &count) == 1 && count == 5);
        CHECK(SSL_write_early_data(pair.client, " data", 5, &count) == 1 && count == 5);
    } else {
        CHECK(SSL_write_early_data(pair.client, "early", 5, &count) == 0);
        CHECK(ERR_GET_REASON(ERR_peek_error()) == ERR_R_SHOULD_NOT_HAVE_BEEN_CALLED);
        ERR_clear_error();
        CHECK(SSL_do_handshake(pair.client) == -1);
    }
    if (reads) {
        while ((result.reads = SSL_read_early_data(pair.server, text + result.received, sizeof text - result.received,
                                                   &count)) == SSL_READ_EARLY_DATA_SUCCESS) {
            result.received += count;
            CHECK(SSL_session_reused(pair.server) == 1 && SSL_version(pair.server) == TLS1_3_VERSION);
            CHECK(SSL_get_early_data_status(pair.server) == SSL_EARLY_DATA_ACCEPTED);
            if (result.received == 10)
                CHECK(memcmp(text, "early data", 10) == 0);
            /* An answer before the handshake is complete. */
            CHECK(SSL_write_early_data(pair.server, "half", 4, &count) == 1 && count == 4);
        }
        CHECK(SSL_get_error(pair.server, result.reads) == SSL_ERROR_WANT_READ);
    }
    CHECK(shake(&pair));
    if (reads)
        CHECK(SSL_read_early_data(pair.server, text, sizeof text, &count) == SSL_READ_EARLY_DATA_FINISH && count == 0);
    result.status = SSL_get_early_data_status(pair.server);
    result.resumed = SSL_session_reused(pair.server);
    CHECK(SSL_get_early_data_status(pair.client) == result.status);
    for (size_t half = 0; half < (result.received > 0 ? 8 : 0); half += 4) {
        read_exactly(pair.client, text, 4);
        CHECK(memcmp(text, "half", 4) == 0);
    }
    CHECK(SSL_write(pair.client, "data", 4) == 4);
    read_exactly(pair.server, text, 4);
    CHECK(SSL_write(pair.server, "data", 4) == 4);
    read_exactly(pair.client, text, 4);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
    return result;
}

static void early_data(uint64_t options) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    int again = options & SSL_OP_NO_ANTI_REPLAY;
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_max_early_data(server_ctx, 10) == 1);
    SSL_CTX_set_options(server_ctx, options);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);

    struct visit first = visit(client_ctx, server_ctx, NULL, 1);
    CHECK(first.status == SSL_EARLY_DATA_NOT_SENT && first.received == 0);
    CHECK(newest_session != NULL && SSL_SESSION_get_max_early_data(newest_session) == 10);
    SSL_SESSION *used = newest_session;
    SSL_SESSION_up_ref(used);
    struct visit second = visit(client_ctx, server_ctx, used, 1);
    CHECK(second.status == SSL_EARLY_DATA_ACCEPTED && second.received == 10 && second.resumed);
    /* The same session again: a replay, unless the program protects itself. */
    struct visit replay = visit(client_ctx, server_ctx, used, 1);
    CHECK(replay.status == (again ? SSL_EARLY_DATA_ACCEPTED : SSL_EARLY_DATA_REJECTED));
    CHECK(replay.received == (again ? 10 : 0) && replay.resumed == (again != 0));
    /* A program that does not read early data. */
    struct visit unread = visit(client_ctx, server_ctx, newest_session, 0);
    CHECK(unread.status == SSL_EARLY_DATA_REJECTED && unread.resumed);
    /* The program's function decides. */
    SSL_CTX_set_allow_early_data_cb(server_ctx, on_early, "argument");
    for (allowed = 0; allowed < 2; allowed++) {
        struct visit asked = visit(client_ctx, server_ctx, newest_session, 1);
        CHECK(asked.status == (allowed ? SSL_EARLY_DATA_ACCEPTED : SSL_EARLY_DATA_REJECTED) && asked.resumed);
    }
    SSL_SESSION_free(used);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
}

/* A connection whose session allows early data up to a limit. */
static void first_visit(SSL_CTX *client_ctx, SSL_CTX *server_ctx, uint32_t limit) {
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_max_early_data(server_ctx, limit) == 1);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    visit(client_ctx, server_ctx, NULL, 1);
}

/* Early data that is not read is not mixed with other data. */
static void unread(void) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    char text[64];
    size_t count;
    first_visit(client_ctx, server_ctx, 1000);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    CHECK(SSL_write_early_data(pair.client, "early", 5, &count) == 1);
    CHECK(SSL_read_early_data(pair.server, text, 2, &count) == SSL_READ_EARLY_DATA_SUCCESS && count == 2);
    CHECK(SSL_do_handshake(pair.server) == -1 && SSL_read(pair.server, text, sizeof text) == -1);
    ERR_clear_error();
    CHECK(SSL_read_early_data(pair.server, text, sizeof text, &count) == SSL_READ_EARLY_DATA_SUCCESS && count == 3);
    CHECK(shake(&pair));
    free_pair(&pair);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    ERR_clear_error();
}

/* A program's cache with the session that was made last. */
static SSL_SESSION *kept;
static int removed;

static int keep_session(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(kept);
    kept = session;
    return 1;
}

static SSL_SESSION *find_kept(SSL *ssl, const unsigned char *id, int length, int *copy) {
    unsigned int own = 0;
    (void)ssl;
    /* No name is longer, whatever a client sends as its ticket. */
    CHECK(length > 0 && length <= SSL_MAX_SSL_SESSION_ID_LENGTH);
    *copy = 1;
    if (kept == NULL)
        return NULL;
    const unsigned char *name = SSL_SESSION_get_id(kept, &own);
    return own == (unsigned int)length && memcmp(name, id, own) == 0 ? kept : NULL;
}

static void remove_kept(SSL_CTX *ctx, SSL_SESSION *session) {
    unsigned int length = 0;
    (void)ctx;
    CHECK(SSL_SESSION_get_id(session, &length) != NULL && length == SSL_MAX_SSL_SESSION_ID_LENGTH);
    removed++;
}

/* A session in two caches is resumed once, also if the program does not remove it. */
static void two_caches(int mode, int removes) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_max_early_data(server_ctx, 10) == 1 && SSL_CTX_set_num_tickets(server_ctx, 1) == 1);
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | mode);
    SSL_CTX_sess_set_new_cb(server_ctx, keep_session);
    SSL_CTX_sess_set_get_cb(server_ctx, find_kept);
    if (removes)
        SSL_CTX_sess_set_remove_cb(server_ctx, remove_kept);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    removed = 0;
    visit(client_ctx, server_ctx, NULL, 1);
    CHECK(newest_session != NULL && kept != NULL);
    SSL_SESSION *used = newest_session, *first = kept;
    SSL_SESSION_up_ref(used);
    SSL_SESSION_up_ref(first);
    struct visit once = visit(client_ctx, server_ctx, used, 1);
    int found = mode == 0 || (mode == SSL_SESS_CACHE_NO_INTERNAL_LOOKUP && removes);
    CHECK(once.resumed == found && once.received == (found ? 10 : 0));
    CHECK(removed == (removes && found));
    /* The program has it still. */
    SSL_SESSION_free(kept);
    kept = first;
    for (int i = 0; i < 2; i++) {
        struct visit replay = visit(client_ctx, server_ctx, used, 1);
        CHECK(replay.status == SSL_EARLY_DATA_REJECTED && replay.received == 0 && !replay.resumed);
    }
    SSL_SESSION_free(used);
    SSL_SESSION_free(newest_session);
    SSL_SESSION_free(kept);
    newest_session = kept = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
}

/* A blocked write of early data that the server refuses is not continued by SSL_write: all data is sent. */
static void blocked_write(void) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    static char data[5000], received[sizeof data];
    size_t count;
    first_visit(client_ctx, server_ctx, 10000);
    struct pair pair = pair_of(client_ctx, server_ctx, 4000);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    CHECK(SSL_write_early_data(pair.client, data, sizeof data, &count) == 0);
    CHECK(SSL_get_error(pair.client, 0) == SSL_ERROR_WANT_WRITE);
    /* The server does not read early data. */
    CHECK(shake(&pair) && SSL_get_early_data_status(pair.client) == SSL_EARLY_DATA_REJECTED);
    memset(data, 1, sizeof data);
    int written = 0;
    for (int done = 0; done < (int)sizeof data;) {
        if (!written)
            written = SSL_write(pair.client, data, sizeof data) == sizeof data;
        int read = SSL_read(pair.server, received + done, sizeof received - done);
        CHECK(read > 0 || (!written && SSL_get_error(pair.server, read) == SSL_ERROR_WANT_READ));
        done += read > 0 ? read : 0;
    }
    CHECK(memcmp(data, received, sizeof data) == 0);
    free_pair(&pair);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    ERR_clear_error();
}

/* What an interrupted write meets before it is repeated. */
enum interruption { BLOCKED, FAILED, HANDSHAKE };

/* A connection with early data, whose client and server write to limited BIOs. */
static struct pair early_pair(struct limit *client, struct limit *server) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    first_visit(client_ctx, server_ctx, 100000);
    CHECK(SSL_CTX_set_recv_max_early_data(server_ctx, 100000) == 1);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 17);
    *client = *server = (struct limit){1 << 17, 0, NULL};
    limit_writes(pair.client, client);
    limit_writes(pair.server, server);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    return pair;
}

enum { EARLY_LENGTH = 40000 };
static char early[EARLY_LENGTH], arrived[2 * EARLY_LENGTH];

/* Reads early data of the server until none is there. */
static size_t read_early(SSL *server, size_t done) {
    size_t count = 0;
    while (SSL_read_early_data(server, arrived + done, sizeof arrived - done, &count) == SSL_READ_EARLY_DATA_SUCCESS)
        done += count;
    CHECK(ERR_peek_error() == 0);
    return done;
}

/* An interrupted write of early data that is repeated, or continued by SSL_write after the handshake. The server
   receives each byte once. If it refuses early data, SSL_write sends all. */
static void interrupted_write(enum interruption interruption, int accepts) {
    struct limit client_limit, server_limit;
    struct pair pair = early_pair(&client_limit, &server_limit);
    size_t count, done = 0;
    int handshake = -1, length;
    for (int i = 0; i < EARLY_LENGTH; i++)
        early[i] = (char)(i * 31 >> 3);
    CHECK(SSL_write_early_data(pair.client, early, 0, &count) == 1);
    client_limit.room = 100;
    client_limit.fails = interruption == FAILED;
    CHECK(SSL_write_early_data(pair.client, early, EARLY_LENGTH, &count) == 0);
    CHECK(SSL_get_error(pair.client, 0) == (client_limit.fails ? SSL_ERROR_SYSCALL : SSL_ERROR_WANT_WRITE));
    client_limit.room = 1 << 17;
    if (interruption != HANDSHAKE) {
        /* Only the same write continues it. */
        CHECK(SSL_write_early_data(pair.client, early + 1, EARLY_LENGTH - 1, &count) == 0);
        CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_WRITE_RETRY);
        CHECK(ERR_get_error() == 0);
        CHECK(SSL_write_early_data(pair.client, early, EARLY_LENGTH, &count) == 1 && count == EARLY_LENGTH);
    }
    for (int turns = 0; handshake != 1 && turns < 10; turns++) {
        handshake = SSL_do_handshake(pair.client);
        if (accepts)
            done = read_early(pair.server, done);
        else
            SSL_do_handshake(pair.server);
    }
    int status = accepts ? SSL_EARLY_DATA_ACCEPTED : SSL_EARLY_DATA_REJECTED;
    CHECK(shake(&pair) && SSL_get_early_data_status(pair.client) == status);
    if (interruption == HANDSHAKE) {
        CHECK(done == (accepts ? 1 << 14 : 0));
        if (accepts) {
            CHECK(SSL_write(pair.client, early + 1, EARLY_LENGTH - 1) == -1);
            CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_WRITE_RETRY);
        }
        CHECK(SSL_write(pair.client, early, EARLY_LENGTH) == EARLY_LENGTH);
    }
    while ((length = SSL_read(pair.server, arrived + done, (int)(sizeof arrived - done))) > 0)
        done += length;
    size_t expected = accepts || interruption == HANDSHAKE ? EARLY_LENGTH : 0;
    CHECK(done == expected && memcmp(arrived, early, done) == 0);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* The same for data that a server writes before the client's Finished. */
static void interrupted_answer(enum interruption interruption) {
    struct limit client_limit, server_limit;
    struct pair pair = early_pair(&client_limit, &server_limit);
    size_t count;
    int done = 0, length;
    CHECK(SSL_write_early_data(pair.client, early, 10, &count) == 1);
    CHECK(read_early(pair.server, 0) == 10);
    server_limit.room = 100;
    server_limit.fails = interruption == FAILED;
    CHECK(SSL_write_early_data(pair.server, early, EARLY_LENGTH, &count) == 0);
    CHECK(SSL_get_error(pair.server, 0) == (server_limit.fails ? SSL_ERROR_SYSCALL : SSL_ERROR_WANT_WRITE));
    server_limit.room = 1 << 17;
    CHECK(SSL_write_early_data(pair.server, early + 1, EARLY_LENGTH - 1, &count) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_WRITE_RETRY && ERR_get_error() == 0);
    if (interruption == HANDSHAKE) {
        CHECK(shake(&pair));
        CHECK(SSL_write(pair.server, early, EARLY_LENGTH) == EARLY_LENGTH);
    } else {
        CHECK(SSL_write_early_data(pair.server, early, EARLY_LENGTH, &count) == 1 && count == EARLY_LENGTH);
        CHECK(shake(&pair));
    }
    while ((length = SSL_read(pair.client, arrived + done, (int)(sizeof arrived - done))) > 0)
        done += length;
    CHECK(done == EARLY_LENGTH && memcmp(arrived, early, done) == 0);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* A shorter write than the interrupted one fails the connection. */
static void shortened_write(void) {
    struct limit client_limit, server_limit;
    struct pair pair = early_pair(&client_limit, &server_limit);
    size_t count;
    CHECK(SSL_write_early_data(pair.client, early, 0, &count) == 1);
    client_limit.room = 100;
    CHECK(SSL_write_early_data(pair.client, early, EARLY_LENGTH, &count) == 0);
    client_limit.room = 1 << 17;
    CHECK(SSL_write_early_data(pair.client, early, 10, &count) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_LENGTH && ERR_get_error() == 0);
    CHECK(SSL_do_handshake(pair.client) == -1 && SSL_get_error(pair.client, -1) == SSL_ERROR_SYSCALL);
    CHECK(strcmp(SSL_state_string(pair.client), "SSLERR") == 0);
    free_pair(&pair);
}

/* More early data than the server reads: the client receives an alert. */
static void too_much(void) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    char text[64];
    size_t count;
    first_visit(client_ctx, server_ctx, 1000);
    SSL_CTX_set_recv_max_early_data(server_ctx, 8);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    for (int i = 0; i < 2; i++)
        CHECK(SSL_write_early_data(pair.client, "early", 5, &count) == 1);
    CHECK(SSL_read_early_data(pair.server, text, sizeof text, &count) == SSL_READ_EARLY_DATA_SUCCESS && count == 5);
    CHECK(SSL_read_early_data(pair.server, text, sizeof text, &count) == SSL_READ_EARLY_DATA_ERROR);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_TOO_MUCH_EARLY_DATA && ERR_get_error() == 0);
    /* The alert follows the server's Finished. */
    if (SSL_do_handshake(pair.client) == 1)
        CHECK(SSL_read(pair.client, text, sizeof text) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE);
    free_pair(&pair);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    ERR_clear_error();
}

/* More early data than the session allows: no part of it is sent, and less is accepted afterwards. */
static void too_long(void) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    char text[64];
    size_t count = 0;
    first_visit(client_ctx, server_ctx, 8);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    CHECK(SSL_write_early_data(pair.client, "123456789", 9, &count) == 0 && count == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_TOO_MUCH_EARLY_DATA && ERR_get_error() == 0);
    CHECK(SSL_write_early_data(pair.client, "early", 5, &count) == 1 && count == 5);
    CHECK(SSL_write_early_data(pair.client, "data", 4, &count) == 0);
    ERR_clear_error();
    CHECK(SSL_read_early_data(pair.server, text, sizeof text, &count) == SSL_READ_EARLY_DATA_SUCCESS && count == 5);
    CHECK(memcmp(text, "early", 5) == 0);
    CHECK(SSL_read_early_data(pair.server, text, sizeof text, &count) == SSL_READ_EARLY_DATA_ERROR);
    CHECK(SSL_get_error(pair.server, 0) == SSL_ERROR_WANT_READ && shake(&pair));
    free_pair(&pair);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    ERR_clear_error();
}

/* The bytes of a client with early data, sent again to another connection of the same server. */
static void replayed_bytes(int mode) {
    SSL_CTX *server_ctx = server_context(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    static char bytes[1 << 14];
    char text[64];
    size_t count;
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | mode);
    SSL_CTX_sess_set_new_cb(server_ctx, keep_session);
    SSL_CTX_sess_set_get_cb(server_ctx, find_kept);
    SSL_CTX_sess_set_remove_cb(server_ctx, remove_kept);
    CHECK(SSL_CTX_set_num_tickets(server_ctx, 1) == 1);
    first_visit(client_ctx, server_ctx, 1000);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    CHECK(SSL_write_early_data(pair.client, "early", 5, &count) == 1);
    int length = BIO_read(SSL_get_rbio(pair.server), bytes, sizeof bytes);
    CHECK(length > 0);
    for (int i = 0; i < 3; i++) {
        SSL *server = SSL_new(server_ctx);
        SSL_set_bio(server, BIO_new_mem_buf(bytes, length), BIO_new(BIO_s_mem()));
        BIO_set_mem_eof_return(SSL_get_rbio(server), -1);
        SSL_set_accept_state(server);
        int result = SSL_read_early_data(server, text, sizeof text, &count);
        CHECK(result == (i == 0 ? SSL_READ_EARLY_DATA_SUCCESS : SSL_READ_EARLY_DATA_ERROR));
        CHECK(count == (i == 0 ? 5 : 0));
        SSL_free(server);
        ERR_clear_error();
    }
    free_pair(&pair);
    SSL_SESSION_free(newest_session);
    SSL_SESSION_free(kept);
    newest_session = kept = NULL;
}

void test_early_data(void) {
    for (enum interruption interruption = BLOCKED; interruption <= HANDSHAKE; interruption++) {
        interrupted_write(interruption, 0);
        interrupted_write(interruption, 1);
        interrupted_answer(interruption);
    }
    too_much();
    shortened_write();
    too_long();
    replayed_bytes(0);
    replayed_bytes(SSL_SESS_CACHE_NO_INTERNAL_LOOKUP);
    blocked_write();
    for (int removes = 0; removes < 2; removes++) {
        two_caches(0, removes);
        two_caches(SSL_SESS_CACHE_NO_INTERNAL_LOOKUP, removes);
        /* OpenSSL resumes only sessions that it removes from its own cache. */
        two_caches(SSL_SESS_CACHE_NO_INTERNAL_STORE, removes);
        two_caches(SSL_SESS_CACHE_NO_INTERNAL, removes);
    }
    early_data(0);
    early_data(SSL_OP_NO_ANTI_REPLAY);
    unread();
}
