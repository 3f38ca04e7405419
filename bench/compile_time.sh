#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
#
# What does including a public header cost? Seconds to compile (-std=c++20 -O0 -c) a source file that holds nothing but
# the include, median of 3, slowest first; `(empty file)` is the compiler's own start.
#
#     sh bench/compile_time.sh [compiler]         # default g++
#
# Headers that need what is not given here (CUDA, NCCL, MPI, -fopenmp) are listed as skipped. A header that does not
# compile for any other reason is listed as failed, and the exit status is 1.
set -eu

compiler=${1:-g++}
runs=3

root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

command -v "$compiler" >/dev/null || {
    echo "compile_time: there is no compiler $compiler" >&2
    exit 1
}

compile() { "$compiler" -std=c++20 -O0 -I "$root/include" -c "$scratch/tu.cpp" -o "$scratch/tu.o" 2>"$scratch/errors"; }

# Median seconds of compiling $scratch/tu.cpp; the first run, which also warms the file cache, is not counted.
median_seconds() {
    compile || return 1
    for _ in $(seq "$runs"); do
        start=$(date +%s%N)
        compile
        stop=$(date +%s%N)
        echo "$((stop - start))"
    done | sort -n | awk '{ ns[NR] = $1 } END { printf "%.3f", ns[int((NR + 1) / 2)] / 1e9 }'
}

measure() {
    if seconds=$(median_seconds); then
        echo "$seconds $1" >>"$scratch/times"
        return
    fi
    reason=$(grep -m 1 'error:' "$scratch/errors" | sed "s|$root/||g")
    # Missing needs: a header that is not found and not ours (nccl.h), or our own #error that says what is needed.
    if echo "$reason" | grep -E 'No such file|file not found' | grep -vq "[ ']tally/" ||
        echo "$reason" | grep -Eq 'error: (#error )?"'; then
        echo "skipped $1: $reason" >>"$scratch/skipped"
    else
        echo "failed  $1: $reason" >>"$scratch/failed"
    fi
}

: >"$scratch/times"
: >"$scratch/skipped"
: >"$scratch/failed"

: >"$scratch/tu.cpp"
measure '(empty file)'
for header in $(cd "$root/include" && find tally -name '*.hpp' ! -path '*/detail/*' | LC_ALL=C sort); do
    echo "#include <$header>" >"$scratch/tu.cpp"
    measure "$header"
done

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
echo "$(date -u +%Y-%m-%d), $processor, $("$compiler" --version | head -1)"
echo "seconds  header"
sort -k 1,1nr -k 2 "$scratch/times" | awk '{ seconds = $1; sub(/^[^ ]* /, ""); printf "%7s  %s\n", seconds, $0 }'
cat "$scratch/skipped" "$scratch/failed"
[ ! -s "$scratch/failed" ]
