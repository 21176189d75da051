/* A session is not resumed after a fatal alert, also from the program's cache. RFC 5246 7.2.2 */
#include "test.h"

/* The caches of the programs: the session that was made last. */
static SSL_SESSION *of_client, *of_server;
static int removed_by_client, removed_by_server;

static int on_new_of_client(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(of_client);
    of_client = session;
    return 1;
}

static int on_new_of_server(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(of_server);
    of_server = session;
    return 1;
}

static int have_one_name(SSL_SESSION *one, const unsigned char *name, unsigned int length) {
    unsigned int own = 0;
    const unsigned char *of_one = one == NULL ? NULL : SSL_SESSION_get_id(one, &own);
    return of_one != NULL && own == length && memcmp(of_one, name, length) == 0;
}

static SSL_SESSION *find(SSL *ssl, const unsigned char *id, int length, int *copy) {
    (void)ssl;
    *copy = 1;
    return have_one_name(of_server, id, length) ? of_server : NULL;
}

static void on_remove_of_client(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)ctx;
    removed_by_client += session == of_client;
}

static void on_remove_of_server(SSL_CTX *ctx, SSL_SESSION *session) {
    unsigned int length = 0;
    const unsigned char *name = SSL_SESSION_get_id(session, &length);
    (void)ctx;
    if (have_one_name(of_server, name, length)) {
        removed_by_server++;
        SSL_SESSION_free(of_server);
        of_server = NULL;
    }
}

/* Connects, with a session if it is not NULL, and exchanges data. */
static struct pair connection(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session, int resumed) {
    struct pair pair = connected(client_ctx, server_ctx, session);
    CHECK(SSL_session_reused(pair.client) == resumed && SSL_session_reused(pair.server) == resumed);
    return pair;
}

/* `resumes`: the alert is one of a connection that resumed the session. */
static void fatal_alert(int version, int mode, int resumes) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    char text[4];
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | mode);
    SSL_CTX_set_num_tickets(server_ctx, 1);
    SSL_CTX_sess_set_new_cb(server_ctx, on_new_of_server);
    SSL_CTX_sess_set_get_cb(server_ctx, find);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_remove_of_server);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, on_new_of_client);
    SSL_CTX_sess_set_remove_cb(client_ctx, on_remove_of_client);
    removed_by_client = removed_by_server = 0;

    struct pair pair = connection(client_ctx, server_ctx, NULL, 0);
    CHECK(of_client != NULL && of_server != NULL && SSL_SESSION_is_resumable(of_client) == 1);
    if (resumes) {
        free_pair(&pair);
        pair = connection(client_ctx, server_ctx, of_client, 1);
    }
    SSL_SESSION *copy = SSL_SESSION_dup(of_client);
    CHECK(removed_by_server == 0 && removed_by_client == 0);
    send_damaged_record(pair.client);
    CHECK(SSL_read(pair.server, text, 4) == -1);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC);
    CHECK(removed_by_server == 1 && of_server == NULL);
    CHECK(SSL_read(pair.client, text, 4) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SSLV3_ALERT_BAD_RECORD_MAC);
    CHECK(removed_by_client == 1 && SSL_SESSION_is_resumable(of_client) == 0);
    free_pair(&pair);

    pair = connection(client_ctx, server_ctx, copy, 0);
    free_pair(&pair);
    SSL_SESSION_free(copy);
    SSL_SESSION_free(of_client);
    SSL_SESSION_free(of_server);
    of_client = of_server = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

void test_alerts(void) {
    for (int internal = 0; internal < 2; internal++) {
        int mode = internal ? 0 : SSL_SESS_CACHE_NO_INTERNAL;
        fatal_alert(TLS1_2_VERSION, mode, 0);
        fatal_alert(TLS1_2_VERSION, mode, 1);
        fatal_alert(TLS1_3_VERSION, mode, 0);
    }
}
