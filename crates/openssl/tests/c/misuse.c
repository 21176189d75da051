/* Calls as programs make them by mistake: NULL, wrong order, freeing in callbacks. */
#include "test.h"

static SSL *to_free;

static int free_in_callback(int ok, X509_STORE_CTX *context) {
    (void)ok;
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    CHECK(ssl != NULL && SSL_get_SSL_CTX(ssl) != NULL);
    /* Reading inside of the handshake is refused. */
    char text[4];
    CHECK(SSL_read(ssl, text, 4) == -1);
    ERR_clear_error();
    if (to_free != NULL) {
        SSL_free(to_free);
        to_free = NULL;
    }
    return 1;
}

static void null_arguments(void) {
    char text[4];
    CHECK(SSL_new(NULL) == NULL);
    ERR_clear_error();
    CHECK(SSL_CTX_new(NULL) == NULL);
    ERR_clear_error();
    SSL_free(NULL);
    SSL_CTX_free(NULL);
    SSL_SESSION_free(NULL);
    CHECK(SSL_read(NULL, text, 4) == -1);
    CHECK(SSL_write(NULL, text, 4) == -1);
    CHECK(SSL_do_handshake(NULL) == -1);
    CHECK(SSL_get_current_cipher(NULL) == NULL);
    CHECK(strcmp(SSL_CIPHER_get_name(NULL), "(NONE)") == 0);
    CHECK(SSL_get_session(NULL) == NULL);
    CHECK(SSL_ctrl(NULL, SSL_CTRL_MODE, 0, NULL) == 0);
    CHECK(SSL_CTX_ctrl(NULL, SSL_CTRL_MODE, 0, NULL) == 0);
    ERR_clear_error();
}

static void wrong_order(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx);
    char text[4];
    CHECK(SSL_do_handshake(ssl) == -1);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_CONNECTION_TYPE_NOT_SET);
    CHECK(SSL_read(ssl, text, 4) == -1 && SSL_shutdown(ssl) == -1);
    ERR_clear_error();
    CHECK(SSL_connect(ssl) == -1); /* no BIO */
    CHECK(ERR_peek_error() != 0);
    ERR_clear_error();
    SSL_free(ssl);
    SSL_CTX_free(ctx);

    struct pair pair = new_pair(0, 1 << 14);
    CHECK(SSL_do_handshake(pair.client) == -1);
    CHECK(SSL_shutdown(pair.client) == -1);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SHUTDOWN_WHILE_IN_INIT);
    CHECK(SSL_get0_peer_certificate(pair.client) == NULL);
    CHECK(SSL_get_peer_cert_chain(pair.client) == NULL);
    CHECK(shake(&pair));
    CHECK(SSL_read(pair.client, text, -1) == -1);
    ERR_clear_error();
    CHECK(SSL_write(pair.client, text, 0) == 0);
    /* The same objects serve another connection. */
    BIO *one, *other;
    CHECK(BIO_new_bio_pair(&one, 1 << 14, &other, 1 << 14) == 1);
    CHECK(SSL_clear(pair.client) == 1 && SSL_clear(pair.server) == 1);
    SSL_set_bio(pair.client, one, one);
    SSL_set_bio(pair.server, other, other);
    CHECK(shake(&pair));
    free_pair(&pair);
}

/* A verify callback frees the connection that it is called for. */
static void freed_in_callback(void) {
    struct pair pair = new_pair(0, 1 << 14);
    SSL_set_verify(pair.client, SSL_VERIFY_PEER, free_in_callback);
    CHECK(SSL_do_handshake(pair.client) == -1);
    CHECK(SSL_do_handshake(pair.server) == -1);
    to_free = pair.client;
    SSL_do_handshake(pair.client);
    CHECK(to_free == NULL);
    pair.client = NULL;
    ERR_clear_error();
    free_pair(&pair);
}

void test_misuse(void) {
    null_arguments();
    wrong_order();
    freed_in_callback();
    CHECK(ERR_peek_error() == 0);
}
