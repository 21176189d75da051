/* Connections that write to a buffering BIO: messages of the protocol are flushed, data is not. */
#include "../c/test.h"

static void buffer_writes(SSL *ssl) {
    BIO *buffer = BIO_new(BIO_f_buffer()), *to = SSL_get_wbio(ssl);
    CHECK(buffer != NULL && BIO_up_ref(to) == 1 && BIO_push(buffer, to) == buffer);
    SSL_set0_wbio(ssl, buffer);
}

static void show(const char *what, SSL *ssl, int result) {
    int error = SSL_get_error(ssl, result);
    /* Without bytes of its own, the BIO reports those of the next one. */
    BIO *buffer = SSL_get_wbio(ssl);
    printf("  %s: %d error %d, finished %d, buffered %d\n", what, result, error, SSL_is_init_finished(ssl),
           BIO_wpending(buffer) != BIO_wpending(BIO_next(buffer)));
    ERR_clear_error();
}

static struct pair buffered_pair(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    char byte;
    /* OpenSSL's server sends tickets after a request, too. */
    SSL_set_num_tickets(pair.server, 0);
    permit_late_authentication(&pair);
    buffer_writes(pair.client);
    buffer_writes(pair.server);
    printf("version %x: handshake %d\n", (unsigned)version, shake(&pair));
    show("server writes", pair.server, SSL_write(pair.server, "x", 1));
    CHECK(BIO_flush(SSL_get_wbio(pair.server)) == 1 && SSL_read(pair.client, &byte, 1) == 1);
    return pair;
}

static void request(void) {
    struct pair pair = buffered_pair(TLS1_3_VERSION);
    char text[8];
    CHECK(SSL_verify_client_post_handshake(pair.server) == 1);
    show("server handshake", pair.server, SSL_do_handshake(pair.server));
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    printf("  certificate %d\n", SSL_get0_peer_certificate(pair.server) != NULL);
    free_pair(&pair);
}

static void key_update(int requested) {
    struct pair pair = buffered_pair(TLS1_3_VERSION);
    char text[8];
    CHECK(SSL_key_update(pair.server, requested ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
    show("server updates its key", pair.server, SSL_do_handshake(pair.server));
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    show("client writes", pair.client, SSL_write(pair.client, "data", 4));
    CHECK(BIO_flush(SSL_get_wbio(pair.client)) == 1);
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    /* A message that a write sends. */
    CHECK(SSL_key_update(pair.server, SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
    show("server writes", pair.server, SSL_write(pair.server, "more", 4));
    CHECK(BIO_flush(SSL_get_wbio(pair.server)) == 1);
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    free_pair(&pair);
}

/* Alerts. */
static void ended(int version, int closed) {
    struct pair pair = buffered_pair(version);
    char text[8];
    if (closed) {
        show("client shuts down", pair.client, SSL_shutdown(pair.client));
    } else {
        send_damaged_record(pair.server);
        CHECK(BIO_flush(SSL_get_wbio(pair.server)) == 1);
        show("client fails", pair.client, SSL_read(pair.client, text, sizeof text));
    }
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    drop_pair(&pair);
}

int main(void) {
    request();
    key_update(0);
    key_update(1);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int closed = 0; closed < 2; closed++)
            ended(version, closed);
    return 0;
}
