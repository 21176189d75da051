/* What a program refuses by a security callback or a security level is not used, and what a program wants and this
   library does not have never makes a connection less safe. */
#include "test.h"
#include <openssl/conf.h>
#include <openssl/evp.h>

/* The callback refuses what these match. */
static int refused_op, refused_nid, stronger_than, weaker_than, calls, wrong;
static const void *expected_ex;

static void refuse(int op, int nid) {
    refused_op = op;
    refused_nid = nid;
    stronger_than = 1 << 30;
    weaker_than = -2;
    calls = wrong = 0;
}

static int decide(const SSL *ssl, const SSL_CTX *ctx, int op, int bits, int nid, void *other, void *ex) {
    calls++;
    wrong += ex != expected_ex || (ssl == NULL) == (ctx == NULL);
    if ((op & SSL_SECOP_OTHER_TYPE) != SSL_SECOP_OTHER_NONE)
        wrong += other == NULL;
    if (op == SSL_SECOP_CIPHER_SHARED || op == SSL_SECOP_CIPHER_SUPPORTED)
        wrong += SSL_CIPHER_get_bits(other, NULL) != bits;
    /* It may use the connection. */
    if (ssl != NULL)
        wrong += SSL_get_security_level(ssl) != 2 || SSL_get_SSL_CTX(ssl) == NULL;
    if (op != refused_op)
        return 1;
    if (refused_nid != 0 && nid == refused_nid)
        return 0;
    if (bits > stronger_than || bits < weaker_than)
        return 0;
    return refused_nid != 0 || stronger_than != 1 << 30 || weaker_than != -2;
}

static void set(SSL_CTX *ctx) {
    static int data;
    expected_ex = &data;
    SSL_CTX_set0_security_ex_data(ctx, &data);
    SSL_CTX_set_security_callback(ctx, decide);
    CHECK(SSL_CTX_get0_security_ex_data(ctx) == &data);
    CHECK(SSL_CTX_get_security_callback(ctx) == decide);
}

/* Connects. Returns whether that succeeds; the pair remains. */
static int connects(struct pair *pair) {
    int done = shake(pair);
    CHECK(done || ERR_peek_error() != 0);
    ERR_clear_error();
    CHECK(wrong == 0 && calls > 0);
    return done;
}

static void refused_ciphers(int version) {
    for (int side = 0; side < 2; side++) {
        struct pair pair = {0};
        SSL_CTX *ctxs[2] = {client_context(version), server_context(version)};
        set(ctxs[side]);
        refuse(side == 0 ? SSL_SECOP_CIPHER_SUPPORTED : SSL_SECOP_CIPHER_SHARED, 0);
        stronger_than = 128;
        pair = pair_of(ctxs[0], ctxs[1], 1 << 14);
        CHECK(connects(&pair));
        CHECK(SSL_CIPHER_get_bits(SSL_get_current_cipher(pair.client), NULL) == 128);
        free_pair(&pair);

        /* All of them. */
        ctxs[0] = client_context(version), ctxs[1] = server_context(version);
        set(ctxs[side]);
        refuse(side == 0 ? SSL_SECOP_CIPHER_CHECK : SSL_SECOP_CIPHER_SHARED, 0);
        pair = pair_of(ctxs[0], ctxs[1], 1 << 14);
        CHECK(!connects(&pair));
        free_pair(&pair);
    }
}

static void refused_groups(int version) {
    for (int side = 0; side < 2; side++) {
        SSL_CTX *ctxs[2] = {client_context(version), server_context(version)};
        set(ctxs[side]);
        refuse(side == 0 ? SSL_SECOP_CURVE_SUPPORTED : SSL_SECOP_CURVE_SHARED, NID_X25519);
        /* Groups without a number of libcrypto are stronger. */
        stronger_than = 128;
        struct pair pair = pair_of(ctxs[0], ctxs[1], 1 << 14);
        CHECK(connects(&pair));
        CHECK(SSL_get_negotiated_group(pair.client) == NID_X9_62_prime256v1);
        free_pair(&pair);
    }
}

