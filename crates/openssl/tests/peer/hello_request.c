/* A server on OpenSSL's library requests renegotiation after the client's close_notify, and sends data. A client on
   Tercel's ignores the request, as one on OpenSSL's does. RFC 5246 7.4.1.1

   Without arguments, the program is the client. It starts itself as the server. */
#include "../c/test.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int server(int descriptor) {
    SSL_CTX *ctx = server_context(TLS1_2_VERSION);
    SSL *ssl = SSL_new(ctx);
    char text[4];
    CHECK(SSL_set_fd(ssl, descriptor) == 1 && SSL_accept(ssl) == 1);
    CHECK(SSL_read(ssl, text, 4) == 0 && SSL_get_shutdown(ssl) == SSL_RECEIVED_SHUTDOWN);
    CHECK(SSL_renegotiate(ssl) == 1 && SSL_do_handshake(ssl) == 1);
    CHECK(SSL_write(ssl, "data", 4) == 4 && SSL_shutdown(ssl) >= 0);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return 0;
}

int main(int count, char **arguments) {
    if (count == 2)
        return server(atoi(arguments[1]));
    SSL_CTX *ctx = client_context(TLS1_2_VERSION);
    SSL *ssl = SSL_new(ctx);
    int ends[2], status;
    char text[4], argument[12];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    snprintf(argument, sizeof argument, "%d", ends[1]);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        unsetenv("LD_LIBRARY_PATH");
        execl("/proc/self/exe", "server", argument, NULL);
        _exit(2);
    }
    CHECK(child > 0);
    close(ends[1]);
    CHECK(SSL_set_fd(ssl, ends[0]) == 1 && SSL_connect(ssl) == 1 && SSL_shutdown(ssl) == 0);
    read_exactly(ssl, text, 4);
    CHECK(memcmp(text, "data", 4) == 0);
    CHECK(SSL_shutdown(ssl) == 1 && ERR_peek_error() == 0);
    SSL_free(ssl);
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SSL_CTX_free(ctx);
    return 0;
}
