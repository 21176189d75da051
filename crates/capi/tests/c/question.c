#include "test.h"

void question_tests(void) {
}
