#!/bin/sh
# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Usage: same_after_resume.sh FOLDER DIGITS
# Trains six epochs in one go, and three that another process resumes to six, and compares what they wrote and logged: all
# but the seconds, which are the last column of epochs.csv, and the times of the log. What can't be resumed is refused.
set -eu

folder=$1
digits=$2
rm -rf "$folder"
mkdir -p "$folder"
"$digits" --epochs 6 --output "$folder/whole" >"$folder/whole.txt"
"$digits" --epochs 3 --output "$folder/resumed" >"$folder/first.txt"
run=$folder/resumed/log/run-1

# refused REASON OPTION...: exit status 2, with the reason, and the log as it was.
cp "$run/metrics.jsonl" "$folder/before.jsonl"
refused() {
    reason=$1
    shift
    code=0
    "$digits" "$@" >"$folder/refused.txt" 2>&1 || code=$?
    if [ "$code" -ne 2 ] || ! grep -q "$reason" "$folder/refused.txt"; then
        echo "digits $*: exit status $code, expected 2 and '$reason':"
        cat "$folder/refused.txt"
        exit 1
    fi
    cmp "$run/metrics.jsonl" "$folder/before.jsonl"
}
mkdir "$folder/empty" "$folder/damaged" "$folder/foreign"
head -c 1000 "$run/checkpoint" >"$folder/damaged/checkpoint"
cp "$0" "$folder/foreign/checkpoint"
head -n 200 "$(dirname "$0")/digits.csv" >"$folder/other.csv"
refused 'has 3 epochs already' --epochs 3 --resume "$run"
refused 'is of a run with other samples' --epochs 6 --resume "$run" --data "$folder/other.csv"
refused 'excludes' --epochs 6 --resume "$run" --seed 2
refused 'No such file' --resume "$folder/empty"
refused 'is damaged' --resume "$folder/damaged"
refused 'is no checkpoint' --resume "$folder/foreign"
refused 'no folder for the log' --log "$folder/other.csv"

"$digits" --epochs 6 --resume "$run" --output "$folder/resumed" >"$folder/second.txt"
for kind in whole resumed; do
    sed 's/,[^,]*$//' "$folder/$kind/epochs.csv" >"$folder/$kind/epochs_without_seconds.csv"
    sed 's/"wall_time":[^,]*,//' "$folder/$kind/log/run-1/metrics.jsonl" >"$folder/$kind/log_without_times.jsonl"
done
for file in log_without_times.jsonl epochs_without_seconds.csv confusion.csv classes.csv; do
    cmp "$folder/whole/$file" "$folder/resumed/$file"
done
steps=$(sed -n 's/^{"step":\([0-9]*\),"tag":"evaluation\/loss".*/\1/p' "$folder/resumed/log_without_times.jsonl" | tr '\n' ' ')
if [ "$steps" != '1 2 3 4 5 6 ' ]; then
    echo "steps of the log: $steps"
    exit 1
fi

# A run is logged beside those that are there, and nothing is without a folder for it.
"$digits" --epochs 1 --output "$folder/resumed" >"$folder/third.txt"
[ -s "$folder/resumed/log/run-2/metrics.jsonl" ]
grep -q "^The log is in $folder/resumed/log/run-2: " "$folder/third.txt"
"$digits" --epochs 1 >"$folder/fourth.txt"
if grep 'log' "$folder/fourth.txt"; then
    exit 1
fi
echo 'a run that was resumed has the values of one that was not'
