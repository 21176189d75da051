/* A client that has the session's key, and sends something else than the right Finished when it resumes a session by its
   ID in TLS 1.2: the server removes the session. RFC 5246 7.2.2 */
#include "../c/test.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

enum { HANDSHAKE = 22, ALERT = 21, DATA = 23, CHANGE_LENGTH = 6, MAIN_SECRET = 48, FINISHED_LENGTH = 16 };

/* The main secret of the newest handshake of a server, from its key log. */
static unsigned char main_secret[MAIN_SECRET];

static void on_key_log(const SSL *ssl, const char *line) {
    const char *hex = strrchr(line, ' ') + 1;
    (void)ssl;
    CHECK(strncmp(line, "CLIENT_RANDOM ", 14) == 0 && strlen(hex) == 2 * MAIN_SECRET);
    for (int i = 0; i < MAIN_SECRET; i++)
        CHECK(sscanf(hex + 2 * i, "%2hhx", &main_secret[i]) == 1);
}

static int removed, found;
static SSL_SESSION *stored;

static void on_removed(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)ctx, (void)session;
    removed++;
    SSL_SESSION_free(stored);
    stored = NULL;
}

static int on_new(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    SSL_SESSION_free(stored);
    stored = session;
    return 1;
}

static SSL_SESSION *on_get(SSL *ssl, const unsigned char *id, int length, int *copies) {
    unsigned int own_length;
    (void)ssl;
    *copies = 1;
    found++;
    if (stored == NULL)
        return NULL;
    const unsigned char *own = SSL_SESSION_get_id(stored, &own_length);
    return (int)own_length == length && memcmp(own, id, length) == 0 ? stored : NULL;
}

/* The first keys of a connection with AES-128-GCM: those of the client and of the server, then both IVs. RFC 5246 6.3 */
static void derive(const SSL *ssl, unsigned char block[40]) {
    unsigned char seed[64];
    CHECK(SSL_get_server_random(ssl, seed, 32) == 32 && SSL_get_client_random(ssl, seed + 32, 32) == 32);
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, main_secret, sizeof main_secret),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, "key expansion", 13),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, seed, sizeof seed),
        OSSL_PARAM_construct_end(),
    };
    CHECK(EVP_KDF_derive(ctx, block, 40, parameters) == 1);
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
}

/* Seals the first record of a client. Returns its length. RFC 5288 3 */
static int seal(const SSL *ssl, unsigned char type, const unsigned char *content, int length, unsigned char *record) {
    unsigned char block[40], nonce[12] = {0}, data[13] = {0};
    int count;
    derive(ssl, block);
    memcpy(nonce, block + 32, 4);
    data[8] = type;
    data[9] = data[10] = 3;
    data[12] = (unsigned char)length;
    memset(record, 0, 13);
    record[0] = type;
    record[1] = record[2] = 3;
    record[4] = (unsigned char)(8 + length + 16);
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    CHECK(EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, block, nonce) == 1);
    CHECK(EVP_EncryptUpdate(cipher, NULL, &count, data, sizeof data) == 1);
    CHECK(EVP_EncryptUpdate(cipher, record + 13, &count, content, length) == 1 && count == length);
    CHECK(EVP_EncryptFinal_ex(cipher, record + 13 + length, &count) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, record + 13 + length) == 1);
    EVP_CIPHER_CTX_free(cipher);
    return 13 + length + 16;
}

/* Moves what one side has sent to the other one. */
static void move(SSL *from, SSL *to) {
    unsigned char bytes[20000];
    int length = BIO_read(SSL_get_wbio(from), bytes, sizeof bytes);
    CHECK(length > 0 && BIO_write(SSL_get_rbio(to), bytes, length) == length);
}

enum last { WRONG_CONTENT, TOO_SHORT, OTHER_MESSAGE, FATAL_ALERT, APPLICATION_DATA, RIGHT_ALONE, LASTS };

static const char *const names[] = {
    "Finished with another content", "Finished that is too short", "another message", "a fatal alert",
    "application data", "a Finished that is sealed again",
};

