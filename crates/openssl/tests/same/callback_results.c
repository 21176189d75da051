/* Each result of each callback that can refuse: whether the handshake is done, what waits, and the alert. A refusal is
   not lost, also when the client is asked for its certificate after the handshake, and the connection is used later. */
#include "../c/test.h"

enum callback { SERVER_NAME, CLIENT_HELLO, SERVER_CERTIFICATE, PROTOCOL, CLIENT_CERTIFICATE, OLD_CLIENT_CERTIFICATE,
                VERIFY, WHOLE, CALLBACKS };

static const char *const names[] = {"server name",
                                    "ClientHello",
                                    "the server's certificate",
                                    "protocol",
                                    "the client's certificate",
                                    "the client's certificate, older callback",
                                    "verification",
                                    "verification of the whole chain"};

static int result, calls, length_of_protocol;
/* What the older callback passes on. */
static enum { BOTH, ONLY_A_CERTIFICATE, ONLY_A_KEY, KEY_OF_ANOTHER, NEITHER, GIFTS } gift;
/* The reasons of the oldest error of each side. */
static int reasons[2];
/* The fatal alerts that the sides sent. */
static int alerts[2];

static void on_info(const SSL *ssl, int where, int value) {
    if ((where & SSL_CB_WRITE_ALERT) == SSL_CB_WRITE_ALERT && value >> 8 == SSL3_AL_FATAL)
        alerts[SSL_is_server(ssl)] = value & 0xff;
}

static int on_hello(SSL *ssl, int *alert, void *argument) {
    (void)ssl, (void)alert, (void)argument;
    calls++;
    return result;
}

static int on_certificate(SSL *ssl, void *argument) {
    (void)ssl, (void)argument;
    calls++;
    return result;
}

static int on_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                       unsigned int length, void *argument) {
    (void)ssl, (void)length, (void)argument;
    calls++;
    *out = in + 1;
    *out_length = (unsigned char)length_of_protocol;
    return result;
}

static int on_old(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
    (void)ssl;
    calls++;
    if (result >= 0) {
        if (gift == BOTH || gift == ONLY_A_CERTIFICATE || gift == KEY_OF_ANOTHER)
            *certificate = read_certificate("client.pem");
        if (gift == BOTH || gift == ONLY_A_KEY)
            *key = read_key("client.key");
        if (gift == KEY_OF_ANOTHER)
            *key = read_key("server.key");
    }
    return result;
}

static int on_verify(int ok, X509_STORE_CTX *verification) {
    (void)ok, (void)verification;
    calls++;
    return result;
}

static int on_whole(X509_STORE_CTX *verification, void *argument) {
    (void)argument;
    calls++;
    /* A result of the chain that does not decide. */
    X509_STORE_CTX_set_error(verification, X509_V_OK);
    return result;
}

/* Whether the client has another certificate: one that fits, or one of a kind that the server does not accept. */
static int has_other;

