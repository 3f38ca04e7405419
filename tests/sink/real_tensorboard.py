# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the logs of write_logs with the loaders of the real TensorBoard: real_tensorboard.py PROGRAM FOLDER

Exit status 77, with a reason, where TensorBoard is not installed. Both of its readers are asked where both are there:
the one in Python, and the data server, which the tensorboard program starts by default.
"""

import glob
import json
import math
import os
import struct
import subprocess
import sys
import time

try:
    import tensorboard
    from tensorboard import data_compat, dataclass_compat
    from tensorboard.backend.event_processing import data_provider, event_file_loader
    from tensorboard.backend.event_processing import plugin_event_multiplexer
    from tensorboard.compat.proto import event_pb2
    from tensorboard.data import provider as base_provider
    from tensorboard.context import RequestContext
    from tensorboard.util import tensor_util
except ImportError as missing:
    print(f"skipped: the package tensorboard can't be imported ({missing})")
    sys.exit(77)

MAX_SERIES = 32  # the default of display_limits
PLUGINS = ("scalars", "histograms", "text")
checks = 0
processes = []


def check(condition, what):
    global checks
    checks += 1
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)


def float32(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def number(value, reason):
    """What a sink that has only floats makes of a value and the reason why there is none."""
    if value is not None:
        return float(value)
    return {"infinity": math.inf, "-infinity": -math.inf}.get(reason, math.nan)


def expected(path):
    """{plugin: {tag: {step: value}}} from the exact log."""
    found = {plugin: {} for plugin in PLUGINS}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            tag, step = entry["tag"], entry["step"]
            if "value" in entry:
                found["scalars"].setdefault(tag, {})[step] = number(entry["value"], entry.get("reason"))
            elif "values" in entry:
                check(len(entry["values"]) <= MAX_SERIES, "series are short in this test")
                for i, value in enumerate(entry["values"]):
                    name = f"{tag}/{entry['label']}{i}"
                    found["scalars"].setdefault(name, {})[step] = number(value, entry.get("reasons", {}).get(str(i)))
            elif "histogram" in entry:
                found["histograms"].setdefault(tag, {})[step] = entry["histogram"]
            elif "text" in entry:
                found["text"].setdefault(tag, {})[step] = entry["text"]
            else:
                head = "| | " + " | ".join(entry["columns"]) + " |\n"
                found["text"].setdefault(tag, {})[step] = (head, len(entry["rows"]))
    return found


def without_empty_ends(rows):
    filled = [i for i, row in enumerate(rows) if row[2] != 0]
    return rows[filled[0] : filled[-1] + 1] if filled else []


def check_scalar(name, value, want):
    check(same(value, float32(want)), f"{name} is {value}, expected float32 of {want}")


def check_histogram(name, rows, want):
    check(rows == without_empty_ends(want), f"rows of {name}")
    check(sum(row[2] for row in rows) == sum(row[2] for row in want), f"counts of {name} sum to n")


def check_provider(kind, provider, listed, runs):
    """What the page is given: the runs listed; of those in `runs` also tags, steps and values by plugin."""
    context, sizes = RequestContext(), dict(experiment_id="", downsample=1000)
    found = {run.run_name for run in provider.list_runs(context, experiment_id="")}
    check(found == listed, f"{kind}: runs {found}")
    for run, want in runs.items():
        some = base_provider.RunTagFilter(runs=[run])
        scalars = provider.read_scalars(context, plugin_name="scalars", run_tag_filter=some, **sizes)[run]
        check(set(scalars) == set(want["scalars"]), f"{kind}: scalars of {run}: {sorted(scalars)}")
        for tag, points in scalars.items():
            check([p.step for p in points] == sorted(want["scalars"][tag]), f"{kind}: steps of {run} {tag}")
            for p in points:
                check_scalar(f"{kind}: {run} {tag}", p.value, want["scalars"][tag][p.step])
        tensors = provider.read_tensors(context, plugin_name="histograms", run_tag_filter=some, **sizes)[run]
        check(set(tensors) == set(want["histograms"]), f"{kind}: histograms of {run}: {sorted(tensors)}")
        for tag, points in tensors.items():
            check([p.step for p in points] == sorted(want["histograms"][tag]), f"{kind}: steps of {run} {tag}")
            for p in points:
                check_histogram(f"{kind}: {run} {tag}", p.numpy.tolist(), want["histograms"][tag][p.step])
        tensors = provider.read_tensors(context, plugin_name="text", run_tag_filter=some, **sizes).get(run, {})
        notes = tensors.pop("tally/notes", [])
        check(set(tensors) == set(want["text"]), f"{kind}: texts of {run}: {sorted(tensors)}")
        for tag, points in tensors.items():
            for p in points:
                text, known = p.numpy.item().decode("utf-8"), want["text"][tag][p.step]
                if isinstance(known, tuple):
                    check(text.startswith(known[0]) and text.count("\n") == known[1] + 2, f"{kind}: table {tag}")
                else:
                    check(text == known, f"{kind}: text {tag}")
        if run.startswith("tf"):
            text = notes[0].numpy.item().decode("utf-8")
            check("`special/none` has no value: no variance" in text, f"{kind}: notes of {run}")


def check_bytes(logdir, histogram_tag):
    """TensorBoard's translations of old forms have nothing to do, but for simple values."""
    for path in glob.glob(os.path.join(logdir, "*", "*tfevents*")):
        events = list(event_file_loader.LegacyEventFileLoader(path).Load())
        check(events[0].file_version == "brain.Event:2", f"first record of {path}")
        check(events[1].session_log.status == event_pb2.SessionLog.START, f"second record of {path}")
        known = {}
        for event in events[2:]:
            check(len(event.summary.value) > 0, f"an event without values in {path}")
            new = data_compat.migrate_event(event)
            if os.sep + "tf1" + os.sep not in path:
                check(new == event, f"data_compat changes an event of {path}")
                migrated = list(dataclass_compat.migrate_event(event, known))
                check(migrated == [event], f"dataclass_compat changes an event of {path}")
            for value in event.summary.value:
                check(value.WhichOneof("value") in ("tensor", "simple_value"), f"form of {value.tag}")
                if value.WhichOneof("value") == "tensor" and histogram_tag in value.tag:
                    array = tensor_util.make_ndarray(value.tensor)
                    check(array.ndim == 2 and array.shape[1] == 3 and array.dtype == "float64", f"shape of {value.tag}")


