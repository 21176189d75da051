/* The session cache of a server: the function for new sessions, the number of sessions, and which of them remain. */
#include "test.h"

static SSL_SESSION *known[16];
static int made, removed, keeps;
static unsigned char names[16][SSL_MAX_SSL_SESSION_ID_LENGTH], removed_name[SSL_MAX_SSL_SESSION_ID_LENGTH];
static SSL_CTX *own_ctx;

static int on_new(SSL *ssl, SSL_SESSION *session) {
    unsigned int length;
    const unsigned char *name = SSL_SESSION_get_id(session, &length);
    CHECK(SSL_get_session(ssl) == session && SSL_SESSION_is_resumable(session) == 1);
    CHECK(length == SSL_MAX_SSL_SESSION_ID_LENGTH && made < 16);
    for (int i = 0; i < made; i++)
        CHECK(memcmp(names[i], name, length) != 0);
    memcpy(names[made], name, length);
    if (keeps)
        known[made] = session;
    made++;
    return keeps;
}

static void on_removal(SSL_CTX *ctx, SSL_SESSION *session) {
    unsigned int length;
    const unsigned char *name = SSL_SESSION_get_id(session, &length);
    CHECK(ctx == own_ctx && length == sizeof removed_name);
    memcpy(removed_name, name, length);
    removed++;
}

static SSL_SESSION *newest;

static int on_client_session(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(newest);
    newest = session;
    return 1;
}

static void forget(void) {
    for (int i = 0; i < made; i++) {
        SSL_SESSION_free(known[i]);
        known[i] = NULL;
    }
    made = removed = 0;
}

/* Connects, and takes the client's session. `timeout` is that of the server's session. Returns whether one was resumed. */
static int connect_once(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session, SSL_SESSION **taken, int timeout) {
    SSL_CTX_set_timeout(server_ctx, timeout);
    struct pair pair = connected(client_ctx, server_ctx, session);
    int resumed = SSL_session_reused(pair.server);
    if (taken != NULL)
        *taken = SSL_get1_session(pair.client);
    /* A session is removed from the cache if its connection is not closed. */
    SSL_shutdown(pair.server);
    SSL_shutdown(pair.client);
    SSL_shutdown(pair.server);
    free_pair(&pair);
    return resumed;
}

static SSL_CTX *caching_server(int version) {
    SSL_CTX *ctx = server_context(version);
    CHECK(SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_sess_set_new_cb(ctx, on_new);
    own_ctx = ctx;
    return ctx;
}

static int ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                      int seals) {
    (void)ssl;
    return use_ticket_key(name, iv, cipher, mac, seals) ? 1 : -1;
}

/* A server's function for new sessions is called for each ticket of TLS 1.3, though the client keeps the session. */
static void new_sessions(int with_key) {
    SSL_CTX *server_ctx = caching_server(TLS1_3_VERSION), *client_ctx = client_context(TLS1_3_VERSION);
    if (with_key)
        SSL_CTX_set_tlsext_ticket_key_evp_cb(server_ctx, ticket_key);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, on_client_session);
    keeps = 1;
    CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0 && made == 2);
    /* The sessions that the program keeps have what it may want to store. */
    CHECK(i2d_SSL_SESSION(known[0], NULL) > 0 && SSL_SESSION_get_protocol_version(known[1]) == TLS1_3_VERSION);
    /* They are not in the cache, because no client has their names. */
    CHECK(SSL_CTX_sess_number(server_ctx) == 0);
    forget();
    /* A ticket that was used is replaced. With a key of the program, OpenSSL does so only if the program wants it. */
    CHECK(connect_once(client_ctx, server_ctx, newest, NULL, 300) == 1 && (made == 1 || with_key));
    forget();
    keeps = 0;
    SSL_CTX_set_num_tickets(server_ctx, 5);
    CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0 && made == 5);
    forget();
    SSL_CTX_set_num_tickets(server_ctx, 0);
    CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0 && made == 0);
    SSL_CTX_set_num_tickets(server_ctx, 2);
    /* A program that is told which sessions end has them in the cache. */
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removal);
    CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0 && made == 2 && removed == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 2);
    SSL_CTX_flush_sessions(server_ctx, 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 0 && removed == 2);
    forget();
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_OFF);
    CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0 && made == 0);
    SSL_SESSION_free(newest);
    newest = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

/* A session that the function has seen is not resumable any more after its removal, which the program hears of. */
static void removal(int version) {
    SSL_CTX *server_ctx = caching_server(version), *client_ctx = client_context(version);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removal);
    if (version == TLS1_2_VERSION)
        SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    keeps = 1;
    CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0 && made > 0);
    SSL_SESSION *last = known[made - 1];
    CHECK(SSL_CTX_remove_session(server_ctx, last) == 1 && removed == 1 && SSL_SESSION_is_resumable(last) == 0);
    CHECK(memcmp(removed_name, names[made - 1], sizeof removed_name) == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == made - 1);
    /* It is not in the cache any more. */
    CHECK(SSL_CTX_remove_session(server_ctx, last) == 0);
    forget();
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    ERR_clear_error();
}

