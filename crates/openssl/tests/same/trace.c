/* Each callback, each call of a BIO, each result and each error of both sides, in their order. */
#include "../c/test.h"

static struct pair pair;

static const char *side(const SSL *ssl) { return ssl == pair.client ? "client" : ssl == pair.server ? "server" : "other"; }

/* Events that are repeated at once are shown once. */
static void show(const SSL *ssl, const char *event, const char *detail) {
    static char last[200];
    char line[200];
    snprintf(line, sizeof line, "  %s %s %s [%s]", side(ssl), event, detail, SSL_state_string(ssl));
    if (strcmp(line, last) != 0)
        puts(line);
    strcpy(last, line);
}

static void show_number(const SSL *ssl, const char *event, int number) {
    char detail[16];
    snprintf(detail, sizeof detail, "%d", number);
    show(ssl, event, detail);
}

/* Callbacks. */

static void on_info(const SSL *ssl, int where, int value) {
    char detail[40];
    /* OpenSSL reports each state when it leaves it, this library when it reaches it. */
    if (where & SSL_CB_LOOP)
        return;
    snprintf(detail, sizeof detail, "%x %x", (unsigned)where, (unsigned)value);
    show(ssl, "info", detail);
}

static void on_message(int written, int version, int type, const void *bytes, size_t length, SSL *ssl, void *unused) {
    char detail[60];
    (void)unused;
    /* This library shows no headers of records. */
    if (type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE)
        return;
    int first = length == 0 || type == SSL3_RT_CHANGE_CIPHER_SPEC ? 0 : *(const unsigned char *)bytes;
    snprintf(detail, sizeof detail, "%s %x %d %d", written ? "sent" : "received", (unsigned)version, type, first);
    show(ssl, "message", detail);
}

static void on_keylog(const SSL *ssl, const char *line) {
    char label[40];
    sscanf(line, "%39s", label);
    show(ssl, "key log", label);
}

/* The index of the application's data of sessions. */
static int data;

static int on_new_session(SSL *ssl, SSL_SESSION *session) {
    char detail[40];
    snprintf(detail, sizeof detail, "%d data %d", SSL_SESSION_is_resumable(session),
             SSL_SESSION_get_ex_data(session, data) != NULL);
    show(ssl, "new session", detail);
    return ssl == pair.client ? keep_newest(ssl, session) : 0;
}

static void on_removed_session(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)session;
    printf("  %s removed session\n", ctx == pair.client_ctx ? "client" : "server");
}

static SSL_SESSION *on_get_session(SSL *ssl, const unsigned char *id, int length, int *copies) {
    (void)id;
    *copies = 0;
    show_number(ssl, "get session", length);
    return NULL;
}

static int generate_id(SSL *ssl, unsigned char *id, unsigned *length) {
    show_number(ssl, "session ID", (int)*length);
    memset(id, 5, *length);
    return 1;
}

static int verified = 1;

static int on_verify(int ok, X509_STORE_CTX *store) {
    char detail[60];
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    snprintf(detail, sizeof detail, "%d depth %d error %d", ok, X509_STORE_CTX_get_error_depth(store),
             X509_STORE_CTX_get_error(store));
    show(ssl, "verify", detail);
    return ok && verified;
}

static int on_certificate(SSL *ssl, void *unused) {
    (void)unused;
    show(ssl, "certificate", "");
    return 1;
}

static int on_hello(SSL *ssl, int *alert, void *unused) {
    (void)alert, (void)unused;
    show(ssl, "ClientHello", "");
    return SSL_CLIENT_HELLO_SUCCESS;
}

static int on_name(SSL *ssl, int *alert, void *unused) {
    (void)alert, (void)unused;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    show(ssl, "name", name == NULL ? "" : name);
    return SSL_TLSEXT_ERR_OK;
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in,
                   unsigned in_length, void *unused) {
    (void)unused;
    show_number(ssl, "ALPN", (int)in_length);
    *out = in + 1;
    *length = in[0];
    return SSL_TLSEXT_ERR_OK;
}

