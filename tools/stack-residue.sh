#!/usr/bin/env bash
# Searches the stack for residue of hash lanes and kernels, in builds of common profiles: which vectors the compiler
# spills to the stack depends on its options. Runs the tests that search the stack, with all instruction sets of this
# machine.
# usage: tools/stack-residue.sh [--quick]     --quick: the two builds that most programs use
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(
    backend::lanes::tests::what_is_wiped_is_more_than_a_kernel_uses_of_the_stack
    backend::lanes::tests::a_kernel_leaves_neither_schedules_nor_states_on_the_stack
    backend::lanes::tests::nothing_of_a_key_is_left_on_the_stack
    interleaved_hash::tests::nothing_of_a_key_is_left_on_the_stack
    backend::kernels::rsa::tests::residue::nothing_of_a_private_key_is_left_on_the_stack
    backend::kernels::rsa::tests::residue::nothing_that_depends_on_exponents_is_left_on_the_stack
    backend::kernels::chacha20_poly1305::tests::what_is_wiped_is_more_than_the_kernel_uses_of_the_stack
    backend::kernels::chacha20_poly1305::tests::nothing_of_a_key_is_left_on_the_stack
    backend::kernels::aes_gcm::tests::residue::what_is_wiped_is_more_than_the_kernel_uses_of_the_stack
    backend::kernels::aes_gcm::tests::residue::nothing_of_a_key_is_left_on_the_stack
    backend::kernels::aes_gcm::tests::residue::nothing_of_a_key_is_left_on_the_stack_by_its_expansion
)
failed=()

# usage: in_build PROFILE [SETTING...]; runs ${tests[@]} in a build with these settings of cargo.
in_build() {
    local profile=$1 setting program test said flags=()
    shift
    for setting in "$@"; do flags+=(--config "profile.$profile.$setting"); done
    echo "== $profile $*"
    program=$(cargo test --profile "$profile" "${flags[@]}" -p tercel-crypto --lib --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    [ -n "$program" ] || { echo "no test program" >&2; exit 1; }
    for test in "${tests[@]}"; do
        said=$("$program" --exact --nocapture --test-threads=1 "$test" 2>&1) || true
        if grep -q '^test result: ok. 1 passed' <<<"$said"; then
            grep '^test [a-z0-9_:]* \.\.\.' <<<"$said"
        else
            echo "$said"
            failed+=("$profile $*: $test")
        fi
    done
}

in_build release
# These builds have no link-time optimization and sixteen codegen units, which is cargo's default, and several
# levels of optimization, including those for size. The level is set for one package only, so that AWS-LC is
# not built again for each.
parts=(lto=\"off\" codegen-units=16)
in_build release "${parts[@]}"
if [ "${1:-}" != --quick ]; then
    for level in 1 2 '"s"' '"z"'; do in_build release "${parts[@]}" "package.tercel-crypto.opt-level=$level"; done
    in_build dev
    # A build without optimization has no lanes, so only the detection of instructions is tested.
    tests=(backend::lanes::tests::the_instructions_of_this_processor_are_found)
    in_build dev package.tercel-crypto.opt-level=0
fi

if [ "${#failed[@]}" -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
