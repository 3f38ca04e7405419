# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034

# Read by tests/run.sh ('.' in POSIX sh) after cmake/setup.sh, in the repository's root: finds or brings the CUDA
# toolkit, builds vgpu (it interprets device code on the CPU) where its sources lie beside the repository, and looks for
# a GPU.

tally_vgpu_sources=../shared/vgpu

# tally_find_nvcc: sets tally_nvcc (empty: none), tally_cuda_release and tally_cuda_root. A toolkit that an earlier
# tally_fetch_cuda brought is the last one looked at.
tally_find_nvcc() {
    tally_nvcc=
    for tally_candidate in "${CUDACXX-}" "$(command -v nvcc || true)" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" \
        "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" /usr/local/cuda/bin/nvcc "$PWD/build/cuda-toolkit/bin/nvcc"; do
        # CUDACXX may be a bare name.
        if tally_candidate=$(command -v "${tally_candidate:-/nonexistent}"); then
            tally_use_nvcc "$tally_candidate" && return
        fi
    done
}

# tally_find_recent_nvcc: as tally_find_nvcc; returns 1 where there is none of CUDA 13 or later.
tally_find_recent_nvcc() {
    tally_find_nvcc
    case ${tally_nvcc:+$tally_cuda_release} in
    '' | [1-9].* | 1[0-2].*) return 1 ;;
    esac
}

# tally_use_nvcc NVCC: as tally_find_nvcc, for this one; returns 1 where it does not say what it is.
tally_use_nvcc() {
    tally_cuda_release=$("$1" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    [ -n "$tally_cuda_release" ] || return 1
    tally_nvcc=$1
    # nvcc may be a link or a wrapper: it alone knows where its headers are.
    mkdir -p build
    : >build/probe.cu
    tally_cuda_root=$("$1" --dryrun -c build/probe.cu -o build/probe.o 2>&1 | sed -n 's/^#\$ TOP=//p')
    tally_cuda_root=$(CDPATH='' cd -- "$tally_cuda_root" && pwd -P) || return 1
}

# tally_fetch_cuda LOG: brings the pinned toolkit and NCCL as wheels into build/cuda-toolkit, once, and uses it.
tally_fetch_cuda() {
    tally_prefix=build/cuda-toolkit
    if ! cmp -s cmake/cuda_wheels.txt "$tally_prefix/installed.txt"; then
        python3 -m pip --version >/dev/null 2>&1 || tally_install "$1" python3-pip || return 1
        echo 'installing: the CUDA toolkit and NCCL from wheels into build/cuda-toolkit'
        rm -rf "$tally_prefix" build/cuda-toolkit-wheels
        if ! python3 -m pip --disable-pip-version-check --no-input install --quiet --no-deps --no-compile \
            --only-binary :all: --target build/cuda-toolkit-wheels --requirement cmake/cuda_wheels.txt \
            >>"$1" 2>&1 </dev/null; then
            echo "could not install the wheels named in cmake/cuda_wheels.txt (log: $1)"
            return 1
        fi
        # The wheels hold the files of a toolkit, but for the links that compilers and CMake look for.
        mv build/cuda-toolkit-wheels/nvidia/cu13 "$tally_prefix"
        mv build/cuda-toolkit-wheels/nvidia/nccl/include/nccl*.h "$tally_prefix/include/"
        mv build/cuda-toolkit-wheels/nvidia/nccl/lib/libnccl.so.2 "$tally_prefix/lib/"
        ln -s libcudart.so.13 "$tally_prefix/lib/libcudart.so"
        ln -s libnccl.so.2 "$tally_prefix/lib/libnccl.so"
        ln -s lib "$tally_prefix/lib64"
        rm -rf build/cuda-toolkit-wheels
        cp cmake/cuda_wheels.txt "$tally_prefix/installed.txt"
    fi
    tally_use_nvcc "$PWD/$tally_prefix/bin/nvcc" || {
        echo "build/cuda-toolkit holds no nvcc that runs (remove the folder to have it made anew)"
        return 1
    }
}

# tally_build_vgpu LOG: builds or updates build/vgpu. On success tally_vgpu names its folder of libraries; where that
# can't be, tally_vgpu is empty and tally_vgpu_why says why; returns 1 only if it was meant to build and did not.
tally_build_vgpu() {
    tally_vgpu=
    if [ ! -f "$tally_vgpu_sources/CMakeLists.txt" ]; then
        tally_vgpu_why='no vgpu beside the repository'
        return 0
    fi
    tally_nccl_include=
    for tally_candidate in "$tally_cuda_root/include" /usr/include /usr/local/include; do
        [ ! -f "$tally_candidate/nccl.h" ] || tally_nccl_include=$tally_candidate
    done
    if [ -z "$tally_nccl_include" ]; then
        tally_vgpu_why='vgpu needs nccl.h, which comes with NCCL'
        return 0
    fi
    if ! tally_install "$1" liblz4-dev libzstd-dev; then
        tally_vgpu_why='vgpu needs liblz4-dev and libzstd-dev'
        return 0
    fi
    # vgpu is compiled for the processor at hand and with the functions of the toolkit at hand.
    tally_stamp="$tally_cuda_root $tally_cuda_release $(cd "$tally_vgpu_sources" && pwd -P)
$(sed -n '/^model name/p;/^flags/p' /proc/cpuinfo | sort -u)"
    if [ -f build/vgpu/made-for.txt ] && [ "$tally_stamp" != "$(cat build/vgpu/made-for.txt)" ]; then
        rm -rf build/vgpu
    fi
    [ -f build/vgpu/lib/libcudart.so.13 ] || echo 'building: vgpu, about two minutes, once'
    mkdir -p build/vgpu/include
    if ! tally_make_vgpu >build/vgpu.log 2>&1 </dev/null; then
        tally_vgpu_why='vgpu does not build (build/vgpu.log)'
        return 1
    fi
    printf '%s\n' "$tally_stamp" >build/vgpu/made-for.txt
    tally_vgpu=$PWD/build/vgpu/lib
}

tally_make_vgpu() {
    cmake -S "$tally_vgpu_sources" -B build/vgpu -G Ninja "-DCUDAToolkit_ROOT=$tally_cuda_root" \
        "-DVGPU_NCCL_INCLUDE=$tally_nccl_include" &&
        cmake --build build/vgpu --parallel "$(tally_jobs)" &&
        cmake -E copy_if_different "$tally_vgpu_sources/src/vgpu.h" build/vgpu/include/
}

# tally_gpu: prints the name of the first GPU; returns 1 where there is none.
tally_gpu() {
    nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null </dev/null | sed -n 1p | grep .
}
