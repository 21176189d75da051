/* Which version is negotiated after limits, by each method and in each place; and contexts under default properties. */
#include "../c/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void print_errors(void) {
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(error));
    printf("\n");
}

static const int limits[] = {0,    SSL3_VERSION,   TLS1_VERSION,    TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION,
                             0x305, DTLS1_2_VERSION, DTLS1_BAD_VER, -1,             1};

static void limit(const SSL_METHOD *method, const char *name, int least, int most, int on_connection) {
    SSL_CTX *client = SSL_CTX_new(method), *server = server_context(0);
    printf("%s, %x to %x, connection %d:", name, least, most, on_connection);
    SSL *ssl = on_connection ? SSL_new(client) : NULL;
    if (on_connection) {
        printf(" %d", (int)SSL_set_min_proto_version(ssl, least));
        printf(" %d", (int)SSL_set_max_proto_version(ssl, most));
    } else {
        printf(" %d", (int)SSL_CTX_set_min_proto_version(client, least));
        printf(" %d", (int)SSL_CTX_set_max_proto_version(client, most));
        ssl = SSL_new(client);
    }
    CHECK(ERR_peek_error() == 0);
    printf(", limits %lx %lx", (long)SSL_get_min_proto_version(ssl), (long)SSL_get_max_proto_version(ssl));
    printf(" %lx %lx", (long)SSL_CTX_get_min_proto_version(client), (long)SSL_CTX_get_max_proto_version(client));
    struct pair pair = pair_of(client, server, 1 << 14);
    BIO *bio = SSL_get_rbio(pair.client);
    BIO_up_ref(bio);
    SSL_free(pair.client);
    pair.client = ssl;
    SSL_set_bio(ssl, bio, bio);
    SSL_set_connect_state(ssl);
    printf(", %s\n", shake(&pair) ? SSL_get_version(ssl) : "failed");
    ERR_clear_error();
    free_pair(&pair);
}

/* Each connection has the error of its own failure. */
static void disabled(int is_server) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL_CTX_set_options(ctx, SSL_OP_NO_SSL_MASK);
    for (int i = 0; i < 3; i++) {
        SSL *ssl = SSL_new(ctx);
        if (is_server)
            SSL_set_accept_state(ssl);
        else
            SSL_set_connect_state(ssl);
        int result = SSL_do_handshake(ssl);
        printf("no version, server %d: %d, error %d", is_server, result, SSL_get_error(ssl, result));
        print_errors();
        SSL_free(ssl);
    }
    SSL_CTX_free(ctx);
}

/* A process whose properties exclude the algorithms of OpenSSL's default provider makes no context. */
static void properties(void) {
    static const char *const queries[] = {"fips=yes", "fips=no", "?fips=yes", "provider=default", "provider=legacy",
                                          "provider!=default", "color=green", "?color=green", ""};
    for (unsigned i = 0; i < COUNT(queries); i++) {
        CHECK(EVP_set_default_properties(NULL, queries[i]) == 1);
        SSL_CTX *ctx = SSL_CTX_new(TLS_method());
        printf("default properties '%s': %d\n", queries[i], ctx != NULL);
        CHECK((ctx == NULL) == (ERR_peek_error() != 0));
        SSL_CTX_free(ctx);
        ERR_clear_error();
    }
}

int main(void) {
    for (unsigned i = 0; i < COUNT(limits); i++)
        for (unsigned j = 0; j < COUNT(limits); j++)
            for (int on_connection = 0; on_connection < 2; on_connection++) {
                limit(TLS_client_method(), "all versions", limits[i], limits[j], on_connection);
                limit(TLSv1_2_client_method(), "TLS 1.2", limits[i], limits[j], on_connection);
                limit(TLSv1_1_client_method(), "TLS 1.1", limits[i], limits[j], on_connection);
            }
    disabled(0);
    disabled(1);
    properties();
    return 0;
}
