#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: check.sh find_package|fetch_content CMAKE SOURCE_DIR BUILD_DIR GENERATOR COMPILER
# Builds and runs the program in consumer/, with tally found in the named way.
set -eu

way=$1 cmake=$2 source_dir=$3 build_dir=$4 generator=$5 compiler=$6

work=$build_dir/package/$way
rm -rf "$work"
mkdir -p "$work"

case $way in
find_package)
    "$cmake" --install "$build_dir" --prefix "$work/prefix" >"$work/install.log"
    set -- "-DCMAKE_PREFIX_PATH=$work/prefix"
    ;;
fetch_content)
    set -- "-DTALLY_SOURCE_DIR=$source_dir"
    ;;
*)
    echo "unknown way: $way"
    exit 1
    ;;
esac

"$cmake" -S "$source_dir/tests/package/consumer" -B "$work/build" -G "$generator" "-DCMAKE_CXX_COMPILER=$compiler" "$@"
"$cmake" --build "$work/build"
"$work/build/consumer"
if [ -x "$work/build/consumer_mpi" ]; then
    "$work/build/consumer_mpi" # a job of one process needs no launcher
fi
