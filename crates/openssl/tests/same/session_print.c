/* What SSL_SESSION_print writes, without secrets, names, tickets and times; and what the openssl program prints beside
   it: the support of secure renegotiation, and the number of a received alert. */
#include "../c/test.h"

static void print_without_secrets(const char *side, SSL_SESSION *session) {
    static const char *left_out[] = {"    Session-ID: ", "    Master-Key: ", "    Resumption PSK: ", "    Start Time: ",
                                     "    TLS session ticket:\n", "    0"};
    char line[200];
    BIO *memory = BIO_new(BIO_s_mem());
    printf("%s: %d\n", side, SSL_SESSION_print(memory, session));
    while (BIO_gets(memory, line, sizeof line) > 0) {
        int is_left_out = strcmp(line, "\n") == 0;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            is_left_out |= strncmp(line, left_out[i], strlen(left_out[i])) == 0;
        if (!is_left_out)
            fputs(line, stdout);
    }
    BIO_free(memory);
}

static void refused(int version) {
    /* The client verifies with an empty store. */
    SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
    struct pair pair = pair_of(client_ctx, server_context(version), 1 << 14);
    const char *data = NULL;
    int flags = 0;
    char text[1];
    SSL_set_verify(pair.client, SSL_VERIFY_PEER, NULL);
    for (int i = 0; i < 3; i++) {
        SSL_do_handshake(pair.client);
        ERR_clear_error();
        if (SSL_do_handshake(pair.server) == 1)
            SSL_read(pair.server, text, 1);
        if (ERR_peek_error() != 0)
            break;
    }
    unsigned long error = ERR_get_error_all(NULL, NULL, NULL, &data, &flags);
    printf("%s: %s\n", ERR_reason_error_string(error), flags & ERR_TXT_STRING ? data : "");
    ERR_clear_error();
    free_pair(&pair);
}

int main(void) {
    int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        struct pair pair = new_pair(versions[i], 1 << 14);
        char text[1];
        CHECK(SSL_set_tlsext_host_name(pair.client, "server.test") == 1);
        CHECK(shake(&pair) && SSL_write(pair.server, "x", 1) == 1 && SSL_read(pair.client, text, 1) == 1);
        print_without_secrets("client", SSL_get_session(pair.client));
        print_without_secrets("server", SSL_get_session(pair.server));
        BIO *file = BIO_new(BIO_s_mem());
        char line[100];
        printf("PEM: %d\n", PEM_write_bio_SSL_SESSION(file, SSL_get_session(pair.client)));
        SSL_SESSION *read = PEM_read_bio_SSL_SESSION(file, NULL, NULL, NULL);
        printf("read: version %x, end %d\n", SSL_SESSION_get_protocol_version(read), BIO_gets(file, line, sizeof line));
        SSL_SESSION_free(read);
        printf("nothing to read: %d\n", PEM_read_bio_SSL_SESSION(file, NULL, NULL, NULL) == NULL);
        ERR_clear_error();
        BIO_free(file);
        printf("NULL: %d\n", SSL_SESSION_print(SSL_get_rbio(pair.client), NULL));
        /* What a server says in TLS 1.3 depends on the client, and Tercel's does not offer it. */
        printf("secure renegotiation: %ld\n", SSL_get_secure_renegotiation_support(pair.client));
        free_pair(&pair);
        refused(versions[i]);
    }
    return 0;
}
