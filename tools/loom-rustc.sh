#!/bin/sh
# RUSTC_WORKSPACE_WRAPPER of `just loom`: compiles the crates of this workspace with `--cfg loom`. Dependencies are
# built without it, because tokio, for example, leaves out parts with `--cfg loom`.
exec "$@" --cfg loom
