/* Settings whose values an application could believe to be in use: which values are accepted, and their effect. */
#include <openssl/ct.h>
#include <unistd.h>

#include "../c/test.h"

/* Shows a result, and which libraries have added errors. */
static void show(const char *what, long result) {
    printf("%s: %ld", what, result);
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(" {%d}", ERR_GET_LIB(error));
    printf("\n");
}

#define SHOW(call) show(#call, (long)(call))

/* Values that set nothing, and those that OpenSSL refuses, too. */
static void values(SSL_CTX *ctx, SSL *ssl) {
    SHOW(SSL_CTX_set_tlsext_max_fragment_length(ctx, TLSEXT_max_fragment_length_DISABLED));
    SHOW(SSL_set_tlsext_max_fragment_length(ssl, TLSEXT_max_fragment_length_DISABLED));
    SHOW(SSL_CTX_set_tlsext_max_fragment_length(ctx, 5));
    SHOW(SSL_set_tlsext_max_fragment_length(ssl, 5));
    SHOW(SSL_CTX_use_psk_identity_hint(ctx, NULL));
    SHOW(SSL_use_psk_identity_hint(ssl, NULL));
    SHOW(SSL_CTX_set_srp_username(ctx, NULL));
    SHOW(SSL_CTX_set_srp_username(ctx, ""));
    SHOW(SSL_CTX_set_srp_username_callback(ctx, NULL));
    SHOW(SSL_CTX_set_srp_verify_param_callback(ctx, NULL));
    SHOW(SSL_CTX_set_srp_client_pwd_callback(ctx, NULL));
    SHOW(SSL_set_session_secret_cb(ssl, NULL, NULL));
    SHOW(SSL_set_session_ticket_ext_cb(ssl, NULL, NULL));
    SHOW(SSL_CTX_set_generate_session_id(ctx, NULL));
    SHOW(SSL_set_generate_session_id(ssl, NULL));
    SHOW(SSL_CTX_set_ct_validation_callback(ctx, NULL, NULL));
    SHOW(SSL_set_ct_validation_callback(ssl, NULL, NULL));
    SHOW(SSL_CTX_enable_ct(ctx, 7));
    SHOW(SSL_set_record_padding_callback(ssl, NULL));
    SHOW(SSL_CTX_set_mode(ctx, -1L));
    SHOW(SSL_CTX_clear_mode(ctx, -1L));
    SHOW(SSL_set_tlsext_status_exts(ssl, NULL));
    SHOW(SSL_set_tlsext_status_ids(ssl, NULL));
    SHOW(SSL_CTX_set1_client_certificate_types(ctx, NULL, 0));
    SHOW(SSL_set1_client_certificate_types(ssl, NULL, 0));
    static const char *const names[] = {"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "bogus", NULL};
    for (int i = 0; i < 4; i++)
        printf("%s is %s\n", names[i], OPENSSL_cipher_name(names[i]));
}

/* Which libraries add errors to results. */
static void errors(SSL_CTX *ctx, SSL *ssl) {
    unsigned char keys[80] = {0};
    SHOW(SSL_add1_host(ssl, "one.test"));
    /* OpenSSL leaves an error for the first address. */
    printf("the first address: %d\n", SSL_add1_host(ssl, "127.0.0.1"));
    ERR_clear_error();
    SHOW(SSL_add1_host(ssl, "127.0.0.2"));
    SHOW(SSL_set1_host(ssl, "other.test"));
    SHOW(SSL_CTX_set_tlsext_ticket_keys(ctx, NULL, 5));
    SHOW(SSL_CTX_set_tlsext_ticket_keys(ctx, keys, 5));
    SHOW(SSL_CTX_get_tlsext_ticket_keys(ctx, keys, 5));
    SHOW(SSL_CTX_set_tlsext_ticket_keys(ctx, keys, 80));
    SHOW(SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, 1, "name"));
}

static void extended_main_secret(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    SHOW(SSL_get_extms_support(pair.client));
    CHECK(shake(&pair));
    printf("%x: %ld %ld\n", version, SSL_get_extms_support(pair.client), SSL_get_extms_support(pair.server));
    free_pair(&pair);
}

