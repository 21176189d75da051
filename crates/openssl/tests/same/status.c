/* What the results of a server's function for the certificate status do, and of a client's in a resumed handshake, and
   what a client's verify callback that refuses without an error does: outcomes and errors. */
#include "../c/test.h"

static int result;

static int status(SSL *ssl, void *argument) {
    (void)argument;
    if (!SSL_is_server(ssl))
        return 1;
    unsigned char *response = OPENSSL_malloc(4);
    memcpy(response, "test", 4);
    SSL_set_tlsext_status_ocsp_resp(ssl, response, 4);
    return result;
}

/* The oldest error: others may follow on Tercel. */
static void show_error(void) {
    unsigned long error = ERR_get_error();
    printf(error != 0 ? " {%s}\n" : "\n", ERR_reason_error_string(error));
    ERR_clear_error();
}

static int of_client = 1, calls;

static int status_of_client(SSL *ssl, void *argument) {
    (void)argument;
    const unsigned char *response;
    calls++;
    printf("the client's function: status %ld\n", SSL_get_tlsext_status_ocsp_resp(ssl, &response));
    return of_client;
}

/* A client whose function refuses or accepts a handshake without a status, with a session of a handshake with one. */
static void resume(int version, int answer) {
    SSL_CTX *client = client_context(version), *server = server_context(version);
    SSL_CTX_set_tlsext_status_cb(server, status);
    SSL_CTX_set_tlsext_status_cb(client, status_of_client);
    SSL_CTX_set_tlsext_status_type(client, TLSEXT_STATUSTYPE_ocsp);
    result = 0, of_client = 1;
    struct pair first = connected(client, server, NULL);
    SSL_SESSION *session = SSL_get1_session(first.client);
    SSL_shutdown(first.server), SSL_shutdown(first.client), SSL_shutdown(first.server);
    drop_pair(&first);
    first = pair_of(client, server, 0);
    CHECK(SSL_set_session(first.client, session) == 1);
    of_client = answer, calls = 0;
    int done = shake(&first);
    unsigned char *response;
    printf("resumed, version %x, the client's function returns %d: done %d, reused %d, %d calls, status %ld", version,
           answer, done, done && SSL_session_reused(first.client), calls,
           SSL_get_tlsext_status_ocsp_resp(first.client, &response));
    show_error();
    SSL_SESSION_free(session);
    drop_pair(&first);
}

static int refuse(int ok, X509_STORE_CTX *verification) {
    (void)ok;
    X509_STORE_CTX_set_error(verification, X509_V_OK);
    return 0;
}

static void show_pair(struct pair *pair, const char *what, int version) {
    ERR_clear_error();
    int done = shake(pair);
    unsigned char *response;
    long length = SSL_get_tlsext_status_ocsp_resp(pair->client, &response);
    printf("%s, version %x: done %d, status %ld, result %ld", what, version, done, done ? length : -1,
           SSL_get_verify_result(pair->client));
    show_error();
    drop_pair(pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        for (result = 0; result <= 4; result++) {
            struct pair pair = new_pair(version, 0);
            SSL_CTX_set_tlsext_status_cb(pair.server_ctx, status);
            SSL_CTX_set_tlsext_status_cb(pair.client_ctx, status);
            SSL_set_tlsext_status_type(pair.client, TLSEXT_STATUSTYPE_ocsp);
            char what[32];
            snprintf(what, sizeof what, "a status function's %d", result);
            show_pair(&pair, what, version);
        }
        struct pair pair = new_pair(version, 0);
        SSL_set_verify(pair.client, SSL_VERIFY_PEER, refuse);
        show_pair(&pair, "a refusal without an error", version);
        for (int answer = -1; answer <= 1; answer++)
            resume(version, answer);
    }
    return 0;
}