/* In TLS 1.2, a ticket has no name, so the function is not called. */
static void tickets_of_tls12(void) {
    SSL_CTX *server_ctx = caching_server(TLS1_2_VERSION), *client_ctx = client_context(TLS1_2_VERSION);
    SSL_SESSION *session;
    CHECK(connect_once(client_ctx, server_ctx, NULL, &session, 300) == 0 && made == 0);
    CHECK(connect_once(client_ctx, server_ctx, session, NULL, 300) == 1 && made == 0);
    SSL_SESSION_free(session);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

/* The cache has as many sessions as the program sets. The one that expires first makes room, of several the oldest. */
static void size_of_cache(void) {
    SSL_CTX *server_ctx = caching_server(TLS1_2_VERSION), *client_ctx = client_context(TLS1_2_VERSION);
    SSL_SESSION *sessions[5];
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removal);
    keeps = 0;
    CHECK(SSL_CTX_sess_get_cache_size(server_ctx) == SSL_SESSION_CACHE_MAX_SIZE_DEFAULT);
    CHECK(SSL_CTX_sess_set_cache_size(server_ctx, 2) == SSL_SESSION_CACHE_MAX_SIZE_DEFAULT);
    CHECK(SSL_CTX_sess_get_cache_size(server_ctx) == 2);
    CHECK(connect_once(client_ctx, server_ctx, NULL, &sessions[0], 300) == 0);
    CHECK(connect_once(client_ctx, server_ctx, NULL, &sessions[1], 100) == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 2 && SSL_CTX_sess_cache_full(server_ctx) == 0 && removed == 0);
    CHECK(connect_once(client_ctx, server_ctx, NULL, &sessions[2], 300) == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 2 && SSL_CTX_sess_cache_full(server_ctx) == 1 && removed == 1);
    CHECK(memcmp(removed_name, names[1], sizeof removed_name) == 0);
    CHECK(connect_once(client_ctx, server_ctx, NULL, &sessions[3], 300) == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 2 && SSL_CTX_sess_cache_full(server_ctx) == 2 && removed == 2);
    CHECK(memcmp(removed_name, names[0], sizeof removed_name) == 0);
    /* Without a limit. */
    CHECK(SSL_CTX_sess_set_cache_size(server_ctx, 0) == 2);
    CHECK(connect_once(client_ctx, server_ctx, NULL, &sessions[4], 300) == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 3 && removed == 2 && SSL_CTX_sess_hits(server_ctx) == 0);
    CHECK(connect_once(client_ctx, server_ctx, sessions[2], NULL, 300) == 1);
    CHECK(connect_once(client_ctx, server_ctx, sessions[4], NULL, 300) == 1);
    CHECK(SSL_CTX_sess_hits(server_ctx) == 2 && SSL_CTX_sess_misses(server_ctx) == 0);
    CHECK(connect_once(client_ctx, server_ctx, sessions[0], NULL, 300) == 0);
    CHECK(SSL_CTX_sess_misses(server_ctx) == 1);
    /* Sessions that end before a time, and all. */
    long count = SSL_CTX_sess_number(server_ctx);
    SSL_CTX_flush_sessions(server_ctx, time(NULL));
    CHECK(SSL_CTX_sess_number(server_ctx) == count);
    SSL_CTX_flush_sessions(server_ctx, time(NULL) + 1000);
    CHECK(SSL_CTX_sess_number(server_ctx) == 0 && removed == 2 + count);
    for (int i = 0; i < 5; i++)
        SSL_SESSION_free(sessions[i]);
    forget();
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

/* A program's sessions enter the cache once, and make room like others. */
static void added_sessions(void) {
    SSL_CTX *server_ctx = caching_server(TLS1_2_VERSION), *client_ctx = client_context(TLS1_2_VERSION);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    keeps = 1;
    for (int i = 0; i < 3; i++)
        CHECK(connect_once(client_ctx, server_ctx, NULL, NULL, 300) == 0);
    CHECK(made == 3 && SSL_CTX_sess_number(server_ctx) == 0);
    SSL_CTX_sess_set_cache_size(server_ctx, 2);
    CHECK(SSL_CTX_add_session(server_ctx, known[0]) == 1 && SSL_CTX_add_session(server_ctx, known[0]) == 0);
    CHECK(SSL_CTX_sess_number(server_ctx) == 1);
    CHECK(SSL_CTX_add_session(server_ctx, known[1]) == 1 && SSL_CTX_add_session(server_ctx, known[2]) == 1);
    CHECK(SSL_CTX_sess_number(server_ctx) == 2 && SSL_CTX_sess_cache_full(server_ctx) == 1);
    CHECK(SSL_SESSION_is_resumable(known[0]) == 0 && SSL_SESSION_is_resumable(known[1]) == 1);
    forget();
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

void test_cache(void) {
    new_sessions(0);
    new_sessions(1);
    removal(TLS1_2_VERSION);
    removal(TLS1_3_VERSION);
    tickets_of_tls12();
    size_of_cache();
    added_sessions();
}
