/* What functions return inside of the function for new sessions, on both sides of connections. */
#include "../c/test.h"

static int index_of_mark;

/* The newest session of the client. */
static SSL_SESSION *newest;

static void print_number(const char *name, long number) {
    printf("    %s: %ld\n", name, number);
}

static void print_text(const char *name, const char *text) {
    printf("    %s: %s\n", name, text == NULL ? "NULL" : text);
}

static void print_protocol(const char *name, const unsigned char *protocol, size_t length) {
    printf("    %s: %.*s\n", name, (int)length, protocol);
}

static void print_connection(const char *place, SSL *ssl) {
    printf("  %s of the %s\n", place, SSL_is_server(ssl) ? "server" : "client");
    const unsigned char *protocol;
    unsigned int length;
    print_number("reused", SSL_session_reused(ssl));
    print_text("version", SSL_get_version(ssl));
    print_number("in_init", SSL_in_init(ssl));
    print_number("is_init_finished", SSL_is_init_finished(ssl));
    print_number("in_before", SSL_in_before(ssl));
    print_text("state", SSL_state_string_long(ssl));
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    print_protocol("protocol", protocol, length);
    print_text("server name", SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name));
    print_number("type of the server name", SSL_get_servername_type(ssl));
    print_text("ex_data", SSL_get_ex_data(ssl, index_of_mark));
    print_text("cipher", SSL_get_cipher_name(ssl));
    print_number("result of the verification", SSL_get_verify_result(ssl));
    print_number("has peer certificate", SSL_get0_peer_certificate(ssl) != NULL);
}

static void print_session(SSL_SESSION *session) {
    const unsigned char *protocol;
    size_t length;
    unsigned int count;
    print_number("session version", SSL_SESSION_get_protocol_version(session));
    SSL_SESSION_get_id(session, &count);
    print_number("session id", count);
    SSL_SESSION_get0_id_context(session, &count);
    print_number("session context", count);
    print_number("session is resumable", SSL_SESSION_is_resumable(session));
    SSL_SESSION_get0_alpn_selected(session, &protocol, &length);
    print_protocol("session protocol", protocol, length);
    print_text("session server name", SSL_SESSION_get0_hostname(session));
    print_number("session has peer certificate", SSL_SESSION_get0_peer(session) != NULL);
    print_text("session cipher", SSL_CIPHER_get_name(SSL_SESSION_get0_cipher(session)));
    print_number("session has ticket", SSL_SESSION_has_ticket(session));
    print_number("session lifetime of the ticket", (long)SSL_SESSION_get_ticket_lifetime_hint(session));
    print_number("session timeout", SSL_SESSION_get_timeout(session));
    print_number("session early data", SSL_SESSION_get_max_early_data(session));
}

static int on_new(SSL *ssl, SSL_SESSION *session) {
    print_connection("new session", ssl);
    print_number("session is the connection's", SSL_get_session(ssl) == session);
    print_session(session);
    if (SSL_is_server(ssl))
        return 0;
    SSL_SESSION_free(newest);
    newest = session;
    return 1;
}

static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                           unsigned int in_length, void *argument) {
    (void)ssl, (void)argument, (void)in_length;
    *out = in + 1;
    *out_length = in[0];
    return SSL_TLSEXT_ERR_OK;
}

/* Accepts the name that the client sent. */
static int accept_name(SSL *ssl, int *alert, void *argument) {
    (void)ssl, (void)alert, (void)argument;
    return SSL_TLSEXT_ERR_OK;
}

/* A key of the program for tickets. A ticket that was used is replaced. */
static int renewing_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                        int seals) {
    (void)ssl;
    return use_ticket_key(name, iv, cipher, mac, seals) ? 2 : -1;
}

/* What differs between the connections, besides the version. */
enum variation {
    TICKETS,
    NO_TICKETS,
    NO_INTERNAL_CACHE,
    RENEWED_TICKETS,
    CLIENT_CERTIFICATE,
    EARLY_DATA,
    ONE_TICKET,
    VARIATIONS
};

static const char *names[] = {"tickets",            "no tickets", "no internal cache", "renewed tickets",
                              "client certificate", "early data", "one ticket"};

