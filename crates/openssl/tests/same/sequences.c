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

/* Whether an operation of a side has failed. */
static int has_failed[2];

/* The sides that have requested a key update. */
static int has_updated;

static int side_bit(const SSL *ssl) { return ssl == pair.server ? 2 : 1; }

/* Whether a transport has ended. */
static int is_closed;

/* Whether the server has requested a certificate after the handshake. */
static int is_requested;

/* The position in the data of each side, so that a repeated write has the same bytes. */
static size_t written[2];

static void show(SSL *ssl, const char *call, int argument, int result) {
    int error = SSL_get_error(ssl, result), side = ssl == pair.server;
    /* OpenSSL waits for room for the alert, which it does not send later. */
    if (has_failed[side] && error == SSL_ERROR_WANT_WRITE)
        error = SSL_ERROR_SYSCALL;
    has_failed[side] |= error == SSL_ERROR_SSL && !SSL_in_before(ssl) && SSL_in_init(ssl);
    printf("  %s %s %d: %d, error %d, init %d, shutdown %d, pending %d", ssl == pair.client ? "client" : "server", call,
           argument, result, error, SSL_in_init(ssl), SSL_get_shutdown(ssl), SSL_pending(ssl));
    /* What an application that was told to wait waits for. */
    if (result <= 0 && (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE))
        printf(", want %d", SSL_want(ssl));
    /* Decryption of TLS 1.2 adds an entry of libcrypto, which this library does not use for it. */
    for (unsigned long code; (code = ERR_get_error()) != 0;)
        if (ERR_GET_LIB(code) != ERR_LIB_PROV)
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
    /* After close_notify, SSL_peek of OpenSSL leaves what an earlier call waited for. */
    peeks = peeks && !(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN);
    int result = peeks ? SSL_peek(ssl, text, length) : SSL_read(ssl, text, length);
    show(ssl, peeks ? "peek" : "read", length, result);
    if (result > 0)
        printf("    %x\n", checksum(text, result));
}

static void write_some(SSL *ssl) {
    static const int lengths[] = {0, 1, 100, 1000, 17000};
    int side = ssl == pair.server, length = lengths[draw(5)];
    /* In OpenSSL, a client fails if it has to answer a request after the record of a blocked write. */
    if (side == 0 && is_requested && (limits[side].room == 0 || is_closed))
        return;
    if (waiting[side] > length && draw(4) != 0)
        length = waiting[side];
    /* In OpenSSL, a shorter write than an alert that was not sent has a bad length. */
    if (has_failed[side] && length < 2)
        length = 2;
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
        /* After the record of a blocked write, close_notify follows here; in OpenSSL it fails. */
        if (draw(3) == 0 && waiting[ssl == pair.server] == 0)
            show(ssl, "shutdown", 0, SSL_shutdown(ssl));
        break;
    case 19:
        number = (int)draw(2);
        /* This library requests no further update while it awaits one. */
        if (number == 1 && (has_updated & side_bit(ssl)) != 0)
            number = 0;
        has_updated |= number == 1 ? side_bit(ssl) : 0;
        /* After close_notify, OpenSSL sends it, against RFC 9846 6.1. */
        if (!(SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN))
            show(ssl, "key update", number, SSL_key_update(ssl, number));
        break;
    case 20:
        /* This library sends a request at once, OpenSSL with the next operation: after a key update only with a
           further one, after the record of a blocked write not at all. After close_notify, OpenSSL sends it, too. */
        if (version == TLS1_3_VERSION && waiting[0] == 0 && waiting[1] == 0 &&
            !((SSL_get_shutdown(pair.client) | SSL_get_shutdown(pair.server)) & SSL_SENT_SHUTDOWN) &&
            SSL_get_key_update_type(ssl) == SSL_KEY_UPDATE_NONE) {
            /* OpenSSL sends new tickets after the answer, this library does not. */
            if (SSL_is_init_finished(pair.server))
                SSL_set_num_tickets(pair.server, 0);
            number = SSL_verify_client_post_handshake(ssl);
            is_requested |= number;
            show(ssl, "certificate request", 0, number == 1 ? SSL_do_handshake(ssl) : number);
        }
        break;
    case 21:
        /* This library does not renegotiate. OpenSSL accepts it before the version is negotiated, and then sends
           messages that TLS 1.3 does not have. */
        if (version == TLS1_3_VERSION && SSL_is_init_finished(ssl))
            show(ssl, "renegotiation", 0, SSL_renegotiate(ssl));
        break;
    case 22:
        number = (int)draw(4);
        /* In a handshake, OpenSSL drops what is received then. Here, closed connections remain closed. */
        if (draw(6) == 0 && (SSL_in_before(ssl) || SSL_is_init_finished(ssl))) {
            number |= SSL_get_shutdown(ssl);
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
        /* In TLS 1.3, a client of this library sends change_cipher_spec before it reads the certificate, which fails if
           its peer has gone, or waits. */
        number = version == TLS1_3_VERSION && ssl == pair.client && !SSL_is_init_finished(ssl)
                     ? 0
                     : SSL_get0_peer_certificate(ssl) != NULL;
        printf("  %s has pending %d, session %d, reused %d, certificate %d, result %ld\n",
               ssl == pair.server ? "server" : "client", SSL_has_pending(ssl), SSL_get_session(ssl) != NULL,
               SSL_session_reused(ssl), number, SSL_get_verify_result(ssl));
        break;
    }
}

/* In TLS 1.2, a side answers close_notify and sends nothing else. This library does so itself, applications of OpenSSL
   have to. RFC 5246 7.2.1 */
static void answer_close(int version, SSL *ssl) {
    if (version != TLS1_2_VERSION || !SSL_is_init_finished(ssl) || SSL_get_shutdown(ssl) != SSL_RECEIVED_SHUTDOWN)
        return;
    int result = SSL_shutdown(ssl);
    /* After the record of a blocked write, it fails in OpenSSL. */
    if (waiting[ssl == pair.server] == 0)
        show(ssl, "answer", 0, result);
    ERR_clear_error();
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
    /* Two tickets are in one record here, in OpenSSL in two, between which SSL_read can end. */
    SSL_set_num_tickets(pair.server, draw(2));
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
    has_failed[0] = has_failed[1] = 0;
    is_closed = 0;
    is_requested = 0;
    has_updated = 0;
    /* Most begin with a connection. */
    if (draw(3) != 0)
        printf("  connected %d\n", shake(&pair));
    ERR_clear_error();
    for (int i = 0; i < calls; i++) {
        call(version);
        answer_close(version, pair.client);
        answer_close(version, pair.server);
    }
    drop_pair(&pair);
}

int main(int count, char **arguments) {
    unsigned long long first = count == 3 ? strtoull(arguments[1], NULL, 10) : 0;
    unsigned long long runs = count == 3 ? strtoull(arguments[2], NULL, 10) : 2000;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 256);
    for (unsigned long long seed = first; seed < first + runs; seed++)
        run(seed);
    return 0;
}