static int on_status(SSL *ssl, void *unused) {
    (void)unused;
    show(ssl, "status", "");
    return ssl == pair.client ? 1 : SSL_TLSEXT_ERR_NOACK;
}

static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                     int seals) {
    show_number(ssl, "ticket", seals);
    return use_ticket_key(name, iv, cipher, mac, seals);
}

static int on_early_data(SSL *ssl, void *unused) {
    (void)unused;
    show(ssl, "early data", "");
    return 1;
}

static int on_client_certificate(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
    (void)certificate, (void)key;
    show(ssl, "client certificate", "");
    return 0;
}

/* A BIO that shows its calls. */

static SSL *owner(BIO *bio) { return BIO_get_callback_arg(bio) == (char *)"client" ? pair.client : pair.server; }

static long on_bio(BIO *bio, int operation, const char *bytes, size_t length, int command, long number, int result,
                   size_t *processed) {
    (void)bytes, (void)length, (void)number, (void)processed;
    switch (operation) {
    case BIO_CB_READ | BIO_CB_RETURN:
        /* How many reads a record takes is the library's own affair. */
        if (result <= 0)
            show(owner(bio), "BIO read", BIO_should_retry(bio) ? "retry" : "end");
        break;
    case BIO_CB_WRITE | BIO_CB_RETURN:
        show(owner(bio), "BIO write", result > 0 ? "" : BIO_should_retry(bio) ? "retry" : "failed");
        break;
    case BIO_CB_CTRL:
        if (command == BIO_CTRL_FLUSH)
            show(owner(bio), "BIO flush", "");
        break;
    }
    return result;
}

/* Calls. */

static int report(SSL *ssl, const char *call, int result) {
    char detail[60];
    snprintf(detail, sizeof detail, "%d error %d", result, SSL_get_error(ssl, result));
    show(ssl, call, detail);
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        show(ssl, "queue", ERR_reason_error_string(error));
    return result;
}

static void shake_slowly(void) {
    int client = 0, server = 0;
    for (int turn = 0; turn < 10 && (client != 1 || server != 1); turn++) {
        if (client != 1)
            client = report(pair.client, "SSL_do_handshake", SSL_do_handshake(pair.client));
        if (client == 1)
            SSL_SESSION_set_ex_data(SSL_get_session(pair.client), data, &pair);
        if (SSL_get_error(pair.client, client) == SSL_ERROR_SSL)
            turn = 9;
        if (server != 1)
            server = report(pair.server, "SSL_do_handshake", SSL_do_handshake(pair.server));
        if (SSL_get_error(pair.server, server) == SSL_ERROR_SSL)
            turn = turn < 8 ? 8 : turn;
    }
}

static void exchange(void) {
    char byte;
    report(pair.server, "SSL_write", SSL_write(pair.server, "x", 1));
    report(pair.client, "SSL_read", SSL_read(pair.client, &byte, 1));
    report(pair.client, "SSL_write", SSL_write(pair.client, "y", 1));
    report(pair.server, "SSL_peek", SSL_peek(pair.server, &byte, 1));
    report(pair.server, "SSL_read", SSL_read(pair.server, &byte, 1));
    report(pair.server, "SSL_read", SSL_read(pair.server, &byte, 1));
}

static void shut_down(void) {
    char byte;
    report(pair.client, "SSL_shutdown", SSL_shutdown(pair.client));
    report(pair.server, "SSL_read", SSL_read(pair.server, &byte, 1));
    report(pair.server, "SSL_shutdown", SSL_shutdown(pair.server));
    report(pair.client, "SSL_shutdown", SSL_shutdown(pair.client));
}

/* Connections. */

static SSL_CTX *client_ctx, *server_ctx;

