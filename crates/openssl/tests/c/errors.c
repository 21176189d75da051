/* The queue of errors: an entry for each failure with OpenSSL's reason, and none after success. */
#include "test.h"
#include <openssl/srtp.h>

static int reason(void) {
    int found = ERR_GET_REASON(ERR_peek_error());
    CHECK(ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_SSL);
    ERR_clear_error();
    return found;
}

/* A server whose root the client does not know. */
static void refused_certificate(int version) {
    SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_load_verify_locations(client_ctx, material("other.pem"), NULL);
    SSL_CTX_set_verify(client_ctx, SSL_VERIFY_PEER, NULL);
    struct pair pair = pair_of(client_ctx, server_context(version), 1 << 14);
    CHECK(!shake(&pair));
    CHECK(SSL_get_verify_result(pair.client) == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
    CHECK(strstr(ERR_reason_error_string(ERR_peek_error()), "certificate verify failed") != NULL);
    const char *detail = "";
    int flags = 0;
    ERR_peek_error_all(NULL, NULL, NULL, &detail, &flags);
    CHECK(strstr(detail, "unable to get local issuer certificate: the chain ends at") != NULL);
    CHECK(reason() == SSL_R_CERTIFICATE_VERIFY_FAILED);
    /* A failed handshake stays so, without a second entry. */
    CHECK(SSL_do_handshake(pair.client) == -1 && ERR_peek_error() == 0);
    int result = SSL_do_handshake(pair.server);
    CHECK(result == -1 && SSL_get_error(pair.server, result) == SSL_ERROR_SSL);
    CHECK(reason() == SSL_R_TLSV1_ALERT_UNKNOWN_CA);
    free_pair(&pair);
}

/* A client that does not verify is connected, and can ask for the result. */
static void unverified(void) {
    SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
    struct pair pair = pair_of(client_ctx, server_context(0), 1 << 14);
    CHECK(shake(&pair));
    CHECK(SSL_get_verify_result(pair.client) == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
    X509 *peer = SSL_get1_peer_certificate(pair.client);
    CHECK(peer != NULL && SSL_get0_peer_certificate(pair.client) == peer);
    X509_free(peer);
    CHECK(sk_X509_num(SSL_get_peer_cert_chain(pair.client)) == 1);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* A server that requires a client certificate. */
static void client_certificates(int version) {
    SSL_CTX *server_ctx = server_context(version);
    SSL_CTX_load_verify_locations(server_ctx, material("root.pem"), NULL);
    SSL_CTX_set_verify(server_ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_up_ref(server_ctx);
    struct pair pair = pair_of(client_context(version), server_ctx, 1 << 14);
    int done = shake(&pair);
    /* In TLS 1.3, the client is done before the server refuses it. */
    CHECK(!done && reason() == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE);
    free_pair(&pair);

    SSL_CTX *client_ctx = client_context(version);
    CHECK(SSL_CTX_use_certificate_file(client_ctx, material("client.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(client_ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    pair = pair_of(client_ctx, server_ctx, 1 << 14);
    CHECK(shake(&pair));
    CHECK(SSL_get_verify_result(pair.server) == X509_V_OK);
    CHECK(SSL_get0_peer_certificate(pair.server) != NULL);
    CHECK(sk_X509_num(SSL_get0_verified_chain(pair.server)) == 2);
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* No version or suite in common, and names that are not known. */
static void disagreement(void) {
    struct pair pair = pair_of(client_context(TLS1_2_VERSION), server_context(TLS1_3_VERSION), 1 << 14);
    CHECK(!shake(&pair));
    CHECK(reason() == SSL_R_UNSUPPORTED_PROTOCOL);
    free_pair(&pair);

    pair = new_pair(TLS1_2_VERSION, 1 << 14);
    CHECK(SSL_set_cipher_list(pair.client, "ECDHE-RSA-AES128-GCM-SHA256") == 1);
    CHECK(!shake(&pair));
    int found = reason();
    CHECK(found == SSL_R_NO_SHARED_CIPHER || found == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM);
    free_pair(&pair);

    /* What is refused on purpose can be configured, and fails in the handshake. */
    SSL_CTX *ctx = SSL_CTX_new(TLSv1_1_client_method());
    pair = pair_of(ctx, server_context(0), 1 << 14);
    CHECK(ERR_peek_error() == 0);
    CHECK(SSL_do_handshake(pair.client) == -1);
    CHECK(reason() == SSL_R_NO_PROTOCOLS_AVAILABLE);
    free_pair(&pair);

    ctx = SSL_CTX_new(TLS_client_method());
    CHECK(SSL_CTX_set_cipher_list(ctx, "AES128-SHA:ECDHE+AESGCM") == 1 && ERR_peek_error() == 0);
    CHECK(SSL_CTX_set_cipher_list(ctx, "AES128-SHA") == 0 && reason() == SSL_R_NO_CIPHER_MATCH);
    CHECK(SSL_CTX_set_cipher_list(ctx, "NOTHING") == 0 && reason() == SSL_R_NO_CIPHER_MATCH);
    CHECK(SSL_CTX_use_certificate_file(ctx, "/nonexistent", SSL_FILETYPE_PEM) == 0);
    CHECK(ERR_peek_error() != 0);
    ERR_clear_error();
    CHECK(SSL_CTX_check_private_key(ctx) == 0 && reason() == SSL_R_NO_CERTIFICATE_ASSIGNED);
    CHECK(SSL_CTX_set_dh_auto(ctx, 1) == 1);
    CHECK(ERR_peek_error() == 0);
    /* NULL in place of a file. */
    SSL *ssl = SSL_new(ctx);
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    CHECK(SSL_CTX_use_certificate_file(ctx, NULL, SSL_FILETYPE_PEM) == 0 && reason() == ERR_R_PASSED_NULL_PARAMETER);
    CHECK(SSL_CTX_use_certificate_chain_file(ctx, NULL) == 0 && reason() == ERR_R_PASSED_NULL_PARAMETER);
    CHECK(SSL_use_PrivateKey_file(ssl, NULL, SSL_FILETYPE_PEM) == 0 && reason() == ERR_R_PASSED_NULL_PARAMETER);
    CHECK(SSL_use_RSAPrivateKey_file(ssl, NULL, SSL_FILETYPE_PEM) == 0 && reason() == ERR_R_PASSED_NULL_PARAMETER);
    CHECK(SSL_load_client_CA_file(NULL) == NULL && reason() == ERR_R_PASSED_NULL_PARAMETER);
    CHECK(SSL_add_file_cert_subjects_to_stack(names, NULL) == 0 && reason() == ERR_R_PASSED_NULL_PARAMETER);
    sk_X509_NAME_free(names);
    SSL_free(ssl);
    /* Not supported: an entry that names the function. */
    CHECK(SSL_CTX_enable_ct(ctx, SSL_CT_VALIDATION_STRICT) == 0);
    const char *data = NULL;
    int flags = 0;
    CHECK(ERR_get_error_all(NULL, NULL, NULL, &data, &flags) != 0);
    CHECK(data != NULL && strstr(data, "SSL_CTX_enable_ct") != NULL);
    SSL_CTX_free(ctx);
}

/* The functions for SRTP, whose success is 0. No program believes that it has SRTP. */
static void secure_media(void) {
    SSL_CTX *ctx = SSL_CTX_new(DTLS_method());
    CHECK(SSL_CTX_set_tlsext_use_srtp(ctx, "SRTP_AES128_CM_SHA1_80") == 1 && ERR_get_error() != 0);
    SSL_CTX_free(ctx);
    ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx);
    CHECK(SSL_set_tlsext_use_srtp(ssl, "SRTP_AES128_CM_SHA1_80") == 1 && ERR_get_error() != 0);
    CHECK(SSL_get_srtp_profiles(ssl) == NULL && SSL_get_selected_srtp_profile(ssl) == NULL);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    CHECK(ERR_peek_error() == 0);
}

/* Bytes that are not TLS. */
static void not_tls(void) {
    struct pair pair = new_pair(0, 1 << 14);
    BIO_write(SSL_get_wbio(pair.client), "GET / HTTP/1.0\r\n\r\n", 18);
    CHECK(SSL_do_handshake(pair.server) == -1 && reason() == SSL_R_HTTP_REQUEST);
    free_pair(&pair);
    pair = new_pair(0, 1 << 14);
    BIO_write(SSL_get_wbio(pair.client), "SSH-2.0-OpenSSH\r\n", 17);
    CHECK(SSL_do_handshake(pair.server) == -1 && reason() == SSL_R_WRONG_VERSION_NUMBER);
    free_pair(&pair);
}

/* A handshake begins with an empty queue, whatever the program left in it. */
static void old_errors(void) {
    struct pair pair = new_pair(0, 1 << 14);
    CHECK(SSL_CTX_set_cipher_list(pair.client_ctx, "NOTHING") == 0 && ERR_peek_error() != 0);
    CHECK(shake(&pair));
    CHECK(ERR_peek_error() == 0);
    free_pair(&pair);
}

/* A client that does not use TLS gets no alert. */
static void foreign_client(void) {
    SSL_CTX *ctx = server_context(0);
    SSL *ssl = SSL_new(ctx);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    CHECK(BIO_write(in, "PING\r\nPING\r\n", 12) == 12);
    SSL_set_bio(ssl, in, out);
    CHECK(SSL_accept(ssl) == -1);
    CHECK(SSL_get_error(ssl, -1) == SSL_ERROR_SSL && BIO_pending(out) == 0);
    ERR_clear_error();
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

void test_errors(void) {
    foreign_client();
    old_errors();
    refused_certificate(TLS1_2_VERSION);
    refused_certificate(TLS1_3_VERSION);
    unverified();
    client_certificates(TLS1_2_VERSION);
    client_certificates(TLS1_3_VERSION);
    disagreement();
    secure_media();
    not_tls();
}
