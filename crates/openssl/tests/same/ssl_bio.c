/* BIOs with a connection: results, flags of retries and their reasons, and who owns what. AddressSanitizer finds
   references that are missing or left. */
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../c/test.h"

static void show(const char *what, BIO *bio, long result) {
    printf("%s: %ld, retry %d read %d write %d special %d reason %d, queue %s\n", what, result,
           BIO_should_retry(bio) != 0, BIO_should_read(bio) != 0, BIO_should_write(bio) != 0,
           BIO_should_io_special(bio) != 0, BIO_get_retry_reason(bio), ERR_peek_error() == 0 ? "empty" : "not empty");
    ERR_clear_error();
}

/* Frees the parts of objects, which are counted. */
static int freed, index_of_mark;

static void on_free(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    freed += value != NULL;
}

static SSL *marked(BIO *bio) {
    SSL *ssl = NULL;
    CHECK(BIO_get_ssl(bio, &ssl) == 1 && SSL_set_ex_data(ssl, index_of_mark, &freed) == 1);
    return ssl;
}

struct ends {
    SSL_CTX *client_ctx, *server_ctx;
    BIO *client, *server;
};

/* A client and a server, each in a chain with one half of a BIO pair. */
static struct ends joined(int version, size_t size) {
    struct ends ends = {client_context(version), server_context(version), NULL, NULL};
    BIO *one, *other;
    CHECK(BIO_new_bio_pair(&one, size, &other, size) == 1);
    ends.client = BIO_new_ssl(ends.client_ctx, 1);
    ends.server = BIO_new_ssl(ends.server_ctx, 0);
    CHECK(ends.client != NULL && ends.server != NULL);
    CHECK(BIO_push(ends.client, one) == ends.client && BIO_push(ends.server, other) == ends.server);
    marked(ends.client);
    marked(ends.server);
    return ends;
}

static void shake_ends(struct ends *ends) {
    for (int i = 0; i < 100; i++) {
        long client = BIO_do_handshake(ends->client);
        CHECK(client == 1 || BIO_should_retry(ends->client));
        long server = BIO_do_handshake(ends->server);
        CHECK(server == 1 || BIO_should_retry(ends->server));
        if (client == 1 && server == 1)
            return;
    }
    CHECK(0);
}

static void free_ends(struct ends *ends) {
    freed = 0;
    BIO_free_all(ends->client);
    BIO_free_all(ends->server);
    SSL_CTX_free(ends->client_ctx);
    SSL_CTX_free(ends->server_ctx);
    printf("freed: %d\n", freed);
}

static void transfer(int version) {
    char text[64] = "";
    size_t count = 0;
    struct ends ends = joined(version, 1 << 14);
    printf("version %x\n", version);
    show("a first read", ends.server, BIO_read(ends.server, text, sizeof text));
    show("a first handshake", ends.client, BIO_do_handshake(ends.client));
    show("a read in the handshake", ends.client, BIO_read(ends.client, text, sizeof text));
    show("a write in the handshake", ends.client, BIO_write(ends.client, "x", 1));
    shake_ends(&ends);
    show("handshake", ends.client, BIO_do_handshake(ends.client));
    show("write", ends.server, BIO_write(ends.server, "hello", 5));
    show("puts", ends.server, BIO_puts(ends.server, "world\n"));
    show("no bytes", ends.server, BIO_write(ends.server, "", 0));
    CHECK(BIO_write_ex(ends.server, "more", 4, &count) == 1);
    show("write_ex", ends.server, (long)count);
    show("flush", ends.server, BIO_flush(ends.server));
    printf("pending: some %d\n", BIO_pending(ends.client) > 0);
    show("read", ends.client, BIO_read(ends.client, text, 2));
    show("pending of a record", ends.client, BIO_pending(ends.client));
    show("read", ends.client, BIO_read(ends.client, text, sizeof text));
    show("read", ends.client, BIO_read(ends.client, text, sizeof text));
    printf("%.6s", text);
    CHECK(BIO_read_ex(ends.client, text, sizeof text, &count) == 1);
    show("read_ex", ends.client, (long)count);
    show("nothing left", ends.client, BIO_read(ends.client, text, sizeof text));
    show("read_ex of nothing", ends.client, BIO_read_ex(ends.client, text, sizeof text, &count));
    show("pending", ends.client, BIO_pending(ends.client));
    show("wpending", ends.client, BIO_wpending(ends.client));
    show("gets", ends.client, BIO_gets(ends.client, text, sizeof text));
    show("read of nothing", ends.client, BIO_read(ends.client, text, 0));
    show("eof", ends.client, BIO_eof(ends.client));
    BIO_ssl_shutdown(ends.server);
    show("closed", ends.client, BIO_read(ends.client, text, sizeof text));
    show("shutdown", ends.client, SSL_get_shutdown(marked(ends.client)));
    show("shutdown", ends.server, SSL_get_shutdown(marked(ends.server)));
    show("write after that", ends.server, BIO_write(ends.server, "x", 1));
    free_ends(&ends);
}