static void pipelines(SSL_CTX *ctx, SSL *ssl) {
    static const long lengths[] = {-1, 0, 1, 511, 1000, 1001, 16384, 16385};
    static const long counts[] = {-1, 0, 1, 2, 32, 33};
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 8; i++)
            printf("split %ld: %ld %ld\n", lengths[i], SSL_CTX_set_split_send_fragment(ctx, lengths[i]),
                   SSL_set_split_send_fragment(ssl, lengths[i]));
        SHOW(SSL_CTX_set_max_send_fragment(ctx, 1000));
        SHOW(SSL_set_max_send_fragment(ssl, 1000));
    }
    for (int i = 0; i < 6; i++)
        printf("pipelines %ld: %ld %ld\n", counts[i], SSL_CTX_set_max_pipelines(ctx, counts[i]),
               SSL_set_max_pipelines(ssl, counts[i]));
}

/* The length of the record with as many bytes. */
static int record_length(SSL *from, SSL *to, int length) {
    char data[1000] = {0};
    CHECK(SSL_write(from, data, length) == length);
    int sealed = (int)BIO_pending(SSL_get_rbio(to));
    read_exactly(to, data, length);
    return sealed;
}

static void padding(int version, int by_conf) {
    struct pair pair = new_pair(version, 1 << 14);
    static const size_t sizes[] = {0, 1, 2, 16385};
    for (int i = 0; i < 4; i++)
        printf("block of %zu: %d %d\n", sizes[i], SSL_CTX_set_block_padding(pair.server_ctx, sizes[i]),
               SSL_set_block_padding(pair.client, sizes[i]));
    if (by_conf) {
        SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
        SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_CLIENT);
        SSL_CONF_CTX_set_ssl(conf, pair.client);
        SHOW(SSL_CONF_cmd(conf, "RecordPadding", "512"));
        SSL_CONF_CTX_free(conf);
    } else
        SHOW(SSL_set_block_padding(pair.client, 512));
    CHECK(shake(&pair));
    char byte;
    SSL_read(pair.client, &byte, 1);
    int lengths[] = {record_length(pair.client, pair.server, 1), record_length(pair.client, pair.server, 300),
                     record_length(pair.client, pair.server, 600)};
    printf("%x: 1 and 300 bytes have equal lengths %d, 600 bytes have 512 more %d\n", version, lengths[0] == lengths[1],
           lengths[0] + 512 == lengths[2]);
    free_pair(&pair);
}

static void logs(SSL_CTX *ctx) {
    unsigned char *der = NULL, id[32];
    BIO *file = BIO_new_file(material("server.key"), "r");
    EVP_PKEY *key = PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
    BIO_free(file);
    int length = i2d_PUBKEY(key, &der);
    char encoded[512], path[] = "/tmp/logs-XXXXXX";
    CHECK(length > 0 && EVP_EncodeBlock((unsigned char *)encoded, der, length) < (int)sizeof encoded);
    CHECK(EVP_Digest(der, length, id, NULL, EVP_sha256(), NULL) == 1);
    OPENSSL_free(der);
    EVP_PKEY_free(key);
    int descriptor = mkstemp(path);
    CHECK(descriptor >= 0);
    dprintf(descriptor, "enabled_logs = one\n[one]\ndescription = The log\nkey = %s\n", encoded);
    close(descriptor);
    SHOW(SSL_CTX_get0_ctlog_store(ctx) != NULL);
    SHOW(SSL_CTX_set_ctlog_list_file(ctx, "/no/file"));
    SHOW(SSL_CTX_set_ctlog_list_file(ctx, path));
    const CTLOG *found = CTLOG_STORE_get0_log_by_id(SSL_CTX_get0_ctlog_store(ctx), id, sizeof id);
    printf("%s\n", found == NULL ? "no log" : CTLOG_get0_name(found));
    CHECK(unlink(path) == 0);
    setenv("CTLOG_FILE", "/no/file", 1);
    SHOW(SSL_CTX_set_default_ctlog_list_file(ctx));
}

/* A certificate, its key and its chain at once, with and without the right to replace others. */
static void certificates(void) {
    X509 *first = read_certificate("server.pem"), *other = read_certificate("client.pem");
    EVP_PKEY *key = read_key("server.key"), *other_key = read_key("client.key");
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx), *copy = SSL_new(ctx);
    SHOW(SSL_CTX_use_cert_and_key(ctx, first, other_key, NULL, 0));
    SHOW(SSL_CTX_use_cert_and_key(ctx, first, key, NULL, 0));
    SHOW(SSL_CTX_use_cert_and_key(ctx, other, other_key, NULL, 0));
    SHOW(SSL_CTX_get0_certificate(ctx) == first);
    SHOW(SSL_CTX_use_cert_and_key(ctx, other, other_key, NULL, 1));
    SHOW(SSL_CTX_get0_certificate(ctx) == other);
    SHOW(SSL_use_PrivateKey(ssl, key));
    SHOW(SSL_use_cert_and_key(ssl, first, key, NULL, 0));
    SHOW(SSL_use_cert_and_key(ssl, first, key, NULL, 1));
    /* A connection takes over what another one has. */
    SHOW(SSL_set_session_id_context(ssl, (const unsigned char *)"context", 7));
    SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    SHOW(SSL_copy_session_id(copy, ssl));
    SHOW(SSL_get_certificate(copy) == first);
    SHOW(SSL_get_privatekey(copy) == key);
    SHOW(SSL_get_verify_mode(copy));
    SSL_free(copy);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    X509_free(first);
    X509_free(other);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other_key);
}

