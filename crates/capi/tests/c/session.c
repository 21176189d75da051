#include "test.h"

void session_tests(void) {
}
