/* Common parts of the tests: checks, and a client and a server in one process, over BIO pairs. */
#ifndef TEST_H
#define TEST_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if the condition is false. */
#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                           \
            ERR_print_errors_fp(stderr);                                                              \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

/* Both sides of a connection. */
struct pair {
    SSL_CTX *client_ctx, *server_ctx;
    SSL *client, *server;
};

/* The path of a file of the material; valid until the next call but one. */
const char *material(const char *name);
/* Read files of the material. The caller owns the results. */
X509 *read_certificate(const char *name);
EVP_PKEY *read_key(const char *name);

SSL_CTX *server_context(int version);
SSL_CTX *client_context(int version);

/* Makes a client and a server with their own contexts of this version, joined by BIO pairs of `size` bytes. */
struct pair new_pair(int version, size_t size);
struct pair pair_of(SSL_CTX *client_ctx, SSL_CTX *server_ctx, size_t size);
/* A pair that has references to these contexts, after a handshake, with a session if it is not NULL, and after data of
   the server. */
struct pair connected(SSL_CTX *client_ctx, SSL_CTX *server_ctx, SSL_SESSION *session);
/* Sends a record that the other side cannot decrypt. */
void send_damaged_record(SSL *from);
/* Frees a pair whose connections are closed. */
void free_pair(struct pair *pair);
/* Frees a pair as it is: sessions of connections without close_notify cannot be resumed then. */
void drop_pair(struct pair *pair);

/* Runs the handshake on both sides until both are done or one failed. Returns whether both are done. */
int shake(struct pair *pair);

/* Reads exactly so many bytes. */
void read_exactly(SSL *ssl, char *to, int length);

/* Seals or opens a ticket with a fixed key, as the function of a program. Returns whether it succeeded. */
int use_ticket_key(unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int seals);

/* The newest session that `keep_newest` got, or NULL. The program frees it. */
extern SSL_SESSION *newest_session;
/* A callback for new sessions (SSL_CTX_sess_set_new_cb). */
int keep_newest(SSL *ssl, SSL_SESSION *session);

/* Prepares authentication of the client after the handshake. */
void permit_late_authentication(struct pair *pair);

/* What a limited BIO accepts. */
struct limit {
    /* The number of bytes that are accepted before it blocks, or fails if `fails` is set. */
    long room;
    int fails;
    /* Called at each write, before the number of bytes is read. */
    void (*on_write)(struct limit *limit);
};

/* Puts a limited BIO before the one that the connection writes to. */
void limit_writes(SSL *ssl, struct limit *limit);

void test_reading(void);
void test_writing(void);
void test_bios(void);
void test_errors(void);
void test_misuse(void);
void test_callbacks(void);
void test_messages(void);
void test_keys(void);
void test_early_data(void);
void test_sessions(void);
void test_cache(void);
void test_objects(void);
void test_resumption(void);
void test_security(void);
void test_refused(void);
void test_alerts(void);
void test_threads(void);
void test_blocked_reader(void);
void test_commands_in_threads(void);
void test_writers(void);
void test_strings(void);

#endif
