/* Functions of a server in each order with SSL_read_early_data, before and after the ClientHello with early data. */
#include "../c/test.h"

enum call { READ_EARLY, ACCEPT, HANDSHAKE, READ, WRITE, CALLS };

static const char *const call_names[] = {"read_early", "accept", "handshake", "read", "write"};

static void make(SSL *ssl, enum call call) {
    char text[64];
    size_t count = 0;
    int result;
    switch (call) {
    case READ_EARLY:
        result = SSL_read_early_data(ssl, text, sizeof text, &count);
        break;
    case ACCEPT:
        result = SSL_accept(ssl);
        break;
    case HANDSHAKE:
        result = SSL_do_handshake(ssl);
        break;
    case READ:
        result = SSL_read(ssl, text, sizeof text);
        break;
    default:
        result = SSL_write(ssl, "answer", 6);
    }
    int error = SSL_get_error(ssl, result > 0 && call != READ_EARLY ? result : 0);
    int reason = ERR_GET_REASON(ERR_peek_error());
    printf(" %s %d count %zu error %d reason %d;", call_names[call], result, count,
           call == READ_EARLY && result != 0 ? 0 : error, reason);
    ERR_clear_error();
}

/* The ClientHello arrives after the first two calls; then two others follow, and the rest of the handshake. */
static void order(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session, const enum call *calls, int before,
                  int count) {
    SSL_CTX_up_ref(client_ctx);
    SSL_CTX_up_ref(server_ctx);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    size_t written;
    SSL_SESSION *copy = SSL_SESSION_dup(session);
    CHECK(SSL_set_session(pair.client, copy) == 1);
    for (int i = 0; i < before; i++)
        make(pair.server, calls[i]);
    CHECK(SSL_write_early_data(pair.client, "early", 5, &written) == 1);
    for (int i = before; i < count; i++)
        make(pair.server, calls[i]);
    printf("\n");
    SSL_SESSION_free(copy);
    free_pair(&pair);
}

int main(void) {
    SSL_CTX *client_ctx = client_context(TLS1_3_VERSION), *server_ctx = server_context(TLS1_3_VERSION);
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_max_early_data(server_ctx, 1000) == 1);
    /* Each order uses the same session. */
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_ANTI_REPLAY);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    free_pair(&pair);
    CHECK(newest_session != NULL);
    SSL_SESSION *session = newest_session;
    newest_session = NULL;
    for (int first = 0; first < CALLS; first++) {
        /* Before the ClientHello. */
        for (int second = 0; second < CALLS; second++)
            for (int third = 0; third < CALLS; third++) {
                enum call calls[] = {first, second, third};
                order(client_ctx, server_ctx, session, calls, 2, 3);
            }
        /* After it. */
        for (int second = 0; second < CALLS; second++) {
            enum call calls[] = {READ_EARLY, first, second};
            if (first != ACCEPT && first != HANDSHAKE && first != READ)
                order(client_ctx, server_ctx, session, calls, 0, 3);
        }
    }
    SSL_SESSION_free(session);
    SSL_SESSION_free(newest_session);
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    return 0;
}
