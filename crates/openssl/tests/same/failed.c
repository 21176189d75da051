/* Established connections after a fatal error: what each function returns, so that no later call succeeds. After a
   fatal alert, OpenSSL's reads return 0, as after close_notify. */
#include "../c/test.h"

enum end { DAMAGED, ALERT, TRUNCATED, REFUSED_CERTIFICATE, NO_CERTIFICATE, ENDS };

static const char *const end_names[] = {"a damaged record", "an alert", "the end of the transport",
                                        "a refused certificate", "no certificate"};

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
    if (end == ALERT && result <= 0)
        result = error = -1;
    printf("    %s %d error %d queue %d, finished %d init %d, %s, %s\n", what, result, error, ERR_peek_error() != 0,
           SSL_is_init_finished(ssl), SSL_in_init(ssl), SSL_state_string_long(ssl), SSL_state_string(ssl));
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
        send_damaged_record(pair->client);
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
    printf("    shutdown %d, version %s, suite %d\n", end == ALERT ? 0 : SSL_get_shutdown(ssl), SSL_get_version(ssl),
           SSL_get_current_cipher(ssl) != NULL);
    drop_pair(&pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (end = 0; end < ENDS; end++)
            for (int which = 0; which < CALLS; which++)
                if (version == TLS1_3_VERSION || end < REFUSED_CERTIFICATE)
                    try(version, which);
    return 0;
}
