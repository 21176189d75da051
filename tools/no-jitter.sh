#!/usr/bin/env bash
# Fails if a program or a static library contains AWS-LC's processor jitter source, which costs each process 36 ms:
# .cargo/config.toml leaves it out, docs/security/randomness.md says why. A build whose caller has set the variable is
# not checked, and a stripped program cannot be.
# usage: tools/no-jitter.sh FILE
set -euo pipefail

[ -z "${AWS_LC_SYS_NO_JITTER_ENTROPY:-}" ] || exit 0
# grep reads to the end, so that nm does not fail.
if nm "$1" 2>/dev/null | grep jent_read_entropy >/dev/null; then
    echo "$1 contains AWS-LC's processor jitter source: it was built without .cargo/config.toml of this repository" >&2
    exit 1
fi
