#!/usr/bin/env bash
# Runs hash lanes and kernels under Valgrind with keys and messages marked as undefined: a branch or an address that
# depends on them is an error. Valgrind has no AVX-512, so the AVX2 lanes run, and kernels on portable vectors; they
# share the source text of the algorithms. Then, without Valgrind and with all instruction sets, searches the stack for
# keys from lanes and kernels, and for random bytes of a key exchange.
# usage: tools/constant-time.sh
set -euo pipefail
cd "$(dirname "$0")/.."

command -v valgrind >/dev/null || { echo "absent: valgrind"; exit 0; }

# The tests are compiled as in a release, because the optimizer decides about branches.
tests=$(cargo test --release -p tercel-crypto --lib \
    --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
[ -n "$tests" ] || { echo "no test program" >&2; exit 1; }

# Runs one test, which must exist. Its output is stored before it is searched: a search that ends early would break the
# pipe of the test. It is not written by the path /dev/stderr, which would truncate a log file.
passes() {
    local said status=0
    said=$("${@:2}" "$tests" --include-ignored --exact --test-threads=1 "$1" 2>&1) || status=$?
    printf '%s\n' "$said"
    [ $status -eq 0 ] && grep -q '^test result: ok. 1 passed' <<<"$said"
}
passes backend::lanes::valgrind::nothing_depends_on_what_is_hashed valgrind --quiet
passes backend::kernels::aes_gcm::tests::valgrind::nothing_depends_on_keys_or_data valgrind --quiet
passes backend::kernels::chacha20_poly1305::valgrind::nothing_depends_on_keys_or_texts valgrind --quiet
passes backend::kernels::rsa::tests::constant_time::nothing_depends_on_a_private_key valgrind --quiet
passes backend::kernels::rsa::tests::residue::nothing_of_a_private_key_is_left_on_the_stack
passes backend::kernels::rsa::tests::residue::nothing_that_depends_on_exponents_is_left_on_the_stack
passes backend::lanes::tests::a_kernel_leaves_neither_schedules_nor_states_on_the_stack
passes backend::lanes::tests::nothing_of_a_key_is_left_on_the_stack
passes backend::kernels::chacha20_poly1305::tests::nothing_of_a_key_is_left_on_the_stack
passes interleaved_hash::tests::nothing_of_a_key_is_left_on_the_stack
passes key_exchange::randomness::tests::nothing_that_was_drawn_is_left_on_the_stack
passes key_exchange::keys::tests::no_copy_of_an_x25519_key_is_left_on_the_stack
passes backend::kernels::aes_gcm::tests::residue::nothing_of_a_key_is_left_on_the_stack
passes backend::kernels::aes_gcm::tests::residue::nothing_of_a_key_is_left_on_the_stack_by_its_expansion
