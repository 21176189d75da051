/* Writes, key updates and certificate requests that a BIO blocks: results, errors and states. */
#include "../c/test.h"

static char data[20000], text[20000];

static void print(const char *call, SSL *ssl, int result) {
    printf("  %s: %d, error %d, in_init %d", call, result, SSL_get_error(ssl, result), SSL_in_init(ssl));
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(error));
    printf("\n");
}

/* Both sides write to BIOs that accept nothing, after a handshake without tickets. */
static struct pair begin(const char *name, int version, struct limit *client, struct limit *server) {
    struct pair pair = new_pair(version, 1 << 16);
    printf("version %x, %s\n", version, name);
    SSL_set_num_tickets(pair.server, 0);
    permit_late_authentication(&pair);
    CHECK(shake(&pair));
    *client = *server = (struct limit){0, 0, NULL};
    limit_writes(pair.client, client);
    limit_writes(pair.server, server);
    return pair;
}

/* A write that is repeated after the BIO blocked or failed, with `length` bytes from `from`. */
static void write_again(const char *name, int version, int fails, const char *from, int length) {
    struct limit client, server;
    struct pair pair = begin(name, version, &client, &server);
    int received = 0, count;
    client = (struct limit){100, fails, NULL};
    print("SSL_write", pair.client, SSL_write(pair.client, data, 1000));
    client.room = 1 << 16;
    int result = SSL_write(pair.client, from, length);
    printf("  SSL_write again: %d", result);
    for (unsigned long error; (error = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(error));
    if (result > 0) {
        while ((count = SSL_read(pair.server, text, sizeof text)) > 0)
            received += count;
        printf(", received %d", received);
    }
    printf("\n");
    free_pair(&pair);
}

static void writes(int version) {
    for (int fails = 0; fails < 2; fails++) {
        write_again(fails ? "the same after a failure" : "the same", version, fails, data, 1000);
        write_again("more", version, fails, data, 1100);
        write_again("less", version, fails, data, 999);
        write_again("nothing", version, fails, data, 0);
        write_again("another", version, fails, data + 1, 1000);
    }
}

static void key_updates(int version) {
    struct limit client, server;
    struct pair pair = begin("key updates", version, &client, &server);
    for (int type = -1; type < 3; type++)
        if (version == TLS1_2_VERSION || type < 0 || type > 1)
            print("SSL_key_update", pair.client, SSL_key_update(pair.client, type));
    if (version == TLS1_3_VERSION) {
        print("SSL_key_update", pair.client, SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED));
        printf("  type %d\n", SSL_get_key_update_type(pair.client));
        print("SSL_key_update", pair.client, SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED));
        for (int turn = 0; turn < 3; turn++) {
            client.room = turn * 20;
            print("SSL_do_handshake", pair.client, SSL_do_handshake(pair.client));
        }
        printf("  type %d, sent %zu\n", SSL_get_key_update_type(pair.client),
               BIO_ctrl_pending(SSL_get_rbio(pair.server)));
        client.room = 0;
        /* While only a key update waits, the program may write something else. */
        print("SSL_key_update", pair.client, SSL_key_update(pair.client, SSL_KEY_UPDATE_NOT_REQUESTED));
        print("SSL_write", pair.client, SSL_write(pair.client, "first", 5));
        print("SSL_write", pair.client, SSL_write(pair.client, "other", 6));
        client.room = 3;
        print("SSL_write", pair.client, SSL_write(pair.client, "of 2", 2));
        client.room = 1000;
        print("SSL_write", pair.client, SSL_write(pair.client, "last", 4));
        server.room = 1000;
        int count = SSL_read(pair.server, text, sizeof text);
        print("SSL_read", pair.server, count);
        printf("  received %.*s\n", count, text);
    }
    free_pair(&pair);
}

static void certificate_request(void) {
    struct limit client, server;
    struct pair pair = begin("certificate request", TLS1_3_VERSION, &client, &server);
    server.room = 10;
    print("SSL_verify_client_post_handshake", pair.server, SSL_verify_client_post_handshake(pair.server));
    print("SSL_do_handshake", pair.server, SSL_do_handshake(pair.server));
    print("SSL_do_handshake", pair.server, SSL_do_handshake(pair.server));
    server.room = 1000;
    print("SSL_do_handshake", pair.server, SSL_do_handshake(pair.server));
    print("SSL_verify_client_post_handshake", pair.server, SSL_verify_client_post_handshake(pair.server));
    client.room = 100;
    print("SSL_read", pair.client, SSL_read(pair.client, text, 10));
    print("SSL_read", pair.client, SSL_read(pair.client, text, 10));
    client.room = 10000;
    print("SSL_read", pair.client, SSL_read(pair.client, text, 10));
    print("SSL_read", pair.server, SSL_read(pair.server, text, 10));
    printf("  certificate %d\n", SSL_get0_peer_certificate(pair.server) != NULL);
    server.room = 0;
    print("SSL_verify_client_post_handshake", pair.server, SSL_verify_client_post_handshake(pair.server));
    free_pair(&pair);
}

static void closing(int version) {
    struct limit client, server;
    struct pair pair = begin("close_notify", version, &client, &server);
    for (int turn = 0; turn < 3; turn++) {
        client.room = turn * 5;
        print("SSL_shutdown", pair.client, SSL_shutdown(pair.client));
        printf("  flags %d\n", SSL_get_shutdown(pair.client));
    }
    client.room = 1000;
    print("SSL_shutdown", pair.client, SSL_shutdown(pair.client));
    print("SSL_read", pair.server, SSL_read(pair.server, text, 10));
    free_pair(&pair);
}

int main(void) {
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        writes(versions[i]);
        key_updates(versions[i]);
        closing(versions[i]);
    }
    certificate_request();
    return 0;
}
