#include "test.h"

void misuse_tests(void) {
}
