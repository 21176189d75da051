/* Peers with old keys: RSA of 1024 bits, and RSA keys whose certificates were made for RSA key exchange. Without
   verification a client connects to them, because mail servers would send in clear; with verification the security
   level, a callback or DANE decides. Each case is tried with this library and with OpenSSL's, and the results are equal.

   Without arguments, the program runs the cases. For each kind of key it starts itself as the peer, on OpenSSL's library,
   and as the side that verifies, on each of the libraries. Both sides make the connections of a list in its order. */
#include "../c/test.h"
#include <fcntl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct kind {
    int bits;
    const char *usage;
} KINDS[] = {{2048, "digitalSignature"}, {1024, "digitalSignature"}, {1024, NULL}, {2048, "keyEncipherment"}};
enum { COUNT = sizeof KINDS / sizeof *KINDS };

/* How a side verifies. */
enum callback { NO_CALLBACK, CHANGES_NOTHING, ACCEPTS, REFUSES, WHOLE_ACCEPTS, WHOLE_REFUSES };
enum records { NO_RECORDS, DANE_EE, DANE_EE_OF_OTHER, PKIX_EE };
enum again { ONCE, AGAIN, AGAIN_STRICTER };

static const struct way {
    const char *name;
    int is_server, mode;
    enum callback callback;
    enum records records;
    enum again again;
} WAYS[] = {
    {"client", 0, SSL_VERIFY_NONE, NO_CALLBACK, NO_RECORDS, ONCE},
    {"client that verifies", 0, SSL_VERIFY_PEER, NO_CALLBACK, NO_RECORDS, ONCE},
    {"server that verifies", 1, SSL_VERIFY_PEER, NO_CALLBACK, NO_RECORDS, ONCE},
    {"client, callback", 0, SSL_VERIFY_NONE, CHANGES_NOTHING, NO_RECORDS, ONCE},
    {"client, callback refuses", 0, SSL_VERIFY_NONE, REFUSES, NO_RECORDS, ONCE},
    {"client that verifies, callback", 0, SSL_VERIFY_PEER, CHANGES_NOTHING, NO_RECORDS, ONCE},
    {"client that verifies, callback accepts", 0, SSL_VERIFY_PEER, ACCEPTS, NO_RECORDS, ONCE},
    {"client that verifies, callback refuses", 0, SSL_VERIFY_PEER, REFUSES, NO_RECORDS, ONCE},
    {"client that verifies, function accepts", 0, SSL_VERIFY_PEER, WHOLE_ACCEPTS, NO_RECORDS, ONCE},
    {"client that verifies, function refuses", 0, SSL_VERIFY_PEER, WHOLE_REFUSES, NO_RECORDS, ONCE},
    {"client, DANE-EE", 0, SSL_VERIFY_NONE, NO_CALLBACK, DANE_EE, ONCE},
    {"client that verifies, DANE-EE", 0, SSL_VERIFY_PEER, NO_CALLBACK, DANE_EE, ONCE},
    {"client that verifies, DANE-EE, callback accepts", 0, SSL_VERIFY_PEER, ACCEPTS, DANE_EE, ONCE},
    {"client that verifies, DANE-EE of another key", 0, SSL_VERIFY_PEER, NO_CALLBACK, DANE_EE_OF_OTHER, ONCE},
    {"client that verifies, PKIX-EE", 0, SSL_VERIFY_PEER, NO_CALLBACK, PKIX_EE, ONCE},
    {"server that verifies, callback accepts", 1, SSL_VERIFY_PEER, ACCEPTS, NO_RECORDS, ONCE},
    {"server that verifies, callback refuses", 1, SSL_VERIFY_PEER, REFUSES, NO_RECORDS, ONCE},
    {"server that verifies, function accepts", 1, SSL_VERIFY_PEER, WHOLE_ACCEPTS, NO_RECORDS, ONCE},
    {"client, resumption", 0, SSL_VERIFY_NONE, NO_CALLBACK, NO_RECORDS, AGAIN},
    {"client that verifies, resumption", 0, SSL_VERIFY_PEER, NO_CALLBACK, NO_RECORDS, AGAIN},
    {"client, resumption with verification", 0, SSL_VERIFY_NONE, NO_CALLBACK, NO_RECORDS, AGAIN_STRICTER},
    {"client, DANE-EE, resumption", 0, SSL_VERIFY_PEER, NO_CALLBACK, DANE_EE, AGAIN},
    {"server that verifies, resumption", 1, SSL_VERIFY_PEER, NO_CALLBACK, NO_RECORDS, AGAIN},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS, HIGHEST_LEVEL = 5 };

