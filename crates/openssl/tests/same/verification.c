/* Whether certificates are requested and required, and verifications that a callback wants to repeat. */
#include "../c/test.h"

static void print_errors(void) {
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(error));
    printf("\n");
}

/* A server with this mode, and a client with or without a certificate. */
static void request(int server_version, int client_version, int mode, int has_certificate, int late) {
    SSL_CTX *client = client_context(client_version), *server = server_context(server_version);
    printf("versions %x and %x, mode %d, certificate %d, late %d:", server_version, client_version, mode,
           has_certificate, late);
    SSL_CTX_set_verify(server, mode, NULL);
    SSL_CTX_set_post_handshake_auth(client, late);
    CHECK(SSL_CTX_set_session_id_context(server, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_load_verify_locations(server, material("root.pem"), NULL) == 1);
    if (has_certificate) {
        CHECK(SSL_CTX_use_certificate_chain_file(client, material("client.pem")) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    }
    struct pair pair = pair_of(client, server, 1 << 14);
    int done = shake(&pair);
    ERR_clear_error();
    int written = done && SSL_write(pair.server, "data", 4) == 4;
    char text[4];
    /* In TLS 1.3, a client learns by reading that it was refused. */
    int read = written && SSL_read(pair.client, text, 4) == 4;
    printf(" %s, certificate %d", read ? SSL_get_version(pair.server) : "failed",
           SSL_get0_peer_certificate(pair.server) != NULL);
    if (read && SSL_version(pair.server) == TLS1_3_VERSION && late && mode != SSL_VERIFY_NONE) {
        int requested = SSL_verify_client_post_handshake(pair.server);
        SSL_do_handshake(pair.server);
        ERR_clear_error();
        SSL_read(pair.client, text, 4);
        ERR_clear_error();
        int answered = SSL_read(pair.server, text, 4);
        printf(", requested %d, error %d, certificate %d", requested, SSL_get_error(pair.server, answered),
               SSL_get0_peer_certificate(pair.server) != NULL);
    }
    printf("\n");
    if (mode == (SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_POST_HANDSHAKE) && !has_certificate)
        CHECK(!read || SSL_version(pair.server) == TLS1_3_VERSION);
    free_pair(&pair);
    ERR_clear_error();
}

/* A server that requests no certificate in the handshake, and requests one later. */
static void request_later(int mode, int has_certificate, int trusts) {
    SSL_CTX *client = client_context(TLS1_3_VERSION), *server = server_context(TLS1_3_VERSION);
    char text[4];
    SSL_CTX_set_post_handshake_auth(client, 1);
    CHECK(SSL_CTX_load_verify_locations(server, material(trusts ? "root.pem" : "other.pem"), NULL) == 1);
    if (has_certificate) {
        CHECK(SSL_CTX_use_certificate_chain_file(client, material("client.pem")) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    }
    struct pair pair = pair_of(client, server, 1 << 14);
    CHECK(shake(&pair));
    SSL_set_verify(pair.server, mode, NULL);
    printf("later, mode %d, certificate %d, trusts %d:", mode, has_certificate, trusts);
    printf(" %d", SSL_verify_client_post_handshake(pair.server));
    printf(" %d", SSL_do_handshake(pair.server));
    ERR_clear_error();
    SSL_read(pair.client, text, 4);
    ERR_clear_error();
    CHECK(SSL_write(pair.client, "data", 4) == 4);
    int count = SSL_read(pair.server, text, 4);
    printf(", read %d, error %d, result %ld, certificate %d", count, SSL_get_error(pair.server, count),
           SSL_get_verify_result(pair.server), count == 4 && SSL_get0_peer_certificate(pair.server) != NULL);
    print_errors();
    free_pair(&pair);
}

static int times, result, retries;

static int retry_chain(X509_STORE_CTX *verification, void *argument) {
    (void)argument;
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    if (times++ < retries)
        printf(" [call %d: set %d]", times, SSL_set_retry_verify(ssl));
    if (result == 0)
        X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
    return result;
}

static int retry_certificate(int ok, X509_STORE_CTX *verification) {
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    if (times++ < retries)
        printf(" [call %d: ok %d, set %d]", times, ok, SSL_set_retry_verify(ssl));
    return result;
}

/* Continues both sides ten times, and prints what the verifying side waits for. */
static void retry(int version, int on_server, int by_chain, int mode, int count, int callback_result) {
    SSL_CTX *client = client_context(version), *server = server_context(version);
    SSL_CTX *verifying = on_server ? server : client;
    printf("version %x, server %d, chain %d, mode %d, retries %d, result %d:", version, on_server, by_chain, mode,
           count, callback_result);
    times = 0;
    retries = count;
    result = callback_result;
    CHECK(SSL_CTX_load_verify_locations(server, material("root.pem"), NULL) == 1);
    CHECK(SSL_CTX_use_certificate_chain_file(client, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    SSL_CTX_set_verify(verifying, mode, by_chain ? NULL : retry_certificate);
    if (by_chain)
        SSL_CTX_set_cert_verify_callback(verifying, retry_chain, NULL);
    struct pair pair = pair_of(client, server, 1 << 14);
    for (int i = 0; i < 10; i++) {
        for (int side = 0; side < 2; side++) {
            SSL *ssl = side == 0 ? pair.client : pair.server;
            ERR_clear_error();
            int shaken = SSL_do_handshake(ssl);
            int error = SSL_get_error(ssl, shaken);
            if (error == SSL_ERROR_WANT_RETRY_VERIFY)
                printf(" [retry on side %d: want %d, %d]", side, SSL_want(ssl), SSL_want_retry_verify(ssl));
            if (i == 9)
                printf(" %s", shaken == 1 ? "done" : error == SSL_ERROR_SSL ? "failed" : "waits");
        }
    }
    printf(", calls %d", times);
    print_errors();
    if (!on_server && callback_result == 1 && count == 100)
        CHECK(!SSL_is_init_finished(pair.client));
    free_pair(&pair);
    ERR_clear_error();
}

int main(void) {
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION, 0};
    static const int modes[] = {SSL_VERIFY_NONE,
                                SSL_VERIFY_PEER,
                                SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                                SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE,
                                SSL_VERIFY_POST_HANDSHAKE,
                                SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT | SSL_VERIFY_POST_HANDSHAKE};
    for (int server = 0; server < 3; server++)
        for (int client = 0; client < 3; client++)
            for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++)
                for (int rest = 0; rest < 4; rest++)
                    request(versions[server], versions[client], modes[mode], rest & 1, rest >> 1);
    for (int rest = 0; rest < 8; rest++)
        request_later(SSL_VERIFY_PEER | (rest & 1 ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), rest >> 1 & 1, rest >> 2);
    for (int version = 0; version < 2; version++)
        for (int by_chain = 0; by_chain < 2; by_chain++) {
            for (int count = 1; count <= 100; count += 99) {
                retry(versions[version], 0, by_chain, SSL_VERIFY_PEER, count, 1);
                retry(versions[version], 0, by_chain, SSL_VERIFY_NONE, count, 1);
                retry(versions[version], 0, by_chain, SSL_VERIFY_PEER, count, 0);
                retry(versions[version], 0, by_chain, SSL_VERIFY_NONE, count, 0);
            }
            retry(versions[version], 1, by_chain, SSL_VERIFY_PEER, 1, 1);
        }
    return 0;
}
