/* Resumption: sessions that a client receives, their encoding, and two threads on one context. */
#include "test.h"
#include <pthread.h>

static SSL_SESSION *newest;
static int received;

static int on_new(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    received++;
    SSL_SESSION_free(newest);
    newest = session;
    return 1;
}

static void resumption(int version) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    char text[4];
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, on_new);
    newest = NULL;
    received = 0;
    for (int turn = 0; turn < 3; turn++) {
        SSL_CTX_up_ref(server_ctx);
        SSL_CTX_up_ref(client_ctx);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        if (newest != NULL) {
            /* The encoding is decoded to an equal session. */
            int length = i2d_SSL_SESSION(newest, NULL);
            unsigned char *bytes = malloc(length), *to = bytes;
            CHECK(i2d_SSL_SESSION(newest, &to) == length && to == bytes + length);
            const unsigned char *from = bytes;
            SSL_SESSION *decoded = d2i_SSL_SESSION(NULL, &from, length);
            CHECK(decoded != NULL && from == bytes + length);
            CHECK(SSL_SESSION_is_resumable(decoded) == 1);
            CHECK(SSL_set_session(pair.client, decoded) == 1);
            SSL_SESSION_free(decoded);
            free(bytes);
        }
        CHECK(shake(&pair));
        CHECK(SSL_session_reused(pair.client) == (turn > 0));
        CHECK(SSL_session_reused(pair.server) == (turn > 0));
        CHECK(SSL_get_verify_result(pair.client) == X509_V_OK);
        CHECK(SSL_get0_peer_certificate(pair.client) != NULL);
        CHECK(SSL_write(pair.server, "data", 4) == 4);
        read_exactly(pair.client, text, 4);
        CHECK(SSL_get_session(pair.client) != NULL);
        free_pair(&pair);
    }
    CHECK(received >= (version == TLS1_3_VERSION ? 3 : 1));
    unsigned char garbage[] = {0x30, 3, 2, 1, 1};
    const unsigned char *from = garbage;
    CHECK(d2i_SSL_SESSION(NULL, &from, sizeof garbage) == NULL && ERR_get_error() != 0);
    SSL_SESSION_free(newest);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    CHECK(ERR_peek_error() == 0);
}

static int accept_all(int ok, X509_STORE_CTX *store) {
    (void)ok, (void)store;
    return 1;
}

/* The result of the verification of a client whose chain the program accepts anyway is in its sessions, also in those
   of resumed connections. */
static void untrusted_client(int version) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    char text[4];
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, accept_all);
    /* The server trusts no authority. */
    SSL_CTX_set_cert_store(server_ctx, X509_STORE_new());
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, on_new);
    newest = NULL;
    for (int turn = 0; turn < 3; turn++) {
        SSL_CTX_up_ref(server_ctx);
        SSL_CTX_up_ref(client_ctx);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        if (newest != NULL)
            CHECK(SSL_set_session(pair.client, newest) == 1);
        CHECK(shake(&pair));
        CHECK(SSL_session_reused(pair.server) == (turn > 0));
        CHECK(SSL_get_verify_result(pair.server) == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
        CHECK(SSL_get0_peer_certificate(pair.server) != NULL);
        CHECK(SSL_write(pair.server, "data", 4) == 4);
        read_exactly(pair.client, text, 4);
        free_pair(&pair);
    }
    SSL_SESSION_free(newest);
    newest = NULL;
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
    ERR_clear_error();
}

static int refuses;

static int accept_or_refuse(int ok, X509_STORE_CTX *store) {
    (void)ok, (void)store;
    return !refuses;
}

