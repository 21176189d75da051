#!/bin/sh
# The compiler of this workspace's crates for `just loom`: RUSTC_WORKSPACE_WRAPPER. What they depend on is built as ever,
# once, and does not hear of it: tokio, for one, leaves out parts with `--cfg loom`.
exec "$@" --cfg loom
