// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// across<Op, Acc> with operations that mean nothing for Acc.
// expect: op::mean does not fit a state: averages are formed by finalize from a sum and a count
// expect: op::min and op::max in across<Op, Acc> fit only accumulators of one number \(sum, count\)
// expect: op::replicated in across<Op, Acc> compares replicas: give Acc an operator==
// expect: the op in across<Op, Acc> does not fit Acc: write .static void merge\(Acc&, Acc const&\). in it
#include <tally/accumulator/across.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/accumulator/sum.hpp>

struct keep_last {
#ifdef TALLY_OK
    template <class Acc>
    static void merge(Acc& into, Acc const& next) {
        into = next;
    }
#endif
};

/// Bits that were seen.
struct seen_bits {
    unsigned bits = 0;
    void deposit(unsigned more) { bits |= more; }
    void merge(seen_bits const& other) { bits |= other.bits; }
#ifdef TALLY_OK
    bool operator==(seen_bits const&) const = default;
#endif
};

#ifdef TALLY_OK
tally::across<tally::op::sum, tally::sum<double>> averaged;
tally::across<tally::op::ordered, tally::moments> largest;
#else
tally::across<tally::op::mean, tally::sum<double>> averaged;
tally::across<tally::op::max, tally::moments> largest;
#endif
tally::across<keep_last, tally::sum<double>> last;
tally::across<tally::op::replicated, seen_bits> replicated;
