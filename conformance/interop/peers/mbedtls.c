/* mbedTLS. The command line is described in src/programs/driver.rs. */

#include <arpa/inet.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_cache.h>
#include <mbedtls/ssl_ticket.h>

#include "peer.h"

struct tls {
    mbedtls_ssl_context ssl;
    mbedtls_net_context net;
    int resumed;
};

static mbedtls_entropy_context entropy;
static mbedtls_ctr_drbg_context random_numbers;
static mbedtls_ssl_config config;
static mbedtls_x509_crt chain, roots;
static mbedtls_pk_context key;
static mbedtls_ssl_cache_context cache;
static mbedtls_ssl_ticket_context tickets;
static mbedtls_ssl_session session;
static int has_session, serving;

static void tls_abilities(void) {
    puts("keys rsa2048 p256 p384 p521");
    puts("groups x25519 secp256r1 secp384r1 secp521r1");
    puts("limits group suite1.2");
    puts("versions 1.2");
    /* mbedTLS compares certificates with DNS names only. */
    puts("lacks addresses");
    puts("as-client resume-1.2-ticket resume-1.2-id");
    puts("as-server resume-1.2-ticket resume-1.2-id");
}

static void complain(const char *what, int error) {
    char text[200];
    mbedtls_strerror(error, text, sizeof text);
    fprintf(stderr, "%s: %s\n", what, text);
}

static void need(int result, const char *what) {
    if (result == 0) return;
    complain(what, result);
    exit(1);
}

/* TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> TLS-ECDHE-RSA-WITH-AES-128-GCM-SHA256 */
static void limit(const struct options *options) {
    static int suites[2];
    static mbedtls_ecp_group_id groups[2];
    if (options->suite) {
        char name[100];
        snprintf(name, sizeof name, "%s", options->suite);
        for (char *at = name; *at; at++)
            if (*at == '_') *at = '-';
        suites[0] = mbedtls_ssl_get_ciphersuite_id(name);
        if (suites[0] == 0) fail("unknown suite");
        mbedtls_ssl_conf_ciphersuites(&config, suites);
    }
    if (options->group) {
        const mbedtls_ecp_curve_info *group = mbedtls_ecp_curve_info_from_name(options->group);
        if (!group) fail("unknown group");
        groups[0] = group->grp_id;
        mbedtls_ssl_conf_curves(&config, groups);
    }
}

static void tls_prepare(const struct options *options) {
    serving = options->serves;
    int side = serving ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT;
    mbedtls_entropy_init(&entropy);
    mbedtls_ctr_drbg_init(&random_numbers);
    need(mbedtls_ctr_drbg_seed(&random_numbers, mbedtls_entropy_func, &entropy, NULL, 0), "random numbers");
    mbedtls_ssl_config_init(&config);
    need(mbedtls_ssl_config_defaults(&config, side, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT),
         "defaults");
    mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random_numbers);
    mbedtls_ssl_conf_min_version(&config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    limit(options);
    mbedtls_x509_crt_init(&chain);
    mbedtls_x509_crt_init(&roots);
    mbedtls_pk_init(&key);
    if (options->cert) {
        need(mbedtls_x509_crt_parse_file(&chain, options->cert), options->cert);
        need(mbedtls_pk_parse_keyfile(&key, options->key, NULL), options->key);
        need(mbedtls_ssl_conf_own_cert(&config, &chain, &key), "certificate");
    }
    const char *file = serving ? options->client_ca : options->ca;
    if (file) {
        need(mbedtls_x509_crt_parse_file(&roots, file), file);
        mbedtls_ssl_conf_ca_chain(&config, &roots, NULL);
    }
    mbedtls_ssl_conf_authmode(&config, file ? MBEDTLS_SSL_VERIFY_REQUIRED : MBEDTLS_SSL_VERIFY_NONE);
    int by_id = shows(options, "resume-1.2-id");
    mbedtls_ssl_session_init(&session);
    if (serving) {
        mbedtls_ssl_cache_init(&cache);
        mbedtls_ssl_conf_session_cache(&config, &cache, mbedtls_ssl_cache_get, mbedtls_ssl_cache_set);
    }
    if (serving && !by_id) {
        mbedtls_ssl_ticket_init(&tickets);
        need(mbedtls_ssl_ticket_setup(&tickets, mbedtls_ctr_drbg_random, &random_numbers,
                                      MBEDTLS_CIPHER_AES_256_GCM, 86400), "tickets");
        mbedtls_ssl_conf_session_tickets_cb(&config, mbedtls_ssl_ticket_write, mbedtls_ssl_ticket_parse, &tickets);
    }
    if (!serving)
        mbedtls_ssl_conf_session_tickets(
            &config, by_id ? MBEDTLS_SSL_SESSION_TICKETS_DISABLED : MBEDTLS_SSL_SESSION_TICKETS_ENABLED);
}

/* Makes the handshake step by step: a resumption skips the key exchange. */
static int handshake(struct tls *tls) {
    mbedtls_ssl_context *ssl = &tls->ssl;
    tls->resumed = 1;
    while (ssl->state != MBEDTLS_SSL_HANDSHAKE_OVER) {
        if (ssl->state == MBEDTLS_SSL_CLIENT_KEY_EXCHANGE) tls->resumed = 0;
        int result = mbedtls_ssl_handshake_step(ssl);
        if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE) continue;
        if (result != 0) return result;
    }
    return 0;
}

static void discard(struct tls *tls) {
    mbedtls_ssl_free(&tls->ssl);
    free(tls);
}

static struct tls *tls_handshake(const struct options *options, int fd) {
    struct tls *tls = calloc(1, sizeof *tls);
    if (!tls) fail("no memory");
    tls->net.fd = fd;
    mbedtls_ssl_init(&tls->ssl);
    need(mbedtls_ssl_setup(&tls->ssl, &config), "connection");
    mbedtls_ssl_set_bio(&tls->ssl, &tls->net, mbedtls_net_send, mbedtls_net_recv, NULL);
    if (!serving) {
        need(mbedtls_ssl_set_hostname(&tls->ssl, options->name), "name");
        if (has_session) need(mbedtls_ssl_set_session(&tls->ssl, &session), "session");
    }
    int result = handshake(tls);
    if (result == 0) return tls;
    complain("handshake", result);
    discard(tls);
    return NULL;
}

static int outcome(int result) {
    switch (result) {
    case MBEDTLS_ERR_SSL_WANT_READ:
    case MBEDTLS_ERR_SSL_WANT_WRITE:
        return TLS_AGAIN;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
        return 0;
    default:
        if (result >= 0) return result;
        complain("connection", result);
        return TLS_ERROR;
    }
}

static int tls_read(struct tls *tls, char *bytes, int length) {
    return outcome(mbedtls_ssl_read(&tls->ssl, (unsigned char *)bytes, length));
}

static int tls_write(struct tls *tls, const char *bytes, int length) {
    return outcome(mbedtls_ssl_write(&tls->ssl, (const unsigned char *)bytes, length));
}

static int tls_resumed(struct tls *tls) {
    return tls->resumed;
}

static void tls_close(struct tls *tls) {
    if (!serving) {
        mbedtls_ssl_session_free(&session);
        mbedtls_ssl_session_init(&session);
        has_session = mbedtls_ssl_get_session(&tls->ssl, &session) == 0;
    }
    mbedtls_ssl_close_notify(&tls->ssl);
    discard(tls);
}
