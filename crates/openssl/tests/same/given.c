/* The program uses an object after it has passed it on by a set0 function, as long as the owner exists. AddressSanitizer
   finds an object that was freed too early, or not at all. Selecting a protocol from empty lists. */
#include <openssl/ct.h>

#include "../c/test.h"

static EVP_PKEY *parameters(void) {
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_DH, NULL);
    EVP_PKEY *key = NULL;
    CHECK(EVP_PKEY_paramgen_init(ctx) == 1 && EVP_PKEY_CTX_set_dh_nid(ctx, NID_ffdhe2048) == 1);
    CHECK(EVP_PKEY_paramgen(ctx, &key) == 1);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static void temporary_keys(SSL_CTX *ctx, SSL *ssl) {
    for (int turn = 0; turn < 2; turn++) {
        EVP_PKEY *of_context = parameters(), *of_connection = parameters();
        CHECK(SSL_CTX_set0_tmp_dh_pkey(ctx, of_context) == 1 && SSL_set0_tmp_dh_pkey(ssl, of_connection) == 1);
        /* As Ruby, which counts a reference afterwards. */
        CHECK(EVP_PKEY_up_ref(of_context) == 1);
        printf("parameters of %d and %d bits\n", EVP_PKEY_get_bits(of_context), EVP_PKEY_get_bits(of_connection));
        EVP_PKEY_free(of_context);
    }
}

static STACK_OF(X509_NAME) *names(void) {
    STACK_OF(X509_NAME) *list = SSL_load_client_CA_file(material("root.pem"));
    CHECK(list != NULL);
    return list;
}

static void authorities(SSL_CTX *ctx, SSL *ssl) {
    STACK_OF(X509_NAME) *list = names(), *other = names();
    SSL_CTX_set_client_CA_list(ctx, list);
    printf("client CA list of the context: same %d, %d\n", SSL_CTX_get_client_CA_list(ctx) == list,
           sk_X509_NAME_num(list));
    SSL_set_client_CA_list(ssl, other);
    printf("client CA list of the connection: same %d, %d\n", SSL_get_client_CA_list(ssl) == other,
           sk_X509_NAME_num(other));
    SSL_set_client_CA_list(ssl, names());
    SSL_CTX_set_client_CA_list(ctx, names());
    list = names(), other = names();
    SSL_CTX_set0_CA_list(ctx, list);
    SSL_set0_CA_list(ssl, other);
    printf("CA lists: same %d and %d, %d and %d\n", SSL_CTX_get0_CA_list(ctx) == list,
           SSL_get0_CA_list(ssl) == other, sk_X509_NAME_num(list), sk_X509_NAME_num(other));
    SSL_CTX_set0_CA_list(ctx, NULL);
    SSL_set0_CA_list(ssl, NULL);
}

static void chains(SSL_CTX *ctx, SSL *ssl) {
    for (int turn = 0; turn < 2; turn++) {
        STACK_OF(X509) *chain = sk_X509_new_null(), *other = sk_X509_new_null(), *got = NULL;
        X509 *extra = read_certificate("root.pem"), *added = read_certificate("root.pem");
        CHECK(sk_X509_push(chain, read_certificate("root.pem")) == 1);
        CHECK(sk_X509_push(other, read_certificate("root.pem")) == 1);
        CHECK(SSL_CTX_set0_chain(ctx, chain) == 1 && SSL_set0_chain(ssl, other) == 1);
        CHECK(SSL_CTX_get0_chain_certs(ctx, &got) == 1);
        printf("chain of the context: same %d, %d\n", got == chain, sk_X509_num(chain));
        CHECK(SSL_get0_chain_certs(ssl, &got) == 1);
        printf("chain of the connection: same %d, %d\n", got == other, sk_X509_num(other));
        CHECK(SSL_CTX_add0_chain_cert(ctx, added) == 1 && SSL_CTX_add_extra_chain_cert(ctx, extra) == 1);
        printf("certificates: %d %d\n", X509_get_version(extra) == 2, X509_get_version(added) == 2);
    }
}

