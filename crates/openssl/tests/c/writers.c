/* A blocked write, and other operations of the same connection that send before the write is repeated. The peer
   receives each byte once and in order. */
#include "test.h"
#include <pthread.h>
#include <unistd.h>

enum { LENGTH = 50000 };
static char data[LENGTH], copy[LENGTH], received[LENGTH + 1];

/* What sends between a blocked write and its repetition. */
enum other {
    NOTHING,
    KEY_UPDATE,
    KEY_UPDATE_NOW,
    ANSWER_TO_KEY_UPDATE,
    CERTIFICATE_REQUEST,
    CERTIFICATE,
    CLOSE_NOTIFY,
    OTHERS
};

/* A connection that several threads use, each with the lock. */
struct shared {
    SSL *ssl, *peer;
    enum other other;
    /* The length of the data that is written. */
    int length;
    struct limit limit;
    pthread_mutex_t lock;
};

static void blocks_or(int result, int expected, SSL *ssl) {
    CHECK(result == expected || (result == -1 && SSL_get_error(ssl, result) == SSL_ERROR_WANT_WRITE));
    CHECK(ERR_peek_error() == 0);
}

static void *send_other(void *argument) {
    struct shared *shared = argument;
    SSL *ssl = shared->ssl;
    char text[4];
    pthread_mutex_lock(&shared->lock);
    switch (shared->other) {
    case KEY_UPDATE:
    case KEY_UPDATE_NOW:
        /* As in OpenSSL, it fails after the record of a blocked write. */
        if (SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
            CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_WRITE_RETRY);
        if (shared->other == KEY_UPDATE_NOW)
            blocks_or(SSL_do_handshake(ssl), 1, ssl);
        break;
    case ANSWER_TO_KEY_UPDATE:
        CHECK(SSL_key_update(shared->peer, SSL_KEY_UPDATE_REQUESTED) == 1);
        CHECK(SSL_write(shared->peer, "data", 4) == 4);
        CHECK(SSL_read(ssl, text, 4) == 4 && memcmp(text, "data", 4) == 0);
        break;
    case CERTIFICATE_REQUEST:
        CHECK(SSL_verify_client_post_handshake(ssl) == 1);
        blocks_or(SSL_do_handshake(ssl), 1, ssl);
        break;
    case CERTIFICATE:
        CHECK(SSL_verify_client_post_handshake(shared->peer) == 1 && SSL_do_handshake(shared->peer) == 1);
        CHECK(SSL_read(ssl, text, 4) == -1);
        CHECK(SSL_get_error(ssl, -1) == SSL_ERROR_WANT_WRITE || shared->limit.room > 0);
        break;
    case CLOSE_NOTIFY:
        blocks_or(SSL_shutdown(ssl), 0, ssl);
        break;
    default:
        break;
    }
    CHECK(ERR_peek_error() == 0);
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

static struct pair shared_pair(struct shared *shared, int version, enum other other) {
    struct pair pair = new_pair(version, 1 << 20);
    SSL_set_num_tickets(pair.server, 0);
    if (other == CERTIFICATE_REQUEST || other == CERTIFICATE)
        permit_late_authentication(&pair);
    CHECK(shake(&pair));
    *shared = (struct shared){.ssl = pair.client, .peer = pair.server, .other = other, .length = LENGTH};
    if (other == CERTIFICATE_REQUEST) {
        shared->ssl = pair.server;
        shared->peer = pair.client;
    }
    pthread_mutex_init(&shared->lock, NULL);
    limit_writes(shared->ssl, &shared->limit);
    for (int i = 0; i < LENGTH; i++)
        data[i] = copy[i] = (char)(i * 31 >> 3);
    memset(received, 0, sizeof received);
    return pair;
}

/* Reads what has arrived. */
static int read_all(SSL *ssl, int got) {
    int count;
    while ((count = SSL_read(ssl, received + got, LENGTH + 1 - got)) > 0)
        got += count;
    return got;
}

/* Writes until all data, from `sent` on, is accepted, while the peer reads. */
static void finish(struct shared *shared, int sent) {
    int got = read_all(shared->peer, 0);
    for (int turns = 0; sent < shared->length; turns++) {
        int moves = SSL_get_mode(shared->ssl) & SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER && turns % 2;
        size_t count = 0;
        shared->limit.room += 7001;
        pthread_mutex_lock(&shared->lock);
        int written = SSL_write_ex(shared->ssl, (moves ? copy : data) + sent, shared->length - sent, &count);
        int result = written == 1 ? (int)count : -1;
        blocks_or(result, result, shared->ssl);
        pthread_mutex_unlock(&shared->lock);
        sent += result > 0 ? result : 0;
        got = read_all(shared->peer, got);
        CHECK(turns < 100);
    }
    /* What follows the data: an answer to a key update, a certificate. */
    shared->limit.room += 10000;
    CHECK(SSL_read(shared->ssl, received + LENGTH, 1) == -1);
    got = read_all(shared->peer, got);
    CHECK(got == shared->length && memcmp(data, received, got) == 0);
    CHECK(SSL_get_error(shared->peer, SSL_read(shared->peer, received, 1)) == SSL_ERROR_WANT_READ);
    CHECK(ERR_peek_error() == 0);
}

/* Closing does not cut a record: what is sent of the data is followed by close_notify. */
static void finish_closed(struct shared *shared) {
    CHECK(SSL_write(shared->ssl, data, LENGTH) == -1);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_PROTOCOL_IS_SHUTDOWN);
    shared->limit.room = LENGTH;
    CHECK(SSL_shutdown(shared->ssl) == 0);
    int got = read_all(shared->peer, 0);
    CHECK(got < LENGTH && memcmp(data, received, got) == 0);
    CHECK(SSL_get_shutdown(shared->peer) == SSL_RECEIVED_SHUTDOWN);
    CHECK(SSL_get_error(shared->peer, 0) == SSL_ERROR_ZERO_RETURN && ERR_peek_error() == 0);
}