static SSL *owner;

static void freed(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number, void *argument) {
    (void)parent, (void)all, (void)index, (void)number, (void)argument;
    if (data != NULL)
        printf("freed while another certificate is there: %d\n", SSL_get_certificate(owner) != NULL);
}

/* The end of a certificate is reported to the application, which uses the connection. */
static void ends(void) {
    int index = X509_get_ex_new_index(0, NULL, NULL, NULL, freed);
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    owner = SSL_new(ctx);
    X509 *certificate = read_certificate("server.pem");
    CHECK(SSL_use_certificate(owner, certificate) == 1 && X509_set_ex_data(certificate, index, owner) == 1);
    X509_free(certificate);
    SHOW(SSL_use_certificate_file(owner, material("client.pem"), SSL_FILETYPE_PEM));
    SSL_free(owner);
    SSL_CTX_free(ctx);
}

static void versions(void) {
    for (int limits = 0; limits < 2; limits++) {
        SSL_CTX *client_ctx = client_context(0);
        if (limits)
            CHECK(SSL_CTX_set_min_proto_version(client_ctx, TLS1_3_VERSION) == 1);
        SHOW(SSL_CTX_set_ssl_version(client_ctx, TLSv1_2_client_method()));
        struct pair pair = pair_of(client_ctx, server_context(0), 1 << 14);
        printf("before: %x, ", SSL_version(pair.client));
        int done = shake(&pair);
        printf("handshake %d with %x\n", done, SSL_version(pair.client));
        ERR_clear_error();
        free_pair(&pair);
    }
    /* The limits remain if the method changes. */
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SHOW(SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION));
    SHOW(SSL_CTX_set_ssl_version(ctx, TLS_client_method()));
    SHOW(SSL_CTX_get_min_proto_version(ctx));
    SSL_CTX_free(ctx);
}

static void shutdown_flags(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    char byte;
    CHECK(shake(&pair));
    SHOW(SSL_shutdown(pair.server));
    SHOW(SSL_read(pair.client, &byte, 1));
    SHOW(SSL_get_shutdown(pair.client));
    SSL_set_shutdown(pair.client, 0);
    SHOW(SSL_get_shutdown(pair.client));
    SSL_set_shutdown(pair.server, SSL_RECEIVED_SHUTDOWN);
    SHOW(SSL_get_shutdown(pair.server));
    drop_pair(&pair);
}

static int names_received;

static int count_names(SSL *ssl, void *argument) {
    (void)argument;
    names_received = sk_X509_NAME_num(SSL_get0_peer_CA_list(ssl));
    return 1;
}

/* The names of authorities in requests for certificates. */
static void authorities(int version, int disabled) {
    struct pair pair = new_pair(version, 1 << 14);
    if (disabled)
        SSL_set_options(pair.server, SSL_OP_DISABLE_TLSEXT_CA_NAMES);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER, NULL);
    SSL_set_client_CA_list(pair.server, SSL_load_client_CA_file(material("root.pem")));
    SSL_set_cert_cb(pair.client, count_names, NULL);
    names_received = -2;
    CHECK(shake(&pair));
    printf("%x, disabled %d: %d names\n", version, disabled, names_received > 0 ? names_received : 0);
    free_pair(&pair);
}

/* The suite of a server that prefers ChaCha20 for clients that do. */
static void chacha(int version, int prefers, const char *suites13, const char *suites12) {
    struct pair pair = new_pair(version, 1 << 14);
    SSL_set_options(pair.server, SSL_OP_CIPHER_SERVER_PREFERENCE | (prefers ? SSL_OP_PRIORITIZE_CHACHA : 0));
    CHECK(SSL_set_ciphersuites(pair.client, suites13) == 1 && SSL_set_cipher_list(pair.client, suites12) == 1);
    CHECK(shake(&pair));
    printf("%x, %d, %s, %s: %s\n", version, prefers, suites13, suites12, SSL_get_cipher_name(pair.client));
    free_pair(&pair);
}

