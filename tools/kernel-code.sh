#!/usr/bin/env bash
# Inspects the machine code of kernels (crates/crypto/src/backend/kernels) for what a source text in constant time does
# not exclude: which instructions the compiler chose. In each function that tools/kernel-code.txt names there must be
#
#   - no call, and no jump to a computed address;
#   - no indexed vector loads or stores, no division: their time depends on data;
#   - no instruction that moves the contents of a vector to a general register or to flags, so that no branch and no
#     address depends on data that was loaded to vectors. Functions of the class `scalar` may do that.
#
# What remains are branches on lengths and counted loops. The table shows their number, and how many times a vector is
# stored to the stack: see docs/security/kernels.md.
# usage: tools/kernel-code.sh               builds the tests as in a release and inspects them
#        tools/kernel-code.sh PROGRAM       inspects this program
#        tools/kernel-code.sh --self-test   whether each rule finds a planted instruction
set -euo pipefail
cd "$(dirname "$0")/.."

command -v objdump >/dev/null || { echo "absent: objdump"; exit 0; }

# usage: inspect CLASS < DISASSEMBLY of one function; prints a line, and the instructions that are not allowed.
inspect() {
    awk -v class="$1" '
        { instruction = $0; sub(/^[^\t]*\t/, "", instruction) }
        /^[0-9a-f]+ </ { next }
        instruction == "" { next }
        { count++; split(instruction, part, /[ \t]+/); name = part[1] }
        name == "notrack" || name == "bnd" { name = part[2] }
        name ~ /^call/ && instruction !~ /panic|_fail>/ { fault("call") }
        name ~ /^jmp/ && instruction ~ /\*/ { fault("computed jump") }
        name ~ /^v?p?(gather|scatter)/ { fault("indexed load or store") }
        name ~ /^i?div/ { fault("division") }
        name ~ /^j/ && name !~ /^jmp/ { branches++ }
        /%rsp|%rbp/ && name ~ /^vmov/ && instruction ~ /,-?(0x[0-9a-f]+)?\(%r[sb]p/ { stores++ }
        class == "vector" && name ~ /^v?(ptest|testp|pmovmskb|movmskp|pextr|extractps|comis|ucomis)/ { fault("vector to scalar") }
        class == "vector" && name ~ /^(kortest|ktest)/ { fault("mask to flags") }
        class == "vector" && name ~ /^kmov/ && instruction ~ /%k[0-7],%[re]/ { fault("mask to scalar") }
        class == "vector" && name ~ /^v?mov[dq]$/ && instruction ~ /%xmm[0-9]+,%[re]/ { fault("vector to scalar") }
        function fault(why) { faults[++found] = why ": " instruction }
        END {
            printf "%6d instructions %4d branches %4d vectors stored to the stack\n", count, branches, stores
            for (at = 1; at <= found; at++) print "    " faults[at]
            exit found > 0
        }'
}

if [ "${1-}" = --self-test ]; then
    for planted in 'call   1234 <memcpy>' 'notrack jmp *%rax' 'vpgatherqq (%rax,%zmm1,8),%zmm2{%k1}' 'div    %rcx' \
        'vptest %ymm0,%ymm0' 'kortestb %k0,%k0' 'kmovq  %k1,%rax' 'vmovq  %xmm1,%rax' 'vpextrq $0x1,%xmm1,%rax'; do
        if printf '0 <f>:\n 1:\tvpxor %%xmm0,%%xmm0,%%xmm0\n 2:\t%s\n' "$planted" | inspect vector >/dev/null; then
            echo "not found: $planted" >&2
            exit 1
        fi
    done
    printf '0 <f>:\n 1:\tvmovdqu64 (%%rdi),%%zmm0\n 2:\tkmovq  %%rax,%%k1\n 3:\tvmovq  %%rax,%%xmm1\n' | inspect vector >/dev/null
    printf '0 <f>:\n 1:\tvmovd  %%xmm1,%%eax\n' | inspect scalar >/dev/null
    echo "each planted instruction was found"
    exit 0
fi

program=${1-}
if [ -z "$program" ]; then
    program=$(cargo test --release -p tercel-crypto --lib \
    --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
fi
[ -n "$program" ] || { echo "no test program" >&2; exit 1; }

code=$(mktemp)
trap 'rm -f "$code"' EXIT
objdump -d --demangle --no-show-raw-insn "$program" >"$code"
failed=
while read -r class name; do
    [ -n "$class" ] && [ "${class:0:1}" != '#' ] || continue
    # A function ends at an empty line. Names of generic instances have a suffix.
    function=$(awk -v name="$name" '
        /^[0-9a-f]+ <.*>:$/ { in_it = index($0, "::" name ">:") || index($0, "::" name "::<") }
        in_it' "$code")
    if [ -z "$function" ]; then
        echo "$name: not in the program" >&2
        failed=yes
        continue
    fi
    printf '%-32s' "$name"
    inspect "$class" <<<"$function" || failed=yes
done <tools/kernel-code.txt
[ -z "$failed" ]
