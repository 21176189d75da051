// Loads libtercel.so in a thread, uses it for the beginning of a handshake, and unloads it while the thread ends. What
// the library has in the thread is freed after that, by functions of the library.
//
// usage: unload LIBRARY ROOTS

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tercel.h"

static const char *library_path, *roots_path;

static void need(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

// Made before those of the library, so its function is called first.
static pthread_key_t key;

static void unload(void *library) {
    dlclose(library);
}

static void *use(void *argument) {
    (void)argument;
    void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    need(library != NULL, "the library cannot be loaded");
// C does not convert a pointer to an object into one to a function.
#define LOAD(name) \
    __typeof__(name) *own_##name; \
    *(void **)&own_##name = dlsym(library, #name); \
    need(own_##name != NULL, #name)
    LOAD(tercel_roots_from_pem);
    LOAD(tercel_roots_release);
    LOAD(tercel_config_builder_new);
    LOAD(tercel_config_builder_set_roots);
    LOAD(tercel_config_builder_build);
    LOAD(tercel_config_builder_free);
    LOAD(tercel_config_release);
    LOAD(tercel_handshake_client);
    LOAD(tercel_handshake_advance);
    LOAD(tercel_handshake_free);
    LOAD(tercel_input_new);
    LOAD(tercel_input_free);
    LOAD(tercel_output_new);
    LOAD(tercel_output_bytes);
    LOAD(tercel_output_free);

    static uint8_t pem[1 << 16];
    FILE *file = fopen(roots_path, "rb");
    need(file != NULL, roots_path);
    size_t len = fread(pem, 1, sizeof pem, file);
    fclose(file);
    const tercel_roots *roots;
    need(own_tercel_roots_from_pem(pem, len, &roots) == TERCEL_OK, "roots");
    tercel_config_builder *builder = own_tercel_config_builder_new(TERCEL_CLIENT);
    need(own_tercel_config_builder_set_roots(builder, roots) == TERCEL_OK, "set roots");
    const tercel_config *config;
    need(own_tercel_config_builder_build(builder, &config) == TERCEL_OK, "configuration");
    tercel_handshake *handshake;
    need(own_tercel_handshake_client(config, "server.test", 11, 443, &handshake) == TERCEL_OK, "handshake");
    tercel_input *input = own_tercel_input_new(0);
    tercel_output *output = own_tercel_output_new();
    tercel_next next;
    need(own_tercel_handshake_advance(handshake, input, output, &next) == TERCEL_OK, "advance");
    need(own_tercel_output_bytes(output).len > 0, "a ClientHello");
    own_tercel_handshake_free(handshake);
    own_tercel_input_free(input);
    own_tercel_output_free(output);
    own_tercel_config_release(config);
    own_tercel_config_builder_free(builder);
    own_tercel_roots_release(roots);
    need(pthread_setspecific(key, library) == 0, "thread key");
    return NULL;
}

int main(int count, char **arguments) {
    need(count == 3, "usage: unload LIBRARY ROOTS");
    library_path = arguments[1];
    roots_path = arguments[2];
    need(pthread_key_create(&key, unload) == 0, "thread key");
    for (int turn = 0; turn < 3; turn++) {
        pthread_t thread;
        need(pthread_create(&thread, NULL, use, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
    }
    printf("unloaded\n");
    return 0;
}
