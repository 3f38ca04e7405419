#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: sh tests/run.sh [--quick] [--only STAGE] [--with-cuda]
# Installs what is missing (Debian, Ubuntu), then builds and tests in stages, one line each:
#   host   the default compiler, optimised; brings TensorBoard from wheels into build/tensorboard, to read our logs
#   asan   the same under AddressSanitizer and UndefinedBehaviorSanitizer, without the tests labelled slow
#   clang  the second compiler, optimised: every header alone and the tests of what it vectorises; asan runs the others
#   fuzz   the fuzzers, 60 seconds in all
#   cuda   the CUDA part compiled by nvcc, where there is one
#   device its tests, on vgpu where that lies beside the repository, on the GPU where there is one
# --quick runs the first stage alone; --only runs one (cuda and device are one). --with-cuda brings nvcc, the CUDA
# run-time and NCCL from wheels into build/cuda-toolkit (half a gigabyte) and uses them, as later runs do that find no
# other nvcc.
# The last line is "N passed, N failed"; the exit code is 1 if any failed.
set -eu

usage_error() {
    echo "tests/run.sh: $1" >&2
    sed -n 's/^# \(Usage: .*\)/\1/p' "$0" >&2
    exit 2
}

only=
with_cuda=no
while [ $# -gt 0 ]; do
    case $1 in
    --quick) only=host ;;
    --only)
        [ $# -gt 1 ] || usage_error '--only needs a stage'
        shift
        only=$1
        ;;
    --with-cuda) with_cuda=yes ;;
    -h | --help)
        sed -n '/^# Usage/,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) usage_error "unknown argument: $1" ;;
    esac
    shift
done
case $only in
'' | host | asan | clang | fuzz | cuda) ;;
device) only=cuda ;;
*) usage_error "unknown stage: $only" ;;
esac

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
cd "$root"
mkdir -p build
. cmake/setup.sh
. cmake/cuda.sh
. cmake/tensorboard.sh
setup_log=build/setup.log
: >"$setup_log"

passed=0
failed=0
fuzz_seconds=60

now() { date +%s; }

# wanted STAGE: it belongs to this run.
wanted() { [ -z "$only" ] || [ "$only" = "$1" ]; }

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

# run_tests STAGE PRESET WHAT [CTEST-ARGUMENT...]: runs the preset's tests and reports them.
run_tests() {
    stage=$1 preset=$2 what=$3
    shift 3
    junit=$root/build/$preset-tests.xml
    rm -f "$junit"
    code=0
    ctest --preset "$preset" --parallel "$jobs" --output-junit "$junit" --test-output-size-passed 65536 \
        --test-output-size-failed 65536 "$@" >"build/$preset-tests.log" 2>&1 </dev/null || code=$?
    counts='0 0'
    [ ! -f "$junit" ] || counts=$(count "$junit")
    # ctest has the last word: what it calls a failure is one, even if no test could be counted.
    if [ "$code" -ne 0 ] && [ "${counts#* }" -eq 0 ]; then
        counts="${counts% *} 1"
    fi
    report "$stage" "${counts% *}" "${counts#* }" "$what"
    if [ "${counts#* }" -ne 0 ]; then
        grep -v -E ' Passed |^ *Start +[0-9]+:' "build/$preset-tests.log" | sed 's/^/    /'
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

# prepare_clang: installs clang++ and its run-times where they are missing; `sanitized` is the compiler for sanitizers.
prepare_clang() {
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
}

# fuzz_stage: builds and runs the fuzzers, or says why not.
fuzz_stage() {
    if [ -z "$clang" ]; then
        skip fuzz 'needs clang++'
    elif [ -z "$(find tests/fuzz -name '*.cpp')" ]; then
        skip fuzz 'there is no fuzzer in tests/fuzz'
    elif ! clang_can "$fuzz_flags"; then
        skip fuzz "$clang has no fuzzer run-time (apt-get install libclang-rt-$clang_major-dev)"
    elif build fuzz fuzz "-DCMAKE_CXX_COMPILER=$clang"; then
        fuzz_all
    fi
}

# cuda_stage: the stages cuda and device.
cuda_stage() {
    if [ "$with_cuda" = yes ]; then
        tally_fetch_cuda "$setup_log" || {
            report cuda 0 1 'no CUDA toolkit'
            return
        }
    else
        tally_find_nvcc
    fi
    if [ -z "$tally_nvcc" ]; then
        skip cuda 'no nvcc: sh tests/run.sh --with-cuda brings it, or name one in CUDACXX'
        return
    fi
    case $tally_cuda_release in
    [1-9].* | 1[0-2].*)
        skip cuda "$tally_nvcc is of CUDA $tally_cuda_release, older than 13.0: sh tests/run.sh --with-cuda brings that"
        return
        ;;
    esac

    # CMake would keep the compiler it has seen first.
    if [ -d build/cuda ] && [ "$tally_nvcc" != "$(cat build/cuda/nvcc.txt 2>/dev/null)" ]; then
        rm -rf build/cuda
    fi
    mkdir -p build/cuda
    printf '%s\n' "$tally_nvcc" >build/cuda/nvcc.txt

    tally_build_vgpu "$setup_log" || report device 0 1 "$tally_vgpu_why"
    gpu=$(tally_gpu) || gpu=
    where=${tally_vgpu:+vgpu}
    [ -z "$gpu" ] || where="${where:+$where and }$gpu"

    CUDACXX=$tally_nvcc build cuda cuda "-DTALLY_VGPU_DIR=$tally_vgpu" "-DTALLY_TEST_GPU=${gpu:+ON}" || return 0
    report cuda 1 0 "nvcc $tally_cuda_release: the headers and the device tests compile"

    started=$(now)
    if [ -n "$where" ]; then
        run_tests device cuda "on $where"
    else
        skip device "no GPU (nvidia-smi), and ${tally_vgpu_why:-no vgpu}"
        if [ -f tests/cuda/shipped_kernels.cu ]; then
            run_tests cuda cuda 'registers of the shipped kernels' --tests-regex '^registers$'
        fi
    fi
}

tally_require "$setup_log" g++ cmake ninja-build doctest-dev libdlpack-dev libcli11-dev || {
    echo '0 passed, 1 failed'
    exit 1
}
if wanted host; then
    tally_install "$setup_log" libopenmpi-dev openmpi-bin libmpich-dev mpich >/dev/null || true # else skipped, with a reason
fi
jobs=$(tally_jobs)

if wanted host; then
    started=$(now)
    tally_fetch_tensorboard "$setup_log" || skip host "the tests with TensorBoard: $tally_tensorboard_why"
    if build host host; then
        run_tests host host "$(version "${CXX:-g++}"), optimised"
    fi
fi

if wanted asan || wanted clang || wanted fuzz; then
    prepare_clang
fi

if wanted asan; then
    started=$(now)
    if build asan asan "-DCMAKE_CXX_COMPILER=$sanitized"; then
        run_tests asan asan \
            "$(version "$sanitized"), address and undefined-behaviour sanitizers; not: tests labelled slow or static"
    fi
fi

if wanted clang; then
    started=$(now)
    if [ -z "$clang" ]; then
        skip clang 'no clang++ here, and it could not be installed (apt-get install clang)'
    elif build clang clang "-DCMAKE_CXX_COMPILER=$clang"; then
        run_tests clang clang "$(version "$clang")"
    fi
fi

if wanted fuzz; then
    started=$(now)
    fuzz_stage
fi

if wanted cuda; then
    started=$(now)
    cuda_stage
fi

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
