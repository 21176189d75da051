#!/usr/bin/env bash
# Runs hash lanes under Valgrind with keys and messages marked as undefined: a branch or an address that depends on them is
# an error. Valgrind has no AVX-512, so AVX2's lanes run; the rounds are one source text for both. Then, without Valgrind and by
# all instructions that are there, looks for what lanes left of a key on the stack, and for what a key exchange drew.
# usage: tools/constant-time.sh
set -euo pipefail
cd "$(dirname "$0")/.."

command -v valgrind >/dev/null || { echo "absent: valgrind"; exit 0; }

# Compiled as in a release: what matters is what the optimiser makes of it.
tests=$(cargo test --release -p tercel-crypto --lib --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo "no test program" >&2; exit 1; }

# Runs this one test, which must be there. Its output is kept whole before it is searched: a search that ends early would
# break the pipe of who still writes.
passes() {
    local said
    said=$("${@:2}" "$tests" --include-ignored --exact --test-threads=1 "$1" 2>&1 | tee /dev/stderr) &&
        grep -q '^test result: ok. 1 passed' <<<"$said"
}
passes backend::lanes::valgrind::nothing_depends_on_what_is_hashed valgrind --quiet
passes backend::lanes::tests::a_kernel_leaves_neither_schedules_nor_states_on_the_stack
passes backend::lanes::tests::nothing_of_a_key_is_left_on_the_stack
passes beside::tests::nothing_of_a_key_is_left_on_the_stack
passes key_exchange::drawn::tests::nothing_that_was_drawn_is_left_on_the_stack
