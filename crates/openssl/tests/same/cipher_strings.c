/* What cipher strings return and select, among the suites that Tercel has, and how the profiles of Suite B restrict
   handshakes. */
#include "../c/test.h"

static const char *const known[] = {
    "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",   "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",   "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
};

/* The same strings select nothing, or one of the known suites, on both libraries. */
static const char *const strings[] = {
    "ALL", "DEFAULT", "HIGH", "FIPS", "FIPS:!AES128", "ALL:!ALL", "RC4", "MEDIUM", "LOW", "EXPORT", "BOGUS", "", ":",
    "ALL:!FIPS", "ALL:!HIGH", "aNULL:!aNULL", "!ALL:ALL", "-ALL:ALL", "ALL:-ALL", "CHACHA20:!CHACHA20",
    "DEFAULT:!CHACHA20", "DEFAULT@SECLEVEL=1", "@SECLEVEL=1", "ALL:@SECLEVEL=9", "ALL:@BOGUS", "ALL:@STRENGTH",
    "ECDHE-ECDSA-AES128-GCM-SHA256:DEFAULT", "!MD5:DEFAULT", "DEFAULTALL", "ECDHE+AESGCM", "ECDHE+BOGUS", "ECDHE+RC4",
    "SUITEB128", "SUITEB128ONLY", "SUITEB192", "SUITEB128C2", "SUITEB128:ALL", "ALL:SUITEB128", "TLSv1.2+FIPS",
    "ALL:+AES256", "TLS_AES_128_GCM_SHA256", "kRSA:!kRSA", "COMPLEMENTOFDEFAULT:!ALL",
};

static const char *const suites[] = {"TLS_AES_128_GCM_SHA256", "", "BOGUS", "TLS_AES_128_GCM_SHA256:BOGUS",
                                     "ECDHE-RSA-AES128-GCM-SHA256", "BOGUS:BOGUS"};

static void print_selected(SSL_CTX *ctx, SSL *ssl) {
    STACK_OF(SSL_CIPHER) *list = ssl != NULL ? SSL_get_ciphers(ssl) : SSL_CTX_get_ciphers(ctx);
    for (int i = 0; i < sk_SSL_CIPHER_num(list); i++)
        for (unsigned j = 0; j < sizeof known / sizeof *known; j++)
            if (strcmp(SSL_CIPHER_get_name(sk_SSL_CIPHER_value(list, i)), known[j]) == 0)
                printf(" %s", known[j]);
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(error));
    printf("\n");
}

static void select_suites(void) {
    for (unsigned i = 0; i < sizeof strings / sizeof *strings; i++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_method());
        SSL *ssl = SSL_new(ctx);
        printf("'%s': %d, level %d,", strings[i], SSL_CTX_set_cipher_list(ctx, strings[i]), SSL_CTX_get_security_level(ctx));
        print_selected(ctx, NULL);
        printf("'%s' on a connection: %d, level %d,", strings[i], SSL_set_cipher_list(ssl, strings[i]),
               SSL_get_security_level(ssl));
        print_selected(ctx, ssl);
        SSL_free(ssl);
        SSL_CTX_free(ctx);
    }
    for (unsigned i = 0; i < sizeof suites / sizeof *suites; i++) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_method());
        printf("suites '%s': %d", suites[i], SSL_CTX_set_ciphersuites(ctx, suites[i]));
        print_selected(ctx, NULL);
        SSL_CTX_free(ctx);
    }
}

/* The handshake of a side with a string, and another one with this certificate and these groups. */
static void suite_b(int version, int on_server, const char *string, int by_flags, const char *certificate,
                    const char *groups) {
    SSL_CTX *client = client_context(version), *server = SSL_CTX_new(TLS_server_method());
    SSL_CTX *limited = on_server ? server : client;
    char name[64];
    CHECK(SSL_CTX_set_min_proto_version(server, version) == 1 && SSL_CTX_set_max_proto_version(server, version) == 1);
    snprintf(name, sizeof name, "%s.pem", certificate);
    CHECK(SSL_CTX_use_certificate_chain_file(server, material(name)) == 1);
    CHECK(SSL_CTX_load_verify_locations(client, material(name), NULL) == 1);
    snprintf(name, sizeof name, "%s.key", certificate);
    CHECK(SSL_CTX_use_PrivateKey_file(server, material(name), SSL_FILETYPE_PEM) == 1);
    if (by_flags)
        SSL_CTX_set_cert_flags(limited, by_flags);
    else
        CHECK(SSL_CTX_set_cipher_list(limited, string) == 1);
    CHECK(SSL_CTX_set1_groups_list(on_server ? client : server, groups) == 1);
    struct pair pair = pair_of(client, server, 1 << 14);
    int done = shake(&pair);
    if (done) {
        long group = SSL_get_negotiated_group(pair.server);
        int bits = SSL_CIPHER_get_bits(SSL_get_current_cipher(pair.server), NULL);
        CHECK(strcmp(certificate, "rsa") != 0);
        CHECK(group == NID_X9_62_prime256v1 || group == NID_secp384r1);
        CHECK(strcmp(string, "SUITEB128ONLY") != 0 || (group == NID_X9_62_prime256v1 && (bits == 128 || version == TLS1_3_VERSION)));
        CHECK(strcmp(string, "SUITEB192") != 0);
    }
    /* In TLS 1.2, OpenSSL ties the group to the suite, and selects another suite without a cipher string. */
    if (version == TLS1_3_VERSION || (!by_flags && strcmp(string, "SUITEB128") != 0))
        printf("version %x, server %d, %s %x, %s, %s: %d\n", version, on_server, string, by_flags, certificate, groups,
               done);
    ERR_clear_error();
    free_pair(&pair);
}

int main(void) {
    static const char *const profiles[] = {"SUITEB128", "SUITEB128ONLY", "SUITEB192"};
    static const int flags[] = {SSL_CERT_FLAG_SUITEB_128_LOS, SSL_CERT_FLAG_SUITEB_128_LOS_ONLY,
                                SSL_CERT_FLAG_SUITEB_192_LOS};
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    static const char *const certificates[] = {"server", "rsa"};
    static const char *const groups[] = {"P-256", "P-384", "X25519", "P-256:X25519:P-384"};
    select_suites();
    for (int version = 0; version < 2; version++)
        for (int on_server = 0; on_server < 2; on_server++)
            for (int profile = 0; profile < 3; profile++)
                for (int by_flags = 0; by_flags < 2; by_flags++)
                    for (int certificate = 0; certificate < 2; certificate++)
                        for (int group = 0; group < 4; group++)
                            suite_b(versions[version], on_server, profiles[profile], by_flags ? flags[profile] : 0,
                                    certificates[certificate], groups[group]);
    return 0;
}
