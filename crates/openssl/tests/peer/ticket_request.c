/* The extension ticket_request: a client on OpenSSL's library requests tickets from a server on Tercel's. RFC 9149 3

   Without arguments, the program is the server. For each case it starts itself as the client, which connects twice and
   sends the number of tickets that it has received. */
#include "../c/test.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICKET_REQUEST = 58, NONE = -1 };

/* The numbers of tickets in both directions of the test: after a full and after a resumed handshake. */
struct numbers {
    int full, resumed;
};

/* The client. */

static struct numbers request;
/* Whether the second ClientHello requests other numbers than the first one. */
static int changes, hellos, tickets;
static SSL_SESSION *newest;

static int add_request(SSL *ssl, unsigned int type, unsigned int context, const unsigned char **out, size_t *length,
                       X509 *certificate, size_t index, int *alert, void *argument) {
    static unsigned char bytes[2];
    (void)ssl, (void)type, (void)context, (void)certificate, (void)index, (void)alert, (void)argument;
    bytes[0] = (unsigned char)request.full;
    bytes[1] = (unsigned char)(request.resumed + (changes && hellos > 0));
    hellos++;
    *out = bytes;
    *length = sizeof bytes;
    return 1;
}

static int on_ticket(SSL *ssl, SSL_SESSION *session) {
    (void)ssl;
    tickets++;
    SSL_SESSION_free(newest);
    newest = session;
    return 1;
}

/* Connects, receives the tickets, and sends their number. */
static void connect_once(SSL_CTX *ctx, int descriptor) {
    SSL *ssl = SSL_new(ctx);
    char text[4];
    tickets = hellos = 0;
    CHECK(SSL_set_fd(ssl, descriptor) == 1);
    if (newest != NULL)
        CHECK(SSL_set_session(ssl, newest) == 1);
    if (changes) {
        CHECK(SSL_connect(ssl) == -1 && hellos == 2);
        CHECK(ERR_GET_REASON(ERR_get_error()) == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER);
    } else {
        CHECK(SSL_connect(ssl) == 1);
        /* The tickets come before the data. */
        read_exactly(ssl, text, 4);
        CHECK(SSL_write(ssl, &tickets, sizeof tickets) == sizeof tickets);
        CHECK(SSL_shutdown(ssl) >= 0);
    }
    SSL_free(ssl);
}

static int client(char **arguments) {
    SSL_CTX *ctx = client_context(TLS1_3_VERSION);
    request = (struct numbers){atoi(arguments[2]), atoi(arguments[3])};
    changes = atoi(arguments[4]);
    if (request.full != NONE)
        CHECK(SSL_CTX_add_custom_ext(ctx, TICKET_REQUEST, SSL_EXT_CLIENT_HELLO, add_request, NULL, NULL, NULL, NULL) == 1);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(ctx, on_ticket);
    /* The key share is for the first group. */
    CHECK(SSL_CTX_set1_groups_list(ctx, "P-256:P-384") == 1);
    for (int turn = 0; turn < (changes ? 1 : 2); turn++)
        connect_once(ctx, atoi(arguments[turn]));
    SSL_SESSION_free(newest);
    SSL_CTX_free(ctx);
    return 0;
}

/* The server. */

static int reported;

static int on_new(SSL *ssl, SSL_SESSION *session) {
    CHECK(SSL_is_server(ssl) == 1 && SSL_get_session(ssl) == session);
    reported++;
    return 0;
}

static void on_removal(SSL_CTX *ctx, SSL_SESSION *session) {
    (void)ctx, (void)session;
}

/* What differs between the servers. */
struct server {
    /* The number of tickets that the program sets; NONE for the default. */
    int tickets;
    uint64_t options;
    /* Whether the program is told which sessions end, so that they are in the cache. */
    int removes;
    /* Whether the server has another group than that of the client's first key share. */
    int retries;
    int changes;
};

static pid_t start_client(int descriptors[2], struct numbers numbers, int changes) {
    char arguments[5][12];
    int values[5] = {descriptors[0], descriptors[1], numbers.full, numbers.resumed, changes};
    for (int i = 0; i < 5; i++)
        snprintf(arguments[i], sizeof arguments[i], "%d", values[i]);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_LIBRARY_PATH");
        execl("/proc/self/exe", "client", arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], NULL);
        _exit(2);
    }
    CHECK(child > 0);
    return child;
}

