/* Message and information callbacks, Finished values and randoms. */
#include "test.h"

static char seen[256], states[1024];

static void on_message(int sent, int version, int type, const void *content, size_t length, SSL *ssl, void *argument) {
    const unsigned char *bytes = content;
    CHECK(strcmp(argument, "argument") == 0);
    CHECK(version == TLS1_2_VERSION || version == TLS1_3_VERSION);
    if (type == SSL3_RT_HANDSHAKE)
        CHECK(length >= 4 && (((size_t)bytes[2] << 8) | bytes[3]) + 4 == length);
    if (type == SSL3_RT_ALERT)
        CHECK(length == 2);
    sprintf(seen + strlen(seen), "%s%d.%d ", sent ? ">" : "<", type, type == SSL3_RT_ALERT ? bytes[1] : bytes[0]);
    /* A call inside of the callback. */
    CHECK(SSL_get_ex_data(ssl, 0) == NULL);
}

static void on_info(const SSL *ssl, int where, int value) {
    (void)value;
    if (where & SSL_CB_LOOP)
        sprintf(states + strlen(states), "%d ", (int)SSL_get_state(ssl));
    CHECK(SSL_state_string_long(ssl) != NULL);
}

static void messages_of(int version, const char *messages, const char *numbers) {
    SSL_CTX *client_ctx = client_context(version);
    seen[0] = states[0] = 0;
    SSL_CTX_set_msg_callback(client_ctx, on_message);
    SSL_CTX_set_msg_callback_arg(client_ctx, "argument");
    SSL_CTX_set_info_callback(client_ctx, on_info);
    struct pair pair = pair_of(client_ctx, server_context(version), 1 << 14);
    SSL_set_num_tickets(pair.server, 0);
    CHECK(shake(&pair));
    CHECK(strcmp(seen, messages) == 0);
    CHECK(strcmp(states, numbers) == 0);
    seen[0] = 0;
    CHECK(SSL_shutdown(pair.client) == 0);
    CHECK(strcmp(seen, ">21.0 ") == 0);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

static int places;

static void on_place(const SSL *ssl, int where, int value) {
    (void)ssl;
    (void)value;
    places += where;
}

/* A program finds out by the states whether a version is enabled. */
static void states_without_a_version(void) {
    SSL_CTX *ctx = client_context(TLS1_1_VERSION);
    SSL *ssl = SSL_new(ctx);
    SSL_CTX_set_info_callback(ctx, on_place);
    CHECK(SSL_set_fd(ssl, -1) == 1 && SSL_connect(ssl) == -1);
    CHECK(places == SSL_CB_HANDSHAKE_START + SSL_CB_CONNECT_EXIT);
    ERR_clear_error();
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

static void values_of(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    unsigned char one[64], other[64];
    /* Before the handshake there is nothing. */
    CHECK(SSL_get_finished(pair.client, one, sizeof one) == 0);
    CHECK(SSL_get_client_random(pair.client, NULL, 0) == 32);
    CHECK(shake(&pair));
    size_t length = SSL_get_finished(pair.client, one, sizeof one);
    CHECK(length == (version == TLS1_2_VERSION ? 12 : 48));
    CHECK(SSL_get_peer_finished(pair.server, other, sizeof other) == length);
    CHECK(memcmp(one, other, length) == 0);
    /* The whole length is returned, and no more is written than there is room for. */
    memset(other, 7, sizeof other);
    CHECK(SSL_get_peer_finished(pair.client, one, sizeof one) == length);
    CHECK(SSL_get_finished(pair.server, other, 5) == length);
    CHECK(memcmp(one, other, 5) == 0 && other[5] == 7);
    CHECK(SSL_get_finished(pair.server, NULL, 0) == length);

    CHECK(SSL_get_client_random(pair.client, one, sizeof one) == 32);
    CHECK(SSL_get_client_random(pair.server, other, sizeof other) == 32);
    CHECK(memcmp(one, other, 32) == 0);
    CHECK(SSL_get_server_random(pair.client, one, 16) == 16);
    CHECK(SSL_get_server_random(pair.server, other, sizeof other) == 32);
    CHECK(memcmp(one, other, 16) == 0 && memcmp(one + 16, other + 16, 16) != 0);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

void test_messages(void) {
    messages_of(TLS1_3_VERSION, ">22.1 <22.2 >20.1 <22.8 <22.11 <22.15 <22.20 >22.20 ",
                "0 12 12 3 38 4 39 11 16 18 ");
    messages_of(TLS1_2_VERSION, ">22.1 <22.2 <22.11 <22.12 <22.14 >22.16 >20.1 >22.20 <22.4 <20.1 <22.20 ",
                "0 12 12 3 4 6 8 14 16 18 18 9 10 11 ");
    states_without_a_version();
    values_of(TLS1_3_VERSION);
    values_of(TLS1_2_VERSION);
}
