/* What the functions of a connection return while one of its callbacks runs, in its own thread and in another one. */
#include "../c/test.h"

#include <pthread.h>

static struct pair pair;

/* The callbacks and states that were shown for this connection. */
static char shown[400][80];
static int shown_count;

static int is_new(const char *place) {
    for (int i = 0; i < shown_count; i++)
        if (strcmp(shown[i], place) == 0)
            return 0;
    CHECK(shown_count < 400);
    strcpy(shown[shown_count++], place);
    return 1;
}

static int id_length(const SSL_SESSION *session) {
    unsigned length = 0;
    if (session != NULL)
        SSL_SESSION_get_id(session, &length);
    return (int)length;
}

static int is_set(const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return 1;
    return 0;
}

struct question {
    SSL *ssl;
    char answer[2000];
};

#define ADD(...) at += (size_t)snprintf(question->answer + at, sizeof question->answer - at, __VA_ARGS__)

/* Calls the functions. */
static void *ask(void *argument) {
    struct question *question = argument;
    SSL *ssl = question->ssl;
    size_t at = 0;
    unsigned char bytes[64] = {0};
    const unsigned char *protocol = NULL, *status;
    unsigned length = 0;
    int nid = -1, result;
    const SSL_CIPHER *cipher = SSL_get_current_cipher(ssl), *pending = SSL_get_pending_cipher(ssl);
    SSL_SESSION *session = SSL_get_session(ssl);
    ADD("version %s, suite %s, pending %s\n", SSL_get_version(ssl), cipher == NULL ? "none" : SSL_CIPHER_get_name(cipher),
        pending == NULL ? "none" : SSL_CIPHER_get_name(pending));
    ADD("in_init %d, in_before %d, finished %d, is server %d, want %d, shutdown %d, pending %d, has pending %d\n",
        SSL_in_init(ssl), SSL_in_before(ssl), SSL_is_init_finished(ssl), SSL_is_server(ssl), SSL_want(ssl),
        SSL_get_shutdown(ssl), SSL_pending(ssl), SSL_has_pending(ssl));
    ADD("session %d, ID %d, reused %d, resumable %d, version %x, peer %d, lifetime %d\n", session != NULL,
        id_length(session) > 0, SSL_session_reused(ssl), session != NULL && SSL_SESSION_is_resumable(session),
        session == NULL ? 0 : (unsigned)SSL_SESSION_get_protocol_version(session),
        session != NULL && SSL_SESSION_get0_peer(session) != NULL,
        session != NULL && SSL_SESSION_get_ticket_lifetime_hint(session) > 0);
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    ADD("peer certificate %d, chain %d, verified chain %d, result %ld\n", SSL_get0_peer_certificate(ssl) != NULL,
        chain == NULL ? -1 : sk_X509_num(chain), SSL_get0_verified_chain(ssl) != NULL, SSL_get_verify_result(ssl));
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    ADD("ALPN %u, name %s (%d), status type %ld, response %ld\n", length, name == NULL ? "none" : name,
        SSL_get_servername_type(ssl), SSL_get_tlsext_status_type(ssl), SSL_get_tlsext_status_ocsp_resp(ssl, &status));
    size_t own = SSL_get_finished(ssl, bytes, sizeof bytes), other = SSL_get_peer_finished(ssl, bytes, sizeof bytes);
    ADD("finished %zu, peer's %zu, ", own, other);
    memset(bytes, 0, sizeof bytes);
    SSL_get_client_random(ssl, bytes, 32);
    ADD("client random %d, ", is_set(bytes, 32));
    memset(bytes, 0, sizeof bytes);
    SSL_get_server_random(ssl, bytes, 32);
    ADD("server random %d, ", is_set(bytes, 32));
    /* Before, it crashes in OpenSSL. */
    result = SSL_is_init_finished(ssl) ? SSL_export_keying_material(ssl, bytes, 32, "label", 5, NULL, 0, 0) : -1;
    ADD("export %d\n", result);
    result = SSL_get_peer_signature_nid(ssl, &nid);
    ADD("peer's signature %d %d, ", result, result == 1 ? nid : 0);
    result = SSL_get_signature_nid(ssl, &nid);
    ADD("own %d %d, ", result, result == 1 ? nid : 0);
    result = SSL_is_server(ssl) ? (int)SSL_get_shared_group(ssl, 0) : 0;
    ADD("group %x, negotiated %x, ", (unsigned)result, session == NULL ? 0 : (unsigned)SSL_get_negotiated_group(ssl));
    ADD("own certificate %d, early data %d, secure renegotiation %ld\n", SSL_get_certificate(ssl) != NULL,
        SSL_get_early_data_status(ssl), SSL_get_secure_renegotiation_support(ssl));
    ERR_clear_error();
    return NULL;
}

