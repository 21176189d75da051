/* Differences that docs/openssl.md lists, other than functions that do less (../same/stubs.c). */
#include <unistd.h>

#include "test.h"

static void callback(void) {}

/* The results show which flags of certificates are set. */
static void certificate_flags(SSL_CTX *ctx, SSL *ssl) {
    CHECK(SSL_CTX_set_cert_flags(ctx, SSL_CERT_FLAG_TLS_STRICT) == 0);
    CHECK(SSL_set_cert_flags(ssl, SSL_CERT_FLAG_TLS_STRICT | SSL_CERT_FLAG_SUITEB_192_LOS) ==
          SSL_CERT_FLAG_SUITEB_192_LOS);
    CHECK(SSL_clear_cert_flags(ssl, SSL_CERT_FLAG_SUITEB_192_LOS) == 0);
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_CMDLINE | SSL_CONF_FLAG_SERVER);
    SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    CHECK(SSL_CONF_cmd(conf, "-strict", NULL) == 0 && ERR_peek_error() != 0);
    ERR_clear_error();
    SSL_CONF_CTX_free(conf);
}

/* This callback cannot be refused, so connections fail. */
static void padding_callback(void) {
    for (int of_server = 0; of_server < 2; of_server++) {
        SSL_CTX *client_ctx = client_context(0), *server_ctx = server_context(0);
        SSL_CTX *ctx = of_server ? server_ctx : client_ctx;
        SSL_CTX_set_record_padding_callback(ctx, (void *)callback);
        struct pair pair = pair_of(client_ctx, server_ctx, 1 << 14);
        CHECK(!shake(&pair));
        ERR_clear_error();
        free_pair(&pair);
    }
    SSL_CTX *client_ctx = client_context(0);
    SSL_CTX_set_record_padding_callback(client_ctx, (void *)callback);
    SSL_CTX_set_record_padding_callback(client_ctx, NULL);
    struct pair pair = pair_of(client_ctx, server_context(0), 1 << 14);
    CHECK(shake(&pair));
    free_pair(&pair);
}

/* OpenSSL returns to the method of the context when the handshake begins. */
static void method_of_connection(void) {
    struct pair pair = new_pair(0, 1 << 14);
    CHECK(SSL_set_ssl_method(pair.client, TLSv1_2_client_method()) == 1);
    CHECK(shake(&pair) && SSL_version(pair.client) == TLS1_2_VERSION);
    free_pair(&pair);
}

/* An application that ignores the result takes a handshake after it for a renegotiation. */
static void renegotiation(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    CHECK(shake(&pair) && SSL_renegotiate(pair.server) == 0);
    int reason = version == TLS1_3_VERSION ? SSL_R_WRONG_SSL_VERSION : SSL_R_NO_RENEGOTIATION;
    CHECK(ERR_GET_REASON(ERR_get_error()) == reason && ERR_peek_error() == 0);
    if (version == TLS1_3_VERSION) {
        CHECK(SSL_do_handshake(pair.server) == 1 && SSL_is_init_finished(pair.server));
    } else {
        CHECK(SSL_do_handshake(pair.server) == -1 && SSL_get_error(pair.server, -1) == SSL_ERROR_SSL);
        CHECK(ERR_GET_REASON(ERR_peek_error()) == SSL_R_NO_RENEGOTIATION && !SSL_is_init_finished(pair.server));
        CHECK(SSL_write(pair.server, "x", 1) <= 0);
    }
    ERR_clear_error();
    drop_pair(&pair);
}

/* Without these flags, the connection remains closed. */
static void cleared_shutdown(int version) {
    struct pair pair = new_pair(version, 1 << 14);
    char byte;
    CHECK(shake(&pair));
    SSL_shutdown(pair.server);
    SSL_set_shutdown(pair.server, 0);
    CHECK(SSL_write(pair.server, "x", 1) == -1 && SSL_get_error(pair.server, -1) == SSL_ERROR_SSL);
    ERR_clear_error();
    CHECK(SSL_read(pair.client, &byte, 1) == 0 && SSL_get_shutdown(pair.client) == SSL_RECEIVED_SHUTDOWN);
    SSL_set_shutdown(pair.client, 0);
    CHECK(SSL_read(pair.client, &byte, 1) == 0 && SSL_get_shutdown(pair.client) == SSL_RECEIVED_SHUTDOWN);
    drop_pair(&pair);
}

/* A byte of data that is nowhere else in the memory of this process. */
static unsigned char expected(int position) {
    return (unsigned char)(0x51 + position * 0x2b);
}

/* Whether the memory that the process can write to has the data, except for `chunk`. */
static int memory_has_data(void) {
    static unsigned char chunk[1 << 16];
    FILE *maps = fopen("/proc/self/maps", "r"), *memory = fopen("/proc/self/mem", "r");
    char line[512], kind[8];
    unsigned long start, end, found = 0;
    CHECK(maps != NULL && memory != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        /* The sanitizer's mappings are larger than all memory. */
        if (sscanf(line, "%lx-%lx %7s", &start, &end, kind) != 3 || kind[1] != 'w' || end - start > 1UL << 28)
            continue;
        for (unsigned long at = start; at < end; at += sizeof chunk - 64) {
            size_t count = end - at < sizeof chunk ? end - at : sizeof chunk;
            if (pread(fileno(memory), chunk, count, (off_t)at) != (ssize_t)count)
                break;
            for (size_t i = 0; i + 32 <= count; i++) {
                size_t same = 0;
                while (same < 32 && chunk[i + same] == expected((int)same + 16))
                    same++;
                unsigned long place = at + i;
                found += same == 32 && (place < (unsigned long)chunk || place >= (unsigned long)chunk + sizeof chunk);
            }
            OPENSSL_cleanse(chunk, sizeof chunk);
        }
    }
    fclose(maps);
    fclose(memory);
    return found != 0;
}

static void cleansed_plaintext(void) {
    struct pair pair = new_pair(TLS1_3_VERSION, 1 << 14);
    unsigned char data[64];
    SSL_set_options(pair.client, SSL_OP_CLEANSE_PLAINTEXT);
    CHECK(shake(&pair));
    for (int i = 0; i < 64; i++)
        data[i] = expected(i);
    CHECK(SSL_write(pair.server, data, 64) == 64);
    CHECK(memory_has_data());
    OPENSSL_cleanse(data, sizeof data);
    /* The data is decrypted in the buffer of received bytes, because there is no room for all of it. */
    CHECK(SSL_read(pair.client, data, 10) == 10 && SSL_read(pair.client, data, sizeof data) == 54);
    OPENSSL_cleanse(data, sizeof data);
    CHECK(!memory_has_data());
    free_pair(&pair);
}

void test_refused(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx);
    certificate_flags(ctx, ssl);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    padding_callback();
    cleansed_plaintext();
    method_of_connection();
    renegotiation(TLS1_2_VERSION);
    renegotiation(TLS1_3_VERSION);
    cleared_shutdown(TLS1_2_VERSION);
    cleared_shutdown(TLS1_3_VERSION);
}
