/* Connections after a fatal error: what each function returns, so that no later call succeeds. After a fatal alert,
   reads return 0, as after close_notify. */
#include "../c/test.h"

enum end { DAMAGED, ALERT, ALERT_AFTER_CLOSE, TRUNCATED, REFUSED_CERTIFICATE, NO_CERTIFICATE, ENDS };

static const char *const end_names[] = {"a damaged record",         "an alert",
                                        "an alert after our close", "the end of the transport",
                                        "a refused certificate",    "no certificate"};

enum call { HANDSHAKE, READ, PEEK_NOTHING, WRITE, KEY_UPDATE, REQUEST, SHUTDOWN, QUIET_SHUTDOWN, CALLS };

static const char *const call_names[] = {"handshake",  "read",    "peek of 0", "write",
                                         "key update", "request", "shutdown",  "quiet shutdown"};

static int call(SSL *ssl, enum call which) {
    char byte = 'x';
    switch (which) {
    case HANDSHAKE:
        return SSL_do_handshake(ssl);
    case READ:
        return SSL_read(ssl, &byte, 1);
    case PEEK_NOTHING:
        return SSL_peek(ssl, &byte, 0);
    case WRITE:
        return SSL_write(ssl, &byte, 1);
    case KEY_UPDATE:
        return SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    case REQUEST:
        return SSL_verify_client_post_handshake(ssl);
    case QUIET_SHUTDOWN:
        SSL_set_quiet_shutdown(ssl, 1);
        /* fall through */
    default:
        return SSL_shutdown(ssl);
    }
}

static enum end end;

static void show(SSL *ssl, const char *what, int result) {
    int error = SSL_get_error(ssl, result);
    printf("    %s %d error %d queue %d, finished %d init %d, %s, %s, shutdown %d\n", what, result, error,
           ERR_peek_error() != 0, SSL_is_init_finished(ssl), SSL_in_init(ssl), SSL_state_string_long(ssl),
           SSL_state_string(ssl), SSL_get_shutdown(ssl));
    ERR_clear_error();
}

/* Lets a side fail, and returns it. */
static SSL *fail(struct pair *pair) {
    char byte;
    SSL *ssl = pair->server;
    switch (end) {
    case DAMAGED:
        send_damaged_record(pair->client);
        break;
    case ALERT:
    case ALERT_AFTER_CLOSE:
        send_damaged_record(pair->client);
        if (end == ALERT_AFTER_CLOSE)
            CHECK(SSL_shutdown(pair->client) == 0);
        CHECK(SSL_read(pair->server, &byte, 1) == -1);
        ERR_clear_error();
        ssl = pair->client;
        break;
    case TRUNCATED:
        BIO_shutdown_wr(SSL_get_wbio(pair->client));
        break;
    default:
        CHECK(SSL_verify_client_post_handshake(pair->server) == 1 && SSL_do_handshake(pair->server) == 1);
        CHECK(SSL_read(pair->client, &byte, 1) == -1);
    }
    return ssl;
}

static void try(int version, enum call which) {
    struct pair pair = new_pair(version, 1 << 14);
    char byte;
    if (end >= REFUSED_CERTIFICATE) {
        permit_late_authentication(&pair);
        int mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_POST_HANDSHAKE;
        SSL_set_verify(pair.server, mode, NULL);
        if (end == NO_CERTIFICATE)
            SSL_certs_clear(pair.client);
        else
            X509_VERIFY_PARAM_set_time(SSL_get0_param(pair.server), 1);
    }
    CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, &byte, 1) == 1);
    printf("version %x, %s, %s\n", (unsigned)version, end_names[end], call_names[which]);
    SSL *ssl = fail(&pair);
    show(ssl, "read", SSL_read(ssl, &byte, 1));
    show(ssl, call_names[which], call(ssl, which));
    show(ssl, "handshake", SSL_do_handshake(ssl));
    printf("    version %s, suite %d\n", SSL_get_version(ssl), SSL_get_current_cipher(ssl) != NULL);
    drop_pair(&pair);
}

/* The alert is what the first call receives: each function that reads. */
static void received_by(int version, enum call which, int closes) {
    struct pair pair = new_pair(version, 1 << 14);
    char byte;
    CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, &byte, 1) == 1);
    send_damaged_record(pair.client);
    if (closes)
        CHECK(SSL_shutdown(pair.client) == 0);
    CHECK(SSL_read(pair.server, &byte, 1) == -1);
    ERR_clear_error();
    printf("version %x, %s receives an alert, closed %d\n", (unsigned)version, call_names[which], closes);
    show(pair.client, call_names[which], call(pair.client, which));
    show(pair.client, "read", SSL_read(pair.client, &byte, 1));
    SSL_set_shutdown(pair.client, 0);
    show(pair.client, "read, flags cleared", SSL_read(pair.client, &byte, 1));
    show(pair.client, "shutdown", SSL_shutdown(pair.client));
    drop_pair(&pair);
}

static void on_info(const SSL *ssl, int where, int value) {
    (void)ssl, (void)where, (void)value;
}

/* An alert of the client in the handshake, which each function of the server can receive. */
static void in_handshake(int version, enum call which) {
    struct pair pair = new_pair(version, 1 << 14);
    char byte;
    SSL_set1_host(pair.client, "other.test");
    /* Tercel knows the states of a handshake that has such a callback. */
    SSL_set_info_callback(pair.server, on_info);
    for (int turn = 0; turn < 3; turn++) {
        SSL_do_handshake(pair.client);
        if (turn == 0)
            SSL_do_handshake(pair.server);
    }
    ERR_clear_error();
    printf("version %x, %s receives an alert in the handshake\n", (unsigned)version, call_names[which]);
    show(pair.server, call_names[which], call(pair.server, which));
    show(pair.server, "read", SSL_read(pair.server, &byte, 1));
    show(pair.server, "handshake", SSL_do_handshake(pair.server));
    show(pair.server, "write", SSL_write(pair.server, &byte, 1));
    show(pair.server, "shutdown", SSL_shutdown(pair.server));
    drop_pair(&pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (end = 0; end < ENDS; end++)
            for (int which = 0; which < CALLS; which++)
                if (version == TLS1_3_VERSION || end < REFUSED_CERTIFICATE)
                    try(version, which);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int which = 0; which < CALLS; which++) {
            for (int closes = 0; closes < 2; closes++)
                received_by(version, which, closes);
            in_handshake(version, which);
        }
    return 0;
}