/* The transport has room for less than is written. */
static void blocked(int version) {
    static char data[1 << 14];
    struct ends ends = joined(version, 1000);
    shake_ends(&ends);
    show("blocked write", ends.client, BIO_write(ends.client, data, sizeof data));
    show("repeated", ends.client, BIO_write(ends.client, data, sizeof data));
    printf("wpending: some %d\n", BIO_wpending(ends.client) > 0);
    for (int i = 0; i < 100 && BIO_read(ends.server, data, sizeof data) <= 0; i++)
        BIO_write(ends.client, data, sizeof data);
    show("done", ends.client, BIO_write(ends.client, "x", 1));
    free_ends(&ends);
}

static int asked;

/* Is asked for a certificate, and has none at first. */
static int ask(SSL *ssl, void *argument) {
    (void)ssl, (void)argument;
    return asked++ < 2 ? -1 : 1;
}

static void reasons(int version) {
    struct ends ends = joined(version, 1 << 14);
    char text[8];
    asked = 0;
    SSL_set_cert_cb(marked(ends.server), ask, NULL);
    CHECK(BIO_do_handshake(ends.client) == -1);
    show("wants a certificate", ends.server, BIO_do_handshake(ends.server));
    show("wants a certificate", ends.server, BIO_read(ends.server, text, sizeof text));
    shake_ends(&ends);
    free_ends(&ends);
}

static void commands(void) {
    SSL_CTX *ctx = client_context(0);
    BIO *bio = BIO_new(BIO_f_ssl()), *next, *memory;
    SSL *ssl = SSL_new(ctx), *got = NULL;
    char text[8];
    printf("type %x name %s\n", BIO_method_type(bio), BIO_method_name(bio));
    show("read without a connection", bio, BIO_read(bio, text, 1));
    show("write without a connection", bio, BIO_write(bio, text, 1));
    show("get without a connection", bio, BIO_get_ssl(bio, &got));
    show("close without a connection", bio, BIO_get_close(bio));
    show("pending without a connection", bio, BIO_pending(bio));
    show("copy without a connection", bio, BIO_ssl_copy_session_id(bio, bio));
    /* The connection stays the program's. */
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_ex_data(ssl, index_of_mark, &freed);
    show("set", bio, BIO_set_ssl(bio, ssl, BIO_NOCLOSE));
    printf("next is the input: %d\n", BIO_next(bio) == SSL_get_rbio(ssl));
    show("get", bio, BIO_get_ssl(bio, &got));
    printf("same %d\n", got == ssl);
    show("get for NULL", bio, BIO_get_ssl(bio, NULL));
    show("close", bio, BIO_get_close(bio));
    show("set close", bio, BIO_set_close(bio, BIO_CLOSE));
    show("close", bio, BIO_get_close(bio));
    show("set close", bio, BIO_set_close(bio, BIO_NOCLOSE));
    show("info", bio, BIO_ctrl(bio, BIO_CTRL_INFO, 0, NULL));
    show("set callback", bio, BIO_ctrl(bio, BIO_CTRL_SET_CALLBACK, 0, NULL));
    show("other callback", bio, BIO_callback_ctrl(bio, 77, NULL));
    show("unknown", bio, BIO_ctrl(bio, 12345, 0, NULL));
    show("renegotiate bytes", bio, BIO_set_ssl_renegotiate_bytes(bio, 100));
    show("renegotiate bytes", bio, BIO_set_ssl_renegotiate_bytes(bio, 1000));
    show("renegotiate bytes", bio, BIO_set_ssl_renegotiate_bytes(bio, 2000));
    show("renegotiate timeout", bio, BIO_set_ssl_renegotiate_timeout(bio, 10));
    show("renegotiate timeout", bio, BIO_set_ssl_renegotiate_timeout(bio, 100));
    show("renegotiate timeout", bio, BIO_set_ssl_renegotiate_timeout(bio, 100));
    show("renegotiations", bio, BIO_get_num_renegotiates(bio));
    show("mode", bio, BIO_set_ssl_mode(bio, 0));
    printf("server %d\n", SSL_is_server(ssl));
    show("mode", bio, BIO_set_ssl_mode(bio, 1));
    printf("server %d\n", SSL_is_server(ssl));
    show("handshake", bio, BIO_do_handshake(bio));
    printf("output: some %d\n", BIO_pending(SSL_get_wbio(ssl)) > 0);
    show("wpending of memory", bio, BIO_wpending(bio));
    show("descriptor", bio, BIO_get_fd(bio, NULL));
    show("reset", bio, BIO_reset(bio));
    printf("before %d server %d\n", SSL_in_before(ssl), SSL_is_server(ssl));
    /* Another connection, which the BIO owns. */
    freed = 0;
    show("set another", bio, BIO_set_ssl(bio, SSL_new(ctx), BIO_CLOSE));
    marked(bio);
    printf("freed %d next %d\n", freed, BIO_next(bio) != NULL);
    show("set a third", bio, BIO_set_ssl(bio, SSL_new(ctx), BIO_CLOSE));
    printf("freed %d\n", freed);
    got = marked(bio);
    SSL_free(ssl);
    printf("freed %d\n", freed);
    BIO_free_all(bio);
    printf("freed %d\n", freed);

    /* Pushing gives the connection the next BIO, and popping takes it. */
    bio = BIO_new_ssl(ctx, 1);
    got = marked(bio);
    next = BIO_new(BIO_s_mem());
    BIO_push(bio, next);
    printf("pushed %d %d\n", SSL_get_rbio(got) == next, SSL_get_wbio(got) == next);
    printf("popped %d, next %d, input %d\n", BIO_pop(bio) == next, BIO_next(bio) != NULL, SSL_get_rbio(got) != NULL);
    BIO_free(next);
    printf("read without BIOs: %d\n", BIO_read(bio, text, 1));
    ERR_clear_error();
    next = BIO_new(BIO_f_buffer());
    memory = BIO_new(BIO_s_mem());
    BIO_push(next, bio);
    BIO_push(next, memory);
    printf("pushed %d\n", SSL_get_rbio(got) == memory);
    freed = 0;
    BIO_free_all(next);
    printf("freed %d\n", freed);
    printf("NULL context: %d\n", BIO_new_ssl(NULL, 1) == NULL);
    printf("NULL context: %d\n", BIO_new_ssl_connect(NULL) == NULL);
    printf("NULL context: %d\n", BIO_new_buffer_ssl_connect(NULL) == NULL);
    ERR_clear_error();
    BIO_ssl_shutdown(NULL);
    SSL_CTX_free(ctx);
}

