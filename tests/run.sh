#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: sh tests/run.sh [--quick] [--with-cuda]
# Installs what is missing (Debian, Ubuntu), then builds and tests in stages, one line each:
#   host   the default compiler, optimised
#   asan   the same under AddressSanitizer and UndefinedBehaviorSanitizer, without the tests labelled slow
#   clang  the second compiler
#   fuzz   the fuzzers, 60 seconds in all
#   cuda   the headers read by nvcc, where there is one
# --quick runs the first stage alone. The last line is "N passed, N failed"; the exit code is 1 if any failed.
set -eu

quick=no
for argument; do
    case $argument in
    --quick) quick=yes ;;
    -h | --help)
        sed -n '/^# Usage/,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --with-cuda) echo 'note: --with-cuda: there are no tests that run on a device yet' ;;
    *)
        echo "tests/run.sh: unknown argument: $argument" >&2
        sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
        exit 2
        ;;
    esac
done

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
mkdir -p build
. cmake/setup.sh
setup_log=build/setup.log
: >"$setup_log"

passed=0
failed=0
fuzz_seconds=60

now() { date +%s; }

# report STAGE PASSED FAILED WHAT: the stage's line. `started` is when it began.
report() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    printf '%-6s %6d passed %4d failed %5d s  %s\n' "$1" "$2" "$3" "$(($(now) - started))" "$4"
}

skip() { printf '%-6s skipped: %s\n' "$1" "$2"; }