static void add(X509 *certificate, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    CHECK(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* Writes a key, and a certificate that is its own root. Frees the key. */
static void make(EVP_PKEY *key, const char *usage, const char *key_name, const char *certificate_name) {
    X509 *certificate = X509_new();
    CHECK(key != NULL && X509_set_version(certificate, X509_VERSION_3) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME *name = X509_get_subject_name(certificate);
    CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"old", -1, -1, 0) == 1);
    CHECK(X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1);
    add(certificate, NID_subject_alt_name, "DNS:old.test");
    if (usage != NULL)
        add(certificate, NID_key_usage, usage);
    CHECK(X509_sign(certificate, key, EVP_sha512()) > 0);
    BIO *file = BIO_new_file(material(key_name), "w");
    CHECK(PEM_write_bio_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    BIO_free(file);
    file = BIO_new_file(material(certificate_name), "w");
    CHECK(PEM_write_bio_X509(file, certificate) == 1);
    BIO_free(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static int calls;

static int change_nothing(int ok, X509_STORE_CTX *verification) {
    (void)verification;
    calls++;
    return ok;
}

static int accept_error(int ok, X509_STORE_CTX *verification) {
    (void)ok, (void)verification;
    calls++;
    return 1;
}

static int refuse(int ok, X509_STORE_CTX *verification) {
    (void)ok, (void)verification;
    calls++;
    return 0;
}

static int decide(X509_STORE_CTX *verification, void *result) {
    (void)verification;
    calls++;
    return *(int *)result;
}

static void set_verification(SSL_CTX *ctx, const struct way *way) {
    static const SSL_verify_cb callbacks[] = {NULL, change_nothing, accept_error, refuse, NULL, NULL};
    static int yes = 1, no = 0;
    SSL_CTX_set_verify(ctx, way->mode, callbacks[way->callback]);
    if (way->callback >= WHOLE_ACCEPTS)
        SSL_CTX_set_cert_verify_callback(ctx, decide, way->callback == WHOLE_ACCEPTS ? &yes : &no);
    if (way->records != NO_RECORDS)
        CHECK(SSL_CTX_dane_enable(ctx) == 1);
    CHECK(SSL_CTX_load_verify_locations(ctx, material("old.pem"), NULL) == 1);
    CHECK(SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4) == 1);
}

/* A record with the digest of the peer's certificate, or of another one. */
static void set_record(SSL *ssl, enum records records) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length;
    X509 *certificate = read_certificate(records == DANE_EE_OF_OTHER ? "server.pem" : "old.pem");
    CHECK(X509_digest(certificate, EVP_sha256(), digest, &length) == 1);
    CHECK(SSL_dane_enable(ssl, "old.test") == 1);
    CHECK(SSL_dane_tlsa_add(ssl, records == PKIX_EE ? 1 : 3, 0, 1, digest, length) == 1);
    X509_free(certificate);
}

/* Makes a connection, in which the server sends a byte: a refusal in TLS 1.3 arrives after the client's handshake. */
static int connect_once(SSL *ssl, int is_server) {
    char byte = 'x';
    int result = is_server ? SSL_accept(ssl) : SSL_connect(ssl);
    if (result == 1)
        result = is_server ? SSL_write(ssl, &byte, 1) : SSL_read(ssl, &byte, 1);
    return result == 1;
}

/* Frees a connection, whose session may be resumed. */
static void end(SSL *ssl) {
    int descriptor = SSL_get_fd(ssl);
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
    close(descriptor);
    ERR_clear_error();
}

static SSL_CTX *context_of(int version) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    CHECK(SSL_CTX_set_min_proto_version(ctx, version) == 1 && SSL_CTX_set_max_proto_version(ctx, version) == 1);
    return ctx;
}

static void use(SSL_CTX *ctx, const char *key, const char *certificate) {
    CHECK(SSL_CTX_use_PrivateKey_file(ctx, material(key), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_certificate_file(ctx, material(certificate), SSL_FILETYPE_PEM) == 1);
}

static void run_peer(int listener, const struct way *way, int version) {
    SSL_CTX *ctx = context_of(version);
    SSL_SESSION *session = NULL;
    CHECK(SSL_CTX_set_cipher_list(ctx, "DEFAULT@SECLEVEL=0") == 1);
    CHECK(SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"test", 4) == 1);
    use(ctx, "old.key", "old.pem");
    for (int turn = 0; turn < (way->again == ONCE ? 1 : 2); turn++) {
        SSL *ssl = SSL_new(ctx);
        char byte;
        CHECK(SSL_set_fd(ssl, accept(listener, NULL, NULL)) == 1);
        if (session != NULL)
            CHECK(SSL_set_session(ssl, session) == 1);
        SSL_SESSION_free(session);
        session = NULL;
        if (connect_once(ssl, !way->is_server)) {
            if (way->is_server)
                session = SSL_get1_session(ssl);
            else
                SSL_read(ssl, &byte, 1);
        }
        end(ssl);
    }
    SSL_SESSION_free(session);
    SSL_CTX_free(ctx);
}

static void run_verifier(int listener, const struct way *way, int version, int level) {
    SSL_CTX *ctx = context_of(version);
    SSL_SESSION *session = NULL;
    if (way->is_server)
        use(ctx, "own.key", "own.pem");
    SSL_CTX_set_security_level(ctx, level);
    set_verification(ctx, way);
    for (int turn = 0; turn < (way->again == ONCE ? 1 : 2); turn++) {
        SSL *ssl = SSL_new(ctx);
        struct sockaddr_un address;
        socklen_t length = sizeof address;
        int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
        CHECK(connect(descriptor, (struct sockaddr *)&address, length) == 0 && SSL_set_fd(ssl, descriptor) == 1);
        if (way->records != NO_RECORDS)
            set_record(ssl, way->records);
        if (session != NULL)
            CHECK(SSL_set_session(ssl, session) == 1);
        SSL_SESSION_free(session);
        session = NULL;
        if (turn == 1 && way->again == AGAIN_STRICTER)
            SSL_set_verify(ssl, SSL_VERIFY_PEER, refuse);
        calls = 0;
        int is_connected = connect_once(ssl, way->is_server);
        printf("%s, version %x, level %d, connection %d: connected %d, result %ld, reused %d, called %d\n", way->name,
               (unsigned)version, level, turn + 1, is_connected, SSL_get_verify_result(ssl),
               is_connected && SSL_session_reused(ssl), calls > 0);
        /* Opportunistic encryption: the default level, no verification. */
        if (way->mode == SSL_VERIFY_NONE && level == 2)
            CHECK(is_connected);
        if (is_connected && !way->is_server)
            session = SSL_get1_session(ssl);
        end(ssl);
    }
    SSL_SESSION_free(session);
    SSL_CTX_free(ctx);
}

static int run(const char *role, int listener) {
    int is_peer = strcmp(role, "peer") == 0;
    signal(SIGPIPE, SIG_IGN);
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++)
        for (int level = 0; level <= HIGHEST_LEVEL; level++)
            for (int way = 0; way < WAY_COUNT; way++) {
                if (is_peer)
                    run_peer(listener, &WAYS[way], version);
                else
                    run_verifier(listener, &WAYS[way], version, level);
            }
    return 0;
}

