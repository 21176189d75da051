/* Private keys that cannot be exported: libcrypto signs. A server that selects a certificate by the kind of key. */
#include "test.h"
#include <openssl/ec.h>
#include <openssl/pem.h>

static EC_KEY *secret;
static int signatures;

static ECDSA_SIG *sign(const unsigned char *digest, int length, const BIGNUM *kinv, const BIGNUM *r, EC_KEY *key) {
    (void)kinv, (void)r, (void)key;
    signatures++;
    return ECDSA_do_sign(digest, length, secret);
}

static int sign_bytes(int type, const unsigned char *digest, int length, unsigned char *to, unsigned int *written,
                      const BIGNUM *kinv, const BIGNUM *r, EC_KEY *key) {
    (void)type, (void)kinv, (void)r, (void)key;
    signatures++;
    return ECDSA_sign(0, digest, length, to, written, secret);
}

/* A key that has no private part of its own, as one of a token. */
static EVP_PKEY *remote_key(const char *file) {
    BIO *bio = BIO_new_file(file, "r");
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL), *remote = EVP_PKEY_new();
    BIO_free(bio);
    secret = EVP_PKEY_get1_EC_KEY(key);
    EVP_PKEY_free(key);
    static EC_KEY_METHOD *method;
    if (method == NULL) {
        method = EC_KEY_METHOD_new(EC_KEY_OpenSSL());
        EC_KEY_METHOD_set_sign(method, sign_bytes, NULL, sign);
    }
    EC_KEY *without = EC_KEY_new();
    EC_KEY_set_method(without, method);
    CHECK(EC_KEY_set_group(without, EC_KEY_get0_group(secret)) == 1);
    CHECK(EC_KEY_set_public_key(without, EC_KEY_get0_public_key(secret)) == 1);
    CHECK(EVP_PKEY_assign_EC_KEY(remote, without) == 1);
    return remote;
}

static void remote_keys(int version) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    EVP_PKEY *key = remote_key(material("server.key"));
    CHECK(SSL_CTX_use_PrivateKey(server_ctx, key) == 1);
    EVP_PKEY_free(key);
    signatures = 0;
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(shake(&pair));
    CHECK(signatures == 1 && ERR_peek_error() == 0);
    free_pair(&pair);
    EC_KEY_free(secret);

    /* The key of a client. */
    server_ctx = server_context(version), client_ctx = client_context(version);
    CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    key = remote_key(material("client.key"));
    CHECK(SSL_CTX_use_PrivateKey(client_ctx, key) == 1);
    EVP_PKEY_free(key);
    signatures = 0;
    pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(shake(&pair));
    CHECK(signatures == 1 && SSL_get_verify_result(pair.server) == X509_V_OK);
    free_pair(&pair);
    EC_KEY_free(secret);
}

static int on_status(SSL *ssl, void *argument) {
    X509 *own = SSL_get_certificate(ssl);
    CHECK(own != NULL && X509_cmp(own, argument) == 0);
    return SSL_TLSEXT_ERR_NOACK;
}

/* An identity without a key is before the one that is used: the program sees the certificate that is used. */
static void selected(void) {
    SSL_CTX *server_ctx = server_context(0), *client_ctx = client_context(0);
    X509 *used = SSL_CTX_get0_certificate(server_ctx), *other;
    BIO *bio = BIO_new_file(material("rsa.pem"), "r");
    other = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    SSL_CTX *again = SSL_CTX_new(TLS_server_method());
    CHECK(SSL_CTX_use_certificate(again, other) == 1 && SSL_CTX_use_certificate(again, used) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(again, material("server.key"), SSL_FILETYPE_PEM) == 1);
    /* Only one of the certificates has a key. */
    CHECK(SSL_CTX_set_current_cert(again, SSL_CERT_SET_FIRST) == 1);
    CHECK(SSL_CTX_get0_certificate(again) == SSL_CTX_get0_certificate(server_ctx));
    CHECK(SSL_CTX_set_current_cert(again, SSL_CERT_SET_NEXT) == 0);
    CHECK(SSL_CTX_select_current_cert(again, used) == 1 && SSL_CTX_select_current_cert(again, other) == 0);
    int (*callback)(SSL *, void *) = NULL;
    SSL_CTX_set_tlsext_status_cb(again, on_status);
    SSL_CTX_set_tlsext_status_arg(again, used);
    CHECK(SSL_CTX_get_tlsext_status_cb(again, &callback) == 1 && callback == on_status);
    for (int turn = 0; turn < 2; turn++) {
        SSL_CTX_up_ref(client_ctx);
        SSL_CTX_up_ref(again);
        struct pair pair = pair_of(client_ctx, again, 1 << 14);
        CHECK(SSL_set_tlsext_status_type(pair.client, TLSEXT_STATUSTYPE_ocsp) == 1);
        CHECK(shake(&pair));
        CHECK(X509_cmp(SSL_get_certificate(pair.server), used) == 0);
        free_pair(&pair);
    }
    X509_free(other);
    SSL_CTX_free(again);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    ERR_clear_error();
}