static void blocked_write(int version, enum other other, long room, long mode, int in_thread) {
    struct shared shared;
    struct pair pair = shared_pair(&shared, version, other);
    pthread_t thread;
    int sent = 0;
    SSL_set_mode(shared.ssl, mode);
    for (int turn = 0; turn < 2; turn++) {
        shared.limit.room = room;
        int result = SSL_write(shared.ssl, data + sent, LENGTH - sent);
        if (result > 0 && mode & SSL_MODE_ENABLE_PARTIAL_WRITE) {
            sent += result;
            result = SSL_write(shared.ssl, data + sent, LENGTH - sent);
        }
        CHECK(result == -1 && SSL_get_error(shared.ssl, result) == SSL_ERROR_WANT_WRITE);
        /* What the BIO accepts of the other operation, or of the write before it. */
        shared.limit.room = in_thread ? 5 : 0;
        if (in_thread) {
            pthread_create(&thread, NULL, send_other, &shared);
            pthread_join(thread, NULL);
        } else {
            send_other(&shared);
        }
        if (other != NOTHING && other != ANSWER_TO_KEY_UPDATE)
            break;
    }
    if (other == CLOSE_NOTIFY)
        finish_closed(&shared);
    else
        finish(&shared, sent);
    if (other == CERTIFICATE_REQUEST || other == CERTIFICATE) {
        read_all(pair.server, 0);
        CHECK(SSL_get0_peer_certificate(pair.server) != NULL);
    }
    ERR_clear_error();
    free_pair(&pair);
}

/* The repetition of a write while another thread writes to the BIO. */
struct overlap {
    struct shared shared;
    /* What the BIO accepts of the other thread's write. */
    long room;
    int in_thread, is_done, result;
    pthread_t thread;
};

static struct overlap *overlap;

static void *repeat(void *argument) {
    struct overlap *own = argument;
    own->result = SSL_write(own->shared.ssl, data, own->shared.length);
    return NULL;
}

static void repeat_meanwhile(struct limit *limit) {
    limit->on_write = NULL;
    if (overlap->in_thread) {
        pthread_create(&overlap->thread, NULL, repeat, overlap);
        usleep(30000);
    } else {
        repeat(overlap);
        CHECK(SSL_get_error(overlap->shared.ssl, overlap->result) == SSL_ERROR_WANT_WRITE);
    }
    limit->room = overlap->room;
}

/* A thread that reads sends an answer to a request for a certificate. While it is in the function of the BIO, the blocked write is
   repeated, by another thread or in that function. It does not return before its bytes are accepted. */
