#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: check.sh FILE COMPILER [FLAG...]
# FILE must fail to compile, and for every extended regular expression that FILE gives in a line "// expect: REGEX" one
# of the compiler's errors or notes must match. With -DTALLY_OK the same file must compile: it then differs only in what
# is forbidden, so the failure has the reason that the file is about.
set -eu

file=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
tab=$(printf '\t')

fail() {
    printf '%s: %s\n' "$file" "$1"
    [ -z "${2-}" ] || sed 's/^/    /' "$2"
    exit 1
}

sed -n "s|^[ $tab]*// expect: *||p" "$file" >"$work/expected"
[ -s "$work/expected" ] || fail 'holds no line "// expect: REGEX"'
grep -q TALLY_OK "$file" || fail 'has no variant under TALLY_OK that compiles'

if ! "$@" -fsyntax-only -DTALLY_OK "$file" >"$work/ok" 2>&1; then
    fail 'must compile with -DTALLY_OK but does not:' "$work/ok"
fi
if "$@" -fsyntax-only -fdiagnostics-color=never "$file" >"$work/output" 2>&1; then
    fail 'must not compile but does'
fi
# A compiler that was killed or that crashed has refused nothing. Source text that it shows is no message.
grep -q 'error:' "$work/output" || fail 'the compiler failed without an error:' "$work/output"
grep -E ': (error|note): ' "$work/output" >"$work/messages" || true
if grep -q -i 'internal compiler error' "$work/output"; then
    fail 'the compiler crashed:' "$work/output"
fi

while IFS= read -r regex; do
    grep -E -q -e "$regex" "$work/messages" || fail "no message of the compiler matches: $regex" "$work/output"
done <"$work/expected"