struct listener {
    SSL_CTX *ctx;
    int descriptor;
};

/* Echoes one line of each of two clients. */
static void *serve(void *argument) {
    struct listener *listener = argument;
    for (int i = 0; i < 2; i++) {
        char line[64];
        int peer = accept(listener->descriptor, NULL, NULL);
        CHECK(peer >= 0);
        BIO *bio = BIO_new_ssl(listener->ctx, 0), *buffer = BIO_new(BIO_f_buffer());
        BIO_push(buffer, bio);
        BIO_push(buffer, BIO_new_socket(peer, BIO_CLOSE));
        int count = BIO_gets(buffer, line, sizeof line);
        CHECK(count > 0 && BIO_write(buffer, line, count) == count && BIO_flush(buffer) == 1);
        BIO_free_all(buffer);
    }
    return NULL;
}

static void connecting(int version) {
    struct listener listener = {server_context(version), socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t thread;
    char port[8], line[64];
    CHECK(bind(listener.descriptor, (struct sockaddr *)&address, length) == 0 && listen(listener.descriptor, 4) == 0);
    CHECK(getsockname(listener.descriptor, (struct sockaddr *)&address, &length) == 0);
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    CHECK(pthread_create(&thread, NULL, serve, &listener) == 0);
    SSL_CTX *ctx = client_context(version);
    BIO *kept = NULL;
    for (int buffered = 0; buffered < 2; buffered++) {
        BIO *bio = buffered ? BIO_new_buffer_ssl_connect(ctx) : BIO_new_ssl_connect(ctx);
        SSL *ssl = marked(bio);
        CHECK(BIO_set_conn_hostname(bio, "127.0.0.1") == 1 && BIO_set_conn_port(bio, port) == 1);
        if (kept != NULL)
            printf("copied %d\n", BIO_ssl_copy_session_id(bio, kept));
        show("connect", bio, BIO_do_connect(bio));
        show("handshake", bio, BIO_do_handshake(bio));
        printf("reused %d verified %ld\n", SSL_session_reused(ssl), SSL_get_verify_result(ssl));
        show("write", bio, BIO_puts(bio, "a line\n"));
        show("flush", bio, BIO_flush(bio));
        show("read", bio, BIO_read(bio, line, sizeof line));
        show("end", bio, BIO_read(bio, line, sizeof line));
        BIO_free_all(kept);
        kept = bio;
    }
    BIO_free_all(kept);
    CHECK(pthread_join(thread, NULL) == 0);
    close(listener.descriptor);
    /* A connection that is not made. */
    BIO *bio = BIO_new_ssl_connect(ctx);
    BIO_set_conn_hostname(bio, "127.0.0.1");
    BIO_set_conn_port(bio, port);
    show("refused", bio, BIO_do_connect(bio));
    BIO_free_all(bio);
    SSL_CTX_free(ctx);
    SSL_CTX_free(listener.ctx);
}

int main(void) {
    int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    index_of_mark = SSL_get_ex_new_index(0, NULL, NULL, NULL, on_free);
    commands();
    for (int i = 0; i < 2; i++) {
        transfer(versions[i]);
        blocked(versions[i]);
        reasons(versions[i]);
        connecting(versions[i]);
    }
    return 0;
}
