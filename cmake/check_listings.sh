#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: check_listings.sh REPOSITORY
# Every fenced ```cpp block of README.md and docs/ stands below a line "<!-- listing: path/to/file.cpp -->" and equals
# that file's text between "// listing-begin" and "// listing-end" (less the indentation common to those lines), or the
# whole file where it has no such marks. So what a page shows has been compiled.
set -eu

cd "$1"
set --
[ ! -f README.md ] || set -- README.md
if [ -d docs ]; then
    # Names of pages hold no white space; a page that breaks this rule is reported as unreadable below.
    # shellcheck disable=SC2046
    set -- "$@" $(find docs -name '*.md' | LC_ALL=C sort)
fi
if [ $# -eq 0 ]; then
    echo 'no pages'
    exit 0
fi
for page; do
    [ -r "$page" ] || {
        echo "$page: cannot be read"
        exit 1
    }
done

LC_ALL=C awk '
function complain(line, text) {
    printf "%s:%d: %s\n", page, line, text
    faults++
}

# Reads the listing of a file into expected[1..n]; returns n, or -1 after a complaint.
function read_listing(path, line,    text, n, all, inside, regions, status, i, indent, width) {
    n = all = inside = regions = 0
    while ((status = (getline text < path)) > 0) {
        if (text ~ /^[ \t]*\/\/ listing-begin[ \t]*$/) { regions++; inside = 1; continue }
        if (text ~ /^[ \t]*\/\/ listing-end[ \t]*$/) { inside = 0; continue }
        whole[++all] = text
        if (inside) expected[++n] = text
    }
    close(path)
    if (status < 0) { complain(line, path " cannot be read"); return -1 }
    if (regions > 1) { complain(line, path " has more than one listing-begin"); return -1 }
    if (inside) { complain(line, path " has a listing-begin without a listing-end"); return -1 }
    if (regions == 0) {
        for (i = 1; i <= all; i++) expected[i] = whole[i]
        return all
    }
    indent = -1
    for (i = 1; i <= n; i++) {
        if (expected[i] == "") continue
        width = match(expected[i], /[^ ]/) - 1
        if (indent < 0 || width < indent) indent = width
    }
    for (i = 1; i <= n; i++) expected[i] = substr(expected[i], indent + 1)
    return n
}

function compare(    n, i) {
    n = read_listing(listing, opened)
    if (n < 0) return
    for (i = 1; i <= n || i <= shown; i++) {
        if (i > n) { complain(opened + i, "the page has more lines than " listing); return }
        if (i > shown) { complain(opened + i, "the page ends before " listing ": " expected[i]); return }
        if (block[i] != expected[i]) {
            complain(opened + i, "differs from " listing)
            printf "    page: %s\n    file: %s\n", block[i], expected[i]
            return
        }
    }
}

FNR == 1 {
    if (in_cpp || in_other) complain(opened, "a fence is not closed")
    page = FILENAME; listing = ""; in_cpp = in_other = 0
}
in_cpp && /^```[ \t]*$/ { blocks++; if (listing != "") compare(); in_cpp = 0; listing = ""; next }
in_cpp { block[++shown] = $0; next }
in_other && /^```[ \t]*$/ { in_other = 0; next }
in_other { next }
/^<!-- listing: .* -->[ \t]*$/ {
    listing = $0
    sub(/^<!-- listing: */, "", listing)
    sub(/ *-->[ \t]*$/, "", listing)
    next
}
/^[ \t]*```[ \t]*(cpp|c\+\+|cc|cxx|cuda)([ \t{].*)?$/ {
    opened = FNR; shown = 0; in_cpp = 1
    if ($0 !~ /^```cpp[ \t]*$/) complain(FNR, "write a block of code as ```cpp at the start of the line")
    else if (listing == "") complain(FNR, "a ```cpp block without a line <!-- listing: FILE --> above it")
    next
}
/^[ \t]*```/ { opened = FNR; in_other = 1; listing = ""; next }
/[^ \t]/ {
    if (listing != "") { complain(FNR, "a listing comment that no ```cpp block follows"); listing = "" }
}
END {
    if (in_cpp || in_other) complain(opened, "a fence is not closed")
    if (listing != "" && !in_cpp) { complain(FNR, "a listing comment that no ```cpp block follows") }
    printf "%d listings in %d pages, %d faults\n", blocks, ARGC - 1, faults
    exit faults > 0
}
' "$@"
