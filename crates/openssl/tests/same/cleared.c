/* What getters show after SSL_clear, and in the next connection of the same object: nothing of the last one. OpenSSL's
   still show its certificates. */
#include "../c/test.h"

static int accept_error(int ok, X509_STORE_CTX *verification) {
    (void)ok;
    X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
    return 1;
}

static int select_first(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                        unsigned int length, void *argument) {
    (void)ssl, (void)length, (void)argument;
    *out = in + 1;
    *out_length = in[0];
    return SSL_TLSEXT_ERR_OK;
}

static void show(const char *when, SSL *ssl) {
    const unsigned char *protocol;
    const char *name = SSL_get0_peername(ssl);
    unsigned length = 0;
    unsigned char secret[8];
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    printf("  %s: peer name %s, protocol %u, ", when, name == NULL ? "none" : name, length);
    printf("reused %d, finished %d %d, ", SSL_session_reused(ssl), SSL_get_finished(ssl, secret, 0) != 0,
           SSL_get_peer_finished(ssl, secret, 0) != 0);
    printf("shutdown %d, pending %d %d, ", SSL_get_shutdown(ssl), SSL_pending(ssl), SSL_has_pending(ssl));
    printf("secret %d, ", SSL_export_keying_material(ssl, secret, sizeof secret, "label", 5, NULL, 0, 0) == 1);
    printf("init %d, before %d, early data %d, authority %d, want %d\n", SSL_in_init(ssl), SSL_in_before(ssl),
           SSL_get_early_data_status(ssl), SSL_get0_dane_authority(ssl, NULL, NULL), SSL_want(ssl));
    ERR_clear_error();
}

/* Gives both sides new BIOs. */
static void join(struct pair *pair) {
    BIO *one, *other;
    CHECK(BIO_new_bio_pair(&one, 1 << 14, &other, 1 << 14) == 1);
    SSL_set_bio(pair->client, NULL, NULL);
    SSL_set_bio(pair->server, NULL, NULL);
    SSL_set_bio(pair->client, one, one);
    SSL_set_bio(pair->server, other, other);
}

static void try(int version, int resumes, int verifies_again) {
    struct pair pair = new_pair(version, 1 << 14);
    char text[4];
    printf("version %x, resumes %d, verifies again %d\n", (unsigned)version, resumes, verifies_again);
    permit_late_authentication(&pair);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER, accept_error);
    CHECK(SSL_set_session_id_context(pair.server, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_set_alpn_select_cb(pair.server_ctx, select_first, NULL);
    CHECK(SSL_set_alpn_protos(pair.client, (const unsigned char *)"\2h2", 3) == 0);
    CHECK(SSL_set1_host(pair.client, "server.test") == 1);
    CHECK(shake(&pair) && SSL_write(pair.server, "data", 4) == 4 && SSL_read(pair.client, text, 2) == 2);
    show("client", pair.client);
    SSL_set_shutdown(pair.client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(pair.server, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_SESSION *session = SSL_get1_session(pair.client);
    CHECK(SSL_clear(pair.client) == 1 && SSL_clear(pair.server) == 1);
    show("cleared client", pair.client);
    show("cleared server", pair.server);
    join(&pair);
    CHECK(SSL_set_session(pair.client, resumes ? session : NULL) == 1);
    CHECK(SSL_set_alpn_protos(pair.client, NULL, 0) == 0 && SSL_set1_host(pair.client, NULL) == 1);
    SSL_set_verify(pair.client, verifies_again ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    CHECK(shake(&pair));
    show("next client", pair.client);
    show("next server", pair.server);
    SSL_SESSION_free(session);
    free_pair(&pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int resumes = 0; resumes < 2; resumes++)
            for (int again = 0; again < 2; again++)
                try(version, resumes, again);
    return 0;
}
