#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the same work with torchmetrics and with tally on this machine's CPU, with 1 and 2 threads, and prints both side
# by side with their ratio.
#
#     sh bench/peers/run.sh [build_folder]        # build_folder: default `build` in the repository
#
# Reads tally's side from <build_folder>/bench/bench/host_update when that is built. Writes to
# <build_folder>/peers-venv (about 1.4 GB, made on the first run), <build_folder>/peers (results) and
# <build_folder>/peers-venv.log. Needs python3, a C compiler and readelf.
set -eu

torch_version=2.15.0
torchmetrics_version=1.9.0

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "${1:-$root/build}"
build=$(cd "${1:-$root/build}" && pwd)
venv=$build/peers-venv
log=$build/peers-venv.log
results=$build/peers
host_update=$build/bench/bench/host_update
peer=$here/peer_torchmetrics.py
wanted="torch $torch_version torchmetrics $torchmetrics_version"
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 CUDA_VISIBLE_DEVICES=

say() { echo "peers: $*" >&2; }
fail() {
    say "$*"
    exit 1
}

need_free_mb() {
    free=$(df -Pk "$build" | awk 'NR == 2 { print int($4 / 1024) }')
    [ "$free" -ge "$1" ] || fail "$2 needs $1 MB free under $build, there are $free MB"
}

make_venv() {
    rm -rf "$venv"
    if ! python3 -c 'import ensurepip, venv' 2>>"$log"; then
        say "installing python3-venv"
        { apt-get update && apt-get install -y --no-install-recommends python3-venv; } >>"$log" 2>&1 ||
            fail "python3 has no venv module and python3-venv can't be installed, see $log"
    fi
    python3 -m venv "$venv" >>"$log" 2>&1 || fail "python3 -m venv failed, see $log"
}

pip_install() { "$venv/bin/python" -m pip install --quiet --no-cache-dir "$@" >>"$log" 2>&1; }

imports() { "$venv/bin/python" "$peer" --version >>"$log" 2>&1; }

# torch's wheel for Linux on x86-64 links to gigabytes of CUDA libraries that no CPU path calls. This takes the wheel,
# its pure Python dependencies and the small CUDA runtime (whose functions torch calls while it loads), and puts an
# empty library in the place of each of the others. peer_torchmetrics.py binds lazily, so only data symbols must exist.
install_small() {
    pip_install --no-deps "torch==$torch_version" "torchmetrics==$torchmetrics_version" || return 1
    pip_install filelock 'typing-extensions>=4.13' 'sympy>=1.13.3' 'networkx>=2.5.1' jinja2 'fsspec>=0.8.5' numpy \
        packaging 'lightning-utilities>=0.15.3' || return 1
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    toolkit=$(sed -n 's/^Requires-Dist: cuda-toolkit\[.*\]==\([0-9.]*\).*/\1/p' "$site"/torch-*.dist-info/METADATA)
    [ -n "$toolkit" ] && pip_install "cuda-toolkit[cudart]==$toolkit" || return 1
    for runtime in "$site"/nvidia/*/lib/libcudart.so.*; do
        ln -s "$runtime" "$site/torch/lib/" || return 1
    done
    echo 'NVSHMEM { global: *; };' >"$venv/nvshmem.map"
    readelf -d "$site"/torch/lib/lib*.so >"$venv/needed.txt" || return 1
    for library in $(sed -n 's/.*(NEEDED).*\[\(lib\(cu\|nv\|nccl\).*\)\]/\1/p' "$venv/needed.txt" | sort -u); do
        [ ! -e "$site/torch/lib/$library" ] || continue
        case $library in
        libnvshmem_host.*)
            echo 'void* nvshmem_selected_device_transport;' | ${CC:-cc} -shared -fPIC -x c - "-Wl,-soname,$library" \
                "-Wl,--version-script=$venv/nvshmem.map" -o "$site/torch/lib/$library" ;;
        *) ${CC:-cc} -shared -fPIC -x c /dev/null "-Wl,-soname,$library" -o "$site/torch/lib/$library" ;;
        esac >>"$log" 2>&1 || return 1
    done
    imports
}

install_full() { pip_install "torch==$torch_version" "torchmetrics==$torchmetrics_version" && imports; }

set_up() {
    : >"$log"
    need_free_mb 3000 "torch without its CUDA libraries"
    say "setting torch $torch_version and torchmetrics $torchmetrics_version up in $venv (log: $log)"
    make_venv
    install_small && return
    need_free_mb 12000 "torch without its CUDA libraries could not be set up (see $log), and torch with them"
    say "torch does not import without its CUDA libraries (see $log), installing it with them: several GB"
    make_venv
    install_full || fail "torch and torchmetrics can't be set up here, see $log"
}

command -v python3 >/dev/null || fail "python3 is missing"
if [ "$(cat "$venv/complete" 2>/dev/null)" != "$wanted" ]; then
    set_up
    echo "$wanted" >"$venv/complete"
fi

# Read before anything runs: on a busy machine two threads wait for each other, and the figures say little.
load=$(cut -d ' ' -f 1 /proc/loadavg)
status=0
mkdir -p "$results"
rm -f "$results/torchmetrics.jsonl" "$results/tally.json"
say "running torchmetrics (about a minute)"
"$venv/bin/python" "$peer" --threads 1 2 >"$results/torchmetrics.jsonl" 2>"$results/torchmetrics.log" ||
    { status=1 && say "torchmetrics' side failed, see $results/torchmetrics.log"; }
if [ -x "$host_update" ]; then
    say "running tally"
    "$host_update" --benchmark_filter=^peer/ --benchmark_repetitions=5 --benchmark_format=json \
        >"$results/tally.json" 2>"$results/tally.log" ||
        { status=1 && say "tally's side failed, see $results/tally.log"; }
else
    say "tally's side is not built: $host_update is missing"
fi

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
echo "$(date -u +%Y-%m-%d), $processor, $(nproc) cores, load average $load before"
"$venv/bin/python" "$peer" --version
"$venv/bin/python" "$here/compare.py" "$results/torchmetrics.jsonl" "$results/tally.json" || status=1
exit $status
