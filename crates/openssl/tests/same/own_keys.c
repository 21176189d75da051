/* A program's own certificates and keys: private keys in DER and in files for RSA keys, chains that are built when the
   program says so, and names of authorities from folders with other files. Queries for the side and for secrets before
   the handshake, and contexts with property queries. */
#include <sys/stat.h>
#include <unistd.h>

#include "../c/test.h"

/* libcrypto's own errors depend on its decoders, so only those of libssl are shown. */
static void show(const char *what, long result) {
    printf("%s: %ld", what, result);
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) < 1000)
            printf(" {%s}", ERR_reason_error_string(error));
    printf("\n");
}

static int read_der(const char *name, unsigned char *to, int room) {
    BIO *file = BIO_new_file(material(name), "r");
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
    CHECK(key != NULL && i2d_PrivateKey(key, NULL) <= room);
    int length = i2d_PrivateKey(key, &to);
    EVP_PKEY_free(key);
    BIO_free(file);
    return length;
}

static void keys_in_der(SSL_CTX *ctx, SSL *ssl) {
    unsigned char der[4096];
    int length = read_der("rsa.key", der, sizeof der);
    printf("RSA: %d %d\n", SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_RSA, ctx, der, length),
           SSL_use_PrivateKey_ASN1(EVP_PKEY_RSA, ssl, der, length));
    printf("of the current identity: %d %d\n", EVP_PKEY_get_base_id(SSL_CTX_get0_privatekey(ctx)) == EVP_PKEY_RSA,
           EVP_PKEY_get_base_id(SSL_get_privatekey(ssl)) == EVP_PKEY_RSA);
    printf("as EC: %d\n", SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_EC, ctx, der, length));
    printf("malformed: %d %d\n", SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_RSA, ctx, der, 3),
           SSL_use_PrivateKey_ASN1(EVP_PKEY_RSA, ssl, der, 3));
    length = read_der("server.key", der, sizeof der);
    printf("EC: %d %d\n", SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_EC, ctx, der, length),
           SSL_use_PrivateKey_ASN1(EVP_PKEY_EC, ssl, der, length));
    printf("files for RSA keys: %d %d\n",
           SSL_CTX_use_RSAPrivateKey_file(ctx, material("rsa.key"), SSL_FILETYPE_PEM),
           SSL_use_RSAPrivateKey_file(ssl, material("rsa.key"), SSL_FILETYPE_PEM));
    printf("with another key: %d %d\n",
           SSL_CTX_use_RSAPrivateKey_file(ctx, material("server.key"), SSL_FILETYPE_PEM),
           SSL_use_RSAPrivateKey_file(ssl, material("server.key"), SSL_FILETYPE_PEM));
    length = read_der("rsa.key", der, sizeof der);
    EVP_PKEY *key = read_key("rsa.key");
    RSA *rsa = EVP_PKEY_get1_RSA(key);
    printf("RSA keys: %d %d %d %d\n", SSL_CTX_use_RSAPrivateKey_ASN1(ctx, der, length),
           SSL_use_RSAPrivateKey_ASN1(ssl, der, length), SSL_CTX_use_RSAPrivateKey(ctx, rsa),
           SSL_use_RSAPrivateKey(ssl, rsa));
    printf("same: %d %d\n", EVP_PKEY_get0_RSA(SSL_CTX_get0_privatekey(ctx)) == rsa,
           EVP_PKEY_get0_RSA(SSL_get_privatekey(ssl)) == rsa);
    printf("none: %d %d %d %d\n", SSL_CTX_use_RSAPrivateKey(ctx, NULL), SSL_use_RSAPrivateKey(ssl, NULL),
           SSL_CTX_use_RSAPrivateKey_ASN1(ctx, der, 3), SSL_use_RSAPrivateKey_ASN1(ssl, der, 3));
    RSA_free(rsa);
    EVP_PKEY_free(key);
    ERR_clear_error();
}

/* An empty list may be NULL. */
static int count(STACK_OF(X509) *list) {
    return list == NULL ? 0 : sk_X509_num(list);
}

static void chain(const char *leaf, const char *root, const char *intermediate, int flags) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    CHECK(SSL_CTX_use_certificate_file(ctx, material(leaf), SSL_FILETYPE_PEM) == 1);
    if (root != NULL)
        CHECK(SSL_CTX_load_verify_file(ctx, material(root)) == 1);
    if (intermediate != NULL) {
        BIO *file = BIO_new_file(material(intermediate), "r");
        CHECK(SSL_CTX_add0_chain_cert(ctx, PEM_read_bio_X509(file, NULL, NULL, NULL)) == 1);
        BIO_free(file);
    }
    SSL *ssl = SSL_new(ctx);
    STACK_OF(X509) *of_context = NULL, *of_connection = NULL;
    long result = SSL_CTX_build_cert_chain(ctx, flags);
    SSL_CTX_get0_chain_certs(ctx, &of_context);
    printf("%s, %s, %s, flags %d: %d certificates, ", leaf, root, intermediate, flags, count(of_context));
    show("result", result);
    result = SSL_build_cert_chain(ssl, flags);
    SSL_get0_chain_certs(ssl, &of_connection);
    printf("    on the connection: %d certificates, ", count(of_connection));
    show("result", result);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

static void chains(SSL_CTX *empty) {
    show("a chain of no certificate", SSL_CTX_build_cert_chain(empty, 0));
    for (int flags = 0; flags < 32; flags++) {
        chain("server.pem", "root.pem", NULL, flags);
        chain("server.pem", "other.pem", NULL, flags);
        chain("server.pem", NULL, "root.pem", flags);
        chain("rsa.pem", NULL, NULL, flags);
    }
}

static void authorities(void) {
    char folder[] = "/tmp/names-XXXXXX", path[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/README", folder);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("The certificates of this folder.\n", file) > 0 && fclose(file) == 0);
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    show("a folder without certificates", SSL_add_dir_cert_subjects_to_stack(names, folder));
    show("a file without certificates", SSL_add_file_cert_subjects_to_stack(names, path));
    show("a file that does not exist", SSL_add_file_cert_subjects_to_stack(names, "/no/file"));
    show("a file", SSL_add_file_cert_subjects_to_stack(names, material("root.pem")));
    /* OpenSSL's error is one of PEM. */
    printf("the list of a file without certificates: %d\n", SSL_load_client_CA_file(path) != NULL);
    ERR_clear_error();
    printf("%d names\n", sk_X509_NAME_num(names));
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

static void queries(void) {
    static const char *const all[] = {
        "",           "provider!=fips",         "provider=default", "provider='default'", "fips=no",
        "fips!=yes",  "fips=yes",               "fips",             "provider=fips",      "provider!=default",
        "?fips=yes",  "provider=default,fips",  "x!=y",             "x=y",                "-fips",
        "fips != no", " provider = default  ",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        SSL_CTX *ctx = SSL_CTX_new_ex(NULL, all[i], TLS_method());
        printf("\"%s\": %d\n", all[i], ctx != NULL);
        SSL_CTX_free(ctx);
        ERR_clear_error();
    }
}

int main(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx);
    unsigned char secret[16];
    printf("is a server: %d\n", SSL_is_server(ssl));
    show("a secret before the handshake",
         SSL_export_keying_material(ssl, secret, sizeof secret, "label", 5, NULL, 0, 0));
    chains(ctx);
    keys_in_der(ctx, ssl);
    authorities();
    queries();
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return 0;
}
