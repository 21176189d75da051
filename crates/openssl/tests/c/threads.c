/* One thread reads and another writes on the same connection, whose transport does not accept the bytes of both. */
#include "test.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LENGTH = 1 << 20 };
static char data[LENGTH];
static int has_written;

static void *write_all(void *ssl) {
    CHECK(SSL_write(ssl, data, LENGTH) == LENGTH);
    __atomic_store_n(&has_written, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *read_some(void *ssl) {
    char text[4];
    CHECK(SSL_read(ssl, text, 4) == 4);
    return NULL;
}

static void *accept_one(void *ssl) {
    CHECK(SSL_accept(ssl) == 1);
    return NULL;
}

static void set_blocking(int descriptor, int blocks) {
    int flags = fcntl(descriptor, F_GETFL) & ~O_NONBLOCK;
    CHECK(fcntl(descriptor, F_SETFL, flags | (blocks ? 0 : O_NONBLOCK)) == 0);
}

static void *toggle_options(void *ssl) {
    for (int i = 0; i < 20000; i++) {
        CHECK((SSL_set_options(ssl, SSL_OP_NO_TICKET) & SSL_OP_NO_TICKET) != 0);
        CHECK((SSL_clear_options(ssl, SSL_OP_NO_TICKET) & SSL_OP_NO_TICKET) == 0);
    }
    CHECK(ERR_peek_error() == 0);
    return NULL;
}

/* Commands change a connection while another thread does, too. */
void test_commands_in_threads(void) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    SSL *ssl = SSL_new(ctx);
    SSL_CONF_CTX *conf = SSL_CONF_CTX_new();
    pthread_t thread;
    SSL_CONF_CTX_set_flags(conf, SSL_CONF_FLAG_FILE | SSL_CONF_FLAG_SERVER);
    SSL_CONF_CTX_set_ssl(conf, ssl);
    pthread_create(&thread, NULL, toggle_options, ssl);
    for (int i = 0; i < 20000; i++)
        CHECK(SSL_CONF_cmd(conf, "Options", i % 2 ? "ServerPreference" : "-ServerPreference") == 2);
    pthread_join(thread, NULL);
    SSL_CONF_CTX_free(conf);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    CHECK(ERR_peek_error() == 0);
}

/* While the reader waits for the transport, to send its answer to a key update, a write is not accepted into memory. */
void test_blocked_reader(void) {
    SSL_CTX *client_ctx = client_context(TLS1_3_VERSION), *server_ctx = server_context(TLS1_3_VERSION);
    int to_client[2], to_server[2];
    pthread_t reader, writer, peer;
    static char received[1 << 16];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, to_client) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, to_server) == 0);
    SSL *client = SSL_new(client_ctx), *server = SSL_new(server_ctx);
    CHECK(SSL_set_rfd(client, to_client[0]) == 1 && SSL_set_wfd(client, to_server[0]) == 1);
    CHECK(SSL_set_wfd(server, to_client[1]) == 1 && SSL_set_rfd(server, to_server[1]) == 1);
    pthread_create(&peer, NULL, accept_one, server);
    CHECK(SSL_connect(client) == 1);
    pthread_join(peer, NULL);
    /* The transport of the client is full. */
    long filled = 0, drained = 0, count;
    set_blocking(to_server[0], 0);
    for (size_t size = sizeof received; size > 0; size = count > 0 ? size : size / 2) {
        count = write(to_server[0], received, size);
        filled += count > 0 ? count : 0;
    }
    set_blocking(to_server[0], 1);
    CHECK(SSL_key_update(server, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_write(server, "data", 4) == 4);
    pthread_create(&reader, NULL, read_some, client);
    usleep(200000);
    pthread_create(&writer, NULL, write_all, client);
    usleep(200000);
    CHECK(!__atomic_load_n(&has_written, __ATOMIC_SEQ_CST));
    set_blocking(to_server[1], 1);
    while (drained < filled + LENGTH) {
        count = read(to_server[1], received, sizeof received);
        CHECK(count > 0);
        drained += count;
    }
    set_blocking(to_server[1], 0);
    for (int waits = 0; waits < 6000 && !__atomic_load_n(&has_written, __ATOMIC_SEQ_CST); waits++) {
        while (read(to_server[1], received, sizeof received) > 0)
            ;
        usleep(10000);
    }
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    SSL_free(client);
    SSL_free(server);
    for (int i = 0; i < 2; i++) {
        close(to_client[i]);
        close(to_server[i]);
    }
    SSL_CTX_free(client_ctx);
    SSL_CTX_free(server_ctx);
    CHECK(ERR_peek_error() == 0);
}
