/* Ownership of BIOs, and BIOs of programs. AddressSanitizer finds references that are missing or left. */
#include "test.h"

static int freed;

static int on_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static int on_destroy(BIO *bio) {
    (void)bio;
    freed++;
    return 1;
}

static BIO_METHOD *method;

static BIO *counted(void) {
    if (method == NULL) {
        method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 127, "counted");
        BIO_meth_set_create(method, on_create);
        BIO_meth_set_destroy(method, on_destroy);
    }
    return BIO_new(method);
}

void test_bios(void) {
    SSL_CTX *ctx = client_context(0);
    SSL *ssl = SSL_new(ctx);

    /* One reference for both, if they are the same. */
    BIO *one = counted();
    SSL_set_bio(ssl, one, one);
    CHECK(SSL_get_rbio(ssl) == one && SSL_get_wbio(ssl) == one && freed == 0);
    /* Nothing changes, and no reference is taken. */
    SSL_set_bio(ssl, one, one);
    CHECK(freed == 0);
    /* Two others. */
    BIO *input = counted(), *output = counted();
    SSL_set_bio(ssl, input, output);
    CHECK(freed == 1 && SSL_get_rbio(ssl) == input && SSL_get_wbio(ssl) == output);
    /* Only the output changes. */
    output = counted();
    SSL_set_bio(ssl, input, output);
    CHECK(freed == 2);
    /* Only the input changes, of two that were different. */
    input = counted();
    SSL_set_bio(ssl, input, output);
    CHECK(freed == 3);
    /* The setters of one take the reference. */
    BIO_up_ref(input);
    SSL_set0_wbio(ssl, input);
    CHECK(freed == 4);
    SSL_set0_rbio(ssl, NULL);
    CHECK(freed == 4 && SSL_get_rbio(ssl) == NULL);
    SSL_set_bio(ssl, NULL, NULL);
    CHECK(freed == 5);

    one = counted();
    SSL_set_bio(ssl, one, one);
    SSL_free(ssl);
    CHECK(freed == 6);

    /* Descriptors. */
    ssl = SSL_new(ctx);
    CHECK(SSL_get_fd(ssl) == -1);
    CHECK(SSL_set_fd(ssl, 0) == 1 && SSL_get_fd(ssl) == 0 && SSL_get_wfd(ssl) == 0);
    CHECK(SSL_set_rfd(ssl, 0) == 1 && SSL_set_wfd(ssl, 1) == 1 && SSL_get_wfd(ssl) == 1);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    BIO_meth_free(method);
    CHECK(ERR_peek_error() == 0);
}
