/* Servers that begin to demand a certificate in a callback, which OpenSSL calls before the request for one. What is
   printed is the same on both libraries. Tercel also refuses clients with a certificate if it has no request for them. */
#include "../c/test.h"

enum place { NAME, HELLO, CERTIFICATE, PROTOCOL, STATUS, TICKET, TICKET_KEY, KEY_LOG, MESSAGE, INFO, PLACES };

static const char *const place_names[] = {"server name", "ClientHello", "certificate", "protocol", "status",
                                          "ticket",      "ticket key",  "key log",     "message",  "info"};

static const int modes[] = {SSL_VERIFY_NONE, SSL_VERIFY_PEER, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                            SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_POST_HANDSHAKE};

static int mode, called;

static void demand(const SSL *ssl) {
    called = 1;
    SSL_set_verify((SSL *)ssl, mode, NULL);
}

static int on_name(SSL *ssl, int *alert, void *argument) {
    (void)alert, (void)argument;
    demand(ssl);
    return SSL_TLSEXT_ERR_OK;
}

static int on_hello(SSL *ssl, int *alert, void *argument) {
    (void)alert, (void)argument;
    demand(ssl);
    return SSL_CLIENT_HELLO_SUCCESS;
}

static int on_certificate(SSL *ssl, void *argument) {
    (void)argument;
    demand(ssl);
    return 1;
}

static int on_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                       unsigned int length, void *argument) {
    (void)length, (void)argument;
    demand(ssl);
    *out = in + 1;
    *out_length = in[0];
    return SSL_TLSEXT_ERR_OK;
}

static int on_status(SSL *ssl, void *argument) {
    (void)argument;
    demand(ssl);
    return SSL_TLSEXT_ERR_NOACK;
}

static int on_generate(SSL *ssl, void *argument) {
    (void)ssl, (void)argument;
    return 1;
}

static SSL_TICKET_RETURN on_decrypt(SSL *ssl, SSL_SESSION *session, const unsigned char *name, size_t length,
                                    SSL_TICKET_STATUS status, void *argument) {
    (void)session, (void)name, (void)length, (void)status, (void)argument;
    demand(ssl);
    return SSL_TICKET_RETURN_IGNORE;
}

static int on_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                         int seals) {
    if (seals)
        return use_ticket_key(name, iv, cipher, mac, 1);
    demand(ssl);
    return 0;
}

static void on_key_log(const SSL *ssl, const char *line) {
    /* The secrets of the handshake are before the request, and others are after it. */
    if (strncmp(line, "SERVER_HANDSHAKE", 16) == 0)
        demand(ssl);
}

static void on_message(int sent, int version, int type, const void *content, size_t length, SSL *ssl, void *argument) {
    (void)version, (void)argument;
    if (!sent && type == SSL3_RT_HANDSHAKE && length > 0 && *(const unsigned char *)content == SSL3_MT_CLIENT_HELLO)
        demand(ssl);
}

static void on_info(const SSL *ssl, int where, int value) {
    (void)value;
    if (where & SSL_CB_HANDSHAKE_START)
        demand(ssl);
}

static void set(SSL_CTX *ctx, enum place place) {
    switch (place) {
    case NAME:
        SSL_CTX_set_tlsext_servername_callback(ctx, on_name);
        break;
    case HELLO:
        SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
        break;
    case CERTIFICATE:
        SSL_CTX_set_cert_cb(ctx, on_certificate, NULL);
        break;
    case PROTOCOL:
        SSL_CTX_set_alpn_select_cb(ctx, on_protocol, NULL);
        break;
    case STATUS:
        SSL_CTX_set_tlsext_status_cb(ctx, on_status);
        break;
    case TICKET:
        SSL_CTX_set_session_ticket_cb(ctx, on_generate, on_decrypt, NULL);
        break;
    case TICKET_KEY:
        SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket_key);
        break;
    case KEY_LOG:
        SSL_CTX_set_keylog_callback(ctx, on_key_log);
        break;
    case MESSAGE:
        SSL_CTX_set_msg_callback(ctx, on_message);
        break;
    default:
        SSL_CTX_set_info_callback(ctx, on_info);
    }
}

