// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// The operation of a state, from update to the combined value, over replicas of unequal data.
#include <tally/accumulator/across.hpp>
#include <tally/accumulator/moments.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/host/tracker.hpp>
#include <tally/op/ops.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace op = tally::op;

namespace {

/// One state in which every field is combined in another way.
struct five_ways {
    struct state {
        tally::sum<double> added;
        tally::across<op::max, tally::sum<double>> slowest;
        tally::across<op::min, tally::count> fewest;
        tally::across<op::replicated, tally::sum<double>> replicated;
        tally::across<op::first, tally::sum<double>> first;
    };
    static auto observe(tally::value<double> x, tally::input<"epoch", double> epoch) {
        return tally::contribute(x.value, x.value, tally::one, epoch.value, x.value);
    }
    static state const& finalize(state const& s) { return s; }
};

/// A user's operation: the two sums' values as digits in rank order, which no commutative operation gives.
struct digits {
    template <class Acc>
    static void merge(Acc& into, Acc const& next) {
        into = Acc{into.value() * 10 + next.value()};
    }
};
struct in_rank_order {
    struct state {
        tally::across<digits, tally::sum<double>> value;
        tally::across<op::ordered, tally::moments> spread;
    };
    static auto observe(tally::value<double> x) { return tally::contribute(x.value, x.value); }
    static double finalize(state const& s) { return s.value.value(); }
};

/// Steps of each replica; the second has none.
std::vector<std::vector<double>> const steps{{1.0, 2.0}, {}, {5.0}, {0.5, 0.25, 0.25}};

} // namespace

TEST_CASE("op: each field is combined by its own operation") {
    auto const results = tally::replicas{4}.run([](tally::thread_communicator& comm) {
        tally::host::tracker<five_ways> tracker;
        auto const& mine = steps[static_cast<std::size_t>(comm.rank())];
        if (!mine.empty()) { // the epoch's number is summed over a replica's steps: 6 on each
            std::vector<double> const epochs(mine.size(), 6.0 / static_cast<double>(mine.size()));
            tracker.update(tally::values(mine), tally::inputs<"epoch">(epochs));
        }
        auto const combined = tracker.combine(comm);
        CHECK(tracker.finalize().get().slowest.deposits() == mine.size()); // the replica's own state stays
        return combined.get();
    });
    for (auto const& s : results) {
        CHECK(s.added.value() == 9.0);
        CHECK(s.slowest.value() == 5.0);
        CHECK(s.fewest.value() == 1);
        CHECK(s.replicated.value() == 6.0);
        CHECK(!s.replicated.conflict());
        CHECK(s.first.value() == 3.0);
        CHECK(s.fewest.deposits() == 6);
    }
}

TEST_CASE("op::replicated: a replica that holds something else is reported to all") {
    auto const conflicts = tally::replicas{3}.run([](tally::thread_communicator& comm) {
        tally::host::tracker<five_ways> tracker;
        double const epoch = comm.rank() == 2 ? 7.0 : 6.0;
        double const x = 1.0;
        tracker.update(tally::values(&x, 1), tally::inputs<"epoch">(&epoch, 1));
        return tracker.combine(comm).get().replicated.conflict();
    });
    CHECK(conflicts == std::vector<bool>{true, true, true});
}

TEST_CASE("op: a user's operation is applied in rank order, by all replicas alike") {
    auto const results = tally::replicas{4}.run([](tally::thread_communicator& comm) {
        tally::host::tracker<in_rank_order> tracker;
        if (comm.rank() != 1) {
            double const x = comm.rank() + 2;
            tracker.update(tally::values(&x, 1));
        }
        auto const combined = tracker.combine(comm);
        CHECK(combined.state<in_rank_order>().spread.get().mean() == 11.0 / 3.0);
        return combined.get();
    });
    CHECK(results == std::vector<double>(4, 245.0));
}

TEST_CASE("op: a group of one replica changes nothing") {
    tally::replicas{1}.run([](tally::thread_communicator& comm) {
        tally::host::tracker<in_rank_order> tracker;
        double const x[] = {3.0, 4.0};
        tracker.update(tally::values(x));
        CHECK(tracker.combine(comm).get() == 7.0);
    });
}
