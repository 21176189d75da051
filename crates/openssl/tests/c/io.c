/* Reading and writing: pending data, exact reading of records, partial and repeated writes, closing. */
#include "test.h"

static const int VERSIONS[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* SSL_pending counts data of the current record only, and nothing beyond that record is read. */
static void pending(int version) {
    struct pair pair = new_pair(version, 1 << 16);
    char text[16];
    CHECK(shake(&pair));
    CHECK(SSL_get_verify_result(pair.client) == X509_V_OK);
    CHECK(SSL_write(pair.server, "0123456789", 10) == 10);
    CHECK(SSL_write(pair.server, "abcde", 5) == 5);
    CHECK(SSL_pending(pair.client) == 0);
    CHECK(SSL_peek(pair.client, text, 4) == 4 && memcmp(text, "0123", 4) == 0);
    CHECK(SSL_pending(pair.client) == 10);
    CHECK(SSL_has_pending(pair.client) == 1);
    read_exactly(pair.client, text, 4);
    CHECK(memcmp(text, "0123", 4) == 0 && SSL_pending(pair.client) == 6);
    CHECK(SSL_read(pair.client, text, 16) == 6 && memcmp(text, "456789", 6) == 0);
    CHECK(SSL_pending(pair.client) == 0);
    /* The second record is still in the BIO. */
    CHECK(BIO_ctrl_pending(SSL_get_rbio(pair.client)) > 5);
    CHECK(SSL_read(pair.client, text, 16) == 5 && memcmp(text, "abcde", 5) == 0);
    CHECK(SSL_read(pair.client, text, 16) == -1);
    CHECK(SSL_get_error(pair.client, -1) == SSL_ERROR_WANT_READ);
    CHECK(SSL_want_read(pair.client));
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* With READ_AHEAD, more than a record is read. */
static void read_ahead(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 16);
    char text[16];
    CHECK(shake(&pair));
    SSL_set_read_ahead(pair.client, 1);
    CHECK(SSL_write(pair.server, "one", 3) == 3 && SSL_write(pair.server, "two", 3) == 3);
    CHECK(SSL_read(pair.client, text, 3) == 3);
    CHECK(BIO_ctrl_pending(SSL_get_rbio(pair.client)) == 0);
    CHECK(SSL_pending(pair.client) == 0 && SSL_has_pending(pair.client) == 1);
    CHECK(SSL_read(pair.client, text, 3) == 3 && memcmp(text, "two", 3) == 0);
    free_pair(&pair);
}

/* close_notify in both directions, and the end of the transport without it. */
static void closing(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    char text[4];
    CHECK(shake(&pair));
    CHECK(SSL_shutdown(pair.client) == 0);
    CHECK(SSL_get_shutdown(pair.client) == SSL_SENT_SHUTDOWN);
    CHECK(SSL_read(pair.server, text, 4) == 0);
    CHECK(SSL_get_error(pair.server, 0) == SSL_ERROR_ZERO_RETURN);
    CHECK(SSL_get_shutdown(pair.server) & SSL_RECEIVED_SHUTDOWN);
    CHECK(SSL_shutdown(pair.server) == 1);
    CHECK(SSL_shutdown(pair.client) == 1);
    CHECK(SSL_write(pair.client, "x", 1) == -1);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_PROTOCOL_IS_SHUTDOWN);
    CHECK(ERR_get_error() == 0);
    free_pair(&pair);

    pair = new_pair(version, 1 << 14);
    CHECK(shake(&pair));
    BIO_shutdown_wr(SSL_get_wbio(pair.server));
    int result = SSL_read(pair.client, text, 4);
    /* TLS 1.3 has tickets in the BIO before its end. */
    CHECK(result <= 0 && SSL_get_error(pair.client, result) == SSL_ERROR_SSL);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
    ERR_clear_error();
    free_pair(&pair);

    pair = new_pair(version, 1 << 14);
    SSL_set_options(pair.client, SSL_OP_IGNORE_UNEXPECTED_EOF);
    CHECK(shake(&pair));
    BIO_shutdown_wr(SSL_get_wbio(pair.server));
    CHECK(SSL_read(pair.client, text, 4) == 0);
    CHECK(SSL_get_error(pair.client, 0) == SSL_ERROR_ZERO_RETURN);
    free_pair(&pair);

    /* Quiet: nothing is sent. */
    pair = new_pair(version, 1 << 14);
    CHECK(shake(&pair));
    SSL_set_quiet_shutdown(pair.client, 1);
    size_t before = BIO_ctrl_pending(SSL_get_rbio(pair.server));
    CHECK(SSL_shutdown(pair.client) == 1);
    CHECK(BIO_ctrl_pending(SSL_get_rbio(pair.server)) == before);
    CHECK(SSL_get_shutdown(pair.client) == (SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN));
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

void test_reading(void) {
    for (int i = 0; i < 2; i++) {
        pending(VERSIONS[i]);
        closing(VERSIONS[i]);
    }
    read_ahead();
}

/* A BIO that is too small for the data: the write is repeated until all data are accepted. */
static void repeated(int version, long mode, int move) {
    enum { LENGTH = 200000 };
    struct pair pair = new_pair(version, 20000);
    char *data = malloc(LENGTH), *copy = malloc(LENGTH), *received = malloc(LENGTH);
    for (int i = 0; i < LENGTH; i++)
        data[i] = copy[i] = (char)(i * 31);
    CHECK(shake(&pair));
    SSL_set_mode(pair.client, mode);
    int sent = 0, got = 0, turn = 0;
    while (sent < LENGTH || got < LENGTH) {
        if (sent < LENGTH) {
            char *from = move && turn++ % 2 ? copy : data;
            int count = SSL_write(pair.client, from + sent, LENGTH - sent);
            if (count > 0) {
                if (!(mode & SSL_MODE_ENABLE_PARTIAL_WRITE))
                    CHECK(count == LENGTH - sent);
                sent += count;
            } else {
                CHECK(SSL_get_error(pair.client, count) == SSL_ERROR_WANT_WRITE);
                CHECK(ERR_peek_error() == 0);
            }
        }
        int count = SSL_read(pair.server, received + got, LENGTH - got);
        if (count > 0)
            got += count;
        else
            CHECK(SSL_get_error(pair.server, count) == SSL_ERROR_WANT_READ);
    }
    CHECK(memcmp(data, received, LENGTH) == 0);
    free(data);
    free(copy);
    free(received);
    free_pair(&pair);
}

/* Another write instead of the blocked one is an error, and the blocked one can still be repeated. A shorter one fails
   the connection. */
static void bad_retry(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 20000);
    static char data[100000], other[100000], received[100000];
    memset(data, 'a', sizeof data);
    CHECK(shake(&pair));
    CHECK(SSL_write(pair.client, data, sizeof data) == -1);
    CHECK(SSL_get_error(pair.client, -1) == SSL_ERROR_WANT_WRITE);
    CHECK(SSL_write(pair.client, other, sizeof other) == -1);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_WRITE_RETRY);
    CHECK(ERR_peek_error() == 0);
    int done = 0, got = 0;
    while (!done || got < (int)sizeof data) {
        if (!done)
            done = SSL_write(pair.client, data, sizeof data) == sizeof data;
        int count = SSL_read(pair.server, received + got, sizeof received - got);
        if (count > 0)
            got += count;
    }
    CHECK(memcmp(data, received, sizeof data) == 0);
    CHECK(SSL_write(pair.client, data, sizeof data) == -1);
    CHECK(SSL_write(pair.client, data, 10) == -1 && SSL_get_error(pair.client, -1) == SSL_ERROR_SSL);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_BAD_LENGTH && SSL_in_init(pair.client));
    CHECK(SSL_read(pair.client, received, 1) == -1 && SSL_get_error(pair.client, -1) == SSL_ERROR_SYSCALL);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* A blocked write may be repeated with less data, if that has what is sealed already. */
