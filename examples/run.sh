#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Builds the examples into build/examples and runs the main one, examples/digits, with the arguments given. Without one
# that names a folder it logs to build/digits-log; the last two lines say where the log is and how to look at it.
# Installs what is missing (Debian, Ubuntu). Says nothing of its own where all goes well, but for a line on a terminal
# before the first build, which takes a while.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
mkdir -p "$root/build"
. "$root/cmake/setup.sh"
. "$root/cmake/cuda.sh"

# What goes wrong here goes to stderr; stdout belongs to the example. So does the caller's folder, for its arguments.
(
    cd "$root"
    tally_require build/setup.log g++ cmake ninja-build libcli11-dev libdlpack-dev
    # With a GPU and a recent nvcc the metrics run on the GPU; where that does not work, on the host as everywhere else.
    if ! tally_gpu >/dev/null || ! tally_find_recent_nvcc ||
        ! CUDACXX=$tally_nvcc tally_configure build/examples-cuda-configure.log examples -DTALLY_ENABLE_CUDA=ON \
            -DCMAKE_CUDA_ARCHITECTURES=native; then
        if ! tally_configure build/examples-configure.log examples -DTALLY_ENABLE_CUDA=OFF; then
            cat build/examples-configure.log
            exit 1
        fi
    fi
    if [ -t 2 ] && [ ! -x build/examples/examples/digits ]; then
        echo 'building the examples, about a minute; the log is build/examples-build.log'
    fi
    if ! cmake --build --preset examples --target digits --parallel "$(tally_jobs)" >build/examples-build.log 2>&1 </dev/null; then
        tail -n 60 build/examples-build.log
        exit 1
    fi
) >&2

case " $* " in
*' --log'* | *' --output'* | *' --resume'* | *' --help '* | *' -h '*) ;;
*) set -- "$@" --log "$root/build/digits-log" ;;
esac
exec "$root/build/examples/examples/digits" "$@"
