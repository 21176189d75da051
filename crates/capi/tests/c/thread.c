#include "test.h"

void thread_tests(void) {
}