/* Starts a side, which writes its results to a file. */
static pid_t start(const char *role, int listener, int of_openssl, const char *results) {
    char argument[12];
    snprintf(argument, sizeof argument, "%d", listener);
    pid_t child = fork();
    if (child == 0) {
        if (of_openssl)
            unsetenv("LD_LIBRARY_PATH");
        int file = open(results, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(file, STDOUT_FILENO);
        execl("/proc/self/exe", role, argument, NULL);
        _exit(2);
    }
    CHECK(child > 0);
    return child;
}

/* Runs all cases with the key that was made. Returns the results of the side that verifies. */
static FILE *results_of(int of_openssl) {
    char path[512];
    snprintf(path, sizeof path, "%s", material(of_openssl ? "old-keys.openssl" : "old-keys.tercel"));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int status, listener = socket(AF_UNIX, SOCK_STREAM, 0);
    /* Without a path, the system chooses a name. */
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) == 0 && listen(listener, 8) == 0);
    pid_t peer = start("peer", listener, 1, "/dev/null"), verifier = start("verifier", listener, of_openssl, path);
    CHECK(waitpid(verifier, &status, 0) == verifier);
    int failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (failed)
        kill(peer, SIGTERM);
    CHECK(waitpid(peer, &status, 0) == peer);
    CHECK(!failed && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(listener);
    FILE *results = fopen(path, "r");
    CHECK(results != NULL);
    return results;
}

static int compare(struct kind kind) {
    FILE *expected = results_of(1), *found = results_of(0);
    char of_openssl[256], own[256];
    int faults = 0, lines = 0;
    while (fgets(of_openssl, sizeof of_openssl, expected) != NULL) {
        CHECK(fgets(own, sizeof own, found) != NULL);
        lines++;
        if (strcmp(of_openssl, own) != 0) {
            fprintf(stderr, "RSA %d, %s:\n  OpenSSL: %s  Tercel: %s", kind.bits,
                    kind.usage == NULL ? "any usage" : kind.usage, of_openssl, own);
            faults++;
        }
    }
    CHECK(lines >= 2 * (HIGHEST_LEVEL + 1) * WAY_COUNT);
    fclose(expected);
    fclose(found);
    return faults;
}

int main(int count, char **arguments) {
    if (count == 2)
        return run(arguments[0], atoi(arguments[1]));
    int faults = 0;
    /* The certificate of a server of each level. */
    make(EVP_EC_gen("P-521"), NULL, "own.key", "own.pem");
    for (int i = 0; i < COUNT; i++) {
        make(EVP_RSA_gen(KINDS[i].bits), KINDS[i].usage, "old.key", "old.pem");
        faults += compare(KINDS[i]);
    }
    return faults != 0;
}
