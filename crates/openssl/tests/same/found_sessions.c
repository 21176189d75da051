/* For which sessions a server calls the callback that finds sessions, and what it counts. */
#include "../c/test.h"

static char calls[200];
static SSL_SESSION *stored;
static int returns_copy;

static void note(const char *call, const SSL_SESSION *session) {
    unsigned int length = 0;
    if (session != NULL)
        SSL_SESSION_get_id(session, &length);
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), " %s %u", call, length);
}

static int on_new(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    note("new", session);
    SSL_SESSION_free(stored);
    stored = session;
    return 1;
}

static void on_removed(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)ctx;
    /* Servers of Tercel remove a session of TLS 1.3 when it is resumed. */
    if (SSL_SESSION_get_protocol_version(session) == TLS1_2_VERSION)
        note("removed", session);
}

static SSL_SESSION *on_get(SSL *ssl, const unsigned char *id, int length, int *copies) {
    unsigned int own_length = 0;
    const unsigned char *own = stored == NULL ? NULL : SSL_SESSION_get_id(stored, &own_length);
    int is_own = own != NULL && (int)own_length == length && memcmp(own, id, length) == 0;
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), " get %d %d %s", length, is_own,
             SSL_get_version(ssl));
    *copies = returns_copy;
    if (!is_own)
        return NULL;
    if (!returns_copy)
        SSL_SESSION_up_ref(stored);
    return stored;
}

enum how { IN_CACHE, EXPIRED, OTHER_CONTEXT, REMOVED, FLUSHED, UNKNOWN, HOWS };

static const char *const names[] = {"in the cache", "expired", "of another context", "removed", "flushed", "unknown"};

static void try(int version, int mode, enum how how) {
    SSL_CTX *client_ctx = client_context(version), *server_ctx = server_context(version);
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(server_ctx, 1);
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | mode);
    SSL_CTX_sess_set_new_cb(server_ctx, on_new);
    SSL_CTX_sess_set_get_cb(server_ctx, on_get);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removed);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    free_pair(&pair);
    printf("version %x, mode %x, copy %d, %s\n  first:%s\n", version, mode, returns_copy, names[how], calls);
    calls[0] = 0;
    switch (how) {
    case EXPIRED:
        SSL_SESSION_set_time(stored, SSL_SESSION_get_time(stored) - SSL_SESSION_get_timeout(stored) - 2);
        break;
    case OTHER_CONTEXT:
        CHECK(SSL_SESSION_set1_id_context(stored, (const unsigned char *)"other", 5) == 1);
        break;
    case REMOVED:
        SSL_CTX_remove_session(server_ctx, stored);
        break;
    case FLUSHED:
        SSL_CTX_flush_sessions(server_ctx, 0);
        break;
    case UNKNOWN:
        SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_flush_sessions(server_ctx, 0);
        SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | mode);
        SSL_SESSION_free(stored);
        stored = NULL;
        break;
    default:
        break;
    }
    printf("  then:%s\n", calls);
    calls[0] = 0;
    SSL_SESSION *session = newest_session;
    newest_session = NULL;
    pair = connected(client_ctx, server_ctx, session);
    printf("  resumed %d, hits %ld, callback %ld, misses %ld, timeouts %ld:%s\n", SSL_session_reused(pair.server),
           SSL_CTX_sess_hits(server_ctx), SSL_CTX_sess_cb_hits(server_ctx), SSL_CTX_sess_misses(server_ctx),
           SSL_CTX_sess_timeouts(server_ctx), calls);
    calls[0] = 0;
    free_pair(&pair);
    SSL_SESSION_free(session);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    SSL_SESSION_free(stored);
    stored = NULL;
    ERR_clear_error();
}

int main(void) {
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    static const int modes[] = {0, SSL_SESS_CACHE_NO_INTERNAL_LOOKUP, SSL_SESS_CACHE_NO_INTERNAL_STORE,
                                SSL_SESS_CACHE_NO_INTERNAL};
    for (int version = 0; version < 2; version++)
        for (int mode = 0; mode < 4; mode++)
            for (returns_copy = 0; returns_copy < 2; returns_copy++)
                for (int how = 0; how < HOWS; how++)
                    try(versions[version], modes[mode], how);
    return 0;
}