/* After a handshake in which `own` refused the certificate of `peer` because of this reason. */
static void refused_for(SSL *own, SSL *peer, int reason) {
    CHECK(ERR_GET_REASON(ERR_peek_error()) == reason);
    ERR_clear_error();
    CHECK(SSL_do_handshake(own) != 1 && ERR_peek_error() == 0);
    CHECK(SSL_do_handshake(peer) == -1 && ERR_GET_REASON(ERR_peek_error()) == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER);
    ERR_clear_error();
}

/* TLS 1.2: a server refuses a client's certificate whose curve it does not support. `by` is 0 for none that it refuses,
   1 for the list of its groups, 2 for the function of the program. */
static void curve_of_client(int by) {
    SSL_CTX *client_ctx = client_context(TLS1_2_VERSION), *server_ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_verify(client_ctx, SSL_VERIFY_NONE, NULL);
    CHECK(SSL_CTX_use_certificate_chain_file(client_ctx, material("client.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_certificate_chain_file(server_ctx, material("rsa.pem")) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(server_ctx, material("rsa.key"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL) == 1);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    CHECK(SSL_CTX_set1_groups_list(server_ctx, by == 1 ? "X25519:P-384" : "X25519:P-384:P-256") == 1);
    set(server_ctx);
    refuse(by == 2 ? SSL_SECOP_CURVE_SUPPORTED : 0, NID_X9_62_prime256v1);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(shake(&pair) == (by == 0) && wrong == 0);
    if (by != 0)
        refused_for(pair.server, pair.client, SSL_R_WRONG_CURVE);
    free_pair(&pair);
}

/* TLS 1.2: a client refuses a server's certificate whose curve it does not support, though the server should know. The
   ClientHello is changed on its way, so that the server believes that the client supports the curve. */
static void curve_of_server(int by) {
    /* supported_groups with X25519 and P-384. */
    static const unsigned char groups[] = {0, 10, 0, 6, 0, 4, 0, 0x1d, 0, 0x18};
    SSL_CTX *client_ctx = client_context(TLS1_2_VERSION), *server_ctx = server_context(TLS1_2_VERSION);
    unsigned char hello[2048];
    CHECK(SSL_CTX_set1_groups_list(client_ctx, by == 1 ? "X25519:P-384" : "X25519:P-384:P-256") == 1);
    set(client_ctx);
    refuse(by == 2 ? SSL_SECOP_CURVE_SUPPORTED : 0, NID_X9_62_prime256v1);
    struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(SSL_do_handshake(pair.client) == -1);
    BIO *own = SSL_get_rbio(pair.server), *changed = BIO_new(BIO_s_mem());
    int length = BIO_read(own, hello, sizeof hello), found = 0;
    CHECK(length > 0 && changed != NULL);
    for (int i = 0; by != 0 && i + (int)sizeof groups <= length; i++)
        if (memcmp(hello + i, groups, sizeof groups) == 0) {
            hello[i + sizeof groups - 1] = 0x17;
            found++;
        }
    CHECK(found == (by != 0) && BIO_write(changed, hello, length) == length);
    BIO_up_ref(own);
    SSL_set0_rbio(pair.server, changed);
    CHECK(SSL_do_handshake(pair.server) == -1);
    SSL_set0_rbio(pair.server, own);
    ERR_clear_error();
    CHECK(shake(&pair) == (by == 0) && wrong == 0);
    if (by != 0)
        refused_for(pair.client, pair.server, SSL_R_WRONG_CERTIFICATE_TYPE);
    free_pair(&pair);
}

static void refused_signatures(int version) {
    int ops[3] = {SSL_SECOP_SIGALG_SUPPORTED, SSL_SECOP_SIGALG_CHECK, SSL_SECOP_SIGALG_SHARED};
    for (int i = 0; i < 3; i++) {
        SSL_CTX *client_ctx = client_context(version), *server_ctx = server_context(version);
        set(i == 2 ? server_ctx : client_ctx);
        refuse(ops[i], NID_sha256);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        int done = connects(&pair), nid = NID_sha256;
        /* In TLS 1.2 the server's key also signs other digests. */
        CHECK(done == (version == TLS1_2_VERSION));
        CHECK(!done || (SSL_get_peer_signature_nid(pair.client, &nid) == 1 && nid != NID_sha256));
        free_pair(&pair);
    }
}

static void refused_versions(void) {
    for (int side = 0; side < 2; side++) {
        SSL_CTX *ctxs[2] = {client_context(0), server_context(0)};
        set(ctxs[side]);
        refuse(SSL_SECOP_VERSION, TLS1_3_VERSION);
        struct pair pair = pair_of(ctxs[0], ctxs[1], 1 << 14);
        CHECK(connects(&pair) && SSL_version(pair.client) == TLS1_2_VERSION);
        free_pair(&pair);
        ctxs[0] = client_context(TLS1_2_VERSION), ctxs[1] = server_context(TLS1_2_VERSION);
        set(ctxs[side]);
        refuse(SSL_SECOP_VERSION, TLS1_2_VERSION);
        pair = pair_of(ctxs[0], ctxs[1], 1 << 14);
        CHECK(!connects(&pair));
        free_pair(&pair);
    }
}

/* Whether a second connection of these contexts resumes the session of the first one, and how often the server issued
   a ticket that the client received in the second one. */
static int resumes(SSL_CTX *client_ctx, SSL_CTX *server_ctx, int *renewed) {
    SSL_SESSION *session = NULL;
    int resumed = 0;
    for (int turn = 0; turn < 2; turn++) {
        SSL_CTX_up_ref(client_ctx);
        SSL_CTX_up_ref(server_ctx);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        if (session != NULL)
            CHECK(SSL_set_session(pair.client, session) == 1);
        CHECK(shake(&pair));
        char text[4];
        CHECK(SSL_write(pair.server, "data", 4) == 4);
        read_exactly(pair.client, text, 4);
        resumed = SSL_session_reused(pair.client);
        SSL_SESSION *newest = SSL_get1_session(pair.client);
        if (renewed != NULL) {
            unsigned int length, old_length = 0;
            const unsigned char *id = SSL_SESSION_get_id(newest, &length), *old = id;
            if (session != NULL)
                old = SSL_SESSION_get_id(session, &old_length);
            *renewed = old_length != length || memcmp(old, id, length) != 0;
        }
        SSL_SESSION_free(session);
        session = newest;
        SSL_shutdown(pair.server);
        SSL_shutdown(pair.client);
        free_pair(&pair);
    }
    SSL_SESSION_free(session);
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    ERR_clear_error();
    return resumed;
}

static SSL_CTX *without_cache(SSL_CTX *ctx) {
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

static void refused_tickets(void) {
    for (int side = 0; side < 2; side++) {
        SSL_CTX *ctxs[2] = {client_context(TLS1_2_VERSION), without_cache(server_context(TLS1_2_VERSION))};
        set(ctxs[side]);
        refuse(0, 0);
        CHECK(resumes(ctxs[0], ctxs[1], NULL) && calls > 0 && wrong == 0);
        ctxs[0] = client_context(TLS1_2_VERSION), ctxs[1] = without_cache(server_context(TLS1_2_VERSION));
        set(ctxs[side]);
        refuse(SSL_SECOP_TICKET, 0);
        CHECK(!resumes(ctxs[0], ctxs[1], NULL) && calls > 0 && wrong == 0);
        /* The option has the same effect. */
        ctxs[0] = client_context(TLS1_2_VERSION), ctxs[1] = without_cache(server_context(TLS1_2_VERSION));
        SSL_CTX_set_options(ctxs[side], SSL_OP_NO_TICKET);
        CHECK(!resumes(ctxs[0], ctxs[1], NULL));
        /* TLS 1.3 has no other sessions, and a client's option does not concern them. */
        if (side == 0) {
            ctxs[0] = client_context(TLS1_3_VERSION), ctxs[1] = server_context(TLS1_3_VERSION);
            SSL_CTX_set_options(ctxs[0], SSL_OP_NO_TICKET);
            CHECK(resumes(ctxs[0], ctxs[1], NULL));
        }
    }
}

static void refused_certificates(void) {
    /* When it is set. */
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    set(ctx);
    refuse(SSL_SECOP_EE_KEY, 0);
    weaker_than = 192;
    CHECK(SSL_CTX_use_certificate_chain_file(ctx, material("server.pem")) == 0);
    CHECK(ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_EE_KEY_TOO_SMALL);
    CHECK(SSL_CTX_use_certificate_file(ctx, material("server.pem"), SSL_FILETYPE_PEM) == 0);
    refuse(SSL_SECOP_CA_MD, NID_sha256);
    CHECK(SSL_CTX_use_certificate_file(ctx, material("server.pem"), SSL_FILETYPE_PEM) == 0);
    CHECK(ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_CA_MD_TOO_WEAK);
    /* The signature of a certificate that signs itself does not count. */
    CHECK(SSL_CTX_use_certificate_file(ctx, material("root.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(calls > 0 && wrong == 0);
    ERR_clear_error();
    SSL_CTX_free(ctx);

    /* When it is sent. */
    for (int op = SSL_SECOP_EE_KEY; op <= SSL_SECOP_CA_MD; op++) {
        for (int root = 0; root < 2; root++) {
            struct pair pair = new_pair(0, 1 << 14);
            /* The root, with which the chain then ends, is sent, too. */
            if (root)
                CHECK(SSL_CTX_load_verify_locations(pair.server_ctx, material("root.pem"), NULL) == 1);
            SSL_set_security_callback(pair.server, decide);
            expected_ex = NULL;
            refuse(op, 0);
            CHECK(connects(&pair) == (op == SSL_SECOP_CA_KEY && !root));
            free_pair(&pair);
        }
    }
}

static int counted(const SSL *ssl, const SSL_CTX *ctx, int op, int bits, int nid, void *other, void *ex) {
    int (*before)(const SSL *, const SSL_CTX *, int, int, int, void *, void *) = ex;
    calls++;
    return before(ssl, ctx, op, bits, nid, other, NULL);
}

/* A program's function can call the one that it replaces, which applies the level. */
static void previous_callback(void) {
    for (int level = 2; level <= 4; level += 2) {
        struct pair pair = new_pair(0, 1 << 14);
        SSL_set0_security_ex_data(pair.client, (void *)SSL_get_security_callback(pair.client));
        SSL_set_security_callback(pair.client, counted);
        SSL_set_security_level(pair.client, level);
        calls = wrong = 0;
        /* The certificates are too weak for level 4. */
        CHECK(connects(&pair) == (level == 2));
        CHECK(calls > 20);
        free_pair(&pair);
    }
}

static void levels(void) {
    calls = 1, wrong = 0;
    /* A client that demands 192 bits; the server has only suites of 128. */
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    SSL_set_security_level(pair.client, 4);
    CHECK(SSL_set_ciphersuites(pair.server, "TLS_AES_128_GCM_SHA256") == 1);
    CHECK(!connects(&pair));
    free_pair(&pair);
    /* A server whose key has 112 bits. */
    for (int level = 2; level <= 3; level++) {
        pair = new_pair(0, 1 << 14);
        CHECK(SSL_use_certificate_file(pair.server, material("rsa.pem"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_use_PrivateKey_file(pair.server, material("rsa.key"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_set1_sigalgs_list(pair.client, "RSA-PSS+SHA256") == 1);
        SSL_set_verify(pair.client, SSL_VERIFY_NONE, NULL);
        SSL_set_security_level(pair.server, level);
        CHECK(connects(&pair) == (level == 2));
        free_pair(&pair);
    }
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_security_level(ctx, 3);
    CHECK(SSL_CTX_use_certificate_file(ctx, material("rsa.pem"), SSL_FILETYPE_PEM) == 0);
    ERR_clear_error();
    SSL_CTX_free(ctx);
    /* Level 3 has no tickets in TLS 1.2. */
    ctx = without_cache(server_context(TLS1_2_VERSION));
    SSL_CTX_set_security_level(ctx, 3);
    CHECK(!resumes(client_context(TLS1_2_VERSION), ctx, NULL));
}

/* The length of the key that the callback returns, and whether it was called. */
static unsigned int psk_length;
static int psk_asked;

static unsigned int psk(SSL *ssl, const char *hint, char *identity, unsigned int identity_length, unsigned char *key,
                        unsigned int length) {
    CHECK(SSL_version(ssl) > 0 && hint == NULL && identity_length == PSK_MAX_IDENTITY_LEN && length == PSK_MAX_PSK_LEN);
    strcpy(identity, "client");
    memset(key, 7, psk_length);
    psk_asked = 1;
    return psk_length;
}

static SSL_SESSION *psk_session;

static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *length, SSL_SESSION **session) {
    CHECK(SSL_version(ssl) > 0 && md == NULL);
    *id = (const unsigned char *)"client";
    *length = 6;
    *session = psk_session;
    psk_asked = 1;
    return 1;
}

/* Authentication that this library does not have is not replaced by none. */
static void missing_authentication(void) {
    for (int verifies = 0; verifies < 2; verifies++) {
        /* The application has no key, as most of Qt's clients, has one, has a session with one, or uses SRP. */
        for (int kind = 0; kind < 4; kind++) {
            SSL_CTX *ctx = client_context(0);
            if (!verifies)
                SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
            psk_asked = 0;
            psk_length = kind == 1 ? 16 : 0;
            psk_session = kind == 2 && !verifies ? SSL_SESSION_new() : NULL;
            if (kind < 3) {
                SSL_CTX_set_psk_client_callback(ctx, psk);
                SSL_CTX_set_psk_use_session_callback(ctx, use_session);
            } else
                CHECK(SSL_CTX_set_srp_username(ctx, "user") == 0);
            ERR_clear_error();
            struct pair pair = pair_of(ctx, server_context(0), 1 << 14);
            CHECK(connects(&pair) == (verifies || kind == 0));
            CHECK(psk_asked == (!verifies && kind < 3));
            free_pair(&pair);
        }
    }
    /* One secret that is not set does not permit to connect without another one. */
    SSL_CTX *ctx = client_context(0);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
    psk_length = 16;
    SSL_CTX_set_psk_client_callback(ctx, psk);
    SSL_CTX_set_psk_use_session_callback(ctx, NULL);
    struct pair pair = pair_of(ctx, server_context(0), 1 << 14);
    CHECK(!connects(&pair));
    free_pair(&pair);
}

static void restricted_signatures(int version) {
    /* A server with a key that its own list has no scheme for. */
    struct pair pair = new_pair(version, 1 << 14);
    CHECK(SSL_set1_sigalgs_list(pair.server, "RSA-PSS+SHA256:RSA+SHA256") == 1);
    CHECK(!connects(&pair));
    free_pair(&pair);
    /* The list for clients restricts what they sign with. */
    for (int fits = 0; fits < 2; fits++) {
        pair = new_pair(version, 1 << 14);
        CHECK(SSL_CTX_load_verify_locations(pair.server_ctx, material("root.pem"), NULL) == 1);
        SSL_set_verify(pair.server, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        CHECK(SSL_set1_client_sigalgs_list(pair.server, fits ? "ECDSA+SHA256" : "RSA-PSS+SHA256") == 1);
        CHECK(SSL_use_certificate_chain_file(pair.client, material("client.pem")) == 1);
        CHECK(SSL_use_PrivateKey_file(pair.client, material("client.key"), SSL_FILETYPE_PEM) == 1);
        int done = connects(&pair);
        if (done) {
            char text[4];
            CHECK(SSL_write(pair.server, "data", 4) == 4);
            done = SSL_read(pair.client, text, 4) == 4;
            ERR_clear_error();
        }
        CHECK(done == fits);
        free_pair(&pair);
    }
}

static void long_chains(void) {
    struct pair pair = new_pair(0, 1 << 14);
    CHECK(SSL_get_max_cert_list(pair.client) == SSL_MAX_CERT_LIST_DEFAULT);
    CHECK(SSL_set_max_cert_list(pair.client, 100) == SSL_MAX_CERT_LIST_DEFAULT);
    CHECK(SSL_get_max_cert_list(pair.client) == 100);
    CHECK(!connects(&pair));
    free_pair(&pair);
}

static int key_result;

static int ticket_keys(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                       int seals) {
    (void)ssl;
    CHECK(use_ticket_key(name, iv, cipher, mac, seals));
    return seals ? 1 : key_result;
}

/* TLS 1.2: a ticket is replaced if the program's function says so. TLS 1.3 always replaces it. */
static void renewed_tickets(void) {
    int renewed;
    for (key_result = 0; key_result <= 2; key_result++) {
        SSL_CTX *ctx = without_cache(server_context(TLS1_2_VERSION));
        SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, ticket_keys);
        SSL_CTX_set_timeout(ctx, 5000);
        CHECK(resumes(client_context(TLS1_2_VERSION), ctx, &renewed) == (key_result > 0));
        CHECK(renewed == (key_result != 1));
    }
}

/* The section of the system in openssl.cnf applies to each new context, and others to those that name them. */
static void configuration_file(void) {
    const char *file = material("openssl.cnf");
    FILE *out = fopen(file, "w");
    CHECK(out != NULL);
    fputs("openssl_conf = init\n[init]\nssl_conf = sections\n[sections]\nsystem_default = system\nother = own\n"
          "[system]\n1.MinProtocol = TLSv1.3\n2.MinProtocol = DTLSv1.2\nCipherString = DEFAULT:@SECLEVEL=3\n"
          "[own]\nMinProtocol = TLSv1.2\nMaxProtocol = TLSv1.2\n",
          out);
    fclose(out);
    CHECK(CONF_modules_load_file(file, NULL, 0) > 0);
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    CHECK(SSL_CTX_get_min_proto_version(ctx) == TLS1_3_VERSION && SSL_CTX_get_security_level(ctx) == 3);
    CHECK(ERR_peek_error() == 0);
    CHECK(SSL_CTX_config(ctx, "other") == 1);
    CHECK(SSL_CTX_get_min_proto_version(ctx) == TLS1_2_VERSION);
    CHECK(SSL_CTX_get_max_proto_version(ctx) == TLS1_2_VERSION);
    CHECK(SSL_CTX_config(ctx, "missing") == 0 && ERR_GET_REASON(ERR_peek_error()) == SSL_R_INVALID_CONFIGURATION_NAME);
    ERR_clear_error();
    SSL *ssl = SSL_new(ctx);
    CHECK(SSL_config(ssl, "system_default") == 1);
    CHECK(SSL_get_min_proto_version(ssl) == TLS1_3_VERSION);
    ERR_clear_error();
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    CONF_modules_unload(1);
    ctx = SSL_CTX_new(TLS_method());
    CHECK(SSL_CTX_get_min_proto_version(ctx) == 0);
    SSL_CTX_free(ctx);
}

void test_security(void) {
    int versions[2] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        refused_ciphers(versions[i]);
        refused_groups(versions[i]);
        refused_signatures(versions[i]);
        calls = 1, wrong = 0;
        restricted_signatures(versions[i]);
    }
    for (int by = 0; by < 3; by++) {
        curve_of_client(by);
        curve_of_server(by);
    }
    refused_versions();
    refused_tickets();
    refused_certificates();
    previous_callback();
    levels();
    missing_authentication();
    long_chains();
    renewed_tickets();
    configuration_file();
}
