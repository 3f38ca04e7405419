#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: check_registers.sh NVCC REPOSITORY FOLDER [FILE]
# Compiles FILE (tests/cuda/shipped_kernels.cu) for the architectures below into FOLDER and prints a table of the
# registers of each kernel, in Markdown. Fails if a kernel spills registers or uses local memory.
set -eu

nvcc=$1 repository=$2 folder=$3
file=${4:-$repository/tests/cuda/shipped_kernels.cu}
architectures='75 80 90 100'

mkdir -p "$folder"
rm -f "$folder"/sm_*
# Two at once, each with a log of its own; what fails leaves no .ok behind.
# shellcheck disable=SC2016,SC2086
printf '%s\n' $architectures | xargs -P 2 -I '{}' sh -c '
    if "$1" -std=c++20 -O3 --expt-relaxed-constexpr -I"$2/include" -I"$2/tests" -cubin "-arch=sm_$5" -Xptxas -v \
        -o "$3/sm_$5.cubin" "$4" >"$3/sm_$5.log" 2>&1; then : >"$3/sm_$5.ok"; fi' \
    sh "$nvcc" "$repository" "$folder" "$file" '{}'

set --
for architecture in $architectures; do
    if [ ! -f "$folder/sm_$architecture.ok" ]; then
        echo "does not compile for sm_$architecture:"
        tail -n 40 "$folder/sm_$architecture.log"
        exit 1
    fi
    set -- "$@" "$folder/sm_$architecture.log"
done

# A metric's name is an array of numbers in the linker's names: turned back into its letters.
cat "$@" | c++filt | LC_ALL=C awk -v architectures="$architectures" '
function letters(text,    parts, n, i, out) {
    n = split(text, parts, ",")
    out = ""
    for (i = 1; i <= n; i++) {
        gsub(/[^-0-9]/, "", parts[i])
        if (parts[i] != 0) out = out sprintf("%c", (parts[i] + 256) % 256)
    }
    return "\"" out "\""
}

# The kernel without its parameters and return type, as short as it is unambiguous.
function short(name,    head, body, tail, depth, i, c) {
    gsub(/\(char\)/, "", name)
    while (match(name, /tally::fixed_string<[0-9]+ul>\{(char *\[[0-9]+\])?\{[^}]*\}\}/)) {
        head = substr(name, 1, RSTART - 1)
        body = substr(name, RSTART, RLENGTH)
        tail = substr(name, RSTART + RLENGTH)
        sub(/.*\{/, "", body)
        sub(/\}\}$/, "", body)
        name = head letters(body) tail
    }
    gsub(/\(anonymous namespace\)::/, "", name)
    depth = 0
    for (i = 1; i <= length(name); i++) {
        c = substr(name, i, 1)
        if (c == "<") depth++
        else if (c == ">") depth--
        else if (c == "(" && depth == 0) break
    }
    name = substr(name, 1, i - 1)
    sub(/^void /, "", name)
    gsub(/tally::/, "", name)
    gsub(/\|/, "\\|", name)
    return name
}

/Compiling entry function/ {
    kernel = $0
    sub(/.*Compiling entry function ./, "", kernel)
    architecture = kernel
    sub(/. for .sm_[0-9a-z]+.$/, "", kernel)
    sub(/.*sm_/, "", architecture)
    sub(/[^0-9].*/, "", architecture)
    kernel = short(kernel)
    if (!(kernel in seen)) { seen[kernel] = 1; order[++kernels] = kernel }
    function_name = kernel
}
/Function properties for/ { function_name = $0; sub(/.*Function properties for /, "", function_name) }
/bytes stack frame/ {
    if ($1 + 0 != 0 || !/ 0 bytes spill stores, 0 bytes spill loads/) {
        printf "sm_%s: %s: %s\n", architecture, short(function_name), $0
        faults++
    }
}
/Used [0-9]+ registers/ {
    used = $0
    sub(/.*Used /, "", used)
    registers[kernel, architecture] = used + 0
    if (/ bytes lmem/) { printf "sm_%s: %s: %s\n", architecture, kernel, $0; faults++ }
}
END {
    n = split(architectures, list, " ")
    printf "\n| kernel |"
    for (i = 1; i <= n; i++) printf " sm_%s |", list[i]
    printf "\n| --- |"
    for (i = 1; i <= n; i++) printf " ---: |"
    printf "\n"
    for (k = 1; k <= kernels; k++) {
        printf "| `%s` |", order[k]
        for (i = 1; i <= n; i++) {
            if ((order[k], list[i]) in registers) printf " %d |", registers[order[k], list[i]]
            else { printf " |"; missing++ }
        }
        printf "\n"
    }
    printf "\n%d kernels, %d with spills or local memory, %d not compiled\n", kernels, faults, missing
    exit kernels == 0 || faults > 0 || missing > 0
}'