static void connect_twice(int version, enum variation variation, int by_handshake) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    long mode = variation == NO_INTERNAL_CACHE ? SSL_SESS_CACHE_NO_INTERNAL : 0;
    char data[4];
    printf("version %x, %s, %s\n", version, names[variation],
           by_handshake ? "SSL_do_handshake" : "SSL_read and SSL_write");
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | mode);
    SSL_CTX_sess_set_new_cb(server_ctx, on_new);
    SSL_CTX_set_alpn_select_cb(server_ctx, select_protocol, NULL);
    SSL_CTX_set_tlsext_servername_callback(server_ctx, accept_name);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT | mode);
    SSL_CTX_sess_set_new_cb(client_ctx, on_new);
    CHECK(SSL_CTX_set_alpn_protos(client_ctx, (const unsigned char *)"\3abc\3def", 8) == 0);
    if (variation == NO_TICKETS)
        SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    if (variation == RENEWED_TICKETS)
        SSL_CTX_set_tlsext_ticket_key_evp_cb(server_ctx, renewing_key);
    if (variation == CLIENT_CERTIFICATE) {
        SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, NULL);
        CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
        CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    }
    if (variation == EARLY_DATA)
        CHECK(SSL_CTX_set_max_early_data(server_ctx, 100) == 1);
    if (variation == ONE_TICKET)
        CHECK(SSL_CTX_set_num_tickets(server_ctx, 1) == 1);
    for (int turn = 0; turn < 2; turn++) {
        SSL_CTX_up_ref(client_ctx);
        SSL_CTX_up_ref(server_ctx);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        CHECK(SSL_set_tlsext_host_name(pair.client, "server.test") == 1);
        CHECK(SSL_set_ex_data(pair.client, index_of_mark, "client") == 1);
        CHECK(SSL_set_ex_data(pair.server, index_of_mark, "server") == 1);
        if (turn == 1)
            CHECK(SSL_set_session(pair.client, newest) == 1);
        printf(" %s\n", turn == 0 ? "full" : "resumed");
        if (by_handshake) {
            CHECK(shake(&pair));
        } else {
            for (int i = 0; i < 10 && SSL_write(pair.client, "data", 4) != 4; i++)
                CHECK(SSL_read(pair.server, data, 4) == -1);
            read_exactly(pair.server, data, 4);
        }
        printf(" connected\n");
        CHECK(SSL_write(pair.server, "data", 4) == 4);
        read_exactly(pair.client, data, 4);
        print_connection("connection", pair.client);
        print_connection("connection", pair.server);
        SSL_shutdown(pair.client);
        SSL_shutdown(pair.server);
        free_pair(&pair);
    }
    SSL_SESSION_free(newest);
    newest = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

/* A session that the server does not resume: whether the new one has its data. */
static void offer_in_vain(int version, int resumes) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    int index = SSL_SESSION_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, keep_newest);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(server_ctx, renewing_key);
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    free_pair(&pair);
    SSL_SESSION *offered = newest_session;
    newest_session = NULL;
    CHECK(offered != NULL && SSL_SESSION_set_ex_data(offered, index, "offered") == 1);
    if (!resumes)
        SSL_CTX_set_tlsext_ticket_key_evp_cb(server_ctx, NULL);
    pair = connected(client_ctx, server_ctx, offered);
    printf("version %x, offered, resumed %d\n", version, SSL_session_reused(pair.client));
    print_text("data of the connection's", SSL_SESSION_get_ex_data(SSL_get_session(pair.client), index));
    if (newest_session != NULL)
        print_text("data of the newest", SSL_SESSION_get_ex_data(newest_session, index));
    free_pair(&pair);
    SSL_SESSION_free(offered);
    SSL_SESSION_free(newest_session);
    newest_session = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
}

int main(void) {
    int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    index_of_mark = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    for (int i = 0; i < 4; i++)
        offer_in_vain(versions[i % 2], i / 2);
    for (int i = 0; i < 2; i++)
        for (int variation = 0; variation < VARIATIONS; variation++)
            for (int by_handshake = 0; by_handshake < 2; by_handshake++)
                /* With replay protection, Tercel's server does not issue tickets in TLS 1.2. */
                if (variation != EARLY_DATA || versions[i] == TLS1_3_VERSION)
                    connect_twice(versions[i], variation, by_handshake);
    return 0;
}
