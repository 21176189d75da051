// The shim in C: the program with which BoringSSL's test runner tests the library through its C interface.
//
// Each test is one process. The flags state the role, the actions and the expectations. The runner judges the result by
// the bytes that it receives, by the exit code, and by the token on stderr.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim.h"

void finish_open_exchange(void);

_Noreturn void fail(const char *what) {
    finish_open_exchange();
    fprintf(stderr, "%s\n", what);
    exit(1);
}

// The runner counts this exit code separately from failures.
_Noreturn void unimplemented(const char *what) {
    fprintf(stderr, "not implemented: %s\n", what);
    exit(89);
}

// If the shim caused the failure, the token is that of the cause.
_Noreturn void fail_status(test *test, tercel_status status, const char *details) {
    char line[500];
    snprintf(line, sizeof line, "%s %s", test->token != NULL ? test->token : token_of(status), details);
    fail(line);
}

void need(tercel_status status, const char *what) {
    if (status != TERCEL_OK) {
        char line[300];
        snprintf(line, sizeof line, "%s %s: %s", token_of(status), what, tercel_status_text(status));
        fail(line);
    }
}

void *allocate(size_t size) {
    void *made = calloc(1, size + 1);
    if (made == NULL) {
        fail("no memory");
    }
    return made;
}

bytes copy_bytes(const void *data, size_t len) {
    uint8_t *made = allocate(len);
    if (len > 0) {
        memcpy(made, data, len);
    }
    return (bytes){made, len};
}

bytes copy(tercel_bytes from) {
    return copy_bytes(from.data, from.len);
}

bool same(bytes a, bytes b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool same_as(bytes a, tercel_bytes b) {
    return same(a, (bytes){b.data, b.len});
}

bytes read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *data = allocate(1 << 18);
    if (file == NULL) {
        fail("a file that cannot be read");
    }
    size_t len = fread(data, 1, 1 << 18, file);
    fclose(file);
    return (bytes){data, len};
}

bytes base64(const char *text) {
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t *data = allocate(strlen(text));
    size_t len = 0;
    unsigned bits = 0, count = 0;
    for (; *text != 0 && *text != '='; text++) {
        const char *letter = strchr(LETTERS, *text);
        if (letter == NULL) {
            fail("malformed base64");
        }
        bits = bits << 6 | (unsigned)(letter - LETTERS);
        count += 6;
        if (count >= 8) {
            count -= 8;
            data[len++] = (uint8_t)(bits >> count);
        }
    }
    return (bytes){data, len};
}

int hex_list(const char *text, bytes *names, int most) {
    int count = 0;
    while (*text != 0 && count < most) {
        size_t digits = strcspn(text, ",");
        uint8_t *data = allocate(digits / 2);
        for (size_t at = 0; at < digits; at++) {
            unsigned value;
            if (sscanf(text + at, "%1x", &value) != 1 || digits % 2 != 0) {
                return -1;
            }
            data[at / 2] = (uint8_t)(data[at / 2] << 4 | value);
        }
        names[count++] = (bytes){data, digits / 2};
        text += digits + (text[digits] == ',');
    }
    return count;
}

int main(int count, char **arguments) {
    for (int at = 1; at < count; at++) {
        // The runner first asks whether its split-handshake helper is supported.
        if (strcmp(arguments[at], "-is-handshaker-supported") == 0) {
            puts("No");
            return 0;
        }
    }
    plan plan = parse(count, arguments);
    bytes names[LIST];
    if (plan.initial.use_client_ca_list != NULL && hex_list(plan.initial.use_client_ca_list, names, LIST) > 0) {
        unimplemented("authorities of a caller that verifies peers itself");
    }
    // The clock advances only when a test advances it, so that the age of a ticket is exact.
    static shared shared;
    shared.clock = (uint64_t)time(NULL);
    need(tercel_tickets_rotating(86400, &shared.tickets), "tickets");
    for (uint64_t at = 0; at <= plan.initial.resume_count; at++) {
        test test;
        memset(&test, 0, sizeof test);
        test.options = at > 0 ? &plan.resume : &plan.initial;
        test.resumes = at > 0;
        test.shared = &shared;
        // A client detects the rejection of its early data only within the connection, but the test states the
        // rejection in advance.
        test.rejection_expected = at > 0 && !test.options->server && test.options->expect_reject_early_data;
        test.checked = test.rejection_expected ? &plan.retry : test.options;
        run(&test);
        shared.clock += test.options->resumption_delay;
    }
    return 0;
}
