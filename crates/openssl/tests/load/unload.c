/* Loads libssl.so.3 in a thread, uses it for the beginning of a handshake, and unloads it while the thread ends. What
   the library has in the thread is freed after that, by functions of the library. */
#include <dlfcn.h>
#include <openssl/bio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *path;

static void *function(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

/* Made before those of the library, so its function is called first. */
static pthread_key_t key;

static void unload(void *library) {
    dlclose(library);
}

static void *use(void *argument) {
    (void)argument;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void *(*method)(void) = (void *(*)(void))function(library, "TLS_client_method");
    void *(*new_context)(void *) = (void *(*)(void *))function(library, "SSL_CTX_new");
    void (*free_context)(void *) = (void (*)(void *))function(library, "SSL_CTX_free");
    void *(*new)(void *) = (void *(*)(void *))function(library, "SSL_new");
    void (*set_bio)(void *, BIO *, BIO *) = (void (*)(void *, BIO *, BIO *))function(library, "SSL_set_bio");
    int (*shake)(void *) = (int (*)(void *))function(library, "SSL_connect");
    void (*end)(void *) = (void (*)(void *))function(library, "SSL_free");
    BIO *output = BIO_new(BIO_s_mem());
    void *context = new_context(method()), *ssl = new (context);
    set_bio(ssl, BIO_new(BIO_s_mem()), output);
    if (shake(ssl) != -1 || BIO_pending(output) == 0) {
        fprintf(stderr, "no ClientHello\n");
        exit(1);
    }
    end(ssl);
    free_context(context);
    pthread_setspecific(key, library);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t thread;
    path = count == 2 ? arguments[1] : "libssl.so.3";
    if (pthread_key_create(&key, unload) != 0)
        return 1;
    for (int turn = 0; turn < 3; turn++)
        if (pthread_create(&thread, NULL, use, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    printf("unloaded\n");
    return 0;
}