/* A session whose client is not trusted any more is not resumed, and leaves nothing in the handshake after it. */
static void refused_session(int version) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    SSL_CTX *other_ctx = client_context(version);
    char text[4];
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, accept_or_refuse);
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(client_ctx, on_new);
    newest = NULL;
    for (refuses = 0; refuses < 2; refuses++) {
        SSL_CTX_up_ref(server_ctx);
        struct pair pair = pair_of(refuses ? other_ctx : client_ctx, server_ctx, 1 << 14);
        if (newest != NULL)
            CHECK(SSL_set_session(pair.client, newest) == 1);
        CHECK(shake(&pair));
        CHECK(SSL_session_reused(pair.server) == 0);
        CHECK((SSL_get0_peer_certificate(pair.server) != NULL) == !refuses);
        CHECK((SSL_get0_verified_chain(pair.server) != NULL) == !refuses);
        if (refuses)
            CHECK(SSL_get_verify_result(pair.server) == X509_V_OK);
        CHECK(SSL_write(pair.server, "data", 4) == 4);
        read_exactly(pair.client, text, 4);
        free_pair(&pair);
    }
    SSL_SESSION_free(newest);
    newest = NULL;
    SSL_CTX_free(server_ctx);
    ERR_clear_error();
}

static int index_of_freed, freed;

static void on_free(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
    (void)pointer, (void)data, (void)index, (void)argl, (void)argp;
    /* The object is at its end: for other functions it does not exist, and is not freed again. */
    SSL_get_ex_data(parent, index_of_freed);
    freed++;
}

static void use_while_freeing(void) {
    index_of_freed = SSL_get_ex_new_index(0, NULL, NULL, NULL, on_free);
    struct pair pair = new_pair(0, 1 << 14);
    freed = 0;
    free_pair(&pair);
    CHECK(freed == 2);
    ERR_clear_error();
}

static SSL_CTX *changing;

static void on_free_certificate(void *parent, void *pointer, CRYPTO_EX_DATA *data, int index, long argl, void *argp) {
    (void)parent, (void)data, (void)index, (void)argl, (void)argp;
    if (pointer != NULL) {
        SSL_CTX_set_options(changing, SSL_OP_NO_TICKET);
        CHECK(SSL_CTX_get_cert_store(changing) != NULL);
        freed++;
    }
}

/* Freeing what a context had calls a function that uses the context. */
static void use_while_changing(void) {
    int index = X509_get_ex_new_index(0, NULL, NULL, NULL, on_free_certificate);
    changing = server_context(0);
    CHECK(X509_set_ex_data(SSL_CTX_get0_certificate(changing), index, "data") == 1);
    freed = 0;
    CHECK(SSL_CTX_use_certificate_chain_file(changing, material("server.pem")) == 1);
    CHECK(freed == 1 && (SSL_CTX_get_options(changing) & SSL_OP_NO_TICKET) != 0);
    X509_STORE *store = X509_STORE_new();
    X509 *certificate = X509_dup(SSL_CTX_get0_certificate(changing));
    CHECK(X509_set_ex_data(certificate, index, "data") == 1 && X509_STORE_add_cert(store, certificate) == 1);
    X509_free(certificate);
    SSL_CTX_set_cert_store(changing, store);
    SSL_CTX_set_cert_store(changing, X509_STORE_new());
    CHECK(freed == 2);
    SSL_CTX_free(changing);
}

static int index_of_mark;

static int mark_session(int ok, X509_STORE_CTX *store) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    SSL_SESSION *session = SSL_get1_session(ssl);
    (void)ok;
    CHECK(session != NULL && SSL_SESSION_set_ex_data(session, index_of_mark, "mark") == 1);
    SSL_SESSION_free(session);
    return 1;
}

/* A server's session exists in the handshake, and what the program adds to it is in the session that it keeps. */
static void marked_session(int version) {
    SSL_CTX *server_ctx = server_context(version), *client_ctx = client_context(version);
    if (index_of_mark == 0)
        index_of_mark = SSL_SESSION_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(server_ctx, 1);
    SSL_CTX_sess_set_new_cb(server_ctx, on_new);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER, mark_session);
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    newest = NULL;
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(shake(&pair));
    SSL_SESSION *own = SSL_get_session(pair.server);
    CHECK(own != NULL && strcmp(SSL_SESSION_get_ex_data(own, index_of_mark), "mark") == 0);
    CHECK(newest == own && SSL_SESSION_is_resumable(own) == 1);
    /* Another connection of the same object has a session of its own. */
    BIO *one, *other;
    CHECK(BIO_new_bio_pair(&one, 1 << 14, &other, 1 << 14) == 1);
    SSL_set_shutdown(pair.server, SSL_SENT_SHUTDOWN);
    CHECK(SSL_clear(pair.client) == 1 && SSL_clear(pair.server) == 1);
    CHECK(SSL_set_session(pair.client, NULL) == 1);
    SSL_set_bio(pair.client, one, one);
    SSL_set_bio(pair.server, other, other);
    SSL_SESSION_up_ref(own);
    CHECK(shake(&pair) && SSL_get_session(pair.server) != own && SSL_SESSION_is_resumable(own) == 1);
    SSL_SESSION_free(own);
    free_pair(&pair);
    SSL_SESSION_free(newest);
    newest = NULL;
    ERR_clear_error();
}

