/* Chains that the test makes: a server with an address in its names, and an authority between it and DANE's key. */
#include "../c/test.h"
#include <openssl/x509v3.h>

struct owner {
    X509 *certificate;
    EVP_PKEY *key;
};

static void extend(X509 *certificate, int nid, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    CHECK(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* A certificate for this name, with alternative names or as an authority; signed by another owner or by itself. */
static struct owner make(const char *name, const char *alternatives, const struct owner *issuer) {
    static long serial = 1;
    struct owner made = {X509_new(), EVP_EC_gen("P-256")};
    CHECK(made.certificate != NULL && made.key != NULL);
    X509_set_version(made.certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), 3600);
    X509_set_pubkey(made.certificate, made.key);
    X509_NAME *subject = X509_get_subject_name(made.certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(made.certificate, issuer == NULL ? subject : X509_get_subject_name(issuer->certificate));
    if (alternatives == NULL)
        extend(made.certificate, NID_basic_constraints, "critical,CA:true");
    else if (alternatives[0] != 0)
        extend(made.certificate, NID_subject_alt_name, alternatives);
    CHECK(X509_sign(made.certificate, issuer == NULL ? made.key : issuer->key, EVP_sha256()) > 0);
    return made;
}

static void free_owner(struct owner *owner) {
    X509_free(owner->certificate);
    EVP_PKEY_free(owner->key);
}

static SSL_CTX *context_of(const struct owner *owner) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    CHECK(SSL_CTX_use_certificate(ctx, owner->certificate) == 1 && SSL_CTX_use_PrivateKey(ctx, owner->key) == 1);
    return ctx;
}

/* The names and addresses that a client expects, which are set one after another. */
static int expect(const struct owner *root, const struct owner *server, const char *const *names, int count) {
    SSL_CTX *client = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
    CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(client), root->certificate) == 1);
    struct pair pair = pair_of(client, context_of(server), 1 << 14);
    for (int i = 0; i < count; i++)
        printf(" %s %d", names[i], i == 0 ? SSL_set1_host(pair.client, names[i]) : SSL_add1_host(pair.client, names[i]));
    int done = shake(&pair);
    const char *matched = done ? SSL_get0_peername(pair.client) : NULL;
    printf(": %d, result %ld, name %s\n", done, SSL_get_verify_result(pair.client), matched == NULL ? "none" : matched);
    ERR_clear_error();
    free_pair(&pair);
    return done;
}

static void addresses(void) {
    static const char *const alternatives[] = {"IP:127.0.0.1,DNS:localhost", "DNS:127.0.0.1", "", "IP:::1", "DNS:localhost"};
    static const char *const names[][3] = {
        {"127.0.0.1", NULL, NULL}, {"127.0.0.2", NULL, NULL}, {"::1", NULL, NULL}, {"0:0:0:0:0:0:0:1", NULL, NULL},
        {"localhost", NULL, NULL}, {"localhost", "127.0.0.1", NULL}, {"127.0.0.1", "localhost", NULL},
        {"127.0.0.2", "127.0.0.1", NULL}, {"wrong.test", "127.0.0.1", "127.0.0.2"}, {"", "127.0.0.1", NULL},
        {"127.1", NULL, NULL}, {"127.0.0.1.", NULL, NULL}, {"127.0.0.1", "wrong.test", "localhost"},
    };
    struct owner root = make("root", NULL, NULL);
    for (unsigned i = 0; i < sizeof alternatives / sizeof *alternatives; i++) {
        /* The common name is a name only without alternative DNS names. */
        struct owner server = make("127.0.0.1", alternatives[i], &root);
        for (unsigned j = 0; j < sizeof names / sizeof *names; j++) {
            int count = names[j][1] == NULL ? 1 : names[j][2] == NULL ? 2 : 3;
            printf("%s:", alternatives[i]);
            int done = expect(&root, &server, names[j], count);
            /* An address is not a name. */
            CHECK(!done || count != 1 || strcmp(names[j][0], "127.0.0.1") != 0 || strncmp(alternatives[i], "IP:127", 6) == 0);
        }
        free_owner(&server);
    }
    free_owner(&root);
}

/* The longest chain that is accepted below a key, which a record contains without its certificate. */
static void depth_below_key(int between, int depth) {
    struct owner chain[3] = {make("root", NULL, NULL)};
    for (int i = 1; i <= between; i++)
        chain[i] = make(i == 1 ? "upper" : "lower", NULL, &chain[i - 1]);
    struct owner server = make("server.test", "DNS:server.test", &chain[between]);
    SSL_CTX *client = SSL_CTX_new(TLS_client_method()), *ctx = context_of(&server);
    for (int i = between; i > 0; i--)
        CHECK(SSL_CTX_add1_chain_cert(ctx, chain[i].certificate) == 1);
    CHECK(SSL_CTX_dane_enable(client) == 1);
    SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_verify_depth(client, depth);
    struct pair pair = pair_of(client, ctx, 1 << 14);
    CHECK(SSL_dane_enable(pair.client, "server.test") == 1);
    unsigned char *data = NULL;
    int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(chain[0].certificate), &data);
    CHECK(length > 0 && SSL_dane_tlsa_add(pair.client, 2, 1, 0, data, length) == 1);
    OPENSSL_free(data);
    printf("%d between, depth %d: %d", between, depth, shake(&pair));
    printf(", result %ld, authority %d\n", SSL_get_verify_result(pair.client),
           SSL_get0_dane_authority(pair.client, NULL, NULL));
    ERR_clear_error();
    free_pair(&pair);
    free_owner(&server);
    for (int i = 0; i <= between; i++)
        free_owner(&chain[i]);
}

int main(void) {
    addresses();
    for (int between = 0; between < 3; between++)
        for (int depth = 0; depth < 4; depth++)
            depth_below_key(between, depth);
    return 0;
}
