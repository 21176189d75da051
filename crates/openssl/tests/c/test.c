/* Runs the tests of libssl.so.3 of Tercel, as a program in C uses it. MATERIAL names the folder of certificates. */
#include "test.h"

int main(void) {
    if (getenv("MATERIAL") == NULL) {
        fprintf(stderr, "MATERIAL is not set\n");
        return 2;
    }
    test_strings();
    test_reading();
    test_writing();
    test_bios();
    test_errors();
    test_misuse();
    test_callbacks();
    test_messages();
    test_keys();
    test_early_data();
    test_sessions();
    test_cache();
    test_objects();
    test_resumption();
    test_security();
    test_refused();
    test_alerts();
    test_threads();
    test_blocked_reader();
    test_commands_in_threads();
    test_writers();
    CHECK(ERR_peek_error() == 0);
    printf("all tests passed\n");
    return 0;
}
