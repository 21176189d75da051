/* What test.h declares: material, contexts, and pairs of connections. */
#include "test.h"

#include <openssl/rand.h>

const char *material(const char *name) {
    static char paths[2][512];
    static int next;
    next = !next;
    snprintf(paths[next], sizeof paths[next], "%s/%s", getenv("MATERIAL"), name);
    return paths[next];
}

X509 *read_certificate(const char *name) {
    BIO *file = BIO_new_file(material(name), "r");
    X509 *certificate = PEM_read_bio_X509(file, NULL, NULL, NULL);
    CHECK(certificate != NULL);
    BIO_free(file);
    return certificate;
}

EVP_PKEY *read_key(const char *name) {
    BIO *file = BIO_new_file(material(name), "r");
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
    CHECK(key != NULL);
    BIO_free(file);
    return key;
}

static void set_version(SSL_CTX *ctx, int version) {
    if (version != 0) {
        CHECK(SSL_CTX_set_min_proto_version(ctx, version) == 1);
        CHECK(SSL_CTX_set_max_proto_version(ctx, version) == 1);
    }
}

SSL_CTX *server_context(int version) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    CHECK(ctx != NULL);
    set_version(ctx, version);
    CHECK(SSL_CTX_use_certificate_chain_file(ctx, material("server.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(ctx, material("server.key"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_check_private_key(ctx) == 1);
    return ctx;
}

SSL_CTX *client_context(int version) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    CHECK(ctx != NULL);
    set_version(ctx, version);
    CHECK(SSL_CTX_load_verify_locations(ctx, material("root.pem"), NULL) == 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    return ctx;
}

struct pair pair_of(SSL_CTX *client_ctx, SSL_CTX *server_ctx, size_t size) {
    struct pair pair = {client_ctx, server_ctx, SSL_new(client_ctx), SSL_new(server_ctx)};
    BIO *one, *other;
    CHECK(pair.client != NULL && pair.server != NULL);
    CHECK(BIO_new_bio_pair(&one, size, &other, size) == 1);
    SSL_set_bio(pair.client, one, one);
    SSL_set_bio(pair.server, other, other);
    SSL_set_connect_state(pair.client);
    SSL_set_accept_state(pair.server);
    return pair;
}

struct pair connected(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session) {
    char text[4];
    SSL_CTX_up_ref(server_ctx);
    SSL_CTX_up_ref(client_ctx);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    if (session != NULL)
        CHECK(SSL_set_session(pair.client, session) == 1);
    CHECK(shake(&pair) && SSL_write(pair.server, "data", 4) == 4);
    read_exactly(pair.client, text, 4);
    return pair;
}

void send_damaged_record(SSL *from) {
    unsigned char record[5 + 40] = {23, 3, 3, 0, 40};
    CHECK(BIO_write(SSL_get_wbio(from), record, sizeof record) == sizeof record);
}

struct pair new_pair(int version, size_t size) {
    return pair_of(client_context(version), server_context(version), size);
}

void free_pair(struct pair *pair) {
    /* Otherwise the sessions could not be resumed. */
    SSL_set_shutdown(pair->client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(pair->server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    drop_pair(pair);
}

void drop_pair(struct pair *pair) {
    SSL_free(pair->client);
    SSL_free(pair->server);
    SSL_CTX_free(pair->client_ctx);
    SSL_CTX_free(pair->server_ctx);
}

/* Continues one side. Returns 1 when it is done, 0 while it waits, -1 after a failure. */
static int step(SSL *ssl) {
    int result = SSL_do_handshake(ssl);
    if (result == 1)
        return 1;
    int error = SSL_get_error(ssl, result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

int shake(struct pair *pair) {
    for (int i = 0; i < 1000; i++) {
        int client = step(pair->client);
        int server = client < 0 ? 0 : step(pair->server);
        if (client < 0 || server < 0)
            return 0;
        if (client == 1 && server == 1)
            return 1;
    }
    return 0;
}

void read_exactly(SSL *ssl, char *to, int length) {
    for (int done = 0; done < length;) {
        int count = SSL_read(ssl, to + done, length - done);
        CHECK(count > 0);
        done += count;
    }
}

int use_ticket_key(unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals) {
    static const unsigned char key[32] = {7};
    OSSL_PARAM parameters[] = {OSSL_PARAM_construct_octet_string("key", (void *)key, sizeof key),
                               OSSL_PARAM_construct_utf8_string("digest", "sha256", 0), OSSL_PARAM_construct_end()};
    if (seals) {
        memset(name, 1, 16);
        /* Equal sessions in equal tickets could not be told apart. */
        CHECK(RAND_bytes(iv, 16) == 1);
    }
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, key, iv, seals) == 1 &&
           EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

void permit_late_authentication(struct pair *pair) {
    SSL_set_verify(pair->server, SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE, NULL);
    CHECK(SSL_CTX_load_verify_locations(pair->server_ctx, material("root.pem"), NULL) == 1);
    CHECK(SSL_use_certificate_file(pair->client, material("client.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_use_PrivateKey_file(pair->client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    SSL_set_post_handshake_auth(pair->client, 1);
}

SSL_SESSION *newest_session;

int keep_newest(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(newest_session);
    newest_session = session;
    return 1;
}