/* HAProxy sets both lengths to 0, encodes the session, and sets them to what they were. */
static void encoded_without_ids(void) {
    SSL_SESSION *session = SSL_SESSION_new();
    unsigned int id_length, context_length;
    size_t length = 1;
    CHECK(SSL_SESSION_set1_id(session, (const unsigned char *)"the ID", 6) == 1);
    CHECK(SSL_SESSION_set1_id_context(session, (const unsigned char *)"the context", 11) == 1);
    const unsigned char *id = SSL_SESSION_get_id(session, &id_length);
    const unsigned char *context = SSL_SESSION_get0_id_context(session, &context_length);
    CHECK(SSL_SESSION_set1_id(session, id, 0) == 1 && SSL_SESSION_set1_id_context(session, context, 0) == 1);
    int shorter = i2d_SSL_SESSION(session, NULL);
    /* No byte of an ID that is too long is read. */
    CHECK(SSL_SESSION_set1_id(session, id, (unsigned)-1) == 0 && SSL_SESSION_set1_id_context(session, id, (unsigned)-1) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SSL_SESSION_ID_TOO_LONG);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SSL_SESSION_ID_CONTEXT_TOO_LONG);
    CHECK(SSL_SESSION_set1_id(session, id, id_length) == 1);
    CHECK(SSL_SESSION_set1_id_context(session, context, context_length) == 1);
    CHECK(i2d_SSL_SESSION(session, NULL) == shorter + 17);
    CHECK(SSL_SESSION_get_id(session, &id_length) == id && id_length == 6 && memcmp(id, "the ID", 6) == 0);
    CHECK(SSL_SESSION_get0_id_context(session, &context_length) == context && context_length == 11);
    CHECK(memcmp(context, "the context", 11) == 0);
    SSL_SESSION_get0_alpn_selected(session, &id, &length);
    CHECK(id == NULL && length == 0);
    SSL_SESSION_free(session);
}

/* Two threads that copy in opposite directions. */
static void *copy_often(void *argument) {
    SSL **sides = argument;
    for (int i = 0; i < 2000; i++)
        CHECK(SSL_copy_session_id(sides[0], sides[1]) == 1);
    return NULL;
}

static void copied_both_ways(void) {
    struct pair pair = new_pair(0, 1 << 14);
    SSL *there[] = {pair.client, pair.server}, *back[] = {pair.server, pair.client};
    pthread_t thread;
    pthread_create(&thread, NULL, copy_often, there);
    copy_often(back);
    pthread_join(thread, NULL);
    free_pair(&pair);
}

/* Without a store, nothing is trusted. */
static void no_store(void) {
    for (int kind = 0; kind < 3; kind++) {
        struct pair pair = new_pair(0, 1 << 14);
        if (kind == 1)
            SSL_CTX_set_cert_store(pair.client_ctx, NULL);
        else if (kind == 2)
            SSL_CTX_set1_cert_store(pair.client_ctx, NULL);
        CHECK(shake(&pair) == (kind == 0));
        ERR_clear_error();
        drop_pair(&pair);
    }
}

void test_sessions(void) {
    encoded_without_ids();
    copied_both_ways();
    no_store();
    marked_session(TLS1_2_VERSION);
    marked_session(TLS1_3_VERSION);
    use_while_changing();
    refused_session(TLS1_2_VERSION);
    refused_session(TLS1_3_VERSION);
    untrusted_client(TLS1_2_VERSION);
    untrusted_client(TLS1_3_VERSION);
    use_while_freeing();
    resumption(TLS1_2_VERSION);
    resumption(TLS1_3_VERSION);
}