def python_reader(logdir):
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        tensor_size_guidance={"scalars": 0, "histograms": 0, "text": 0}
    )
    multiplexer.AddRunsFromDirectory(logdir)
    multiplexer.Reload()
    return data_provider.MultiplexerDataProvider(multiplexer, logdir)


def data_server(logdir, last_steps):
    """The reader that the tensorboard program starts, when it has loaded each run to its last step; None without it."""
    try:
        from tensorboard.data import server_ingester

        binary = server_ingester.get_server_binary()
    except Exception as missing:  # not on this platform, or an old one: the package is optional in TensorBoard, too
        print(f"the data server is not here ({missing}), so only the Python reader was asked")
        return None
    from tensorboard.util import grpc_util

    ingester = server_ingester.SubprocessServerDataIngester(
        server_binary=binary,
        logdir=logdir,
        reload_interval=0,
        channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin={"histograms": 1000, "text": 1000},
    )
    ingester.start()
    processes.append(ingester)  # the server ends with it
    provider, last = ingester.data_provider, {}
    for _ in range(300):
        read = provider.read_scalars(RequestContext(), experiment_id="", plugin_name="scalars", downsample=1000)
        last = {run: max(point.step for tag in tags.values() for point in tag) for run, tags in read.items()}
        if last == last_steps:
            return provider
        time.sleep(0.1)
    check(False, f"data server: loaded up to the steps {last} in half a minute")


def main():
    program, folder = sys.argv[1], sys.argv[2]
    subprocess.run([program, folder], check=True)
    logdir = os.path.join(folder, "logs")
    check_bytes(logdir, "gradients/")

    runs = {run: expected(os.path.join(logdir, run + ".jsonl")) for run in ("tf1", "tf2")}

    listed = {"tf1", "tf2", "lives", "torn"}
    provider = python_reader(logdir)
    check_provider("python", provider, listed, runs)

    def scalars_of(provider, run, tag):
        some = base_provider.RunTagFilter(runs=[run], tags=[tag])
        read = provider.read_scalars(
            RequestContext(), experiment_id="", plugin_name="scalars", downsample=1000, run_tag_filter=some
        )
        return [(p.step, p.value) for p in read[run][tag]]

    # A life that goes on at step 2 makes what an earlier one had there void; a torn record was never there.
    check(scalars_of(provider, "lives", "x") == [(1, 1.0), (2, 20.0), (3, 30.0)], "python: lives")
    check(scalars_of(provider, "torn", "x") == [(1, 1.0), (2, 2.0), (3, 30.0)], "python: torn")

    served = data_server(logdir, dict.fromkeys(listed, 3))
    if served is not None:
        check_provider("data server", served, listed, runs)
        for run in ("lives", "torn"):
            want = [(1, 1.0), (2, 20.0 if run == "lives" else 2.0), (3, 30.0)]
            check(scalars_of(served, run, "x") == want, f"data server: {run}")
    print(f"TensorBoard {tensorboard.__version__}: {checks} checks passed")


if __name__ == "__main__":
    main()
