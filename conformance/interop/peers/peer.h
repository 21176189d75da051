/* The common parts of the drivers in C: the command line of src/programs/driver.rs, the echo server, and the client
 * that carries stdin and stdout. A driver defines the functions below for its library. */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct options {
    const char *port, *name, *ca, *client_ca, *cert, *key, *version, *suite, *group, *feature, *connections;
    int serves;
};

/* A connection. Each driver defines its content. */
struct tls;

enum { TLS_AGAIN = -1, TLS_ERROR = -2 };

/* Prints the abilities of the library. */
static void tls_abilities(void);
/* Prepares the objects that all connections share. */
static void tls_prepare(const struct options *options);
/* Makes the handshake over this socket. NULL after it has printed an error. */
static struct tls *tls_handshake(const struct options *options, int fd);
/* Returns the number of bytes, 0 at the end, TLS_AGAIN or TLS_ERROR. */
static int tls_read(struct tls *tls, char *bytes, int length);
static int tls_write(struct tls *tls, const char *bytes, int length);
static int tls_resumed(struct tls *tls);
/* Stores a client's session, sends close_notify, and frees everything except the socket. */
static void tls_close(struct tls *tls);

static const char WORDS[] = "0123\n";
enum { LENGTH = sizeof WORDS - 1, BUFFER = 16 * 1024 };

static void fail(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static int shows(const struct options *options, const char *feature) {
    return options->feature && strcmp(options->feature, feature) == 0;
}

static int nonblocking(int fd) {
    return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void wait_for(int fd, short events) {
    struct pollfd one = {.fd = fd, .events = events};
    poll(&one, 1, -1);
}

static struct sockaddr_in address(const struct options *options) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(options->port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int write_all(struct tls *tls, int fd, const char *bytes, int length) {
    while (length > 0) {
        int count = tls_write(tls, bytes, length);
        if (count == TLS_ERROR) return -1;
        if (count == TLS_AGAIN) {
            wait_for(fd, POLLOUT);
            continue;
        }
        bytes += count;
        length -= count;
    }
    return 0;
}

/* Reads, and waits until there are bytes. */
static int read_some(struct tls *tls, int fd, char *bytes, int length) {
    int count;
    while ((count = tls_read(tls, bytes, length)) == TLS_AGAIN) wait_for(fd, POLLIN);
    return count;
}

static void print(const char *bytes, int length) {
    if (fwrite(bytes, 1, length, stdout) != (size_t)length || fflush(stdout) != 0) fail("cannot write");
}

static void tell(struct tls *tls) {
    fprintf(stderr, "resumed %s\n", tls_resumed(tls) ? "yes" : "no");
}

static void serve(const struct options *options) {
    static char buffer[BUFFER];
    struct sockaddr_in here = address(options);
    int on = 1, count, fd, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 5) != 0) fail("cannot listen");
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct tls *tls = tls_handshake(options, fd);
        if (tls) {
            tell(tls);
            nonblocking(fd);
            while ((count = read_some(tls, fd, buffer, BUFFER)) > 0)
                if (write_all(tls, fd, buffer, count) != 0) break;
            tls_close(tls);
        }
        close(fd);
    }
}

static struct tls *connected(const struct options *options, int *fd) {
    struct sockaddr_in there = address(options);
    int on = 1;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(*fd, (struct sockaddr *)&there, sizeof there) != 0) fail("cannot connect");
    setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct tls *tls = tls_handshake(options, *fd);
    if (!tls) exit(1);
    tell(tls);
    nonblocking(*fd);
    return tls;
}

/* Makes a connection before the last one. The echo of a line proves that tickets have arrived. */
static void say_and_hear(const struct options *options) {
    char heard[LENGTH];
    int fd, length = 0;
    struct tls *tls = connected(options, &fd);
    if (write_all(tls, fd, WORDS, LENGTH) != 0) fail("cannot send");
    while (length < LENGTH) {
        int count = read_some(tls, fd, heard + length, LENGTH - length);
        if (count <= 0) fail("the server ended first");
        length += count;
    }
    print(heard, LENGTH);
    tls_close(tls);
    close(fd);
}

static void carry(const struct options *options) {
    static char buffer[BUFFER];
    int fd;
    struct tls *tls = connected(options, &fd);
    struct pollfd both[2] = {{.fd = 0, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    for (;;) {
        int count;
        while ((count = tls_read(tls, buffer, BUFFER)) > 0) print(buffer, count);
        if (count != TLS_AGAIN) fail("the server ended first");
        poll(both, 2, -1);
        if (!both[0].revents) continue;
        count = read(0, buffer, BUFFER);
        if (count <= 0) break;
        if (write_all(tls, fd, buffer, count) != 0) fail("cannot send");
    }
    tls_close(tls);
    close(fd);
}

int main(int argc, char **argv) {
    struct options options = {.connections = "1"};
    const struct {
        const char *name, **value;
    } known[] = {
        {"--port", &options.port}, {"--name", &options.name}, {"--ca", &options.ca},
        {"--client-ca", &options.client_ca}, {"--cert", &options.cert}, {"--key", &options.key},
        {"--version", &options.version}, {"--suite", &options.suite}, {"--group", &options.group},
        {"--feature", &options.feature}, {"--connections", &options.connections},
    };
    if (argc < 2) fail("say abilities, serve or connect");
    for (int at = 2; at + 1 < argc; at += 2)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strcmp(argv[at], known[i].name) == 0) *known[i].value = argv[at + 1];
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(argv[1], "abilities") == 0) {
        tls_abilities();
        return 0;
    }
    options.serves = strcmp(argv[1], "serve") == 0;
    if (!options.port) fail("--port is missing");
    tls_prepare(&options);
    if (options.serves) {
        serve(&options);
        fail("cannot accept");
    }
    for (int left = atoi(options.connections); left > 1; left--) say_and_hear(&options);
    carry(&options);
    return 0;
}
