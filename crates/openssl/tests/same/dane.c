/* DANE: which records authenticate a server, and what functions return without it. */
#include "../c/test.h"
#include <openssl/x509v3.h>

static unsigned calls, failures, last_error, tolerant;

static int on_certificate(int ok, X509_STORE_CTX *verification) {
    calls++;
    CHECK(X509_STORE_CTX_get_current_cert(verification) != NULL);
    if (!ok) {
        failures++;
        last_error = X509_STORE_CTX_get_error(verification);
    }
    return ok || tolerant;
}

struct record {
    int usage, selector, matching;
    const char *certificate;
};

/* The data of a record for a certificate. */
static size_t data_of(struct record record, unsigned char **to) {
    X509 *certificate = read_certificate(record.certificate);
    unsigned char *whole = NULL;
    int length = record.selector == 0 ? i2d_X509(certificate, &whole)
                                      : i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &whole);
    CHECK(length > 0);
    X509_free(certificate);
    if (record.matching == 0) {
        *to = whole;
        return length;
    }
    unsigned int size;
    *to = OPENSSL_malloc(EVP_MAX_MD_SIZE);
    CHECK(EVP_Digest(whole, length, *to, &size, record.matching == 1 ? EVP_sha256() : EVP_sha512(), NULL) == 1);
    OPENSSL_free(whole);
    return size;
}

struct options {
    int version;
    /* Whether the client trusts the root, and whether the server sends it. */
    int trusts, sends;
    const char *name;
    unsigned long flags;
    /* 0: no callback, 1: one that changes nothing, 2: one that accepts errors. */
    int callback;
    int mode;
    /* The level of the verification, if it is not that of the context. */
    int level;
};

static int authenticate(const struct record *records, int count, struct options options) {
    SSL_CTX *client = SSL_CTX_new(TLS_client_method()), *server = server_context(options.version);
    CHECK(SSL_CTX_set_min_proto_version(client, options.version) == 1);
    CHECK(SSL_CTX_dane_enable(client) == 1);
    SSL_CTX_dane_set_flags(client, options.flags);
    calls = failures = last_error = 0;
    tolerant = options.callback == 2;
    SSL_CTX_set_verify(client, options.mode, options.callback ? on_certificate : NULL);
    if (options.trusts)
        CHECK(SSL_CTX_load_verify_locations(client, material("root.pem"), NULL) == 1);
    if (options.sends) {
        X509 *root = read_certificate("root.pem");
        CHECK(SSL_CTX_add0_chain_cert(server, root) == 1);
    }
    struct pair pair = pair_of(client, server, 1 << 14);
    CHECK(SSL_dane_enable(pair.client, options.name) == 1);
    if (options.level != 0)
        X509_VERIFY_PARAM_set_auth_level(SSL_get0_param(pair.client), options.level);
    for (int i = 0; i < count; i++) {
        unsigned char *data;
        size_t length = data_of(records[i], &data);
        CHECK(SSL_dane_tlsa_add(pair.client, records[i].usage, records[i].selector, records[i].matching, data, length) == 1);
        OPENSSL_free(data);
    }
    int done = shake(&pair);
    /* If a record does not fit, Tercel can report another error of the chain. */
    int is_vague = options.name[0] == 'w' || strcmp(records[0].certificate, "other.pem") == 0;
    for (int i = 0; i < count; i++)
        printf("[%d %d %d %s]", records[i].usage, records[i].selector, records[i].matching, records[i].certificate);
    printf(" %x trusts %d sends %d %s flags %lx callback %d mode %d level %d: %d, result %ld", options.version, options.trusts,
           options.sends, options.name, options.flags, options.callback, options.mode, options.level, done,
           is_vague && !done ? -1 : SSL_get_verify_result(pair.client));
    uint8_t usage = 9, selector = 9, matching = 9;
    const unsigned char *data = NULL;
    size_t length = 0;
    X509 *certificate = NULL;
    EVP_PKEY *key = NULL;
    printf(", authority %d", SSL_get0_dane_authority(pair.client, &certificate, &key));
    printf(", record %d", SSL_get0_dane_tlsa(pair.client, &usage, &selector, &matching, &data, &length));
    if (certificate != NULL)
        printf(" %s", X509_check_host(certificate, "server.test", 0, 0, NULL) == 1 ? "server" : "root");
    printf("%s %d %d %d %zu", key != NULL ? " key" : "", usage, selector, matching, length);
    /* Callbacks may see an error of a certificate, and then that no record matches. */
    printf(", calls %d, failed %d", calls > 0, failures > 0);
    if (!tolerant && !is_vague)
        printf(", error %u", last_error);
    ERR_clear_error();
    /* Nothing is accepted without authentication. */
    CHECK(!done || options.mode == SSL_VERIFY_NONE || tolerant || SSL_get0_dane_authority(pair.client, NULL, NULL) >= 0);
    CHECK(ERR_peek_error() == 0);
    SSL_shutdown(pair.client);
    free_pair(&pair);
    printf("\n");
    return done;
}