/* Prints the lines of an answer that are not in the one before. */
static void print_changes(const char *answer, char *before) {
    char line[300];
    for (const char *at = answer, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        snprintf(line, sizeof line, "%.*s\n", (int)(end - at), at);
        if (strstr(before, line) == NULL)
            printf("    %s", line);
    }
    strcpy(before, answer);
}

static void show(const SSL *ssl, const char *callback) {
    static char before[2][2000];
    char place[80];
    int is_server = ssl == pair.server;
    snprintf(place, sizeof place, "%s %s %s", is_server ? "server" : "client", callback, SSL_state_string(ssl));
    if (!is_new(place))
        return;
    struct question here = {(SSL *)ssl, ""}, there = here;
    pthread_t thread;
    ask(&here);
    printf("  %s\n", place);
    print_changes(here.answer, before[is_server]);
    CHECK(pthread_create(&thread, NULL, ask, &there) == 0 && pthread_join(thread, NULL) == 0);
    if (strcmp(here.answer, there.answer) != 0) {
        printf("    in another thread\n");
        print_changes(there.answer, before[is_server]);
    }
}

/* Callbacks. */

static void on_info(const SSL *ssl, int where, int value) {
    char callback[40];
    (void)value;
    snprintf(callback, sizeof callback, "info %x", (unsigned)where);
    show(ssl, callback);
}

static void on_message(int written, int version, int type, const void *bytes, size_t length, SSL *ssl, void *unused) {
    char callback[40];
    (void)version, (void)unused;
    if (type != SSL3_RT_HANDSHAKE || length == 0)
        return;
    snprintf(callback, sizeof callback, "%s %d", written ? "sent" : "received", *(const unsigned char *)bytes);
    show(ssl, callback);
}

static void on_keylog(const SSL *ssl, const char *line) {
    char label[40];
    sscanf(line, "%39s", label);
    show(ssl, label);
}

static int on_new_session(SSL *ssl, SSL_SESSION *session) {
    show(ssl, "new session");
    return ssl == pair.client ? keep_newest(ssl, session) : 0;
}

static int on_verify(int ok, X509_STORE_CTX *store) {
    char callback[40];
    snprintf(callback, sizeof callback, "verify %d", X509_STORE_CTX_get_error_depth(store));
    show(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()), callback);
    return ok;
}

static int on_certificate(SSL *ssl, void *unused) {
    (void)unused;
    show(ssl, "certificate");
    return 1;
}

static int on_hello(SSL *ssl, int *alert, void *unused) {
    (void)alert, (void)unused;
    show(ssl, "ClientHello");
    return SSL_CLIENT_HELLO_SUCCESS;
}

static int on_name(SSL *ssl, int *alert, void *unused) {
    (void)alert, (void)unused;
    show(ssl, "name");
    return SSL_TLSEXT_ERR_OK;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in,
                   unsigned in_length, void *unused) {
    (void)in_length, (void)unused;
    show(ssl, "ALPN");
    *out = in + 1;
    *length = in[0];
    return SSL_TLSEXT_ERR_OK;
}

