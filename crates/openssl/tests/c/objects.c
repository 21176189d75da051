/* The objects of a server's sessions: the program's functions receive the one that is in the cache, which a resumed
   connection has, too. */
#include "test.h"

static SSL_CTX *server_ctx, *client_ctx;
static int keeps = 1, index_of_name;
/* The sessions that the program keeps, as many programs do: a reference from the function for new sessions, which the
   function for removed ones frees. */
static SSL_SESSION *kept[32], *newest;
static int made, removed, index_of_mark;
static char calls[64];
/* The connection whose context ends. */
static SSL *ending;

static int on_new(SSL *ssl, SSL_SESSION *session) {
    CHECK(SSL_get_session(ssl) == session && made < 32);
    kept[made++] = session;
    strcat(calls, "+");
    return 1;
}

static void on_removal(SSL_CTX *ctx, SSL_SESSION *session) {
    int i = 0;
    while (i < made && kept[i] != session)
        i++;
    CHECK(ctx == server_ctx && i < made);
    CHECK(strcmp(SSL_CTX_get_ex_data(ctx, index_of_name), "name") == 0);
    kept[i] = NULL;
    removed++;
    strcat(calls, "-");
    if (ending != NULL)
        CHECK(SSL_get_ex_data(ending, 0) == NULL && SSL_is_server(ending) == 0);
    SSL_SESSION_free(session);
}

static SSL_SESSION *find(SSL *ssl, const unsigned char *id, int length, int *copy) {
    unsigned int own_length;
    (void)ssl;
    *copy = 1;
    for (int i = 0; i < made; i++) {
        if (kept[i] == NULL)
            continue;
        const unsigned char *own = SSL_SESSION_get_id(kept[i], &own_length);
        if ((int)own_length == length && memcmp(own, id, length) == 0)
            return kept[i];
    }
    return NULL;
}

enum kind { TLS12, TLS13_SEALED, TLS13_STORED };

static void begin(enum kind kind) {
    int version = kind == TLS12 ? TLS1_2_VERSION : TLS1_3_VERSION;
    if (index_of_mark == 0) {
        index_of_mark = SSL_SESSION_get_ex_new_index(0, NULL, NULL, NULL, NULL);
        index_of_name = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    }
    made = removed = 0;
    calls[0] = 0;
    newest = NULL;
    server_ctx = server_context(version);
    client_ctx = client_context(version);
    CHECK(SSL_CTX_set_ex_data(server_ctx, index_of_name, "name") == 1);
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    if (kind != TLS13_SEALED)
        SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_sess_set_new_cb(server_ctx, on_new);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removal);
}

static void end(void) {
    SSL_SESSION_free(newest);
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    for (int i = 0; i < made; i++)
        SSL_SESSION_free(kept[i]);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    ERR_clear_error();
}

/* Connects with the newest session, or without one. Returns whether it was resumed. */
static int connect_once(void) {
    struct pair pair = connected(client_ctx, server_ctx, newest);
    int resumed = SSL_session_reused(pair.server);
    SSL_SESSION_free(newest);
    newest = SSL_get1_session(pair.client);
    SSL_shutdown(pair.server);
    SSL_shutdown(pair.client);
    free_pair(&pair);
    return resumed;
}

enum how { FLUSH, SIZE, REMOVE, ALERT };