struct shared {
    SSL_CTX *client_ctx, *server_ctx;
};

static void *connect_often(void *argument) {
    struct shared *shared = argument;
    for (int i = 0; i < 20; i++) {
        SSL_CTX_up_ref(shared->client_ctx);
        SSL_CTX_up_ref(shared->server_ctx);
        struct pair pair = pair_of(shared->client_ctx, shared->server_ctx, 1 << 14);
        char text[5];
        CHECK(shake(&pair));
        CHECK(SSL_write(pair.client, "hello", 5) == 5);
        read_exactly(pair.server, text, 5);
        free_pair(&pair);
    }
    CHECK(ERR_peek_error() == 0);
    return NULL;
}

/* Reads in one thread and writes in another on the same connection. */
static void *echo(void *argument) {
    SSL *ssl = argument;
    char data[1000];
    for (int done = 0; done < 200000;) {
        int count = SSL_read(ssl, data, sizeof data);
        CHECK(count > 0 && SSL_write(ssl, data, count) == count);
        done += count;
    }
    return NULL;
}

static void *send_all(void *argument) {
    static char data[200000];
    CHECK(SSL_write(argument, data, sizeof data) == sizeof data);
    return NULL;
}

#include <sys/socket.h>
#include <unistd.h>

static void *accept_and_echo(void *argument) {
    CHECK(SSL_accept(argument) == 1);
    return echo(argument);
}

void test_threads(void) {
    struct shared shared = {client_context(0), server_context(0)};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, connect_often, &shared);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);

    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    SSL *client = SSL_new(shared.client_ctx), *server = SSL_new(shared.server_ctx);
    CHECK(SSL_set_fd(client, ends[0]) == 1 && SSL_set_fd(server, ends[1]) == 1);
    pthread_create(&threads[0], NULL, accept_and_echo, server);
    CHECK(SSL_connect(client) == 1);
    pthread_create(&threads[1], NULL, send_all, client);
    static char received[200000];
    read_exactly(client, received, sizeof received);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    SSL_free(client);
    SSL_free(server);
    close(ends[0]);
    close(ends[1]);
    SSL_CTX_free(shared.client_ctx);
    SSL_CTX_free(shared.server_ctx);
}

void test_strings(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    char text[128];
    CHECK(SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:!aNULL") == 1);
    STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(ctx);
    CHECK(sk_SSL_CIPHER_num(ciphers) == 3 + 4);
    const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, 0);
    CHECK(strcmp(SSL_CIPHER_get_name(cipher), "TLS_AES_256_GCM_SHA384") == 0);
    CHECK(SSL_CIPHER_get_bits(cipher, NULL) == 256 && SSL_CIPHER_is_aead(cipher) == 1);
    CHECK(SSL_CIPHER_description(cipher, text, sizeof text) == text && strstr(text, "TLSv1.3") != NULL);
    CHECK(SSL_CTX_set1_groups_list(ctx, "X25519:P-256") == 1);
    CHECK(SSL_CTX_set1_groups_list(ctx, "nonsense") == 0);
    ERR_clear_error();
    CHECK(SSL_CTX_set1_sigalgs_list(ctx, "RSA+SHA256:ed25519") == 1);
    CHECK(strcmp(SSL_alert_desc_string_long(SSL3_AD_BAD_CERTIFICATE), "bad certificate") == 0);
    CHECK(SSL_CTX_set_max_proto_version(ctx, TLS1_1_VERSION) == 1);
    CHECK(SSL_CTX_get_max_proto_version(ctx) == TLS1_1_VERSION);
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_SHOW_ERRORS);
    SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    CHECK(SSL_CONF_cmd(conf, "MinProtocol", "TLSv1.2") == 2);
    CHECK(SSL_CTX_get_min_proto_version(ctx) == TLS1_2_VERSION);
    CHECK(SSL_CONF_cmd(conf, "Nonsense", "x") == -2);
    ERR_clear_error();
    SSL_CONF_CTX_free(conf);
    SSL_CTX_free(ctx);
    CHECK(ERR_peek_error() == 0);
}