static void set_callbacks(SSL_CTX *ctx) {
    SSL_CTX_set_info_callback(ctx, on_info);
    SSL_CTX_set_msg_callback(ctx, on_message);
    SSL_CTX_set_keylog_callback(ctx, on_keylog);
    SSL_CTX_sess_set_new_cb(ctx, on_new_session);
    SSL_CTX_sess_set_remove_cb(ctx, on_removed_session);
    SSL_CTX_sess_set_get_cb(ctx, on_get_session);
    SSL_CTX_set_cert_cb(ctx, on_certificate, NULL);
    SSL_CTX_set_tlsext_status_cb(ctx, on_status);
}

static void make_contexts(int version) {
    client_ctx = client_context(version);
    server_ctx = server_context(version);
    set_callbacks(client_ctx);
    set_callbacks(server_ctx);
    SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, on_verify);
    SSL_CTX_set_session_cache_mode(client_ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_set_client_cert_cb(client_ctx, on_client_certificate);
    CHECK(SSL_CTX_set_alpn_protos(client_ctx, (const unsigned char *)"\2ab", 3) == 0);
    SSL_CTX_set_tlsext_status_type(client_ctx, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_generate_session_id(server_ctx, generate_id);
    SSL_CTX_set_client_hello_cb(server_ctx, on_hello, NULL);
    SSL_CTX_set_tlsext_servername_callback(server_ctx, on_name);
    SSL_CTX_set_alpn_select_cb(server_ctx, on_alpn, NULL);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(server_ctx, on_ticket);
    SSL_CTX_set_allow_early_data_cb(server_ctx, on_early_data, NULL);
    SSL_CTX_set_session_id_context(server_ctx, (const unsigned char *)"trace", 5);
    CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
}

static void start(const char *name, int version) {
    printf("%s, version %x\n", name, (unsigned)version);
    SSL_CTX_up_ref(client_ctx);
    SSL_CTX_up_ref(server_ctx);
    pair = pair_of(client_ctx, server_ctx, 1 << 14);
    SSL_set_tlsext_host_name(pair.client, "server.test");
    BIO_set_callback_ex(SSL_get_rbio(pair.client), on_bio);
    BIO_set_callback_arg(SSL_get_rbio(pair.client), "client");
    BIO_set_callback_ex(SSL_get_rbio(pair.server), on_bio);
    BIO_set_callback_arg(SSL_get_rbio(pair.server), "server");
}

static void end(void) {
    drop_pair(&pair);
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
}

static void give_certificate(void) {
    CHECK(SSL_use_certificate_file(pair.client, material("client.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_use_PrivateKey_file(pair.client, material("client.key"), SSL_FILETYPE_PEM) == 1);
}

static void resumed(int version, long options) {
    make_contexts(version);
    SSL_CTX_set_options(server_ctx, options);
    start(options ? "first, without tickets" : "first", version);
    shake_slowly();
    exchange();
    shut_down();
    drop_pair(&pair);
    start(options ? "resumed, without tickets" : "resumed", version);
    CHECK(newest_session != NULL && SSL_set_session(pair.client, newest_session) == 1);
    shake_slowly();
    exchange();
    shut_down();
    end();
}

static void authenticated(int version, int has_certificate, int demand) {
    make_contexts(version);
    start(has_certificate ? "client certificate" : demand ? "no client certificate" : "an optional certificate", version);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | demand, on_verify);
    if (has_certificate)
        give_certificate();
    shake_slowly();
    exchange();
    end();
}

static void refused(int version, int by_server) {
    make_contexts(version);
    start(by_server ? "refused by the server" : "refused by the client", version);
    give_certificate();
    SSL_set_verify(pair.server, SSL_VERIFY_PEER, on_verify);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(by_server ? pair.server : pair.client), 1);
    shake_slowly();
    exchange();
    end();
}

static void late_certificate(int has_certificate) {
    char byte;
    make_contexts(TLS1_3_VERSION);
    start(has_certificate ? "late certificate" : "no late certificate", TLS1_3_VERSION);
    if (has_certificate)
        give_certificate();
    SSL_set_post_handshake_auth(pair.client, 1);
    SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE, on_verify);
    shake_slowly();
    exchange();
    report(pair.server, "SSL_verify_client_post_handshake", SSL_verify_client_post_handshake(pair.server));
    report(pair.server, "SSL_do_handshake", SSL_do_handshake(pair.server));
    report(pair.client, "SSL_read", SSL_read(pair.client, &byte, 1));
    report(pair.server, "SSL_read", SSL_read(pair.server, &byte, 1));
    exchange();
    end();
}

static void key_update(void) {
    make_contexts(TLS1_3_VERSION);
    start("key update", TLS1_3_VERSION);
    shake_slowly();
    exchange();
    report(pair.client, "SSL_key_update", SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED));
    exchange();
    report(pair.server, "SSL_key_update", SSL_key_update(pair.server, SSL_KEY_UPDATE_NOT_REQUESTED));
    report(pair.server, "SSL_do_handshake", SSL_do_handshake(pair.server));
    exchange();
    end();
}