/* The function for removed sessions receives the objects that the function for new ones received. */
static void same_objects(enum kind kind, enum how how) {
    begin(kind);
    CHECK(connect_once() == 0 && made > 0 && removed == 0);
    int before = made;
    CHECK(SSL_CTX_sess_number(server_ctx) == before);
    switch (how) {
    case FLUSH:
        SSL_CTX_flush_sessions(server_ctx, 0);
        break;
    case SIZE:
        SSL_CTX_sess_set_cache_size(server_ctx, before);
        SSL_SESSION_free(newest);
        newest = NULL;
        CHECK(connect_once() == 0 && made == 2 * before);
        break;
    case REMOVE:
        for (int i = 0; i < before; i++)
            CHECK(SSL_CTX_remove_session(server_ctx, kept[i]) == 1);
        break;
    case ALERT: {
        struct pair pair = connected(client_ctx, server_ctx, NULL);
        char byte;
        send_damaged_record(pair.client);
        CHECK(SSL_read(pair.server, &byte, 1) <= 0 && removed >= 1);
        before = removed;
        free_pair(&pair);
        break;
    }
    }
    CHECK(removed == before);
    end();
}

/* With room for one session, each is added to the cache, and passed to the program, before the next one. */
static void order_of_calls(enum kind kind) {
    begin(kind);
    SSL_CTX_sess_set_cache_size(server_ctx, 1);
    CHECK(connect_once() == 0 && strcmp(calls, "+-+") == 0);
    SSL_SESSION_free(newest);
    newest = NULL;
    CHECK(connect_once() == 0 && strcmp(calls, "+-+-+-+") == 0);
    end();
}

static int mark_early(SSL *ssl, int *alert, void *argument) {
    (void)alert, (void)argument;
    CHECK(SSL_SESSION_set_ex_data(SSL_get_session(ssl), index_of_mark, "mark") == 1);
    return SSL_TLSEXT_ERR_OK;
}

/* A session that makes room for the next one of the same handshake does not end with the other. */
static void marked_and_full(void) {
    begin(TLS13_STORED);
    SSL_CTX_sess_set_cache_size(server_ctx, 1);
    SSL_CTX_set_tlsext_servername_callback(server_ctx, mark_early);
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    SSL_SESSION *own = SSL_get_session(pair.server);
    CHECK(made == 2 && own == kept[1] && kept[0] == NULL && SSL_SESSION_is_resumable(own) == 1);
    CHECK(strcmp(SSL_SESSION_get_ex_data(own, index_of_mark), "mark") == 0);
    free_pair(&pair);
    end();
}

/* A session that was removed from the cache is not resumed by way of the program's. */
static void flushed(void) {
    begin(TLS12);
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    SSL_CTX_sess_set_get_cb(server_ctx, find);
    CHECK(connect_once() == 0 && connect_once() == 1);
    SSL_CTX_flush_sessions(server_ctx, 0);
    CHECK(connect_once() == 0);
    end();
}

static int on_client_session(SSL *ssl, SSL_SESSION *session) {
    (void)ssl, (void)session;
    CHECK(made == 2 && SSL_CTX_sess_number(server_ctx) == 2);
    strcat(calls, "c");
    return 0;
}

/* A session is in the cache before the client knows its name, also if the transport accepts few bytes at a time. */
static void stored_before_use(enum kind kind) {
    begin(kind);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, on_client_session);
    SSL_CTX_up_ref(server_ctx);
    SSL_CTX_up_ref(client_ctx);
    struct pair pair = pair_of(client_ctx, server_ctx, 64);
    char byte;
    int result = 0;
    for (int i = 0; i < 1000 && result != 1; i++) {
        SSL_do_handshake(pair.client);
        if (SSL_is_init_finished(pair.client))
            SSL_read(pair.client, &byte, 1);
        result = SSL_do_handshake(pair.server);
    }
    CHECK(result == 1);
    SSL_read(pair.client, &byte, 1);
    CHECK(strcmp(calls, "++cc") == 0);
    free_pair(&pair);
    end();
}

static SSL_SESSION *expected;
static int removes;

static void on_info(const SSL *ssl, int where, int value) {
    (void)value;
    if (!removes || (where & SSL_CB_ACCEPT_LOOP) != SSL_CB_ACCEPT_LOOP)
        return;
    if (SSL_get_session(ssl) == expected) {
        removes = 0;
        CHECK(SSL_CTX_remove_session(server_ctx, expected) == 1);
    }
}

