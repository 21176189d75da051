/* The results of functions of one object, on new objects. The list is made from ssl.h (tools/libssl-signatures.py). */
#include <sanitizer/lsan_interface.h>

#include "../c/test.h"

static SSL_CTX *ctx;
static SSL *ssl;
static SSL_SESSION *session;
static const SSL_CIPHER *cipher;

static void begin(const SSL_METHOD *method) {
    ctx = SSL_CTX_new(method);
    ssl = SSL_new(ctx);
    session = SSL_SESSION_new();
    cipher = SSL_CIPHER_find(ssl, (const unsigned char *)"\x13\x01");
    CHECK(ctx != NULL && ssl != NULL && session != NULL && cipher != NULL);
}

static void end(void) {
    ERR_clear_error();
    SSL_SESSION_free(session);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

static void show_text(const char *text) {
    printf("%s", text == NULL ? "NULL" : text);
}

#define CALL(name, show)                                                                              \
    begin(method);                                                                                    \
    printf("%s: ", #name);                                                                            \
    show;                                                                                             \
    printf("\n");                                                                                     \
    end();
#define NUMBER(name, object) CALL(name, printf("%ld", (long)name(object)))
#define POINTER(name, object) CALL(name, printf("%d", name(object) != NULL))
#define TEXT(name, object) CALL(name, show_text(name(object)))
#define NOTHING(name, object) CALL(name, name(object))

int main(void) {
    /* Some results are new objects. */
    __lsan_disable();
    const SSL_METHOD *methods[] = {TLS_method(), TLS_client_method(), TLS_server_method(), TLSv1_2_server_method()};
    for (int i = 0; i < 4; i++) {
        const SSL_METHOD *method = methods[i];
#include "getters.h"
    }
    return 0;
}
