/* Sessions of a server that the program marks, limits or refuses: its data in tickets, its data in the objects of
   sessions, and its functions that decide about them. */
#include "test.h"

static SSL_SESSION *newest;
static int received;

static int on_new(SSL *ssl, SSL_SESSION *session) {
    (void)ssl, (void)session;
    received++;
    return 0;
}

static int index_of_mark;

/* Both sides, with a client that keeps the newest session. */
struct sides {
    SSL_CTX *client_ctx, *server_ctx;
    struct pair pair;
};

static void begin(struct sides *sides, int version) {
    if (index_of_mark == 0)
        index_of_mark = SSL_SESSION_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    sides->server_ctx = server_context(version);
    sides->client_ctx = client_context(version);
    CHECK(SSL_CTX_set_session_id_context(sides->server_ctx, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_set_num_tickets(sides->server_ctx, 1);
    SSL_CTX_set_session_cache_mode(sides->client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(sides->client_ctx, on_new);
    CHECK(SSL_CTX_use_certificate_chain_file(sides->client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(sides->client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    newest = NULL;
}

static void end(struct sides *sides) {
    SSL_SESSION_free(newest);
    newest = NULL;
    SSL_CTX_free(sides->server_ctx);
    SSL_CTX_free(sides->client_ctx);
    ERR_clear_error();
}

/* Connects with the newest session, or without one. The pair remains until `disconnect`. Returns 0 after a failure,
   1 after a full handshake, 2 after a resumption. */
static int connect_with(struct sides *sides, SSL_SESSION *session) {
    SSL_CTX_up_ref(sides->server_ctx);
    SSL_CTX_up_ref(sides->client_ctx);
    sides->pair = pair_of(sides->client_ctx, sides->server_ctx, 1 << 14);
    if (session != NULL)
        CHECK(SSL_set_session(sides->pair.client, session) == 1);
    received = 0;
    if (!shake(&sides->pair))
        return 0;
    char text[4];
    if (SSL_write(sides->pair.server, "data", 4) != 4)
        return 0;
    int count = SSL_read(sides->pair.client, text, 4);
    if (count != 4)
        return 0;
    SSL_SESSION_free(newest);
    newest = SSL_get1_session(sides->pair.client);
    return SSL_session_reused(sides->pair.server) ? 2 : 1;
}

static void disconnect(struct sides *sides) {
    SSL_shutdown(sides->pair.server);
    SSL_shutdown(sides->pair.client);
    free_pair(&sides->pair);
}

static int connect_once(struct sides *sides) {
    int result = connect_with(sides, newest);
    disconnect(sides);
    return result;
}

static int generated, generate_result, decrypted, unopened, wanted_status;
static SSL_TICKET_RETURN decrypt_result;

static int generate(SSL *ssl, void *argument) {
    CHECK(argument == &generated);
    generated++;
    SSL_SESSION *session = SSL_get_session(ssl);
    CHECK(session != NULL);
    if (SSL_session_reused(ssl) == 0 && decrypted == 0)
        CHECK(SSL_SESSION_set1_ticket_appdata(session, "mark", 4) == 1);
    return generate_result;
}

static SSL_TICKET_RETURN decrypt(SSL *ssl, SSL_SESSION *session, const unsigned char *name, size_t length,
                                 SSL_TICKET_STATUS status, void *argument) {
    void *data;
    size_t data_length;
    (void)ssl, (void)name;
    CHECK(argument == &generated);
    if (status == SSL_TICKET_EMPTY || status == SSL_TICKET_NO_DECRYPT) {
        unopened += status == SSL_TICKET_NO_DECRYPT;
        CHECK(session == NULL && (status == SSL_TICKET_NO_DECRYPT) == (length > 0));
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    decrypted++;
    CHECK((int)status == wanted_status && length == 16);
    CHECK(SSL_SESSION_get0_ticket_appdata(session, &data, &data_length) == 1);
    CHECK(data_length == 4 && memcmp(data, "mark", 4) == 0);
    CHECK(SSL_SESSION_set_ex_data(session, index_of_mark, "mark") == 1);
    return decrypt_result;
}

static int has_data(SSL_SESSION *session) {
    void *data;
    size_t length;
    CHECK(SSL_SESSION_get0_ticket_appdata(session, &data, &length) == 1);
    return length == 4 && memcmp(data, "mark", 4) == 0;
}

static int has_mark(SSL_SESSION *session) {
    const char *mark = SSL_SESSION_get_ex_data(session, index_of_mark);
    return mark != NULL && strcmp(mark, "mark") == 0;
}

/* The program's data is in each ticket, and what its function sets is in the session of the resumed connection. */
static void data_in_tickets(int version) {
    struct sides sides;
    begin(&sides, version);
    CHECK(SSL_CTX_set_session_ticket_cb(sides.server_ctx, generate, decrypt, &generated) == 1);
    generated = decrypted = 0;
    generate_result = 1;
    decrypt_result = SSL_TICKET_RETURN_USE_RENEW;
    wanted_status = version == TLS1_3_VERSION ? SSL_TICKET_SUCCESS_RENEW : SSL_TICKET_SUCCESS;
    for (int turn = 0; turn < 3; turn++) {
        CHECK(connect_with(&sides, newest) == (turn > 0 ? 2 : 1));
        CHECK(decrypted == turn && generated > 0);
        SSL_SESSION *own = SSL_get_session(sides.pair.server);
        CHECK(has_data(own) && has_mark(own) == (turn > 0));
        disconnect(&sides);
    }
    /* The ticket is used and not renewed. */
    decrypt_result = SSL_TICKET_RETURN_USE;
    CHECK(connect_once(&sides) == 2 && received == 0);
    /* It is not used, and replaced in a full handshake, whose session has no mark of the one that was refused. */
    decrypt_result = SSL_TICKET_RETURN_IGNORE_RENEW;
    CHECK(connect_with(&sides, newest) == 1 && received == 1);
    CHECK(!has_mark(SSL_get_session(sides.pair.server)) && !has_data(SSL_get_session(sides.pair.server)));
    disconnect(&sides);
    end(&sides);
}

static void refused_tickets(int version) {
    struct sides sides;
    begin(&sides, version);
    CHECK(SSL_CTX_set_session_ticket_cb(sides.server_ctx, generate, decrypt, &generated) == 1);
    decrypted = 0;
    generate_result = 1;
    wanted_status = version == TLS1_3_VERSION ? SSL_TICKET_SUCCESS_RENEW : SSL_TICKET_SUCCESS;
    CHECK(connect_once(&sides) == 1);
    /* It is not used, and in TLS 1.2 not replaced. */
    decrypt_result = SSL_TICKET_RETURN_IGNORE;
    CHECK(connect_once(&sides) == 1 && decrypted == 1);
    CHECK(version == TLS1_3_VERSION || SSL_SESSION_has_ticket(newest) == 0);
    generated = decrypted = 0;
    SSL_SESSION_free(newest);
    newest = NULL;
    CHECK(connect_once(&sides) == 1);
    /* The handshake fails. */
    decrypt_result = SSL_TICKET_RETURN_ABORT;
    CHECK(connect_once(&sides) == 0 && decrypted == 1);
    SSL_SESSION_free(newest);
    newest = NULL;
    decrypted = 0;
    generate_result = 0;
    CHECK(connect_once(&sides) == 0);
    end(&sides);
}

/* The program is asked about a ticket under other keys, too. */
static void unknown_tickets(void) {
    struct sides sides;
    begin(&sides, TLS1_2_VERSION);
    CHECK(SSL_CTX_set_session_ticket_cb(sides.server_ctx, generate, decrypt, &generated) == 1);
    decrypted = unopened = 0;
    generate_result = 1;
    CHECK(connect_once(&sides) == 1 && unopened == 0);
    unsigned char keys[80] = {1};
    CHECK(SSL_CTX_set_tlsext_ticket_keys(sides.server_ctx, keys, sizeof keys) == 1);
    CHECK(connect_once(&sides) == 1 && decrypted == 0 && unopened == 1);
    end(&sides);
}

static int asked;

static int refuse_session(SSL *ssl, int is_forward_secure) {
    CHECK(ssl != NULL && is_forward_secure == (SSL_version(ssl) != TLS1_3_VERSION));
    asked++;
    return 1;
}

/* The program decides that a session is not resumed, whoever would keep it. */
static void not_resumable(int version, int keeps) {
    struct sides sides;
    begin(&sides, version);
    if (keeps)
        SSL_CTX_set_options(sides.server_ctx, SSL_OP_NO_TICKET);
    asked = 0;
    SSL_CTX_set_not_resumable_session_callback(sides.server_ctx, refuse_session);
    CHECK(connect_once(&sides) == 1 && asked == 1);
    CHECK(connect_once(&sides) == 1 && asked == 2);
    SSL_CTX_set_not_resumable_session_callback(sides.server_ctx, NULL);
    SSL_SESSION_free(newest);
    newest = NULL;
    CHECK(connect_once(&sides) == 1 && connect_once(&sides) == 2 && asked == 2);
    end(&sides);
}

enum late { NO_TICKETS, NO_TICKET_OPTION, REMOVED };
static enum late what;

static int refuse_late(int ok, X509_STORE_CTX *store) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    (void)ok;
    switch (what) {
    case NO_TICKETS:
        SSL_set_num_tickets(ssl, 0);
        break;
    case NO_TICKET_OPTION:
        SSL_set_options(ssl, SSL_OP_NO_TICKET);
        break;
    case REMOVED:
        SSL_CTX_remove_session(SSL_get_SSL_CTX(ssl), SSL_get_session(ssl));
        break;
    }
    return 1;
}

/* The program decides against resumption when it sees the client's certificate. */
static void refused_late(int version, enum late how, int keeps) {
    struct sides sides;
    begin(&sides, version);
    what = how;
    if (keeps)
        SSL_CTX_set_options(sides.server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_verify(sides.server_ctx, SSL_VERIFY_PEER, refuse_late);
    CHECK(connect_once(&sides) == 1 && connect_once(&sides) == 1);
    end(&sides);
}

/* What the program adds to a session of the cache is there after its resumption. */
static void marked_in_cache(int version) {
    struct sides sides;
    begin(&sides, version);
    SSL_CTX_set_options(sides.server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(sides.server_ctx, 2);
    CHECK(connect_with(&sides, NULL) == 1);
    SSL_SESSION *own = SSL_get_session(sides.pair.server);
    CHECK(SSL_SESSION_set_ex_data(own, index_of_mark, "mark") == 1);
    disconnect(&sides);
    for (int turn = 0; turn < 3; turn++) {
        CHECK(connect_with(&sides, newest) == 2);
        own = SSL_get_session(sides.pair.server);
        CHECK(has_mark(own));
        disconnect(&sides);
    }
    end(&sides);
}

/* The program itself adds the session to the cache, with what it has added to the session. */
static void added_to_cache(int version, int accepted) {
    struct sides sides;
    begin(&sides, version);
    SSL_CTX_set_options(sides.server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(sides.server_ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    CHECK(connect_with(&sides, NULL) == 1);
    SSL_SESSION *own = SSL_get_session(sides.pair.server);
    CHECK(SSL_SESSION_set_ex_data(own, index_of_mark, "mark") == 1);
    if (accepted)
        CHECK(SSL_CTX_add_session(sides.server_ctx, own) == 1);
    disconnect(&sides);
    CHECK(connect_with(&sides, newest) == 1 + accepted);
    CHECK(has_mark(SSL_get_session(sides.pair.server)) == accepted);
    disconnect(&sides);
    end(&sides);
}

/* A session of the cache ends when the program says so. */
static void limited_in_cache(int version, int how) {
    struct sides sides;
    begin(&sides, version);
    SSL_CTX_set_options(sides.server_ctx, SSL_OP_NO_TICKET);
    CHECK(connect_with(&sides, NULL) == 1);
    SSL_SESSION *own = SSL_get_session(sides.pair.server);
    switch (how) {
    case 0:
        CHECK(SSL_SESSION_set_time(own, SSL_SESSION_get_time(own) - SSL_SESSION_get_timeout(own) - 2) != 0);
        break;
    case 1:
        SSL_SESSION_set_time(own, SSL_SESSION_get_time(own) - 100);
        CHECK(SSL_SESSION_set_timeout(own, 50) == 1);
        break;
    case 2:
        CHECK(SSL_SESSION_set1_id_context(own, (const unsigned char *)"other", 5) == 1);
        break;
    case 3:
        SSL_CTX_remove_session(sides.server_ctx, own);
        break;
    }
    disconnect(&sides);
    CHECK(connect_once(&sides) == 1);
    end(&sides);
}

static SSL_SESSION *stored;

static int store(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(stored);
    stored = session;
    return 1;
}

static SSL_SESSION *find(SSL *ssl, const unsigned char *id, int length, int *copy) {
    unsigned int own_length;
    (void)ssl;
    *copy = 1;
    if (stored == NULL)
        return NULL;
    const unsigned char *own = SSL_SESSION_get_id(stored, &own_length);
    return (int)own_length == length && memcmp(own, id, length) == 0 ? stored : NULL;
}

/* A session of the program's cache is that of the resumed connection, and ends when the program says so. */
static void marked_by_program(int version) {
    struct sides sides;
    for (int how = 0; how < 3; how++) {
        begin(&sides, version);
        SSL_CTX_set_options(sides.server_ctx, SSL_OP_NO_TICKET);
        SSL_CTX_set_session_cache_mode(sides.server_ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(sides.server_ctx, store);
        SSL_CTX_sess_set_get_cb(sides.server_ctx, find);
        CHECK(connect_once(&sides) == 1 && stored != NULL);
        CHECK(SSL_SESSION_set_ex_data(stored, index_of_mark, "mark") == 1);
        if (how == 1)
            SSL_SESSION_set_time(stored, SSL_SESSION_get_time(stored) - SSL_SESSION_get_timeout(stored) - 2);
        if (how == 2)
            CHECK(SSL_SESSION_set1_id_context(stored, (const unsigned char *)"other", 5) == 1);
        CHECK(connect_with(&sides, newest) == (how == 0 ? 2 : 1));
        CHECK(has_mark(SSL_get_session(sides.pair.server)) == (how == 0));
        disconnect(&sides);
        end(&sides);
        SSL_SESSION_free(stored);
        stored = NULL;
    }
}

static int mark_early(SSL *ssl, void *argument) {
    (void)argument;
    CHECK(SSL_SESSION_set_ex_data(SSL_get_session(ssl), index_of_mark, "mark") == 1);
    return 1;
}

/* What the program adds to the session before a resumption is not lost. */
static void marked_early(int version) {
    struct sides sides;
    begin(&sides, version);
    SSL_CTX_set_cert_cb(sides.server_ctx, mark_early, NULL);
    for (int turn = 0; turn < 2; turn++) {
        CHECK(connect_with(&sides, newest) > 0 && has_mark(SSL_get_session(sides.pair.server)));
        disconnect(&sides);
    }
    end(&sides);
}

static int refuses;
static const unsigned char *context_seen;

static int mark_and_decide(int ok, X509_STORE_CTX *store) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    SSL_SESSION *session = SSL_get_session(ssl);
    unsigned int length;
    (void)ok;
    CHECK(SSL_SESSION_set_ex_data(session, index_of_mark, "mark") == 1);
    CHECK(SSL_SESSION_get0_peer(session) == NULL);
    context_seen = SSL_SESSION_get0_id_context(session, &length);
    CHECK(length == 4);
    return !refuses;
}

/* What the program adds to a session whose client it then refuses is not in the session of the full handshake that
   follows, in which the client has no certificate. */
static void refused_mark(int version) {
    struct sides sides;
    begin(&sides, version);
    SSL_CTX_set_verify(sides.server_ctx, SSL_VERIFY_PEER, mark_and_decide);
    refuses = 0;
    CHECK(connect_with(&sides, NULL) == 1);
    SSL_SESSION *own = SSL_get_session(sides.pair.server);
    CHECK(has_mark(own) && SSL_SESSION_get0_peer(own) != NULL);
    /* A pointer that the program received in the handshake is still valid. */
    CHECK(memcmp(context_seen, "test", 4) == 0);
    disconnect(&sides);
    refuses = 1;
    SSL_CTX_free(sides.client_ctx);
    sides.client_ctx = client_context(version);
    CHECK(connect_with(&sides, newest) == 1);
    own = SSL_get_session(sides.pair.server);
    CHECK(!has_mark(own) && SSL_SESSION_get0_peer(own) == NULL);
    disconnect(&sides);
    end(&sides);
}

/* Copies have the program's data, and so has the encoding. */
static void copies(void) {
    struct sides sides;
    begin(&sides, TLS1_3_VERSION);
    CHECK(connect_with(&sides, NULL) == 1);
    SSL_SESSION *own = SSL_get_session(sides.pair.client);
    CHECK(SSL_SESSION_set_ex_data(own, index_of_mark, "mark") == 1);
    CHECK(SSL_SESSION_set1_ticket_appdata(own, "mark", 4) == 1);
    SSL_SESSION *copy = SSL_SESSION_dup(own);
    CHECK(has_mark(copy) && has_data(copy));
    SSL_SESSION_free(copy);
    unsigned char *bytes = NULL;
    int length = i2d_SSL_SESSION(own, &bytes);
    const unsigned char *from = bytes;
    copy = d2i_SSL_SESSION(NULL, &from, length);
    CHECK(copy != NULL && !has_mark(copy) && has_data(copy));
    SSL_SESSION_free(copy);
    OPENSSL_free(bytes);
    disconnect(&sides);
    end(&sides);
}

static int decision, tickets_with_peer;

static int decide(int is_valid, X509_STORE_CTX *verification) {
    (void)is_valid, (void)verification;
    return decision;
}

static int look_at_peer(SSL *ssl, void *argument) {
    (void)argument;
    tickets_with_peer += SSL_get0_peer_certificate(ssl) != NULL;
    return 1;
}

/* A session whose chain is refused when it is resumed: the full handshake that follows, of a client that has no
   certificate any more, has neither the chain nor the result. */
static void refused_chain(int version) {
    struct sides sides;
    begin(&sides, version);
    SSL_CTX_set_verify(sides.server_ctx, SSL_VERIFY_PEER, decide);
    SSL_CTX_set_session_ticket_cb(sides.server_ctx, look_at_peer, NULL, NULL);
    decision = 1;
    tickets_with_peer = 0;
    CHECK(connect_once(&sides) == 1 && tickets_with_peer > 0);
    SSL_CTX_free(sides.client_ctx);
    sides.client_ctx = client_context(version);
    decision = tickets_with_peer = 0;
    CHECK(connect_once(&sides) == 1 && tickets_with_peer == 0);
    CHECK(connect_with(&sides, newest) == 2 && SSL_get0_peer_certificate(sides.pair.server) == NULL);
    CHECK(SSL_get_verify_result(sides.pair.server) == X509_V_OK);
    disconnect(&sides);
    end(&sides);
}

void test_resumption(void) {
    int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        data_in_tickets(versions[i]);
        refused_tickets(versions[i]);
        not_resumable(versions[i], 0);
        not_resumable(versions[i], 1);
        marked_in_cache(versions[i]);
        added_to_cache(versions[i], 0);
        added_to_cache(versions[i], 1);
        for (int how = 0; how < 4; how++)
            limited_in_cache(versions[i], how);
        marked_by_program(versions[i]);
        marked_early(versions[i]);
        refused_mark(versions[i]);
        refused_chain(versions[i]);
        refused_late(versions[i], NO_TICKET_OPTION, 0);
        refused_late(versions[i], REMOVED, 1);
    }
    unknown_tickets();
    refused_late(TLS1_3_VERSION, NO_TICKETS, 0);
    refused_late(TLS1_3_VERSION, NO_TICKETS, 1);
    copies();
}
