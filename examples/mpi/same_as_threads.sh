#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: same_as_threads.sh FOLDER DIGITS COMMAND...
# Trains two epochs with four threads (DIGITS) and with four processes or GPUs (COMMAND), and compares what they wrote and
# logged: all but the seconds, which are the last column of epochs.csv, and the times of the log.
set -eu

folder=$1
digits=$2
shift 2
rm -rf "$folder/threads" "$folder/processes" # each run would have a log of its own
mkdir -p "$folder"
"$digits" --replicas 4 --epochs 2 --output "$folder/threads" >"$folder/threads.txt"
"$@" --epochs 2 --output "$folder/processes" >"$folder/processes.txt"
for kind in threads processes; do
    sed 's/,[^,]*$//' "$folder/$kind/epochs.csv" >"$folder/$kind/epochs_without_seconds.csv"
    sed 's/"wall_time":[^,]*,//' "$folder/$kind/log/run-1/metrics.jsonl" >"$folder/$kind/log_without_times.jsonl"
done
for file in log_without_times.jsonl epochs_without_seconds.csv confusion.csv classes.csv; do
    cmp "$folder/threads/$file" "$folder/processes/$file"
done
echo 'the same values with threads and with processes'
