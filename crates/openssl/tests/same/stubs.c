/* Calls each function of the table (../stubs.h) on new objects: on OpenSSL's library the results are those of the table,
   on this one those of its kind. Who owns the arguments afterwards is checked by AddressSanitizer. */
#include <openssl/conf.h>
#include <openssl/ct.h>
#include <openssl/dh.h>
#include <openssl/engine.h>
#include <openssl/ocsp.h>
#include <openssl/srp.h>
#include <openssl/srtp.h>

#include "../c/test.h"

#define NONE 0
/* A pointer other than NULL. */
#define SOME 0x50

static int is_openssl, faults;

static void callback(void) {}
static void *const some = (void *)callback;

static SSL_CTX *ctx, *dtls_ctx;
static SSL *ssl, *dtls;
static SSL_SESSION *session;
static BIO *memory, *filter;
static BIGNUM *number;
static void *list;
static FILE *stream;
/* Places for results. Getters leave the same in them on both libraries. */
static void *value, *const place = &value;
static size_t size;
static unsigned count;
static unsigned char room[100];
static void *const zeros = (unsigned char[100]){0};
static char *const text = (char *)room;

/* The object of the row that has an owner. */
static struct {
    void *object;
    void (*release)(void *);
    int is_passed;
} argument;
static void (*release_result)(void *);

static void *owned(void *object, void (*release)(void *), int is_passed) {
    argument.object = object, argument.release = release, argument.is_passed = is_passed;
    return object;
}

#define kept(object, release) owned(object, release, 0)
#define passed(object, release) owned(object, release, 1)
#define copied(text) kept(strdup(text), free)
/* The result is the application's. */
#define made(arguments, release) (release_result = release, arguments)

static void free_dh(void *dh) { DH_free(dh); }
static void free_key(void *key) { EVP_PKEY_free(key); }
static void free_logs(void *logs) { CTLOG_STORE_free(logs); }
static void free_bio(void *made) { BIO_free_all(made); }
static void free_ctx(void *made) { SSL_CTX_free(made); }
static void free_ssl(void *made) { SSL_free(made); }
static void free_names(void *made) { sk_X509_NAME_pop_free(made, X509_NAME_free); }
static void free_list(void *all) { OPENSSL_sk_free(all); }

static EVP_PKEY *new_parameters(void) {
    EVP_PKEY *key = EVP_PKEY_new();
    CHECK(EVP_PKEY_assign(key, EVP_PKEY_DH, DH_get_2048_256()) == 1);
    return key;
}

static void begin(void) {
    ctx = SSL_CTX_new(TLS_method());
    ssl = SSL_new(ctx);
    dtls_ctx = SSL_CTX_new(DTLS_method());
    dtls = SSL_new(dtls_ctx);
    session = SSL_SESSION_new();
    memory = BIO_new(BIO_s_mem());
    filter = BIO_new_ssl(ctx, 1);
    number = BN_new();
    list = OPENSSL_sk_new_null();
    stream = tmpfile();
    value = &value, size = count = 1, memset(room, 1, sizeof room);
    CHECK(ctx != NULL && ssl != NULL && dtls != NULL && session != NULL && stream != NULL && ERR_peek_error() == 0);
}

/* Whether the queue has one error, whose text names the function of a row. Commands have other names in the text. */
static int names(const char *function) {
    const char *words = NULL, *name = strstr(function, "set");
    int flags = 0;
    unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &words, &flags);
    if (name == NULL)
        name = strstr(function, "_ctrl") == NULL ? function : " is not supported";
    return error != 0 && (flags & ERR_TXT_STRING) != 0 && strstr(words, name) != NULL && ERR_peek_error() == 0;
}

