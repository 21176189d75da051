#!/usr/bin/env bash
# Writes what a package contains besides the program: manual pages, completions, and systemd's units with the path of
# an installed program.
# usage: tools/generate.sh PROGRAM FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."

program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/completions" "$folder/systemd"
"$program" man "$folder/man"
gzip -9n "$folder/man"/*.1
"$program" completions bash >"$folder/completions/tercel"
"$program" completions zsh >"$folder/completions/_tercel"
"$program" completions fish >"$folder/completions/tercel.fish"
for unit in crates/proxy/examples/systemd/tercel-proxy.{service,socket}; do
    sed 's|/usr/local/bin/tercel|/usr/bin/tercel|' "$unit" >"$folder/systemd/${unit##*/}"
done
grep -q '^ExecStart=/usr/bin/tercel ' "$folder/systemd/tercel-proxy.service"
