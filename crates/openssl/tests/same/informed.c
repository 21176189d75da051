/* What callbacks for information and messages see when an alert is sent or received, and at the end of a call: the state
   of the connection, the queue, the flags, and whether the session can be resumed. */
#include "../c/test.h"

static int is_told;

static void show(const char *what, const SSL *ssl, int value) {
    SSL_SESSION *session = SSL_is_init_finished(ssl) ? SSL_get_session(ssl) : NULL;
    printf("    %s %s %x: finished %d, init %d, before %d, %s, %s, error %d, shutdown %d, resumable %d\n",
           SSL_is_server(ssl) ? "server" : "client", what, (unsigned)value, SSL_is_init_finished(ssl),
           SSL_in_init(ssl), SSL_in_before(ssl), SSL_state_string_long(ssl), SSL_state_string(ssl),
           ERR_peek_error() != 0, SSL_get_shutdown(ssl),
           !SSL_is_server(ssl) && session != NULL && SSL_SESSION_is_resumable(session));
}

/* In the handshake: where it begins, ends and returns. */
static void show_place(const char *place, const SSL *ssl, int value) {
    printf("    %s %s %d: finished %d, init %d, before %d, error %d\n", SSL_is_server(ssl) ? "server" : "client", place,
           value, SSL_is_init_finished(ssl), SSL_in_init(ssl), SSL_in_before(ssl), ERR_GET_REASON(ERR_peek_error()));
}

static int shows_places;

static void on_info(const SSL *ssl, int where, int value) {
    if (is_told && where & SSL_CB_ALERT)
        show(where & SSL_CB_WRITE ? "writes" : "reads", ssl, value);
    if (shows_places && where & SSL_CB_HANDSHAKE_START)
        show_place("starts", ssl, value);
    if (shows_places && where & SSL_CB_HANDSHAKE_DONE)
        show_place("is done", ssl, value);
    if (shows_places && where & SSL_CB_EXIT)
        show_place("returns", ssl, value);
}

static void on_message(int sent, int version, int type, const void *content, size_t length, SSL *ssl, void *argument) {
    const unsigned char *alert = content;
    (void)version, (void)argument, (void)length;
    /* Tercel answers close_notify of TLS 1.2 at once. */
    if (is_told && type == SSL3_RT_ALERT && alert[0] == SSL3_AL_FATAL)
        show(sent ? "message sent" : "message received", ssl, alert[1]);
}

static struct pair told_pair(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    SSL *both[] = {pair.client, pair.server};
    /* A handshake of OpenSSL's is done before the state is that of one, if tickets are sent. */
    SSL_set_num_tickets(pair.server, 0);
    for (int i = 0; i < 2; i++) {
        SSL_set_info_callback(both[i], on_info);
        SSL_set_msg_callback(both[i], on_message);
    }
    is_told = 1;
    return pair;
}

static void call(const char *what, int result) {
    printf("  %s %d\n", what, result);
    ERR_clear_error();
}

static struct pair established(const char *name, int version) {
    struct pair pair = told_pair(version);
    char byte;
    printf("version %x, %s\n", (unsigned)version, name);
    permit_late_authentication(&pair);
    CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, &byte, 1) == 1);
    return pair;
}

static void damaged(int version, int closed) {
    struct pair pair = established(closed ? "a damaged record after close_notify" : "a damaged record", version);
    char byte;
    if (closed)
        call("shutdown", SSL_shutdown(pair.client));
    send_damaged_record(pair.server);
    call("client reads", SSL_read(pair.client, &byte, 1));
    call("server reads", SSL_read(pair.server, &byte, 1));
    call("server reads", SSL_read(pair.server, &byte, 1));
    drop_pair(&pair);
}

static void closing(int version) {
    struct pair pair = established("close_notify", version);
    char byte;
    call("client shuts down", SSL_shutdown(pair.client));
    call("server reads", SSL_read(pair.server, &byte, 1));
    call("server reads", SSL_read(pair.server, &byte, 1));
    call("server shuts down", SSL_shutdown(pair.server));
    call("client shuts down", SSL_shutdown(pair.client));
    drop_pair(&pair);
}

static int refuse(SSL *ssl, void *argument) {
    (void)argument;
    printf("    certificate callback: finished %d, init %d, %s, %s\n", SSL_is_init_finished(ssl), SSL_in_init(ssl),
           SSL_state_string_long(ssl), SSL_state_string(ssl));
    return 0;
}

static int delay(SSL *ssl, void *argument) {
    int *waits = argument;
    refuse(ssl, NULL);
    return (*waits)-- > 0 ? -1 : 1;
}

static void late_refusal(int by_server) {
    struct pair pair = established(by_server ? "the server refuses a certificate" : "the client refuses a request",
                                   TLS1_3_VERSION);
    char byte;
    if (by_server)
        X509_VERIFY_PARAM_set_time(SSL_get0_param(pair.server), 1);
    else
        SSL_set_cert_cb(pair.client, refuse, NULL);
    CHECK(SSL_verify_client_post_handshake(pair.server) == 1 && SSL_do_handshake(pair.server) == 1);
    call("client reads", SSL_read(pair.client, &byte, 1));
    call("server reads", SSL_read(pair.server, &byte, 1));
    call("client reads", SSL_read(pair.client, &byte, 1));
    drop_pair(&pair);
}

static void late_delay(void) {
    struct pair pair = established("the client delays its answer", TLS1_3_VERSION);
    char byte;
    int waits = 1;
    SSL_set_cert_cb(pair.client, delay, &waits);
    CHECK(SSL_verify_client_post_handshake(pair.server) == 1 && SSL_do_handshake(pair.server) == 1);
    call("client reads", SSL_read(pair.client, &byte, 1));
    printf("  then: finished %d, init %d, %s, %s\n", SSL_is_init_finished(pair.client), SSL_in_init(pair.client),
           SSL_state_string_long(pair.client), SSL_state_string(pair.client));
    call("client writes", SSL_write(pair.client, "data", 4));
    call("server reads", SSL_read(pair.server, &byte, 1));
    drop_pair(&pair);
}

static void handshakes(int version, int by_client) {
    struct pair pair = told_pair(version);
    char byte;
    shows_places = 1;
    printf("version %x, the %s ends the handshake\n", (unsigned)version, by_client ? "client" : "server");
    if (by_client) {
        SSL_set1_host(pair.client, "other.test");
    } else {
        /* The client sends none. */
        SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    call("handshake", shake(&pair));
    SSL *other = by_client ? pair.server : pair.client;
    call("handshake of the other", SSL_do_handshake(other));
    call("read", SSL_read(other, &byte, 1));
    call("read", SSL_read(other, &byte, 1));
    shows_places = 0;
    drop_pair(&pair);
}

static void success(int version) {
    struct pair pair = told_pair(version);
    shows_places = 1;
    printf("version %x, a handshake\n", (unsigned)version);
    call("handshake", shake(&pair));
    shows_places = 0;
    free_pair(&pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        damaged(version, 0);
        damaged(version, 1);
        closing(version);
        handshakes(version, 0);
        handshakes(version, 1);
        success(version);
    }
    late_refusal(0);
    late_refusal(1);
    late_delay();
    return 0;
}
