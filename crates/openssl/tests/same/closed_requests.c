/* Requests for a certificate and key updates after close_notify of this side: what each function returns, and that the
   connection continues in the other direction. */
#include "../c/test.h"

static struct pair closed_pair(int by_server) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    char byte;
    permit_late_authentication(&pair);
    CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, &byte, 1) == 1);
    CHECK(SSL_shutdown(by_server ? pair.server : pair.client) == 0);
    return pair;
}

static void show(const char *what, SSL *ssl, int result) {
    int error = SSL_get_error(ssl, result);
    printf("    %s: %d error %d reason %d, finished %d, shutdown %d\n", what, result, error,
           ERR_GET_REASON(ERR_peek_error()), SSL_is_init_finished(ssl), SSL_get_shutdown(ssl));
    ERR_clear_error();
}

/* The client has closed. A request of the server is not answered, and the client receives later data. */
static void client_has_closed(int requests, long modes_off) {
    struct pair pair = closed_pair(0);
    char text[8];
    printf("the client has closed, requests %d, modes %ld\n", requests, modes_off);
    SSL_clear_mode(pair.client, modes_off);
    if (requests)
        CHECK(SSL_verify_client_post_handshake(pair.server) == 1);
    else
        CHECK(SSL_key_update(pair.server, SSL_KEY_UPDATE_REQUESTED) == 1);
    CHECK(SSL_do_handshake(pair.server) == 1);
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    show("server writes", pair.server, SSL_write(pair.server, "more", 4));
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    show("client handshake", pair.client, SSL_do_handshake(pair.client));
    if (requests)
        show("server requests again", pair.server, SSL_verify_client_post_handshake(pair.server));
    show("server shuts down", pair.server, SSL_shutdown(pair.server));
    show("client shuts down", pair.client, SSL_shutdown(pair.client));
    printf("    certificate %d\n", SSL_get0_peer_certificate(pair.server) != NULL);
    drop_pair(&pair);
}

/* The flag is set without close_notify. */
static void flag_is_set(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    char text[8];
    permit_late_authentication(&pair);
    CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, text, 1) == 1);
    printf("the flag is set\n");
    SSL_set_shutdown(pair.client, SSL_SENT_SHUTDOWN);
    CHECK(SSL_verify_client_post_handshake(pair.server) == 1 && SSL_do_handshake(pair.server) == 1);
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    printf("    certificate %d\n", SSL_get0_peer_certificate(pair.server) != NULL);
    drop_pair(&pair);
}

/* The server has closed. On Tercel, its later messages are not sent. */
static void server_has_closed(int requests) {
    struct pair pair = closed_pair(1);
    char text[8];
    printf("the server has closed, requests %d\n", requests);
    int result = requests ? SSL_verify_client_post_handshake(pair.server)
                          : SSL_key_update(pair.server, SSL_KEY_UPDATE_NOT_REQUESTED);
    printf("    server: %d\n", result);
    show("server handshake", pair.server, SSL_do_handshake(pair.server));
    if (requests)
        show("server requests again", pair.server, SSL_verify_client_post_handshake(pair.server));
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    show("client writes", pair.client, SSL_write(pair.client, "more", 4));
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    show("client shuts down", pair.client, SSL_shutdown(pair.client));
    show("server shuts down", pair.server, SSL_shutdown(pair.server));
    printf("    certificate %d\n", SSL_get0_peer_certificate(pair.server) != NULL);
    drop_pair(&pair);
}

/* The answer to a request arrives after the server has closed. */
static void answer_after_close(int trusted) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    char text[8];
    permit_late_authentication(&pair);
    printf("the answer after the server has closed, trusted %d\n", trusted);
    if (!trusted)
        X509_VERIFY_PARAM_set_time(SSL_get0_param(pair.server), 1);
    CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, text, 1) == 1);
    CHECK(SSL_verify_client_post_handshake(pair.server) == 1 && SSL_do_handshake(pair.server) == 1);
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    show("server shuts down", pair.server, SSL_shutdown(pair.server));
    show("server reads", pair.server, SSL_read(pair.server, text, sizeof text));
    printf("    certificate %d\n", trusted ? SSL_get0_peer_certificate(pair.server) != NULL : 0);
    show("server shuts down", pair.server, SSL_shutdown(pair.server));
    show("client reads", pair.client, SSL_read(pair.client, text, sizeof text));
    drop_pair(&pair);
}

int main(void) {
    for (int requests = 0; requests < 2; requests++) {
        client_has_closed(requests, 0);
        client_has_closed(requests, SSL_MODE_AUTO_RETRY);
        server_has_closed(requests);
    }
    flag_is_set();
    for (int trusted = 0; trusted < 2; trusted++)
        answer_after_close(trusted);
    return 0;
}