/* The session of a resumed connection is that of the cache. When the program removes it, it is not resumed again. */
static void removed_when_resumed(int inside) {
    unsigned int length, own_length;
    begin(TLS12);
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    SSL_CTX_set_info_callback(server_ctx, on_info);
    removes = 0;
    CHECK(connect_once() == 0 && made == 1);
    expected = kept[0];
    removes = inside;
    struct pair pair = connected(client_ctx, server_ctx, newest);
    CHECK(SSL_session_reused(pair.server) == 1 && removes == 0);
    SSL_SESSION *own = SSL_get_session(pair.server);
    const unsigned char *own_name = SSL_SESSION_get_id(own, &own_length);
    const unsigned char *name = SSL_SESSION_get_id(expected, &length);
    CHECK(own == expected && length == 32 && own_length == 32 && memcmp(own_name, name, length) == 0);
    if (!inside)
        CHECK(SSL_CTX_remove_session(server_ctx, own) == 1);
    SSL_shutdown(pair.server);
    SSL_shutdown(pair.client);
    free_pair(&pair);
    CHECK(connect_once() == 0);
    end();
}

/* A program adds another object with the name of a session, which takes its place. */
static void replaced(void) {
    begin(TLS12);
    CHECK(connect_once() == 0 && made == 1);
    SSL_SESSION *copy = SSL_SESSION_dup(kept[0]);
    CHECK(SSL_CTX_add_session(server_ctx, kept[0]) == 0 && SSL_CTX_add_session(server_ctx, copy) == 1);
    CHECK(SSL_CTX_add_session(server_ctx, copy) == 0 && SSL_CTX_sess_number(server_ctx) == 1);
    struct pair pair = connected(client_ctx, server_ctx, newest);
    CHECK(SSL_session_reused(pair.server) == 1 && SSL_get_session(pair.server) == copy);
    SSL_shutdown(pair.server);
    SSL_shutdown(pair.client);
    free_pair(&pair);
    SSL_SESSION_free(copy);
    end();
}

/* The last reference to the context ends, the program's or a connection's: the program frees what it keeps, while it
   still has the data of the context. */
static void freed(enum kind kind, int outlives) {
    begin(kind);
    CHECK(connect_once() == 0 && made > 0);
    SSL *last = SSL_new(server_ctx), *other = SSL_new(client_ctx);
    SSL_set_SSL_CTX(other, server_ctx);
    if (!outlives)
        SSL_free(last);
    SSL_free(other);
    CHECK(SSL_CTX_up_ref(server_ctx) == 1);
    SSL_CTX_free(server_ctx);
    CHECK(removed == 0);
    SSL_CTX_free(server_ctx);
    CHECK(removed == (outlives ? 0 : made));
    if (outlives) {
        ending = last;
        SSL_free(last);
        ending = NULL;
    }
    CHECK(removed == made);
    SSL_SESSION_free(newest);
    SSL_CTX_free(client_ctx);
    ERR_clear_error();
}

/* The program frees its reference when it is told that a session was removed, so it is told once. */
static void told_once(enum kind kind) {
    begin(kind);
    char byte;
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    SSL_CTX_flush_sessions(server_ctx, 0);
    int before = removed;
    CHECK(before == made && made > 0);
    SSL_CTX_remove_session(server_ctx, SSL_get_session(pair.server));
    send_damaged_record(pair.client);
    CHECK(SSL_read(pair.server, &byte, 1) <= 0 && removed == before);
    free_pair(&pair);
    end();
}

/* A session that only the program has stays complete. */
static void kept_by_program_only(void) {
    begin(TLS13_SEALED);
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    CHECK(connect_once() == 0 && made > 1 && SSL_CTX_sess_number(server_ctx) == 0);
    for (int i = 0; i < made; i++)
        CHECK(SSL_SESSION_is_resumable(kept[i]) == 1);
    end();
}

