// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The exceptions that tally throws. All derive from `tally::error`, so that one handler catches whatever the library
// reports, and each type answers one question of the caller: is it my shapes, my replicas, my file or my settings?
// What is wrong with the data itself (labels out of range, NaN) is counted in the states and never thrown.
#pragma once

#include <stdexcept>

namespace tally {

/// Base of every exception of the library. `what()` is a whole sentence: what was asked, what was found.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Inputs whose sizes don't fit each other or the metric, such as 100 predictions for 99 targets.
/// Thrown before anything is deposited: the state is as it was.
class shape_error : public error {
public:
    using error::error;
};

/// Replicas that disagree: another layout of the states, or another collective at the same point of the program.
/// Every replica of the group throws it, with the same text; no local state has changed.
class layout_mismatch : public error {
public:
    using error::error;
};

/// A replica of the group is gone (aborted, threw, left), so the collective can't complete. Local states are intact.
/// The communicator stays unusable; make a new one for the replicas that remain.
class replica_lost : public error {
public:
    using error::error;
};

/// The wait for other replicas outlasted the communicator's deadline. Thrown by the replica that gave up first, naming
/// the ranks that were missing; the others then throw `replica_lost`.
class deadline_exceeded : public replica_lost {
public:
    using replica_lost::replica_lost;
};

/// A snapshot that is damaged, truncated, or of another layout or version. Nothing has been restored.
class snapshot_error : public error {
public:
    using error::error;
};

/// A value was demanded of a metric that has none: never updated, zero denominator, only one class seen.
class no_value_error : public error {
public:
    using error::error;
};

/// A setting that can't work, such as zero replicas, a root outside the group or a negative deadline.
class configuration_error : public error {
public:
    using error::error;
};

} // namespace tally
