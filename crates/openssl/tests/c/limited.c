/* A BIO that accepts a limited number of bytes, and then blocks or fails. */
#include "test.h"

struct limited {
    BIO *to;
    struct limit *limit;
};

static int limited_write(BIO *bio, const char *data, int length) {
    struct limited *own = BIO_get_data(bio);
    struct limit *limit = own->limit;
    BIO_clear_retry_flags(bio);
    if (limit->on_write != NULL)
        limit->on_write(limit);
    if (limit->room == 0) {
        if (!limit->fails)
            BIO_set_retry_write(bio);
        return -1;
    }
    if (length > limit->room)
        length = (int)limit->room;
    int count = BIO_write(own->to, data, length);
    if (count > 0)
        limit->room -= count;
    return count;
}

static long limited_ctrl(BIO *bio, int command, long number, void *pointer) {
    struct limited *own = BIO_get_data(bio);
    return command == BIO_CTRL_FLUSH ? 1 : BIO_ctrl(own->to, command, number, pointer);
}

static int limited_destroy(BIO *bio) {
    struct limited *own = BIO_get_data(bio);
    BIO_free(own->to);
    free(own);
    return 1;
}

void limit_writes(SSL *ssl, struct limit *limit) {
    static BIO_METHOD *method;
    if (method == NULL) {
        method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 126, "limited");
        BIO_meth_set_write(method, limited_write);
        BIO_meth_set_ctrl(method, limited_ctrl);
        BIO_meth_set_destroy(method, limited_destroy);
    }
    struct limited *own = malloc(sizeof *own);
    BIO *bio = BIO_new(method), *to = SSL_get_wbio(ssl);
    CHECK(own != NULL && bio != NULL && BIO_up_ref(to) == 1);
    *own = (struct limited){to, limit};
    BIO_set_data(bio, own);
    BIO_set_init(bio, 1);
    SSL_set0_wbio(ssl, bio);
}