static int calls;

static int refuse_session(SSL *ssl, int is_forward_secure) {
    (void)ssl, (void)is_forward_secure;
    calls++;
    return 1;
}

/* The callback that is set by number. */
static void not_resumable(int version, int of_context) {
    void (*callback)(void) = (void (*)(void))refuse_session;
    SSL_CTX *server_ctx = server_context(version);
    long result = 0;
    calls = 0;
    if (of_context)
        result = SSL_CTX_callback_ctrl(server_ctx, SSL_CTRL_SET_NOT_RESUMABLE_SESS_CB, callback);
    struct pair pair = pair_of(client_context(version), server_ctx, 1 << 14);
    if (!of_context)
        result = SSL_callback_ctrl(pair.server, SSL_CTRL_SET_NOT_RESUMABLE_SESS_CB, callback);
    CHECK(shake(&pair));
    printf("%x, %d: %ld, called %d\n", version, of_context, result, calls > 0);
    free_pair(&pair);
}

static void requests_once(int once) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    permit_late_authentication(&pair);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE | (once ? SSL_VERIFY_CLIENT_ONCE : 0), NULL);
    CHECK(shake(&pair));
    for (int i = 0; i < 2; i++) {
        char byte;
        SHOW(SSL_verify_client_post_handshake(pair.server));
        CHECK(SSL_do_handshake(pair.server) == 1);
        SSL_read(pair.client, &byte, 1);
        SSL_read(pair.server, &byte, 1);
        SHOW(SSL_get0_peer_certificate(pair.server) != NULL);
    }
    free_pair(&pair);
    /* A request in the handshake counts. */
    pair = new_pair(TLS1_3_VERSION, 1 << 14);
    permit_late_authentication(&pair);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | (once ? SSL_VERIFY_CLIENT_ONCE : 0), NULL);
    CHECK(shake(&pair));
    SHOW(SSL_verify_client_post_handshake(pair.server));
    free_pair(&pair);
}

/* Each context has its own table of sessions. */
static void tables(SSL_CTX *ctx) {
    SSL_CTX *other = SSL_CTX_new(TLS_method());
    SHOW(SSL_CTX_sessions(ctx) != NULL && SSL_CTX_sessions(ctx) == SSL_CTX_sessions(ctx));
    SHOW(SSL_CTX_sessions(ctx) == SSL_CTX_sessions(other));
    SHOW(OPENSSL_LH_num_items((OPENSSL_LHASH *)SSL_CTX_sessions(ctx)));
    SSL_CTX_free(other);
}

/* Without an engine there are no jobs that wait. */
static void jobs(int has_mode) {
    struct pair pair = new_pair(0, 1 << 14);
    OSSL_ASYNC_FD descriptors[2];
    if (has_mode)
        SSL_set_mode(pair.server, SSL_MODE_ASYNC);
    for (int turn = 0; turn < 2; turn++) {
        size_t count = 77, other = 77;
        int status = 77;
        SHOW(SSL_get_all_async_fds(pair.server, NULL, &count));
        SHOW(count);
        count = 77;
        SHOW(SSL_get_all_async_fds(pair.server, descriptors, &count));
        SHOW(SSL_get_changed_async_fds(pair.server, NULL, &count, NULL, &other));
        SHOW(count);
        SHOW(other);
        SHOW(SSL_get_async_status(pair.server, &status));
        SHOW(status);
        SHOW(SSL_waiting_for_async(pair.server));
        SHOW(ERR_peek_error());
        CHECK(shake(&pair));
    }
    free_pair(&pair);
}

int main(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx);
    values(ctx, ssl);
    pipelines(ctx, ssl);
    errors(ctx, ssl);
    logs(ctx);
    tables(ctx);
    jobs(0);
    jobs(1);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    certificates();
    ends();
    versions();
    shutdown_flags();
    static const int both[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        extended_main_secret(both[i]);
        padding(both[i], 0);
        padding(both[i], 1);
        for (int j = 0; j < 2; j++) {
            authorities(both[i], j);
            not_resumable(both[i], j);
            chacha(both[i], j, "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384",
                   "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384");
            chacha(both[i], j, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256",
                   "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305");
        }
    }
    requests_once(0);
    requests_once(1);
    return 0;
}