/* `expected` tickets arrive, and `known` of them are reported to the program. */
static void connect_twice(struct server how, struct numbers requested, struct numbers expected, struct numbers known) {
    SSL_CTX *ctx = server_context(TLS1_3_VERSION);
    int ends[2][2], status;
    CHECK(SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4) == 1);
    SSL_CTX_sess_set_new_cb(ctx, on_new);
    if (how.tickets != NONE)
        CHECK(SSL_CTX_set_num_tickets(ctx, how.tickets) == 1);
    SSL_CTX_set_options(ctx, how.options);
    if (how.removes)
        SSL_CTX_sess_set_remove_cb(ctx, on_removal);
    CHECK(SSL_CTX_set1_groups_list(ctx, how.retries ? "P-384" : "P-256") == 1);
    for (int turn = 0; turn < 2; turn++)
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[turn]) == 0);
    pid_t child = start_client((int[2]){ends[0][1], ends[1][1]}, requested, how.changes);
    for (int turn = 0; turn < 2; turn++) {
        SSL *ssl = SSL_new(ctx);
        int arrived, wanted = turn == 0 ? expected.full : expected.resumed;
        close(ends[turn][1]);
        CHECK(SSL_set_fd(ssl, ends[turn][0]) == 1);
        reported = 0;
        if (how.changes) {
            CHECK(SSL_accept(ssl) == -1 && SSL_get_error(ssl, -1) == SSL_ERROR_SSL && reported == 0);
            ERR_clear_error();
        } else {
            CHECK(SSL_accept(ssl) == 1 && SSL_write(ssl, "data", 4) == 4);
            read_exactly(ssl, (char *)&arrived, sizeof arrived);
            CHECK(SSL_session_reused(ssl) == (turn == 1 && expected.full > 0));
            CHECK(arrived == wanted && reported == (turn == 0 ? known.full : known.resumed));
            int cached = how.removes || how.options & SSL_OP_NO_TICKET;
            CHECK(turn == 1 || SSL_CTX_sess_number(ctx) == (cached ? reported : 0));
        }
        /* Otherwise the session could not be resumed. */
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(ssl);
        close(ends[turn][0]);
        if (how.changes) {
            close(ends[1][0]);
            close(ends[1][1]);
            break;
        }
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    SSL_CTX_free(ctx);
    CHECK(ERR_peek_error() == 0);
}

int main(int count, char **arguments) {
    if (count == 6)
        return client(arguments + 1);
    struct server usual = {.tickets = NONE}, none = {.tickets = 0}, five = {.tickets = 5};
    struct server storing = {.tickets = NONE, .options = SSL_OP_NO_TICKET}, removing = {.tickets = NONE, .removes = 1};
    struct server retrying = {.tickets = NONE, .retries = 1};
    struct server refusing = {.tickets = NONE, .retries = 1, .changes = 1};
    struct numbers no_request = {NONE, NONE};
    connect_twice(usual, no_request, (struct numbers){2, 1}, (struct numbers){2, 1});
    connect_twice(usual, (struct numbers){1, 0}, (struct numbers){1, 0}, (struct numbers){1, 0});
    /* A client can have more tickets, up to ten, which it stores itself. The program sees as many sessions as it has set,
       because it may store them. */
    connect_twice(usual, (struct numbers){5, 3}, (struct numbers){5, 3}, (struct numbers){2, 1});
    connect_twice(usual, (struct numbers){255, 255}, (struct numbers){10, 10}, (struct numbers){2, 1});
    connect_twice(removing, (struct numbers){255, 255}, (struct numbers){10, 10}, (struct numbers){2, 1});
    /* Without a ticket, nothing is resumed. */
    connect_twice(usual, (struct numbers){0, 9}, (struct numbers){0, 0}, (struct numbers){0, 0});
    /* The program sets the numbers. */
    connect_twice(none, (struct numbers){5, 5}, (struct numbers){0, 0}, (struct numbers){0, 0});
    connect_twice(five, no_request, (struct numbers){5, 1}, (struct numbers){5, 1});
    connect_twice(five, (struct numbers){3, 1}, (struct numbers){3, 1}, (struct numbers){3, 1});
    /* A client does not get more room in the server's cache. */
    connect_twice(storing, (struct numbers){10, 10}, (struct numbers){2, 1}, (struct numbers){2, 1});
    connect_twice(storing, (struct numbers){1, 0}, (struct numbers){1, 0}, (struct numbers){1, 0});
    connect_twice(retrying, (struct numbers){4, 2}, (struct numbers){4, 2}, (struct numbers){2, 1});
    /* The second ClientHello has the same numbers. RFC 9846 4.2.2 */
    connect_twice(refusing, (struct numbers){4, 2}, no_request, no_request);
    return 0;
}