/* Each usage with a certificate that matches and with others. Neither the names nor the chain of a DANE-EE certificate
   need to fit. RFC 7671 5.1 */
static void all(void) {
    static const char *const certificates[] = {"server.pem", "root.pem", "other.pem"};
    static const char *const names[] = {"server.test", "wrong.test"};
    for (int usage = 0; usage < 4; usage++)
        for (int selector = 0; selector < 2; selector++)
            for (int matching = 0; matching < 3; matching++)
                for (int certificate = 0; certificate < 3; certificate++)
                    for (int rest = 0; rest < 16; rest++) {
                        struct record record = {usage, selector, matching, certificates[certificate]};
                        struct options options = {rest & 1 ? TLS1_2_VERSION : TLS1_3_VERSION, rest >> 1 & 1, rest >> 2 & 1,
                                                  names[rest >> 3 & 1], 0, 1, SSL_VERIFY_PEER, 0};
                        authenticate(&record, 1, options);
                    }
    for (int usage = 0; usage < 4; usage++)
        for (int rest = 0; rest < 24; rest++) {
            struct record record = {usage, 1, 1, usage % 2 ? "server.pem" : "root.pem"};
            struct options options = {TLS1_3_VERSION, rest & 1, 1, names[rest >> 1 & 1],
                                      rest & 4 ? DANE_FLAG_NO_DANE_EE_NAMECHECKS : 0, rest / 8,
                                      rest & 2 ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, 0};
            authenticate(&record, 1, options);
        }
}

/* The key of the server is too weak for a level, whatever record authenticates it. */
static void levels(void) {
    static const char *const certificates[] = {"server.pem", "root.pem", "other.pem"};
    for (int level = 3; level <= 4; level++)
        for (int usage = 0; usage < 4; usage++)
            for (int certificate = 0; certificate < 3; certificate++)
                for (int callback = 0; callback < 2; callback++) {
                    struct record record = {usage, 1, 1, certificates[certificate]};
                    struct options options = {TLS1_3_VERSION, 1, 1, "server.test", 0, callback, SSL_VERIFY_PEER, level};
                    int done = authenticate(&record, 1, options);
                    CHECK(level == 3 || !done);
                }
}

/* Several records: their order, and the preference of digests. */
static void several(void) {
    static const struct record pairs[][2] = {
        {{3, 1, 1, "other.pem"}, {3, 1, 1, "server.pem"}}, {{3, 1, 2, "other.pem"}, {3, 1, 1, "server.pem"}},
        {{3, 1, 1, "server.pem"}, {3, 1, 2, "other.pem"}}, {{3, 0, 2, "other.pem"}, {3, 1, 1, "server.pem"}},
        {{3, 1, 2, "other.pem"}, {3, 1, 0, "server.pem"}}, {{2, 0, 1, "root.pem"}, {3, 1, 1, "other.pem"}},
        {{2, 0, 0, "other.pem"}, {2, 0, 0, "root.pem"}},   {{1, 1, 1, "server.pem"}, {3, 1, 1, "server.pem"}},
        {{1, 1, 1, "server.pem"}, {2, 0, 1, "other.pem"}},
        {{0, 0, 1, "other.pem"}, {1, 0, 1, "server.pem"}},
        {{2, 1, 0, "other.pem"}, {2, 1, 0, "root.pem"}},
    };
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int rest = 0; rest < 4; rest++) {
            struct options options = {TLS1_3_VERSION, rest & 1, rest >> 1, "server.test", 0, 1, SSL_VERIFY_PEER, 0};
            authenticate(pairs[i], 2, options);
        }
}

