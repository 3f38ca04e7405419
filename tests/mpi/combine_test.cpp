// SPDX-FileCopyrightText: 2026 The tally authors
// SPDX-License-Identifier: Apache-2.0
//
// Combining over MPI equals one pass, in bits; all_reduce of users' arrays gives what it gives over threads.
#include "mpi/support.hpp"
#include "support/counting_communicator.hpp"

#include <tally/comm/all_reduce.hpp>
#include <tally/comm/mpi.hpp>
#include <tally/comm/replicas.hpp>
#include <tally/tally.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

using namespace std::chrono_literals;
using namespace tally::testing;

namespace {

constexpr std::size_t classes = 7;
using evaluation = tally::collection<tally::named<"loss", tally::log_loss<>>, tally::named<"top-1", tally::accuracy<>>,
                                     tally::named<"error", tally::calibration_error<>>,
                                     tally::named<"confusion", tally::confusion_matrix<classes>>>;

struct samples {
    std::vector<float> logits;
    std::vector<int> labels;

    explicit samples(std::size_t n) : logits(n * classes), labels(n) {
        std::mt19937 random{7};
        std::normal_distribution<float> normal{0, 3};
        for (auto& each : logits) {
            each = normal(random);
        }
        for (auto& each : labels) {
            each = static_cast<int>(random() % classes);
        }
    }

    void feed(tally::host::tracker<evaluation>& tracker, std::size_t begin, std::size_t end) const {
        tracker.update(tally::scores(logits.data() + begin * classes, end - begin, classes),
                       tally::targets(labels.data() + begin, end - begin));
    }
};

/// The state in a snapshot, less the number of replicas that it came from.
std::vector<std::byte> state_in(std::vector<std::byte> const& snapshot) {
    tally::self_communicator self;
    tally::host::tracker<evaluation> tracker;
    tracker.restore(snapshot);
    return tracker.snapshot(self);
}

/// What rank `rank` of `size` holds after all_reduce of `given(rank)`.
template <class Communicator, class Given, class Op>
auto reduced(Communicator& comm, Given given, Op operation) {
    auto mine = given(comm.rank());
    tally::all_reduce(comm, std::span(mine), operation);
    return mine;
}

template <class Given, class Op>
void same_as_over_threads(Given given, Op operation) {
    auto comm = world();
    auto const mine = reduced(comm, given, operation);
    auto const expected = tally::replicas{comm.size()}.run(
        [&](tally::thread_communicator& replica) { return reduced(replica, given, operation); });
    REQUIRE(mine.size() == expected[0].size());
    CHECK((mine.empty() || std::memcmp(mine.data(), expected[0].data(), mine.size() * sizeof(mine[0])) == 0));
}

} // namespace

TEST_CASE("combine over MPI: the bits of one pass, with uneven parts and a replica without samples") {
    samples const all{1000};
    tally::host::tracker<evaluation> whole;
    all.feed(whole, 0, 1000);
    tally::self_communicator self;
    auto const expected = whole.snapshot(self);

    auto comm = world();
    tally::host::tracker<evaluation> part;
    auto const rank = static_cast<std::size_t>(comm.rank());
    auto const size = static_cast<std::size_t>(comm.size());
    // The last of several has nothing; the first has the rest of a triangle.
    auto const cut = [&](std::size_t r) { return r + 1 >= size ? std::size_t{1000} : 137 * r * (r + 1) / 2; };
    all.feed(part, cut(rank), rank + 1 == size && size > 1 ? cut(rank) : cut(rank + 1));
    for (int twice = 0; twice != 2; ++twice) {
        CHECK(state_in(part.snapshot(comm)) == expected);
    }
    auto const at_root = part.combine_to(comm, comm.size() - 1);
    CHECK(at_root.has_value() == (comm.rank() == comm.size() - 1));
    if (at_root) {
        CHECK(state_in(tally::snapshot(*at_root)) == expected);
    }
    comm.set_largest_message(256);
    CHECK(state_in(part.snapshot(comm)) == expected);

    tally::host::tracker<evaluation> restored;
    restored.restore(comm, expected);
    CHECK(state_in(restored.snapshot(comm)) == expected);
}

