/* What reads, peeks and writes of each length return in each state, and what is pending afterwards. */
#include "../c/test.h"

enum state {
    NOT_STARTED,
    NO_SIDE,
    IN_HANDSHAKE,
    NOTHING_RECEIVED,
    ONE_RECORD,
    RECORD_PARTLY_READ,
    TWO_RECORDS,
    PART_OF_A_RECORD,
    ONLY_A_KEY_UPDATE,
    KEY_UPDATE_AND_DATA,
    NO_AUTO_RETRY,
    TICKET_NO_AUTO_RETRY,
    CLOSED_BY_PEER,
    DATA_AND_CLOSED,
    CLOSED_BY_BOTH,
    DAMAGED,
    FAILED,
    END_OF_TRANSPORT,
    STATES
};

static const char *state_names[] = {"not started",         "no side",        "in the handshake", "nothing received",
                                    "one record",          "partly read",    "two records",      "part of a record",
                                    "only a key update",   "update and data", "update, no repetition",
                                    "ticket, no repetition", "closed by the peer", "data and closed",
                                    "closed by both",      "damaged",        "failed",           "end of the transport"};

enum call { READ, PEEK, READ_EX, PEEK_EX, WRITE, WRITE_EX, CALLS };

static const char *call_names[] = {"SSL_read", "SSL_peek", "SSL_read_ex", "SSL_peek_ex", "SSL_write", "SSL_write_ex"};

/* Lets only a part of what a side sends arrive. */
static void send_part(SSL *from, int length) {
    BIO *memory = BIO_new(BIO_s_mem()), *wire = SSL_get_wbio(from);
    char sealed[200];
    BIO_up_ref(wire);
    SSL_set0_wbio(from, memory);
    CHECK(SSL_write(from, "0123456789", 10) == 10);
    CHECK(BIO_read(memory, sealed, sizeof sealed) > length && BIO_write(wire, sealed, length) == length);
    SSL_set0_wbio(from, wire);
}

static struct pair in_state(int version, enum state state) {
    char text[10];
    struct pair pair = new_pair(version, 1 << 14);
    if (state == NO_SIDE) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_method());
        SSL_free(pair.client);
        SSL_CTX_free(pair.client_ctx);
        pair.client_ctx = ctx;
        pair.client = SSL_new(ctx);
        SSL_set_bio(pair.client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        return pair;
    }
    if (state == NOT_STARTED)
        return pair;
    if (state == IN_HANDSHAKE) {
        CHECK(SSL_connect(pair.client) == -1);
        return pair;
    }
    /* Two would be in one record of Tercel's server. */
    SSL_set_num_tickets(pair.server, 1);
    CHECK(shake(&pair));
    if (state == TICKET_NO_AUTO_RETRY) {
        SSL_clear_mode(pair.client, SSL_MODE_AUTO_RETRY);
        CHECK(SSL_write(pair.server, "0123456789", 10) == 10);
        return pair;
    }
    /* The client has no tickets to read. */
    CHECK(SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, text, 1) == 1);
    switch (state) {
    case ONE_RECORD:
        CHECK(SSL_write(pair.server, "0123456789", 10) == 10);
        break;
    case RECORD_PARTLY_READ:
        CHECK(SSL_write(pair.server, "0123456789", 10) == 10 && SSL_read(pair.client, text, 4) == 4);
        break;
    case TWO_RECORDS:
        CHECK(SSL_write(pair.server, "0123456789", 10) == 10 && SSL_write(pair.server, "abc", 3) == 3);
        break;
    case PART_OF_A_RECORD:
        send_part(pair.server, 9);
        break;
    case ONLY_A_KEY_UPDATE:
    case KEY_UPDATE_AND_DATA:
    case NO_AUTO_RETRY:
        if (state == NO_AUTO_RETRY)
            SSL_clear_mode(pair.client, SSL_MODE_AUTO_RETRY);
        if (version == TLS1_3_VERSION)
            CHECK(SSL_key_update(pair.server, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(pair.server) == 1);
        if (state != ONLY_A_KEY_UPDATE)
            CHECK(SSL_write(pair.server, "0123456789", 10) == 10);
        break;
    case CLOSED_BY_PEER:
        SSL_shutdown(pair.server);
        break;
    case DATA_AND_CLOSED:
        CHECK(SSL_write(pair.server, "0123456789", 10) == 10);
        SSL_shutdown(pair.server);
        break;
    case CLOSED_BY_BOTH:
        SSL_shutdown(pair.server);
        SSL_shutdown(pair.client);
        SSL_shutdown(pair.client);
        break;
    case DAMAGED:
    case FAILED:
        send_damaged_record(pair.server);
        if (state == FAILED)
            CHECK(SSL_read(pair.client, text, 1) == -1);
        break;
    case END_OF_TRANSPORT:
        BIO_shutdown_wr(SSL_get_wbio(pair.server));
        break;
    default:
        break;
    }
    ERR_clear_error();
    return pair;
}

static int make(SSL *ssl, enum call call, size_t length, size_t *count) {
    static char data[200];
    switch (call) {
    case READ:
        return SSL_read(ssl, data, (int)length);
    case PEEK:
        return SSL_peek(ssl, data, (int)length);
    case READ_EX:
        return SSL_read_ex(ssl, data, length, count);
    case PEEK_EX:
        return SSL_peek_ex(ssl, data, length, count);
    case WRITE:
        return SSL_write(ssl, data, (int)length);
    default:
        return SSL_write_ex(ssl, data, length, count);
    }
}

int main(void) {
    int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    size_t lengths[] = {0, 4, 100};
    for (int i = 0; i < 2; i++)
        for (int state = 0; state < STATES; state++)
            for (int call = 0; call < CALLS; call++)
                for (int length = 0; length < 3; length++) {
                    struct pair pair = in_state(versions[i], state);
                    printf("%x, %s, %s of %zu:", versions[i], state_names[state], call_names[call], lengths[length]);
                    /* A call leaves the state for the next one. */
                    for (int turn = 0; turn < 3; turn++) {
                        size_t count = 77;
                        int result = make(pair.client, call, lengths[length], &count);
                        int error = SSL_get_error(pair.client, result);
                        printf(" %d error %d", result, error);
                        /* The count of a call that failed is not set. */
                        if (call >= READ_EX && call != WRITE && result == 1)
                            printf(" count %zu", count);
                        printf(" pending %d want %d shutdown %d queue %s;", SSL_pending(pair.client),
                               SSL_want(pair.client), SSL_get_shutdown(pair.client),
                               ERR_peek_error() == 0 ? "empty" : "not empty");
                        ERR_clear_error();
                    }
                    printf("\n");
                    free_pair(&pair);
                }
    return 0;
}
