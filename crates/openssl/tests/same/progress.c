/* The states that a callback for information sees in each kind of handshake. */
#include "../c/test.h"

static void on_info(const SSL *ssl, int where, int value) {
    const char *place = where & SSL_CB_HANDSHAKE_START  ? "start"
                        : where & SSL_CB_HANDSHAKE_DONE ? "done"
                        : where & SSL_CB_LOOP           ? "loop"
                        : where & SSL_CB_EXIT           ? "exit"
                                                        : "alert";
    /* OpenSSL's handshake is done before its state is, if the server sends tickets. */
    int is_masked = SSL_version(ssl) == TLS1_3_VERSION && SSL_is_server(ssl) && SSL_get_num_tickets(ssl) > 0;
    if (is_masked && where & SSL_CB_HANDSHAKE_DONE)
        return;
    printf("    %s %s %d: %d %s, %s, before %d, init %d\n", SSL_is_server(ssl) ? "server" : "client", place, value,
           (int)SSL_get_state(ssl), SSL_state_string_long(ssl), SSL_state_string(ssl), SSL_in_before(ssl),
           SSL_in_init(ssl));
}

static struct pair told_pair(SSL_CTX *client_ctx, SSL_CTX *server_ctx) {
    SSL_CTX_up_ref(client_ctx);
    SSL_CTX_up_ref(server_ctx);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    SSL_set_info_callback(pair.client, on_info);
    SSL_set_info_callback(pair.server, on_info);
    return pair;
}

/* The server begins before the client's first message arrives. */
static void connect_both(struct pair *pair) {
    CHECK(SSL_do_handshake(pair->server) == -1);
    CHECK(shake(pair));
    SSL_set_info_callback(pair->client, NULL);
    SSL_set_info_callback(pair->server, NULL);
}

static void handshakes(int version, int requests) {
    SSL_CTX *client_ctx = client_context(version), *server_ctx = server_context(version);
    char text[4];
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    if (requests) {
        SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, NULL);
        CHECK(SSL_CTX_use_certificate_file(client_ctx, material("client.pem"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    }
    printf("version %x, requests %d\n", (unsigned)version, requests);
    struct pair pair = told_pair(client_ctx, server_ctx);
    connect_both(&pair);
    CHECK(SSL_write(pair.server, "data", 4) == 4);
    read_exactly(pair.client, text, 4);
    free_pair(&pair);
    printf("  resumed\n");
    pair = told_pair(client_ctx, server_ctx);
    CHECK(SSL_set_session(pair.client, newest_session) == 1);
    connect_both(&pair);
    CHECK(SSL_session_reused(pair.client));
    free_pair(&pair);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
}

static void retried(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    printf("another group\n");
    CHECK(SSL_set1_groups_list(pair.client, "P-256:P-384") == 1 && SSL_set1_groups_list(pair.server, "P-384") == 1);
    SSL_set_info_callback(pair.client, on_info);
    SSL_set_info_callback(pair.server, on_info);
    connect_both(&pair);
    free_pair(&pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int requests = 0; requests < 2; requests++)
            handshakes(version, requests);
    retried();
    return 0;
}
