# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034

# Read by tests/run.sh ('.' in POSIX sh) after cmake/setup.sh, in the repository's root: brings TensorBoard for the tests
# that read our logs with its loaders.

# tally_fetch_tensorboard LOG: makes build/tensorboard, an environment of Python with the pinned packages, unless it is
# there. On failure tally_tensorboard_why says why, nothing is left, and it returns 1.
tally_fetch_tensorboard() {
    tally_prefix=build/tensorboard
    # An environment stops working when the system's Python changes.
    if cmp -s cmake/tensorboard_wheels.txt "$tally_prefix/installed.txt" &&
        "$tally_prefix/bin/python" -c 'import tensorboard' >>"$1" 2>&1; then
        return 0
    fi
    rm -rf "$tally_prefix"
    if ! python3 -c 'import ensurepip, venv' >>"$1" 2>&1 && ! tally_install "$1" python3-venv; then
        tally_tensorboard_why='there is no python3 with venv (Debian: python3-venv)'
        return 1
    fi
    echo 'installing: TensorBoard from wheels into build/tensorboard'
    if ! python3 -m venv "$tally_prefix" >>"$1" 2>&1; then
        tally_tensorboard_why="python3 -m venv failed (log: $1)"
    elif ! "$tally_prefix/bin/python" -m pip --disable-pip-version-check --no-input install --quiet --no-deps \
        --only-binary :all: --retries 1 --timeout 20 --requirement cmake/tensorboard_wheels.txt >>"$1" 2>&1 </dev/null; then
        tally_tensorboard_why="pip could not install what cmake/tensorboard_wheels.txt names (log: $1)"
    elif ! "$tally_prefix/bin/python" -c 'import tensorboard' >>"$1" 2>&1; then
        tally_tensorboard_why="what was installed can't be imported (log: $1)"
    else
        cp cmake/tensorboard_wheels.txt "$tally_prefix/installed.txt"
        return 0
    fi
    rm -rf "$tally_prefix"
    return 1
}
