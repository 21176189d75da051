/* What this library does not have, and what docs/openssl.md says about it: a value that would have to be enforced is an
   error whose text names the function, and settings of what is never used succeed and leave the queue empty. */
#include <openssl/ct.h>
#include <openssl/srp.h>
#include <unistd.h>

#include "test.h"

static void callback(void) {}

/* Whether the queue has one entry, whose text contains the words. Empties the queue. */
static int names(const char *words) {
    const char *text = NULL;
    int flags = 0;
    unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &text, &flags);
    int found = error != 0 && (flags & ERR_TXT_STRING) != 0 && strstr(text, words) != NULL && ERR_peek_error() == 0;
    ERR_clear_error();
    return found;
}

#define REFUSES(call, words)                                                                          \
    do {                                                                                              \
        CHECK(ERR_peek_error() == 0);                                                                 \
        CHECK((call) == 0);                                                                           \
        CHECK(names(words));                                                                          \
    } while (0)

#define ACCEPTS(call)                                                                                 \
    do {                                                                                              \
        CHECK((call) == 1);                                                                           \
        CHECK(ERR_peek_error() == 0);                                                                 \
    } while (0)

static void refused_values(SSL_CTX *ctx, SSL *ssl) {
    unsigned char types[] = {1};
    void *some = callback;
    for (int mode = TLSEXT_max_fragment_length_512; mode <= TLSEXT_max_fragment_length_4096; mode++) {
        REFUSES(SSL_CTX_set_tlsext_max_fragment_length(ctx, mode), "SSL_CTX_set_tlsext_max_fragment_length");
        REFUSES(SSL_set_tlsext_max_fragment_length(ssl, mode), "SSL_set_tlsext_max_fragment_length");
    }
    REFUSES(SSL_CTX_use_psk_identity_hint(ctx, "hint"), "SSL_CTX_use_psk_identity_hint");
    REFUSES(SSL_use_psk_identity_hint(ssl, "hint"), "SSL_use_psk_identity_hint");
    REFUSES(SSL_CTX_set_generate_session_id(ctx, some), "SSL_CTX_set_generate_session_id");
    REFUSES(SSL_set_generate_session_id(ssl, some), "SSL_set_generate_session_id");
    REFUSES(SSL_CTX_set_srp_client_pwd_callback(ctx, some), "SSL_CTX_set_srp_client_pwd_callback");
    REFUSES(SSL_CTX_set_srp_username_callback(ctx, some), "SSL_CTX_set_srp_username_callback");
    REFUSES(SSL_CTX_set_srp_verify_param_callback(ctx, some), "SSL_CTX_set_srp_verify_param_callback");
    for (int command = SSL_CTRL_SET_TLS_EXT_SRP_USERNAME_CB; command <= SSL_CTRL_SET_SRP_GIVE_CLIENT_PWD_CB; command++)
        REFUSES(SSL_CTX_callback_ctrl(ctx, command, callback), "SRP");
    REFUSES(SSL_CTX_set_srp_password(ctx, "password"), "SRP");
    REFUSES(SSL_CTX_ctrl(ctx, SSL_CTRL_SET_TLS_EXT_SRP_USERNAME, 0, "name"), "SRP");
    REFUSES(SSL_CTX_ctrl(ctx, SSL_CTRL_SET_TLS_EXT_SRP_PASSWORD, 0, "password"), "SRP");
    REFUSES(SSL_set_session_secret_cb(ssl, some, NULL), "SSL_set_session_secret_cb");
    REFUSES(SSL_set_session_ticket_ext_cb(ssl, some, NULL), "SSL_set_session_ticket_ext_cb");
    REFUSES(SSL_set_session_ticket_ext(ssl, "ticket", 6), "SSL_set_session_ticket_ext");
    REFUSES(SSL_CTX_set_ct_validation_callback(ctx, some, NULL), "SSL_CTX_set_ct_validation_callback");
    REFUSES(SSL_set_ct_validation_callback(ssl, some, NULL), "SSL_set_ct_validation_callback");
    REFUSES(SSL_CTX_enable_ct(ctx, SSL_CT_VALIDATION_PERMISSIVE), "SSL_CTX_enable_ct");
    REFUSES(SSL_enable_ct(ssl, SSL_CT_VALIDATION_STRICT), "SSL_enable_ct");
    REFUSES(SSL_CTX_set1_client_certificate_types(ctx, types, 1), "a list of types");
    REFUSES(SSL_set1_client_certificate_types(ssl, types, 1), "a list of types");
    /* The lists remain those of the application. */
    REFUSES(SSL_set_tlsext_status_exts(ssl, some), "a list in status requests");
    REFUSES(SSL_set_tlsext_status_ids(ssl, some), "a list in status requests");
    REFUSES(SSL_CTX_set_block_padding(ctx, 4097), "4096");
    REFUSES(SSL_set_block_padding(ssl, 16384), "4096");
    REFUSES(SSL_set_record_padding_callback(ssl, some), "SSL_set_record_padding_callback");
    REFUSES(SSL_CTX_set_client_cert_engine(ctx, NULL), "SSL_CTX_set_client_cert_engine");
    REFUSES(SSL_CTX_use_serverinfo_file(ctx, "file"), "SSL_CTX_use_serverinfo_file");
    REFUSES(SSL_CTX_add_custom_ext(ctx, 1000, 0, NULL, NULL, NULL, NULL, NULL), "SSL_CTX_add_custom_ext");
    /* These return 0 for success. */
    REFUSES(SSL_CTX_set_tlsext_use_srtp(ctx, "SRTP_AES128_CM_SHA1_80") != 1, "SSL_CTX_set_tlsext_use_srtp");
    REFUSES(SSL_set_tlsext_use_srtp(ssl, "SRTP_AES128_CM_SHA1_80") != 1, "SSL_set_tlsext_use_srtp");
    CHECK(SSL_COMP_add_compression_method(200, NULL) == 1 && ERR_peek_error() == 0);
}

