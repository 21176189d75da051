/* The side of a connection: by its method and what the application called, in each function that begins a handshake.
   A handshake of a side that the method does not have is refused, also by the functions that are called after it. */
#include "../c/test.h"

static const struct {
    const char *name;
    const SSL_METHOD *(*make)(void);
} methods[] = {{"TLS", TLS_method},
               {"client", TLS_client_method},
               {"server", TLS_server_method},
               {"1.2 client", TLSv1_2_client_method},
               {"1.2 server", TLSv1_2_server_method}};

enum before { NOTHING, CONNECT_STATE, ACCEPT_STATE, CONNECT, ACCEPT, CHANGED_METHOD, BEFORES };

static const char *const before_names[] = {"nothing",     "SSL_set_connect_state", "SSL_set_accept_state",
                                           "SSL_connect", "SSL_accept",            "SSL_set_ssl_method"};

enum call { HANDSHAKE, CONNECT_NOW, ACCEPT_NOW, READ, PEEK, WRITE, SHUTDOWN, QUIET_SHUTDOWN, READ_EARLY, WRITE_EARLY, CALLS };

static const char *const call_names[] = {"SSL_do_handshake", "SSL_connect", "SSL_accept",
                                         "SSL_read",         "SSL_peek",    "SSL_write",
                                         "SSL_shutdown",     "quiet",       "read_early",
                                         "write_early"};

static int call(SSL *ssl, enum call which) {
    char byte = 'x';
    size_t count;
    switch (which) {
    case HANDSHAKE:
        return SSL_do_handshake(ssl);
    case CONNECT_NOW:
        return SSL_connect(ssl);
    case ACCEPT_NOW:
        return SSL_accept(ssl);
    case READ:
        return SSL_read(ssl, &byte, 1);
    case PEEK:
        return SSL_peek(ssl, &byte, 1);
    case WRITE:
        return SSL_write(ssl, &byte, 1);
    case QUIET_SHUTDOWN:
        SSL_set_quiet_shutdown(ssl, 1);
        /* fall through */
    case SHUTDOWN:
        return SSL_shutdown(ssl);
    case READ_EARLY:
        return SSL_read_early_data(ssl, &byte, 1, &count);
    default:
        return SSL_write_early_data(ssl, &byte, 1, &count);
    }
}

static void show(SSL *ssl, const char *name, int result) {
    int error = SSL_get_error(ssl, result);
    unsigned long reason = ERR_get_error();
    printf(" %s %d error %d reason %d, server %d before %d init %d", name, result, error, ERR_GET_REASON(reason),
           SSL_is_server(ssl), SSL_in_before(ssl), SSL_in_init(ssl));
    ERR_clear_error();
}

static void attempt(int method, enum before before, int clears, enum call which) {
    SSL_CTX *ctx = SSL_CTX_new(methods[method].make());
    SSL *ssl = SSL_new(ctx);
    BIO *own, *other;
    CHECK(BIO_new_bio_pair(&own, 0, &other, 0) == 1);
    SSL_set_bio(ssl, own, own);
    CHECK(SSL_CTX_use_certificate_file(ctx, material("server.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(ctx, material("server.key"), SSL_FILETYPE_PEM) == 1);
    printf("%s method, %s%s:", methods[method].name, before_names[before], clears ? ", cleared" : "");
    switch (before) {
    case CONNECT_STATE:
        SSL_set_connect_state(ssl);
        break;
    case ACCEPT_STATE:
        SSL_set_accept_state(ssl);
        break;
    case CONNECT:
        show(ssl, "", SSL_connect(ssl));
        break;
    case ACCEPT:
        show(ssl, "", SSL_accept(ssl));
        break;
    case CHANGED_METHOD:
        SSL_set_ssl_method(ssl, method == 1 ? TLS_server_method() : TLS_client_method());
        break;
    default:
        break;
    }
    if (clears) {
        CHECK(SSL_clear(ssl) == 1);
        CHECK(SSL_get_ssl_method(ssl) == methods[method].make());
        BIO_reset(own);
    }
    show(ssl, call_names[which], call(ssl, which));
    /* A call that was refused has begun nothing that the next one continues. */
    show(ssl, "then", SSL_do_handshake(ssl));
    printf(", sent %d\n", BIO_pending(other) != 0);
    BIO_free(other);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

int main(void) {
    for (int method = 0; method < 5; method++)
        for (int before = 0; before < BEFORES; before++)
            for (int clears = 0; clears < 2; clears++)
                for (int which = 0; which < CALLS; which++)
                    attempt(method, before, clears, which);
    return 0;
}
