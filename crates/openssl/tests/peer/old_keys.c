/* Peers with old keys: RSA of 1024 bits, and RSA keys whose certificates were made for RSA key exchange. Without
   verification a client connects to them, because mail servers would send in clear; with verification the security level
   decides. Each case is tried with this library and with OpenSSL's, and the results are equal.

   Without arguments, the program runs the cases. It starts itself as the peer, on OpenSSL's library, and as the side that
   verifies, on each of the libraries. */
#include "../c/test.h"
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNECTED = 10, REFUSED = 11 };

struct kind {
    int bits;
    const char *usage;
};

static const struct kind KINDS[] = {
    {2048, "digitalSignature"}, {1024, "digitalSignature"}, {1024, NULL}, {2048, "keyEncipherment"}};
enum { COUNT = sizeof KINDS / sizeof *KINDS };

static struct made {
    EVP_PKEY *key;
    X509 *certificate;
} made;

static void add(X509 *certificate, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    CHECK(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

/* Makes a certificate that is its own root. */
static void make(struct kind kind) {
    X509 *certificate = X509_new();
    made.key = EVP_RSA_gen(kind.bits);
    made.certificate = certificate;
    CHECK(made.key != NULL && X509_set_version(certificate, X509_VERSION_3) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME *name = X509_get_subject_name(certificate);
    CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"old", -1, -1, 0) == 1);
    CHECK(X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, made.key) == 1);
    if (kind.usage != NULL)
        add(certificate, NID_key_usage, kind.usage);
    CHECK(X509_sign(certificate, made.key, EVP_sha256()) > 0);
}

/* The arguments: which side, descriptor, version, mode of verification, security level, and the files. */
struct side {
    int is_server, descriptor, version, mode, level;
    const char *key, *certificate;
};

static SSL_CTX *context_of(struct side side) {
    char ciphers[32];
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    snprintf(ciphers, sizeof ciphers, "DEFAULT@SECLEVEL=%d", side.level);
    CHECK(SSL_CTX_set_cipher_list(ctx, ciphers) == 1);
    CHECK(SSL_CTX_set_min_proto_version(ctx, side.version) == 1 && SSL_CTX_set_max_proto_version(ctx, side.version) == 1);
    return ctx;
}

static int run(SSL_CTX *ctx, struct side side) {
    SSL *ssl = SSL_new(ctx);
    char byte = 'x';
    CHECK(SSL_set_fd(ssl, side.descriptor) == 1);
    int result = side.is_server ? SSL_accept(ssl) : SSL_connect(ssl);
    if (result == 1) {
        /* A server's refusal in TLS 1.3 arrives after the handshake of its client. */
        int done = side.is_server ? SSL_write(ssl, &byte, 1) : SSL_read(ssl, &byte, 1);
        result = done == 1;
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return result == 1 ? CONNECTED : REFUSED;
}

/* The side with the old key. */
static int peer(struct side side) {
    SSL_CTX *ctx = context_of(side);
    CHECK(SSL_CTX_use_PrivateKey_file(ctx, side.key, SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_use_certificate_file(ctx, side.certificate, SSL_FILETYPE_PEM) == 1);
    return run(ctx, side);
}

static int verifier(struct side side) {
    SSL_CTX *ctx = context_of(side);
    SSL_CTX_set_verify(ctx, side.mode, NULL);
    CHECK(SSL_CTX_load_verify_locations(ctx, side.certificate, NULL) == 1);
    if (side.is_server) {
        CHECK(SSL_CTX_use_certificate_file(ctx, material("server.pem"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_CTX_use_PrivateKey_file(ctx, material("server.key"), SSL_FILETYPE_PEM) == 1);
    }
    return run(ctx, side);
}

static pid_t start(const char *role, struct side side, int of_openssl) {
    char arguments[5][12];
    int values[5] = {side.is_server, side.descriptor, side.version, side.mode, side.level};
    for (int i = 0; i < 5; i++)
        snprintf(arguments[i], sizeof arguments[i], "%d", values[i]);
    pid_t child = fork();
    if (child == 0) {
        if (of_openssl)
            unsetenv("LD_LIBRARY_PATH");
        execl("/proc/self/exe", role, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], side.key,
              side.certificate, NULL);
        _exit(2);
    }
    CHECK(child > 0);
    return child;
}

/* The result of the side that verifies. */
static int outcome(struct side side, int of_openssl) {
    int ends[2], status, of_peer;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct side other = side;
    other.is_server = !side.is_server;
    other.level = 0;
    side.descriptor = ends[0];
    other.descriptor = ends[1];
    pid_t verifier_child = start("verifier", side, of_openssl), peer_child = start("peer", other, 1);
    close(ends[0]);
    close(ends[1]);
    CHECK(waitpid(peer_child, &of_peer, 0) == peer_child && WIFEXITED(of_peer) && WEXITSTATUS(of_peer) >= CONNECTED);
    CHECK(waitpid(verifier_child, &status, 0) == verifier_child && WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == CONNECTED || WEXITSTATUS(status) == REFUSED);
    return WEXITSTATUS(status);
}

static void compare(struct side side, struct kind kind) {
    int expected = outcome(side, 1), found = outcome(side, 0);
    if (expected != found) {
        fprintf(stderr, "%s, RSA %d, %s, version %x, mode %d, level %d: OpenSSL %d, Tercel %d\n",
                side.is_server ? "server" : "client", kind.bits, kind.usage == NULL ? "any usage" : kind.usage,
                (unsigned)side.version, side.mode, side.level, expected, found);
        exit(1);
    }
    /* Opportunistic encryption: the default level, no verification. */
    if (side.mode == SSL_VERIFY_NONE && side.level == 2)
        CHECK(found == CONNECTED);
}

int main(int count, char **arguments) {
    if (count == 8) {
        int values[5];
        for (int i = 0; i < 5; i++)
            values[i] = atoi(arguments[i + 1]);
        struct side side = {values[0], values[1], values[2], values[3], values[4], arguments[6], arguments[7]};
        return strcmp(arguments[0], "peer") == 0 ? peer(side) : verifier(side);
    }
    char key[512], certificate[512];
    snprintf(key, sizeof key, "%s", material("old.key"));
    snprintf(certificate, sizeof certificate, "%s", material("old.pem"));
    for (int i = 0; i < COUNT; i++) {
        make(KINDS[i]);
        BIO *file = BIO_new_file(key, "w");
        CHECK(PEM_write_bio_PrivateKey(file, made.key, NULL, NULL, 0, NULL, NULL) == 1);
        BIO_free(file);
        file = BIO_new_file(certificate, "w");
        CHECK(PEM_write_bio_X509(file, made.certificate) == 1);
        BIO_free(file);
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            for (int level = 0; level <= 2; level++) {
                struct side client = {0, 0, version, SSL_VERIFY_NONE, level, key, certificate};
                struct side server = {1, 0, version, SSL_VERIFY_PEER, level, key, certificate};
                compare(client, KINDS[i]);
                client.mode = SSL_VERIFY_PEER;
                compare(client, KINDS[i]);
                compare(server, KINDS[i]);
            }
        }
        X509_free(made.certificate);
        EVP_PKEY_free(made.key);
    }
    return 0;
}