/* The results show which flags of certificates are set. */
static void certificate_flags(SSL_CTX *ctx, SSL *ssl) {
    CHECK(SSL_CTX_set_cert_flags(ctx, SSL_CERT_FLAG_TLS_STRICT) == 0);
    CHECK(SSL_set_cert_flags(ssl, SSL_CERT_FLAG_TLS_STRICT | SSL_CERT_FLAG_SUITEB_192_LOS) ==
          SSL_CERT_FLAG_SUITEB_192_LOS);
    CHECK(SSL_clear_cert_flags(ssl, SSL_CERT_FLAG_SUITEB_192_LOS) == 0);
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_CMDLINE | SSL_CONF_FLAG_SERVER);
    SSL_CONF_CTX_set_ssl_ctx(conf, ctx);
    REFUSES(SSL_CONF_cmd(conf, "-strict", NULL), "stricter checks");
    SSL_CONF_CTX_free(conf);
}

/* Hints, features that are never negotiated, and the arguments of callbacks alone. */
static void without_effect(SSL_CTX *ctx, SSL *ssl) {
    void *some = callback;
    ACCEPTS(SSL_CTX_set_async_callback(ctx, some));
    ACCEPTS(SSL_set_async_callback(ssl, some));
    ACCEPTS(SSL_CTX_set_async_callback_arg(ctx, some));
    ACCEPTS(SSL_set_async_callback_arg(ssl, some));
    ACCEPTS(SSL_CTX_set_srp_cb_arg(ctx, some));
    ACCEPTS(SSL_CTX_set_srp_strength(ctx, 2048));
    ACCEPTS(SSL_CTX_SRP_CTX_init(ctx));
    ACCEPTS(SSL_CTX_SRP_CTX_free(ctx));
    ACCEPTS(SSL_CTX_set_max_pipelines(ctx, 2));
    ACCEPTS(SSL_set_split_send_fragment(ssl, 512));
    ACCEPTS(SSL_CTX_set_dh_auto(ctx, 1));
    ACCEPTS(SSL_set_tlsext_debug_arg(ssl, some));
    ACCEPTS(SSL_set_tlsext_debug_callback(ssl, some));
    ACCEPTS(SSL_alloc_buffers(ssl));
    SSL_CTX_set_cookie_generate_cb(ctx, some);
    SSL_CTX_set_cookie_verify_cb(ctx, some);
    SSL_CTX_set_stateless_cookie_generate_cb(ctx, some);
    SSL_CTX_set_stateless_cookie_verify_cb(ctx, some);
    SSL_CTX_set_next_protos_advertised_cb(ctx, some, NULL);
    SSL_CTX_set_next_proto_select_cb(ctx, some, NULL);
    SSL_CTX_set_psk_server_callback(ctx, some);
    SSL_CTX_set_psk_find_session_callback(ctx, some);
    SSL_set_psk_server_callback(ssl, some);
    SSL_set_psk_find_session_callback(ssl, some);
    SSL_CTX_set_tmp_dh_callback(ctx, some);
    SSL_set_tmp_dh_callback(ssl, some);
    SSL_CTX_set_default_read_buffer_len(ctx, 1 << 16);
    SSL_set_default_read_buffer_len(ssl, 1 << 16);
    SSL_CTX_set_record_padding_callback_arg(ctx, some);
    SSL_set_debug(ssl, 1);
    DTLS_set_timer_cb(ssl, some);
    CHECK(ERR_peek_error() == 0);
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
    refused_values(ctx, ssl);
    certificate_flags(ctx, ssl);
    without_effect(ctx, ssl);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    padding_callback();
    cleansed_plaintext();
    method_of_connection();
    cleared_shutdown(TLS1_2_VERSION);
    cleared_shutdown(TLS1_3_VERSION);
}
