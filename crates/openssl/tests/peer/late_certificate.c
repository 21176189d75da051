/* A client on OpenSSL's library answers a request for its certificate after the handshake, in a record for each message,
   to a server on Tercel's. A read of the server ends when the whole answer has arrived, and what each function does
   before that is what it does on OpenSSL's library.

   Without arguments, the program is the server. For each case it starts itself as the client. */
#include "../c/test.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The client. */

static int client(char **arguments) {
    int descriptor = atoi(arguments[0]), fragment = atoi(arguments[1]);
    SSL_CTX *ctx = client_context(TLS1_3_VERSION);
    char text[4];
    SSL_CTX_set_post_handshake_auth(ctx, 1);
    if (fragment > 0)
        CHECK(SSL_CTX_set_max_send_fragment(ctx, fragment) == 1);
    CHECK(SSL_CTX_use_certificate_file(ctx, material("client.pem"), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(ctx, material("client.key"), SSL_FILETYPE_PEM) == 1);
    SSL *ssl = SSL_new(ctx);
    CHECK(SSL_set_fd(ssl, descriptor) == 1 && SSL_connect(ssl) == 1);
    /* The first data tells that the tickets have arrived, the second that the request is answered. */
    read_exactly(ssl, text, 4);
    CHECK(SSL_write(ssl, "next", 4) == 4);
    read_exactly(ssl, text, 4);
    CHECK(SSL_write(ssl, "last", 4) == 4);
    SSL_shutdown(ssl);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return 0;
}

/* The server. */

struct connection {
    SSL_CTX *ctx;
    SSL *ssl;
    int descriptor;
    pid_t child;
    /* What is read, if it arrives record by record. */
    BIO *records;
    /* Whether the client has received its second data. */
    int has_written;
};

/* Connects, and requests the certificate. */
static struct connection begin(int fragment, long modes_off) {
    struct connection own = {.ctx = server_context(TLS1_3_VERSION)};
    int ends[2];
    char text[4], arguments[2][12];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    snprintf(arguments[0], sizeof arguments[0], "%d", ends[1]);
    snprintf(arguments[1], sizeof arguments[1], "%d", fragment);
    own.child = fork();
    if (own.child == 0) {
        close(ends[0]);
        unsetenv("LD_LIBRARY_PATH");
        execl("/proc/self/exe", "client", arguments[0], arguments[1], NULL);
        _exit(2);
    }
    CHECK(own.child > 0);
    close(ends[1]);
    own.descriptor = ends[0];
    CHECK(SSL_CTX_load_verify_locations(own.ctx, material("root.pem"), NULL) == 1);
    CHECK(SSL_CTX_set_session_id_context(own.ctx, (const unsigned char *)"test", 4) == 1);
    own.ssl = SSL_new(own.ctx);
    SSL_set_num_tickets(own.ssl, 0);
    CHECK(SSL_set_fd(own.ssl, ends[0]) == 1 && SSL_accept(own.ssl) == 1);
    CHECK(SSL_write(own.ssl, "data", 4) == 4);
    read_exactly(own.ssl, text, 4);
    SSL_set_verify(own.ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_clear_mode(own.ssl, modes_off);
    CHECK(SSL_verify_client_post_handshake(own.ssl) == 1 && SSL_do_handshake(own.ssl) == 1);
    CHECK(SSL_is_init_finished(own.ssl) == 1 && SSL_get0_peer_certificate(own.ssl) == NULL);
    return own;
}

static void end(struct connection *own) {
    char text[4];
    int status;
    CHECK(SSL_get0_peer_certificate(own->ssl) != NULL && SSL_get_verify_result(own->ssl) == X509_V_OK);
    CHECK(SSL_is_init_finished(own->ssl) == 1 && ERR_peek_error() == 0);
    CHECK(SSL_set_fd(own->ssl, own->descriptor) == 1);
    SSL_set_mode(own->ssl, SSL_MODE_AUTO_RETRY);
    if (!own->has_written)
        CHECK(SSL_write(own->ssl, "done", 4) == 4);
    read_exactly(own->ssl, text, 4);
    CHECK(memcmp(text, "last", 4) == 0);
    CHECK(waitpid(own->child, &status, 0) == own->child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SSL_set_shutdown(own->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(own->ssl);
    SSL_CTX_free(own->ctx);
    close(own->descriptor);
}

enum way { READ, PEEK_NOTHING, HANDSHAKE, WRITE, WAYS };

static int go_on(SSL *ssl, enum way way) {
    char text[4];
    switch (way) {
    case READ:
        return SSL_read(ssl, text, 4);
    case PEEK_NOTHING:
        return SSL_peek(ssl, text, 0);
    case HANDSHAKE:
        return SSL_do_handshake(ssl);
    default:
        return SSL_write(ssl, "some", 4);
    }
}

/* Lets the next record arrive. */
static void receive_record(struct connection *own) {
    unsigned char record[5 + (1 << 14) + 256];
    CHECK(recv(own->descriptor, record, 5, MSG_WAITALL) == 5);
    int length = record[3] << 8 | record[4];
    CHECK(recv(own->descriptor, record + 5, length, MSG_WAITALL) == length);
    CHECK(BIO_write(own->records, record, 5 + length) == 5 + length);
}

static void separate(struct connection *own) {
    BIO *output = BIO_new_socket(own->descriptor, BIO_NOCLOSE);
    own->records = BIO_new(BIO_s_mem());
    CHECK(output != NULL && own->records != NULL);
    SSL_set_bio(own->ssl, own->records, output);
}

/* Apache reads nothing, once, from a transport that blocks. */
static void one_call(enum way way, int fragment) {
    struct connection own = begin(fragment, SSL_MODE_AUTO_RETRY);
    CHECK(go_on(own.ssl, way) == -1 && SSL_get_error(own.ssl, -1) == SSL_ERROR_WANT_READ);
    end(&own);
}

static void waits(SSL *ssl, int result, const char *state) {
    CHECK(result == -1 && SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ && ERR_peek_error() == 0);
    CHECK(SSL_in_init(ssl) == 1 && SSL_is_init_finished(ssl) == 0);
    CHECK(strcmp(SSL_state_string_long(ssl), state) == 0);
    /* What needs an established connection. */
    CHECK(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_STILL_IN_INIT);
    CHECK(SSL_verify_client_post_handshake(ssl) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_STILL_IN_INIT);
    CHECK(SSL_shutdown(ssl) == -1 && SSL_get_shutdown(ssl) == 0);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SHUTDOWN_WHILE_IN_INIT);
}

/* Each message arrives alone, and a function goes on with each. The first has to be received by a read. */
static void each_record(enum way way, long modes_off) {
    struct connection own = begin(0, modes_off);
    separate(&own);
    receive_record(&own);
    waits(own.ssl, go_on(own.ssl, way == READ ? READ : PEEK_NOTHING), "SSLv3/TLS read client certificate");
    receive_record(&own);
    waits(own.ssl, go_on(own.ssl, way), "SSLv3/TLS read certificate verify");
    receive_record(&own);
    int result = go_on(own.ssl, way);
    if (way == READ || way == PEEK_NOTHING)
        CHECK(result == -1 && SSL_get_error(own.ssl, result) == SSL_ERROR_WANT_READ);
    else
        CHECK(result == (way == WRITE ? 4 : 1));
    own.has_written = way == WRITE;
    end(&own);
}

/* The transport ends within the answer. */
static void truncated(void) {
    struct connection own = begin(0, 0);
    char text[4];
    int status;
    separate(&own);
    receive_record(&own);
    CHECK(SSL_read(own.ssl, text, 4) == -1);
    BIO_set_mem_eof_return(own.records, 0);
    CHECK(SSL_read(own.ssl, text, 4) == -1 && SSL_get_error(own.ssl, -1) == SSL_ERROR_SSL);
    CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
    CHECK(SSL_do_handshake(own.ssl) == -1 && SSL_write(own.ssl, "some", 4) == -1);
    ERR_clear_error();
    CHECK(kill(own.child, SIGKILL) == 0 && waitpid(own.child, &status, 0) == own.child);
    SSL_free(own.ssl);
    SSL_CTX_free(own.ctx);
    close(own.descriptor);
}

int main(int count, char **arguments) {
    if (count == 3)
        return client(arguments + 1);
    for (enum way way = READ; way <= PEEK_NOTHING; way++) {
        one_call(way, 0);
        /* The certificate is in more than one record. */
        one_call(way, 512);
    }
    for (enum way way = READ; way < WAYS; way++) {
        each_record(way, 0);
        each_record(way, SSL_MODE_AUTO_RETRY);
    }
    truncated();
    return 0;
}
