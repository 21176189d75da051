/* wolfSSL. The command line is described in src/programs/driver.rs. */

#include <wolfssl/options.h>
#include <wolfssl/ssl.h>

#include "peer.h"

static WOLFSSL_CTX *context;
static WOLFSSL_SESSION *session;
static int serving;

static void tls_abilities(void) {
    puts("keys rsa2048 p256 p384 p521 ed25519");
    puts("groups x25519 secp256r1 secp384r1 secp521r1");
    puts("limits group suite1.2 suite1.3");
    puts("as-client resume-1.2-ticket resume-1.2-id resume-1.3-stateless resume-1.3-stateful");
    puts("as-server resume-1.2-ticket resume-1.2-id resume-1.3-stateless");
    /* These concern the TLS 1.2 server: its sessions lack the client's certificate, without which it ends a
     * resumed handshake; it accepts only client keys of its own type; and the client chooses the group. */
    puts("lacks certified-sessions other-keys server-group");
}

static void complain(const char *what, int error) {
    char text[WOLFSSL_MAX_ERROR_SZ];
    fprintf(stderr, "%s: %s\n", what, wolfSSL_ERR_error_string(error, text));
}

static void need(int result, const char *what) {
    if (result == WOLFSSL_SUCCESS) return;
    complain(what, result);
    exit(1);
}

/* TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256; in TLS 1.3 TLS13-AES128-GCM-SHA256. */
static void suite(const char *name, char *out) {
    int old = strstr(name, "_WITH_") != NULL;
    if (!old) out += sprintf(out, "TLS13-");
    for (name += 4; *name;) {
        if (strncmp(name, "_WITH_", 6) == 0) {
            *out++ = '-';
            name += 6;
        } else if (strncmp(name, "AES_", 4) == 0) {
            out += sprintf(out, "AES");
            name += 4;
        } else if (old && strncmp(name, "POLY1305_SHA256", 15) == 0) {
            out += sprintf(out, "POLY1305");
            name += 15;
        } else {
            *out++ = *name == '_' ? '-' : *name;
            name++;
        }
    }
    *out = 0;
}

static void tls_prepare(const struct options *options) {
    int only12 = options->version && strcmp(options->version, "1.2") == 0;
    int only13 = options->version && strcmp(options->version, "1.3") == 0;
    serving = options->serves;
    wolfSSL_Init();
    if (serving)
        context = wolfSSL_CTX_new(only12 ? wolfTLSv1_2_server_method()
                                  : only13 ? wolfTLSv1_3_server_method() : wolfSSLv23_server_method());
    else
        context = wolfSSL_CTX_new(only12 ? wolfTLSv1_2_client_method()
                                  : only13 ? wolfTLSv1_3_client_method() : wolfSSLv23_client_method());
    if (!context) fail("no context");
    if (!only13) need(wolfSSL_CTX_SetMinVersion(context, WOLFSSL_TLSV1_2), "versions");
    if (options->cert) {
        need(wolfSSL_CTX_use_certificate_chain_file(context, options->cert), options->cert);
        need(wolfSSL_CTX_use_PrivateKey_file(context, options->key, WOLFSSL_FILETYPE_PEM), options->key);
    }
    const char *roots = serving ? options->client_ca : options->ca;
    if (roots) need(wolfSSL_CTX_load_verify_locations(context, roots, NULL), roots);
    int verify = WOLFSSL_VERIFY_PEER | (serving ? WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    wolfSSL_CTX_set_verify(context, roots ? verify : WOLFSSL_VERIFY_NONE, NULL);
    if (options->suite) {
        char name[100];
        suite(options->suite, name);
        need(wolfSSL_CTX_set_cipher_list(context, name), name);
    }
    if (options->group) {
        int group = strcmp(options->group, "x25519") == 0      ? WOLFSSL_ECC_X25519
                    : strcmp(options->group, "secp256r1") == 0 ? WOLFSSL_ECC_SECP256R1
                    : strcmp(options->group, "secp384r1") == 0 ? WOLFSSL_ECC_SECP384R1
                                                               : WOLFSSL_ECC_SECP521R1;
        if (only12)
            need(wolfSSL_CTX_UseSupportedCurve(context, group), options->group);
        else
            need(wolfSSL_CTX_set_groups(context, &group, 1), options->group);
    }
    if (serving) wolfSSL_CTX_set_session_id_context(context, (const unsigned char *)"interop", 7);
    int uncertain = serving && roots && only12;
    if (serving && (uncertain || shows(options, "resume-1.2-id"))) wolfSSL_CTX_NoTicketTLSv12(context);
    if (uncertain) wolfSSL_CTX_set_session_cache_mode(context, WOLFSSL_SESS_CACHE_OFF);
    if (!serving && !shows(options, "resume-1.2-id")) need(wolfSSL_CTX_UseSessionTicket(context), "tickets");
}

static struct tls *tls_handshake(const struct options *options, int fd) {
    WOLFSSL *ssl = wolfSSL_new(context);
    if (!ssl || wolfSSL_set_fd(ssl, fd) != WOLFSSL_SUCCESS) fail("no connection");
    if (!serving) {
        if (strcmp(options->name, "127.0.0.1") == 0) {
            need(wolfSSL_X509_VERIFY_PARAM_set1_ip_asc(wolfSSL_get0_param(ssl), options->name), "address");
        } else {
            need(wolfSSL_check_domain_name(ssl, options->name), "name");
            need(wolfSSL_UseSNI(ssl, WOLFSSL_SNI_HOST_NAME, options->name, strlen(options->name)), "SNI");
        }
        if (session) need(wolfSSL_set_session(ssl, session), "session");
    }
    int result = serving ? wolfSSL_accept(ssl) : wolfSSL_connect(ssl);
    if (result == WOLFSSL_SUCCESS) return (struct tls *)ssl;
    complain("handshake", wolfSSL_get_error(ssl, result));
    wolfSSL_free(ssl);
    return NULL;
}

static int outcome(WOLFSSL *ssl, int result) {
    if (result > 0) return result;
    switch (wolfSSL_get_error(ssl, result)) {
    case WOLFSSL_ERROR_WANT_READ:
    case WOLFSSL_ERROR_WANT_WRITE:
        return TLS_AGAIN;
    case WOLFSSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        complain("connection", wolfSSL_get_error(ssl, result));
        return TLS_ERROR;
    }
}

static int tls_read(struct tls *tls, char *bytes, int length) {
    return outcome((WOLFSSL *)tls, wolfSSL_read((WOLFSSL *)tls, bytes, length));
}

static int tls_write(struct tls *tls, const char *bytes, int length) {
    return outcome((WOLFSSL *)tls, wolfSSL_write((WOLFSSL *)tls, bytes, length));
}

static int tls_resumed(struct tls *tls) {
    return wolfSSL_session_reused((WOLFSSL *)tls);
}

static void tls_close(struct tls *tls) {
    WOLFSSL *ssl = (WOLFSSL *)tls;
    if (!serving) {
        wolfSSL_SESSION_free(session);
        session = wolfSSL_get1_session(ssl);
    }
    wolfSSL_shutdown(ssl);
    wolfSSL_free(ssl);
}