static void use_certificate(SSL *ssl) {
    CHECK(SSL_use_certificate_file(ssl, material("client.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_use_PrivateKey_file(ssl, material("client.key"), SSL_FILETYPE_PEM) == 1);
}

static struct pair with(enum callback callback, int version) {
    struct pair pair = new_pair(version, 1 << 14);
    SSL_CTX_set_info_callback(pair.client_ctx, on_info);
    SSL_CTX_set_info_callback(pair.server_ctx, on_info);
    CHECK(SSL_set_tlsext_host_name(pair.client, "server.test") == 1);
    CHECK(SSL_set_alpn_protos(pair.client, (const unsigned char *)"\2h2", 3) == 0);
    calls = 0;
    alerts[0] = alerts[1] = -1;
    reasons[0] = reasons[1] = 0;
    switch (callback) {
    case SERVER_NAME:
        SSL_CTX_set_tlsext_servername_callback(pair.server_ctx, on_hello);
        break;
    case CLIENT_HELLO:
        SSL_CTX_set_client_hello_cb(pair.server_ctx, on_hello, NULL);
        break;
    case SERVER_CERTIFICATE:
        SSL_set_cert_cb(pair.server, on_certificate, NULL);
        break;
    case PROTOCOL:
        SSL_CTX_set_alpn_select_cb(pair.server_ctx, on_protocol, NULL);
        break;
    case CLIENT_CERTIFICATE:
        use_certificate(pair.client);
        SSL_set_cert_cb(pair.client, on_certificate, NULL);
        break;
    case OLD_CLIENT_CERTIFICATE:
        SSL_CTX_set_client_cert_cb(pair.client_ctx, on_old);
        if (has_other == 1)
            use_certificate(pair.client);
        if (has_other == 2) {
            CHECK(SSL_use_certificate_file(pair.client, material("rsa.pem"), SSL_FILETYPE_PEM) == 1);
            CHECK(SSL_use_PrivateKey_file(pair.client, material("rsa.key"), SSL_FILETYPE_PEM) == 1);
            CHECK(SSL_set1_client_sigalgs_list(pair.server, "ECDSA+SHA256") == 1);
        }
        break;
    case VERIFY:
        SSL_set_verify(pair.client, SSL_VERIFY_PEER, on_verify);
        break;
    default:
        SSL_CTX_set_cert_verify_callback(pair.client_ctx, on_whole, NULL);
    }
    CHECK(SSL_CTX_load_verify_locations(pair.server_ctx, material("root.pem"), NULL) == 1);
    return pair;
}

static void note_reason(SSL *ssl) {
    unsigned long error = ERR_peek_error();
    if (error != 0)
        reasons[SSL_is_server(ssl)] = ERR_GET_REASON(error);
    ERR_clear_error();
}

/* Continues a side, unless it has failed or waits for a callback. Returns the newest error. */
static int step(SSL *ssl, int error) {
    if (error != SSL_ERROR_WANT_READ)
        return error;
    int done = SSL_do_handshake(ssl);
    error = done == 1 ? SSL_ERROR_WANT_READ : SSL_get_error(ssl, done);
    note_reason(ssl);
    return error;
}

static void show_sides(struct pair *pair, int client, int server) {
    const unsigned char *protocol;
    unsigned length;
    SSL_get0_alpn_selected(pair->server, &protocol, &length);
    printf(" client error %d reason %d init %d, server error %d reason %d init %d, called %d, alerts %d %d,"
           " protocol %u, certificate %d\n",
           client, reasons[0], SSL_in_init(pair->client), server, reasons[1], SSL_in_init(pair->server), calls > 0,
           alerts[0], alerts[1], server == SSL_ERROR_WANT_READ ? length : 0,
           !SSL_in_init(pair->server) && SSL_get0_peer_certificate(pair->server) != NULL);
}

static void in_handshake(enum callback callback, int version) {
    struct pair pair = with(callback, version);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER, NULL);
    int client = SSL_ERROR_WANT_READ, server = SSL_ERROR_WANT_READ;
    for (int turn = 0; turn < 10; turn++) {
        client = step(pair.client, client);
        server = step(pair.server, server);
    }
    printf("version %x, %s returns %d:", (unsigned)version, names[callback], result);
    /* A refusal without an error has another alert on Tercel. */
    if (callback == VERIFY && alerts[0] >= 0)
        alerts[0] = reasons[1] = 0;
    /* Without a name, OpenSSL reports that memory is short. */
    if (length_of_protocol == 0)
        reasons[1] = 0;
    show_sides(&pair, client, server);
    free_pair(&pair);
}

/* A read of a client, or of a server. */
static int read_byte(SSL *ssl) {
    char byte;
    int count = SSL_read(ssl, &byte, 1), error = SSL_get_error(ssl, count);
    note_reason(ssl);
    return error;
}

/* The client is asked after the handshake. A callback that waits is called again by `again`. */
static void after_handshake(enum callback callback, int again) {
    int asked = result;
    struct pair pair = with(callback, TLS1_3_VERSION);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE, NULL);
    SSL_set_post_handshake_auth(pair.client, 1);
    result = 1;
    CHECK(shake(&pair));
    result = asked;
    calls = 0;
    CHECK(SSL_verify_client_post_handshake(pair.server) == 1 && SSL_do_handshake(pair.server) == 1);
    printf("after the handshake, %s returns %d:", names[callback], result);
    int client = read_byte(pair.client);
    show_sides(&pair, client, SSL_ERROR_WANT_READ);
    if (again == 1)
        result = 1;
    /* The connection cannot be used before the callback has succeeded. */
    printf("    then it returns %d: handshake %d", result, SSL_do_handshake(pair.client));
    ERR_clear_error();
    printf(", write %d", SSL_write(pair.client, "x", 1));
    ERR_clear_error();
    client = read_byte(pair.client);
    int server = read_byte(pair.server);
    show_sides(&pair, client, server);
    free_pair(&pair);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int callback = 0; callback < CALLBACKS; callback++)
            for (result = -2; result <= 4; result++) {
                length_of_protocol = 2;
                in_handshake(callback, version);
            }
    length_of_protocol = 0;
    result = SSL_TLSEXT_ERR_OK;
    in_handshake(PROTOCOL, TLS1_2_VERSION);
    in_handshake(PROTOCOL, TLS1_3_VERSION);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (gift = 0; gift < GIFTS; gift++)
            for (has_other = 0; has_other < 3; has_other++)
                for (result = -1; result <= 2; result++) {
                    printf("gift %d, other %d: ", gift, has_other);
                    in_handshake(OLD_CLIENT_CERTIFICATE, version);
                }
    gift = BOTH;
    has_other = 0;
    for (int again = 0; again < 2; again++)
        for (int value = -1; value <= 2; value++) {
            result = value;
            after_handshake(CLIENT_CERTIFICATE, again);
            result = value;
            after_handshake(OLD_CLIENT_CERTIFICATE, again);
        }
    return 0;
}