/* A certificate of a curve that is not among the groups. */
static void wrong_curve(void) {
    SSL_CTX *server_ctx = server_context(TLS1_2_VERSION), *client_ctx = client_context(TLS1_2_VERSION);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, NULL);
    CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
    CHECK(SSL_CTX_set1_groups_list(server_ctx, "P-384") == 1);
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(!shake(&pair));
    CHECK(ERR_GET_REASON(ERR_peek_error()) == SSL_R_WRONG_CURVE);
    ERR_clear_error();
    free_pair(&pair);
}

/* Each source of trusted certificates alone. */
static void default_sources(void) {
    setenv("SSL_CERT_FILE", material("root.pem"), 1);
    setenv("SSL_CERT_DIR", "/nonexistent", 1);
    for (int source = 0; source < 3; source++) {
        SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
        if (source == 1)
            CHECK(SSL_CTX_set_default_verify_file(client_ctx) == 1);
        if (source == 2)
            CHECK(SSL_CTX_set_default_verify_dir(client_ctx) == 1);
        struct pair pair = pair_of(client_ctx, server_context(0), 1 << 14);
        CHECK(shake(&pair) == (source == 1));
        ERR_clear_error();
        free_pair(&pair);
    }
    unsetenv("SSL_CERT_FILE");
    unsetenv("SSL_CERT_DIR");
}

/* RSA keys for RSASSA-PSS only, on both sides. */
static void pss_keys(int version) {
    SSL_CTX *contexts[2];
    int type = 0;
    for (int i = 0; i < 2; i++) {
        SSL_CTX *ctx = SSL_CTX_new(i == 0 ? TLS_server_method() : TLS_client_method());
        CHECK(SSL_CTX_use_certificate_chain_file(ctx, material("pss.pem")) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(ctx, material("pss.key"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_CTX_check_private_key(ctx) == 1);
        CHECK(SSL_CTX_load_verify_locations(ctx, material("pss.pem"), NULL) == 1);
        CHECK(SSL_CTX_set_min_proto_version(ctx, version) == 1 && SSL_CTX_set_max_proto_version(ctx, version) == 1);
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        contexts[i] = ctx;
    }
    struct pair pair = pair_of(contexts[1], contexts[0], 1 << 14);
    CHECK(shake(&pair));
    CHECK(EVP_PKEY_get_base_id(X509_get0_pubkey(SSL_get0_peer_certificate(pair.client))) == EVP_PKEY_RSA_PSS);
    CHECK(SSL_get_peer_signature_type_nid(pair.client, &type) == 1 && type == EVP_PKEY_RSA_PSS);
    CHECK(SSL_get_verify_result(pair.server) == X509_V_OK && ERR_peek_error() == 0);
    free_pair(&pair);
}

void test_keys(void) {
    pss_keys(TLS1_2_VERSION);
    pss_keys(TLS1_3_VERSION);
    remote_keys(TLS1_2_VERSION);
    remote_keys(TLS1_3_VERSION);
    selected();
    wrong_curve();
    default_sources();
}