# count FILE: "PASSED FAILED" of a JUnit file of ctest's. A doctest program counts with its cases, all else as one.
count() {
    awk '
    function close_test(    bad) {
        if (name == "") return
        bad = (status == "fail")
        if (cases != "") {
            split(cases, part, "|")
            passed += part[2] + 0
            failed += part[3] + 0
            if (bad && part[3] + 0 == 0) failed++
        } else if (bad) failed++
        else if (status == "run") passed++
        name = ""
    }
    /<testcase / {
        close_test()
        name = status = $0
        cases = ""
        sub(/.* status="/, "", status)
        sub(/".*/, "", status)
    }
    /\[doctest\] test cases:/ { cases = $0; sub(/.*test cases:/, "", cases) }
    END { close_test(); print passed + 0, failed + 0 }
    ' "$1"
}

# build STAGE PRESET [CMAKE-ARGUMENT...]: configures and builds, or reports a failed stage and returns 1.
build() {
    stage=$1 preset=$2
    shift 2
    if ! tally_configure "build/$preset-configure.log" "$preset" "$@"; then
        report "$stage" 0 1 'does not configure:'
        sed 's/^/    /' "build/$preset-configure.log"
        return 1
    fi
    sed -n "s/^-- tally: skipped /$stage   skipped: /p" "build/$preset-configure.log"
    if ! cmake --build --preset "$preset" --parallel "$jobs" >"build/$preset-build.log" 2>&1 </dev/null; then
        report "$stage" 0 1 "does not build (build/$preset-build.log):"
        tail -n 60 "build/$preset-build.log" | sed 's/^/    /'
        return 1
    fi
}

# run_tests STAGE PRESET WHAT: runs the preset's tests and reports them.
run_tests() {
    junit=$root/build/$2-tests.xml
    rm -f "$junit"
    code=0
    ctest --preset "$2" --parallel "$jobs" --output-junit "$junit" --test-output-size-passed 65536 \
        --test-output-size-failed 65536 >"build/$2-tests.log" 2>&1 </dev/null || code=$?
    counts='0 0'
    [ ! -f "$junit" ] || counts=$(count "$junit")
    # ctest has the last word: what it calls a failure is one, even if no test could be counted.
    if [ "$code" -ne 0 ] && [ "${counts#* }" -eq 0 ]; then
        counts="${counts% *} 1"
    fi
    report "$1" "${counts% *}" "${counts#* }" "$3"
    if [ "${counts#* }" -ne 0 ]; then
        grep -v -E ' Passed |^ *Start +[0-9]+:' "build/$2-tests.log" | sed 's/^/    /'
    fi
}

# version COMPILER: its name and version in a few words.
version() { printf '%s %s' "$(basename "$1")" "$("$1" -dumpfullversion -dumpversion)"; }

# find_clang: names the clang++ to use; version 14 where there is a choice, since that is the oldest one supported.
find_clang() {
    if command -v clang++-14 >/dev/null; then
        clang='clang++-14'
    elif command -v clang++ >/dev/null; then
        clang='clang++'
    else
        clang=
    fi
}

# clang_can FLAG...: clang++ compiles and links with these flags a fuzzer, or with -DTALLY_PROBE_MAIN an OpenMP program.
clang_can() {
    cat >build/probe.cpp <<'END'
#ifdef TALLY_PROBE_MAIN
#include <omp.h>
int main() { return omp_get_max_threads() < 1; }
#else
#include <cstddef>
extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, std::size_t) { return 0; }
#endif
END
    "$clang" "$@" build/probe.cpp -o build/probe >>"$setup_log" 2>&1
}

# fuzz_all: shares the time out among the fuzzers. What a fuzzer finds stays in build/fuzz/found, to be run again.
fuzz_all() {
    set -- tests/fuzz/*.cpp
    share=$((fuzz_seconds / $#))
    [ "$share" -ge 5 ] || share=5
    fine=0 runs=0 broken=
    mkdir -p build/fuzz/found
    for source; do
        name=$(basename "$source" .cpp)
        mkdir -p "build/fuzz/corpus/$name"
        log=build/fuzz-$name.log
        # Inputs found in earlier runs start the next one; tests/fuzz/corpus/NAME, where there is one, is only read.
        corpus=tests/fuzz/corpus/$name
        [ -d "$corpus" ] || corpus=build/fuzz/corpus/$name
        if "build/fuzz/tests/fuzz/fuzz_$name" -max_total_time="$share" -timeout=20 -rss_limit_mb=2048 \
            -artifact_prefix="build/fuzz/found/$name-" "build/fuzz/corpus/$name" "$corpus" >"$log" 2>&1 </dev/null; then
            fine=$((fine + 1))
            runs=$((runs + $(sed -n 's/^Done \([0-9]*\) runs in .*/\1/p' "$log")))
        else
            broken="$broken $name"
        fi
    done
    report fuzz "$fine" "$(($# - fine))" "fuzzers: $#, $share s each, $runs inputs"
    for name in $broken; do
        echo "    $name:"
        tail -n 40 "build/fuzz-$name.log" | sed 's/^/    /'
    done
}

tally_require "$setup_log" g++ cmake ninja-build doctest-dev libdlpack-dev libcli11-dev || {
    echo '0 passed, 1 failed'
    exit 1
}
jobs=$(tally_jobs)

started=$(now)
if build host host; then
    run_tests host host "$(version "${CXX:-g++}"), optimised"
fi

if [ "$quick" = no ]; then
    find_clang
    if [ -z "$clang" ]; then
        tally_install "$setup_log" clang || true
        find_clang
    fi
    # clang compiles sanitized code several times faster than g++ does.
    sanitized=${CXX:-g++}
    if [ -n "$clang" ]; then
        clang_major=$("$clang" -dumpversion | sed 's/\..*//')
        fuzz_flags=-fsanitize=fuzzer,address,undefined
        if ! clang_can "$fuzz_flags"; then
            tally_install "$setup_log" "libclang-rt-$clang_major-dev" || true
        fi
        if ! clang_can -fopenmp -DTALLY_PROBE_MAIN; then
            tally_install "$setup_log" "libomp-$clang_major-dev" || true
        fi
        if clang_can "$fuzz_flags"; then
            sanitized=$clang
        fi
    fi

    started=$(now)
    if build asan asan "-DCMAKE_CXX_COMPILER=$sanitized"; then
        run_tests asan asan "$(version "$sanitized"), address and undefined-behaviour sanitizers; not: tests labelled slow or static"
    fi

    started=$(now)
    if [ -z "$clang" ]; then
        skip clang 'no clang++ here, and it could not be installed (apt-get install clang)'
        skip fuzz 'needs clang++'
    else
        if build clang clang "-DCMAKE_CXX_COMPILER=$clang"; then
            run_tests clang clang "$(version "$clang")"
        fi

        started=$(now)
        if [ -z "$(find tests/fuzz -name '*.cpp')" ]; then
            skip fuzz 'there is no fuzzer in tests/fuzz'
        elif ! clang_can "$fuzz_flags"; then
            skip fuzz "$clang has no fuzzer run-time (apt-get install libclang-rt-$clang_major-dev)"
        elif build fuzz fuzz "-DCMAKE_CXX_COMPILER=$clang"; then
            fuzz_all
        fi
    fi

    started=$(now)
    nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
    if [ ! -x "$nvcc" ]; then
        skip cuda 'no nvcc (install the CUDA toolkit, or name one in CUDACXX, to have the headers read by it)'
    elif CUDACXX=$nvcc build cuda cuda; then
        report cuda 1 0 "headers compile with nvcc $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
    fi
fi

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
