# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0
"""torchmetrics' side of the comparison: the work of bench/host_update's `peer/...` benchmarks, on the CPU.

Prints one JSON object a line, {"work": ..., "size": ..., "threads": ..., "ns": ...}, where ns is the median time of one
update. Only updates are timed: no compute(), no reset(), no making of inputs. Use run.sh to set the environment up.
"""

import argparse
import gc
import json
import math
import os
import statistics
import sys
import time

# The environment that run.sh makes has placeholders for the CUDA libraries that torch links to and no CPU path calls.
# Python binds every symbol when it loads an extension; bound lazily, the ones that are never called are never missed.
sys.setdlopenflags(os.RTLD_LAZY)

import torch
import torchmetrics
from torchmetrics.classification import MulticlassAccuracy, MulticlassCalibrationError, MulticlassConfusionMatrix

SEED = 20260101
WARM_UP_UPDATES = 3
LEAST_REPETITIONS = 7
MOST_REPETITIONS = 1000
TOP_K = 5
BINS = 15
PAIRS = 2**20
SCORE_MATRICES = ((8192, 10, True), (8192, 1000, True), (64, 50000, False))  # rows, classes, with a confusion matrix


def median_update_ns(update, reset, seconds):
    """Median time of update() in nanoseconds, over `seconds` of updates; reset() runs between them, untimed."""
    for _ in range(WARM_UP_UPDATES):
        update()
        reset()
    samples = []
    gc.disable()
    while len(samples) < LEAST_REPETITIONS or (sum(samples) < seconds * 1e9 and len(samples) < MOST_REPETITIONS):
        start = time.perf_counter_ns()
        update()
        samples.append(time.perf_counter_ns() - start)
        reset()
    gc.enable()
    return statistics.median(samples)


def check_close(name, measured, expected):
    """Stops when a metric did not do the work it is timed for."""
    if not math.isclose(float(measured), float(expected), rel_tol=1e-4, abs_tol=1e-6):
        raise SystemExit(f"{name}: torchmetrics gives {float(measured)}, a direct computation gives {float(expected)}")


def check_groups(collection):
    """MetricCollection updates metrics whose states are equal after the first update only once, and goes by the values:
    with inputs on which two of ours agree by chance, part of the work would silently be left out."""
    if len(collection.compute_groups) != len(collection):
        raise SystemExit(f"metrics were merged, the timing would leave work out: {collection.compute_groups}")


def three_scalars(seconds):
    """Mean squared error, mean absolute error and the mean of the predictions, over pairs of float32."""
    generator = torch.Generator().manual_seed(SEED)
    predictions = torch.randn(PAIRS, generator=generator)
    targets = predictions + 0.5 * torch.randn(PAIRS, generator=generator)

    errors = torchmetrics.MetricCollection(
        {"mse": torchmetrics.MeanSquaredError(), "mae": torchmetrics.MeanAbsoluteError()}
    )
    mean = torchmetrics.MeanMetric(nan_strategy="disable")  # the fast setting: no search for NaN

    def update():
        errors.update(predictions, targets)
        mean.update(predictions)

    def reset():
        errors.reset()
        mean.reset()

    update()
    check_groups(errors)
    difference = predictions.double() - targets.double()
    check_close("mse", errors.compute()["mse"], difference.square().mean())
    check_close("mae", errors.compute()["mae"], difference.abs().mean())
    check_close("mean", mean.compute(), predictions.double().mean())
    reset()
    return median_update_ns(update, reset, seconds)


def score_inputs(rows, classes):
    """Normal logits and uniform labels; the label's logit is raised by a uniform amount, up to where it mostly wins, so
    that top-1 and top-k accuracy are apart from each other, from 0 and from 1."""
    generator = torch.Generator().manual_seed(SEED)
    logits = torch.randn(rows, classes, generator=generator)
    labels = torch.randint(classes, (rows,), generator=generator)
    raised = 2 * math.sqrt(2 * math.log(classes)) * torch.rand(rows, generator=generator)
    logits[torch.arange(rows), labels] += raised
    return logits, labels


def score_matrix(rows, classes, with_confusion, seconds):
    """Top-1 and top-5 accuracy, mean cross-entropy, calibration error and confusion matrix of a matrix of logits."""
    logits, labels = score_inputs(rows, classes)
    fast = {"num_classes": classes, "validate_args": False}
    metrics = {
        "top1": MulticlassAccuracy(average="micro", **fast),
        "top5": MulticlassAccuracy(average="micro", top_k=TOP_K, **fast),
        "ece": MulticlassCalibrationError(n_bins=BINS, norm="l1", **fast),
    }
    if with_confusion:
        metrics["confusion"] = MulticlassConfusionMatrix(**fast)
    collection = torchmetrics.MetricCollection(metrics)
    loss = torchmetrics.MeanMetric(nan_strategy="disable")

    def update():
        collection.update(logits, labels)
        loss.update(torch.nn.functional.cross_entropy(logits, labels), weight=rows)

    def reset():
        collection.reset()
        loss.reset()

    update()
    check_groups(collection)
    result = collection.compute()
    order = logits.argsort(dim=1, descending=True)
    hits = order[:, :TOP_K] == labels[:, None]
    check_close("top1", result["top1"], hits[:, 0].double().mean())
    check_close("top5", result["top5"], hits.any(dim=1).double().mean())
    log_normaliser = logits.double().logsumexp(dim=1)
    check_close("loss", loss.compute(), (log_normaliser - logits.double()[torch.arange(rows), labels]).mean())
    if with_confusion:
        check_close("confusion", result["confusion"].trace() / rows, hits[:, 0].double().mean())
    if not 0 < float(result["ece"]) < 1:
        raise SystemExit(f"ece: {float(result['ece'])} is not between 0 and 1")
    reset()
    return median_update_ns(update, reset, seconds)


def report(work, size, threads, ns):
    print(json.dumps({"work": work, "size": size, "threads": threads, "ns": round(ns, 1)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of torch threads to measure")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of updates measured for each line")
    parser.add_argument("--version", action="store_true", help="print the versions and stop")
    arguments = parser.parse_args()
    if arguments.version:
        print(f"torchmetrics {torchmetrics.__version__}, torch {torch.__version__}, Python {sys.version.split()[0]}")
        return
    with torch.inference_mode():
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            report("three_scalars", str(PAIRS), threads, three_scalars(arguments.seconds))
            for rows, classes, with_confusion in SCORE_MATRICES:
                ns = score_matrix(rows, classes, with_confusion, arguments.seconds)
                report("score_matrix", f"{rows}x{classes}", threads, ns)


if __name__ == "__main__":
    main()
