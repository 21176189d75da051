/* Whether a session can be resumed after its connection has ended in each way: by the client's object, and by the cache
   of the server. */
#include "../c/test.h"

enum end {
    SHUT_DOWN,
    SHUT_DOWN_BY_PEER,
    QUIET,
    FLAGS_SET,
    FREED,
    CLEARED,
    DAMAGED_FOR_CLIENT,
    DAMAGED_FOR_SERVER,
    TRUNCATED_FOR_CLIENT,
    TRUNCATED_FOR_SERVER,
    IGNORED_TRUNCATION,
    FAILED_WRITE,
    FAILED_WRITE_AND_SHUTDOWN,
    ENDS
};

static const char *const names[] = {
    "shutdown by both",     "shutdown by the server", "quiet shutdown",       "flags set",
    "freed",                "cleared",                "damaged for client",   "damaged for server",
    "truncated for client", "truncated for server",   "ignored truncation",   "failed write",
    "failed write and shutdown",
};

/* The sessions that were removed, of clients and of servers; without the cache, Tercel's servers have none. */
static int removed[2];

static void on_removed(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)session;
    removed[SSL_CTX_get_ex_data(ctx, 0) != NULL]++;
}

static void end(struct pair *pair, enum end how) {
    char text[8];
    BIO *empty;
    struct limit limit = {0, 1, NULL};
    switch (how) {
    case SHUT_DOWN:
        SSL_shutdown(pair->client);
        SSL_shutdown(pair->server);
        SSL_shutdown(pair->client);
        break;
    case SHUT_DOWN_BY_PEER:
        SSL_shutdown(pair->server);
        SSL_read(pair->client, text, 1);
        break;
    case QUIET:
        SSL_set_quiet_shutdown(pair->client, 1);
        SSL_set_quiet_shutdown(pair->server, 1);
        SSL_shutdown(pair->client);
        SSL_shutdown(pair->server);
        break;
    case FLAGS_SET:
        SSL_set_shutdown(pair->client, SSL_SENT_SHUTDOWN);
        SSL_set_shutdown(pair->server, SSL_RECEIVED_SHUTDOWN);
        break;
    case FREED:
        break;
    case CLEARED:
        printf(", clear %d %d", SSL_clear(pair->client), SSL_clear(pair->server));
        break;
    case DAMAGED_FOR_CLIENT:
        send_damaged_record(pair->server);
        printf(", read %d", SSL_read(pair->client, text, 1));
        ERR_clear_error();
        printf(", alert %d", SSL_read(pair->server, text, 1) > 0);
        break;
    case DAMAGED_FOR_SERVER:
        send_damaged_record(pair->client);
        printf(", read %d", SSL_read(pair->server, text, 1));
        ERR_clear_error();
        printf(", alert %d", SSL_read(pair->client, text, 1) > 0);
        break;
    case TRUNCATED_FOR_CLIENT:
    case IGNORED_TRUNCATION:
        if (how == IGNORED_TRUNCATION)
            SSL_set_options(pair->client, SSL_OP_IGNORE_UNEXPECTED_EOF);
        empty = BIO_new(BIO_s_mem());
        BIO_set_mem_eof_return(empty, 0);
        SSL_set0_rbio(pair->client, empty);
        printf(", read %d", SSL_read(pair->client, text, 1));
        break;
    case TRUNCATED_FOR_SERVER:
        empty = BIO_new(BIO_s_mem());
        BIO_set_mem_eof_return(empty, 0);
        SSL_set0_rbio(pair->server, empty);
        printf(", read %d", SSL_read(pair->server, text, 1));
        break;
    case FAILED_WRITE:
    case FAILED_WRITE_AND_SHUTDOWN:
        limit_writes(pair->client, &limit);
        printf(", write %d", SSL_write(pair->client, "data", 4));
        if (how == FAILED_WRITE_AND_SHUTDOWN)
            SSL_shutdown(pair->client);
        break;
    default:
        break;
    }
    ERR_clear_error();
}

/* Whether the session is resumed; the connection that tries it is shut down. */
static int resumes(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session) {
    SSL_CTX_up_ref(client_ctx);
    SSL_CTX_up_ref(server_ctx);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_set_session(pair.client, session) == 1 && shake(&pair));
    int resumed = SSL_session_reused(pair.client);
    end(&pair, QUIET);
    drop_pair(&pair);
    return resumed;
}

static void try(int version, int tickets, enum end how, int resumed_before) {
    SSL_CTX *client_ctx = client_context(version), *server_ctx = server_context(version);
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_ex_data(server_ctx, 0, server_ctx) == 1);
    SSL_CTX_sess_set_remove_cb(client_ctx, on_removed);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removed);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    if (!tickets)
        SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    if (resumed_before) {
        end(&pair, SHUT_DOWN);
        drop_pair(&pair);
        SSL_SESSION *first = newest_session;
        SSL_SESSION_up_ref(first);
        pair = connected(client_ctx, server_ctx, first);
        SSL_SESSION_free(first);
    }
    removed[0] = removed[1] = 0;
    printf("version %x, tickets %d, %s, resumed before %d", version, tickets, names[how], resumed_before);
    SSL_SESSION *session = SSL_get1_session(pair.client);
    /* A copy has its own state. */
    unsigned char bytes[20000], *to = bytes;
    const unsigned char *from = bytes;
    int length = i2d_SSL_SESSION(session, &to);
    CHECK(length > 0 && length < (int)sizeof bytes);
    SSL_SESSION *copy = d2i_SSL_SESSION(NULL, &from, length);
    CHECK(copy != NULL);
    long cached = SSL_CTX_sess_number(server_ctx);
    end(&pair, how);
    printf(", resumable %d, removed %d %d, cached %ld", SSL_SESSION_is_resumable(session), removed[0] > 0,
           tickets ? 0 : removed[1] > 0,
           cached - SSL_CTX_sess_number(server_ctx));
    drop_pair(&pair);
    printf(", then resumable %d, removed %d %d, cached %ld", SSL_SESSION_is_resumable(session), removed[0] > 0,
           tickets ? 0 : removed[1] > 0, cached - SSL_CTX_sess_number(server_ctx));
    ERR_clear_error();
    int resumed = resumes(client_ctx, server_ctx, session);
    printf(", resumes %d", resumed);
    /* Servers of Tercel remove a session of TLS 1.3 from the cache when it is resumed. */
    if (!resumed)
        printf(", copy %d", resumes(client_ctx, server_ctx, copy));
    printf("\n");
    SSL_SESSION_free(session);
    SSL_SESSION_free(copy);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    ERR_clear_error();
}

int main(void) {
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int version = 0; version < 2; version++)
        for (int tickets = 0; tickets < 2; tickets++)
            for (int how = 0; how < ENDS; how++)
                for (int before = 0; before < 2; before++)
                    try(versions[version], tickets, how, before);
    return 0;
}
