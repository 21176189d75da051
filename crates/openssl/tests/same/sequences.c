/* Random sequences of calls: what each returns, and what getters show after it.
   usage: sequences [FIRST_SEED COUNT] */
#include "../c/test.h"

static struct pair pair;
static struct limit limits[2];

/* A generator of numbers, the same on every system (xorshift64*). */
static unsigned long long state;

static unsigned draw(unsigned below) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (unsigned)((state * 2685821657736338717ULL) >> 33) % below;
}

static char data[20000], text[20000];

/* The length of a write that did not succeed, and that is mostly repeated with the same bytes, or more. */
static int waiting[2];

/* Whether a transport has ended. */
static int is_closed;

/* The position in the data of each side, so that a repeated write has the same bytes. */
static size_t written[2];

static void show(SSL *ssl, const char *call, int argument, int result) {
    int error = SSL_get_error(ssl, result);
    printf("  %s %s %d: %d, error %d, init %d, shutdown %d, pending %d", ssl == pair.client ? "client" : "server", call,
           argument, result, error, SSL_in_init(ssl), SSL_get_shutdown(ssl), SSL_pending(ssl));
    /* What an application that was told to wait waits for. */
    if (result <= 0 && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE))
        printf(", want %d", SSL_want(ssl));
    for (unsigned long code; (code = ERR_get_error()) != 0;)
        printf(", %s", ERR_reason_error_string(code));
    printf("\n");
}

static unsigned checksum(const char *bytes, int length) {
    unsigned sum = 0;
    for (int i = 0; i < length; i++)
        sum = sum * 31 + (unsigned char)bytes[i];
    return sum;
}

static void read_some(SSL *ssl, int peeks) {
    static const int lengths[] = {0, 1, 100, 20000};
    int length = lengths[draw(4)];
    int result = peeks ? SSL_peek(ssl, text, length) : SSL_read(ssl, text, length);
    show(ssl, peeks ? "peek" : "read", length, result);
    if (result > 0)
        printf("    %x\n", checksum(text, result));
}

static void write_some(SSL *ssl) {
    static const int lengths[] = {0, 1, 100, 1000, 17000};
    int side = ssl == pair.server, length = lengths[draw(5)];
    if (waiting[side] > length && draw(4) != 0)
        length = waiting[side];
    int result = SSL_write(ssl, data + written[side], length);
    show(ssl, "write", length, result);
    waiting[side] = result > 0 ? 0 : length;
    if (result > 0)
        written[side] = (written[side] + (size_t)result) % 2000;
}

static void limit(SSL *ssl) {
    int side = ssl == pair.server;
    limits[side].room = limits[side].room == 0 || draw(3) != 0 ? 1 << 20 : 0;
    printf("  %s has room %d\n", side ? "server" : "client", limits[side].room > 0);
}

static void set_mode(SSL *ssl) {
    static const long modes[] = {SSL_MODE_AUTO_RETRY, SSL_MODE_ENABLE_PARTIAL_WRITE, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
                                 SSL_MODE_RELEASE_BUFFERS};
    long mode = modes[draw(4)];
    printf("  %s mode %ld\n", ssl == pair.server ? "server" : "client",
           draw(2) ? SSL_set_mode(ssl, mode) : SSL_clear_mode(ssl, mode));
}