static void stores(SSL_CTX *ctx, SSL *ssl) {
    for (int turn = 0; turn < 2; turn++) {
        X509_STORE *lists[5];
        for (int i = 0; i < 5; i++)
            CHECK((lists[i] = X509_STORE_new()) != NULL);
        SSL_CTX_set_cert_store(ctx, lists[0]);
        CHECK(SSL_CTX_set0_verify_cert_store(ctx, lists[1]) == 1 && SSL_CTX_set0_chain_cert_store(ctx, lists[2]) == 1);
        CHECK(SSL_set0_verify_cert_store(ssl, lists[3]) == 1 && SSL_set0_chain_cert_store(ssl, lists[4]) == 1);
        for (int i = 0; i < 5; i++)
            CHECK(X509_STORE_set_flags(lists[i], X509_V_FLAG_PARTIAL_CHAIN) == 1);
        printf("store: same %d\n", SSL_CTX_get_cert_store(ctx) == lists[0]);
    }
}

static void bios(SSL *ssl) {
    for (int turn = 0; turn < 2; turn++) {
        BIO *input = BIO_new(BIO_s_mem()), *output = BIO_new(BIO_s_mem());
        SSL_set0_rbio(ssl, input);
        SSL_set0_wbio(ssl, output);
        printf("BIOs: %d %d\n", BIO_pending(input), BIO_pending(output));
    }
}

static void others(SSL_CTX *ctx, SSL *ssl) {
    int data[2];
    SSL_CTX_set0_security_ex_data(ctx, &data[0]);
    SSL_set0_security_ex_data(ssl, &data[1]);
    printf("security data: %d %d\n", SSL_CTX_get0_security_ex_data(ctx) == &data[0],
           SSL_get0_security_ex_data(ssl) == &data[1]);
    for (int turn = 0; turn < 2; turn++) {
        CTLOG_STORE *logs = CTLOG_STORE_new();
        SSL_CTX_set0_ctlog_store(ctx, logs);
        printf("logs: same %d\n", SSL_CTX_get0_ctlog_store(ctx) == logs);
    }
    CHECK(CTLOG_STORE_get0_log_by_id(SSL_CTX_get0_ctlog_store(ctx), (const uint8_t *)"", 0) == NULL);
    STACK_OF(SSL_COMP) *methods = (STACK_OF(SSL_COMP) *)OPENSSL_sk_new_null(), *old;
    old = SSL_COMP_set0_compression_methods(methods);
    printf("methods: same %d\n", SSL_COMP_get_compression_methods() == methods);
    printf("methods before: same %d\n", SSL_COMP_set0_compression_methods(old) == methods);
    OPENSSL_sk_free((OPENSSL_STACK *)methods);
}

static void select_protocol(const char *name, const char *server, unsigned int server_length, const char *client,
                            unsigned int client_length) {
    unsigned char *out = (unsigned char *)name, length = 77;
    int result = SSL_select_next_proto(&out, &length, (const unsigned char *)server, server_length,
                                       (const unsigned char *)client, client_length);
    printf("%s: %d, length %d, %s", name, result, length, out == NULL ? "NULL" : "");
    if (out != NULL)
        printf("%.*s of the %s", length, out,
               server != NULL && (const char *)out >= server && (const char *)out < server + server_length ? "server"
                                                                                                            : "client");
    printf("\n");
}

int main(void) {
    SSL_CTX *ctx = server_context(0);
    SSL *ssl = SSL_new(ctx);
    temporary_keys(ctx, ssl);
    authorities(ctx, ssl);
    chains(ctx, ssl);
    stores(ctx, ssl);
    bios(ssl);
    others(ctx, ssl);
    SSL_CTX_free(ctx);
    SSL_free(ssl);

    const char both[] = "\2h2\3abc", other[] = "\3xyz\3abc", none[] = "\0", before[] = "\0\2h2", cut[] = "\2h2\7ab";
    select_protocol("both", both, 7, other, 8);
    select_protocol("no overlap", both, 3, other, 8);
    select_protocol("no server", both, 0, other, 8);
    select_protocol("NULL server", NULL, 0, other, 8);
    select_protocol("no client", both, 7, other, 0);
    select_protocol("NULL client", both, 7, NULL, 0);
    select_protocol("neither", NULL, 0, NULL, 0);
    select_protocol("empty name of the client", both, 7, none, 1);
    select_protocol("empty name before another of the client", both, 7, before, 4);
    select_protocol("empty name before another of the server", before, 4, both, 7);
    select_protocol("cut list of the client", both, 7, cut, 6);
    select_protocol("cut list of the server", cut, 6, other, 8);
    select_protocol("cut name of the client", both, 7, cut, 2);
    CHECK(ERR_peek_error() == 0);
    return 0;
}