static void shorter_retry(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 20000);
    enum { LENGTH = 70000 };
    static char data[100000], received[LENGTH];
    memset(data, 'a', sizeof data);
    CHECK(shake(&pair));
    CHECK(SSL_write(pair.client, data, sizeof data) == -1);
    int done = 0, got = 0;
    while (!done || got < LENGTH) {
        if (!done) {
            int result = SSL_write(pair.client, data, LENGTH);
            done = result == LENGTH;
            CHECK(done || SSL_get_error(pair.client, result) == SSL_ERROR_WANT_WRITE);
        }
        int count = SSL_read(pair.server, received + got, LENGTH - got);
        if (count > 0)
            got += count;
    }
    CHECK(memcmp(data, received, LENGTH) == 0 && SSL_read(pair.server, received, 1) == -1);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

void test_writing(void) {
    shorter_retry();
    for (int i = 0; i < 2; i++) {
        repeated(VERSIONS[i], 0, 0);
        repeated(VERSIONS[i], SSL_MODE_ENABLE_PARTIAL_WRITE, 0);
        repeated(VERSIONS[i], SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, 1);
        repeated(VERSIONS[i], SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, 1);
    }
    bad_retry();
    size_t count = 9;
    struct pair pair = new_pair(0, 1 << 14);
    CHECK(shake(&pair));
    CHECK(SSL_version(pair.client) == TLS1_3_VERSION);
    CHECK(SSL_write_ex(pair.client, "abc", 3, &count) == 1 && count == 3);
    char text[8];
    CHECK(SSL_read_ex(pair.server, text, 8, &count) == 1 && count == 3);
    CHECK(SSL_read_ex(pair.server, text, 8, &count) == 0);
    CHECK(SSL_get_error(pair.server, 0) == SSL_ERROR_WANT_READ);
    free_pair(&pair);
}