/* One call. */
static void call(int version) {
    SSL *ssl = draw(2) ? pair.server : pair.client;
    int number;
    switch (draw(26)) {
    case 0 ... 5:
        show(ssl, "handshake", 0, SSL_do_handshake(ssl));
        break;
    case 6 ... 10:
        read_some(ssl, 0);
        break;
    case 11:
        read_some(ssl, 1);
        break;
    case 12 ... 15:
        write_some(ssl);
        break;
    case 16:
        limit(ssl);
        break;
    case 17:
        set_mode(ssl);
        break;
    case 18:
        if (draw(3) == 0)
            show(ssl, "shutdown", 0, SSL_shutdown(ssl));
        break;
    case 19:
        number = (int)draw(2);
        show(ssl, "key update", number, SSL_key_update(ssl, number));
        break;
    case 20:
        /* OpenSSL sends a request with the next operation, this library at once. */
        if (version == TLS1_3_VERSION) {
            number = SSL_verify_client_post_handshake(ssl);
            show(ssl, "certificate request", 0, number == 1 ? SSL_do_handshake(ssl) : number);
        }
        break;
    case 21:
        /* This library does not renegotiate. */
        if (version == TLS1_3_VERSION)
            show(ssl, "renegotiation", 0, SSL_renegotiate(ssl));
        break;
    case 22:
        number = (int)draw(4);
        if (draw(6) == 0) {
            SSL_set_shutdown(ssl, number);
            show(ssl, "set shutdown", number, 1);
        }
        break;
    case 23:
        if (draw(8) == 0) {
            is_closed = 1;
            BIO_shutdown_wr(SSL_get_rbio(ssl == pair.server ? pair.client : pair.server));
            show(ssl, "end of its input", 0, 1);
        }
        break;
    case 24:
        if (draw(10) == 0 && !is_closed && SSL_is_init_finished(ssl) && limits[ssl == pair.server].room > 0) {
            send_damaged_record(ssl);
            show(ssl, "damaged record", 0, 1);
        }
        break;
    case 25:
        printf("  %s has pending %d, session %d, reused %d, certificate %d, result %ld\n",
               ssl == pair.server ? "server" : "client", SSL_has_pending(ssl), SSL_get_session(ssl) != NULL,
               SSL_session_reused(ssl), SSL_get0_peer_certificate(ssl) != NULL, SSL_get_verify_result(ssl));
        break;
    }
}

static int accept_any(int ok, X509_STORE_CTX *store) {
    (void)ok, (void)store;
    return 1;
}

static void run(unsigned long long seed) {
    static const int modes[] = {0, SSL_VERIFY_PEER, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                                SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE,
                                SSL_VERIFY_PEER | SSL_VERIFY_POST_HANDSHAKE | SSL_VERIFY_FAIL_IF_NO_PEER_CERT};
    state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
    draw(2);
    int version = draw(2) ? TLS1_3_VERSION : TLS1_2_VERSION, mode = (int)draw(5), has_certificate = draw(4) != 0;
    int permits = draw(3) != 0, is_accepted = draw(4) != 0, quiet = draw(8) == 0, calls = 10 + (int)draw(40);
    pair = new_pair(version, 1 << 17);
    printf("seed %llu, version %x, mode %x, certificate %d, permits %d, accepted %d, quiet %d\n", seed,
           (unsigned)version, (unsigned)modes[mode], has_certificate, permits, is_accepted, quiet);
    SSL_set_num_tickets(pair.server, draw(3));
    SSL_set_verify(pair.server, modes[mode], is_accepted ? accept_any : NULL);
    SSL_set_quiet_shutdown(pair.server, quiet);
    SSL_set_post_handshake_auth(pair.client, permits);
    if (has_certificate) {
        CHECK(SSL_use_certificate_file(pair.client, material("client.pem"), SSL_FILETYPE_PEM) == 1);
        CHECK(SSL_use_PrivateKey_file(pair.client, material("client.key"), SSL_FILETYPE_PEM) == 1);
    }
    limits[0] = limits[1] = (struct limit){1 << 20, 0, NULL};
    limit_writes(pair.client, &limits[0]);
    limit_writes(pair.server, &limits[1]);
    written[0] = written[1] = 0;
    waiting[0] = waiting[1] = 0;
    is_closed = 0;
    /* Most begin with a connection. */
    if (draw(3) != 0)
        printf("  connected %d\n", shake(&pair));
    ERR_clear_error();
    for (int i = 0; i < calls; i++)
        call(version);
    drop_pair(&pair);
}

int main(int count, char **arguments) {
    unsigned long long first = count == 3 ? strtoull(arguments[1], NULL, 10) : 0;
    unsigned long long runs = count == 3 ? strtoull(arguments[2], NULL, 10) : 300;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 256);
    for (unsigned long long seed = first; seed < first + runs; seed++)
        run(seed);
    return 0;
}
