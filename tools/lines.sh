#!/usr/bin/env bash
# Counts lines of Rust per crate: library code, its comments and blank lines, and separately tests.
# usage: tools/lines.sh [COMMIT]          the tracked files of the work tree, or of a commit
#
# Tests are files below `tests/`, `testing/` and `benches/`, files named `tests.rs`, `testing.rs` and `models.rs`
# (loom), and modules behind `#[cfg(test)]` in any file. All their lines, comments and blank ones too, count as tests.
# A line with code and a comment is code; a documentation comment is a comment.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

commit=${1:-}
folder=.
if [ -n "$commit" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    git archive "$commit" -- crates | tar -x -C "$folder"
    list() { find "$folder/crates" -name '*.rs' | sed "s|^$folder/||" | sort; }
else
    list() { git ls-files -- 'crates/*.rs'; }
fi

list | (cd "$folder" && xargs awk '
    FNR == 1 {
        split(FILENAME, part, "/")
        crate = part[2]
        if (!(crate in seen)) { seen[crate] = 1; order[++crates] = crate }
        files[crate]++
        file_is_test = FILENAME ~ /\/(tests|testing|benches)\/|\/(tests|testing|models)\.rs$/
        is_example = FILENAME ~ /\/examples\//
        test_module = pending = block = 0
    }
    {
        line = $0
        sub(/^[ \t]+/, "", line)
        indent = length($0) - length(line)
        if (line == "") kind = "blank"
        else if (block) { kind = "comment"; if (line ~ /\*\//) block = 0 }
        else if (line ~ /^\/\//) kind = "comment"
        else if (line ~ /^\/\*/) { kind = "comment"; if (line !~ /\*\//) block = 1 }
        else kind = "code"

        # `#[cfg(test)]`, further attributes, then `mod NAME {` up to the brace in the same column.
        if (!test_module && line ~ /^#\[cfg\((all\()?test[,)]/) { pending = 1; pending_indent = indent }
        else if (pending && kind == "code" && line !~ /^#/) {
            pending = 0
            if (line ~ /^(pub(\([a-z]+\))? )?mod [a-z_0-9]+ \{/) { test_module = 1; module_indent = indent }
        }

        if (file_is_test || test_module) count[crate, "tests"]++
        else if (is_example) count[crate, "examples"]++
        else count[crate, kind]++

        if (test_module && indent == module_indent && line == "}") test_module = 0
    }
    END {
        printf "%-10s %7s %9s %9s %9s %9s %9s\n", "crate", "files", "code", "comments", "blank", "tests", "examples"
        for (i = 1; i <= crates; i++) {
            crate = order[i]
            print_row(crate, files[crate], crate)
            all_files += files[crate]
            for (k = 1; k <= split("code comment blank tests examples", kinds, " "); k++)
                count["sum", kinds[k]] += count[crate, kinds[k]]
        }
        print_row("sum", all_files, "sum")
    }
    function print_row(name, files, key) {
        printf "%-10s %7d %9d %9d %9d %9d %9d\n", name, files, count[key, "code"], count[key, "comment"],
            count[key, "blank"], count[key, "tests"], count[key, "examples"]
    }
')
