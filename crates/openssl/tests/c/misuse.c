/* Calls as programs make them by mistake: NULL, wrong order, freeing in callbacks. */
#include "test.h"
#include <pthread.h>
#include <unistd.h>

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

static int in_callback;

/* Clearing a connection, or changing its side, inside of one of its operations is refused. */
static int clear_in_callback(SSL *ssl, int *alert, void *argument) {
    (void)alert, (void)argument;
    CHECK(SSL_clear(ssl) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == ERR_R_SHOULD_NOT_HAVE_BEEN_CALLED);
    SSL_set_connect_state(ssl);
    ERR_clear_error();
    CHECK(SSL_is_server(ssl) == 1 && SSL_in_init(ssl) == 1);
    in_callback++;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_SESSION *clear_in_step(SSL *ssl, const unsigned char *id, int length, int *copy) {
    (void)id, (void)length, (void)copy;
    clear_in_callback(ssl, NULL, NULL);
    return NULL;
}

static int keep(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_CTX_set_app_data(SSL_get_SSL_CTX(ssl), session);
    return 1;
}

static void cleared_in_callback(void) {
    SSL_CTX *client_ctx = client_context(TLS1_2_VERSION), *server_ctx = server_context(TLS1_2_VERSION);
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_get_cb(server_ctx, clear_in_step);
    SSL_CTX_set_tlsext_servername_callback(server_ctx, clear_in_callback);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep);
    in_callback = 0;
    for (int i = 0; i < 2; i++) {
        SSL_CTX_up_ref(client_ctx);
        SSL_CTX_up_ref(server_ctx);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        SSL_SESSION *known = SSL_CTX_get_app_data(client_ctx);
        if (known != NULL)
            CHECK(SSL_set_session(pair.client, known) == 1);
        SSL_SESSION_free(known);
        SSL_CTX_set_app_data(client_ctx, NULL);
        CHECK(shake(&pair));
        free_pair(&pair);
    }
    /* The server name twice, and the session once. */
    CHECK(in_callback == 3);
    SSL_SESSION_free(SSL_CTX_get_app_data(client_ctx));
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
}

static SSL *waited_for;

static void *use(void *argument) {
    CHECK(SSL_is_server(argument) == 1);
    return NULL;
}

/* A function of the program that waits for another thread, which uses the connection. */
static int wait_for_thread(int ok, X509_STORE_CTX *context) {
    pthread_t thread;
    (void)ok, (void)context;
    if (waited_for != NULL) {
        CHECK(pthread_create(&thread, NULL, use, waited_for) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        in_callback++;
    }
    return 1;
}

/* Building the chain of the own certificate calls a function of the store. */
static void thread_in_callback(void) {
    struct pair pair = new_pair(0, 1 << 14);
    X509_STORE_set_verify_cb(SSL_CTX_get_cert_store(pair.server_ctx), wait_for_thread);
    SSL_set_options(pair.server, SSL_OP_CIPHER_SERVER_PREFERENCE);
    waited_for = pair.server;
    in_callback = 0;
    alarm(60);
    CHECK(shake(&pair));
    alarm(0);
    CHECK(in_callback > 0);
    waited_for = NULL;
    free_pair(&pair);
}

/* Lists of chains that a program receives are those that it received before, and belong to the objects. */
static void lent_chains(void) {
    SSL_CTX *ctx = server_context(0);
    STACK_OF(X509) *one = NULL, *other = NULL;
    CHECK(SSL_CTX_get0_chain_certs(ctx, &one) == 1 && one == NULL);
    CHECK(SSL_CTX_add1_chain_cert(ctx, SSL_CTX_get0_certificate(ctx)) == 1);
    SSL *ssl = SSL_new(ctx);
    CHECK(SSL_CTX_get0_chain_certs(ctx, &one) == 1 && sk_X509_num(one) == 1);
    CHECK(SSL_CTX_get0_chain_certs(ctx, &other) == 1 && one == other);
    CHECK(SSL_get0_chain_certs(ssl, &other) == 1 && sk_X509_num(other) == 1);
    CHECK(sk_X509_value(one, 0) == sk_X509_value(other, 0));
    CHECK(SSL_CTX_get_extra_chain_certs(ctx, &one) == 1 && sk_X509_num(one) == 1);
    CHECK(SSL_CTX_get_extra_chain_certs_only(ctx, &one) == 1 && one == NULL);
    for (int i = 2; i < 5; i++) {
        CHECK(SSL_CTX_add_extra_chain_cert(ctx, X509_dup(SSL_CTX_get0_certificate(ctx))) == 1);
        CHECK(SSL_CTX_get_extra_chain_certs_only(ctx, &one) == 1 && sk_X509_num(one) == i - 1);
    }
    SSL_free(ssl);
    /* Lists that the program received before remain. */
    CHECK(SSL_CTX_get0_chain_certs(ctx, &other) == 1 && sk_X509_num(other) == 1);
    CHECK(SSL_CTX_clear_chain_certs(ctx) == 1);
    CHECK(SSL_CTX_add1_chain_cert(ctx, sk_X509_value(one, 0)) == 1);
    CHECK(SSL_CTX_get0_chain_certs(ctx, &one) == 1 && one != other);
    CHECK(sk_X509_num(other) == 1 && sk_X509_num(one) == 1);
    SSL_CTX_free(ctx);
}

void test_misuse(void) {
    cleared_in_callback();
    thread_in_callback();
    lent_chains();
    null_arguments();
    wrong_order();
    freed_in_callback();
    CHECK(ERR_peek_error() == 0);
}
