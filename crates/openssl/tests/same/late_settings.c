/* Settings of a context that are changed after SSL_new, or in a callback of the handshake: which of them a connection
   uses. Each line is the outcome of a handshake and what was called. */
#include "../c/test.h"

static char called[256];

static void note(const char *what) {
    if (strstr(called, what) == NULL) {
        strcat(called, " ");
        strcat(called, what);
    }
}

static int reject_chain(X509_STORE_CTX *verification, void *argument) {
    (void)argument;
    note("verify");
    X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

static int give_certificate(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
    (void)ssl;
    note("client_cert");
    BIO *file = BIO_new_file(material("client.pem"), "r");
    *certificate = PEM_read_bio_X509(file, NULL, NULL, NULL);
    BIO_free(file);
    file = BIO_new_file(material("client.key"), "r");
    *key = PEM_read_bio_PrivateKey(file, NULL, NULL, NULL);
    BIO_free(file);
    return 1;
}

static int reject_name(SSL *ssl, int *alert, void *argument) {
    (void)ssl, (void)alert, (void)argument;
    note("servername");
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int reject_hello(SSL *ssl, int *alert, void *argument) {
    (void)ssl, (void)alert, (void)argument;
    note("client_hello");
    return SSL_CLIENT_HELLO_ERROR;
}

static int reject_protocol(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *in,
                           unsigned int in_length, void *argument) {
    (void)ssl, (void)out, (void)length, (void)in, (void)in_length, (void)argument;
    note("alpn");
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int reject_status(SSL *ssl, void *argument) {
    (void)argument;
    note(SSL_is_server(ssl) ? "status" : "client_status");
    return SSL_is_server(ssl) ? SSL_TLSEXT_ERR_NOACK : 0;
}

static void see_key(const SSL *ssl, const char *line) {
    (void)ssl, (void)line;
    note("keylog");
}

static void see_info(const SSL *ssl, int where, int value) {
    (void)ssl, (void)where, (void)value;
    note("info");
}

static int see_session(SSL *ssl, SSL_SESSION *session) {
    (void)ssl, (void)session;
    note("new_session");
    return 0;
}

static int ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                      int seals) {
    (void)ssl;
    note("ticket_key");
    return use_ticket_key(name, iv, cipher, mac, seals) ? 1 : -1;
}

static int generate_ticket(SSL *ssl, void *argument) {
    (void)ssl, (void)argument;
    note("generate_ticket");
    return 1;
}

static SSL_TICKET_RETURN decrypt_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *name, size_t length,
                                        SSL_TICKET_STATUS status, void *argument) {
    (void)ssl, (void)session, (void)name, (void)length, (void)status, (void)argument;
    note("decrypt_ticket");
    return SSL_TICKET_RETURN_IGNORE_RENEW;
}

/* Callbacks that a connection copies in SSL_new. */
static int reject_certificate(int ok, X509_STORE_CTX *verification) {
    (void)ok, (void)verification;
    note("verify_callback");
    return 0;
}

static int reject_own_certificate(SSL *ssl, void *argument) {
    (void)ssl, (void)argument;
    note("cert_cb");
    return 0;
}

/* A store without roots: chains that were trusted are not any more. */
static void set_empty_store(SSL_CTX *ctx) {
    SSL_CTX_set_cert_store(ctx, X509_STORE_new());
}

static STACK_OF(X509_NAME) *names(void) {
    return SSL_load_client_CA_file(material("other.pem"));
}

enum setting {
    NOTHING,
    VERIFY_CHAIN,
    VERIFY_CHAIN_OF_SERVER,
    CLIENT_CERT,
    STORE,
    STORE_OF_SERVER,
    SERVERNAME,
    CLIENT_HELLO,
    ALPN,
    STATUS,
    CLIENT_STATUS,
    KEYLOG,
    CLIENT_KEYLOG,
    INFO,
    CLIENT_INFO,
    INFO_REMOVED,
    NEW_SESSION,
    CLIENT_NEW_SESSION,
    TICKET_KEY,
    TICKET_CALLBACKS,
    CIPHERS,
    CLIENT_CIPHERS,
    SUITES,
    OWN_CIPHERS,
    TIMEOUT,
    AUTHORITIES,
    OWN_AUTHORITIES,
    CACHE_OFF,
    EXTRA_CHAIN,
    /* These are copied. */
    VERIFY_MODE,
    VERIFY_CALLBACK,
    CERT_CB,
    OPTIONS,
    VERSIONS,
    GROUPS,
    LEVEL,
    MODE,
    SETTINGS
};

static const char *const setting_names[] = {
    "nothing",
    "verify_chain",
    "verify_chain of the server",
    "client_cert",
    "store",
    "store of the server",
    "servername",
    "client_hello",
    "alpn",
    "status",
    "client_status",
    "keylog",
    "client_keylog",
    "info",
    "client_info",
    "info removed",
    "new_session",
    "client_new_session",
    "ticket_key",
    "ticket callbacks",
    "ciphers",
    "client_ciphers",
    "suites",
    "own ciphers",
    "timeout",
    "authorities",
    "own authorities",
    "cache off",
    "extra chain",
    "verify mode",
    "verify callback",
    "cert_cb",
    "options",
    "versions",
    "groups",
    "level",
    "mode",
};

static void set(enum setting setting, SSL_CTX *client, SSL_CTX *server) {
    BIO *file;
    switch (setting) {
    case VERIFY_CHAIN:
        SSL_CTX_set_cert_verify_callback(client, reject_chain, NULL);
        break;
    case VERIFY_CHAIN_OF_SERVER:
        SSL_CTX_set_cert_verify_callback(server, reject_chain, NULL);
        break;
    case CLIENT_CERT:
        SSL_CTX_set_client_cert_cb(client, give_certificate);
        break;
    case STORE:
        set_empty_store(client);
        break;
    case STORE_OF_SERVER:
        set_empty_store(server);
        break;
    case SERVERNAME:
        SSL_CTX_set_tlsext_servername_callback(server, reject_name);
        break;
    case CLIENT_HELLO:
        SSL_CTX_set_client_hello_cb(server, reject_hello, NULL);
        break;
    case ALPN:
        SSL_CTX_set_alpn_select_cb(server, reject_protocol, NULL);
        break;
    case STATUS:
        SSL_CTX_set_tlsext_status_cb(server, reject_status);
        break;
    case CLIENT_STATUS:
        SSL_CTX_set_tlsext_status_cb(client, reject_status);
        break;
    case KEYLOG:
        SSL_CTX_set_keylog_callback(server, see_key);
        break;
    case CLIENT_KEYLOG:
        SSL_CTX_set_keylog_callback(client, see_key);
        break;
    case INFO:
        SSL_CTX_set_info_callback(server, see_info);
        break;
    case CLIENT_INFO:
        SSL_CTX_set_info_callback(client, see_info);
        break;
    case INFO_REMOVED:
        SSL_CTX_set_info_callback(server, NULL);
        break;
    case NEW_SESSION:
        SSL_CTX_sess_set_new_cb(server, see_session);
        break;
    case CLIENT_NEW_SESSION:
        SSL_CTX_set_session_cache_mode(client, SSL_SESS_CACHE_CLIENT);
        SSL_CTX_sess_set_new_cb(client, see_session);
        break;
    case TICKET_KEY:
        SSL_CTX_set_tlsext_ticket_key_evp_cb(server, ticket_key);
        break;
    case TICKET_CALLBACKS:
        SSL_CTX_set_session_ticket_cb(server, generate_ticket, decrypt_ticket, NULL);
        break;
    case CIPHERS:
        CHECK(SSL_CTX_set_cipher_list(server, "ECDHE-ECDSA-CHACHA20-POLY1305") == 1);
        break;
    case CLIENT_CIPHERS:
        CHECK(SSL_CTX_set_cipher_list(client, "ECDHE-ECDSA-CHACHA20-POLY1305") == 1);
        break;
    case SUITES:
        CHECK(SSL_CTX_set_ciphersuites(server, "TLS_CHACHA20_POLY1305_SHA256") == 1);
        break;
    case OWN_CIPHERS:
        CHECK(SSL_CTX_set_cipher_list(server, "ECDHE-ECDSA-AES128-GCM-SHA256") == 1);
        CHECK(SSL_CTX_set_ciphersuites(server, "TLS_AES_128_GCM_SHA256") == 1);
        break;
    case TIMEOUT:
        SSL_CTX_set_timeout(server, 1234);
        break;
    case AUTHORITIES:
    case OWN_AUTHORITIES:
        SSL_CTX_set_client_CA_list(server, names());
        break;
    case CACHE_OFF:
        SSL_CTX_set_session_cache_mode(server, SSL_SESS_CACHE_OFF);
        break;
    case EXTRA_CHAIN:
        file = BIO_new_file(material("other.pem"), "r");
        CHECK(SSL_CTX_add_extra_chain_cert(server, PEM_read_bio_X509(file, NULL, NULL, NULL)) == 1);
        BIO_free(file);
        break;
    case VERIFY_MODE:
        SSL_CTX_set_verify(server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        break;
    case VERIFY_CALLBACK:
        SSL_CTX_set_verify(client, SSL_VERIFY_PEER, reject_certificate);
        break;
    case CERT_CB:
        SSL_CTX_set_cert_cb(server, reject_own_certificate, NULL);
        break;
    case OPTIONS:
        SSL_CTX_set_options(server, SSL_OP_NO_TLSv1_3 | SSL_OP_NO_TLSv1_2);
        break;
    case VERSIONS:
        SSL_CTX_set_max_proto_version(server, TLS1_1_VERSION);
        break;
    case GROUPS:
        CHECK(SSL_CTX_set1_groups_list(server, "P-384") == 1);
        break;
    case LEVEL:
        SSL_CTX_set_security_level(server, 5);
        break;
    case MODE:
        SSL_CTX_set_mode(server, SSL_MODE_ENABLE_PARTIAL_WRITE);
        break;
    default:
        break;
    }
}

/* When the setting is made. */
enum moment { BEFORE, AFTER, IN_CALLBACK, MOMENTS };

static const char *const moment_names[] = {"before SSL_new", "after SSL_new", "in a callback"};

static enum setting pending;
static SSL_CTX *contexts[2];

/* The first callback of a server. */
static int change_in_hello(SSL *ssl, int *alert, void *argument) {
    (void)ssl, (void)alert, (void)argument;
    set(pending, contexts[0], contexts[1]);
    return SSL_CLIENT_HELLO_SUCCESS;
}

static void try(int version, enum setting setting, enum moment moment) {
    SSL_CTX *client = client_context(version), *server = server_context(version);
    called[0] = 0;
    CHECK(SSL_CTX_set_session_id_context(server, (const unsigned char *)"test", 4) == 1);
    CHECK(SSL_CTX_set_alpn_protos(client, (const unsigned char *)"\3abc", 4) == 0);
    CHECK(SSL_CTX_load_verify_locations(server, material("root.pem"), NULL) == 1);
    SSL_CTX_set_verify(server, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_tlsext_status_type(client, TLSEXT_STATUSTYPE_ocsp);
    if (setting == VERIFY_CHAIN_OF_SERVER || setting == STORE_OF_SERVER || setting == VERIFY_CHAIN) {
        CHECK(SSL_CTX_use_certificate_chain_file(client, material("client.pem")) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    }
    if (setting == INFO_REMOVED)
        SSL_CTX_set_info_callback(server, see_info);
    if (moment == BEFORE)
        set(setting, client, server);
    if (moment == IN_CALLBACK) {
        pending = setting;
        contexts[0] = client;
        contexts[1] = server;
        SSL_CTX_set_client_hello_cb(server, change_in_hello, NULL);
    }
    struct pair pair = pair_of(client, server, 1 << 14);
    CHECK(SSL_set_tlsext_host_name(pair.client, "server.test") == 1);
    if (setting == OWN_CIPHERS)
        CHECK(SSL_set_cipher_list(pair.server, "ECDHE-ECDSA-CHACHA20-POLY1305") == 1 &&
              SSL_set_ciphersuites(pair.server, "TLS_CHACHA20_POLY1305_SHA256") == 1);
    if (setting == OWN_AUTHORITIES)
        SSL_set_client_CA_list(pair.server, SSL_load_client_CA_file(material("root.pem")));
    if (moment == AFTER)
        set(setting, client, server);
    int done = shake(&pair);
    ERR_clear_error();
    printf("  %s: %s", moment_names[moment], done ? "done" : "failed");
    if (done) {
        char text[4];
        CHECK(SSL_write(pair.server, "data", 4) == 4);
        read_exactly(pair.client, text, 4);
        printf(", %s, timeout %ld, chain %d, certificate of the client %d, resumable %d",
               SSL_get_cipher_name(pair.server), SSL_SESSION_get_timeout(SSL_get_session(pair.server)),
               sk_X509_num(SSL_get_peer_cert_chain(pair.client)),
               SSL_get0_peer_certificate(pair.server) != NULL, SSL_SESSION_is_resumable(SSL_get_session(pair.client)));
        STACK_OF(X509_NAME) *own = SSL_get_client_CA_list(pair.client);
        if (sk_X509_NAME_num(own) > 0) {
            char *name = X509_NAME_oneline(sk_X509_NAME_value(own, 0), NULL, 0);
            printf(", %s", name);
            OPENSSL_free(name);
        }
    }
    printf(", called:%s\n", called);
    free_pair(&pair);
    ERR_clear_error();
}

int main(void) {
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++)
        for (int setting = 0; setting < SETTINGS; setting++) {
            printf("version %x, %s\n", versions[i], setting_names[setting]);
            for (int moment = 0; moment < MOMENTS; moment++)
                /* A client of Tercel decides when its handshake begins which suites it accepts, and whether keys are
                   logged. */
                if ((setting != CLIENT_KEYLOG && setting != CLIENT_CIPHERS) || moment != IN_CALLBACK)
                    try(versions[i], setting, moment);
        }
    return 0;
}