/* Connects a client that may have a certificate. */
static int connect_once(SSL_CTX *client, SSL_CTX *server, const char *certificate, SSL_SESSION *session) {
    SSL_CTX_up_ref(client);
    SSL_CTX_up_ref(server);
    struct pair pair = pair_of(client, server, 1 << 14);
    char text[4];
    if (certificate != NULL) {
        char key[64];
        snprintf(key, sizeof key, "%.*s.key", (int)(strlen(certificate) - 4), certificate);
        CHECK(SSL_use_certificate_file(pair.client, material(certificate), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_use_PrivateKey_file(pair.client, material(key), SSL_FILETYPE_PEM) == 1);
    }
    if (session != NULL)
        SSL_set_session(pair.client, session);
    CHECK(SSL_set_tlsext_host_name(pair.client, "server.test") == 1);
    CHECK(SSL_set_tlsext_status_type(pair.client, TLSEXT_STATUSTYPE_ocsp) == 1);
    CHECK(SSL_set_alpn_protos(pair.client, (const unsigned char *)"\1a", 2) == 0);
    int done = shake(&pair) && SSL_write(pair.server, "data", 4) == 4 && SSL_read(pair.client, text, 4) == 4;
    int is_late = mode & SSL_VERIFY_POST_HANDSHAKE && SSL_version(pair.server) == TLS1_3_VERSION;
    int demanded = called && mode & SSL_VERIFY_FAIL_IF_NO_PEER_CERT && !is_late;
    /* Nobody is served without the certificate. */
    CHECK(!done || !demanded || SSL_get0_peer_certificate(pair.server) != NULL);
    ERR_clear_error();
    free_pair(&pair);
    return done;
}

/* The mode that is set after the server's flight is that of later requests: this handshake has no request. */
static void demand_after_the_flight(int version) {
    struct pair pair = pair_of(client_context(version), server_context(version), 1 << 14);
    CHECK(SSL_connect(pair.client) == -1);
    CHECK(SSL_accept(pair.server) == -1 && SSL_get_error(pair.server, -1) == SSL_ERROR_WANT_READ);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    CHECK(SSL_accept(pair.server) == -1);
    printf("version %x, after the flight: connected %d\n", version, shake(&pair));
    free_pair(&pair);
}

/* The mode becomes stricter between the request and the answer of a client without a certificate. */
static void demand_after_the_request(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER, NULL);
    CHECK(SSL_connect(pair.client) == -1);
    CHECK(SSL_accept(pair.server) == -1 && SSL_get_error(pair.server, -1) == SSL_ERROR_WANT_READ);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_session_cache_mode(pair.client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(pair.client_ctx, keep_newest);
    CHECK(SSL_connect(pair.client) == (version == TLS1_3_VERSION ? 1 : -1));
    int result = SSL_accept(pair.server);
    printf("version %x, after the request: accepted %d, %s\n", version, result,
           ERR_reason_error_string(ERR_peek_error()));
    ERR_clear_error();
    /* The client gets nothing that admits it later. */
    char byte;
    result = SSL_connect(pair.client);
    printf("client: connected %d, read %d, %s, session %d\n", result, SSL_read(pair.client, &byte, 1),
           ERR_reason_error_string(ERR_peek_error()), newest_session != NULL);
    ERR_clear_error();
    drop_pair(&pair);
}

static void demand_after_a_late_request(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    char byte;
    permit_late_authentication(&pair);
    SSL_certs_clear(pair.client);
    CHECK(shake(&pair) && SSL_verify_client_post_handshake(pair.server) == 1 && SSL_do_handshake(pair.server) == 1);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_POST_HANDSHAKE, NULL);
    CHECK(SSL_read(pair.client, &byte, 1) == -1 && SSL_write(pair.client, "x", 1) == 1);
    int result = SSL_read(pair.server, &byte, 1);
    printf("after a late request: read %d, %s\n", result, ERR_reason_error_string(ERR_peek_error()));
    ERR_clear_error();
    drop_pair(&pair);
}

int main(void) {
    demand_after_the_flight(TLS1_2_VERSION);
    demand_after_the_flight(TLS1_3_VERSION);
    demand_after_the_request(TLS1_2_VERSION);
    demand_after_the_request(TLS1_3_VERSION);
    demand_after_a_late_request();
    static const char *const certificates[] = {NULL, "rsa.pem", "client.pem"};
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int place = 0; place < PLACES; place++)
            for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
                for (int certificate = 0; certificate < 3; certificate++) {
                    SSL_CTX *client = client_context(version), *server = server_context(version);
                    SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT);
                    SSL_CTX_sess_set_new_cb(client, keep_newest);
                    CHECK(SSL_CTX_set_session_id_context(server, (const unsigned char *)"test", 4) == 1);
                    CHECK(SSL_CTX_load_verify_locations(server, material("root.pem"), NULL) == 1);
                    mode = SSL_VERIFY_NONE;
                    CHECK(connect_once(client, server, NULL, NULL) && newest_session != NULL);
                    mode = modes[i];
                    called = 0;
                    set(server, place);
                    /* A resumed connection has no request. These callbacks refuse the session. */
                    SSL_SESSION *offered = place == TICKET || place == TICKET_KEY ? newest_session : NULL;
                    int done = connect_once(client, server, certificates[certificate], offered);
                    int is_trusted = certificate == 2 || (certificate == 0 && modes[i] == SSL_VERIFY_PEER);
                    printf("version %x, %s, mode %d, certificate %d: called %d", version, place_names[place], modes[i],
                           certificate, called);
                    printf(is_trusted ? "\n" : ", connected %d\n", done);
                    SSL_SESSION_free(newest_session);
                    newest_session = NULL;
                    SSL_CTX_free(client);
                    SSL_CTX_free(server);
                }
    return 0;
}
