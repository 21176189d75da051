#!/usr/bin/env bash
# Links the shared C library from the static one, with crates/capi/libtercel.map: the symbols of the interface have the
# version TERCEL_0, and no others are visible.
# usage: tools/c-link.sh STATIC SHARED SONAME
#
# The library is not unloaded: functions of its own run when threads end.
#
# rustc writes a version script of its own for a shared library, and a linker accepts only one.
set -euo pipefail

map=$(dirname "$0")/../crates/capi/libtercel.map
# The last are the libraries of the system that rustc names for a static library.
cc -shared -o "$2" -Wl,-soname,"$3" -Wl,--version-script="$map" -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,nodelete \
    -Wl,--whole-archive "$1" -Wl,--no-whole-archive -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc
