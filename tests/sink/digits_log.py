# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the logs of the main example with the loaders of the real TensorBoard: digits_log.py DIGITS FOLDER

Three runs: in one go, resumed from older and newer checkpoints, and killed while it trained, then resumed. Exit status 77, with a
reason, where TensorBoard is not installed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import real_tensorboard as reader
from real_tensorboard import check

BATCHES = 23  # of 64 samples, from 1438
LAYERS = {"hidden/weights": 64 * 32, "hidden/bias": 32, "output/weights": 32 * 10, "output/bias": 10}
GRADIENTS = "gradients_averaged"


def digits(program, *options):
    subprocess.run([program, *options], check=True, stdout=subprocess.DEVNULL)


def newest_step(path):
    """Of the whole lines."""
    with open(path, encoding="utf-8") as lines:
        steps = [json.loads(line)["step"] for line in lines if line.endswith("\n")]
    return max(steps, default=0)


def killed_run(program, log, run):
    """A run that SIGKILL ends somewhere behind its third epoch; returns the last step of its log."""
    exact = os.path.join(run, "metrics.jsonl")
    with subprocess.Popen([program, "--epochs", "100000", "--log", log], stdout=subprocess.DEVNULL) as training:
        for _ in range(6000):
            if os.path.exists(exact) and newest_step(exact) >= 3:
                break
            time.sleep(0.01)
        training.send_signal(signal.SIGKILL)
    check(training.returncode == -signal.SIGKILL, "the run was killed while it trained")
    return newest_step(exact)


def steps_of(values):
    return {step for tags in values.values() for points in tags.values() for step in points}


def check_counts(name, values, last):
    """Every element of every gradient of an epoch is in its histogram, and in that of logarithms if it isn't tiny."""
    for layer, size in LAYERS.items():
        seen = size * BATCHES
        for step in range(1, last + 1):
            scalars = {tag: points[step] for tag, points in values["scalars"].items()}
            check(scalars[f"{GRADIENTS}/steps_observed"] == BATCHES, f"{name}: steps observed in {step}")
            unusual = scalars[f"{GRADIENTS}_nan/{layer}"] + scalars[f"{GRADIENTS}_infinite/{layer}"]
            rows = values["histograms"][f"{GRADIENTS}_histogram/{layer}"][step]
            check(sum(row[2] for row in rows) + unusual == seen, f"{name}: histogram of {layer} in {step}")
            tiny = sum(count for left, right, count in rows if max(-left, right) <= 2.0**-48)
            zeros = round(scalars[f"{GRADIENTS}_zero_share/{layer}"] * seen)
            check(zeros <= tiny, f"{name}: zeros of {layer} in {step}")
            rows = values["histograms"][f"{GRADIENTS}_log2_histogram/{layer}"][step]
            check(sum(row[2] for row in rows) + tiny + unusual == seen, f"{name}: log2 of {layer} in {step}")


def main():
    program, log = sys.argv[1], os.path.join(sys.argv[2], "log")
    shutil.rmtree(log, ignore_errors=True)
    names = ["run-1", "run-2", "run-3"]
    folders = [os.path.join(log, name) for name in names]
    digits(program, "--epochs", "6", "--log", log)
    digits(program, "--epochs", "3", "--log", log)
    checkpoint = os.path.join(folders[1], "checkpoint")
    shutil.copy(checkpoint, checkpoint + "-3")
    digits(program, "--epochs", "5", "--resume", folders[1])
    os.replace(checkpoint + "-3", checkpoint)  # as if the log were ahead of it by two epochs
    digits(program, "--epochs", "6", "--resume", folders[1])
    killed_at = killed_run(program, log, folders[2])
    last = [6, 6, killed_at + 2]
    digits(program, "--epochs", str(last[2]), "--resume", folders[2])

    runs = {name: reader.expected(os.path.join(folder, "metrics.jsonl")) for name, folder in zip(names, folders)}
    for name, end in zip(names, last):
        check(steps_of(runs[name]) == set(range(1, end + 1)), f"{name}: steps {sorted(steps_of(runs[name]))}")
        for plugin in ("scalars", "histograms", "text"):
            check(len(runs[name][plugin]) > 0, f"{name} has {plugin}")
            check(runs[name][plugin].keys() == runs["run-1"][plugin].keys(), f"{name}: tags of {plugin}")
        check_counts(name, runs[name], end)
    check(runs["run-2"] == runs["run-1"], "a run that was resumed has the values of one that was not")
    for plugin, tags in runs["run-3"].items():
        for tag, points in tags.items():
            for step in set(points) & set(range(1, 7)):
                check(points[step] == runs["run-1"][plugin][tag][step], f"run-3: {tag} in {step}")

    reader.check_bytes(log, "_histogram/")
    reader.check_provider("python", reader.python_reader(log), set(names), runs)
    served = reader.data_server(log, dict(zip(names, last)))
    if served is not None:
        reader.check_provider("data server", served, set(names), runs)
    print(f"TensorBoard {reader.tensorboard.__version__}: {reader.checks} checks passed; killed in epoch {killed_at + 1}")


if __name__ == "__main__":
    main()