static int with_chain, without_chain;

static int on_new_unkept(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    CHECK(SSL_SESSION_is_resumable(session) == 1 && i2d_SSL_SESSION(session, NULL) > 0);
    CHECK(SSL_SESSION_set_ex_data(session, index_of_mark, "mark") == 1);
    if (keeps)
        SSL_SESSION_up_ref(session);
    kept[made++] = session;
    return 0;
}

static void on_removal_unkept(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)ctx;
    CHECK(session == kept[removed++] && strcmp(SSL_SESSION_get_ex_data(session, index_of_mark), "mark") == 0);
    *(SSL_SESSION_get0_peer(session) == NULL ? &without_chain : &with_chain) += 1;
    if (keeps)
        SSL_SESSION_free(session);
}

static int accept_all(int ok, X509_STORE_CTX *store) {
    (void)ok, (void)store;
    return 1;
}

/* No client looks up a session that it has in a ticket, so the cache keeps no content for it, unless the program does. */
static void content(enum kind kind, int kept_by_program) {
    begin(kind);
    keeps = kept_by_program;
    SSL_CTX_sess_set_new_cb(server_ctx, on_new_unkept);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removal_unkept);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, accept_all);
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    with_chain = without_chain = 0;
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    CHECK(SSL_SESSION_is_resumable(SSL_get_session(pair.server)) == 1);
    newest = SSL_get1_session(pair.client);
    SSL_shutdown(pair.server);
    SSL_shutdown(pair.client);
    free_pair(&pair);
    SSL_CTX_flush_sessions(server_ctx, 0);
    CHECK(removed == made && made > 0 && with_chain + without_chain == made);
    CHECK((without_chain == made) == (kind == TLS13_SEALED && !keeps) && (without_chain == 0 || with_chain == 0));
    /* Its ticket is resumed nevertheless. */
    CHECK(connect_once() == (kind == TLS13_SEALED));
    SSL_CTX_flush_sessions(server_ctx, 0);
    made = 0;
    keeps = 1;
    end();
}

/* The place in the order of the cache follows each time that the program sets. */
static void moved(void) {
    begin(TLS12);
    SSL_CTX_sess_set_cache_size(server_ctx, 2);
    SSL_CTX_set_timeout(server_ctx, 300);
    for (int i = 0; i < 2; i++) {
        SSL_SESSION_free(newest);
        newest = NULL;
        CHECK(connect_once() == 0);
    }
    SSL_SESSION *first = kept[0], *second = kept[1];
    CHECK(SSL_SESSION_set_timeout(second, 10) == 1 && SSL_SESSION_set_timeout(second, 1000) == 1);
    SSL_SESSION_set_time(first, SSL_SESSION_get_time(first) + 5000);
    SSL_SESSION_set_time(first, SSL_SESSION_get_time(first) - 5000);
    SSL_SESSION_free(newest);
    newest = NULL;
    CHECK(connect_once() == 0 && removed == 1 && kept[0] == NULL && kept[1] == second);
    end();
}

void test_objects(void) {
    for (int kind = TLS12; kind <= TLS13_STORED; kind++) {
        same_objects(kind, FLUSH);
        same_objects(kind, SIZE);
        same_objects(kind, REMOVE);
        if (kind != TLS13_SEALED)
            same_objects(kind, ALERT);
    }
    for (int kind = TLS12; kind <= TLS13_STORED; kind++) {
        freed(kind, 0);
        freed(kind, 1);
        content(kind, 0);
        content(kind, 1);
        told_once(kind);
    }
    kept_by_program_only();
    moved();
    order_of_calls(TLS13_SEALED);
    order_of_calls(TLS13_STORED);
    marked_and_full();
    flushed();
    stored_before_use(TLS13_SEALED);
    stored_before_use(TLS13_STORED);
    removed_when_resumed(0);
    removed_when_resumed(1);
    replaced();
}
