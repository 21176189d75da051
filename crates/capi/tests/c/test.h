// What the test programs share: checks, files, and a client and a server in memory.

#ifndef TEST_H
#define TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tercel.h"

// Ends the program unless a condition holds.
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)

// Ends the program unless a status is as expected.
#define EXPECT(wanted, status) expect((wanted), (status), #status, __FILE__, __LINE__)

static inline void check(int holds, const char *text, const char *file, int line) {
    if (!holds) {
        fprintf(stderr, "%s:%d: %s\n", file, line, text);
        _Exit(1);
    }
}

static inline void expect(tercel_status wanted, tercel_status found, const char *text, const char *file, int line) {
    if (wanted != found) {
        fprintf(stderr, "%s:%d: %s is 0x%08x (%s), not 0x%08x (%s)\n", file, line, text, found,
                tercel_status_text(found), wanted, tercel_status_text(wanted));
        _Exit(1);
    }
}

// Memory with its length.
typedef struct {
    uint8_t *data;
    size_t len;
} memory;

memory copy_of(tercel_bytes bytes);
void drop(memory *memory);

// Reads a file of the folder in the environment variable MATERIAL.
memory material(const char *name);

const tercel_roots *test_roots(void);
const tercel_credential *test_credential(const char *name);

// A builder with the roots of the tests for a client, or with the credential "server".
tercel_config_builder *test_builder(tercel_side side);
// Builds a configuration, and frees the builder.
const tercel_config *built(tercel_config_builder *builder);
const tercel_config *test_config(tercel_side side);
void set_option(tercel_config_builder *builder, tercel_option option, uint64_t value);
void set_version(tercel_config_builder *builder, uint16_t version);

// One side of a handshake and of its connection.
typedef struct {
    tercel_handshake *handshake;
    tercel_connection *connection;
    tercel_input *input;
    tercel_output *output;
    tercel_next next;
    // What advance returned last.
    tercel_status status;
    // The early data that was received.
    uint8_t early[256];
    size_t early_len;
} endpoint;

typedef struct {
    endpoint client, server;
    // Answers the question of an endpoint; NULL if there are none.
    void (*answer)(endpoint *endpoint);
} pair;

pair new_pair(const tercel_config *client, const tercel_config *server);
void free_pair(pair *pair);
// Advances an endpoint, and passes its output to the other one's input.
void step(pair *pair, endpoint *from, endpoint *to);
// Runs both sides until they are connected, or one of them fails. Returns whether both are connected.
int run(pair *pair);
// The same, and ends the program unless they are connected.
void run_connected(pair *pair);
// Sends a text, and checks that it arrives.
void send_text(endpoint *from, endpoint *to, const char *text);
// Moves all output to an input.
void deliver(tercel_output *output, tercel_input *input);

// The tests of each file.
void memory_tests(void);
void question_tests(void);
void session_tests(void);
void misuse_tests(void);
void thread_tests(void);

#endif