static int on_status(SSL *ssl, void *unused) {
    (void)unused;
    show(ssl, "status");
    return ssl == pair.client ? 1 : SSL_TLSEXT_ERR_NOACK;
}

static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                     int seals) {
    show(ssl, seals ? "seals a ticket" : "opens a ticket");
    return use_ticket_key(name, iv, cipher, mac, seals);
}

static SSL_SESSION *on_get_session(SSL *ssl, const unsigned char *id, int length, int *copies) {
    (void)id, (void)length;
    *copies = 0;
    show(ssl, "get session");
    return NULL;
}

static int generate_id(SSL *ssl, unsigned char *id, unsigned *length) {
    static int count;
    show(ssl, "session ID");
    memset(id, ++count, *length);
    return 1;
}

static void set_callbacks(SSL_CTX *ctx) {
    SSL_CTX_set_info_callback(ctx, on_info);
    SSL_CTX_set_msg_callback(ctx, on_message);
    SSL_CTX_set_keylog_callback(ctx, on_keylog);
    SSL_CTX_sess_set_new_cb(ctx, on_new_session);
    SSL_CTX_set_cert_cb(ctx, on_certificate, NULL);
    SSL_CTX_set_tlsext_status_cb(ctx, on_status);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verify);
}

static void try(const char *what, int version, int has_tickets) {
    char byte;
    SSL_CTX *client_ctx = client_context(version), *server_ctx = server_context(version);
    set_callbacks(client_ctx);
    set_callbacks(server_ctx);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    CHECK(SSL_CTX_set_alpn_protos(client_ctx, (const unsigned char *)"\2h2", 3) == 0);
    SSL_CTX_set_tlsext_status_type(client_ctx, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_client_hello_cb(server_ctx, on_hello, NULL);
    SSL_CTX_set_tlsext_servername_callback(server_ctx, on_name);
    SSL_CTX_set_alpn_select_cb(server_ctx, on_alpn, NULL);
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"reentry", 7);
    SSL_CTX_sess_set_get_cb(server_ctx, on_get_session);
    SSL_CTX_set_generate_session_id(server_ctx, generate_id);
    CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
    if (has_tickets)
        SSL_CTX_set_tlsext_ticket_key_evp_cb(server_ctx, on_ticket);
    else
        SSL_CTX_set_options(server_ctx, SSL_OP_NO_TICKET);
    for (int resumed = 0; resumed < 2; resumed++) {
        printf("%s, version %x, %s\n", what, (unsigned)version, resumed ? "resumed" : "first");
        shown_count = 0;
        SSL_CTX_up_ref(client_ctx);
        SSL_CTX_up_ref(server_ctx);
        pair = pair_of(client_ctx, server_ctx, 1 << 14);
        SSL_set_tlsext_host_name(pair.client, "server.test");
        CHECK(SSL_use_certificate_file(pair.client, material("client.pem"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_use_PrivateKey_file(pair.client, material("client.key"), SSL_FILETYPE_PEM) == 1);
        if (resumed)
            CHECK(newest_session != NULL && SSL_set_session(pair.client, newest_session) == 1);
        CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, &byte, 1) == 1);
        if (version == TLS1_3_VERSION) {
            CHECK(SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_write(pair.client, "y", 1) == 1);
            CHECK(SSL_read(pair.server, &byte, 1) == 1);
        }
        CHECK(SSL_shutdown(pair.client) == 0 && SSL_read(pair.server, &byte, 1) == 0);
        CHECK(SSL_shutdown(pair.server) == 1 && SSL_shutdown(pair.client) == 1);
        drop_pair(&pair);
    }
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
}

int main(void) {
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        try("tickets", version, 1);
        try("session IDs", version, 0);
    }
    SSL_SESSION_free(newest_session);
    return 0;
}