/* Sends this in place of the client's Finished, which is the second record that it has written. */
static void send_last(SSL *client, SSL *server, enum last last) {
    unsigned char bytes[200], record[200], content[FINISHED_LENGTH] = {20, 0, 0, 12};
    int length = BIO_read(SSL_get_wbio(client), bytes, sizeof bytes), sealed;
    CHECK(length > CHANGE_LENGTH && bytes[0] == 20);
    switch (last) {
    case TOO_SHORT:
        content[3] = 1;
        sealed = seal(client, HANDSHAKE, content, 5, record);
        break;
    case OTHER_MESSAGE:
        content[0] = 16;
        sealed = seal(client, HANDSHAKE, content, sizeof content, record);
        break;
    case FATAL_ALERT:
        sealed = seal(client, ALERT, (const unsigned char *)"\2\50", 2, record);
        break;
    case APPLICATION_DATA:
        sealed = seal(client, DATA, (const unsigned char *)"data", 4, record);
        break;
    case RIGHT_ALONE:
        CHECK(SSL_get_finished(client, content + 4, 12) == 12);
        /* fall through */
    default:
        sealed = seal(client, HANDSHAKE, content, sizeof content, record);
        break;
    }
    CHECK(BIO_write(SSL_get_rbio(server), bytes, CHANGE_LENGTH) == CHANGE_LENGTH);
    CHECK(BIO_write(SSL_get_rbio(server), record, sealed) == sealed);
}

static void try(enum last last, int external) {
    SSL_CTX *client_ctx = client_context(TLS1_2_VERSION), *server_ctx = server_context(TLS1_2_VERSION);
    CHECK(SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_cipher_list(server_ctx, "ECDHE-ECDSA-AES128-GCM-SHA256") == 1);
    SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_keylog_callback(server_ctx, on_key_log);
    SSL_CTX_sess_set_remove_cb(server_ctx, on_removed);
    if (external) {
        SSL_CTX_set_session_cache_mode(server_ctx, SSL_SESS_CACHE_SERVER | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(server_ctx, on_new);
        SSL_CTX_sess_set_get_cb(server_ctx, on_get);
    }
    struct pair pair = connected(client_ctx, server_ctx, NULL);
    SSL_SESSION *session = SSL_get1_session(pair.client);
    free_pair(&pair);
    /* A copy has its own state: a session is not offered after an alert. */
    unsigned char bytes[20000], *to = bytes;
    const unsigned char *from = bytes;
    CHECK(i2d_SSL_SESSION(session, &to) > 0);
    SSL_SESSION *copy = d2i_SSL_SESSION(NULL, &from, to - bytes);
    removed = found = 0;
    printf("%s, cache of the application %d\n", names[last], external);
    SSL *client = SSL_new(client_ctx), *server = SSL_new(server_ctx);
    SSL_set_bio(client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_bio(server, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    CHECK(SSL_set_session(client, session) == 1 && SSL_do_handshake(client) == -1);
    move(client, server);
    CHECK(SSL_do_handshake(server) == -1 && SSL_get_error(server, -1) == SSL_ERROR_WANT_READ);
    move(server, client);
    CHECK(SSL_do_handshake(client) == 1 && SSL_session_reused(client) == 1);
    printf("  found %d, removed %d, cached %ld\n", found, removed, SSL_CTX_sess_number(server_ctx));
    send_last(client, server, last);
    int result = SSL_do_handshake(server);
    printf("  result %d, error %d, removed %d, cached %ld\n", result, SSL_get_error(server, result), removed,
           SSL_CTX_sess_number(server_ctx));
    ERR_clear_error();
    if (result == 1)
        SSL_set_shutdown(server, SSL_SENT_SHUTDOWN);
    SSL_free(server);
    SSL_free(client);
    printf("  freed: removed %d, cached %ld\n", removed, SSL_CTX_sess_number(server_ctx));
    pair = connected(client_ctx, server_ctx, copy);
    printf("  resumed %d\n", SSL_session_reused(pair.server));
    free_pair(&pair);
    SSL_SESSION_free(copy);
    SSL_SESSION_free(session);
    SSL_CTX_sess_set_remove_cb(server_ctx, NULL);
    SSL_SESSION_free(stored);
    stored = NULL;
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    ERR_clear_error();
}

int main(void) {
    for (int last = 0; last < LASTS; last++)
        for (int external = 0; external < 2; external++)
            try(last, external);
    return 0;
}