static void print_errors(void) {
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(error));
    printf("\n");
}

static void print_add(SSL *ssl, int usage, int selector, int matching, const unsigned char *data, size_t length) {
    printf("add %d %d %d, %zu bytes: %d", usage, selector, matching, length,
           SSL_dane_tlsa_add(ssl, usage, selector, matching, data, length));
    CHECK(ERR_peek_error() != 0 || length == 32 || length == 64 || length == 48);
    /* OpenSSL has no memory for a record without data. */
    if (length == 0 && matching == 0)
        ERR_clear_error();
    print_errors();
}

/* What functions return without DANE, and for records that cannot be used. */
static void results(void) {
    static const unsigned char data[64] = {1};
    uint8_t number;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    X509 *certificate = (X509 *)ctx;
    printf("not enabled: authority %d, record %d", SSL_get0_dane_authority(ssl, &certificate, NULL),
           SSL_get0_dane_tlsa(ssl, &number, NULL, NULL, NULL, NULL));
    CHECK(certificate == (X509 *)ctx && ERR_peek_error() == 0);
    print_errors();
    printf("enable: %d", SSL_dane_enable(ssl, "server.test"));
    print_errors();
    print_add(ssl, 3, 1, 1, data, 32);
    CHECK(SSL_CTX_dane_enable(ctx) == 1 && SSL_CTX_dane_enable(ctx) == 1);
    printf("enable with an empty name: %d", SSL_dane_enable(ssl, ""));
    print_errors();
    printf("enable: %d", SSL_dane_enable(ssl, "server.test"));
    print_errors();
    printf("enable again: %d", SSL_dane_enable(ssl, "server.test"));
    print_errors();
    printf("name %s, no records: authority %d, record %d", SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name),
           SSL_get0_dane_authority(ssl, NULL, NULL), SSL_get0_dane_tlsa(ssl, NULL, NULL, NULL, NULL, NULL));
    print_errors();
    for (int usage = 0; usage < 6; usage++)
        for (int selector = 0; selector < 3; selector++)
            for (int matching = 0; matching < 5; matching++)
                for (int length = 0; length <= 64; length += 32)
                    print_add(ssl, usage, selector, matching, data, length);
    print_add(ssl, 3, 1, 255, data, 32);
    print_add(ssl, 3, 1, 1, NULL, 32);
    print_add(ssl, 3, 1, 1, data, (size_t)1 << 40);
    printf("types: %d", SSL_CTX_dane_mtype_set(ctx, EVP_sha256(), 0, 1));
    printf(" %d", SSL_CTX_dane_mtype_set(ctx, NULL, 2, 1));
    printf(" %d", SSL_CTX_dane_mtype_set(ctx, EVP_sha384(), 7, 9));
    print_errors();
    print_add(ssl, 3, 1, 2, data, 64);
    print_add(ssl, 3, 1, 7, data, 48);
    printf("flags: %lx", SSL_dane_set_flags(ssl, 5));
    printf(" %lx", SSL_dane_clear_flags(ssl, 1));
    printf(" %lx", SSL_dane_set_flags(ssl, 0));
    printf(" %lx", SSL_CTX_dane_set_flags(ctx, 6));
    printf(" %lx", SSL_CTX_dane_clear_flags(ctx, 2));
    printf(" %lx", SSL_CTX_dane_set_flags(ctx, 0));
    SSL *other = SSL_new(ctx);
    printf(" %lx\n", SSL_dane_set_flags(other, 0));
    SSL_free(other);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

int main(void) {
    results();
    all();
    levels();
    several();
    return 0;
}