static void end(const char *row, const char *kind, long result, long expected, int reason) {
    int is_refused = !is_openssl && (strcmp(kind, "REFUSED") == 0 || strcmp(kind, "FAILING") == 0), found = ERR_GET_REASON(ERR_peek_last_error());
    int succeeds = !is_refused && (expected != 0 || reason == NONE);
    if ((expected == SOME ? result == 0 : result != expected) || (is_refused ? !names(row) : found != reason)) {
        printf("%s: %ld and reason %d, not %ld and %d\n", row, result, found, expected, reason);
        faults++;
    }
    ERR_clear_error();
    /* Getters leave the same in places for results. */
    if (strcmp(kind, "ABSENT") == 0)
        printf("%s: %d %zu %u %d %ld\n", row, value == NULL, size, count, room[0], (long)BIO_pending(memory));
    if (release_result != NULL)
        release_result((void *)result);
    if (argument.release != NULL && !(argument.is_passed && succeeds))
        argument.release(argument.object);
    argument.release = release_result = NULL;
    fclose(stream);
    OPENSSL_sk_free(list);
    BN_free(number);
    BIO_free(filter);
    BIO_free(memory);
    SSL_SESSION_free(session);
    SSL_free(dtls);
    SSL_CTX_free(dtls_ctx);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

#define ROW(kind, row, call, stock, reason, own, own_reason)                                          \
    {                                                                                                  \
        begin();                                                                                       \
        long result = (long)(call);                                                                    \
        end(row, kind, result, is_openssl ? stock : own, is_openssl ? reason : own_reason);         \
    }
#define SUBJECT(name, reason)
#define REFUSED(name, args, nothing, stock, reason, own, programs)                                     \
    ROW("REFUSED", #name, name args, stock, reason, own, NONE)                                         \
    ROW("NOTHING", #name, name nothing, stock, reason, stock, reason)
#define FAILING(name, args, stock, reason, own, programs) ROW("FAILING", #name, name args, stock, reason, own, NONE)
#define IGNORED(name, args, stock, reason, programs) ROW("IGNORED", #name, name args, stock, reason, stock, reason)
#define IGNORED_VOID(name, args, programs) ROW("IGNORED", #name, (name args, 0), 0, NONE, 0, NONE)
#define ABSENT(name, args, stock, reason, programs) ROW("ABSENT", #name, name args, stock, reason, stock, reason)
#define ABSENT_VOID(name, args, programs) ROW("ABSENT", #name, (name args, 0), 0, NONE, 0, NONE)
#define PARTLY(name, args, stock, reason, programs, what) ROW("PARTLY", #name, name args, stock, reason, stock, reason)
#define PARTLY_VOID(name, args, programs, what) ROW("PARTLY", #name, (name args, 0), 0, NONE, 0, NONE)
#define OTHER(name, args, stock, reason, own, own_reason, programs, why)                                \
    ROW("OTHER", #name, name args, stock, reason, own, own_reason)
#define METHOD(name, programs) ROW("METHOD", #name, name() != NULL, 1, NONE, 1, NONE)
#define OPTION(name, programs) ROW("OPTION", #name, (SSL_CTX_set_options(ctx, name) & name) != 0, 1, NONE, 1, NONE)
#define MODE(name, programs) ROW("MODE", #name, (SSL_CTX_set_mode(ctx, name) & name) != 0, 1, NONE, 1, NONE)

/* Each command with a number, and a place for results. */
static void commands(long with) {
    for (int command = 0; command < 140; command++) {
        /* These take over an object. */
        static const int with_object[] = {3, 4, 67, 69, 71, 79, 81, 88, 89, 106, 107, 116};
        void *pointer = room;
        for (size_t i = 0; i < sizeof with_object / sizeof *with_object; i++)
            if (with_object[i] == command)
                pointer = NULL;
        /* OpenSSL adds NULL to the chain, and needs a handshake for the group. The last two have rows. */
        if (command == SSL_CTRL_EXTRA_CHAIN_CERT || command == SSL_CTRL_GET_NEGOTIATED_GROUP ||
            (with == 1 && (command == SSL_CTRL_CERT_FLAGS || command == SSL_CTRL_SET_CLIENT_CERT_TYPES)))
            continue;
        begin();
        memset(room, 0, sizeof room);
        long of_context = SSL_CTX_ctrl(ctx, command, with, pointer);
        int is_clean = of_context == 0 || ERR_peek_error() == 0;
        ERR_clear_error();
        long of_connection = SSL_ctrl(ssl, command, with, pointer);
        is_clean = is_clean && (of_connection == 0 || ERR_peek_error() == 0);
        printf("%d: %ld %ld %d\n", command, of_context, of_connection, is_clean);
        ERR_clear_error();
        if (command != SSL_CTRL_SET_TLSEXT_TICKET_KEY_CB)
            printf("callback %d: %ld %ld\n", command, SSL_CTX_callback_ctrl(ctx, command, NULL),
                   SSL_callback_ctrl(ssl, command, NULL));
        ERR_clear_error();
        end("", "", 0, 0, NONE);
    }
}

int main(void) {
    /* Only OpenSSL's library has suites without forward secrecy. */
    begin();
    is_openssl = SSL_CIPHER_find(ssl, (const unsigned char *)"\0\57") != NULL;
    end("", "", 0, 0, NONE);
    X509 *certificate = read_certificate("server.pem");
    EVP_PKEY *key = read_key("server.key");
#include "../stubs.h"
    X509_free(certificate);
    EVP_PKEY_free(key);
    commands(0);
    commands(1);
    return faults != 0;
}
