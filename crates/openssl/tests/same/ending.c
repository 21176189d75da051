/* Objects are used and freed while a thread or the process ends: in the destructor of a thread's key, by atexit, and in a
   destructor of the program, which is where destructors of static objects in C++ run. */
#include <pthread.h>

#include "../c/test.h"

struct objects {
    const char *where;
    SSL_CTX *client_ctx, *server_ctx;
    struct pair pair;
    SSL_SESSION *session;
    int freed;
};

static int index_of_objects;

static void on_free(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent, (void)data, (void)index, (void)number, (void)pointer;
    if (value != NULL)
        ((struct objects *)value)->freed++;
}

static void on_message(int sent, int version, int type, const void *data, size_t length, SSL *ssl, void *argument) {
    (void)sent, (void)version, (void)type, (void)data, (void)length, (void)ssl;
    ++*(int *)argument;
}

static int messages;

static void connect_both(struct objects *objects) {
    SSL_CTX_up_ref(objects->client_ctx);
    SSL_CTX_up_ref(objects->server_ctx);
    objects->pair = connected(objects->client_ctx, objects->server_ctx, NULL);
    CHECK(SSL_set_ex_data(objects->pair.client, index_of_objects, objects) == 1);
    objects->session = SSL_get1_session(objects->pair.client);
}

static void prepare(struct objects *objects, const char *where) {
    objects->where = where;
    objects->client_ctx = client_context(0);
    objects->server_ctx = server_context(0);
    SSL_CTX_set_msg_callback(objects->server_ctx, on_message);
    SSL_CTX_set_msg_callback_arg(objects->server_ctx, &messages);
    /* An earlier use leaves what belongs to the thread. */
    connect_both(objects);
    free_pair(&objects->pair);
    SSL_SESSION_free(objects->session);
    connect_both(objects);
}

static void finish(struct objects *objects) {
    char text[4];
    CHECK(SSL_write(objects->pair.client, "data", 4) == 4);
    read_exactly(objects->pair.server, text, 4);
    printf("%s: shutdown %d\n", objects->where, SSL_shutdown(objects->pair.client));
    objects->freed = 0;
    free_pair(&objects->pair);
    SSL_SESSION_free(objects->session);
    printf("%s: freed %d\n", objects->where, objects->freed);
    /* A handshake from the beginning. */
    connect_both(objects);
    free_pair(&objects->pair);
    SSL_SESSION_free(objects->session);
    SSL_CTX_free(objects->client_ctx);
    SSL_CTX_free(objects->server_ctx);
    printf("%s: done, queue %s\n", objects->where, ERR_peek_error() == 0 ? "empty" : "not empty");
    fflush(stdout);
}

static pthread_key_t key;
static struct objects of_thread, of_process, of_program;

static void at_end_of_thread(void *value) {
    finish(value);
}

static void *thread(void *argument) {
    (void)argument;
    prepare(&of_thread, "thread key");
    CHECK(pthread_setspecific(key, &of_thread) == 0);
    return NULL;
}

static void at_exit(void) {
    finish(&of_process);
}

/* libcrypto ends itself by atexit, and frees nothing after that. */
__attribute__((destructor)) static void at_destruction(void) {
    if (of_program.pair.client == NULL)
        return;
    SSL_free(of_program.pair.client);
    SSL_free(of_program.pair.server);
    SSL_SESSION_free(of_program.session);
    SSL_CTX_free(of_program.client_ctx);
    SSL_CTX_free(of_program.client_ctx);
    SSL_CTX_free(of_program.server_ctx);
    SSL_CTX_free(of_program.server_ctx);
    printf("destructor: done\n");
}

int main(void) {
    pthread_t started;
    index_of_objects = SSL_get_ex_new_index(0, NULL, NULL, NULL, on_free);
    prepare(&of_process, "atexit");
    prepare(&of_program, "destructor");
    /* After the first use of libcrypto, so that it runs before libcrypto ends. */
    CHECK(atexit(at_exit) == 0);
    CHECK(pthread_key_create(&key, at_end_of_thread) == 0);
    CHECK(pthread_create(&started, NULL, thread, NULL) == 0 && pthread_join(started, NULL) == 0);
    printf("end of main\n");
    return 0;
}