static void second_hello(void) {
    make_contexts(TLS1_3_VERSION);
    CHECK(SSL_CTX_set1_groups_list(client_ctx, "X25519:P-256") == 1 && SSL_CTX_set1_groups_list(server_ctx, "P-256") == 1);
    start("second ClientHello", TLS1_3_VERSION);
    shake_slowly();
    exchange();
    end();
}

static void early_data(void) {
    char bytes[10];
    size_t count;
    make_contexts(TLS1_3_VERSION);
    SSL_CTX_set_max_early_data(server_ctx, 1000);
    start("before early data", TLS1_3_VERSION);
    shake_slowly();
    exchange();
    shut_down();
    drop_pair(&pair);
    start("early data", TLS1_3_VERSION);
    CHECK(newest_session != NULL && SSL_set_session(pair.client, newest_session) == 1);
    report(pair.client, "SSL_write_early_data", SSL_write_early_data(pair.client, "early", 5, &count));
    for (int turn = 0, result = 1; turn < 3 && result != SSL_READ_EARLY_DATA_FINISH; turn++)
        result = report(pair.server, "SSL_read_early_data",
                        SSL_read_early_data(pair.server, bytes, sizeof bytes, &count));
    report(pair.client, "SSL_do_handshake", SSL_do_handshake(pair.client));
    report(pair.server, "SSL_read_early_data", SSL_read_early_data(pair.server, bytes, sizeof bytes, &count));
    shake_slowly();
    exchange();
    end();
}

static void nothing_in_common(int version) {
    make_contexts(version);
    if (version == TLS1_2_VERSION) {
        CHECK(SSL_CTX_set_cipher_list(client_ctx, "ECDHE-ECDSA-AES128-GCM-SHA256") == 1);
        CHECK(SSL_CTX_set_cipher_list(server_ctx, "ECDHE-ECDSA-AES256-GCM-SHA384") == 1);
    } else {
        CHECK(SSL_CTX_set_ciphersuites(client_ctx, "TLS_AES_128_GCM_SHA256") == 1);
        CHECK(SSL_CTX_set_ciphersuites(server_ctx, "TLS_AES_256_GCM_SHA384") == 1);
    }
    start("no common suite", version);
    shake_slowly();
    exchange();
    end();
}

static void damaged(int version) {
    make_contexts(version);
    start("a damaged record", version);
    shake_slowly();
    exchange();
    send_damaged_record(pair.client);
    exchange();
    shut_down();
    end();
}

int main(void) {
    data = SSL_SESSION_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        resumed(version, 0);
        resumed(version, SSL_OP_NO_TICKET);
        authenticated(version, 1, SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
        authenticated(version, 0, SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
        authenticated(version, 0, 0);
        refused(version, 0);
        refused(version, 1);
        nothing_in_common(version);
        damaged(version);
    }
    late_certificate(1);
    late_certificate(0);
    key_update();
    second_hello();
    early_data();
    SSL_SESSION_free(newest_session);
    return 0;
}