TEST_CASE("combine over MPI: sums, maxima and bytes of all sizes, to all and to each root, as over threads") {
    using everything =
        tally::collection<tally::named<"spread", tally::variance<>>,
                          tally::named<"in order", tally::mean<float, tally::sum<double>>>,
                          tally::named<"smallest", tally::smallest<>>, tally::named<"largest", tally::largest<>>,
                          tally::named<"confusion", tally::confusion_matrix<>>>;
    for (auto const n : {std::size_t{3}, std::size_t{20}, std::size_t{40}, std::size_t{100}, std::size_t{400}}) {
        CAPTURE(n);
        auto const filled = [&](int rank) {
            tally::host::tracker<everything> tracker{tally::num_classes{n}};
            std::vector<float> values;
            std::vector<std::size_t> labels;
            std::vector<std::size_t> predicted;
            for (std::size_t i = 0; i != 100 * static_cast<std::size_t>(rank); ++i) { // none on replica 0
                values.push_back(std::sin(static_cast<float>(i) + 0.1F * static_cast<float>(rank)));
                labels.push_back(i * i % n);
                predicted.push_back(i % n);
            }
            tracker.update(tally::values(values), tally::predictions(predicted), tally::targets(labels));
            return tracker;
        };
        auto comm = world();
        auto const expected = tally::replicas{comm.size()}.run(
            [&](tally::thread_communicator& replica) { return filled(replica.rank()).snapshot(replica); });
        auto const tracker = filled(comm.rank());
        CHECK(tracker.snapshot(comm) == expected[0]);
        for (int root = 0; root != comm.size(); ++root) {
            auto const at_root = tracker.combine_to(comm, root);
            CHECK(at_root.has_value() == (comm.rank() == root));
            CHECK((!at_root || tally::snapshot(*at_root) == expected[0]));
        }
        CHECK_THROWS_AS((void)tracker.combine_to(comm, comm.size()), tally::configuration_error);
        CHECK(tracker.snapshot(comm) == expected[0]);
        comm.set_largest_message(4096); // in pieces, where it is larger
        CHECK(tracker.snapshot(comm) == expected[0]);
    }
}

TEST_CASE("combine over MPI: one group of at most three collectives") {
    auto comm = world();
    counting_communicator counted{comm};
    tally::host::tracker<evaluation> tracker;
    (void)tracker.combine(counted); // compares layouts
    counted.forget();
    (void)tracker.combine(counted);
    CHECK(counted.counted().groups == 1);
    CHECK(counted.counted().total().calls <= 3);
}

TEST_CASE("all_reduce over MPI: what it gives over threads") {
    namespace op = tally::op;
    auto const floats = [](int rank) {
        std::vector<float> x(1001);
        for (std::size_t i = 0; i != x.size(); ++i) {
            x[i] = std::sin(static_cast<float>(i) + 0.37F * static_cast<float>(rank)) *
                   std::exp2(static_cast<float>(i % 40));
        }
        x[3] = rank == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
        x[4] = rank == 0 ? -0.0F : 0.0F;
        return x;
    };
    same_as_over_threads(floats, op::sum{});
    same_as_over_threads(floats, op::mean{});
    same_as_over_threads(floats, op::min{});
    same_as_over_threads(floats, op::max{});
    auto const integers = [](int rank) {
        std::vector<std::int64_t> x(70000); // more than one message
        std::iota(x.begin(), x.end(), -35000 * (rank + 1));
        return x;
    };
    same_as_over_threads(integers, op::sum{});
    same_as_over_threads(integers, op::min{});
    same_as_over_threads(integers, op::max{});
    auto const unsigned_extremes = [](int rank) {
        return std::vector<std::uint64_t>{rank == 0 ? ~std::uint64_t{0} : 0, static_cast<std::uint64_t>(rank)};
    };
    same_as_over_threads(unsigned_extremes, op::max{});
    same_as_over_threads(unsigned_extremes, op::min{});
    same_as_over_threads([](int) { return std::vector<double>{}; }, op::sum{});
}

TEST_CASE("all_reduce over MPI: different requests throw on all replicas and change nothing") {
    if (world_size() == 1) {
        return;
    }
    auto comm = world();
    std::vector<double> mine{1.0, 2.0};
    auto const text = text_of<tally::layout_mismatch>([&] {
        if (comm.rank() == 0) {
            tally::all_reduce(comm, std::span(mine), tally::op::sum{});
        } else {
            tally::all_reduce(comm, std::span(mine), tally::op::mean{});
        }
    });
    CHECK(text == "replica 0 called all_reduce of 2 elements of type float64 with op::sum, replica 1 called all_reduce "
                  "of 2 elements of type float64 with op::mean");
    CHECK(mine == std::vector<double>{1.0, 2.0});
}