static void repeated_meanwhile(int length, long room, int in_thread) {
    struct overlap own = {.room = room, .in_thread = in_thread};
    struct pair pair = shared_pair(&own.shared, TLS1_3_VERSION, CERTIFICATE);
    overlap = &own;
    own.shared.length = length;
    own.shared.limit.room = 100;
    CHECK(SSL_write(own.shared.ssl, data, length) == -1);
    own.shared.limit.on_write = repeat_meanwhile;
    send_other(&own.shared);
    CHECK(own.shared.limit.on_write == NULL);
    if (in_thread)
        pthread_join(own.thread, NULL);
    CHECK(own.result == -1);
    finish(&own.shared, 0);
    free_pair(&pair);
}

static void read_meanwhile(struct limit *limit) {
    limit->on_write = NULL;
    if (overlap->in_thread) {
        pthread_create(&overlap->thread, NULL, send_other, &overlap->shared);
        pthread_join(overlap->thread, NULL);
    } else {
        send_other(&overlap->shared);
    }
    limit->room = overlap->room;
}

/* The same while the write is in the function of the BIO. */
static void answered_meanwhile(long room, int in_thread) {
    struct overlap own = {.room = room, .in_thread = in_thread};
    struct pair pair = shared_pair(&own.shared, TLS1_3_VERSION, ANSWER_TO_KEY_UPDATE);
    overlap = &own;
    own.shared.limit.on_write = read_meanwhile;
    CHECK(SSL_write(own.shared.ssl, data, LENGTH) == -1);
    finish(&own.shared, 0);
    free_pair(&pair);
}

/* A handshake whose messages are sent in pieces, which SSL_write and SSL_read continue. The client may write something
   else as long as the handshake is not complete. */
static void handshake_in_pieces(int version, long piece) {
    struct pair pair = new_pair(version, 1 << 20);
    struct limit client = {0, 0, NULL}, server = {0, 0, NULL};
    static char others[2][100];
    int chosen = 0, sent = 0, got = 0, turns = 0;
    limit_writes(pair.client, &client);
    limit_writes(pair.server, &server);
    memset(others[0], 'a', sizeof others[0]);
    memset(others[1], 'b', sizeof others[1]);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER, NULL);
    CHECK(SSL_CTX_load_verify_locations(pair.server_ctx, material("root.pem"), NULL) == 1);
    CHECK(SSL_use_certificate_file(pair.client, material("client.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_use_PrivateKey_file(pair.client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    for (; got < 100 && turns < 20000; turns++) {
        client.room = server.room = piece;
        if (SSL_in_init(pair.client))
            chosen = !chosen;
        if (!sent) {
            int result = SSL_write(pair.client, others[chosen], 100);
            CHECK(result == 100 || (result == -1 && SSL_get_error(pair.client, result) != SSL_ERROR_SSL));
            sent = result == 100;
        }
        int count = SSL_read(pair.server, received + got, 101 - got);
        CHECK(count > 0 || SSL_get_error(pair.server, count) != SSL_ERROR_SSL);
        got += count > 0 ? count : 0;
    }
    CHECK(sent && got == 100 && memcmp(received, others[chosen], 100) == 0 && turns > 1000 / piece);
    CHECK(SSL_get0_peer_certificate(pair.server) != NULL && ERR_peek_error() == 0);
    free_pair(&pair);
}

void test_writers(void) {
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    static const long modes[] = {0, SSL_MODE_ENABLE_PARTIAL_WRITE, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER};
    /* Within the header, the first and the second record, and between both. */
    static const long rooms[] = {0, 3, 1000, (1 << 14) + 22, (1 << 14) + 5000};
    for (int version = 0; version < 2; version++) {
        handshake_in_pieces(versions[version], 1);
        handshake_in_pieces(versions[version], 100);
        for (enum other other = NOTHING; other < OTHERS; other++) {
            if (versions[version] == TLS1_2_VERSION && other != NOTHING && other != CLOSE_NOTIFY)
                continue;
            for (size_t room = 0; room < sizeof rooms / sizeof *rooms; room++)
                for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++)
                    for (int in_thread = 0; in_thread < 2; in_thread++)
                        blocked_write(versions[version], other, rooms[room], modes[mode], in_thread);
        }
    }
    for (int in_thread = 0; in_thread < 2; in_thread++) {
        for (int one_record = 0; one_record < 2; one_record++) {
            int length = one_record ? 5000 : LENGTH;
            repeated_meanwhile(length, 0, in_thread);
            repeated_meanwhile(length, 1000, in_thread);
        }
        answered_meanwhile(0, in_thread);
        answered_meanwhile(1000, in_thread);
        answered_meanwhile((1 << 14) + 22, in_thread);
    }
}
