/* Callbacks of a server in their order, and those for information and keys. */
#include "test.h"

static char order[64];
static int lines, starts, ends;

static int on_hello(SSL *ssl, int *alert, void *argument) {
    const unsigned char *bytes;
    size_t length;
    (void)alert;
    CHECK(strcmp(argument, "argument") == 0);
    CHECK(SSL_client_hello_get0_random(ssl, &bytes) == 32);
    CHECK(SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &length) == 1 && length > 5);
    CHECK(SSL_client_hello_get0_ciphers(ssl, &bytes) >= 2);
    strcat(order, "h");
    return SSL_CLIENT_HELLO_SUCCESS;
}

static int on_name(SSL *ssl, int *alert, void *argument) {
    (void)alert;
    CHECK(strcmp(SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name), "server.test") == 0);
    strcat(order, "n");
    if (argument != NULL)
        SSL_set_SSL_CTX(ssl, argument);
    return SSL_TLSEXT_ERR_OK;
}

static int on_certificate(SSL *ssl, void *argument) {
    int *times = argument;
    (void)ssl;
    strcat(order, "c");
    /* The first call asks to be repeated. */
    return (*times)++ == 0 ? -1 : 1;
}

static int on_protocol(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in,
                       unsigned int in_length, void *argument) {
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    (void)ssl;
    (void)argument;
    strcat(order, "p");
    CHECK(SSL_select_next_proto((unsigned char **)out, length, ours, sizeof ours - 1, in, in_length) ==
          OPENSSL_NPN_NEGOTIATED);
    return SSL_TLSEXT_ERR_OK;
}

static void on_key(const SSL *ssl, const char *line) {
    (void)ssl;
    CHECK(strstr(line, " ") != NULL);
    lines++;
}

static void on_info(const SSL *ssl, int where, int value) {
    (void)ssl;
    (void)value;
    starts += where == SSL_CB_HANDSHAKE_START;
    ends += where == SSL_CB_HANDSHAKE_DONE;
}

static int written, seen[2];

/* At the end of the handshake the program may already write and read. */
static void on_done(const SSL *ssl, int where, int value) {
    char text[4];
    (void)value;
    if (where != SSL_CB_HANDSHAKE_DONE)
        return;
    written += SSL_write((SSL *)ssl, "data", 4) == 4;
    seen[SSL_is_server(ssl)] += SSL_read((SSL *)ssl, text, 4) == 4;
}

static void io_at_the_end(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    char text[4];
    written = seen[0] = seen[1] = 0;
    SSL_set_info_callback(pair.client, on_done);
    SSL_set_info_callback(pair.server, on_done);
    /* The handshake is continued by reading. */
    for (int i = 0; i < 20 && seen[0] + seen[1] < 2; i++) {
        SSL *ssl = i % 2 ? pair.server : pair.client;
        int count = SSL_read(ssl, text, 4);
        CHECK(count == 4 || SSL_get_error(ssl, count) == SSL_ERROR_WANT_READ);
        seen[i % 2] += count == 4;
    }
    CHECK(written == 2 && seen[0] == 1 && seen[1] == 1);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

void test_callbacks(void) {
    int times = 0;
    SSL_CTX *server_ctx = server_context(0), *other_ctx = server_context(0);
    SSL_CTX *client_ctx = client_context(0);
    SSL_CTX_set_client_hello_cb(server_ctx, on_hello, "argument");
    SSL_CTX_set_tlsext_servername_callback(server_ctx, on_name);
    SSL_CTX_set_tlsext_servername_arg(server_ctx, other_ctx);
    SSL_CTX_set_cert_cb(other_ctx, on_certificate, &times);
    SSL_CTX_set_alpn_select_cb(other_ctx, on_protocol, NULL);
    SSL_CTX_set_keylog_callback(client_ctx, on_key);
    SSL_CTX_set_info_callback(client_ctx, on_info);
    CHECK(SSL_CTX_set_alpn_protos(client_ctx, (const unsigned char *)"\x08http/1.1\x02h2", 12) == 0);

    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_set_tlsext_host_name(pair.client, "server.test") == 1);
    CHECK(SSL_set1_host(pair.client, "server.test") == 1);
    CHECK(SSL_do_handshake(pair.client) == -1);
    CHECK(SSL_do_handshake(pair.server) == -1);
    CHECK(SSL_get_error(pair.server, -1) == SSL_ERROR_WANT_X509_LOOKUP);
    CHECK(shake(&pair));
    CHECK(SSL_get_SSL_CTX(pair.server) == other_ctx);
    CHECK(strcmp(SSL_get0_peername(pair.client), "server.test") == 0);
    /* The callbacks before the one that is repeated are not called again. */
    CHECK(strcmp(order, "hnccp") == 0);
    const unsigned char *protocol;
    unsigned int length;
    SSL_get0_alpn_selected(pair.client, &protocol, &length);
    CHECK(length == 2 && memcmp(protocol, "h2", 2) == 0);
    CHECK(lines >= 4 && starts == 1 && ends == 1);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
    SSL_CTX_free(other_ctx);

    io_at_the_end(TLS1_2_VERSION);
    io_at_the_end(TLS1_3_VERSION);

    /* Another name than the certificate has. */
    pair = new_pair(0, 1 << 14);
    CHECK(SSL_set1_host(pair.client, "other.test") == 1);
    CHECK(!shake(&pair));
    CHECK(SSL_get_verify_result(pair.client) == X509_V_ERR_HOSTNAME_MISMATCH);
    ERR_clear_error();
    free_pair(&pair);
}
