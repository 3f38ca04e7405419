# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh

# Read by tests/run.sh and examples/run.sh ('.' in POSIX sh): installs what is missing on Debian and Ubuntu, and asks
# apt-get for nothing where all is there, so that a machine without a network can build as well.

# tally_has_header NAME: one of the system's include folders has it.
tally_has_header() { [ -f "/usr/include/$1" ] || [ -f "/usr/local/include/$1" ]; }

# tally_has_package PACKAGE: what we use of the package is there, whether or not it came as that package.
tally_has_package() {
    case $1 in
    g++ | cmake) command -v "$1" >/dev/null ;;
    ninja-build) command -v ninja >/dev/null ;;
    doctest-dev) tally_has_header doctest/doctest.h ;;
    libdlpack-dev) tally_has_header dlpack/dlpack.h ;;
    libcli11-dev) tally_has_header CLI/CLI.hpp ;;
    *) [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = 'install ok installed' ] ;;
    esac
}

# tally_install LOG PACKAGE...: installs those that are missing. On failure says why in one line, and returns 1.
tally_install() {
    tally_log=$1
    shift
    tally_missing=
    for tally_package; do
        tally_has_package "$tally_package" || tally_missing="$tally_missing $tally_package"
    done
    [ -n "$tally_missing" ] || return 0

    if ! command -v apt-get >/dev/null; then
        echo "missing:$tally_missing (Debian's names; this system has no apt-get, install them by hand)"
        return 1
    fi
    tally_root=
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "missing:$tally_missing (neither root nor sudo here; as root: apt-get install$tally_missing)"
            return 1
        fi
        tally_root=sudo
        [ -t 0 ] || tally_root='sudo -n'
    fi

    echo "installing:$tally_missing"
    tally_apt="$tally_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300
        -o Acquire::Retries=2 -o Acquire::http::Timeout=30"
    # The list of packages is refreshed once a run; a source of packages that fails need not be the one we use.
    if [ -z "${tally_updated-}" ]; then
        tally_updated=yes
        $tally_apt update >>"$tally_log" 2>&1 </dev/null || true
    fi
    # shellcheck disable=SC2086
    if ! $tally_apt install --no-install-recommends $tally_missing >>"$tally_log" 2>&1 </dev/null; then
        echo "could not install$tally_missing: $(grep '^E: ' "$tally_log" | tail -n 1) (log: $tally_log)"
        return 1
    fi
}

# tally_require LOG PACKAGE...: as tally_install, but what fails ends the script with the end of the log.
tally_require() {
    if ! tally_install "$@"; then
        if [ -s "$1" ]; then
            tail -n 20 "$1"
        fi
        echo 'Set-up failed. With a network and root (or sudo) this script installs the packages named above itself;'
        echo 'otherwise install them and run it again.'
        return 1
    fi
    tally_version=$(cmake --version | sed -n '1s/.* //p')
    case $tally_version in
    [012].* | 3.[0-9].* | 3.1[0-9].* | 3.2[0-4].*)
        echo "CMake $tally_version is too old: tally needs 3.25 (Debian 12, Ubuntu 24.04, or a newer one by hand)."
        return 1
        ;;
    esac
}

# tally_jobs: how many compilers at once; each may take 1.5 GB.
tally_jobs() {
    if [ -n "${CMAKE_BUILD_PARALLEL_LEVEL-}" ]; then
        echo "$CMAKE_BUILD_PARALLEL_LEVEL"
        return
    fi
    tally_cores=$(nproc)
    tally_fit=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
    [ "${tally_fit:-1}" -ge 1 ] || tally_fit=1
    if [ "$tally_fit" -lt "$tally_cores" ]; then echo "$tally_fit"; else echo "$tally_cores"; fi
}

# tally_configure LOG PRESET [CMAKE-ARGUMENT...]: a build folder that another compiler, generator or place of the
# repository left behind is made anew.
tally_configure() {
    tally_log=$1
    shift
    cmake --preset "$@" >"$tally_log" 2>&1 </dev/null || cmake --fresh --preset "$@" >"$tally_log" 2>&1 </dev/null
}
